//! Entries in the configuration of MCP clients.

use std::path::Path;

use tabellion_clients::{Client, Config, Machine, Server, clients};
use tabellion_library::{Interrupted, Library};

use super::super::finding::Finding;
use crate::handshake::{self, handshake};

const ID: &str = "client";

/// Approximate number of bytes of JSON per token.
const TOKEN_BYTES: usize = 4;

/// Starts or calls each entry of Tabellion as its client would. Serving a library for the first time creates the server's
/// folder in `.git`; apart from that, nothing changes.
pub(super) fn entries() -> Vec<Finding> {
    let Some(machine) = Machine::current() else {
        return vec![];
    };
    let found: Vec<_> = clients()
        .iter()
        .filter_map(|client| Some((client, client.file(&machine).filter(|file| file.exists())?)))
        .flat_map(|(client, file)| of_client(client, &file))
        .collect();
    if found.is_empty() {
        let message = "no MCP client has an entry of Tabellion; `tabellion install` makes one";
        return vec![Finding::green(ID, message)];
    }
    found
}

fn of_client(client: &'static Client, file: &Path) -> Vec<Finding> {
    let named = Config::read(client, file).and_then(|config| Ok((config.ours()?, config)));
    let (names, config) = match named {
        Ok(named) => named,
        Err(error) => {
            let message = format!("{}: {error}", client.name);
            return vec![Finding::yellow(ID, message, "correct the file; the client may ignore it")];
        }
    };
    let servers = names.iter().map(|name| (name, config.server(name)));
    servers.filter_map(|(name, server)| Some(of_entry(client, name, &server.ok()??))).collect()
}

fn of_entry(client: &Client, name: &str, server: &Server) -> Finding {
    let entry = format!("{}: `{name}`", client.name);
    if let Some(why) = changes_something(server) {
        let mend = "run `tabellion doctor --library DIR` on that library";
        return Finding::yellow(ID, format!("{entry} was not tried: {why}"), mend);
    }
    match handshake(server, handshake::TIMEOUT) {
        Ok(answer) => Finding::green(
            ID,
            format!(
                "{entry} answers in {} ms with {} tools, about {} tokens",
                answer.elapsed.as_millis(),
                answer.tools.len(),
                answer.bytes / TOKEN_BYTES
            ),
        ),
        Err(error) => {
            let mend = format!("`tabellion install {} --library DIR` enters it anew", client.id);
            Finding::red(ID, format!("{entry} does not answer: {error}"), mend)
        }
    }
}

/// Returns the reason that starting a server would change its library.
fn changes_something(server: &Server) -> Option<String> {
    let Server::Stdio { arguments, .. } = server else {
        return None;
    };
    let mut folders = arguments.windows(2).filter_map(|pair| match pair {
        [flag, folder] if flag == "--library" => Some(folder),
        _ => None,
    });
    folders.find_map(|folder| match Library::inspect(Path::new(folder)) {
        Ok(library) => match library.interrupted() {
            Ok(Interrupted::Nothing) => None,
            _ => Some(format!("a change in `{folder}` was interrupted")),
        },
        Err(error) => Some(format!("`{folder}`: {error}")),
    })
}
