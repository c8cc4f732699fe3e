//! Checks of notifications before the first request.

use super::calls::library;
use crate::{checks::prelude::*, talk::is_answer};

pub(super) const CHECK: Check = Check {
    id: "wire/notifications-first",
    guarantees: &[],
    states: "Notifications before the first request are not answered and do no harm.",
    explains: "A restarted client may still cancel a request, and some clients send notifications before their first \
               request. Sends a few notifications before `initialize` (or the first request); the server must then \
               work as usual.",
    ..Check::should(judge)
};

fn judge(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = library(bench)?;
    let mut talk = Talk::begin(bench.subject, &scene)?;
    let notifications = [
        ("notifications/initialized", json!({})),
        ("notifications/cancelled", json!({ "requestId": 77, "reason": "gone" })),
        ("notifications/progress", json!({ "progressToken": 7, "progress": 1 })),
        ("notifications/conformance-unknown", json!({ "a": [1] })),
    ];
    for (method, params) in notifications {
        talk.say(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string())?;
    }
    talk.greet()?;
    let messages = talk.settle(0)?;
    let answer = messages.iter().find(|message| is_answer(message) && message["id"] != "initialize");
    ensure_none(answer, |answer| format!("a notification was answered with {answer}"))
}
