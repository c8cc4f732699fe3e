//! Size limits of entries and files: sizes at, below and above each limit, in bytes and in characters.
//!
//! A contract states its limits in prose, as in "100KB max file size, max 5KB per entry". A KB is 1000 or 1024 bytes:
//! sizes within both readings must be accepted, sizes beyond both must be refused.

use super::effect::{AppendEffect, appended_value, judge_call};
use crate::checks::{policy, prelude::*};

pub(super) const ENTRIES: Check = Check {
    id: "append/entry-size",
    guarantees: &[LIMITS],
    states: "An entry of the largest permitted size is appended whole; a larger one is refused, and nothing changes.",
    explains: "Entries and texts just below and just above the contract's limit for an entry are appended. They \
               consist of one-byte, two-byte and four-byte characters, to distinguish bytes from characters, and of \
               characters that JSON has to escape. An accepted entry must be complete; a refused one must leave no \
               trace.",
    cases: entry_cases,
    ..Check::must(entries)
};

pub(super) const READ: Check = Check {
    id: "append/read-size",
    guarantees: &[LIMITS],
    states: "A file of the largest permitted size is read whole; no part of a larger one is returned.",
    explains: "Files just below and just above the contract's limit for files are read. They consist of one-byte and \
               two-byte characters. The answer must contain the whole file, or the call must be refused.",
    cases: read_cases,
    ..Check::must(read)
};

/// Guarantee whose text states the limits: first of files, then of entries.
const LIMITS: &str = "size-limits";

/// An entry or a file of a given size.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Size {
    /// Effect that appends the entry; unused for files.
    #[serde(rename = "way")]
    effect: AppendEffect,
    /// Character that the content repeats.
    letter: String,
    /// Size of the entry's line, the text or the file, in bytes.
    bytes: usize,
    is_allowed: bool,
}

/// Returns the contract's limits in KB, in the order of its text.
fn limits(subject: &Subject) -> Vec<usize> {
    let mut guarantees = subject.contract.guarantees.iter();
    let text = guarantees.find(|it| it.id == LIMITS).map_or("", |it| it.text);
    let before = text.split("KB").map(|part| part.rsplit(|c: char| !c.is_ascii_digit()).next());
    before.filter_map(|digits| digits?.parse().ok()).collect()
}

/// Returns the largest size certainly within a limit and the smallest certainly beyond it, in bytes.
fn bounds(subject: &Subject, number: usize) -> Result<(usize, usize), Stop> {
    let limit = limits(subject).get(number).copied();
    let limit = limit.ok_or_else(|| not_applicable("the contract has no such limit"))?;
    Ok((limit * 1000, limit * 1024 + 1))
}

fn entry_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (within, beyond) = bounds(bench.subject, 1)?;
    let mut cases = Vec::new();
    let effects = AppendEffect::all(bench.subject)?;
    for &effect in &effects {
        let path = effect.call_with_word(bench.subject, "x")?.path();
        for (number, character) in ["x", "é", "\u{1f600}", "\"", "\n"].into_iter().enumerate() {
            if !bench.pick(number % effects.len() == effect.0 % effects.len(), true) {
                continue;
            }
            let sizes = [(within, true), (within - 1, true), (beyond, false), (beyond * 3, false)];
            for (bytes, is_allowed) in sizes {
                let size = Size { effect, letter: character.into(), bytes, is_allowed };
                cases.push(Case::new(format!("{bytes} bytes of {character} for {path}"), size));
            }
        }
    }
    Ok(cases)
}

/// Returns a text or entry of that size as written to the file.
fn content_of_size(subject: &Subject, size: &Size) -> Result<Value, Stop> {
    let (character, bytes) = (&size.letter, size.bytes);
    let fill = |bytes: usize, each: usize| character.repeat(bytes / each) + &"x".repeat(bytes % each);
    if !size.effect.appends_lines(subject)? {
        return Ok(fill(bytes, character.len()).into());
    }
    let empty = appended_value(&size.effect.call(subject, &json!({ "text": "" }))?).to_string();
    let each = json!(character).to_string().len() - 2;
    Ok(json!({ "text": fill(bytes - empty.len(), each) }))
}

fn entries(bench: &Bench<'_>, case: &Case) -> Judgement {
    let size: Size = case.read()?;
    let call = size.effect.call(bench.subject, &content_of_size(bench.subject, &size)?)?;
    judge_call(bench, &call, size.is_allowed, &format!("an entry of {} bytes", size.bytes))
}

fn read_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (within, beyond) = bounds(bench.subject, 0)?;
    let mut cases = Vec::new();
    for character in ["x", "é"] {
        for (bytes, is_allowed) in [(within, true), (beyond, false), (beyond * 20, false)] {
            let size = Size { effect: AppendEffect(0), letter: character.into(), bytes, is_allowed };
            cases.push(Case::new(format!("a file of {bytes} bytes of {character}"), size));
        }
    }
    Ok(cases)
}

fn read(bench: &Bench<'_>, case: &Case) -> Judgement {
    let size: Size = case.read()?;
    let (tool, policy) = policy::tool(bench.subject)?;
    let path = policy::sample(policy);
    let character = &size.letter;
    let text = character.repeat(size.bytes / character.len()) + &"x".repeat(size.bytes % character.len());
    let scene = bench.scene(&[(&*path, &text)])?;
    let call = policy::call(tool, &path)?;
    match scene.start()?.make(&call)? {
        Reply::Done(done) if size.is_allowed => ensure(policy::contains_text(&done.response, &text), || {
            format!("a file of {} bytes was not read whole", size.bytes)
        }),
        Reply::Done(_) => Err(fail(format!("a file of {} bytes was read", size.bytes))),
        Reply::Refused(refusal) => ensure(!size.is_allowed, || {
            format!("a file of {} bytes was refused: {}", size.bytes, refusal.message)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_from_the_contracts_text() {
        let subject = super::super::effect::tests::subject();
        assert_eq!(limits(&subject), [100, 5]);
        for effect in AppendEffect::all(&subject).unwrap() {
            for (character, bytes) in [("x", 5000), ("é", 5001), ("\"", 4999), ("\u{1f600}", 5000)] {
                let size = Size { effect, letter: character.into(), bytes, is_allowed: true };
                let call = effect.call(&subject, &content_of_size(&subject, &size).unwrap()).unwrap();
                let made = match appended_value(&call) {
                    Value::String(text) => text,
                    entry => entry.to_string(),
                };
                assert_eq!(made.len(), bytes, "{character}");
            }
        }
    }
}
