//! A client with many calls in flight, whose server may be killed.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::calls::{Call, CallOutcome};
use crate::support::{Library, Server, edit, outcome, process};

/// Makes a final change of `path`, which must succeed: it completes or undoes unfinished earlier calls.
pub(super) fn last_change(library: &Library, path: &str) -> Vec<Call> {
    let mut client = Client::new(library);
    let call = Call::new("last", "edit_markdown", edit(path, "append", "", "- last\n"));
    let end = &client.call(call).end;
    assert!(matches!(end, CallOutcome::Commit(_)), "{end:?}");
    client.close();
    client.calls
}

/// A client and all calls that it ever made.
pub(super) struct Client<'a> {
    library: &'a Library,
    server: Option<Server>,
    pub(super) calls: Vec<Call>,
    /// The call and its start, by the request's id.
    in_flight: HashMap<i64, (usize, Instant)>,
    pub(super) kills: usize,
}

impl<'a> Client<'a> {
    pub(super) fn new(library: &'a Library) -> Self {
        Self { library, server: None, calls: vec![], in_flight: HashMap::new(), kills: 0 }
    }

    /// Returns the id of the document's content; `None` if there is no document.
    pub(super) fn base(&mut self, path: &str) -> Option<String> {
        assert!(self.in_flight.is_empty(), "answers would get lost");
        let read = self.server().call_with("read_markdown", json!({ "path": path }), json!({}));
        read.ok()?.meta["tabellion/base"].as_str().map(String::from)
    }

    /// Sends a new call.
    pub(super) fn post(&mut self, call: Call) {
        self.calls.push(call);
        self.send(self.calls.len() - 1);
    }

    /// Repeats the calls with a key whose outcome is not known.
    pub(super) fn post_again(&mut self) {
        for at in 0..self.calls.len() {
            if self.calls[at].end == CallOutcome::Unknown && self.calls[at].has_key() {
                self.send(at);
            }
        }
    }

    fn send(&mut self, at: usize) {
        let params = self.calls[at].params();
        let id = self.server().target.post("tools/call", params).expect("sent");
        self.in_flight.insert(id, (at, Instant::now()));
    }

    /// Waits for answers until `left` calls are in flight.
    pub(super) fn receive(&mut self, left: usize) {
        while self.in_flight.len() > left {
            let message = self.server().target.receive().expect("an answer");
            let id = message["id"].as_i64().expect("an id");
            let (at, since) = self.in_flight.remove(&id).expect("a call in flight");
            self.calls[at].ended(outcome(&message), since.elapsed());
        }
    }

    /// Returns the number of calls in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends one call and waits for its answer.
    pub(super) fn call(&mut self, call: Call) -> &Call {
        self.post(call);
        self.receive(0);
        self.calls.last().expect("a call")
    }

    /// Calls a tool that changes nothing, which must succeed.
    pub(super) fn read(&mut self, tool: &str, request: Value) {
        let read = self.server().call(tool, request.clone());
        read.unwrap_or_else(|refusal| panic!("{tool} {request}: {refusal:?}"));
    }

    /// Returns the server's process id.
    pub(super) fn id(&mut self) -> u32 {
        process(&self.server().target)
    }

    /// Kills the server after a while. The outcome of the calls in flight is then unknown.
    pub(super) fn kill_after(&mut self, while_: Duration) {
        thread::sleep(while_);
        if let Some(server) = self.server.take() {
            server.target.kill();
            self.kills += 1;
        }
        self.in_flight.clear();
    }

    /// Ends the session, if one is open.
    pub(super) fn close(&mut self) {
        if let Some(server) = self.server.take() {
            server.close();
        }
    }

    fn server(&mut self) -> &mut Server {
        self.server.get_or_insert_with(|| {
            // Messages about saves that were kept aside are expected here.
            let mut command = self.library.command();
            let command = command.env("TABELLION_LOG", "tabellion=error");
            Server::start(command)
        })
    }
}

/// Runs `servers` servers that append to `path`, each one call after another, until `person` returns. `person` receives
/// the number of answers so far. Returns the calls and the result of `person`.
pub(super) fn append_beside<T: Send>(
    library: &Library,
    servers: usize,
    path: &str,
    person: impl FnOnce(&AtomicUsize) -> T + Send,
) -> (Vec<Call>, T) {
    let over = AtomicBool::new(false);
    let answers = AtomicUsize::new(0);
    let append = |name: usize| {
        let mut client = Client::new(library);
        while !over.load(Ordering::Relaxed) {
            let token = format!("t{name}-{}", client.calls.len());
            let request = edit(path, "append", "", &format!("- {token}\n"));
            client.call(Call::new(&token, "edit_markdown", request));
            answers.fetch_add(1, Ordering::Relaxed);
        }
        client.close();
        client.calls
    };
    let append = &append;
    thread::scope(|scope| {
        let clients: Vec<_> = (0..servers).map(|name| scope.spawn(move || append(name))).collect();
        let did = scope.spawn(|| person(&answers)).join();
        over.store(true, Ordering::Relaxed);
        let calls = clients.into_iter().flat_map(|client| client.join().expect("a client")).collect();
        (calls, did.expect("a person"))
    })
}
