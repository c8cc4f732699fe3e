//! Sizes: what may come and what may be read, at the limits and around them, in bytes and in characters.
//!
//! A contract says such limits in words, as in "100KB max file size, max 5KB per entry". Whether KB are thousands of bytes
//! or 1024 is the server's to choose: what is below both must pass, what is above both must not.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{AppendEffect, accepted, added, judge as judge_added, refused};
use crate::{
    Subject,
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    checks::policy,
    judgement::{Judgement, Stop, ensure, fail},
    moment::Moment,
    reply::Reply,
};

pub(super) const ENTRIES: Check = Check {
    id: "append/entry-size",
    severity: Severity::Must,
    guarantees: &[LIMITS],
    states: "An entry of the largest permitted size is appended whole; a larger one is refused, and \
            nothing changes.",
    explains: "Entries and texts just below and just above the contract's limit for an entry are appended: of letters of one \
               byte, of two and of four, so that bytes and characters can't be taken for each other, and of what JSON has \
               to escape. What is taken must be there to the last byte; what is refused must have left nothing.",
    cases: entry_cases,
    judge: entries,
    shrink: as_small_as_can_be,
};

pub(super) const READ: Check = Check {
    id: "append/read-size",
    severity: Severity::Must,
    guarantees: &[LIMITS],
    states: "A file of the largest permitted size is read whole; no part of a larger one is returned.",
    explains: "Files just below and just above the contract's limit for files are read, of letters of one byte and of two. \
               What is told must be all that the file holds, or the call must be refused.",
    cases: read_cases,
    judge: read,
    shrink: as_small_as_can_be,
};

/// The guarantee whose words have the limits: of files, then of entries.
const LIMITS: &str = "size-limits";

/// A size that is tried.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Size {
    /// Not used for files.
    way: AppendEffect,
    /// What it is made of.
    letter: String,
    /// The limit of the entry's line or the text, or of the file.
    bytes: usize,
    is_allowed: bool,
}

/// The contract's limits in KB, in the order in which it says them.
fn limits(subject: &Subject) -> Vec<usize> {
    let mut guarantees = subject.contract.guarantees.iter();
    let text = guarantees.find(|it| it.id == LIMITS).map_or("", |it| it.text);
    let before = text
        .split("KB")
        .map(|part| part.rsplit(|c: char| !c.is_ascii_digit()).next());
    before.filter_map(|digits| digits?.parse().ok()).collect()
}

/// The limit of that number, as bytes that are within it and bytes that are not, whatever KB are.
fn around(subject: &Subject, number: usize) -> Result<(usize, usize), Stop> {
    let limit = limits(subject).get(number).copied();
    let limit = limit.ok_or_else(|| Stop::NotApplicable("the contract has no such limit".into()))?;
    Ok((limit * 1000, limit * 1024 + 1))
}

fn entry_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (within, beyond) = around(bench.subject, 1)?;
    let mut cases = Vec::new();
    let ways = AppendEffect::all(bench.subject)?;
    for &way in &ways {
        let path = way.call_of(bench.subject, "x")?.path();
        for (number, letter) in ["x", "é", "\u{1f600}", "\"", "\n"].into_iter().enumerate() {
            if !bench.pick(number % ways.len() == way.0 % ways.len(), true) {
                continue;
            }
            let sizes = [
                (within, true),
                (within - 1, true),
                (beyond, false),
                (beyond * 3, false),
            ];
            for (bytes, is_allowed) in sizes {
                let size = Size {
                    way,
                    letter: letter.into(),
                    bytes,
                    is_allowed,
                };
                cases.push(Case::new(format!("{bytes} bytes of {letter} for {path}"), size));
            }
        }
    }
    Ok(cases)
}

/// What is as large as that, when it is written down.
fn sized(subject: &Subject, size: &Size) -> Result<Value, Stop> {
    let (letter, bytes) = (&size.letter, size.bytes);
    let fill = |bytes: usize, each: usize| letter.repeat(bytes / each) + &"x".repeat(bytes % each);
    if !size.way.adds_lines(subject)? {
        return Ok(fill(bytes, letter.len()).into());
    }
    let around = added(&size.way.call(subject, &json!({ "text": "" }))?).to_string();
    let each = json!(letter).to_string().len() - 2;
    Ok(json!({ "text": fill(bytes - around.len(), each) }))
}

fn entries(bench: &Bench<'_>, case: &Case) -> Judgement {
    let size: Size = case.read()?;
    let call = size.way.call(bench.subject, &sized(bench.subject, &size)?)?;
    let path = call.path();
    let scene = bench.scene(&[(&*path, "{}\n")])?;
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    let reply = client.make(&call)?;
    let what = format!("an entry of {} bytes", size.bytes);
    if size.is_allowed {
        accepted(&reply, &what)?;
        judge_added(&call, Some(b"{}\n"), scene.read(&path).as_deref())
    } else {
        refused(&reply, &what)?;
        before.same(&Moment::of(&scene)?)
    }
}

fn read_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (within, beyond) = around(bench.subject, 0)?;
    let mut cases = Vec::new();
    for letter in ["x", "é"] {
        for (bytes, is_allowed) in [(within, true), (beyond, false), (beyond * 20, false)] {
            let size = Size {
                way: AppendEffect(0),
                letter: letter.into(),
                bytes,
                is_allowed,
            };
            cases.push(Case::new(format!("a file of {bytes} bytes of {letter}"), size));
        }
    }
    Ok(cases)
}

fn read(bench: &Bench<'_>, case: &Case) -> Judgement {
    let size: Size = case.read()?;
    let (tool, policy) = policy::tool(bench.subject)?;
    let path = policy::sample(policy);
    let letter = &size.letter;
    let text = letter.repeat(size.bytes / letter.len()) + &"x".repeat(size.bytes % letter.len());
    let scene = bench.scene(&[(&*path, &text)])?;
    let call = policy::call(tool, &path)?;
    match scene.start()?.make(&call)? {
        Reply::Done(done) if size.is_allowed => ensure(policy::tells(&done.response, &text), || {
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
    fn the_limits_are_read_from_the_contracts_words() {
        let subject = super::super::tests::subject();
        assert_eq!(limits(&subject), [100, 5]);
        for way in AppendEffect::all(&subject).unwrap() {
            for (letter, bytes) in [("x", 5000), ("é", 5001), ("\"", 4999), ("\u{1f600}", 5000)] {
                let size = Size {
                    way,
                    letter: letter.into(),
                    bytes,
                    is_allowed: true,
                };
                let call = way.call(&subject, &sized(&subject, &size).unwrap()).unwrap();
                let made = match added(&call) {
                    Value::String(text) => text,
                    entry => entry.to_string(),
                };
                assert_eq!(made.len(), bytes, "{letter}");
            }
        }
    }
}
