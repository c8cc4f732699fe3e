//! The origin of a call, as far as its request, its connection and its server know it: the sources of its mode and of its provenance.
//!
//! A server attaches these to each call; [`modes`](crate::modes) and [`provenance`](crate::provenance) decide precedence. The server's own
//! knowledge is behind [`Environment`], because this crate knows no files, no git and no environment variables.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Map, Value};

use crate::{
    future::BoxFuture,
    spec::{ContractSpec, Discovery},
};

/// The means by which a call reached the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// As a line of text, such as on standard input.
    #[default]
    Lines,
    /// As an HTTP request.
    Http,
}

/// The origin of a call.
#[derive(Debug, Clone, Default)]
pub struct CallOrigin {
    /// The transport that delivered it.
    pub transport: Transport,
    /// The public URL of the endpoint that answers it; `None` if there is none.
    pub url: Option<Arc<str>>,
    /// The `_meta` of its request.
    pub meta: Arc<Map<String, Value>>,
    /// The headers of its HTTP request, with names in any case. Headers that no contract declares may be absent.
    pub headers: Arc<[(String, String)]>,
    /// The holder of the key that it was made with.
    pub holder: Option<Arc<str>>,
    /// Its connection; `None` if its calls have no common state.
    pub connection: Option<Arc<Connection>>,
    /// The server's environment, if it has one.
    pub environment: Option<Arc<dyn Environment>>,
}

impl CallOrigin {
    /// Returns the first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(value)
    }
}

/// A server's knowledge that requests do not carry.
pub trait Environment: fmt::Debug + Send + Sync {
    /// Returns the mode that the operator has set for `contract`, which may be unknown to the contract.
    fn mode(&self, contract: &ContractSpec) -> Option<String>;

    /// Returns the configured value of a field of provenance.
    fn configured(&self, field: &str) -> Option<Value>;

    /// Returns true if provenance of calls by `transport` may be discovered.
    fn discovers(&self, transport: Transport) -> bool;

    /// Returns the facts that the server can discover about its surroundings. The first call may take long.
    fn discover(&self) -> BoxFuture<'_, Arc<Discovered>>;
}

/// Facts that a server has discovered about its surroundings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovered {
    /// [`Discovery::Project`].
    pub project: Option<String>,
    /// [`Discovery::Repository`].
    pub repository: Option<String>,
    /// [`Discovery::RepositoryPath`].
    pub repository_path: Option<String>,
    /// [`Discovery::WorkTree`].
    pub work_tree: Option<String>,
    /// [`Discovery::Operator`].
    pub operator: Option<String>,
    /// [`Discovery::Machine`].
    pub machine: Option<String>,
}

impl Discovered {
    /// Returns a fact about the server's surroundings; `None` also for facts about the call.
    pub fn fact(&self, discovery: Discovery) -> Option<&str> {
        let fact = match discovery {
            Discovery::Project => &self.project,
            Discovery::Repository => &self.repository,
            Discovery::RepositoryPath => &self.repository_path,
            Discovery::WorkTree => &self.work_tree,
            Discovery::Operator => &self.operator,
            Discovery::Machine => &self.machine,
            Discovery::Session | Discovery::Client | Discovery::Unknown => return None,
        };
        fact.as_deref()
    }
}

/// One client's connection: the common state of its calls.
#[derive(Debug)]
pub struct Connection {
    id: String,
    /// True if a session was opened for it.
    has_session: AtomicBool,
    /// By contract, the provenance that its first call carried.
    first: Mutex<BTreeMap<&'static str, Map<String, Value>>>,
}

impl Connection {
    /// Creates a connection with this id, which must be unique.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), has_session: AtomicBool::new(false), first: Mutex::default() }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Records that a session was opened for it.
    pub fn opens_session(&self) {
        self.has_session.store(true, Ordering::Relaxed);
    }

    /// Returns true if a session was opened for it.
    pub fn has_session(&self) -> bool {
        self.has_session.load(Ordering::Relaxed)
    }

    /// Returns the provenance of the first call of `contract` that carried any.
    pub fn first(&self, contract: &ContractSpec) -> Option<Map<String, Value>> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get(contract.id).cloned()
    }

    /// Keeps the provenance that a call of `contract` carried, unless an earlier one carried some.
    pub(crate) fn keep_first(&self, contract: &ContractSpec, carried: Map<String, Value>) {
        if !carried.is_empty() {
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            first.entry(contract.id).or_insert(carried);
        }
    }
}
