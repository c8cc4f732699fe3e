//! Checks of unknown methods.

use super::calls::{library, short};
use crate::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "wire/unknown-method",
    guarantees: &[],
    states: "A request with an unknown method is answered with -32601; an unknown notification is not \
            answered.",
    explains: "JSON-RPC defines the code. A notification has no id, so a client would match its answer to another \
               request.",
    cases,
    ..Check::must(judge)
};

#[derive(Debug, Serialize, Deserialize)]
struct UnknownMethod {
    method: String,
    notification: bool,
}

fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let requests =
        ["conformance/unknown", "TOOLS/LIST", "tools/list/", "tools", "", "notifications/conformance"];
    let notifications = ["notifications/conformance-unknown", "conformance/unknown", "tools/unknown"];
    let case = |kind: &str, method: &str| {
        let (method, notification) = (method.to_owned(), kind == "notification");
        Case::new(format!("{kind} `{method}`"), UnknownMethod { method, notification })
    };
    let requests = requests.iter().map(|method| case("request", method));
    Ok(requests.chain(notifications.iter().map(|method| case("notification", method))).collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let UnknownMethod { method, notification } = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let since = talk.heard.len();
    if notification {
        talk.say(json!({ "jsonrpc": "2.0", "method": method, "params": {} }).to_string())?;
        return match talk.settle(since)?.iter().find(|message| message.get("method").is_none()) {
            None => Ok(()),
            Some(answer) => Err(fail(format!("the notification was answered with {}", short(answer)))),
        };
    }
    let answer = talk.ask(&json!(1), &method, json!({}))?;
    ensure(answer["error"]["code"] == -32601, || {
        format!("the request was answered with {} instead of error -32601", short(&answer))
    })?;
    talk.settle(since)?;
    Ok(())
}
