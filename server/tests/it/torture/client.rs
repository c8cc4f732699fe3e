//! A client with many calls in flight, at a server that may be killed.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde_json::json;

use super::calls::{Call, End};
use crate::support::{Library, Server, outcome};

/// A client and all calls that it ever made.
pub(super) struct Client<'a> {
    library: &'a Library,
    server: Option<Server>,
    pub(super) calls: Vec<Call>,
    /// By the request's id: which call it is, and since when it is in flight.
    in_flight: HashMap<i64, (usize, Instant)>,
    pub(super) kills: usize,
}

impl<'a> Client<'a> {
    pub(super) fn new(library: &'a Library) -> Self {
        Self {
            library,
            server: None,
            calls: vec![],
            in_flight: HashMap::new(),
            kills: 0,
        }
    }

    /// The id of the document's content; `None` where there is none.
    pub(super) fn base(&mut self, path: &str) -> Option<String> {
        assert!(self.in_flight.is_empty(), "answers would get lost");
        let read = self
            .server()
            .call_with("read_markdown", json!({ "path": path }), json!({}));
        read.ok()?.meta["tabellion/base"].as_str().map(String::from)
    }

    /// Sends a new call.
    pub(super) fn post(&mut self, call: Call) {
        self.calls.push(call);
        self.send(self.calls.len() - 1);
    }

    /// Makes the calls again whose outcome is not known, where they have a key.
    pub(super) fn post_again(&mut self) {
        for at in 0..self.calls.len() {
            if self.calls[at].end == End::Unknown && self.calls[at].has_key() {
                self.send(at);
            }
        }
    }

    fn send(&mut self, at: usize) {
        let params = self.calls[at].params();
        let id = self.server().target.post("tools/call", params).expect("sent");
        self.in_flight.insert(id, (at, Instant::now()));
    }

    /// Waits for the answers to all calls in flight but `left`.
    pub(super) fn receive(&mut self, left: usize) {
        while self.in_flight.len() > left {
            let message = self.server().target.receive().expect("an answer");
            let id = message["id"].as_i64().expect("an id");
            let (at, since) = self.in_flight.remove(&id).expect("a call in flight");
            self.calls[at].ended(outcome(&message), since.elapsed());
        }
    }

    /// How many calls are in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends one call and waits for its answer.
    pub(super) fn call(&mut self, call: Call) -> &Call {
        self.post(call);
        self.receive(0);
        self.calls.last().expect("a call")
    }

    /// Kills the server after a while. Nobody will know what became of the calls in flight.
    pub(super) fn kill_after(&mut self, while_: Duration) {
        std::thread::sleep(while_);
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
        self.server.get_or_insert_with(|| self.library.serve())
    }
}
