//! A conversation in which anything can be said, and everything that the server says is kept.

use std::collections::HashMap;

use serde_json::{Value, json};
use tabellion_runtime::ToolSpec;

use crate::{
    Subject, Target,
    client::{ONE_CLIENT, prepare},
    era::Era,
    judgement::{Stop, fail},
    scene::Scene,
};

/// A conversation over a raw connection.
#[derive(Debug)]
pub struct Talk<'a> {
    subject: &'a Subject,
    /// The connection.
    pub target: Target,
    /// All that the server said, in order.
    pub heard: Vec<Value>,
    /// The methods of the requests, by the id's text.
    asked: HashMap<String, String>,
    settled: u32,
}

impl<'a> Talk<'a> {
    /// Starts a server over the library of `scene`, and says nothing yet.
    ///
    /// # Errors
    /// When it does not start.
    pub fn begin(subject: &'a Subject, scene: &Scene<'a>) -> Result<Self, Stop> {
        Ok(Self {
            subject,
            target: scene.connect()?,
            heard: Vec::new(),
            asked: HashMap::new(),
            settled: 0,
        })
    }

    /// As [`begin`](Self::begin), up to where requests may be sent.
    ///
    /// # Errors
    /// When the server does not start, or does not want to speak.
    pub fn open(subject: &'a Subject, scene: &Scene<'a>) -> Result<Self, Stop> {
        let mut talk = Self::begin(subject, scene)?;
        talk.greet()?;
        Ok(talk)
    }

    /// Another client's conversation with the same server, over HTTP, in which nothing has been said yet.
    ///
    /// # Errors
    /// When the server speaks lines: then there is no other.
    pub fn beside(other: &Talk<'a>) -> Result<Self, Stop> {
        let target = other.target.beside(other.subject.era);
        Ok(Self {
            subject: other.subject,
            target: target.ok_or_else(|| Stop::NotApplicable(ONE_CLIENT.into()))?,
            heard: Vec::new(),
            asked: HashMap::new(),
            settled: 0,
        })
    }

    /// Opens a session, in the era that has sessions.
    ///
    /// # Errors
    /// When the server does not want to.
    pub fn greet(&mut self) -> Result<(), Stop> {
        if self.subject.era == Era::Session {
            let answer = self.initialize(self.subject.era.revision())?;
            if let Some(error) = answer.get("error") {
                return Err(fail(format!("`initialize` was answered with {error}")));
            }
        }
        Ok(())
    }

    /// Asks for a session in `revision`, and says that it has begun unless that is refused; the whole response.
    ///
    /// # Errors
    /// When there is none.
    pub fn initialize(&mut self, revision: &str) -> Result<Value, Stop> {
        let client = json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
        let id = json!("initialize");
        self.asked.insert(id.to_string(), "initialize".into());
        self.say(
            json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params }).to_string(),
        )?;
        let answer = self.answer(&id)?;
        if answer.get("result").is_some() {
            self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        }
        Ok(answer)
    }

    /// Sends a line, whatever it holds.
    ///
    /// # Errors
    /// When the server has closed its input.
    pub fn say(&mut self, line: impl AsRef<[u8]>) -> Result<(), Stop> {
        Ok(self.target.send(line)?)
    }

    /// A request's line, with what the era wants in it.
    pub fn request(&mut self, id: &Value, method: &str, mut params: Value) -> String {
        if params.is_object() {
            prepare(self.subject.era, &mut params, &json!({}));
        }
        self.asked.insert(id.to_string(), method.to_owned());
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    /// The parameters of a call, as the server names and shapes it.
    ///
    /// # Errors
    /// When the server has nothing for this tool.
    pub fn params(&self, scene: &Scene<'_>, tool: &ToolSpec, arguments: &Value) -> Result<Value, Stop> {
        let called = self.subject.adapter.call(tool, arguments, &scene.library());
        called.map_err(Stop::NotApplicable)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// When the server has closed its input.
    pub fn post(&mut self, id: &Value, method: &str, params: Value) -> Result<(), Stop> {
        let line = self.request(id, method, params);
        self.say(line)
    }

    /// Sends a request and waits for the whole response.
    ///
    /// # Errors
    /// When there is none.
    pub fn ask(&mut self, id: &Value, method: &str, params: Value) -> Result<Value, Stop> {
        self.post(id, method, params)?;
        self.answer(id)
    }

    /// The response to the request with this id, which has not been heard yet.
    ///
    /// # Errors
    /// When there is none.
    pub fn answer(&mut self, id: &Value) -> Result<Value, Stop> {
        loop {
            let message = self.hear()?;
            if is_answer(&message) && message["id"] == *id {
                return Ok(message);
            }
        }
    }

    /// The next message. A request of the server is answered, so that it need not wait.
    ///
    /// # Errors
    /// When there is none.
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

    /// Asks for something harmless twice, one after the other: whatever the server is to say of what came before, it has
    /// had the time to. Returns all that it said since it had said `since` messages, without those answers.
    ///
    /// # Errors
    /// When it does not answer any more, or not with success.
    pub fn settle(&mut self, since: usize) -> Result<Vec<Value>, Stop> {
        for _ in 0..2 {
            self.settled += 1;
            let id = json!(format!("settle-{}", self.settled));
            let answer = self.ask(&id, "tools/list", json!({}))?;
            if answer.get("result").is_none() {
                return Err(fail(format!(
                    "afterwards `tools/list` is answered with {}",
                    answer["error"]
                )));
            }
        }
        let ours = |message: &Value| message["id"].as_str().is_some_and(|id| id.starts_with("settle-"));
        let heard = self.heard.iter().skip(since);
        Ok(heard.filter(|message| !ours(message)).cloned().collect())
    }

    /// The method of the request that `message` answers.
    pub fn method_of(&self, message: &Value) -> Option<&str> {
        let id = message.get("id").filter(|_| is_answer(message))?;
        self.asked.get(&id.to_string()).map(String::as_str)
    }
}

/// Whether `message` is a response.
pub fn is_answer(message: &Value) -> bool {
    message.get("method").is_none() && (message.get("result").is_some() || message.get("error").is_some())
}
