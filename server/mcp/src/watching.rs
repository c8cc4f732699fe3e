//! Detects changes of a resource, by tools or by hand, while it has subscribers.
//!
//! People change files by hand without notifying the server, so a resource with subscribers is polled.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use rmcp::{Peer, RoleServer, model::ResourceUpdatedNotificationParam};
use tabellion_runtime::{Contract, ResourceSpec};
use tokio::task::{AbortHandle, JoinSet};

use super::catalog::Route;

/// Interval between two looks at a resource.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A resource, and its version that a subscriber knows; `None` for a resource that can't be read.
#[derive(Clone)]
pub(super) struct WatchedResource {
    contract: Arc<dyn Contract>,
    resource: &'static ResourceSpec,
    known: Option<String>,
}

impl WatchedResource {
    /// Starts watching at the current version.
    pub(super) async fn begin(route: &Route<ResourceSpec>) -> Self {
        let mut watched = Self {
            contract: route.contract.clone(),
            resource: route.spec,
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

    pub(super) fn uri(&self) -> &'static str {
        self.resource.uri
    }

    async fn version(&self) -> Option<String> {
        // A panic there has been logged; watching continues.
        let version = AssertUnwindSafe(self.contract.resource_version(self.resource.name)).catch_unwind();
        version.await.ok()?.ok()
    }
}

/// The subscriptions of a session. Dropping it ends them.
#[derive(Default)]
pub(super) struct Subscriptions {
    tasks: JoinSet<()>,
    by_uri: HashMap<&'static str, AbortHandle>,
}

impl Subscriptions {
    /// Notifies `peer` of each change. Replaces an earlier subscription to the same resource.
    pub(super) fn add(&mut self, mut watched: WatchedResource, peer: Peer<RoleServer>) {
        self.remove(watched.uri());
        let uri = watched.uri();
        let task = self.tasks.spawn(async move {
            loop {
                watched.changed().await;
                let update = ResourceUpdatedNotificationParam::new(uri);
                if peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        });
        self.by_uri.insert(uri, task);
    }

    pub(super) fn remove(&mut self, uri: &str) {
        if let Some(task) = self.by_uri.remove(uri) {
            task.abort();
        }
        while self.tasks.try_join_next().is_some() {}
    }
}
