//! Budgets: start-up time, memory and tokens. Exceeding one breaks no guarantee.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::{checks::prelude::*, launch::not_ours, reply, request::examples};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "budget/handshake",
        guarantees: &[],
        states: "On a library of 2,000 files the first list of tools arrives within a second.",
        explains: "Clients start servers while a person waits. The check measures the time from the start of the \
                   process to the first answer to `tools/list` and takes the best of three attempts.",
        ..Check::should(handshake)
    },
    Check {
        id: "budget/tools-list-tokens",
        guarantees: &[],
        states: "The list of tools has at most 20,000 tokens.",
        explains: "The list is part of the context of every conversation. A token is estimated as four bytes.",
        ..Check::should(list_tokens)
    },
    Check {
        id: "budget/largest-answer",
        guarantees: &[],
        states: "When every document matches, a search answers within 25,000 tokens, and so does the log.",
        explains: "A model that searches can't know how much it will find. Every document of a library of 500 (5,000 \
                   in the full profile) contains the text that the examples search for; for the log, some dozens of \
                   mutations are made. Answers about all documents (a list of files) or about a given one are as \
                   long as requested and are not measured. A token is estimated as four bytes of the text that a \
                   model reads.",
        cases: large_answers,
        ..Check::should(largest_answer)
    },
    Check {
        id: "budget/memory",
        guarantees: &[],
        states: "Idle on a library of 2,000 files, the server and its children use at most 200 MB of memory.",
        explains: "Every client starts its own server. After the list of tools and a read, the check sums the \
                   resident memory of the process and its descendants, as reported by Linux.",
        ..Check::should(memory)
    },
];

const MAX_HANDSHAKE_TIME: Duration = Duration::from_secs(1);
const MAX_LIST_TOKENS: usize = 20_000;
const MAX_ANSWER_TOKENS: usize = 25_000;
const MAX_MEMORY_MB: u64 = 200;

/// Number of documents in a library where every call must be fast.
const DOCUMENT_COUNT: usize = 2_000;
/// Path of a document in every library.
const DOCUMENT: &str = "notes/0/plan.md";

fn handshake(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = library(bench, DOCUMENT_COUNT, "Nothing of interest.\n")?;
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let since = Instant::now();
        let mut talk = Talk::open(bench.subject, &scene)?;
        talk.ask(&json!(1), "tools/list", json!({}))?;
        best = best.min(since.elapsed());
    }
    ensure(best <= MAX_HANDSHAKE_TIME, || {
        format!("the first list of tools took {:.1} s in the best of three attempts", best.as_secs_f64())
    })
}

fn list_tokens(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = bench.scene(&[(DOCUMENT, "# Plan\n")])?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let answer = talk.ask(&json!(1), "tools/list", json!({}))?;
    let tokens = answer["result"]["tools"].to_string().len() / 4;
    ensure(tokens <= MAX_LIST_TOKENS, || format!("the list of tools has about {tokens} tokens"))
}

/// A call whose answer can be long.
#[derive(Debug, Serialize, Deserialize)]
struct LargeQuery {
    tool: String,
    arguments: Value,
}

fn large_answers(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for tool in bench.subject.operations().filter(|tool| !tool.mutating) {
        let is_log = bench.subject.contract.log.is_some_and(|log| log.tool == tool.label());
        if !is_log && search_text(tool).is_none() {
            continue;
        }
        let Some(arguments) = examples(tool).next() else {
            continue;
        };
        let tool = tool.label().to_owned();
        cases.push(Case::new(format!("an answer of {tool}"), LargeQuery { tool, arguments }));
    }
    Ok(cases)
}

/// Returns the text that a tool searches all documents for, by its example; `None` unless the tool is a search.
fn search_text(tool: &'static ToolSpec) -> Option<String> {
    let required = tool.input.wire()["required"].as_array().cloned().unwrap_or_default();
    let names: HashSet<_> = required.iter().filter_map(Value::as_str).collect();
    let path = tool.path.unwrap_or_default().trim_start_matches('/');
    if tool.mutating || names.contains(path) {
        return None;
    }
    let example = examples(tool).next()?;
    let texts = names.into_iter().filter_map(|name| example[name].as_str());
    texts.min().map(String::from)
}

fn largest_answer(bench: &Bench<'_>, case: &Case) -> Judgement {
    let query: LargeQuery = case.read()?;
    let tool = bench.subject.contract.operation(&query.tool);
    let tool = tool.ok_or_else(|| not_applicable("the contract has no such tool"))?;
    let found = search_text(tool);
    let text = found.as_deref().unwrap_or("Nothing of interest.");
    let documents = if found.is_some() { bench.pick(500, 5_000) } else { 10 };
    let scene = library(
        bench,
        documents,
        &format!("{text} and more, in a line of some length that says little.\n").repeat(10),
    )?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    if found.is_none() {
        mutate(bench, &scene, &mut talk)?;
    }
    let params = talk.params(&scene, tool, &query.arguments)?;
    let answer = talk.ask(&json!("query"), "tools/call", params)?;
    let text = reply::text(&answer["result"]);
    let structured = answer["result"].get("structuredContent").map(ToString::to_string);
    let tokens = if text.is_empty() { structured.unwrap_or_default().len() } else { text.len() } / 4;
    ensure(tokens <= MAX_ANSWER_TOKENS, || {
        format!("an answer of `{}` has about {tokens} tokens with {documents} documents", tool.label())
    })
}

/// Creates log entries by mutations.
fn mutate(bench: &Bench<'_>, scene: &Scene<'_>, talk: &mut Talk<'_>) -> Result<(), Stop> {
    for number in 0..bench.pick(60, 300) {
        let content = format!("# Plan {number}\n");
        let with = With { path: DOCUMENT, content: &content, ..With::default() };
        let Some(call) = bench.subject.placed(EffectKind::Write, with) else {
            return Err(not_applicable("the server has no tool that writes a document"));
        };
        let params = talk.params(scene, call.tool, &call.arguments)?;
        talk.ask(&json!(number), "tools/call", params)?;
    }
    Ok(())
}

fn memory(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = library(bench, DOCUMENT_COUNT, "Nothing of interest.\n")?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let with = With { path: DOCUMENT, ..With::default() };
    if let Some(call) = bench.subject.placed(EffectKind::Read, with) {
        let params = talk.params(&scene, call.tool, &call.arguments)?;
        talk.ask(&json!(1), "tools/call", params)?;
    }
    talk.settle(0)?;
    let id = talk.target.id().ok_or_else(not_ours)?;
    let resident = resident_kb(id);
    let resident = resident.ok_or_else(|| not_shown("this machine does not report memory in /proc"))?;
    let megabytes = resident / 1024;
    ensure(megabytes <= MAX_MEMORY_MB, || format!("the idle server uses {megabytes} MB of memory"))
}

/// Returns the resident memory of a process and its descendants, in kB.
fn resident_kb(root: u32) -> Option<u64> {
    let status = |id: u32| fs::read_to_string(format!("/proc/{id}/status")).ok();
    let field = |status: &str, name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let mut children: HashMap<u64, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = status(id).and_then(|status| field(&status, "PPid:")) {
            children.entry(parent).or_default().push(id);
        }
    }
    let (mut sum, mut todo) = (field(&status(root)?, "VmRSS:")?, vec![root]);
    while let Some(id) = todo.pop() {
        for child in children.remove(&u64::from(id)).into_iter().flatten() {
            // The process may have ended meanwhile.
            sum += status(child).and_then(|status| field(&status, "VmRSS:")).unwrap_or(0);
            todo.push(child);
        }
    }
    Some(sum)
}

/// Creates a library of `documents` documents that contain `text`, 100 per folder.
///
/// All folders have the same contents, so that git stores each document once. A small library is kept in memory.
fn library<'a>(bench: &Bench<'a>, documents: usize, text: &str) -> Result<Scene<'a>, Stop> {
    let first = [(DOCUMENT, format!("# Plan\n\n{text}"))];
    let scene = if documents > DOCUMENT_COUNT {
        bench.scene(&first)?
    } else {
        Scene::in_memory(bench.subject, &bench.trace, &first)?
    };
    bench.trace.did(format!("a person writes {documents} documents that contain {text:?}"));
    for number in 1..documents {
        let path = scene.path(&format!("notes/{}/{number}.md", number / 100));
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        fs::write(path, format!("# {}\n\n{text}", number % 100))?;
    }
    scene.commit_all("many documents")?;
    Ok(scene)
}
