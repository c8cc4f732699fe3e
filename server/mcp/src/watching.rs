//! Detects changes of a resource, by tools or by hand, while it has subscribers.
//!
//! People change files by hand without notifying the server, so a resource with subscribers is polled.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use rmcp::{Peer, RoleServer, model::ResourceUpdatedNotificationParam};
use serde_json::Value;
use tabellion_gateway::FoundResource;
use tabellion_runtime::{Contract, ResourceSpec};
use tokio::task::{AbortHandle, JoinSet};

/// Maximum number of resources that a session can subscribe to.
pub(super) const MAX_WATCHED: usize = 256;

/// Interval between two polls of a resource.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A resource, and its version as known to a subscriber; `None` for a resource that can't be read.
#[derive(Clone)]
pub(super) struct WatchedResource {
    contract: Arc<dyn Contract>,
    resource: &'static ResourceSpec,
    uri: Arc<str>,
    /// The variables of the URI, if it has a template.
    variables: Option<Value>,
    known: Option<String>,
}

impl WatchedResource {
    /// Starts watching the resource at `uri` at the current version.
    pub(super) async fn begin(uri: &str, found: FoundResource<'_>) -> Self {
        let mut watched = Self {
            contract: found.contract.clone(),
            resource: found.spec,
            uri: uri.into(),
            variables: found.variables,
            known: None,
        };
        watched.known = watched.version().await;
        watched
    }

    /// Waits for the next change.
    pub(super) async fn changed(&mut self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let version = self.version().await;
            if version != self.known {
                self.known = version;
                return;
            }
        }
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    async fn version(&self) -> Option<String> {
        // A panic there has been logged; watching continues.
        let name = self.resource.name;
        let version = match &self.variables {
            None => self.contract.resource_version(name),
            Some(variables) => self.contract.instance_version(name, variables.clone()),
        };
        let version = AssertUnwindSafe(version).catch_unwind();
        version.await.ok()?.ok()
    }
}

/// The subscriptions of a session. Dropping it ends them.
#[derive(Default)]
pub(super) struct Subscriptions {
    tasks: JoinSet<()>,
    by_uri: HashMap<Arc<str>, AbortHandle>,
}

impl Subscriptions {
    /// Notifies `peer` of each change. Replaces an earlier subscription to the same resource. Returns false,
    /// without an effect, if there are already [`MAX_WATCHED`].
    #[must_use]
    pub(super) fn add(&mut self, mut watched: WatchedResource, peer: Peer<RoleServer>) -> bool {
        self.remove(watched.uri());
        if self.by_uri.len() == MAX_WATCHED {
            return false;
        }
        let uri = Arc::clone(&watched.uri);
        let task = self.tasks.spawn(async move {
            loop {
                watched.changed().await;
                let update = ResourceUpdatedNotificationParam::new(watched.uri());
                if peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        });
        self.by_uri.insert(uri, task);
        true
    }

    pub(super) fn remove(&mut self, uri: &str) {
        if let Some(task) = self.by_uri.remove(uri) {
            task.abort();
        }
        while self.tasks.try_join_next().is_some() {}
    }
}
