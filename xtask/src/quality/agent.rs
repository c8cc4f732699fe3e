//! A client of the program, as an agent has one: MCP over standard input and output, with a data folder of its own.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Map, Value};
use tabellion_conformance::Target;
use tempfile::TempDir;

use crate::Outcome;

/// The protocol's revision that it speaks.
const REVISION: &str = "2025-11-25";

pub(super) struct Agent {
    target: Target,
    _data: TempDir,
}

impl Agent {
    /// Starts the program over a new data folder.
    pub(super) fn start(program: &Path, arguments: &[&str]) -> Outcome<Self> {
        let data = tempfile::tempdir()?;
        let mut command = Command::new(program);
        command
            .arg("serve")
            .args(arguments)
            .arg("--data")
            .arg(data.path());
        command.current_dir(data.path()).stderr(Stdio::null());
        let mut target = Target::start(&mut command)
            .map_err(|error| format!("`{}` does not start: {error}", program.display()))?;
        target.initialize(REVISION)?;
        Ok(Self { target, _data: data })
    }

    /// Calls a tool; returns its structured answer.
    ///
    /// # Errors
    /// If it is refused, or there is no answer.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        let mut answer = self.target.call(tool, arguments.clone(), Map::new())?;
        let result = &mut answer["result"];
        if result["isError"] == true || !result["structuredContent"].is_object() {
            return Err(format!("`{tool}` with {arguments} was answered with {answer}").into());
        }
        Ok(result["structuredContent"].take())
    }

    /// Closes the session, and waits for the program's exit.
    pub(super) fn close(self) -> Outcome {
        self.target.close()?;
        Ok(())
    }
}
