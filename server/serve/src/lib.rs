//! `tabellion serve`: opens the libraries and the data folder, and serves contracts over them to a client on standard input and
//! output, to any number of clients over HTTP, or to both.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]
// Printing macros panic on a closed stream. Standard output is reserved for the protocol.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod callers;
pub mod calls;
mod grounds;
pub mod libraries;
mod opened;
mod options;
mod over_http;
pub mod page;
pub mod provenance;
mod server;
pub mod undo;

use std::{
    env,
    error::Error,
    fmt::Display,
    io::{self, IsTerminal},
    panic,
    path::{self, Path, PathBuf},
    sync::Arc,
};

use futures_util::FutureExt as _;
use tabellion_runtime::{Contract, ContractSpec};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

pub use self::callers::local as local_caller;
use self::provenance::ServerEnvironment;
pub use self::server::{Server, ServerError};
use self::{
    grounds::Specs,
    libraries::Named,
    opened::Opened,
    over_http::{Access, REVIEW_COMMAND},
};
pub use self::{
    grounds::{Needs, check},
    options::{HttpOptions, OAuthOptions, Options},
};
pub use tabellion_gateway::{ApprovalPolicy, Offer};
use tabellion_http::Guard;
/// The store of [`Server::library`], with the types of its arguments.
pub use tabellion_library;
use tabellion_library::{self as library, CreateFolders, Created, Library, OpenError, path::LibraryPath};
use tabellion_mcp::{self as mcp, Adapter, ServerInfo};
use tabellion_pack::{Grounds, Packs, ServiceError};
use tabellion_platform as platform;
use tabellion_platform::parent::Parent;
use tabellion_records::Records;
use tabellion_upkeep::{console::say, data::Data, folder};

/// Name that the program has for clients.
const PROGRAM: &str = "tabellion";
/// Environment variable with the filter for the log on standard error, as in `tabellion=debug`.
const LOG: &str = "TABELLION_LOG";

/// Instructions to the model, for contracts over documents.
const DOCUMENTS: &str = "A library of Markdown files in git. Paths are relative to the library. Every change is one commit and \
    one entry of the activity log.";
/// Instructions to the model, for contracts over rows.
const ROWS: &str = "A database of rows. Every change is one transaction and one entry of the log. To repeat a change that was not \
    answered, send it with the same `_meta` {\"tabellion/idempotencyKey\": \"…\"} again: it is made once.";
/// Further instructions if changes can be previewed.
const PREVIEWS: &str = "Preview an edit first, then repeat it with `_meta` {\"tabellion/ifBase\": the preview's `_meta` \
    \"tabellion/base\"}: it is refused if the file has changed in between.";
const ERRORS: &str = "An error says what to do next.";
/// A process with this many pipes also has enough files for tokio to start.
const PIPES: usize = 3;

/// Checks that the options fit each other and the contracts: if not, the command line is invalid.
///
/// # Errors
/// The option to add, to correct, or to omit.
pub fn check_options(options: &Options, packs: Packs) -> Result<(), String> {
    check(&options.into(), packs)?;
    let specs = Specs::named(packs, &options.contracts);
    let all = specs.all();
    libraries::check(
        &options.libraries,
        !specs.over_rows.is_empty(),
        options.http.is_some(),
        options.http.as_ref().is_none_or(|http| http.stdio),
    )?;
    provenance::check(&options.environment, &all).map_err(|error| error.to_string())?;
    callers::check(options.role.as_deref(), options.http.as_ref(), &all)?;
    document(options, &all)?;
    approval(options, &all)?;
    let guard = options.http.as_ref().map(|http| Guard::check(&http.hosts, &http.origins));
    guard.transpose().map_err(|error| error.to_string())?;
    Ok(())
}

/// Serves until the client disconnects, or, over HTTP, until the process is asked to end. The options must have passed
/// [`check_options`].
///
/// # Errors
/// If a library or the rows can't be opened, or serving fails.
pub fn run(options: &Options, packs: Packs) -> Result<(), Box<dyn Error>> {
    let parent = Parent::now();
    prepare_process()?;
    let specs = Specs::named(packs, &options.contracts);
    for library in &options.libraries {
        check_library(&library.folder, options.create)?.map_err(advised)?;
    }
    let data = if specs.over_rows.is_empty() {
        None
    } else {
        let data = Data::choose(options.data.as_deref())?;
        data.check(options.create)?;
        Some(data)
    };
    let all = specs.all();
    let (document, approval) = (document(options, &all)?, approval(options, &all)?);
    let access = options.http.as_ref().map(|http| Ok((http, Access::new(http)?)));
    let access: Option<(_, Access)> = access.transpose().map_err(|error: Box<dyn Error>| error)?;
    let opened = open(options, packs, &specs, data.as_ref(), document.as_ref(), &approval)?;
    let opened = in_environment(opened, &options.environment)?;
    let opened = callers::say(opened, options.role.as_deref());
    let rows: Vec<_> = opened.iter().flat_map(|opened| opened.rows.clone()).collect();
    let libraries = opened.iter().filter_map(|opened| opened.library.as_ref());
    let followers: Vec<_> = libraries.filter_map(Library::follow).collect();

    let runtime = runtime()?;
    if access.is_none() && io::stdin().is_terminal() {
        say(greeting(options, packs, data.as_ref())?);
    }
    let served = match access {
        None => runtime.block_on(on_stdio(opened, parent)),
        Some((http, access)) => runtime.block_on(over_http::serve(http, access, opened, parent, packs)),
    };
    // A thread may still be blocked in a read of standard input; it must not delay the process's end.
    runtime.shutdown_background();
    drop(followers);
    settle(rows);
    served
}

/// Moves the write-ahead logs of rows into their files. If that fails, the changes stay in the log.
pub fn settle(rows: impl IntoIterator<Item = Arc<Records>>) {
    for records in rows {
        if let Err(failure) = records.settle() {
            tracing::warn!(%failure, "the write-ahead log could not be moved into the data file");
        }
    }
}

/// Checks that `folder` can be served: the inner error is one of its path.
///
/// # Errors
/// If the folder can only be a mistake.
pub fn check_library(folder: &Path, create: CreateFolders) -> Result<Result<(), OpenError>, String> {
    folder::check(folder)?;
    Ok(library::folder::check(folder, create))
}

/// Sends the log to standard error, without the text of notes, and lets the process survive the file size
/// limit. An existing subscriber of the program is kept.
fn prepare_process() -> Result<(), Box<dyn Error>> {
    let filter = EnvFilter::try_from_env(LOG).unwrap_or_else(|_| EnvFilter::new("warn"));
    // rmcp logs whole messages, including the contents of notes.
    let filter = filter.add_directive("rmcp=off".parse()?);
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        // It would report internal errors on standard error as well, and panic if that is closed.
        .log_internal_errors(false)
        .try_init();

    // A panic's message may quote a note; its location does not.
    panic::set_hook(Box::new(|panic| {
        tracing::error!(at = panic.location().map(ToString::to_string), "panic")
    }));
    platform::outlive_file_size_limit();
    Ok(())
}

/// Starts the runtime of a server, or of a command that calls one.
///
/// # Errors
/// If the system has no files left for it; tokio itself would panic.
pub fn runtime() -> io::Result<Runtime> {
    let room: io::Result<Vec<_>> = (0..PIPES).map(|_| io::pipe()).collect();
    drop(room.map_err(|error| {
        io::Error::new(error.kind(), format!("{error}; raise the limit of open files (`ulimit -n`)"))
    })?);
    Builder::new_multi_thread().enable_all().build()
}

/// Contracts with the data that they are served from.
type Contracts = Vec<Arc<dyn Contract>>;

/// Contracts over rows, and these rows.
type ContractsWithRows = (Contracts, Vec<Arc<Records>>);

/// Opens the libraries and rows, one part for each path. Rows are served next to the library that has no name.
fn open(
    options: &Options,
    packs: Packs,
    specs: &Specs,
    data: Option<&Data>,
    document: Option<&LibraryPath>,
    approval: &ApprovalPolicy,
) -> Result<Vec<Opened>, Box<dyn Error>> {
    let (over_rows, rows) = open_rows(options, packs, specs, data)?;
    let beside = rows.first().map(|rows| rows.beside(""));
    let data = data.map(Data::name);
    let mut opened = vec![];
    for named in &options.libraries {
        let (library, mut contracts) = open_library(options, packs, named, specs, document)?;
        let (mut served, mut folders) = (specs.over_documents.clone(), vec![named.folder.clone()]);
        if named.name.is_none() {
            contracts.extend(over_rows.iter().cloned());
            served.extend(&specs.over_rows);
            folders.extend(beside.clone());
        }
        let adapter = Adapter::new(contracts, options.offer, info(&served), approval.clone())?;
        let adapter = match calls::open(&library, &specs.over_documents)? {
            Some(calls) => adapter.with_calls(calls),
            None => adapter,
        };
        let adapter = match packs.review_of(&served) {
            Some(review) => {
                let server = local_caller(Some(page::REVIEWER));
                adapter.with_app(page::app(review, &library, &server))
            }
            None => adapter,
        };
        let mut specs = specs.over_documents.iter();
        opened.push(Opened {
            name: named.name.clone(),
            folders,
            downloads: specs.find_map(|spec| packs.downloads(spec.id, &library)),
            library: Some(library),
            data: data.clone().filter(|_| named.name.is_none()),
            rows: vec![],
            adapter,
        });
    }
    if !over_rows.is_empty() && options.libraries.iter().all(|library| library.name.is_some()) {
        let info = info(&specs.over_rows);
        opened.push(Opened {
            name: None,
            folders: beside.into_iter().collect(),
            data: data.clone(),
            library: None,
            rows: vec![],
            downloads: None,
            adapter: Adapter::new(over_rows, options.offer, info, approval.clone())?,
        });
    }
    if let Some(opened) = opened.first_mut() {
        opened.rows = rows;
    }
    Ok(opened)
}

fn open_library(
    options: &Options,
    packs: Packs,
    named: &Named,
    specs: &Specs,
    document: Option<&LibraryPath>,
) -> Result<(Arc<Library>, Contracts), Box<dyn Error>> {
    let (external, create) = (options.external, options.create);
    let chosen = library::Options { external, create, ..library::Options::default() };
    let library = Library::open(&named.folder, chosen);
    let library = Arc::new(library.map_err(advised)?);
    if let Some(created) = library.created() {
        say(announcement(&path::absolute(&named.folder)?, created));
    }
    let document = document.map(|path| library.true_path(path));
    if let Some(path) = &document {
        library.check_name(path).map_err(no_document)?;
    }
    let grounds = Grounds { library: Some(Arc::clone(&library)), document, ..Grounds::default() };
    let (guarded, open) = specs.guarded_and_open();
    let guarded = match guarded {
        Some(guarded) => Some(format!("`{guarded}`")),
        None => calls::are_served(&library).then(|| "a contract that a different process serves".to_owned()),
    };
    if let Some((guarded, open)) = guarded.zip(open) {
        say(format!(
            "`{open}` changes the files of {guarded} without its roles, gates and reviews; serve them from libraries of their own"
        ));
    }
    let contracts = specs.over_documents.iter();
    let contracts = contracts.map(|spec| Ok(packs.service(spec.id, &grounds)?.0));
    Ok((library, contracts.collect::<Result<_, ServiceError>>()?))
}

fn open_rows(
    options: &Options,
    packs: Packs,
    specs: &Specs,
    data: Option<&Data>,
) -> Result<ContractsWithRows, Box<dyn Error>> {
    let Some(data) = data else {
        return Ok((vec![], vec![]));
    };
    let is_new = data.folder().is_some_and(|folder| !folder.path.exists());
    let grounds = Grounds {
        data: Some(data.place()),
        workspaces: options.workspaces.clone(),
        keys: options.http.as_ref().and_then(|http| http.keys.clone()),
        ..Grounds::default()
    };
    let contracts = specs.over_rows.iter();
    let contracts = contracts.map(|spec| packs.service(spec.id, &grounds));
    let opened: Vec<_> = contracts.collect::<Result<_, _>>()?;
    if is_new {
        say(format_args!("created the data folder `{}`", data.name().display()));
    }
    let (contracts, rows): (_, Vec<_>) = opened.into_iter().unzip();
    Ok((contracts, rows.into_iter().flatten().collect()))
}

/// Returns the server's information about itself when it serves these contracts.
fn info(specs: &[&ContractSpec]) -> ServerInfo {
    ServerInfo {
        name: PROGRAM.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        instructions: Some(instructions(specs)),
    }
}

/// Attaches the server's environment to each adapter.
fn in_environment(
    opened: Vec<Opened>,
    options: &provenance::Options,
) -> Result<Vec<Opened>, provenance::ConfigError> {
    let given = opened.into_iter().map(|opened| {
        let contracts: Vec<_> = opened.adapter.gateway().catalog().contracts().collect();
        let environment = ServerEnvironment::new(options, &contracts, &opened.folders)?;
        let adapter = opened.adapter.with_environment(Arc::new(environment));
        Ok(Opened { adapter, ..opened })
    });
    given.collect()
}

/// Returns the message of an error, with the option that solves it.
fn advised(error: OpenError) -> String {
    match error {
        OpenError::Missing { .. } => {
            format!("{error}; create the folders above it first, or let `serve` do so with `--create`")
        }
        _ => error.to_string(),
    }
}

/// Returns the message about a new library.
fn announcement(folder: &Path, created: &Created) -> String {
    let folder = folder.display();
    match created {
        Created::Repository => format!("created a git repository in `{folder}`"),
        Created::Folder { similar: None } => format!("created a new library at `{folder}`"),
        Created::Folder { similar: Some(similar) } => format!(
            "created a new library at `{folder}`. If you meant `{}`, correct the path and delete the new folder",
            similar.display()
        ),
    }
}

/// Serves one client on standard input and output, until it disconnects, its process has ended, or this process is asked to end.
async fn on_stdio(opened: Vec<Opened>, parent: Parent) -> Result<(), Box<dyn Error>> {
    for opened in &opened {
        opened.adapter.gateway().set_review_place(REVIEW_COMMAND);
    }
    let ending = platform::asked_to_end()?.shared();
    for Opened { adapter, .. } in opened {
        let until = async {
            tokio::select! {
                () = parent.clone().gone() => {}
                () = ending.clone() => {}
            }
        };
        mcp::serve_stdio(adapter, until).await?;
    }
    Ok(())
}

/// Returns the instructions to the model for these contracts.
fn instructions(contracts: &[&ContractSpec]) -> String {
    let previews = contracts.iter().any(|contract| !contract.previews.is_empty());
    let has_rows = contracts.iter().any(|contract| contract.rows.is_some());
    let has_documents = contracts.iter().any(|contract| contract.rows.is_none());
    let parts = [(has_documents, DOCUMENTS), (previews, PREVIEWS), (has_rows, ROWS), (true, ERRORS)];
    let said = parts.iter().filter(|(is_said, _)| *is_said);
    said.map(|(_, text)| *text).collect::<Vec<_>>().join(" ")
}

/// Returns the document for contracts that work on one, if one of them does.
fn document(options: &Options, contracts: &[&ContractSpec]) -> Result<Option<LibraryPath>, String> {
    let wanting = contracts.iter().find(|contract| contract.document);
    match (wanting, &options.document) {
        (None, None) => Ok(None),
        (Some(contract), None) => Err(format!(
            "contract `{}` works on one document; choose it with `--document PATH`, relative to the library",
            contract.id
        )),
        (None, Some(path)) => Err(format!(
            "`--document {path}` is for contracts that work on one document, and none is served; omit it"
        )),
        (Some(_), Some(path)) => match LibraryPath::parse(path) {
            Ok(path) => Ok(Some(path)),
            Err(error) => Err(no_document(error)),
        },
    }
}

fn no_document(error: impl Display) -> String {
    format!("`--document` must be a document of the library: {error}")
}

/// Returns the policy of approvals. Only calls that change data can need approval.
fn approval(options: &Options, contracts: &[&ContractSpec]) -> Result<ApprovalPolicy, String> {
    let tools = contracts.iter().flat_map(|contract| contract.tools);
    let operations = tools.flat_map(|tool| std::iter::once(tool).chain(tool.operations()));
    let mut mutating: Vec<_> = operations.filter(|tool| tool.mutating).map(|tool| tool.label()).collect();
    mutating.dedup();
    if let Some(name) = options.approve.iter().find(|name| !mutating.contains(&name.as_str())) {
        return Err(format!(
            "`--approve {name}` is not a tool that changes something; these are: {}",
            mutating.join(", ")
        ));
    }
    Ok(ApprovalPolicy {
        mode: options.approval,
        tools: options.approve.iter().cloned().collect(),
        ..ApprovalPolicy::default()
    })
}

/// Returns the text for a person who starts the server in a terminal.
fn greeting(options: &Options, packs: Packs, data: Option<&Data>) -> io::Result<String> {
    let mut arguments = vec!["serve".to_owned()];
    let mut folders = vec![];
    let mut add = |option: &str, folder: &Path| -> io::Result<()> {
        folders.push(format!("`{}`", folder.display()));
        let folder = platform::canonicalize(folder)?.to_string_lossy().into_owned();
        arguments.extend([option.to_owned(), folder]);
        Ok(())
    };
    for library in &options.libraries {
        add("--library", &library.folder)?;
    }
    if let Some(data) = data {
        match data.folder() {
            Some(folder) => add("--data", &folder.path)?,
            None => {
                folders.push(format!("`{}`", data.name().display()));
                arguments.extend(["--data".to_owned(), data.name().to_string_lossy().into_owned()]);
            }
        }
    }
    if options.contracts != [packs.default_name()] {
        for contract in &options.contracts {
            arguments.extend(["--contract".to_owned(), contract.clone()]);
        }
    }
    Ok(format!(
        "version {} serves {} to an MCP client on standard input and output.\n\
         Started by hand there is no client. `tabellion install` lets yours start it, or put this into its configuration:\n\n{}\n\n\
         End of file (Ctrl-D) ends it.",
        env!("CARGO_PKG_VERSION"),
        folders.join(" and "),
        configuration(&arguments)?
    ))
}

/// Returns the configuration with which Claude Desktop, Cursor and others start this program on `library`.
///
/// # Errors
/// If the folder does not exist, or the program's path is unknown.
pub fn client_configuration(library: &Path) -> io::Result<String> {
    let library = platform::canonicalize(library)?.to_string_lossy().into_owned();
    configuration(&["serve".into(), "--library".into(), library])
}

fn configuration(arguments: &[String]) -> io::Result<String> {
    let program: PathBuf = env::current_exe()?;
    let configuration = serde_json::json!({
        "mcpServers": { "tabellion": { "command": program, "args": arguments } }
    });
    Ok(serde_json::to_string_pretty(&configuration)?)
}
