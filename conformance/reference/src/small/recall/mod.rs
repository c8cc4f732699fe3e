//! The memory of the contract `mcb`: notes that agents store and search, in one JSON document under a lock, with a separate
//! engine.
//!
//! The engine is written independently of the contract's entities. Each search reads everything anew. Calls about code are those
//! of [`code`](super::code).

mod answers;
mod find;
mod note;
mod notes;
mod read;
mod request;
mod store;

use std::{io, io::Write, path::Path};

use serde_json::{Value, json};
use tabellion_contracts::mcb;
use tabellion_runtime::{ContractSpec, ToolSpec};

use super::{Answer, ContractServer, PersonAnswer, Refusal, code::Code, invalid};
use crate::mutant::{Mutant, is};
use note::Note;
use request::{Request, object};
use store::{State, Store};

pub(crate) static CONTRACT: &ContractSpec = &mcb::CONTRACT;

pub(super) struct Recall {
    store: Store,
    /// The state that a mutant's searches use: that at the last search, or the notes that this process stored.
    seen: State,
    /// The code in the workspace.
    code: Code,
}

/// Writes the rows of the folder as lines of JSON.
pub(super) fn export(folder: &Path, to: &mut dyn Write) -> io::Result<()> {
    Store::new(folder).export(to)
}

impl Recall {
    pub(super) fn new(folder: &Path, workspace: Option<&Path>) -> Self {
        Self {
            store: Store::new(folder),
            seen: State::default(),
            code: Code::new(folder, workspace),
        }
    }

    fn change(&mut self, request: &Request<'_>) -> Result<Answer, Refusal> {
        let _lock = self.store.lock()?;
        let mut state = self.store.read()?;
        let stored = notes::store(&mut state, request)?;
        if is(Mutant::StoresUnasked) {
            let said = format!("Tool 'memory' executed with status: Success ({})", state.last);
            let mut note = Note::observed(state.next(), request, "context", said, vec!["tool".into()]);
            note.set("content_hash", "".into());
            state.notes.push(note);
        }
        self.store.write(&state)?;
        if is(Mutant::IndexOfAProcess) {
            self.seen.notes.extend(state.notes.last().cloned());
        }
        Ok(Answer::Response(stored))
    }

    /// Returns the state that a search uses.
    fn searched(&mut self, state: &State) -> State {
        if is(Mutant::IndexOfAProcess) {
            return self.seen.clone();
        }
        if is(Mutant::IndexFollowsLater) {
            return std::mem::replace(&mut self.seen, state.clone());
        }
        state.clone()
    }

    fn read(&mut self, action: &str, request: &Request<'_>) -> Result<Answer, Refusal> {
        let state = {
            let _lock = self.store.lock()?;
            self.store.read()?
        };
        let has_query = request.text("query").is_some();
        let index = if has_query {
            self.searched(&state)
        } else {
            state.clone()
        };
        let asked = read::ReadCall {
            state: &state,
            index: &index,
            request,
        };
        let answer = match action {
            "get" => asked.get(),
            "list" => asked.list(),
            "timeline" => asked.timeline(),
            "inject" => asked.inject(),
            _ => asked.search(),
        };
        answer.map(Answer::Response)
    }
}

impl ContractServer for Recall {
    fn choose(
        &self,
        tool: &'static ToolSpec,
        arguments: &Value,
    ) -> Result<(&'static ToolSpec, Value), Refusal> {
        let members = arguments.as_object().cloned().unwrap_or_default();
        let operation = tool.operation_of(&members);
        let operation = operation.ok_or_else(|| invalid("no operation has these values"))?;
        Ok((operation, members.into()))
    }

    fn call(&mut self, _: &str, arguments: &Value, _: Option<PersonAnswer>) -> Result<Answer, Refusal> {
        self.call_with_meta("", arguments, &json!({}))
    }

    fn call_with_meta(
        &mut self,
        operation: &str,
        arguments: &Value,
        meta: &Value,
    ) -> Result<Answer, Refusal> {
        let (tool, _) = operation.split_once('/').unwrap_or((operation, ""));
        let request = Request {
            resource: arguments["resource"].as_str().unwrap_or_default(),
            arguments,
            meta,
        };
        match (tool, arguments["action"].as_str()) {
            ("memory", Some("store")) => self.change(&request),
            ("memory", Some(action)) => self.read(action, &request),
            ("search", _) if request.resource != "code" => self.read("search", &request),
            _ => self.code.call(tool, arguments),
        }
    }

    fn answered(&mut self) {
        self.code.answered();
    }
}
