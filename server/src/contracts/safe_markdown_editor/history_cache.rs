//! What this process knows of the document's history, so that it is read once.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chrono::{DateTime, FixedOffset};
use serde_json::{Map, Value};
use tabellion_runtime::{DocumentHistory, Failure, snapshot};

use tabellion_markdown::lineage::{Lineage, Step, Version};

/// States of the store that are remembered: the newest ones, and what was read while others were still to come.
const REMEMBERED: usize = 4;
/// Operations of the document that are remembered, and listed.
const MOST_OPERATIONS: usize = 1000;

/// The document's history at some states of the store.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<VecDeque<(String, Arc<Followed>)>>);

/// The document's history at one state.
#[derive(Debug, Clone)]
pub(super) struct Followed {
    /// Its sections, and what can be undone.
    pub(super) lineage: Lineage,
    /// The last changes that tools made, oldest first.
    pub(super) operations: VecDeque<Arc<Operation>>,
    /// When it came into being and by whom; `None` where it is not there.
    pub(super) created: Option<(DateTime<FixedOffset>, String)>,
    /// When it was changed last.
    pub(super) modified: Option<DateTime<FixedOffset>>,
}

/// A change that a tool made.
#[derive(Debug)]
pub(super) struct Operation {
    /// Name of the tool.
    pub(super) tool: String,
    /// When.
    pub(super) time: DateTime<FixedOffset>,
    /// The commit.
    pub(super) commit: String,
    /// What the log keeps of it.
    pub(super) details: Map<String, Value>,
}

impl Known {
    /// Reads the past of the document at `path` from the last known state on. `read` is told how far back that is, and
    /// `load` gives the bytes of a content.
    pub(super) fn follow(
        &self,
        path: &str,
        read: impl FnOnce(&dyn Fn(&str) -> bool) -> Result<DocumentHistory, Failure>,
        load: impl Fn(&str) -> Result<Vec<u8>, Failure>,
    ) -> Result<(DocumentHistory, Arc<Followed>), Failure> {
        let known: Vec<_> = self.lock().iter().cloned().collect();
        let at = |commit: &str| known.iter().find(|(state, _)| state == commit);
        let past = read(&|commit| at(commit).is_some())?;
        let base = past.since.as_deref().and_then(at).map(|(_, followed)| followed);
        let followed = match base {
            Some(base) if past.versions.is_empty() => Arc::clone(base),
            base => {
                let mut followed = match base {
                    Some(base) => Followed::clone(base),
                    None => Followed::new(path),
                };
                followed.follow(&past.versions, load)?;
                Arc::new(followed)
            }
        };
        if let Some(state) = &past.state {
            self.remember(state, &followed);
        }
        Ok((past, followed))
    }

    fn remember(&self, state: &str, followed: &Arc<Followed>) {
        let mut known = self.lock();
        known.retain(|(other, _)| other != state);
        known.push_front((state.to_owned(), Arc::clone(followed)));
        known.truncate(REMEMBERED);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Arc<Followed>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Followed {
    fn new(path: &str) -> Self {
        Self {
            lineage: Lineage::new(path),
            operations: VecDeque::new(),
            created: None,
            modified: None,
        }
    }

    fn follow(
        &mut self,
        versions: &[snapshot::Version],
        load: impl Fn(&str) -> Result<Vec<u8>, Failure>,
    ) -> Result<(), Failure> {
        for version in versions {
            if version.content.is_none() {
                self.created = None;
            } else if self.created.is_none() {
                self.created = Some((version.time, version.author.clone()));
            }
            self.modified = Some(version.time);
            if let Some(entry) = &version.entry {
                self.operations.push_back(Arc::new(Operation {
                    tool: entry.tool.clone(),
                    time: version.time,
                    commit: String::from(&version.commit),
                    details: entry.details.clone(),
                }));
            }
        }
        let too_many = self.operations.len().saturating_sub(MOST_OPERATIONS);
        self.operations.drain(..too_many);
        let versions: Vec<Version> = versions
            .iter()
            .map(|version| Version {
                commit: String::from(&version.commit),
                content: version.content.as_ref().map(String::from),
                step: version
                    .entry
                    .as_ref()
                    .and_then(|entry| Step::read(&entry.operation, &entry.details)),
            })
            .collect();
        self.lineage.follow(&versions, load)
    }
}
