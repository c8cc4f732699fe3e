//! A store in memory, which tests can make contended.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use serde_json::{Map, Value};
use tabellion_runtime::{
    BoxFuture, CallContext, Change, Claim, CommitId, Content, ContentId, Document, Entry, Failure,
    FailureKind, IdempotencyKey, Prepared, Replay, Session, Snapshot, Store, StoreError,
};

/// A store in memory: documents, and one key, request and entry per commit.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) state: Mutex<State>,
    /// Number of publications that another change will precede.
    pub(crate) races: AtomicU32,
    /// True if another process appends to the document right after its first read outside of a session.
    pub(crate) slips: AtomicBool,
}

#[derive(Default, Clone)]
pub(crate) struct State {
    pub(crate) documents: BTreeMap<String, Vec<u8>>,
    pub(crate) commits: Vec<Commit>,
}

#[derive(Clone)]
pub(crate) struct Commit {
    key: Option<IdempotencyKey>,
    request: Option<String>,
    before: BTreeMap<String, Vec<u8>>,
    /// The details of the log entry.
    pub(crate) details: Map<String, Value>,
}

struct Turn<'a> {
    store: &'a Memory,
    before: State,
    next: Option<State>,
}

fn document(documents: &BTreeMap<String, Vec<u8>>, path: &str) -> Option<Document> {
    let bytes = documents.get(path)?.clone();
    Some(Document { id: id(&bytes), bytes })
}

pub(crate) fn id(bytes: &[u8]) -> ContentId {
    ContentId::new(format!("id:{}", String::from_utf8_lossy(bytes)))
}

impl Snapshot for Memory {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        let mut state = self.state.lock().unwrap();
        let read = document(&state.documents, path);
        if self.slips.swap(false, Ordering::Relaxed) {
            state.documents.entry(path.into()).or_default().extend(b", new");
        }
        Ok(read)
    }
}

impl Store for Memory {
    fn difference(&self, before: &Vec<Option<Document>>, change: &Change) -> String {
        let edits = before.iter().zip(change.edits()).map(|(old, edit)| {
            let old = old.as_ref().map(|document| document.bytes.as_slice());
            let [old, new] =
                [old, edit.content.bytes()].map(|side| side.map_or("-".into(), String::from_utf8_lossy));
            format!("{}: {old} > {new}", edit.path)
        });
        edits.collect::<Vec<_>>().join("; ")
    }

    fn begin<'a>(&'a self, _: Claim<'a>) -> BoxFuture<'a, Result<Box<dyn Session + 'a>, Failure>> {
        let before = self.state.lock().unwrap().clone();
        Box::pin(async move { Ok(Box::new(Turn { store: self, before, next: None }) as Box<dyn Session>) })
    }
}

impl Snapshot for Turn<'_> {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        Ok(document(&self.before.documents, path))
    }
}

struct Past(BTreeMap<String, Vec<u8>>);

impl Snapshot for Past {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        Ok(document(&self.0, path))
    }
}

impl Session for Turn<'_> {
    fn replay<'a>(
        &'a self,
        _: &'a CallContext,
        key: &'a IdempotencyKey,
        request: &'a str,
    ) -> BoxFuture<'a, Result<Option<Replay>, StoreError>> {
        Box::pin(async { self.earlier(key, request) })
    }

    fn prepare<'a>(
        &'a mut self,
        change: &'a Change,
        entry: &'a Entry<'a>,
    ) -> BoxFuture<'a, Result<Prepared, StoreError>> {
        Box::pin(async { Ok(self.plan(change, entry)) })
    }

    fn publish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), StoreError>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let mut state = self.store.state.lock().unwrap();
            if self.store.races.load(Ordering::SeqCst) > 0 {
                self.store.races.fetch_sub(1, Ordering::SeqCst);
                state.documents.entry("a".into()).or_default().extend(b"+");
                return Err(StoreError::Conflict);
            }
            *state = self.next.expect("prepared");
            Ok(())
        })
    }
}

impl Turn<'_> {
    fn earlier(&self, key: &IdempotencyKey, request: &str) -> Result<Option<Replay>, StoreError> {
        let commits = &self.before.commits;
        let Some(at) = commits.iter().position(|commit| commit.key.as_ref() == Some(key)) else {
            return Ok(None);
        };
        if commits[at].request.as_deref() != Some(request) {
            return Err(Failure::new(FailureKind::Conflict, "the key is taken").into());
        }
        let before = Box::new(Past(commits[at].before.clone()));
        let next = commits.get(at + 1).map_or(&self.before.documents, |next| &next.before);
        let after = Box::new(Past(next.clone()));
        Ok(Some(Replay::Before { commit: CommitId::new(format!("c{at}")), before, after }))
    }

    fn plan(&mut self, change: &Change, entry: &Entry<'_>) -> Prepared {
        let mut next = self.before.clone();
        next.commits.push(Commit {
            key: entry.call.idempotency_key.clone(),
            request: entry.request.map(String::from),
            before: self.before.documents.clone(),
            details: entry.details.clone(),
        });
        for edit in change.edits() {
            match &edit.content {
                Content::Write(bytes) => next.documents.insert(edit.path.clone(), bytes.clone()),
                Content::Delete => next.documents.remove(&edit.path),
            };
        }
        let first = &change.edits()[change.compared()];
        let content = first.content.bytes().map(id);
        let base = self.before.documents.get(&first.path).map(|bytes| id(bytes));
        self.next = Some(next);
        Prepared { commit: CommitId::new(format!("c{}", self.before.commits.len())), base, content }
    }
}
