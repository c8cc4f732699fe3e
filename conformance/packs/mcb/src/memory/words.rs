//! Any text is a query, and stored notes are found by their words at once.

use super::{
    ask::{CONTEXT, Caller, MEMORY, Memory, READER, said},
    note::Resource,
};
use tabellion_conformance::{check::fewer_steps, checks::prelude::*, texts::TEXTS};

pub(super) const ANY_TEXT: Check = Check {
    id: "memory/any-text",
    guarantees: &["any-text-is-a-query"],
    states: "Any text is a query: it is answered without an error, and a word of any script finds the text that has it.",
    explains: "Stores texts of more than 20 scripts, punctuation, operators of query languages, code and odd characters, and asks for each in all \
               ways in which a memory is searched. A server that hands queries to its database as they are answers a question mark or an \
               open quotation with a syntax error; one that knows ASCII only finds nothing else.",
    cases: any_text,
    shrink: fewer_steps::<String>,
    ..Check::must(judge_texts)
};

pub(super) const FOUND: Check = Check {
    id: "memory/found",
    guarantees: &["stored-is-found"],
    states: "What was stored is found by its words in the next call, also by another server over the same data, and after a restart.",
    explains: "Stores an entry of each resource and searches it at once: by the same server, by a second one beside it, and by one that \
               is started later. Then something is stored by the new one, and a tag is joined to what was there. An index that follows \
               later, or in one process only, says that there is nothing where there is something.",
    cases: |_| Ok(Resource::ALL.map(|resource| Case::new(resource.word(), resource)).into()),
    ..Check::must(judge_found)
};

/// Number of texts of a case.
const OF_A_CASE: usize = 12;

fn any_text(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let cases = TEXTS.chunks(OF_A_CASE).map(|texts| {
        let names: Vec<_> = texts.iter().map(|text| text.name.clone()).collect();
        let name = format!("{} to {}", names[0], names[names.len() - 1]);
        Case::new(name, names)
    });
    Ok(cases.collect())
}

fn judge_texts(bench: &Bench<'_>, case: &Case) -> Judgement {
    let names: Vec<String> = case.read()?;
    let texts = || TEXTS.iter().filter(|text| names.contains(&text.name));
    let mut memory = Memory::start(bench)?;
    let mut stored = Vec::new();
    for text in texts() {
        let data = json!({ "content": text.text, "observation_type": "context" });
        let answer = memory.must(Caller(0), &["store", "observation"], &json!({ "data": data }))?;
        stored.push(answer["observation_id"].as_str().unwrap_or_default().to_owned());
    }
    for (text, id) in texts().zip(&stored) {
        for query in [&text.text].into_iter().chain(&text.word) {
            answered(&mut memory, query).map_err(|stop| stop.about(&text.name))?;
        }
        if let Some(word) = &text.word {
            for is in [MEMORY, CONTEXT] {
                let answer = memory.must(READER, is, &json!({ "query": word, "limit": 100 }))?;
                let has = hits(&answer).any(|hit| hit["observation_id"] == id.as_str());
                ensure(has, || {
                    format!("`{}` {}: `{word}` does not find {:?}", is.join(" "), text.name, text.text)
                })?;
            }
        }
    }
    Ok(())
}

/// Searches for a text in all ways, and fails if one is refused.
fn answered(memory: &mut Memory<'_, '_>, query: &str) -> Judgement {
    let asked = json!({ "query": query });
    let mut ways: Vec<Vec<&str>> = vec![MEMORY.to_vec(), CONTEXT.to_vec()];
    for resource in Resource::ALL {
        ways.extend(["list", "inject"].map(|action| vec![action, resource.word()]));
    }
    ways.push(vec!["get", Resource::ErrorPattern.word()]);
    for is in ways {
        if let Reply::Refused(refusal) = memory.ask(READER, &is, &asked)? {
            return Err(fail(format!("{} was refused: {}", said(&is, &asked), refusal.message)));
        }
    }
    Ok(())
}

fn hits(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["results"].as_array().into_iter().flatten()
}

/// A note to store and find, by the words of `word`.
fn sample(resource: Resource, word: &str) -> Value {
    match resource {
        Resource::Observation => {
            json!({ "content": format!("the {word} waits"), "observation_type": "context", "tags": ["first"] })
        }
        Resource::Execution => json!({
            "command": format!("make {word}"), "exit_code": 0, "duration_ms": 5, "success": true, "execution_type": "build",
        }),
        Resource::QualityGate => json!({ "gate_name": format!("the {word} gate"), "status": "passed" }),
        Resource::ErrorPattern => {
            json!({ "pattern_signature": format!("E7: {word}"), "description": "it waits" })
        }
        Resource::Session => json!({ "session_id": "session-a", "topics": [format!("the {word}")] }),
    }
}

fn judge_found(bench: &Bench<'_>, case: &Case) -> Judgement {
    let resource: Resource = case.read()?;
    let mut memory = Memory::start(bench)?;
    let is = ["list", resource.word()];
    let store = |memory: &mut Memory<'_, '_>, word: &str| {
        memory.must(Caller(0), &["store", resource.word()], &json!({ "data": sample(resource, word) }))
    };
    let asked = |word: &str| json!({ "query": word });
    let ensure_found = |answer: &Value, word: &str, when: &str| {
        ensure(answer["total"] == 1 && hits(answer).count() == 1, || {
            format!("`{word}` was stored, and {when} a list of `{}` by it has {answer}", resource.word())
        })
    };
    // A note is not found before it is stored, so an index that was already read must be updated.
    let none = memory.must(READER, &is, &asked("heron"))?;
    ensure(hits(&none).count() == 0, || format!("`heron` is found before it is stored: {none}"))?;
    for word in ["heron", "egret", "stork"] {
        store(&mut memory, word)?;
        let answer = memory.must(READER, &is, &asked(word))?;
        ensure_found(&answer, word, "in the next call")?;
    }
    let beside = memory.beside(READER, &is, &asked("egret"))?;
    ensure_found(&beside, "egret", "by another server beside it")?;
    let mut memory = memory.restarted()?;
    for word in ["heron", "stork"] {
        let answer = memory.must(READER, &is, &asked(word))?;
        ensure_found(&answer, word, "after a restart")?;
    }
    store(&mut memory, "bittern")?;
    let answer = memory.must(READER, &is, &asked("bittern"))?;
    ensure_found(&answer, "bittern", "after it was stored by a server that was restarted,")?;
    if resource == Resource::Observation {
        // The same note, with a different tag.
        let mut again = sample(resource, "heron");
        again["tags"] = json!(["second"]);
        memory.must(Caller(1), &["store", "observation"], &json!({ "data": again }))?;
        let asked = json!({ "query": "heron", "tags": ["first", "second"] });
        let answer = memory.must(READER, MEMORY, &asked)?;
        ensure_found(&answer, "heron", "once a tag was joined to it,")?;
    }
    Ok(())
}
