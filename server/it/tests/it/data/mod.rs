//! Contracts over rows, served by the built program from a data folder.

mod bound_keys;
#[cfg(target_os = "linux")]
mod limits;
mod modes;
mod places;
mod processes;
mod provenance;
mod serving;
mod upkeep;
mod words;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    http,
    support::{Answer, Outcome, Server, TABELLION, ended},
};

/// A data folder, which does not exist yet.
pub(crate) struct Data {
    dir: TempDir,
}

impl Data {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().expect("a temporary folder") }
    }

    /// Like [`new`](Self::new), below `place`.
    pub(crate) fn new_in(place: &Path) -> Self {
        Self { dir: TempDir::new_in(place).expect("a temporary folder") }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder().join("mcb.db")
    }

    /// Returns a path next to the data folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the command that serves the rows.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(TABELLION);
        command.args(["serve", "--contract", "mcb", "--data"]).arg(self.folder());
        command.stderr(Stdio::inherit());
        command
    }

    /// Starts a server and opens a session.
    pub(crate) fn serve(&self) -> Server {
        Server::start(&mut self.command())
    }

    /// Starts a server over HTTP, with more arguments.
    pub(crate) fn serve_http(&self, arguments: &[&str]) -> http::Server {
        let mut command = self.command();
        command.args(["--http", "0"]).args(arguments);
        http::Server::start(command.stdin(Stdio::null()).stdout(Stdio::null()))
    }

    /// Runs `tabellion data COMMAND` on the folder; returns its exit code, standard output and standard error, with `~` for the
    /// folder above it.
    pub(crate) fn upkeep(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        self.run(&["data"], arguments)
    }

    fn run(&self, command: &[&str], arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut program = Command::new(TABELLION);
        let program = program.args(command).args(arguments).arg("--data").arg(self.folder());
        let (code, out, said) = ended(program);
        let shown = |text: String| text.replace(&*self.dir.path().to_string_lossy(), "~");
        (code, shown(out), shown(said))
    }

    /// Returns the export, after a check that the log gives the tables.
    pub(crate) fn checked(&self) -> Export {
        self.try_checked().unwrap_or_else(|said| panic!("{said}"))
    }

    /// As [`checked`](Self::checked); fails with the message about damaged data.
    pub(crate) fn try_checked(&self) -> Result<Export, String> {
        let (code, _, said) = self.upkeep(&["check"]);
        if code != Some(0) {
            return Err(said);
        }
        match self.upkeep(&["export"]) {
            (Some(0), lines, _) => Ok(Export::read(&lines)),
            (_, _, said) => Err(said),
        }
    }

    /// Changes the file as another program might.
    pub(crate) fn tamper(&self, sql: &str) {
        let connection = Connection::open(self.file()).expect("a database");
        connection.execute_batch(sql).expect("changed");
    }

    /// Overwrites the pages of a table with nonsense.
    pub(crate) fn damage(&self, table: &str) {
        let connection = Connection::open(self.file()).expect("a database");
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?";
        let page: u32 = connection.query_row(sql, [table], |row| row.get(0)).expect("a table");
        drop(connection);
        let mut bytes = fs::read(self.file()).expect("a file");
        let page = page as usize;
        bytes[(page - 1) * 4096..page * 4096].fill(0x5a);
        fs::write(self.file(), bytes).expect("written");
    }
}

/// Returns all of a call's provenance.
pub(crate) fn provenance() -> Value {
    json!({
        "session_id": "s-1", "project_id": "shop", "repo_id": "r-1", "repo_path": "/shop", "worktree_id": "main",
        "operator_id": "ada", "machine_id": "engine", "agent_program": "test", "model_id": "m-1",
        "delegated": false, "timestamp": 1_700_000_000,
    })
}

/// Output of `tabellion data export`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Export {
    /// The entries of the log.
    pub(crate) changes: Vec<Value>,
    /// The rows, by entity.
    pub(crate) rows: Vec<(String, Value)>,
}

impl Export {
    fn read(lines: &str) -> Self {
        let mut export = Self { changes: vec![], rows: vec![] };
        for line in lines.lines() {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            if line["change"].is_object() {
                export.changes.push(line["change"].take());
            } else if line["row"].is_object() {
                let entity = line["row"]["entity"].as_str().expect("an entity").to_owned();
                export.rows.push((entity, line["row"]["row"].take()));
            }
        }
        export
    }

    /// Returns the names of the teams.
    pub(crate) fn teams(&self) -> BTreeSet<&str> {
        let teams = self.rows.iter().filter(|(entity, _)| entity == "team");
        teams.filter_map(|(_, row)| row["name"].as_str()).collect()
    }
}

/// Calls the tool of entities.
pub(crate) fn entity(server: &mut Server, action: &str, resource: &str, more: Value) -> Outcome<Answer> {
    entity_with(server, action, resource, more, json!({}))
}

/// As [`entity`], under conditions in `_meta`.
pub(crate) fn entity_with(
    server: &mut Server,
    action: &str,
    resource: &str,
    more: Value,
    meta: Value,
) -> Outcome<Answer> {
    let mut arguments = json!({ "action": action, "resource": resource });
    let members = arguments.as_object_mut().expect("an object");
    members.extend(more.as_object().cloned().unwrap_or_default());
    server.call_with("entity", arguments, meta)
}

pub(crate) fn create_team(server: &mut Server, name: &str) -> Outcome<Answer> {
    entity(server, "create", "team", json!({ "data": { "name": name } }))
}

/// Returns the number of teams.
pub(crate) fn count_teams(server: &mut Server) -> u64 {
    let listed = entity(server, "list", "team", json!({})).expect("a list");
    listed.response["total"].as_u64().expect("a number")
}
