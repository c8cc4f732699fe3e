//! What a person is shown is what then happens.

use serde::{Deserialize, Serialize};
use tabellion_runtime::Shows;

use super::{accept, answer, ask, calls};
use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    judgement::{Judgement, Stop, ensure, fail},
    moment::Moment,
    reply::Reply,
    request::Call,
    scene::Scene,
};

pub(super) const SHOWN: Check = Check {
    id: "approval/shown",
    severity: Severity::Must,
    guarantees: &["requires-approval"],
    states: "The question names the file and shows exactly the text that is then appended.",
    explains: "Texts of one and of many lines, with odd characters and with words that look like a question's, are appended to \
               files with and without a final newline. The question's message must have the file's path and, in one \
               piece, all that came to the file when it was approved of.",
    cases,
    judge: shown,
    shrink: as_small_as_can_be,
};

pub(super) const STALE: Check = Check {
    id: "approval/meanwhile",
    severity: Severity::Must,
    guarantees: &["requires-approval", "append-only"],
    states: "What happens to the file while a person decides is not lost, and they have approved of nothing else.",
    explains: "While the question is open, a person adds a line to the file, leaves its last line open, or puts another in its \
               place. Then the question is answered with yes. Either the call is refused or asked of again, and nothing \
               changes, or exactly the text that was shown stands after what is there now.",
    cases: stale_cases,
    judge: stale,
    shrink: as_small_as_can_be,
};

/// A text that needs approval.
#[derive(Debug, Serialize, Deserialize)]
struct Text {
    /// The number of the call.
    call: usize,
    text: String,
    /// What the file holds.
    held: String,
}

const TEXTS: [&str; 5] = [
    "one line",
    "one\ntwo\n\nthree",
    "größe \u{1f600} \u{200b} \" \\ \t `code`",
    "May this be appended?\n\nNothing is appended.",
    "<b>bold</b> %s ${x} {shown} {0}",
];

/// What the file holds at first.
const HELD: [(&str, &str); 3] = [
    ("{}\n", "a last line with its end"),
    ("{}", "an open last line"),
    ("", "nothing"),
];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (call, it) in calls(bench.subject, "x")?.iter().enumerate() {
        for (number, text) in TEXTS.into_iter().enumerate() {
            // In the quick profile each text comes after one of them.
            let some = number % HELD.len();
            for &(held, name) in bench.pick(&HELD[some..=some], &HELD) {
                let (text, held) = (text.to_owned(), held.to_owned());
                let name = format!("{}: {text:?} after {name}", it.path());
                cases.push(Case::new(name, Text { call, text, held }));
            }
        }
    }
    Ok(cases)
}

/// The call, and a library with its file.
fn begin<'a>(bench: &Bench<'a>, text: &Text) -> Result<(Call, Scene<'a>), Stop> {
    let mut all = calls(bench.subject, &text.text)?;
    let call = all.swap_remove(text.call.min(all.len() - 1));
    let scene = bench.scene(&[(&*call.path(), &text.held)])?;
    Ok((call, scene))
}

fn shown(bench: &Bench<'_>, case: &Case) -> Judgement {
    let text: Text = case.read()?;
    let (call, scene) = begin(bench, &text)?;
    let path = call.path();
    let mut client = scene.start()?;
    let (waiting, asked) = ask(&mut client, bench.subject, &call)?;
    let before = scene.read(&path).unwrap_or_default();
    let message = asked["message"].as_str().unwrap_or_default().to_owned();
    ensure(message.contains(&path), || {
        format!("the question does not name `{path}`: {message:?}")
    })?;
    let response = answer(&mut client, &waiting, &accept())?;
    if let Reply::Refused(refusal) = bench.subject.adapter.reply(call.tool, &response) {
        return Err(fail(format!(
            "what was approved of was refused: {}",
            refusal.message
        )));
    }
    if call.tool.approval.map(|approval| approval.shows) != Some(Shows::Appended) {
        return Ok(());
    }
    let after = scene.read(&path).unwrap_or_default();
    let came =
        came(&before, &after).ok_or_else(|| fail("what was there is no longer what the file begins with"))?;
    ensure(message.contains(came), || {
        format!("{came:?} came to `{path}`, and the question was {message:?}")
    })
}

/// What came, without what only ends the line before and its own last line.
fn came<'f>(before: &[u8], after: &'f [u8]) -> Option<&'f str> {
    let came = str::from_utf8(after.strip_prefix(before)?).ok()?;
    let is_open = !before.is_empty() && !before.ends_with(b"\n");
    let ended = came.strip_prefix("\r\n").or_else(|| came.strip_prefix('\n'));
    let came = ended.filter(|_| is_open).unwrap_or(came);
    Some(came.strip_suffix('\n').unwrap_or(came))
}

/// What a person makes of a file that holds `{}` meanwhile.
const MEANWHILE: [&str; 4] = [
    "{}\n{\"by\":\"a person\"}\n",
    "{}\n{\"by\":\"a person\"}",
    "{\"anew\":1}\n",
    "",
];

fn stale_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (call, it) in calls(bench.subject, "x")?.iter().enumerate() {
        for held in MEANWHILE {
            let (text, held) = ("approved of".to_owned(), held.to_owned());
            cases.push(Case::new(
                format!("{}: {held:?}", it.path()),
                Text { call, text, held },
            ));
        }
    }
    Ok(cases)
}

fn stale(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mut text: Text = case.read()?;
    let later = std::mem::replace(&mut text.held, "{}\n".to_owned());
    let (call, scene) = begin(bench, &text)?;
    let path = call.path();
    let mut client = scene.start()?;
    let (waiting, asked) = ask(&mut client, bench.subject, &call)?;
    scene.put(&path, &later)?;
    let before = Moment::of(&scene)?;
    let response = answer(&mut client, &waiting, &accept())?;
    if let Reply::Refused(_) = bench.subject.adapter.reply(call.tool, &response) {
        return before.same(&Moment::of(&scene)?);
    }
    let after = scene.read(&path).unwrap_or_default();
    let came = came(later.as_bytes(), &after);
    let message = asked["message"].as_str().unwrap_or_default();
    match came {
        Some(came) if message.contains(came) && !came.is_empty() => Ok(()),
        _ => Err(
            fail("what came while the question was open is gone, or more came than was shown").showing(
                &path,
                Some(later.as_bytes()),
                Some(&after),
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_without_the_ends_of_lines() {
        for (before, after, expected) in [
            ("a\n", "a\nb\n", Some("b")),
            ("a", "a\nb\n", Some("b")),
            ("a", "a\r\nb\n", Some("b")),
            ("a\n", "a\n\nb", Some("\nb")),
            ("", "b\nc\n", Some("b\nc")),
            ("a\n", "b\n", None),
        ] {
            assert_eq!(
                came(before.as_bytes(), after.as_bytes()),
                expected,
                "{before:?} {after:?}"
            );
        }
    }
}
