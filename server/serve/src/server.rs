//! A server for contracts of anyone's own, in a program of their own.

use std::{
    error::Error,
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    slice::from_ref,
    sync::Arc,
};

use tabellion_gateway::{ApprovalPolicy, Offer};
use tabellion_library::{self as library, Library};
use tabellion_mcp::{Adapter, Extension, ServerInfo};
use tabellion_pack::Packs;
use tabellion_platform::parent::Parent;
use tabellion_records::{Records, Start};
use tabellion_runtime::{Contract, ContractSpec, spec::RowsSpec};

use tabellion_upkeep::folder;

use crate::{calls, provenance::ServerEnvironment};

use super::{
    HttpOptions, Opened, callers, instructions, on_stdio,
    over_http::{self, Access},
    prepare_process, runtime, settle,
};

/// Why a [`Server`] can't serve. `Debug` is the text of `Display`, so that a `main` that returns it prints it.
pub struct ServerError(String);

impl ServerError {
    fn new(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ServerError {}

/// A server for contracts of your own over one library, or over the rows of a data folder. It is the whole of a program's `main`:
///
/// ```no_run
/// # use std::sync::Arc;
/// # fn service(_: Arc<tabellion_library::Library>) -> impl tabellion_runtime::Contract { Nothing }
/// # struct Nothing;
/// # impl tabellion_runtime::Contract for Nothing {
/// #     fn spec(&self) -> &'static tabellion_runtime::ContractSpec { &tabellion_runtime::ContractSpec::EMPTY }
/// #     fn call<'a>(&'a self, _: &'a tabellion_runtime::CallContext, _: &'a str, _: serde_json::Value)
/// #     -> tabellion_runtime::BoxFuture<'a, Result<tabellion_runtime::Answer, tabellion_runtime::Rejection>> { unreachable!("it has no tools") }
/// # }
/// fn main() -> Result<(), tabellion_serve::ServerError> {
///     let server = tabellion_serve::Server::open("recipes", env!("CARGO_PKG_VERSION"), "/path/to/recipes")?;
///     // Of a generated module: `Service::new(Recipes, server.library())`.
///     let service = service(server.library());
///     server.with(service).serve_stdio()
/// }
/// ```
///
/// A contract over rows is opened with [`open_rows`](Server::open_rows), and its service takes [`records`](Server::records).
///
/// Each change is staged, approved, committed and logged as by `tabellion serve`. Serving takes over the process: the log goes to
/// standard error unless the program has set another subscriber (which must turn off the target `rmcp`, since rmcp logs the text
/// of documents), a panic is logged by its location alone, and standard output is the protocol's.
#[must_use = "it serves nothing until it is told how"]
pub struct Server<S = Library> {
    info: ServerInfo,
    folder: PathBuf,
    store: Arc<S>,
    /// The library, if that is the store.
    library: Option<Arc<Library>>,
    /// The rows, if they are the store.
    rows: Option<Arc<Records>>,
    contracts: Vec<Arc<dyn Contract>>,
    extension: Option<Arc<dyn Extension>>,
    offer: Offer,
    approval: ApprovalPolicy,
    keys: Option<PathBuf>,
    role: Option<String>,
}

impl Server<Library> {
    /// Opens the library in `folder`, which is created if it is missing, for a server that tells clients this name and version.
    ///
    /// # Errors
    /// If the folder can only be a mistake, such as a home folder, or the library can't be opened.
    pub fn open(name: &str, version: &str, folder: impl Into<PathBuf>) -> Result<Self, ServerError> {
        let folder = folder.into();
        folder::check(&folder).map_err(ServerError::new)?;
        let library = Library::open(&folder, library::Options::default()).map_err(ServerError::new)?;
        let library = Arc::new(library);
        let server = Self::over(name, version, folder, Arc::clone(&library));
        Ok(Self { library: Some(library), ..server })
    }

    /// Returns the library, which is the store of a generated `Service`. An implementation may keep it, to list and search.
    pub fn library(&self) -> Arc<Library> {
        Arc::clone(&self.store)
    }
}

impl Server<Records> {
    /// Opens the rows of a contract in the data folder `folder`, which is created if it is missing, for a server that tells clients
    /// this name and version. `spec` is the `ROWS` of the generated module.
    ///
    /// # Errors
    /// If the folder can only be a mistake, such as a home folder, or the rows can't be opened.
    pub fn open_rows(
        name: &str,
        version: &str,
        folder: impl Into<PathBuf>,
        spec: &'static RowsSpec,
    ) -> Result<Self, ServerError> {
        let folder = folder.into();
        if let Some(wrong) = folder::mistake(&folder) {
            let folder = folder.display();
            return Err(ServerError::new(format_args!(
                "`{folder}` {wrong}; choose a folder for the data alone"
            )));
        }
        let records = Records::open(&folder, spec, Start::Serve).map_err(ServerError::new)?;
        let records = Arc::new(records);
        let server = Self::over(name, version, folder, Arc::clone(&records));
        Ok(Self { rows: Some(records), ..server })
    }

    /// Returns the rows, which are the store of a generated `Service`.
    pub fn records(&self) -> Arc<Records> {
        Arc::clone(&self.store)
    }
}

impl<S> Server<S> {
    fn over(name: &str, version: &str, folder: PathBuf, store: Arc<S>) -> Self {
        Self {
            info: ServerInfo { name: name.into(), version: version.into(), instructions: None },
            folder,
            store,
            library: None,
            rows: None,
            contracts: vec![],
            extension: None,
            offer: Offer::Everything,
            approval: ApprovalPolicy::default(),
            keys: None,
            role: None,
        }
    }

    /// Adds a contract with its implementation.
    pub fn with(mut self, service: impl Contract + 'static) -> Self {
        self.contracts.push(Arc::new(service));
        self
    }

    /// Answers some requests beside the contracts, as no contract can declare.
    pub fn extension(mut self, extension: impl Extension + 'static) -> Self {
        self.extension = Some(Arc::new(extension));
        self
    }

    /// Sets the instructions to the model; by default they say what is served and what every change is.
    pub fn instructions(mut self, text: &str) -> Self {
        self.info.instructions = Some(text.into());
        self
    }

    /// Sets which tools are offered; all by default.
    pub fn offer(mut self, offer: Offer) -> Self {
        self.offer = offer;
        self
    }

    /// Sets which calls need a person's approval besides those of the contracts, and what happens where the client can't ask.
    pub fn approval(mut self, approval: ApprovalPolicy) -> Self {
        self.approval = approval;
        self
    }

    /// Requires an API key of HTTP clients, from a file that `tabellion key` writes.
    pub fn keys(mut self, file: &Path) -> Self {
        self.keys = Some(file.into());
        self
    }

    /// Sets the role of the client on standard input and output, for contracts with roles; an agent's by default.
    pub fn role(mut self, role: &str) -> Self {
        self.role = Some(role.into());
        self
    }

    /// Serves one client on standard input and output, until it disconnects.
    ///
    /// # Errors
    /// If two contracts have a tool of the same name, or serving fails.
    pub fn serve_stdio(self) -> Result<(), ServerError> {
        let parent = Parent::now();
        callers::check(self.role.as_deref(), None, &self.specs()).map_err(ServerError::new)?;
        prepare_process().map_err(ServerError::new)?;
        let rows = self.rows.clone();
        let opened = self.opened()?;
        let runtime = runtime().map_err(ServerError::new)?;
        let served = runtime.block_on(on_stdio(vec![opened], parent));
        // A thread may still be blocked in a read of standard input; it must not keep the process.
        runtime.shutdown_background();
        settle(rows);
        served.map_err(ServerError::new)
    }

    /// Serves any number of clients over HTTP at `http://ADDRESS/mcp`, in both of MCP's eras, until the process is asked to end.
    ///
    /// # Errors
    /// As [`serve_stdio`](Self::serve_stdio); also if the address can't be listened on, or other machines can reach it and no
    /// [`keys`](Self::keys) are required.
    pub fn serve_http(self, address: SocketAddr) -> Result<(), ServerError> {
        if !address.ip().is_loopback() && self.keys.is_none() {
            return Err(ServerError::new(format_args!(
                "other machines can reach `{address}` and could change what is served: listen on 127.0.0.1, or require API keys"
            )));
        }
        let parent = Parent::now();
        prepare_process().map_err(ServerError::new)?;
        let options = HttpOptions { keys: self.keys.clone(), ..HttpOptions::new(address) };
        callers::check(self.role.as_deref(), Some(&options), &self.specs()).map_err(ServerError::new)?;
        let access = Access::new(&options).map_err(ServerError::new)?;
        let rows = self.rows.clone();
        let opened = self.opened()?;
        let runtime = runtime().map_err(ServerError::new)?;
        let served =
            runtime.block_on(over_http::serve(&options, access, vec![opened], parent, Packs::default()));
        runtime.shutdown_background();
        settle(rows);
        served.map_err(ServerError::new)
    }

    fn specs(&self) -> Vec<&'static ContractSpec> {
        self.contracts.iter().map(|contract| contract.spec()).collect()
    }

    fn opened(self) -> Result<Opened, ServerError> {
        let specs = self.specs();
        let info = ServerInfo {
            instructions: self.info.instructions.or_else(|| Some(instructions(&specs))),
            ..self.info
        };
        let environment = ServerEnvironment::new(&Default::default(), &specs, from_ref(&self.folder));
        let environment = environment.map_err(ServerError::new)?;
        let calls = self.library.as_ref().map(|library| calls::open(library, &specs));
        let calls = calls.transpose().map_err(ServerError::new)?.flatten();
        let adapter = Adapter::new(self.contracts, self.offer, info, self.approval);
        let adapter = adapter.map(|adapter| adapter.with_environment(Arc::new(environment)));
        let adapter = adapter.map(|adapter| match self.extension {
            Some(extension) => adapter.with_extension(extension),
            None => adapter,
        });
        let adapter = adapter.map(|adapter| match calls {
            Some(calls) => adapter.with_calls(calls),
            None => adapter,
        });
        let opened = Opened {
            name: None,
            data: self.rows.as_ref().map(|_| self.folder.clone()),
            folders: vec![self.folder],
            library: self.library,
            rows: self.rows.into_iter().collect(),
            downloads: None,
            adapter: adapter.map_err(ServerError::new)?,
        };
        Ok(callers::set_local_caller(opened, self.role.as_deref()))
    }
}
