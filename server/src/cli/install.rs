//! `tabellion install` and `uninstall`: enter a library into the configuration of MCP clients, and remove it.

use std::{
    env,
    error::Error,
    io::{self, IsTerminal as _, Write as _},
    path::{self, Component, Path, PathBuf},
};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser},
};
use tabellion_clients::{Action, Change, Client, Config, Force, Machine, Server, client, clients};
use tabellion_library::CreateFolders;
use tabellion_markdown::diff;
use tabellion_serve as serve;
use tabellion_upkeep::{
    TerminalError,
    console::{self, say},
    data::Data,
    handshake::{self, handshake},
};

use super::clients::machine;
use crate::PACKS;

/// Environment variable with the API key, if the command line names none.
const KEY: &str = "TABELLION_KEY";

/// The clients, the entry's name and the files.
#[derive(Debug, Args)]
struct Selection {
    /// Clients, as `tabellion clients` lists them
    #[arg(value_name = "CLIENT", value_parser = client_ids())]
    clients: Vec<String>,

    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value = "tabellion", value_parser = entry_name)]
    name: String,

    /// Use the clients' files for the project in DIR (default: the current folder) instead of the user's
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    project: Option<PathBuf>,

    /// Print the difference of each file, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Replace or remove an entry of that name even if it is not Tabellion's
    #[arg(long)]
    force: bool,
}

/// Arguments of `install`.
#[derive(Debug, Args)]
pub(super) struct Install {
    #[command(flatten)]
    selection: Selection,

    /// Folder of the library, for contracts over documents; it is created if missing
    #[arg(long, value_name = "DIR")]
    library: Option<PathBuf>,

    /// Data folder, for contracts over rows; it is created if missing. If omitted: the environment variable TABELLION_DATA, else
    /// the system's place for the data of programs
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Contract to serve; may be repeated
    #[arg(
        long = "contract",
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(PACKS.names())
    )]
    contracts: Vec<String>,

    /// Document for contracts that work on one, relative to the library
    #[arg(long, value_name = "PATH")]
    document: Option<String>,

    /// Offer only tools that change nothing
    #[arg(long)]
    read_only: bool,

    /// Tools that need a person's approval although their contract does not ask for it
    #[arg(long, value_name = "TOOL", value_delimiter = ',', conflicts_with = "read_only")]
    approve: Vec<String>,

    /// Connect to a running server at this URL, as in `http://127.0.0.1:8000/mcp`, instead of starting one
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["library", "data", "contracts", "document", "read_only", "approve"]
    )]
    http: Option<String>,

    /// With --http: the API key that the clients send; if omitted, the environment variable TABELLION_KEY
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Print a new configuration file, and write nothing
    #[arg(long, conflicts_with = "dry_run")]
    print: bool,

    /// Without a client: enter it into all that are found, without asking
    #[arg(long, short)]
    yes: bool,
}

/// Arguments of `uninstall`.
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    #[command(flatten)]
    selection: Selection,
}

fn client_ids() -> PossibleValuesParser {
    let ids = clients().iter().map(|client| PossibleValue::new(&*client.id));
    PossibleValuesParser::new(ids)
}

/// Parses the name of an entry. Clients build the names of tools from it.
fn entry_name(text: &str) -> Result<String, String> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if (1..=64).contains(&text.len()) && text.bytes().all(is_fine) {
        Ok(text.into())
    } else {
        Err("a name has 1 to 64 letters, digits, `-` and `_`".into())
    }
}

impl Selection {
    fn force(&self) -> Force {
        if self.force { Force::Yes } else { Force::No }
    }

    /// Returns the clients that were named.
    fn named(&self) -> Vec<&'static Client> {
        self.clients.iter().filter_map(|id| client(id)).collect()
    }

    /// Returns the client's file.
    fn file(&self, client: &Client, machine: &Machine) -> Result<PathBuf, String> {
        match &self.project {
            None => client.file(machine).ok_or_else(|| "it has no configuration file on this system".into()),
            Some(folder) => {
                let folder =
                    path::absolute(folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
                if !folder.is_dir() {
                    return Err(format!("the project `{}` is not a folder", folder.display()));
                }
                client
                    .project_file(&folder, &self.name)
                    .ok_or_else(|| "it has no configuration file for projects; omit `--project`".into())
            }
        }
    }
}

impl Install {
    /// Checks that the options name exactly the folders and documents that the contracts need.
    ///
    /// # Errors
    /// The option to add or to leave out.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.http.is_some() {
            return Ok(());
        }
        if self.key.is_some() {
            return Err("`--key` is for `--http`: a server that its client starts needs none; omit it".into());
        }
        let needs = serve::Needs {
            contracts: &self.served(),
            has_library: self.library.is_some(),
            has_document: self.document.is_some(),
            has_data: self.data.is_some(),
            has_workspaces: false,
        };
        serve::check(&needs, PACKS)
    }

    /// Returns the names of the contracts that the entry serves.
    fn served(&self) -> Vec<String> {
        if self.contracts.is_empty() { vec![PACKS.default_name().into()] } else { self.contracts.clone() }
    }
}

/// Installs an entry in each client, and tests it.
pub(super) fn install(arguments: &Install) -> Result<(), Box<dyn Error>> {
    let selection = &arguments.selection;
    let machine = machine()?;
    let server = server(arguments)?;
    let chosen = match selection.named() {
        named if named.is_empty() => choose(arguments, &machine)?,
        named => named,
    };
    if arguments.print {
        return for_each(&chosen, |client| print(client, &selection.name, &server));
    }
    for_each(&chosen, |client| install_in(client, selection, &machine, &server))
}

/// Removes the entry from each client.
pub(super) fn uninstall(arguments: &Uninstall) -> Result<(), Box<dyn Error>> {
    let selection = &arguments.selection;
    let machine = machine()?;
    let chosen = match selection.named() {
        named if named.is_empty() => having_entry(selection, &machine),
        named => named,
    };
    if chosen.is_empty() {
        return Err(format!(
            "no client has an entry `{}` of Tabellion's; `tabellion clients` lists the entries",
            selection.name
        )
        .into());
    }
    for_each(&chosen, |client| {
        let file = selection.file(client, &machine)?;
        let change = Config::read(client, &file)?.uninstall(&selection.name, selection.force())?;
        let shown = change.path().display().to_string();
        if change.action() == Action::Nothing {
            return tell(format_args!("{}: no entry `{}` in `{shown}`", client.name, selection.name));
        }
        if selection.dry_run {
            return show(&change);
        }
        let _ = change.write()?;
        tell(format_args!("{}: removed `{}` from `{shown}`", client.name, selection.name))
    })
}

/// Returns the clients whose file contains our entry, or can't be read.
fn having_entry(selection: &Selection, machine: &Machine) -> Vec<&'static Client> {
    let has = |client: &&'static Client| {
        let Ok(file) = selection.file(client, machine) else {
            return false;
        };
        let entries = Config::read(client, &file).and_then(|config| config.ours());
        entries.is_ok_and(|names| names.contains(&selection.name))
    };
    clients().iter().filter(has).collect()
}

/// Runs `work` for each client, and fails at the end if it failed for any.
fn for_each(
    chosen: &[&'static Client],
    work: impl Fn(&'static Client) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut failed = vec![];
    for client in chosen {
        if let Err(error) = work(client) {
            if chosen.len() == 1 {
                return Err(format!("{}: {error}", client.name).into());
            }
            say(format_args!("{}: {error}", client.name));
            failed.push(&*client.id);
        }
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(format!("{count} of {} clients failed: {}", chosen.len(), failed.join(", ")).into()),
    }
}

fn install_in(
    client: &'static Client,
    selection: &Selection,
    machine: &Machine,
    server: &Server,
) -> Result<(), Box<dyn Error>> {
    let name = &selection.name;
    let file = selection.file(client, machine)?;
    let entry = entry(client, name, server)?;
    let change = Config::read(client, &file)?.install(name, server, &entry, selection.force())?;
    let action = change.action();
    if selection.dry_run {
        return match action {
            Action::Nothing => {
                tell(format_args!("{}: `{}` has this entry already", client.name, file.display()))
            }
            _ => show(&change),
        };
    }
    let shown = change.path().display().to_string();
    let written = change.write()?;
    let tried = try_entry(client, &file, name);
    let tools = match tried {
        Ok(tools) => tools,
        Err(error) if action == Action::Nothing => {
            return Err(format!("`{shown}` has this entry already, but it does not work: {error}").into());
        }
        Err(error) => {
            let undone = match written.undo() {
                Ok(()) => format!("`{shown}` is as before"),
                Err(undo) => format!("the entry is still in `{shown}`: {undo}"),
            };
            return Err(format!("the new entry does not work, and {undone}: {error}").into());
        }
    };
    let done = match action {
        Action::Add => "added to",
        Action::Update => "updated in",
        Action::Remove | Action::Nothing => "is already in",
    };
    tell(format_args!("{}: `{name}` {done} `{shown}`; {tools}", client.name))?;
    if action != Action::Nothing {
        tell(format_args!("   restart {}, or reload its MCP servers", client.name))?;
    }
    if let (Some(_), Server::Http { key: Some(_), .. }) = (&selection.project, server) {
        say(format_args!("`{shown}` now has the API key; don't commit it"));
    }
    Ok(())
}

/// Starts the entry that is now in the file, as the client would, and lists its tools.
fn try_entry(client: &'static Client, file: &Path, name: &str) -> Result<String, Box<dyn Error>> {
    let server = Config::read(client, file)?.server(name)?;
    let server = server.ok_or("the file has no such entry")?;
    let answer = handshake(&server, handshake::TIMEOUT)?;
    let (count, elapsed) = (answer.tools.len(), answer.elapsed.as_millis());
    if count == 0 {
        return Err("the server has no tools".into());
    }
    let does = match server {
        Server::Stdio { .. } => "starts and answers",
        Server::Http { .. } => "answers",
    };
    Ok(format!("it {does} with {count} tools in {elapsed} ms"))
}

fn entry(client: &Client, name: &str, server: &Server) -> Result<serde_json::Value, String> {
    client
        .entry(name, server)
        .ok_or_else(|| "it has no entries for HTTP; use `--library` instead of `--http`".into())
}

fn print(client: &'static Client, name: &str, server: &Server) -> Result<(), Box<dyn Error>> {
    let snippet = client.snippet(name, &entry(client, name, server)?)?;
    write!(io::stdout(), "{snippet}")?;
    Ok(())
}

/// Prints the difference between a file and its changed version.
fn show(change: &Change) -> Result<(), Box<dyn Error>> {
    let path = change.path().display().to_string();
    let path = path.trim_start_matches('/');
    let diff = diff::unified_sides(path, change.before(), change.after());
    write!(io::stdout(), "{diff}")?;
    Ok(())
}

fn tell(message: impl std::fmt::Display) -> Result<(), Box<dyn Error>> {
    let written = console::answer(format!("{message}\n").as_bytes());
    Ok(written.map_err(TerminalError::unreported(message))?)
}

/// Returns the clients that are found on this machine and that the person agrees to.
fn choose(arguments: &Install, machine: &Machine) -> Result<Vec<&'static Client>, Box<dyn Error>> {
    let selection = &arguments.selection;
    let found = clients().iter().filter(|client| client.is_found(machine));
    let found: Vec<(&'static Client, PathBuf)> = found
        .filter_map(|client| Some((client, selection.file(client, machine).ok()?)))
        .filter(|(client, _)| arguments.http.is_none() || client.takes_http())
        .collect();
    if found.is_empty() {
        return Err("no MCP client is found; name one, as `tabellion clients` lists them".into());
    }
    let ids: Vec<_> = found.iter().map(|(client, _)| &*client.id).collect();
    if arguments.yes {
        return Ok(found.into_iter().map(|(client, _)| client).collect());
    }
    if !io::stdin().is_terminal() {
        return Err(
            format!("name the clients, or add `--yes` for all that are found: {}", ids.join(", ")).into()
        );
    }
    let mut chosen = vec![];
    for (client, file) in found {
        if agrees(&format!("Add `{}` to {} (`{}`)?", selection.name, client.name, file.display()))? {
            chosen.push(client);
        }
    }
    if chosen.is_empty() {
        return Err("no client was chosen; nothing was written".into());
    }
    Ok(chosen)
}

/// Asks a question on the terminal; an empty answer agrees.
///
/// # Errors
/// If the input ends instead.
fn agrees(question: &str) -> io::Result<bool> {
    write!(io::stderr(), "{question} [Y/n] ")?;
    let mut answer = String::new();
    if io::stdin().read_line(&mut answer)? == 0 {
        let _ = writeln!(io::stderr());
        return Err(io::Error::other("no answer; nothing was written"));
    }
    let answer = answer.trim().to_ascii_lowercase();
    Ok(matches!(&*answer, "" | "y" | "yes"))
}

/// Returns the server that the entry is for.
fn server(arguments: &Install) -> Result<Server, Box<dyn Error>> {
    if let Some(url) = &arguments.http {
        let key = arguments.key.clone().or_else(|| env::var(KEY).ok()).filter(|key| !key.is_empty());
        return Ok(Server::Http { url: url.clone(), key });
    }
    let mut serve = vec!["serve".into()];
    if let Some(library) = &arguments.library {
        serve.extend(["--library".into(), library_path(library)?]);
    }
    let over_rows = |name: &String| PACKS.spec(name).is_some_and(|spec| spec.rows.is_some());
    if arguments.contracts.iter().any(over_rows) {
        serve.extend(["--data".into(), data_path(arguments.data.as_deref())?]);
    }
    let mut add = |option: &str, value: &str| serve.extend([option.into(), value.into()]);
    arguments.contracts.iter().for_each(|name| add("--contract", name));
    arguments.document.iter().for_each(|path| add("--document", path));
    if !arguments.approve.is_empty() {
        add("--approve", &arguments.approve.join(","));
    }
    if arguments.read_only {
        serve.push("--read-only".into());
    }
    Ok(Server::Stdio { command: text(program()?)?, arguments: serve, env: [].into() })
}

/// Returns the absolute path of a library that can be served.
fn library_path(folder: &Path) -> Result<String, Box<dyn Error>> {
    if folder.as_os_str().is_empty() {
        return Err("the folder of a library has no name".into());
    }
    serve::check_library(folder, CreateFolders::Last)??;
    absolute(folder)
}

/// Returns the absolute path of a data folder that can be served. The system's place is returned too: a client may start
/// the server with other environment variables.
fn data_path(folder: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let data = Data::choose(folder)?;
    data.check(CreateFolders::Last)?;
    match data.folder() {
        Some(folder) => absolute(&folder.path),
        None => text(data.name()),
    }
}

fn absolute(folder: &Path) -> Result<String, Box<dyn Error>> {
    let absolute = path::absolute(folder)?;
    let has_parents = absolute.components().any(|part| part == Component::ParentDir);
    let resolved = if has_parents { absolute.canonicalize().ok() } else { None };
    text(resolved.unwrap_or(absolute))
}

/// Returns this program's path: preferably its path in PATH, which survives an upgrade, if that leads to the running file.
fn program() -> io::Result<PathBuf> {
    let running = env::current_exe()?;
    let (Some(name), Ok(real)) = (running.file_name(), running.canonicalize()) else {
        return Ok(running);
    };
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut candidates = env::split_paths(&folders).map(|folder| folder.join(name));
    let found =
        candidates.find(|path| path.is_absolute() && path.canonicalize().is_ok_and(|path| path == real));
    Ok(found.unwrap_or(running))
}

fn text(path: PathBuf) -> Result<String, Box<dyn Error>> {
    let text = path.into_os_string().into_string();
    text.map_err(|path| {
        let path = path.to_string_lossy();
        format!("`{path}` is not UTF-8, so no configuration can name it; rename it").into()
    })
}
