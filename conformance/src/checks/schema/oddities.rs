//! Checks of unusual and invalid JSON in calls.

use std::{thread, time::Duration};

use super::{library::DOCUMENT, library::DOCUMENTS};
use crate::{check::one_by_one, checks::prelude::*, talk::is_answer};

pub(super) const CHECK: Check = Check {
    id: "schema/json-oddities",
    guarantees: &[
        "each-pair-as-declared",
        "errors-write-nothing",
        "refusals-write-nothing",
        "errors-change-nothing",
    ],
    states: "Odd JSON is refused or handled: the server stays up, and a refused or ignored message \
            changes nothing.",
    explains: "Inserts unusual JSON into a valid write: duplicate members, 10,000 nested lists, numbers too large for \
               any type, minus zero, lone surrogates, NUL, and text that resembles JSON. A server may accept what its \
               parser accepts. It must answer the next request; unless it reports success, the library and the files \
               outside it must be unchanged.",
    cases,
    shrink: |case| one_by_one(case, |odd: &mut Vec<OddInput>| odd),
    ..Check::must(judge)
};

/// The part of the call that is changed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum InputPlace {
    /// Replaces the content.
    Content,
    /// Replaces the path.
    Path,
    /// Adds a member to the arguments.
    Arguments,
    /// Adds a member to the params.
    Params,
    /// Adds a member to the message.
    Message,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OddInput {
    place: InputPlace,
    text: String,
}

/// Placeholder for the odd text.
const PLACEHOLDER: &str = "conformance-here";
/// The id of the member that is added to a message.
const SECOND_ID: i64 = 2;
/// Depth of nested lists and objects.
const NESTING_DEPTH: usize = 10_000;

fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let deep = "[".repeat(NESTING_DEPTH) + &"]".repeat(NESTING_DEPTH);
    let objects = r#"{"a":"#.repeat(NESTING_DEPTH) + "1" + &"}".repeat(NESTING_DEPTH);
    let values = [
        "1e308",
        "1e999",
        "-1e999",
        "-0",
        "-0.0",
        "1e-999",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827",
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""a\u0000b""#,
        r#""\u0000""#,
        r#""\ud83d\ude00""#,
        r#""\/\b\f""#,
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "'x'",
        "0x10",
        "01",
        "+1",
        "1.",
        ".5",
        r#""\x41""#,
        "\"a\tb\"",
        "\"\u{7f}\u{feff}\u{202e}\"",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "/* x */ 1",
        "",
    ];
    let duplicates = [
        (InputPlace::Arguments, r#""path":"README.md""#),
        (InputPlace::Arguments, r#""content":"other""#),
        (InputPlace::Arguments, r#""p\u0061th":"README.md""#),
        (InputPlace::Arguments, r#""\ud800":1"#),
        (InputPlace::Arguments, r#""":1"#),
        (InputPlace::Params, r#""arguments":{}"#),
        (InputPlace::Params, r#""name":"conformance-unknown""#),
        (InputPlace::Message, r#""method":"conformance/unknown""#),
        (InputPlace::Message, r#""params":{}"#),
        (InputPlace::Message, r#""jsonrpc":"2.0""#),
        (InputPlace::Message, r#""id":2"#),
    ];
    let at = |place: InputPlace| move |text: &str| OddInput { place, text: text.to_owned() };
    let member = |place: InputPlace| {
        let deep = [&deep, &objects].map(|value| format!(r#""deep":{value}"#));
        deep.map(|text| OddInput { place, text })
    };
    let list = |name: &str, odd: Vec<OddInput>| Case::new(name, odd);
    Ok(vec![
        list("odd content", values.into_iter().map(at(InputPlace::Content)).collect()),
        list("an odd path", values.into_iter().map(at(InputPlace::Path)).collect()),
        list("duplicate members", duplicates.into_iter().map(|(place, text)| at(place)(text)).collect()),
        list("deep content", [&deep, &objects].map(|text| at(InputPlace::Content)(text)).into()),
        list("a deep argument", member(InputPlace::Arguments).into()),
        list("a deep parameter", member(InputPlace::Params).into()),
        list("a deep message", member(InputPlace::Message).into()),
        list("unclosed lists", vec![at(InputPlace::Content)(&deep[..NESTING_DEPTH])]),
    ])
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let odd: Vec<OddInput> = case.read()?;
    let with = With { path: DOCUMENT, content: "New.\n", ..With::default() };
    let call = bench.subject.placed(EffectKind::Write, with);
    let call = call.ok_or_else(|| not_applicable("the server has no tool that writes a document"))?;
    let scene = Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let mut before = scene.view()?;
    for (number, odd) in odd.into_iter().enumerate() {
        let id = json!(number + 10);
        let arguments = with_placeholder(&call, odd.place)?;
        let params = talk.params(&scene, call.tool, &arguments)?;
        let line = talk.request(&id, "tools/call", params);
        let line =
            line_with(&line, &odd).ok_or_else(|| not_applicable("the server's calls have no such member"))?;
        let since = talk.heard.len();
        let is_json = serde_json::from_str::<Value>(&line).is_ok();
        talk.say(line)?;
        talk.settle(since)?;
        // A lenient server may accept text that `serde_json` does not, and answer after later requests.
        for _ in 0..LATE_ANSWERS {
            if is_json || answer(&talk.heard[since..], &id).is_some() {
                break;
            }
            thread::sleep(LATE_ANSWER);
            talk.settle(since)?;
        }
        let must_answer = is_json || scene.view()? != before;
        while must_answer && answer(&talk.heard[since..], &id).is_none() {
            talk.hear()?;
        }
        let answer = answer(&talk.heard[since..], &id);
        let done = answer
            .is_some_and(|answer| answer.get("result").is_some() && Refusal::from_message(answer).is_none());
        let after = scene.view()?;
        let text: String = odd.text.chars().take(60).collect();
        if !done {
            before.same(&after, &format!("the call with {text}, which reported no success,"))?;
        }
        ensure(after.around == before.around, || {
            format!("the call with {text} changed files outside the library")
        })?;
        before = after;
    }
    Ok(())
}

/// Number and pause of further chances to answer a call that may not be JSON.
const LATE_ANSWERS: usize = 5;
const LATE_ANSWER: Duration = Duration::from_millis(60);

/// Returns the answer with this id, with the second of two duplicate ids, or with `null`.
fn answer<'a>(heard: &'a [Value], id: &Value) -> Option<&'a Value> {
    let mut answers = heard.iter().filter(|message| is_answer(message));
    answers.find(|answer| answer["id"] == *id || answer["id"] == SECOND_ID || answer["id"].is_null())
}

/// Returns the arguments of the call, with the placeholder at `place`.
fn with_placeholder(call: &Call, place: InputPlace) -> Result<Value, Stop> {
    let mut arguments = call.arguments.clone();
    let effects = call.tool.effects.iter();
    let written = effects.filter(|effect| effect.kind == EffectKind::Write);
    let at = match place {
        InputPlace::Content => written.filter_map(|effect| effect.content).next(),
        InputPlace::Path => call.tool.path,
        InputPlace::Arguments | InputPlace::Params | InputPlace::Message => return Ok(arguments),
    };
    let value = at.and_then(|at| arguments.pointer_mut(at));
    *value.ok_or_else(|| not_applicable("the contract's writes have no such member"))? = PLACEHOLDER.into();
    Ok(arguments)
}

/// Returns the line with the odd text inserted.
fn line_with(line: &str, odd: &OddInput) -> Option<String> {
    let text = &odd.text;
    let before = |member: &str| {
        let at = line.find(member)? + member.len();
        Some(format!("{}{text},{}", &line[..at], &line[at..]))
    };
    match odd.place {
        InputPlace::Content | InputPlace::Path => {
            let placeholder = format!("\"{PLACEHOLDER}\"");
            line.contains(&placeholder).then(|| line.replacen(&placeholder, text, 1))
        }
        InputPlace::Arguments => before("\"arguments\":{"),
        InputPlace::Params => before("\"params\":{"),
        InputPlace::Message => before("{"),
    }
}
