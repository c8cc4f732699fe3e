//! Defects of a memory.

use std::io;

use serde_json::{Value, json};

use super::{
    message::{Call, Reply, id},
    server::Proxy,
};
use crate::mutant::Mutant;

/// Names of the lists of notes in responses.
const LISTS: [&str; 7] =
    ["results", "observations", "executions", "quality_gates", "patterns", "sessions", "timeline"];
/// Arguments that leave notes out.
const FILTERS: [&str; 6] = ["tags", "filters", "project_id", "repo_id", "session_id", "observation_types"];
/// Length of a preview in characters.
const PREVIEW: usize = 120;

/// Answers a call about notes as the mutant does.
pub(super) fn answer(mutant: Mutant, mut call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let is_new = call.is("memory", "store");
    let is_search = call.tool == "search";
    Ok(match mutant {
        Mutant::StoresUnasked if is_new => {
            let stored = proxy.forward(&call)?;
            let text = format!("Tool 'memory' executed with status: Success ({})", proxy.added);
            let data = json!({ "content": text, "observation_type": "context", "tags": ["tool"] });
            proxy.forward(&call.with("resource", "observation").with("data", data))?;
            stored
        }
        Mutant::ForgetsCommit if is_new => {
            call.data().shift_remove("commit");
            proxy.forward(&call)?
        }
        Mutant::CountsAcrossProjects if is_new => {
            let first = first(&mut call, proxy).and_then(|first| first.as_object().cloned());
            if let Some(arguments) = first {
                call.arguments = arguments;
            }
            proxy.forward(&call)?
        }
        Mutant::ForgetsLaterTags if is_new => {
            if first(&mut call, proxy).is_some() {
                call.data().shift_remove("tags");
            }
            proxy.forward(&call)?
        }
        Mutant::MergesRuns if is_new && call.text("resource") == "execution" => {
            let run = json!([call.data().get("command"), call.data().get("exit_code")]).to_string();
            if let Some(reply) = proxy.record.here(&run) {
                return Ok(Reply(reply.clone()).set("deduplicated", true));
            }
            let reply = proxy.forward(&call)?;
            proxy.record.set_here(&run, reply.0.clone());
            reply
        }
        Mutant::CountsNoPatterns => {
            let count = |entry: &mut Value| {
                if entry["occurrence_count"].is_u64() {
                    entry["occurrence_count"] = 1.into();
                }
            };
            let reply = proxy.forward(&call)?;
            ["results", "patterns"].iter().fold(reply, |reply, list| reply.each(list, count))
        }
        Mutant::FiltersAfterCut => proxy.after_cut(&call, &FILTERS)?,
        Mutant::CutsInsideCharacters => {
            let reply = proxy.forward(&call)?;
            let is_cut = |entry: &Value| {
                let text = entry["content_preview"].as_str().unwrap_or_default();
                text.len() > PREVIEW && !text.is_char_boundary(PREVIEW)
            };
            if reply.list("results").iter().any(is_cut) {
                proxy.refuse("byte index 120 is not a char boundary")
            } else {
                reply
            }
        }
        Mutant::HidesOtherSessions => {
            let session = proxy.meta("session_id").cloned().unwrap_or_default();
            let reply = proxy.forward(&call)?;
            if is_new {
                let stored = json!([id(&reply.0["result"]["structuredContent"]), session]);
                proxy.record.list_here("stored").push(stored);
                return Ok(reply);
            }
            let stored = proxy.record.list_here("stored").clone();
            only(reply, |entry| stored.contains(&json!([id(entry), session])))
        }
        Mutant::IndexOfAProcess | Mutant::IndexFollowsLater => {
            let reply = proxy.forward(&call)?;
            if is_new {
                let stored = id(&reply.0["result"]["structuredContent"]).clone();
                proxy.record.list_here("stored").push(stored);
            }
            if call.text("query").is_empty() {
                return Ok(reply);
            }
            let stored = proxy.record.list_here("stored").clone();
            let indexed = if mutant == Mutant::IndexFollowsLater {
                std::mem::replace(proxy.record.list_here("indexed"), stored)
            } else {
                stored
            };
            only(reply, |entry| indexed.contains(id(entry)))
        }
        Mutant::DropsSameSecond if call.is("memory", "timeline") => {
            let reply = proxy.forward(&call)?;
            let anchor = reply.list("timeline").iter().find(|entry| entry["offset"] == 0);
            let second = anchor.map(|entry| entry["created_at"].clone());
            reply.retain("timeline", |entry| {
                entry["offset"] == 0 || Some(&entry["created_at"]) != second.as_ref()
            })
        }
        Mutant::IgnoresWindow => proxy.forward(&call.without(&["window_secs"]))?,
        Mutant::TimelineOfAll if call.is("memory", "timeline") => {
            let all = proxy.forward(&call.clone().with("resource", "observation"))?;
            if all.list("timeline").is_empty() { proxy.forward(&call)? } else { all }
        }
        Mutant::CutsLastEntry if call.is("memory", "inject") => cut_last_entry(&call, proxy)?,
        Mutant::OverBudget if call.is("memory", "inject") => {
            let budget = call.arguments.get("max_tokens").and_then(Value::as_u64).unwrap_or(2_000);
            proxy.forward(&call.with("max_tokens", budget * 5 / 4))?
        }
        Mutant::IgnoresSharedTags if call.is("memory", "inject") => {
            proxy.forward(&call.without(&["tags"]))?
        }
        Mutant::QueriesAreSyntax if call.text("query").matches('"').count() % 2 == 1 => {
            proxy.refuse("fts5: unterminated string")
        }
        Mutant::WordsAreAscii if !call.text("query").is_ascii() => {
            proxy.forward(&call)?.edit("results", Vec::clear)
        }
        Mutant::AnyTag if call.list("tags").len() > 1 && !call.is("memory", "inject") => {
            let tags = call.list("tags").to_vec();
            let all = proxy.forward(&call)?;
            tags.into_iter().try_fold(all, |all, tag| {
                let some = proxy.forward(&call.clone().with("tags", json!([tag])))?;
                io::Result::Ok(LISTS.iter().fold(all, |all, name| {
                    let more = some.list(name).to_vec();
                    all.edit(name, |list| more.into_iter().for_each(|it| list.extend(Some(it))))
                }))
            })?
        }
        Mutant::IgnoresFilters => proxy.forward(&call.without(&["filters"]))?,
        Mutant::ScoresAscend if is_search => proxy.forward(&call)?.edit("results", |list| list.reverse()),
        Mutant::ScoresBeyondOne => proxy.forward(&call)?.each("results", |entry| {
            for name in ["similarity_score", "relevance_score"] {
                if let Some(score) = entry[name].as_f64() {
                    entry[name] = (score * 20.0).into();
                }
            }
        }),
        Mutant::IgnoresLowest => proxy.forward(&call.without(&["min_score"]))?,
        _ => proxy.forward(&call)?,
    })
}

/// Returns the arguments of the first call that stored this content; `None` if this is the first, which is remembered.
fn first(call: &mut Call, proxy: &mut Proxy) -> Option<Value> {
    let arguments = Value::from(call.arguments.clone());
    let content = call.data().get("content")?.clone();
    let key = json!([content, call.data().get("observation_type")]).to_string();
    let first = proxy.record.here(&key).cloned();
    if first.is_none() {
        proxy.record.set_here(&key, arguments);
    }
    first
}

/// Leaves notes out of all lists of a response.
fn only(reply: Reply, mut keeps: impl FnMut(&Value) -> bool) -> Reply {
    LISTS.iter().fold(reply, |reply, name| reply.retain(name, &mut keeps))
}

/// Fills a context with the beginning of the entry that no longer fits.
fn cut_last_entry(call: &Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let reply = proxy.forward(call)?;
    let wider = proxy.forward(&call.clone().with("max_tokens", 100_000))?;
    let budget = call.arguments.get("max_tokens").and_then(Value::as_u64).unwrap_or(2_000) * 4;
    let context =
        |reply: &Reply| reply.0["result"]["structuredContent"]["context"].as_str().map(str::to_owned);
    let (Some(whole), Some(longer)) = (context(&reply), context(&wider)) else {
        return Ok(reply);
    };
    let room = usize::try_from(budget).unwrap_or(usize::MAX);
    let cut: String = longer.chars().take(room).collect();
    if cut.len() <= whole.len() || !longer.starts_with(&whole) {
        return Ok(reply);
    }
    let next = wider.list("observation_ids").get(reply.list("observation_ids").len()).cloned();
    let reply = reply.edit("observation_ids", |ids| ids.extend(next));
    let many = reply.list("observation_ids").len();
    Ok(reply
        .set("estimated_tokens", cut.chars().count().div_ceil(4))
        .set("observation_count", many)
        .set("context", cut))
}
