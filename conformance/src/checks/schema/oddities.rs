//! JSON that is odd, or only almost JSON, where arguments should be.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::spec::EffectKind;

use super::{DOCUMENT, DOCUMENTS};
use crate::{
    check::{Bench, Case, Check, Severity},
    judgement::{Judgement, Stop, ensure},
    reply::Refusal,
    request::{Call, With},
    scene::Scene,
    talk::{Talk, is_answer},
};

pub(super) const CHECK: Check = Check {
    id: "schema/json-oddities",
    severity: Severity::Must,
    guarantees: &[
        "errors-write-nothing",
        "refusals-write-nothing",
        "errors-change-nothing",
    ],
    states: "Odd JSON is refused or handled: the server stays up, and what is refused or ignored changes nothing.",
    explains: "Into the text of a valid write odd JSON is put: members that stand twice, 10,000 nested lists, numbers that \
               are too large for any type, minus zero, halves of surrogate pairs, NUL, and what only looks like JSON. A \
               server may take it as its parser does. It must answer the next request, and where it does not say that the \
               call was done, the library and what lies around it must be what they were.",
    cases,
    judge,
    shrink,
};

/// Where the text of the call is changed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Place {
    /// Instead of the content that is to be written.
    Content,
    /// Instead of the path.
    Path,
    /// A member more of the arguments.
    Arguments,
    /// A member more of the params.
    Params,
    /// A member more of the message.
    Message,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Odd {
    place: Place,
    text: String,
}

/// Stands where the odd text comes.
const HERE: &str = "conformance-here";
/// The other of two ids.
const SECOND_ID: i64 = 2;
/// How deep lists are nested.
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
    let twice = [
        (Place::Arguments, r#""path":"README.md""#),
        (Place::Arguments, r#""content":"other""#),
        (Place::Arguments, r#""p\u0061th":"README.md""#),
        (Place::Arguments, r#""\ud800":1"#),
        (Place::Arguments, r#""":1"#),
        (Place::Params, r#""arguments":{}"#),
        (Place::Params, r#""name":"conformance-unknown""#),
        (Place::Message, r#""method":"conformance/unknown""#),
        (Place::Message, r#""params":{}"#),
        (Place::Message, r#""jsonrpc":"2.0""#),
        (Place::Message, r#""id":2"#),
    ];
    let at = |place: Place| {
        move |text: &str| Odd {
            place,
            text: text.to_owned(),
        }
    };
    let member = |place: Place| {
        let deep = [&deep, &objects].map(|value| format!(r#""deep":{value}"#));
        deep.map(|text| Odd { place, text })
    };
    let list = |name: &str, odd: Vec<Odd>| Case::new(name, odd);
    Ok(vec![
        list(
            "odd content",
            values.into_iter().map(at(Place::Content)).collect(),
        ),
        list("an odd path", values.into_iter().map(at(Place::Path)).collect()),
        list(
            "members that stand twice",
            twice.into_iter().map(|(place, text)| at(place)(text)).collect(),
        ),
        list(
            "deep content",
            [&deep, &objects].map(|text| at(Place::Content)(text)).into(),
        ),
        list("a deep argument", member(Place::Arguments).into()),
        list("a deep parameter", member(Place::Params).into()),
        list("a deep message", member(Place::Message).into()),
        list(
            "a depth without an end",
            vec![at(Place::Content)(&deep[..NESTING_DEPTH])],
        ),
    ])
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let odd: Vec<Odd> = case.read()?;
    let scene = Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let with = With {
        path: DOCUMENT,
        content: "New.\n",
        ..With::default()
    };
    let call = bench.subject.request(EffectKind::Write, with);
    let call =
        call.ok_or_else(|| Stop::NotApplicable("the server has no tool that writes a document".into()))?;
    let mut before = scene.view()?;
    for (number, odd) in odd.into_iter().enumerate() {
        let id = json!(number + 10);
        let message = marked(&call, odd.place)?;
        let params = talk.params(&scene, call.tool, &message)?;
        let line = talk.request(&id, "tools/call", params);
        let line = line_with(&line, &odd)
            .ok_or_else(|| Stop::NotApplicable("the server's calls have no such place".into()))?;
        let since = talk.heard.len();
        let is_json = serde_json::from_str::<Value>(&line).is_ok();
        talk.say(line)?;
        talk.settle(since)?;
        // What is no JSON to us may be to the server: then it is served, and answered like all that is JSON.
        let served = is_json || scene.view()? != before;
        while served && answer(&talk.heard[since..], &id).is_none() {
            talk.hear()?;
        }
        let answer = answer(&talk.heard[since..], &id);
        let done =
            answer.is_some_and(|answer| answer.get("result").is_some() && Refusal::of(answer).is_none());
        let after = scene.view()?;
        let text: String = odd.text.chars().take(60).collect();
        ensure(done || after == before, || {
            format!("the call with {text} was not answered with success, but something has changed")
        })?;
        ensure(after.around == before.around, || {
            format!("the call with {text} changed what lies outside of the library")
        })?;
        before = after;
    }
    Ok(())
}

/// The answer to the request with this id, or to one that could not be read. Where an id stands twice it may be either.
fn answer<'a>(heard: &'a [Value], id: &Value) -> Option<&'a Value> {
    let mut answers = heard.iter().filter(|message| is_answer(message));
    answers.find(|answer| answer["id"] == *id || answer["id"] == SECOND_ID || answer["id"].is_null())
}

/// The arguments of the call, with a mark where they are to be changed.
fn marked(call: &Call, place: Place) -> Result<Value, Stop> {
    let mut arguments = call.arguments.clone();
    let effects = call.tool.effects.iter();
    let written = effects.filter(|effect| effect.kind == EffectKind::Write);
    let at = match place {
        Place::Content => written.filter_map(|effect| effect.content).next(),
        Place::Path => call.tool.path,
        Place::Arguments | Place::Params | Place::Message => return Ok(arguments),
    };
    let value = at.and_then(|at| arguments.pointer_mut(at));
    *value.ok_or_else(|| Stop::NotApplicable("the contract's writes have no such place".into()))? =
        HERE.into();
    Ok(arguments)
}

/// The line with the odd text in its place.
fn line_with(line: &str, odd: &Odd) -> Option<String> {
    let text = &odd.text;
    let before = |member: &str| {
        let at = line.find(member)? + member.len();
        Some(format!("{}{text},{}", &line[..at], &line[at..]))
    };
    match odd.place {
        Place::Content | Place::Path => {
            let mark = format!("\"{HERE}\"");
            line.contains(&mark).then(|| line.replacen(&mark, text, 1))
        }
        Place::Arguments => before("\"arguments\":{"),
        Place::Params => before("\"params\":{"),
        Place::Message => before("{"),
    }
}

/// Each by itself.
fn shrink(case: &Case) -> Vec<Case> {
    let odd: Vec<Odd> = case.read().unwrap_or_default();
    if odd.len() < 2 {
        return Vec::new();
    }
    let one = |(number, odd)| Case::new(format!("{}, only number {}", case.name, number + 1), vec![odd]);
    odd.into_iter().enumerate().map(one).collect()
}
