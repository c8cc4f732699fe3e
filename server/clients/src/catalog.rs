//! The clients of `clients.toml`.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Machine, System,
    edit::{self, EditError, Format},
    entry::{self, Server},
    machine::below,
    tree::{EntryPath, Shape},
};

/// An MCP client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Stable name for the command line.
    pub id: String,
    /// Name for people.
    pub name: String,
    files: Files,
    /// Further files or folders that exist if the client is installed, in addition to the folders of its files.
    #[serde(default)]
    traces: Vec<String>,
    /// Path of the file for a project, relative to the project's folder; `{name}` is the entry's name.
    project: Option<String>,
    format: Format,
    /// Key of the servers in the file's root.
    servers: String,
    #[serde(default)]
    shape: Shape,
    /// Text of a new file to which the servers are added.
    #[serde(default)]
    pub(crate) new_file: String,
    /// Key of the environment variables in an entry.
    #[serde(default = "env")]
    env: String,
    stdio: Value,
    http: Option<Value>,
}

fn env() -> String {
    "env".into()
}

/// Candidates for the user's configuration file by system, the usual one first.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Files {
    all: Vec<String>,
    macos: Vec<String>,
    linux: Vec<String>,
    windows: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    client: Vec<Client>,
}

static CLIENTS: LazyLock<Vec<Client>> = LazyLock::new(|| {
    let catalog: Catalog =
        toml::from_str(include_str!("../clients.toml")).expect("a test parses the clients");
    catalog.client
});

/// Returns all clients.
pub fn clients() -> &'static [Client] {
    &CLIENTS
}

/// Returns the client with this id.
pub fn client(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == id)
}

impl Client {
    /// Returns the client's user-wide configuration file: the candidate that exists, else the one whose folder exists, else the
    /// usual one.
    pub fn file(&self, machine: &Machine) -> Option<PathBuf> {
        let mut candidates = self.candidates(machine);
        let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
        let has_folder =
            |path: &PathBuf| path.parent().is_some_and(|folder| folder != machine.home && folder.is_dir());
        let found = candidates.iter().position(exists);
        let found = found.or_else(|| candidates.iter().position(has_folder));
        match found.unwrap_or(0) {
            at if at < candidates.len() => Some(candidates.swap_remove(at)),
            _ => None,
        }
    }

    fn candidates(&self, machine: &Machine) -> Vec<PathBuf> {
        let own = match machine.system {
            System::MacOs => &self.files.macos,
            System::Linux => &self.files.linux,
            System::Windows => &self.files.windows,
        };
        let all = self.files.all.iter().chain(own);
        all.filter_map(|pattern| machine.path(pattern)).collect()
    }

    /// Returns true if the client seems to be installed: its file, the folder of its file or another trace exists.
    pub fn is_found(&self, machine: &Machine) -> bool {
        let candidates = self.candidates(machine);
        let folders = candidates.iter().filter_map(|file| file.parent());
        let traces = self.traces.iter().filter_map(|pattern| machine.path(pattern));
        candidates.iter().any(|file| file.symlink_metadata().is_ok())
            || folders.into_iter().any(|folder| folder != machine.home && folder.is_dir())
            || traces.into_iter().any(|trace| trace.exists())
    }

    /// Returns the client's file for the project in `folder`; `None` if it has none.
    pub fn project_file(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let path = self.project.as_ref()?.replace("{name}", name);
        Some(below(folder, &path))
    }

    /// Returns the entry for a server called `name`; `None` if the client has no such servers (HTTP).
    pub fn entry(&self, name: &str, server: &Server) -> Option<Value> {
        let entry = entry::fill(self.template(server)?, name, server)?;
        Some(self.named(name, &entry))
    }

    /// Returns the entry as stored: with its name, if the client keeps a list of servers.
    pub(crate) fn named(&self, name: &str, entry: &Value) -> Value {
        match (self.shape, entry) {
            (Shape::List, Value::Object(fields)) => {
                let mut named = Map::from_iter([("name".to_owned(), Value::from(name))]);
                named.extend(fields.clone());
                Value::Object(named)
            }
            _ => entry.clone(),
        }
    }

    /// Returns true if the client connects to servers over HTTP.
    pub fn takes_http(&self) -> bool {
        self.http.is_some()
    }

    /// Returns the server that an entry of this client's file starts or connects to; `None` if it has neither.
    pub(crate) fn server(&self, entry: &Value) -> Option<Server> {
        let stdio = entry::read(&self.stdio, entry, &self.env);
        stdio.or_else(|| entry::read(self.http.as_ref()?, entry, &self.env))
    }

    /// Returns the fields of an entry that only the other kind of server has.
    pub(crate) fn fields_of_others(&self, server: &Server) -> Vec<&str> {
        let other = match server {
            Server::Stdio { .. } => self.http.as_ref(),
            Server::Http { .. } => Some(&self.stdio),
        };
        let keys = other.and_then(Value::as_object).into_iter().flatten();
        keys.map(|(key, _)| key.as_str()).collect()
    }

    fn template(&self, server: &Server) -> Option<&Value> {
        match server {
            Server::Stdio { .. } => Some(&self.stdio),
            Server::Http { .. } => self.http.as_ref(),
        }
    }

    /// Returns the content of a new configuration file with this entry alone.
    ///
    /// # Errors
    /// [`EditError`], if the format can't express it.
    pub fn snippet(&self, name: &str, entry: &Value) -> Result<String, EditError> {
        edit::insert(self.format, "", self.place(name), entry)
    }

    pub(crate) fn place<'a>(&'a self, name: &'a str) -> EntryPath<'a> {
        EntryPath { servers: &self.servers, shape: self.shape, name }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }
}
