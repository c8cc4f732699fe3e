//! What all clients of one adapter share, and the two eras of the protocol.

use std::sync::{Arc, OnceLock};

use rmcp::model::{Implementation, MetaObject, ServerConfig};
use serde_json::{Value, json};
use tabellion_runtime::{Environment, calls::CallStore};

use super::{
    approval::{ApprovalPolicy, Approvals},
    caller::LocalCaller,
    calls::Calls,
    catalog::Catalog,
};

/// Key in `_meta` of a result: its server, since 2026-07-28.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What the server reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Name of the server.
    pub name: String,
    /// Version of the server.
    pub version: String,
    /// Instructions for the model.
    pub instructions: Option<String>,
}

/// State that all clients share.
pub(super) struct Shared {
    pub(super) catalog: Catalog,
    pub(super) approvals: Arc<Approvals>,
    pub(super) calls: Calls,
    pub(super) config: ServerConfig,
    /// What the server knows that no request says.
    pub(super) environment: OnceLock<Arc<dyn Environment>>,
    /// What is kept of the calls of contracts that want it.
    pub(super) call_store: OnceLock<Arc<dyn CallStore>>,
    /// The caller on standard input and output.
    pub(super) local_caller: OnceLock<LocalCaller>,
    /// Value of [`SERVER_INFO`] in `_meta` of results since 2026-07-28.
    signature: Value,
}

/// The protocol generation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// Until 2025-11-25: in a session opened by `initialize`.
    Session,
    /// Since 2026-07-28: each request on its own.
    Stateless,
}

impl Shared {
    pub(super) fn new(catalog: Catalog, info: ServerInfo, approval: ApprovalPolicy) -> Self {
        let signature = json!({ "name": info.name, "version": info.version });
        let server = Implementation::new(info.name, info.version);
        let mut config = ServerConfig::new(catalog.capabilities()).with_server_info(server);
        config.instructions = info.instructions;
        Self {
            catalog,
            approvals: Arc::new(Approvals::new(approval)),
            calls: Calls::default(),
            config,
            environment: OnceLock::new(),
            call_store: OnceLock::new(),
            local_caller: OnceLock::new(),
            signature,
        }
    }

    /// Adds the server's name to the result's `_meta`, as required since 2026-07-28.
    pub(super) fn sign(&self, era: Era, meta: &mut Option<MetaObject>) {
        if era == Era::Stateless {
            meta.get_or_insert_default()
                .insert(SERVER_INFO.into(), self.signature.clone());
        }
    }
}
