//! Conversations with arbitrary messages, in which everything that the server sends is recorded.

use std::collections::HashMap;

use serde_json::{Value, json};
use tabellion_runtime::ToolSpec;

use crate::{
    Subject, Target,
    client::{ONE_CLIENT, prepare},
    era::Era,
    judgement::{Stop, ensure_none, fail, not_applicable},
    scene::Scene,
};

/// A conversation over a raw connection.
#[derive(Debug)]
pub struct Talk<'a> {
    subject: &'a Subject,
    /// The connection.
    pub target: Target,
    /// Messages received from the server, in order.
    pub heard: Vec<Value>,
    /// Methods of the requests sent, by the id as JSON.
    methods: HashMap<String, String>,
    settled: u32,
}

impl<'a> Talk<'a> {
    /// Starts a server over the library of `scene` without sending a message.
    pub fn begin(subject: &'a Subject, scene: &Scene<'a>) -> Result<Self, Stop> {
        Ok(Self { subject, target: scene.connect()?, heard: Vec::new(), methods: HashMap::new(), settled: 0 })
    }

    /// As [`begin`](Self::begin), and opens a session if the era has sessions.
    ///
    /// # Errors
    /// If the server does not start, or refuses the session.
    pub fn open(subject: &'a Subject, scene: &Scene<'a>) -> Result<Self, Stop> {
        let mut talk = Self::begin(subject, scene)?;
        talk.greet()?;
        Ok(talk)
    }

    /// Connects another client to the same server over HTTP without sending a message.
    ///
    /// # Errors
    /// If the server speaks over standard input and output, which has one client.
    pub fn beside(other: &Talk<'a>) -> Result<Self, Stop> {
        let target = other.target.beside(other.subject.era);
        Ok(Self {
            subject: other.subject,
            target: target.ok_or_else(|| not_applicable(ONE_CLIENT))?,
            heard: Vec::new(),
            methods: HashMap::new(),
            settled: 0,
        })
    }

    /// Opens a session, if the era has sessions.
    ///
    /// # Errors
    /// If the server refuses the session.
    pub fn greet(&mut self) -> Result<(), Stop> {
        if self.subject.era == Era::Session {
            let answer = self.initialize(self.subject.era.revision())?;
            ensure_none(answer.get("error"), |error| format!("`initialize` was answered with {error}"))?;
        }
        Ok(())
    }

    /// Sends `initialize` for `revision`, followed by `notifications/initialized` unless the server refuses; returns
    /// the whole response.
    pub fn initialize(&mut self, revision: &str) -> Result<Value, Stop> {
        let client = json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
        let id = json!("initialize");
        self.methods.insert(id.to_string(), "initialize".into());
        self.say(
            json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params }).to_string(),
        )?;
        let answer = self.answer(&id)?;
        if answer.get("result").is_some() {
            self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        }
        Ok(answer)
    }

    /// Sends a line with any content.
    pub fn say(&mut self, line: impl AsRef<[u8]>) -> Result<(), Stop> {
        Ok(self.target.send(line)?)
    }

    /// Returns the line of a request, with the `_meta` that the era requires, and records its method.
    pub fn request(&mut self, id: &Value, method: &str, mut params: Value) -> String {
        if params.is_object() {
            prepare(self.subject.era, &mut params, &json!({}));
        }
        self.methods.insert(id.to_string(), method.to_owned());
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    /// Returns the parameters of a call, in the server's own shape.
    ///
    /// # Errors
    /// If the server lacks the tool.
    pub fn params(&self, scene: &Scene<'_>, tool: &ToolSpec, arguments: &Value) -> Result<Value, Stop> {
        let called = self.subject.adapter.call(tool, arguments, &scene.library());
        called.map_err(Stop::NotApplicable)
    }

    /// Sends a request.
    pub fn post(&mut self, id: &Value, method: &str, params: Value) -> Result<(), Stop> {
        let line = self.request(id, method, params);
        self.say(line)
    }

    /// Sends a request and waits for the whole response.
    pub fn ask(&mut self, id: &Value, method: &str, params: Value) -> Result<Value, Stop> {
        self.post(id, method, params)?;
        self.answer(id)
    }

    /// Waits for the response to the request with this id.
    pub fn answer(&mut self, id: &Value) -> Result<Value, Stop> {
        loop {
            let message = self.hear()?;
            if is_answer(&message) && message["id"] == *id {
                return Ok(message);
            }
        }
    }

    /// Returns the next message. Answers a request of the server, so that the server does not wait.
    pub fn hear(&mut self) -> Result<Value, Stop> {
        let message = self.target.receive()?;
        self.heard.push(message.clone());
        if let (Some(id), Some(method)) = (message.get("id"), message.get("method")) {
            let answer = if method == "ping" {
                json!({ "jsonrpc": "2.0", "id": id, "result": {} })
            } else {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not offered" } })
            };
            self.say(answer.to_string())?;
        }
        Ok(message)
    }

    /// Sends two harmless requests in sequence, so that the server has had time to answer everything before. Returns
    /// the messages received after the first `since` ones, without the two answers.
    ///
    /// # Errors
    /// If the server no longer answers, or answers with an error.
    pub fn settle(&mut self, since: usize) -> Result<Vec<Value>, Stop> {
        for _ in 0..2 {
            self.settled += 1;
            let id = json!(format!("settle-{}", self.settled));
            let answer = self.ask(&id, "tools/list", json!({}))?;
            if answer.get("result").is_none() {
                return Err(fail(format!("a following `tools/list` was answered with {}", answer["error"])));
            }
        }
        let ours = |message: &Value| message["id"].as_str().is_some_and(|id| id.starts_with("settle-"));
        let heard = self.heard.iter().skip(since);
        Ok(heard.filter(|message| !ours(message)).cloned().collect())
    }

    /// Returns the method of the request that `message` answers.
    pub fn method_of(&self, message: &Value) -> Option<&str> {
        let id = message.get("id").filter(|_| is_answer(message))?;
        self.methods.get(&id.to_string()).map(String::as_str)
    }
}

/// Returns true if `message` is a response.
pub fn is_answer(message: &Value) -> bool {
    message.get("method").is_none() && (message.get("result").is_some() || message.get("error").is_some())
}
