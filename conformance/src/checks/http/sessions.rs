//! Sessions (in revisions up to 2025-11-25), and methods other than POST.

use super::exchange::{Exchange, only_in};
use crate::{checks::prelude::*, era::Era, http::Request, target::streamable::SESSION};

pub(super) const ENDS: Check = Check {
    id: "http/session-ends",
    guarantees: &[],
    states: "Requests in an ended session are answered with 404. A session's id consists of visible ASCII.",
    explains: "A session is opened and ended with DELETE, which a server may refuse (then the check does not apply). \
               Then a call is made in it. The status 404 tells a client to open a new session. No file may change.",
    ..Check::must(ends)
};

pub(super) const UNKNOWN: Check = Check {
    id: "http/unknown-session",
    guarantees: &[],
    states: "A request in an unknown session is answered with 404.",
    explains: "After a restart a server does not know the sessions of its clients. Only 404 tells them to open a new \
               one; most clients hang or fail on any other status.",
    ..Check::should(unknown)
};

pub(super) const GET: Check = Check {
    id: "http/get",
    guarantees: &[],
    states: "GET is answered with an event stream, or with 405.",
    explains: "With GET a client opens a stream for the server's own messages, and must learn whether there is one. \
               Revision 2026-07-28 has no such stream; there the check does not apply.",
    ..Check::must(get)
};

pub(super) const OTHER_METHODS: Check = Check {
    id: "http/other-methods",
    guarantees: &[],
    states: "Only POST carries messages: PUT, PATCH and GET with a call in them are refused, and change nothing.",
    explains: "Protections in servers, gateways and browsers often depend on the method.",
    cases: |_| {
        let methods = ["PUT", "PATCH", "GET"];
        Ok(methods.map(|method| Case::new(method, method)).into())
    },
    ..Check::should(other_method)
};

fn ends(bench: &Bench<'_>, _: &Case) -> Judgement {
    only_in(bench, Era::Session)?;
    let mut exchange = Exchange::open(bench)?;
    let Some(id) = exchange.talk.target.session_id() else {
        return Err(not_applicable("the server does not assign session ids"));
    };
    ensure(id.bytes().all(|byte| byte.is_ascii_graphic()), || format!("the session's id is {id:?}"))?;
    let call = exchange.call()?;
    let request = exchange.post(&call)?;
    let mut delete = Request::new("DELETE");
    delete.headers.clone_from(&request.headers);
    let response = exchange.send(&delete)?;
    if response.status >= 400 {
        let why = format!("the server does not let clients end a session: {}", response.title);
        return Err(not_applicable(why));
    }
    let response = exchange.send(&request)?;
    ensure(response.status == 404, || {
        format!("a call in an ended session was answered with {} instead of 404", response.describe())
    })?;
    let other = Talk::beside(&exchange.talk)?;
    // The server ends with its first client.
    let _first = std::mem::replace(&mut exchange.talk, other);
    exchange.talk.greet()?;
    exchange.ensure_harmless()
}

fn unknown(bench: &Bench<'_>, _: &Case) -> Judgement {
    only_in(bench, Era::Session)?;
    let mut exchange = Exchange::open(bench)?;
    if exchange.talk.target.session_id().is_none() {
        return Err(not_applicable("the server does not assign session ids"));
    }
    let call = exchange.call()?;
    let request = exchange.post(&call)?.with(SESSION, "00000000-0000-4000-8000-000000000000");
    let response = exchange.send(&request)?;
    ensure(response.status == 404, || {
        format!("a call in an unknown session was answered with {} instead of 404", response.describe())
    })?;
    exchange.ensure_harmless()
}

fn get(bench: &Bench<'_>, _: &Case) -> Judgement {
    only_in(bench, Era::Session)?;
    let mut exchange = Exchange::open(bench)?;
    let list = exchange.message("tools/list", json!({}))?;
    let mut request = Request::new("GET");
    request.headers = exchange.post(&list)?.without("Content-Type").headers;
    // Only the head is read, because the stream does not end.
    let response = exchange.talk.target.send_http(&request.with("Accept", "text/event-stream"))?;
    let is_stream = response.status == 200 && response.media_type() == "text/event-stream";
    if !is_stream && response.status != 405 {
        let found = response.title();
        return Err(fail(format!("GET was answered with {found} instead of a stream or 405")));
    }
    drop(response);
    exchange.talk.settle(0)?;
    Ok(())
}

fn other_method(bench: &Bench<'_>, case: &Case) -> Judgement {
    let method: String = case.read()?;
    let mut exchange = Exchange::open(bench)?;
    let call = exchange.call()?;
    let mut request = exchange.post(&call)?;
    request.method = match method.as_str() {
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        _ => "GET",
    };
    let response = exchange.talk.target.send_http(&request)?;
    let is_stream = request.method == "GET" && response.media_type() == "text/event-stream";
    let title = response.title();
    ensure(response.status >= 400 || is_stream, || format!("a call by {method} was answered with {title}"))?;
    drop(response);
    exchange.ensure_harmless()
}
