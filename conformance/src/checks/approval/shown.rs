//! The question shows the person exactly what the call then does.

use regex::Regex;
use tabellion_runtime::{Shows, text::is_invisible};

use super::pending::{accept, answer, ask, calls};
use crate::checks::prelude::*;

pub(super) const SHOWN: Check = Check {
    id: "approval/shown",
    guarantees: &["requires-approval"],
    states: "The question names the file and shows exactly the text that is then appended.",
    explains: "Texts of one and of many lines, with unusual characters and with words that resemble a question, are \
               appended to files with and without a final newline. The question's message must contain the file's \
               path and, in one piece, the whole text that was appended after the approval. An invisible or control \
               character may have an escape in its place.",
    cases,
    ..Check::must(shown)
};

pub(super) const STALE: Check = Check {
    id: "approval/meanwhile",
    guarantees: &["requires-approval", "append-only"],
    states: "A change to the file while a person decides is not lost, and the approval covers nothing but what was \
             shown.",
    explains: "While the question is open, a person adds a line to the file, leaves its last line without a line \
               ending, or replaces the content. Then the question is accepted. Either the call is refused or the \
               question is repeated, and nothing changes, or exactly the text shown is appended to the current \
               content.",
    cases: stale_cases,
    ..Check::must(stale)
};

/// A text to append with approval.
#[derive(Debug, Serialize, Deserialize)]
struct ApprovalCase {
    /// Index of the call.
    call: usize,
    text: String,
    /// Initial content of the file.
    #[serde(rename = "held")]
    initial: String,
}

const TEXTS: [&str; 5] = [
    "one line",
    "one\ntwo\n\nthree",
    "größe \u{1f600} \u{200b} \" \\ \t `code`",
    "May this be appended?\n\nNothing is appended.",
    "<b>bold</b> %s ${x} {shown} {0}",
];

/// Initial contents of the file, with a name for each.
const INITIAL: [(&str, &str); 3] = [
    ("{}\n", "a last line with a line ending"),
    ("{}", "a last line without a line ending"),
    ("", "nothing"),
];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (call, it) in calls(bench.subject, "x")?.iter().enumerate() {
        for (number, text) in TEXTS.into_iter().enumerate() {
            // The quick profile combines each text with one content.
            let some = number % INITIAL.len();
            for &(initial, name) in bench.pick(&INITIAL[some..=some], &INITIAL) {
                let (text, initial) = (text.to_owned(), initial.to_owned());
                let name = format!("{}: {text:?} after {name}", it.path());
                cases.push(Case::new(name, ApprovalCase { call, text, initial }));
            }
        }
    }
    Ok(cases)
}

/// Returns the call, and a library that contains its file.
fn prepare<'a>(bench: &Bench<'a>, text: &ApprovalCase) -> Result<(Call, Scene<'a>), Stop> {
    let mut all = calls(bench.subject, &text.text)?;
    let call = all.swap_remove(text.call.min(all.len() - 1));
    let scene = bench.scene(&[(&*call.path(), &text.initial)])?;
    Ok((call, scene))
}

fn shown(bench: &Bench<'_>, case: &Case) -> Judgement {
    let text: ApprovalCase = case.read()?;
    let (call, scene) = prepare(bench, &text)?;
    let path = call.path();
    let mut client = scene.start()?;
    let (pending_call, question) = ask(&mut client, bench.subject, &call)?;
    let before = scene.read(&path).unwrap_or_default();
    let message = question["message"].as_str().unwrap_or_default().to_owned();
    ensure(message.contains(&path), || format!("the question does not name `{path}`: {message:?}"))?;
    let response = answer(&mut client, &pending_call, &accept())?;
    bench.subject.adapter.reply(call.tool, &response).must("an approved call")?;
    if call.tool.approval.map(|approval| approval.shows) != Some(Shows::Appended) {
        return Ok(());
    }
    let after = scene.read(&path).unwrap_or_default();
    let appended =
        appended_text(&before, &after).ok_or_else(|| fail("the file does not begin with its old content"))?;
    ensure(shows(&message, appended), || {
        format!("{appended:?} was appended to `{path}`, but the question was {message:?}")
    })
}

/// Returns true if `message` contains `text`, or a form of it in which each invisible or control character is an escape.
fn shows(message: &str, text: &str) -> bool {
    const ESCAPE: &str = "(?s:.{1,10}?)";
    let is_escaped = |c: char| is_invisible(c) || c.is_control() && c != '\n' && c != '\t';
    let pieces: Vec<_> = text.split(is_escaped).map(regex::escape).collect();
    Regex::new(&pieces.join(ESCAPE)).is_ok_and(|pattern| pattern.is_match(message))
}

/// Returns the appended text, without the line endings of the line before it and of its own last line.
fn appended_text<'f>(before: &[u8], after: &'f [u8]) -> Option<&'f str> {
    let appended = str::from_utf8(after.strip_prefix(before)?).ok()?;
    let is_open = !before.is_empty() && !before.ends_with(b"\n");
    let rest = appended.strip_prefix("\r\n").or_else(|| appended.strip_prefix('\n'));
    let appended = rest.filter(|_| is_open).unwrap_or(appended);
    Some(appended.strip_suffix('\n').unwrap_or(appended))
}

/// Contents that a person saves to the file while the question is open.
const SAVED_MEANWHILE: [&str; 4] =
    ["{}\n{\"by\":\"a person\"}\n", "{}\n{\"by\":\"a person\"}", "{\"anew\":1}\n", ""];

fn stale_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (call, it) in calls(bench.subject, "x")?.iter().enumerate() {
        for initial in SAVED_MEANWHILE {
            let (text, initial) = ("approved text".to_owned(), initial.to_owned());
            cases
                .push(Case::new(format!("{}: {initial:?}", it.path()), ApprovalCase { call, text, initial }));
        }
    }
    Ok(cases)
}

fn stale(bench: &Bench<'_>, case: &Case) -> Judgement {
    let mut text: ApprovalCase = case.read()?;
    let later = std::mem::replace(&mut text.initial, "{}\n".to_owned());
    let (call, scene) = prepare(bench, &text)?;
    let path = call.path();
    let mut client = scene.start()?;
    let (pending_call, question) = ask(&mut client, bench.subject, &call)?;
    scene.put(&path, &later)?;
    let before = Moment::capture(&scene)?;
    let response = answer(&mut client, &pending_call, &accept())?;
    if let Reply::Refused(_) = bench.subject.adapter.reply(call.tool, &response) {
        return before.same(&Moment::capture(&scene)?);
    }
    let after = scene.read(&path).unwrap_or_default();
    let appended = appended_text(later.as_bytes(), &after);
    let message = question["message"].as_str().unwrap_or_default();
    match appended {
        Some(appended) if shows(message, appended) && !appended.is_empty() => Ok(()),
        _ => Err(fail("the person's save was lost, or the appended text is not the one shown").showing(
            &path,
            Some(later.as_bytes()),
            Some(&after),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_text_omits_line_endings() {
        for (before, after, expected) in [
            ("a\n", "a\nb\n", Some("b")),
            ("a", "a\nb\n", Some("b")),
            ("a", "a\r\nb\n", Some("b")),
            ("a\n", "a\n\nb", Some("\nb")),
            ("", "b\nc\n", Some("b\nc")),
            ("a\n", "b\n", None),
        ] {
            assert_eq!(appended_text(before.as_bytes(), after.as_bytes()), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_text_is_shown_as_it_is_or_with_escapes() {
        for (message, text, expected) in [
            ("Append?\n\na (b)\n", "a (b)", true),
            ("a\u{200b}b", "a\u{200b}b", true),
            (r"a\u{200b}b", "a\u{200b}b", true),
            (r"a\u200b\u200bb", "a\u{200b}\u{200b}b", true),
            ("a<U+001B>b", "a\u{1b}b", true),
            ("ab", "a\u{200b}b", false),
            ("a and then a lot of text b", "a\u{200b}b", false),
            ("a\n b", "a\nb", false),
            ("a", "a.", false),
        ] {
            assert_eq!(shows(message, text), expected, "{message:?} {text:?}");
        }
    }
}
