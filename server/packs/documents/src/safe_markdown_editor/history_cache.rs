//! Caches the document's history, which a process then reads once, and the sections of the last listing.

use std::{collections::VecDeque, sync::Arc};

use chrono::{DateTime, FixedOffset};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tabellion_runtime::{DocumentHistory, Failure, Until, snapshot};

use tabellion_markdown::lineage::{Lineage, Listed, SectionChange, Version};

/// Capacity of the cache in states of the store. More than one, because a slow reader may finish an old state last.
const CAPACITY: usize = 4;
/// Upper bound of the operations kept and listed.
const MAX_OPERATIONS: usize = 1000;

/// Cache of the document's history at recent states of the store.
#[derive(Debug, Default)]
pub(super) struct HistoryCache {
    timelines: Mutex<VecDeque<(String, Arc<DocumentTimeline>)>>,
    /// The sections that were listed last, unless they were committed.
    listed: Mutex<Option<Arc<Listed>>>,
}

/// The document's history at one state of the store.
#[derive(Debug, Clone)]
pub(super) struct DocumentTimeline {
    /// The sections, and the changes that can be undone.
    pub(super) lineage: Lineage,
    /// The last changes made by tools, oldest first.
    pub(super) operations: VecDeque<Arc<Operation>>,
    /// Time and author of the document's creation; `None` if it does not exist.
    pub(super) created: Option<(DateTime<FixedOffset>, String)>,
    /// Time of the document's last change.
    pub(super) modified: Option<DateTime<FixedOffset>>,
}

/// A change made by a tool.
#[derive(Debug)]
pub(super) struct Operation {
    /// Name of the tool.
    pub(super) tool: String,
    pub(super) time: DateTime<FixedOffset>,
    pub(super) commit: String,
    /// The details in the log entry.
    pub(super) details: Map<String, Value>,
}

impl HistoryCache {
    /// Returns the history of the document at `path`, continuing from the newest cached state. `read` gets the commits that are
    /// cached; `load` returns the bytes of a content id.
    pub(super) fn follow(
        &self,
        path: &str,
        read: impl FnOnce(Until<'_>) -> Result<DocumentHistory, Failure>,
        load: impl Fn(&str) -> Result<Vec<u8>, Failure>,
    ) -> Result<(DocumentHistory, Arc<DocumentTimeline>), Failure> {
        let known: Vec<_> = self.timelines.lock().iter().cloned().collect();
        let at = |commit: &str| known.iter().find(|(state, _)| state == commit);
        let states: Vec<_> = known.iter().map(|(state, _)| state.as_str()).collect();
        let past = read(Until { known: &states, ..Until::BEGINNING })?;
        let base = past.since.as_deref().and_then(at).map(|(_, timeline)| timeline);
        let timeline = match base {
            Some(base) if past.versions.is_empty() => Arc::clone(base),
            base => {
                let mut timeline = match base {
                    Some(base) => DocumentTimeline::clone(base),
                    None => DocumentTimeline::new(path),
                };
                timeline.follow(&past.versions, self.listed().as_deref(), load)?;
                Arc::new(timeline)
            }
        };
        if let Some(state) = &past.state {
            self.remember(state, &timeline);
        }
        Ok((past, timeline))
    }

    /// Returns the sections that were listed last, unless they were committed.
    pub(super) fn listed(&self) -> Option<Arc<Listed>> {
        self.listed.lock().clone()
    }

    /// Replaces the sections that were listed last; `None` if they are committed.
    pub(super) fn keep_listed(&self, listed: Option<Arc<Listed>>) {
        *self.listed.lock() = listed;
    }

    fn remember(&self, state: &str, timeline: &Arc<DocumentTimeline>) {
        let mut known = self.timelines.lock();
        known.retain(|(other, _)| other != state);
        known.push_front((state.to_owned(), Arc::clone(timeline)));
        known.truncate(CAPACITY);
    }
}

impl DocumentTimeline {
    fn new(path: &str) -> Self {
        Self { lineage: Lineage::new(path), operations: VecDeque::new(), created: None, modified: None }
    }

    fn follow(
        &mut self,
        versions: &[snapshot::Version],
        listed: Option<&Listed>,
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
        let too_many = self.operations.len().saturating_sub(MAX_OPERATIONS);
        self.operations.drain(..too_many);
        let versions: Vec<Version> = versions
            .iter()
            .map(|version| Version {
                commit: String::from(&version.commit),
                content: version.content.as_ref().map(String::from),
                change: version
                    .entry
                    .as_ref()
                    .and_then(|entry| SectionChange::read(&entry.operation, &entry.details)),
            })
            .collect();
        self.lineage.follow(&versions, listed, load)
    }
}
