//! Check that existing documents are not hidden because of their names.

use tabellion_runtime::text::composed;

use crate::{
    checks::prelude::*,
    documents::CHANGES,
    request::{self},
    semantics,
};

pub(super) const EXISTING_NAMES: Check = Check {
    id: "paths/existing-names",
    guarantees: &[],
    states: "A document that exists is listed, read and changed under its own name, even if no new one may have it.",
    explains: "People name their notes as their system lets them: `What is X?.md`, `12:30 meeting.md`, or as macOS \
               decomposes them. A server may refuse to create such names, because other systems can't store them. It \
               should not hide documents that have one: a listing that leaves them out without a word looks complete. \
               Each listing must have the document as it has a plain one beside it; it is then read and changed.",
    cases,
    ..Check::should(judge)
};

const TEXT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nneedle\n";
/// A word of [`TEXT`], for searches.
const WORD: &str = "needle";
/// The folder of all documents, one that contracts with path policies permit.
const FOLDER: &str = "docs";
/// Name of the plain document next to each.
const PLAIN: &str = "plain.md";

/// A path in [`FOLDER`] for each reason not to create it.
const NAMES: [(&str, &str); 8] = [
    ("a question mark", "docs/What is X?.md"),
    ("a colon", "docs/12:30 meeting.md"),
    ("quotes", "docs/\"quoted\".md"),
    ("a device on Windows", "docs/aux.md"),
    ("a decomposed name", "docs/Cafe\u{301}.md"),
    ("a joiner of Persian script", "docs/می\u{200c}خواهم.md"),
    ("a folder with a colon", "docs/Meeting: Bob/notes.md"),
    ("a decomposed folder", "docs/Re\u{301}sume\u{301}s/cv.md"),
];

/// Returns the names that the contract lets a request have.
fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let is_expressible = |path: &str| {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        !listings(bench, folder).is_empty() || !requests(bench, path).is_empty()
    };
    let names = NAMES.iter().filter(|(_, path)| is_expressible(path));
    Ok(names.map(|(name, path)| Case::new(*name, path)).collect())
}

/// Returns requests that read and change the document at `path`.
fn requests(bench: &Bench<'_>, path: &str) -> Vec<(EffectKind, Call)> {
    let with = With { path, content: "more\n", target: "## Scope" };
    let kinds = [EffectKind::Read].into_iter().chain(CHANGES);
    let calls = kinds.filter_map(|kind| Some((kind, bench.subject.request(kind, with)?)));
    calls.filter(|(_, call)| is_permitted(call)).collect()
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let path: String = case.read()?;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let plain = format!("{folder}/{PLAIN}");
    let scene = bench.scene(&[(plain.as_str(), TEXT)])?;
    if scene.put(&path, TEXT).is_err() {
        return Err(not_shown("this file system can't store the name"));
    }
    scene.commit_all("a person's documents")?;
    let mut client = scene.start()?;
    let mut tried = 0;
    for (call, above) in listings(bench, folder).iter().zip(listings(bench, FOLDER)) {
        match client.make_if_possible(call)? {
            Some(Reply::Done(done)) => {
                tried += 1;
                check_listed(call.tool, &done.response, &path)?;
            }
            Some(Reply::Refused(refusal)) => {
                // Such a request may be one that the server never takes.
                let is_taken = matches!(client.make_if_possible(&above)?, Some(Reply::Done(_)));
                ensure(!is_taken, || {
                    let (folder, name, why) = (folder.escape_debug(), call.tool.label(), refusal.message);
                    format!("the folder `{folder}` exists, but `{name}` refuses it: {why}")
                })?;
            }
            None => {}
        }
    }
    for (kind, call) in requests(bench, &path) {
        tried += usize::from(was_served(&scene, &mut client, &call, kind, &path)?);
    }
    if tried == 0 {
        return Err(not_applicable("no tool takes such a path"));
    }
    Ok(())
}

/// Returns true if the contract itself permits the request.
fn is_permitted(call: &Call) -> bool {
    let Call { tool, arguments } = call;
    let judged = tool.paths.is_none_or(|policy| policy.judge(&call.path()).is_ok());
    judged && tool.input.check(arguments).is_ok()
}

/// Returns requests of the tools that take a folder: without effects, and no previews.
fn listings(bench: &Bench<'_>, folder: &str) -> Vec<Call> {
    let contract = bench.subject.contract;
    let is_preview = |tool: &ToolSpec| contract.previews.iter().any(|pair| pair.preview == tool.label());
    let mut calls = Vec::new();
    for tool in bench.subject.operations().filter(|tool| tool.effects.is_empty() && !is_preview(tool)) {
        let Some(at) = tool.path else { continue };
        for mut arguments in request::examples(tool) {
            let texts = arguments.as_object_mut().into_iter().flatten();
            texts.filter(|(_, value)| value.is_string()).for_each(|(_, value)| *value = WORD.into());
            request::set(&mut arguments, at, folder);
            calls.push(Call { tool, arguments });
        }
    }
    calls.retain(is_permitted);
    calls
}

/// Checks that a response names the document at `path` wherever it names the plain one next to it.
fn check_listed(tool: &ToolSpec, response: &Value, path: &str) -> Judgement {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut texts = Vec::new();
    collect(response, &mut texts);
    for text in &texts {
        let Some(before) = text.strip_suffix(PLAIN) else {
            continue;
        };
        let expected = format!("{before}{name}");
        ensure(texts.iter().any(|text| composed(text) == composed(&expected)), || {
            format!("`{}` has `{text}`, but not `{}` beside it", tool.label(), expected.escape_debug())
        })?;
    }
    Ok(())
}

/// Collects the texts of a response.
fn collect<'r>(value: &'r Value, texts: &mut Vec<&'r str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(members) => members.values().for_each(|value| collect(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Makes a call about the existing document at `path`, which must have its declared effect. Returns false if the adapter
/// can't express it.
fn was_served(
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    call: &Call,
    kind: EffectKind,
    path: &str,
) -> Result<bool, Stop> {
    scene.put(path, TEXT)?;
    scene.commit_all("a person's document")?;
    let done = match client.make_if_possible(call)? {
        None => return Ok(false),
        Some(Reply::Done(done)) => done,
        Some(Reply::Refused(refusal)) => {
            let what = format!(
                "the document `{}` exists, but {} with `{}` was refused: {}",
                path.escape_debug(),
                semantics::words(Some(kind)),
                call.tool.label(),
                refusal.message
            );
            return Err(fail(what));
        }
    };
    match call.tool.effect(&call.arguments) {
        Some(effect) if effect.kind == EffectKind::Read => {
            let text = semantics::content_read(effect, &done.response)?;
            ensure(text == TEXT, || format!("reading `{}` returned another text", path.escape_debug()))?;
        }
        _ => semantics::allowed(call, Some(TEXT.as_bytes()), scene.read(path).as_deref())?,
    }
    Ok(true)
}
