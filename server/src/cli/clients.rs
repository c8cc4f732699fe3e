//! `tabellion clients`: the MCP clients that `install` knows.

use std::{
    error::Error,
    io::{self, Write as _},
};

use clap::Args;
use serde_json::{Value, json};
use tabellion_clients::{Client, Config, Machine};

/// The form of the list of clients.
#[derive(Debug, Args)]
pub(super) struct Clients {
    /// Print JSON: a list with `id`, `name`, `file`, `found`, `entries` and `error` of each client
    #[arg(long)]
    json: bool,
}

pub(super) fn machine() -> Result<Machine, String> {
    Machine::current().ok_or_else(|| "your home folder is unknown; set the environment variable HOME".into())
}

/// A client's state on this machine.
struct Row {
    client: &'static Client,
    file: String,
    found: bool,
    entries: Result<Vec<String>, String>,
}

impl Row {
    fn new(client: &'static Client, machine: &Machine) -> Self {
        let file = client.file(machine);
        let entries = file.as_ref().map_or(Ok(vec![]), |file| {
            let config = Config::read(client, file);
            config.and_then(|config| config.ours()).map_err(|error| error.to_string())
        });
        Self {
            client,
            file: file.map_or_else(String::new, |file| file.display().to_string()),
            found: client.is_found(machine),
            entries,
        }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.client.id,
            "name": self.client.name,
            "file": self.file,
            "found": self.found,
            "entries": self.entries.as_deref().unwrap_or_default(),
            "error": self.entries.as_ref().err(),
        })
    }

    fn cells(&self) -> [String; 5] {
        let found = if self.found { "yes" } else { "no" };
        let entries = match &self.entries {
            Ok(names) if names.is_empty() => "none".into(),
            Ok(names) => names.join(", "),
            Err(_) => "unreadable".into(),
        };
        let client = self.client;
        [client.id.clone(), client.name.clone(), found.into(), entries, self.file.clone()]
    }
}

/// Prints the clients.
pub(super) fn run(arguments: &Clients) -> Result<(), Box<dyn Error>> {
    let machine = machine()?;
    let all = tabellion_clients::clients().iter();
    let rows: Vec<Row> = all.map(|client| Row::new(client, &machine)).collect();
    let mut out = io::stdout().lock();
    if arguments.json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    let head = ["id", "name", "found", "entries", "file"].map(String::from);
    let lines: Vec<[String; 5]> = [head].into_iter().chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: [usize; 4] = std::array::from_fn(|column| width(column).unwrap_or(0));
    for [id, name, found, entries, file] in &lines {
        let [a, b, c, d] = widths;
        writeln!(out, "{id:a$}  {name:b$}  {found:c$}  {entries:d$}  {file}")?;
    }
    for error in rows.iter().filter_map(|row| row.entries.as_ref().err()) {
        writeln!(out, "\n{error}")?;
    }
    Ok(())
}
