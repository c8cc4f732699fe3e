//! Where a call comes from, as far as its request, its connection and its server know: the sources of its mode and of its
//! provenance.
//!
//! A server hands these in with each call; [`modes`](crate::modes) and [`provenance`](crate::provenance) decide what counts. What
//! a server knows by itself is behind [`Environment`], because this crate knows no files, no git and no environment variables.

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

/// How a call reached the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// As a line of text, such as on standard input.
    #[default]
    Lines,
    /// As an HTTP request.
    Http,
}

/// Where a call comes from.
#[derive(Debug, Clone, Default)]
pub struct CallOrigin {
    /// How it reached the server.
    pub transport: Transport,
    /// The URL that clients have for what answers it; `None` if there is none.
    pub url: Option<Arc<str>>,
    /// The `_meta` of its request.
    pub meta: Arc<Map<String, Value>>,
    /// The headers of its HTTP request, with names in any case. Those that no contract declares may be left out.
    pub headers: Arc<[(String, String)]>,
    /// The holder of the key that it was made with.
    pub holder: Option<Arc<str>>,
    /// Its connection; `None` if its calls have nothing in common.
    pub connection: Option<Arc<Connection>>,
    /// What the server knows beside; `None` if nothing.
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

/// What a server knows that no request says.
pub trait Environment: fmt::Debug + Send + Sync {
    /// Returns the mode that the operator has set for `contract`, whether or not the contract has such a mode.
    fn mode(&self, contract: &ContractSpec) -> Option<String>;

    /// Returns the configured value of a field of provenance.
    fn configured(&self, field: &str) -> Option<Value>;

    /// Returns whether provenance of calls by `transport` may be discovered.
    fn discovers(&self, transport: Transport) -> bool;

    /// Returns what the server can find out about where it runs. May take long the first time.
    fn discover(&self) -> BoxFuture<'_, Arc<Discovered>>;
}

/// What a server found out about where it runs.
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
    /// Returns a fact about where the server runs; `None` also for facts about the call.
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

/// One client's connection: what its calls have in common.
#[derive(Debug)]
pub struct Connection {
    id: String,
    /// Whether a session was opened for it.
    has_session: AtomicBool,
    /// By contract, the provenance that its first call carried.
    first: Mutex<BTreeMap<&'static str, Map<String, Value>>>,
}

impl Connection {
    /// Creates a connection with this id, which no other one has.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            has_session: AtomicBool::new(false),
            first: Mutex::default(),
        }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Says that a session was opened for it.
    pub fn opens_session(&self) {
        self.has_session.store(true, Ordering::Relaxed);
    }

    /// Returns whether a session was opened for it.
    pub fn has_session(&self) -> bool {
        self.has_session.load(Ordering::Relaxed)
    }

    /// Returns the provenance that the first call of `contract` with any carried.
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
