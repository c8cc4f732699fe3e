//! The state that all clients of one adapter share, and the two eras of the protocol.

use std::sync::Arc;

use rmcp::model::{Implementation, MetaObject, ServerConfig};
use serde_json::{Value, json};
use tabellion_gateway::Gateway;

use super::{
    approval::Approvals,
    lists::{self, Lists},
};

/// Key in `_meta` of a result: its server, since 2026-07-28.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The server's information about itself.
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
    pub(super) gateway: Arc<Gateway>,
    pub(super) lists: Lists,
    pub(super) approvals: Arc<Approvals>,
    pub(super) config: ServerConfig,
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
    pub(super) fn new(gateway: Arc<Gateway>, info: ServerInfo) -> Self {
        let signature = json!({ "name": info.name, "version": info.version });
        let server = Implementation::new(info.name, info.version);
        let mut config = ServerConfig::new(lists::capabilities(gateway.catalog())).with_server_info(server);
        config.instructions = info.instructions;
        Self {
            lists: Lists::new(gateway.catalog()),
            approvals: Arc::new(Approvals::new(gateway.approval().clone())),
            gateway,
            config,
            signature,
        }
    }

    /// Adds the server's name to the result's `_meta`, as required since 2026-07-28.
    pub(super) fn sign(&self, era: Era, meta: &mut Option<MetaObject>) {
        if era == Era::Stateless {
            meta.get_or_insert_default().insert(SERVER_INFO.into(), self.signature.clone());
        }
    }
}
