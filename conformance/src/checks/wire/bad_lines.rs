//! Checks of lines that are not valid requests.

use super::calls::{library, lines_only, short};
use crate::{Bytes, check::one_by_one, checks::prelude::*, client::prepare};

pub(super) const CHECK: Check = Check {
    id: "wire/bad-lines",
    guarantees: &[],
    states: "An invalid line is refused or ignored, and the next request is answered.",
    explains: "Sends lines that are unparsable, empty, not an object, a batch, not UTF-8, without a version, or 3 MB \
               long, alone and many at once. An answer, if any, must be a JSON-RPC error; a nearly valid request may \
               also be served. Two valid requests afterwards must be answered.",
    cases,
    shrink,
    ..Check::must(|bench, case| {
        judge(bench, case, |answer, _| {
            ensure(answer["error"]["code"].is_i64(), || {
                format!("the line was answered with {} instead of an error", short(answer))
            })
        })
    })
};

pub(super) const CODE: Check = Check {
    id: "wire/bad-lines-code",
    guarantees: &[],
    states: "A line that is not a request is refused with JSON-RPC error -32700 or -32600.",
    explains: "JSON-RPC has -32700 for a line that is not JSON, and -32600 for one that is not a request. Sends the \
               lines of wire/bad-lines.",
    cases,
    shrink,
    ..Check::should(|bench, case| {
        judge(bench, case, |answer, bad| {
            let code = answer["error"]["code"].as_i64();
            ensure(bad.readable || matches!(code, Some(-32700 | -32600)), || {
                format!("the line was answered with {} instead of error -32700 or -32600", short(answer))
            })
        })
    })
};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct BadLine {
    lines: Vec<Line>,
    /// True if a lenient server may serve them as requests.
    readable: bool,
    /// True if all lines are sent before any answer is read.
    at_once: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Bytes(Bytes),
    /// A repeated character.
    Repeated(char, usize),
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut params = json!({});
    prepare(bench.subject.era, &mut params, &json!({}));
    let with = |members: Value| {
        let mut message = members;
        message["method"] = "tools/list".into();
        message["params"] = params.clone();
        message.to_string()
    };
    let good = with(json!({ "jsonrpc": "2.0", "id": 1 }));
    let utf_16 = good.encode_utf16().flat_map(u16::to_le_bytes);
    let unparsable = [
        b"nonsense".to_vec(),
        good.as_bytes()[..good.len() / 2].to_vec(),
        good.replace("\"id\":1", "\"id\":1,").into(),
        good.replace('"', "'").into(),
        format!("Content-Length: {}", good.len()).into(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\xc3\"}".to_vec(),
        utf_16.filter(|byte| *byte != b'\n').collect(),
        b"\0".to_vec(),
    ];
    let refusable = [
        "",
        " \t ",
        "\r",
        "null",
        "7",
        "\"tools/list\"",
        "{}",
        "[]",
        &format!("[{good}]"),
        &format!("[{good},{}]", with(json!({ "jsonrpc": "2.0", "id": 2 }))),
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":"unknown","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"unknown","error":{"code":1,"message":"x"}}"#,
    ];
    let refusable = refusable.map(|line| line.as_bytes().to_vec());
    // A lenient parser serves these, or a valid part of them.
    let readable = [
        with(json!({ "id": 1 })),
        with(json!({ "jsonrpc": "1.0", "id": 1 })),
        with(json!({ "jsonrpc": 2.0, "id": 1 })),
        format!("\u{feff}{good}"),
        format!("{good}}}"),
        format!("{good}{good}"),
        format!("{good} // listed"),
    ];
    let readable = readable.map(String::into_bytes);
    let lines = |lines: &[Vec<u8>]| -> Vec<_> {
        let bytes = lines.iter().map(|line| Bytes(line.clone()));
        bytes.map(Line::Bytes).collect()
    };
    let case = |name: &str, lines, readable| {
        let at_once = false;
        Case::new(name, BadLine { lines, readable, at_once })
    };
    let repeated = |letter| vec![Line::Repeated(letter, 3_000_000)];
    let all =
        BadLine { lines: [lines(&unparsable), lines(&refusable)].concat(), readable: false, at_once: true };
    Ok(vec![
        case("unparsable lines", lines(&unparsable), false),
        case("lines that are not requests", lines(&refusable), false),
        case("nearly valid requests", lines(&readable), true),
        case("3 MB of letters", repeated('x'), false),
        case("3 MB of brackets", repeated('['), false),
        case("3 MB of blanks", repeated(' '), false),
        Case::new("many lines at once", all),
    ])
}

fn judge(bench: &Bench<'_>, case: &Case, judge_answer: fn(&Value, &BadLine) -> Judgement) -> Judgement {
    lines_only(bench)?;
    let bad: BadLine = case.read()?;
    let scene = library(bench)?;
    let before = scene.view()?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    // A server of several revisions may need a good request to know the connection's.
    talk.settle(0)?;
    for lines in bad.lines.chunks(if bad.at_once { bad.lines.len() } else { 1 }) {
        let since = talk.heard.len();
        for line in lines {
            match line {
                Line::Bytes(bytes) => talk.say(bytes)?,
                Line::Repeated(letter, times) => talk.say(letter.to_string().repeat(*times))?,
            }
        }
        let messages = talk.settle(since);
        let messages = messages.map_err(|stop| match &lines[0] {
            Line::Bytes(bytes) if lines.len() == 1 => {
                let line = short(&String::from_utf8_lossy(&bytes.0).into());
                fail(format!("after the line {line}: {stop}"))
            }
            _ => stop,
        })?;
        for answer in messages.iter().filter(|message| message.get("method").is_none()) {
            let served = bad.readable && answer.get("result").is_some() && answer["id"] == 1;
            if !served {
                judge_answer(answer, &bad)?;
            }
        }
    }
    before.same(&scene.view()?, "an invalid line")
}

/// Returns each line as a case of its own.
fn shrink(case: &Case) -> Vec<Case> {
    one_by_one(case, |bad: &mut BadLine| {
        // One line is not sent together with others.
        bad.at_once = false;
        &mut bad.lines
    })
}
