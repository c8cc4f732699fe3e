//! Noticing that a resource has changed, whoever changed it, for as long as somebody wants to know.
//!
//! What a resource is made of may be changed by hand, so it is looked at now and then, and only while there is a
//! subscriber.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use rmcp::{Peer, RoleServer, model::ResourceUpdatedNotificationParam};
use tabellion_runtime::{Contract, ResourceSpec};
use tokio::task::{AbortHandle, JoinSet};

use super::catalog::Route;

/// How often a resource is looked at.
pub(super) const EVERY: Duration = Duration::from_millis(500);

/// A resource, and the version of it that a subscriber knows. A resource that can't be read has none.
#[derive(Clone)]
pub(super) struct Watched {
    contract: Arc<dyn Contract>,
    resource: &'static ResourceSpec,
    known: Option<String>,
}

impl Watched {
    /// From here on, changes are noticed.
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
            tokio::time::sleep(EVERY).await;
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
        // A panic in there has been logged, and is no reason to stop looking.
        let version = AssertUnwindSafe(self.contract.resource_version(self.resource.name)).catch_unwind();
        version.await.ok()?.ok()
    }
}

/// The subscriptions of a session. They end with it.
#[derive(Default)]
pub(super) struct Subscriptions {
    tasks: JoinSet<()>,
    by_uri: HashMap<&'static str, AbortHandle>,
}

impl Subscriptions {
    /// Tells `peer` of each change, in place of an earlier subscription to the same resource.
    pub(super) fn add(&mut self, mut watched: Watched, peer: Peer<RoleServer>) {
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
