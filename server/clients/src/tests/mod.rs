//! Every client's file, on the disk.

mod catalog;
mod configs;
mod files;
mod roundtrip;

use std::{fs, path::Path};

use crate::{Action, Client, Config, ConfigError, Force, Server};

/// Returns the server of a library with a difficult path.
fn stdio() -> Server {
    Server::Stdio {
        command: r#"/opt/my "tools"/tabellion"#.into(),
        arguments: ["serve", "--library", r"/home/person/Notizen's & Ärger\x"].map(String::from).into(),
        env: [].into(),
    }
}

fn http() -> Server {
    Server::Http { url: "http://127.0.0.1:8000/mcp".into(), key: Some("tbl_0011_2233".into()) }
}

/// Installs `server` under `name` in the file at `path`.
fn install(client: &'static Client, path: &Path, name: &str, server: &Server) -> Result<Action, ConfigError> {
    let entry = client.entry(name, server).expect("an entry");
    let change = Config::read(client, path)?.install(name, server, &entry, Force::No)?;
    let action = change.action();
    let _ = change.write()?;
    Ok(action)
}

fn uninstall(client: &'static Client, path: &Path, name: &str) -> Result<Action, ConfigError> {
    let change = Config::read(client, path)?.uninstall(name, Force::No)?;
    let action = change.action();
    let _ = change.write()?;
    Ok(action)
}

/// Returns the server that the client would use.
fn installed(client: &'static Client, path: &Path, name: &str) -> Option<Server> {
    let config = Config::read(client, path).expect("a configuration");
    config.server(name).expect("a readable entry")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
