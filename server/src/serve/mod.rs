//! `tabellion serve`: opens the libraries and serves contracts over them to a client on standard input and output, to any
//! number of clients over HTTP, or to both.

pub(crate) mod folder;
pub(crate) mod libraries;
mod options;
mod over_http;
mod server;

use std::{
    env,
    error::Error,
    io::{self, IsTerminal},
    panic,
    path::{self, Path, PathBuf},
    sync::Arc,
};

use tabellion_runtime::ContractSpec;
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

pub(crate) use self::options::{HttpOptions, OAuthOptions, Options};
pub use self::server::{Server, ServerError};
use self::{libraries::Named, over_http::Access};
use crate::{
    console::say,
    contracts,
    provenance::{self, ServerEnvironment},
};
use tabellion_library::{
    self as library, CreateFolders, Created, Library, OpenError,
    path::{LibraryPath, PathError},
};
use tabellion_mcp::{self as mcp, Adapter, ApprovalPolicy, ServerInfo};
use tabellion_platform as platform;
use tabellion_platform::parent::Parent;

/// Environment variable with the filter for the log on standard error, as in `tabellion=debug`.
const LOG: &str = "TABELLION_LOG";

/// Instructions to the model, for every contract.
const ABOUT: &str = "A library of Markdown files in git. Paths are relative to the library. Every change is one commit and \
    one entry of the activity log.";
/// Further instructions if changes can be previewed.
const PREVIEWS: &str = "Preview an edit first, then repeat it with `_meta` {\"tabellion/ifBase\": the preview's `_meta` \
    \"tabellion/base\"}: it is refused if the file has changed in between.";
const ERRORS: &str = "An error says what to do next.";
/// A process with this many pipes also has enough files for tokio to start.
const PIPES: usize = 3;

/// Serves until the client disconnects, or, over HTTP, until the process is asked to end.
pub(crate) fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let parent = Parent::now();
    prepare_process()?;
    libraries::check(
        &options.libraries,
        options.http.is_some(),
        options.http.as_ref().is_none_or(|http| http.stdio),
    )?;
    for library in &options.libraries {
        check_library(&library.folder, options.create)?.map_err(advised)?;
    }
    let specs: Vec<_> = options
        .contracts
        .iter()
        .filter_map(|name| contracts::spec(name))
        .collect();
    let (document, approval) = (document(options, &specs)?, approval(options, &specs)?);
    let access = options.http.as_ref().map(|http| Ok((http, Access::new(http)?)));
    let access: Option<(_, Access)> = access.transpose().map_err(|error: Box<dyn Error>| error)?;
    let open = |named| open(options, named, &specs, document.as_ref(), &approval);
    let opened: Vec<_> = options.libraries.iter().map(open).collect::<Result<_, _>>()?;

    let opened = in_environment(opened, &options.environment)?;

    let runtime = runtime()?;
    let served = match access {
        None => runtime.block_on(on_stdio(opened, parent)),
        Some((http, access)) => runtime.block_on(over_http::serve(http, access, opened, parent)),
    };
    // A thread may still be blocked in a read of standard input; it must not keep the process.
    runtime.shutdown_background();
    served
}

/// Checks that `folder` can be served: the inner error is one of its path, the outer one says that it can only be a mistake.
pub(crate) fn check_library(folder: &Path, create: CreateFolders) -> Result<Result<(), OpenError>, String> {
    folder::check(folder)?;
    Ok(library::folder::check(folder, create))
}

/// Sends the log to standard error, without the text of notes, and lets the process outlive what would end it. A log that the
/// program has already is left alone.
fn prepare_process() -> Result<(), Box<dyn Error>> {
    let filter = EnvFilter::try_from_env(LOG).unwrap_or_else(|_| EnvFilter::new("warn"));
    // rmcp logs whole messages, and with them the contents of notes.
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

/// # Errors
/// If the system has no files left for it; tokio itself would panic.
pub(crate) fn runtime() -> io::Result<Runtime> {
    let room: io::Result<Vec<_>> = (0..PIPES).map(|_| io::pipe()).collect();
    drop(room.map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("{error}; raise the limit of open files (`ulimit -n`)"),
        )
    })?);
    Builder::new_multi_thread().enable_all().build()
}

/// A library with its contracts.
struct Opened {
    named: Named,
    library: Arc<Library>,
    adapter: Adapter,
}

impl Opened {
    /// Returns the folders with what is served.
    fn folders(&self) -> Vec<PathBuf> {
        vec![self.named.folder.clone()]
    }
}

fn open(
    options: &Options,
    named: &Named,
    specs: &[&ContractSpec],
    document: Option<&LibraryPath>,
    approval: &ApprovalPolicy,
) -> Result<Opened, Box<dyn Error>> {
    let (external, create) = (options.external, options.create);
    let library = Library::open(&named.folder, library::Options { external, create });
    let library = Arc::new(library.map_err(advised)?);
    if let Some(created) = library.created() {
        say(announcement(&path::absolute(&named.folder)?, created));
    }
    let document = document.map(|path| library.true_path(path));
    if let Some(path) = &document {
        library.check_name(path).map_err(no_document)?;
    }
    let contracts = options
        .contracts
        .iter()
        .filter_map(|name| contracts::service(name, &library, document.as_ref()))
        .collect();
    let info = ServerInfo {
        name: env!("CARGO_PKG_NAME").into(),
        version: env!("CARGO_PKG_VERSION").into(),
        instructions: Some(instructions(specs)),
    };
    Ok(Opened {
        named: named.clone(),
        library,
        adapter: Adapter::new(contracts, options.offer, info, approval.clone())?,
    })
}

/// Gives what is served what this server knows of where calls come from.
fn in_environment(
    opened: Vec<Opened>,
    options: &provenance::Options,
) -> Result<Vec<Opened>, provenance::EnvironmentError> {
    let given = opened.into_iter().map(|opened| {
        let folders = opened.folders();
        let environment = ServerEnvironment::new(options, &opened.adapter.contracts(), &folders)?;
        let adapter = opened.adapter.with_environment(Arc::new(environment));
        Ok(Opened { adapter, ..opened })
    });
    given.collect()
}

/// Returns the message of an error, with the option that helps.
fn advised(error: OpenError) -> String {
    match error {
        OpenError::Missing { .. } => {
            format!("{error}; to create all missing folders of the path, add `--create`")
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
        Created::Folder {
            similar: Some(similar),
        } => format!(
            "created a new library at `{folder}`. If you meant `{}`, correct the path and delete the new folder",
            similar.display()
        ),
    }
}

/// Serves one library on standard input and output.
async fn on_stdio(libraries: Vec<Opened>, parent: Parent) -> Result<(), Box<dyn Error>> {
    for Opened { named, adapter, .. } in libraries {
        if io::stdin().is_terminal() {
            say(greeting(&named.folder)?);
        }
        mcp::serve_stdio(adapter, parent.clone().gone()).await?;
    }
    Ok(())
}

/// Returns the instructions to the model for these contracts.
fn instructions(contracts: &[&ContractSpec]) -> String {
    let previews = contracts.iter().any(|contract| !contract.previews.is_empty());
    let parts = [Some(ABOUT), previews.then_some(PREVIEWS), Some(ERRORS)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the document for contracts that work on one, if any of them does.
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

fn no_document(error: PathError) -> String {
    format!("`--document` must be a document of the library: {error}")
}

/// Returns which calls need approval. Only calls that change something can need it.
fn approval(options: &Options, contracts: &[&ContractSpec]) -> Result<ApprovalPolicy, String> {
    let tools = contracts.iter().flat_map(|contract| contract.tools);
    let operations = tools.flat_map(|tool| std::iter::once(tool).chain(tool.operations()));
    let mut mutating: Vec<_> = operations
        .filter(|tool| tool.mutating)
        .map(|tool| tool.label())
        .collect();
    mutating.dedup();
    if let Some(name) = options
        .approve
        .iter()
        .find(|name| !mutating.contains(&name.as_str()))
    {
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
fn greeting(library: &Path) -> io::Result<String> {
    Ok(format!(
        "version {} serves `{}` to an MCP client on standard input and output.\n\
         Started by hand there is no client. `tabellion install` lets yours start it, or put this into its configuration:\n\n{}\n\n\
         End of file (Ctrl-D) ends it.",
        env!("CARGO_PKG_VERSION"),
        library.display(),
        client_configuration(library)?
    ))
}

/// Returns the configuration with which Claude Desktop, Cursor and others start this program on `library`.
pub(crate) fn client_configuration(library: &Path) -> io::Result<String> {
    let program: PathBuf = env::current_exe()?;
    let configuration = serde_json::json!({
        "mcpServers": {
            "tabellion": { "command": program, "args": ["serve", "--library", platform::canonicalize(library)?] }
        }
    });
    Ok(serde_json::to_string_pretty(&configuration)?)
}
