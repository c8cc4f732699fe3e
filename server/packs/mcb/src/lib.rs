//! MCB's memory: sessions of agents, their logs, their stored resources, and search.
//!
//! Entities without an operation here, such as projects and issues, need no Rust: the table engine runs them. A method plans its changes
//! with the entities' rules and stages them; the store makes them in one transaction.
//!
//! | module | does |
//! |---|---|
//! | `call`, `values` | a call's org, provenance and plan; values from arguments, the data or the provenance |
//! | `sessions`, `agents`, `bound` | sessions and their logs; values that a session gives to rows that name it |
//! | `observations`, `runs`, `patterns`, `summaries` | the resources of the memory: storing and reading them |
//! | `entries`, `walk` | one form for all resources, and reading them in order of time |
//! | `lists`, `timeline`, `inject`, `search` | operations on all resources alike |
//! | `index`, `words`, `rebuild` | the interface of an index of words; the index next to the rows; its completeness |
//! | `meaning` | rows and chunks that need vectors |
//! | `ahead` | updates that index in the background |
//! | `code` | indexes of code, and searching them |
//! | `cards` | rows as people look at them |
//! | `state` | state of the tools; their implementations are in the files above, `repositories`, `validate`, `code::tool` and `memory` |
//! | `repositories`, `vcs` | repositories in the workspaces, and comparisons of branches; branch and commit of the caller's repository |
//! | `validate` | rules and metrics over files of a workspace |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod agents;
mod ahead;
mod bound;
mod call;
mod cards;
mod code;
mod entries;
mod index;
mod inject;
mod lists;
mod meaning;
mod memory;
mod observations;
mod patterns;
mod rebuild;
mod repositories;
mod runs;
mod search;
mod sessions;
mod state;
mod summaries;
#[cfg(test)]
mod tests;
mod timeline;
mod validate;
mod values;
mod vcs;
mod walk;
mod words;

use std::sync::{Arc, Weak};

use serde_json::Value;
use tabellion_contracts::mcb::{CONTRACT, CallProvenance, Mcb, Service};
use tabellion_meaning::{Installed, Meaning, Models};
use tabellion_pack::{Derived, Implementation, Pack};
use tabellion_records::Records;
use tabellion_runtime::{
    BoxFuture, CallContext, Contract, ContractSpec, ErrorAnswer, Failure, ReadCx, Rejection, Rows, Store,
};
use tabellion_vcs::Workspaces;

use self::{
    call::Call,
    code::{
        Indexer,
        start::{RepositoryRequest, with_repository},
    },
    index::MemoryIndex,
    state::{Answer, Memory, refused},
    words::Words,
};

/// Name of the file of the index of code, next to that of the rows.
const CODE_FILE: &str = "mcb-code.db";
/// Name of the file of vectors.
const VECTORS_FILE: &str = "mcb-vectors.db";

/// MCB, over rows.
pub static PACK: Pack = Pack {
    words: Some(words),
    cards: Some(|contract, call, rows, query| Box::pin(cards::cards(contract, call, rows, query))),
    unindexed: Some(|folder| {
        tabellion_code::failures(&folder.join(CODE_FILE)).map_err(|error| error.to_string())
    }),
    ..Pack::new(&CONTRACT, Implementation::Rows(service))
};

/// Creates the implementation over `records`. The indexes of words and of code are files next to them; callers can name paths in
/// `workspaces`. With `finishes`, the runs that calls have begun are finished when it is dropped, and no others are resumed.
fn service(records: Arc<Records>, workspaces: Arc<Workspaces>, finishes: bool) -> Arc<dyn Contract> {
    let mut parts = Parts::new(&records, &workspaces, Box::new(Installed));
    ahead::begin(&parts.words);
    if finishes {
        parts.code.finish_runs();
    } else {
        parts.begin();
    }
    over(records, parts.words, parts.code, workspaces)
}

/// Data derived from rows and files: indexes of words and of code, and their vectors, in files next to the rows.
struct Parts {
    words: Arc<Words>,
    code: Indexer,
    meaning: Arc<Meaning>,
}

impl Parts {
    fn new(records: &Arc<Records>, workspaces: &Arc<Workspaces>, models: Box<dyn Models>) -> Self {
        let meaning = Arc::new(Meaning::new(records.beside(VECTORS_FILE), models));
        let words = Arc::new(Words::new(Arc::clone(records), Arc::clone(&meaning)));
        let code = Indexer::new(
            records.beside(CODE_FILE),
            Box::new(words::Rows(Arc::clone(records))),
            Arc::clone(workspaces),
            Arc::clone(&meaning),
        );
        Self { words, code, meaning }
    }

    /// Resumes, in the background, the work that a previous server left.
    fn begin(&self) {
        let words: Weak<Words> = Arc::downgrade(&self.words);
        self.meaning.add(words);
        self.meaning.add(self.code.corpus());
        self.meaning.wake();
        self.code.resume();
    }
}

/// Returns the index of words next to `records`.
fn words(records: Arc<Records>) -> Arc<dyn Derived> {
    let path = records.beside(VECTORS_FILE);
    let meaning = Meaning::new(path, Box::new(Installed));
    Arc::new(Words::new(records, Arc::new(meaning)))
}

/// Returns the contract, served from `store`. `index` finds rows by their words; branch and commit of a caller's repository are
/// reported if it is in one of `workspaces`. `code` has indexes of code.
fn over(
    store: Arc<dyn Store<Rows>>,
    index: Arc<dyn MemoryIndex>,
    code: Indexer,
    workspaces: Arc<Workspaces>,
) -> Arc<dyn Contract> {
    let memory = Memory { index, code, workspaces: Arc::clone(&workspaces) };
    let service = Service::new(memory, store);
    Arc::new(ReadingAhead { service, workspaces })
}

/// The contract; it reads the repository of an indexing call before the call takes its turn to write.
struct ReadingAhead {
    service: Service<Memory>,
    workspaces: Arc<Workspaces>,
}

impl Contract for ReadingAhead {
    fn spec(&self) -> &'static ContractSpec {
        self.service.spec()
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<tabellion_runtime::Answer, Rejection>> {
        Box::pin(async move {
            let asked = RepositoryRequest::parse(tool, &arguments);
            let work = self.service.call(call, tool, arguments);
            with_repository(call, &self.workspaces, asked, work).await
        })
    }

    fn error_for(&self, failure: Failure) -> ErrorAnswer {
        self.service.error_for(failure)
    }
}

impl Mcb for Memory {
    async fn bound_provenance(&self, cx: &ReadCx<'_, Rows>, session: &str) -> Answer<CallProvenance> {
        bound::bound(&Call::from_context(cx), session).await.map_err(refused)
    }
}
