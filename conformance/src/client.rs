//! A client of the server under test: calls the contract's tools in either era, through the adapter.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde_json::{Map, Value, json};
use tabellion_runtime::{ToolSpec, rates::RETRY_AFTER, spec::RETRY_AFTER_SECONDS};

use crate::{
    Subject, Target, WireError,
    era::Era,
    judgement::{Cause, NotShown, Stop, ensure_none, fail, not_applicable},
    layout::SECRET,
    person::{self, Pending, Person},
    provenance,
    reply::Reply,
    request::Call,
    target::CLIENT_NAME,
};

/// Reason why a check that needs two clients cannot run.
pub(crate) const ONE_CLIENT: &str = "a server that speaks over standard input and output has one client";

/// Maximum number of times that a call is repeated because the server asks again.
const MAX_QUESTIONS: usize = 50;

/// Maximum time to wait for a rate limit, in seconds.
const MAX_WAIT: u64 = 60;

/// A client. In the era with sessions, its session is open.
#[derive(Debug)]
pub struct Client<'a> {
    subject: &'a Subject,
    root: PathBuf,
    person: Person,
    /// Responses that arrived while a different one was awaited.
    early: VecDeque<Value>,
    /// Default provenance of calls, if the contract asks for it; a call's own replaces it.
    pub provenance: Map<String, Value>,
    /// Parameters of each question that the server asked the person.
    pub questions: Vec<Value>,
    /// The raw connection, for messages that a well-behaved client would not send.
    pub target: Target,
}

impl<'a> Client<'a> {
    /// Opens a session with the server behind `target`, which serves the library at `root`. The person approves
    /// everything.
    ///
    /// # Errors
    /// If the server does not answer, or negotiates another revision.
    pub fn open(subject: &'a Subject, target: Target, root: PathBuf) -> Result<Self, Stop> {
        Self::open_for(Person::Accepts, subject, target, root)
    }

    /// As [`open`](Self::open), for another person.
    pub fn open_for(
        person: Person,
        subject: &'a Subject,
        target: Target,
        root: PathBuf,
    ) -> Result<Self, Stop> {
        let mut client = Self {
            subject,
            root,
            person,
            early: VecDeque::new(),
            provenance: provenance::full_meta(subject.contract.provenance, 0),
            questions: Vec::new(),
            target,
        };
        if subject.era == Era::Session {
            let revision = subject.era.revision();
            let response = client.target.initialize_as(revision, &person.capabilities())?;
            ensure_none(response.get("error"), |error| format!("`initialize` was answered with {error}"))?;
        }
        Ok(client)
    }

    /// Returns the path of the library.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens another client of the same server, over HTTP.
    ///
    /// # Errors
    /// As [`open`](Self::open); also if the server speaks over standard input and output.
    pub fn beside(&self) -> Result<Self, Stop> {
        let target = self.target.beside(self.subject.era);
        let target = target.ok_or_else(|| not_applicable(ONE_CLIENT))?;
        Self::open_for(self.person, self.subject, target, self.root.clone())
    }

    /// Sends a request with the `_meta` that the era requires; returns the whole response message.
    pub fn request(&mut self, method: &str, mut params: Value) -> Result<Value, WireError> {
        prepare(self.subject.era, &mut params, &self.person.capabilities());
        self.ask(method, params)
    }

    /// As [`request`](Self::request), but does not wait for the response; returns the request's id.
    pub fn post_request(&mut self, method: &str, mut params: Value) -> Result<i64, WireError> {
        prepare(self.subject.era, &mut params, &self.person.capabilities());
        self.target.post(method, params)
    }

    /// Sends a request and waits for the response. The person answers the server's questions meanwhile.
    fn ask(&mut self, method: &str, params: Value) -> Result<Value, WireError> {
        let id = self.target.post(method, params)?;
        loop {
            let message = self.target.receive()?;
            if let Some(response) = self.person.respond(&message) {
                self.questions.extend(person::question(&message).cloned());
                self.target.send(response.to_string())?;
            } else if message["id"] == id {
                return Ok(message);
            } else if !message["id"].is_null() && message.get("method").is_none() {
                self.early.push_back(message);
            }
        }
    }

    /// Returns the next message of the server: a response to [`post`](Self::post).
    pub fn receive(&mut self) -> Result<Value, WireError> {
        match self.early.pop_front() {
            Some(message) => Ok(message),
            None => self.target.receive(),
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// If no response arrives, or the server lacks the tool.
    pub fn call(&mut self, tool: &ToolSpec, arguments: &Value) -> Result<Reply, Stop> {
        self.call_with(tool, arguments, Map::new())
    }

    /// As [`call`](Self::call), with conditions in the request's `_meta`.
    pub fn call_with(
        &mut self,
        tool: &ToolSpec,
        arguments: &Value,
        meta: Map<String, Value>,
    ) -> Result<Reply, Stop> {
        let message = self.call_raw(tool, arguments, meta)?;
        Ok(self.subject.adapter.reply(tool, &message))
    }

    /// As [`call_with`](Self::call_with), but returns the whole response message as the server sent it.
    pub fn call_raw(
        &mut self,
        tool: &ToolSpec,
        arguments: &Value,
        meta: Map<String, Value>,
    ) -> Result<Value, Stop> {
        let mut params = self.params_after(tool, arguments, meta)?;
        // An adapter works arguments out from the disk, where a link may have led it out of the library.
        if !self.subject.is_native() && params.to_string().contains(SECRET.trim_end()) {
            return Err(not_applicable("the adapter would send what is outside"));
        }
        for _ in 0..MAX_QUESTIONS {
            let message = self.ask("tools/call", params.clone());
            let message = message.map_err(|error| self.ended(tool, arguments, error))?;
            if let Some(wait) = retry_after(tool, &message) {
                thread::sleep(wait);
                continue;
            }
            let Some(pending) = Pending::from_message(&message).filter(|_| self.person != Person::Absent)
            else {
                return self.finish(tool, arguments, message);
            };
            let questions = pending.questions.values();
            self.questions.extend(questions.filter_map(person::question).cloned());
            pending.repeat(&mut params, self.person);
        }
        Err(fail(format!("the server asked more than {MAX_QUESTIONS} questions")))
    }

    /// Returns why a call has no answer: also the exit status, if the server's process has ended.
    fn ended(&mut self, tool: &ToolSpec, arguments: &Value, error: WireError) -> Stop {
        let Some(status) = self.target.exit_status() else {
            return error.into();
        };
        let why = format!("the server ended ({status}) during a call of `{}`", tool.label());
        let is_valid = tool.input.check(arguments).is_ok();
        let cause = if is_valid { Cause::Ended(why.clone()) } else { Cause::NoAnswer(why.clone()) };
        Stop::NotShown(Box::new(NotShown { why, cause: Some(cause) }))
    }

    /// Completes the response message of a [`post`](Self::post), with further calls if the adapter needs them.
    ///
    /// # Errors
    /// If a response does not arrive, or the pages of the answer do not end.
    pub fn finish(&mut self, tool: &ToolSpec, arguments: &Value, message: Value) -> Result<Value, Stop> {
        let (subject, root) = (self.subject, self.root.clone());
        let ask = |params| Ok(self.request("tools/call", params)?);
        subject.adapter.finish(tool, arguments, &root, message, ask)
    }

    /// Sends the call of a tool without waiting for the response, which [`receive`](Self::receive) returns; returns the
    /// request's id.
    pub fn post(&mut self, tool: &ToolSpec, arguments: &Value) -> Result<i64, Stop> {
        let params = self.params_after(tool, arguments, Map::new())?;
        Ok(self.target.post("tools/call", params)?)
    }

    /// Sends a [`Call`].
    pub fn make(&mut self, call: &Call) -> Result<Reply, Stop> {
        self.call(call.tool, &call.arguments)
    }

    /// As [`call_raw`](Self::call_raw), for one call of many. Returns `None` if the adapter cannot derive the call from
    /// the documents on disk.
    pub fn attempt(&mut self, tool: &ToolSpec, arguments: &Value) -> Result<Option<Value>, Stop> {
        match self.call_raw(tool, arguments, Map::new()) {
            Ok(message) => Ok(Some(message)),
            Err(Stop::NotApplicable(_)) => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    /// Sends a [`Call`], as [`attempt`](Self::attempt) does.
    pub fn make_if_possible(&mut self, call: &Call) -> Result<Option<Reply>, Stop> {
        let message = self.attempt(call.tool, &call.arguments)?;
        Ok(message.map(|message| self.subject.adapter.reply(call.tool, &message)))
    }

    /// Closes the session and waits for the server's exit.
    pub fn close(self) -> Result<(), WireError> {
        self.target.close().map(drop)
    }

    /// As [`params`](Self::params), after the call that the adapter makes first.
    fn params_after(
        &mut self,
        tool: &ToolSpec,
        arguments: &Value,
        meta: Map<String, Value>,
    ) -> Result<Value, Stop> {
        let (subject, root) = (self.subject, self.root.clone());
        let ask = |params| Ok(self.request("tools/call", params)?);
        let params = subject.adapter.call_after(tool, arguments, &root, ask)?;
        Ok(self.with_meta(params, meta))
    }

    /// Returns the parameters of a call, with the `_meta` that the era requires.
    ///
    /// # Errors
    /// If the server lacks the tool, or the adapter makes another call first.
    pub fn params(
        &self,
        tool: &ToolSpec,
        arguments: &Value,
        meta: Map<String, Value>,
    ) -> Result<Value, Stop> {
        let called = self.subject.adapter.call(tool, arguments, &self.root);
        Ok(self.with_meta(called.map_err(Stop::NotApplicable)?, meta))
    }

    fn with_meta(&self, mut params: Value, mut meta: Map<String, Value>) -> Value {
        if !self.subject.contract.provenance.is_some_and(|spec| provenance::is_said(spec, &meta)) {
            meta.extend(self.provenance.clone());
        }
        if !meta.is_empty() {
            params["_meta"] = meta.into();
        }
        prepare(self.subject.era, &mut params, &self.person.capabilities());
        params
    }
}

/// Returns the time to wait before a call is repeated, if the contract limits the tool's rate and the answer contains it.
fn retry_after(tool: &ToolSpec, message: &Value) -> Option<Duration> {
    tool.rate_limit?;
    let data = message.pointer("/error/data");
    let data = data.or_else(|| message.pointer("/result/_meta/tabellion~1error/data"))?;
    let seconds = [RETRY_AFTER, RETRY_AFTER_SECONDS].iter().find_map(|name| data.get(*name)?.as_u64())?;
    Some(Duration::from_secs(seconds.min(MAX_WAIT)))
}

/// Adds the `_meta` that the era requires in every request.
pub(crate) fn prepare(era: Era, params: &mut Value, capabilities: &Value) {
    if era == Era::Stateless {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = era.revision().into();
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
        meta["io.modelcontextprotocol/clientInfo"] =
            json!({ "name": CLIENT_NAME, "version": env!("CARGO_PKG_VERSION") });
    }
}
