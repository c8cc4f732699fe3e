//! A client of the program, like an agent's: MCP over standard input and output, with a separate data folder.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Map, Value, json};
use tabellion_conformance::Target;
use tempfile::TempDir;

use super::options::Options;
use xtask::Outcome;

/// Its revision of the protocol.
const REVISION: &str = "2025-11-25";
/// `_meta` key of a search's answer: the ranking of the hits; and its value if meaning counts.
const RANKING: &str = "tabellion/ranking";
const BY_MEANING: &str = "hybrid";
/// Interval between two checks of the program's progress.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Agent {
    target: Target,
    /// True if the program has a model, which makes vectors of texts.
    has_model: bool,
    _temporary: Option<TempDir>,
}

impl Agent {
    /// Starts the program with the contract `mcb`, over a new data folder or the one with this name in the folder of `--keep`.
    /// Paths below `workspace` can be named.
    pub(super) fn start(options: &Options, name: &str, workspace: Option<&Path>) -> Outcome<Self> {
        let program = options.program()?;
        let (data, temporary) = match &options.keep {
            Some(keep) => (keep.join(name), None),
            None => {
                let temporary = tempfile::tempdir()?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        fs::create_dir_all(&data)?;
        let data: PathBuf = data.canonicalize()?;
        let mut command = Command::new(&program);
        command.args(["serve", "--contract", "mcb", "--data"]);
        command.arg(&data).current_dir(&data).stderr(Stdio::null());
        if let Some(workspace) = workspace {
            command.arg("--workspace").arg(workspace);
        }
        let mut target = Target::start(&mut command)
            .map_err(|error| format!("`{}` does not start: {error}", program.display()))?;
        target.initialize(REVISION)?;
        let mut status = Command::new(&program);
        let status = status.args(["model", "status"]).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { target, has_model: status.status()?.success(), _temporary: temporary })
    }

    pub(super) fn has_model(&self) -> bool {
        self.has_model
    }

    /// Calls a tool; returns its structured answer.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        Ok(self.ask(tool, arguments)?["structuredContent"].take())
    }

    /// Calls a tool; returns its result.
    fn ask(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        let mut answer = self.target.call(tool, arguments.clone(), Map::new())?;
        let result = &mut answer["result"];
        if result["isError"] == true || !result["structuredContent"].is_object() {
            return Err(format!("`{tool}` with {arguments} was answered with {answer}").into());
        }
        Ok(result.take())
    }

    /// Stores a text as an observation of a session; returns its id.
    pub(super) fn remember(
        &mut self,
        project: &str,
        session: &str,
        tags: &[&str],
        text: &str,
    ) -> Outcome<String> {
        let data = json!({
            "content": text, "observation_type": "context", "tags": tags, "project_id": project, "session_id": session,
        });
        let request = json!({ "action": "store", "resource": "observation", "data": data });
        let stored = self.call("memory", request)?;
        let id = stored["observation_id"].as_str();
        Ok(id.ok_or("a stored text has no `observation_id`")?.to_owned())
    }

    /// Searches the memory; returns the names of the observations that are found, best first.
    ///
    /// # Errors
    /// If one is found that has no name.
    pub(super) fn recall(&mut self, request: Value, names: &HashMap<String, String>) -> Outcome<Vec<String>> {
        let found = self.call("search", request)?;
        let results = found["results"].as_array().ok_or("a search was answered without `results`")?;
        let name = |hit: &Value| names.get(hit["observation_id"].as_str()?).cloned();
        let found: Option<Vec<_>> = results.iter().map(name).collect();
        found.ok_or_else(|| "a search found what was not stored".into())
    }

    /// Adds a project.
    pub(super) fn add_project(&mut self, project: &str) -> Outcome {
        let data = json!({ "name": project, "path": project });
        let request =
            json!({ "action": "create", "resource": "project", "project_id": project, "data": data });
        let kept = json!({ "action": "get", "resource": "project", "project_id": project });
        if self.call("project", kept).is_err() {
            self.call("project", request)?;
        }
        Ok(())
    }

    /// Searches the memory until the texts of the last stored session are compared by meaning, if there is a model.
    pub(super) fn settle(&mut self, session: &str) -> Outcome {
        let request = json!({ "resource": "memory", "query": "first", "limit": 1, "session_id": session });
        while self.ask("search", request.clone())?["_meta"][RANKING] != BY_MEANING && self.has_model {
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Waits until no run of the index is under way and, if there is a model, all chunks have vectors; returns the number of
    /// chunks.
    pub(super) fn settle_index(&mut self) -> Outcome<u64> {
        loop {
            let status = self.call("index", json!({ "action": "status" }))?;
            let collections = status["collections"].as_array().ok_or("a status without `collections`")?;
            let is_done = |collection: &&Value| {
                collection["state"] == "idle"
                    && (!self.has_model || collection["vectors_done"] == collection["chunks"])
            };
            let sum = |field: &str| collections.iter().filter_map(|of| of[field].as_u64()).sum::<u64>();
            if collections.iter().all(|collection| is_done(&collection)) {
                return Ok(sum("chunks"));
            }
            eprint!("\r{} of {} chunks have vectors ", sum("vectors_done"), sum("chunks"));
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Closes the session, and waits for the program's exit.
    pub(super) fn close(self) -> Outcome {
        self.target.close()?;
        Ok(())
    }
}
