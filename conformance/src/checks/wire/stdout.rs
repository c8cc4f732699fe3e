//! Checks that standard output carries only messages.

use super::calls::{id, library, lines_only, short, valid_calls};
use crate::{WireError, checks::prelude::*, generate::Inputs, talk::is_answer};

pub(super) const CHECK: Check = Check {
    id: "wire/stdout-clean",
    guarantees: &[],
    states: "Standard output carries JSON-RPC messages, one per line, and nothing else.",
    explains: "A stray line (a banner, a log, a stack trace) breaks every client. Makes valid and invalid calls of all \
               tools, sends invalid lines, and closes standard input. Every line up to the end of standard output must \
               be one message.",
    ..Check::must(judge)
};

fn judge(bench: &Bench<'_>, _: &Case) -> Judgement {
    lines_only(bench)?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let mut number = 0;
    for tool in bench.subject.operations() {
        let valid = valid_calls(bench, tool).into_iter().map(|call| call.arguments);
        let invalid = Inputs::generate(bench.subject.contract, tool).invalid.into_iter().take(8);
        for arguments in valid.chain(invalid.map(|input| input.arguments)) {
            let Ok(params) = talk.params(&scene, tool, &arguments) else {
                continue;
            };
            number += 1;
            talk.ask(&id(number), "tools/call", params)?;
        }
    }
    for line in ["nonsense", "{}", "[]", r#"{"jsonrpc":"2.0","method":"conformance/unknown"}"#] {
        talk.say(line)?;
    }
    talk.ask(&json!("unknown"), "conformance/unknown", json!({}))?;
    talk.settle(0)?;
    talk.target.hang_up();
    loop {
        match talk.target.receive() {
            Ok(message) => talk.heard.push(message),
            // `wire/exit-on-eof` judges the exit.
            Err(WireError::Closed | WireError::Silent(_)) => break,
            Err(stray) => return Err(stray.into()),
        }
    }
    if let Some(stray) = talk.target.strays.first() {
        let stray = &stray[..stray.floor_char_boundary(200)];
        return Err(fail(format!("the server wrote a line that is not JSON: {stray}")));
    }
    for message in &talk.heard {
        ensure(is_message(message), || {
            format!("the server wrote a line that is not a JSON-RPC message: {}", short(message))
        })?;
    }
    Ok(())
}

fn is_message(message: &Value) -> bool {
    let has_kind = is_answer(message) || message["method"].is_string();
    let has_both = message.get("result").is_some() && message.get("error").is_some();
    message["jsonrpc"] == "2.0" && has_kind && !has_both
}
