//! The store of calls next to a library, for contracts that record calls.

use std::{collections::BTreeMap, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use tabellion_calls::Calls;
use tabellion_library::Library;
use tabellion_runtime::{BoxFuture, Claim, ContractSpec, Failure, Store as _, calls::Commits};

/// Name of the store's folder within the library's own folder.
const FOLDER: &str = "calls";
/// Allowance for clock steps: how much earlier than its execution's start a commit's time may be.
const CLOCK_STEP: TimeDelta = TimeDelta::hours(1);
/// Number of log entries to read first.
const FIRST_ENTRIES: usize = 64;

/// The commits of a library.
struct OfLibrary(Arc<Library>);

impl Commits for OfLibrary {
    fn find<'a>(
        &'a self,
        executions: &'a [String],
        since: DateTime<Utc>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>, Failure>> {
        Box::pin(async move {
            // Completes or undoes a change that was interrupted.
            drop(self.0.begin(Claim::default()).await?);
            let since = since - CLOCK_STEP;
            let mut limit = FIRST_ENTRIES;
            loop {
                let entries = self.0.activity(limit)?;
                let is_all = entries.len() < limit || entries.first().is_none_or(|first| first.time < since);
                let commits: BTreeMap<_, _> = entries
                    .into_iter()
                    .filter_map(|entry| Some((entry.execution?, entry.commit)))
                    .filter(|(execution, _)| executions.contains(execution))
                    .collect();
                if is_all || commits.len() == executions.len() {
                    return Ok(commits);
                }
                limit = limit.saturating_mul(4);
            }
        })
    }
}

/// Opens the store of calls in `library`, if one of the contracts records calls.
///
/// # Errors
/// If it can't be opened.
pub fn open<'s>(
    library: &Arc<Library>,
    contracts: impl IntoIterator<Item = &'s &'static ContractSpec>,
) -> Result<Option<Arc<Calls>>, Failure> {
    let wanted = contracts.into_iter().any(|contract| contract.executions.is_some());
    if !wanted {
        return Ok(None);
    }
    let commits = Arc::new(OfLibrary(Arc::clone(library)));
    Calls::open(&library.derived(FOLDER), commits).map(|calls| Some(Arc::new(calls)))
}

/// Returns true if a process records its calls in `library`, as servers of contracts with roles do.
pub(super) fn are_served(library: &Library) -> bool {
    Calls::are_served(&library.derived(FOLDER))
}

/// Returns true if `library` has a store of calls.
pub fn are_kept(library: &Library) -> bool {
    Calls::are_in(&library.derived(FOLDER))
}
