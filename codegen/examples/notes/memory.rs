//! The smallest possible store: documents in memory, gone with the process.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tabellion_runtime::{
    BoxFuture, CallContext, Change, Claim, CommitId, Content, ContentId, Document, Entry, Failure,
    IdempotencyKey, Prepared, Replay, Session, Snapshot, Store, StoreError,
};

/// Documents by path, and the number of commits.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    documents: BTreeMap<String, Vec<u8>>,
    commits: usize,
}

impl State {
    fn document(&self, path: &str) -> Option<Document> {
        let bytes = self.documents.get(path)?.clone();
        let id = id(&bytes);
        Some(Document { bytes, id })
    }
}

fn id(bytes: &[u8]) -> ContentId {
    ContentId::new(format!("{bytes:x?}"))
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot for Memory {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        Ok(self.state().document(path))
    }
}

impl Store for Memory {
    fn begin<'a>(&'a self, _: Claim<'a>) -> BoxFuture<'a, Result<Box<dyn Session + 'a>, Failure>> {
        let change: Option<Change> = None;
        Box::pin(async move { Ok(Box::new(Turn { memory: self, change }) as Box<dyn Session>) })
    }

    fn difference(&self, before: &Vec<Option<Document>>, change: &Change) -> String {
        let edits = before.iter().zip(change.edits()).map(|(old, edit)| {
            let old = old.as_ref().map(|document| document.bytes.as_slice());
            let [old, new] =
                [old, edit.content.bytes()].map(|side| String::from_utf8_lossy(side.unwrap_or_default()));
            format!("{}\n--- {old}\n+++ {new}\n", edit.path)
        });
        edits.collect()
    }
}

/// One writer's turn. A store that several writers share would hold a lock here.
struct Turn<'a> {
    memory: &'a Memory,
    change: Option<Change>,
}

impl Snapshot for Turn<'_> {
    fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        self.memory.read(path)
    }
}

impl Session for Turn<'_> {
    fn replay<'a>(
        &'a self,
        _: &'a CallContext,
        _: &'a IdempotencyKey,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<Replay>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn prepare<'a>(
        &'a mut self,
        change: &'a Change,
        _: &'a Entry<'a>,
    ) -> BoxFuture<'a, Result<Prepared, StoreError>> {
        Box::pin(async {
            let state = self.memory.state();
            self.change = Some(change.clone());
            let first = &change.edits()[change.compared()];
            Ok(Prepared {
                commit: CommitId::new(format!("c{}", state.commits + 1)),
                base: state.document(&first.path).map(|document| document.id),
                content: first.content.bytes().map(id),
            })
        })
    }

    fn publish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), StoreError>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let mut state = self.memory.state();
            if let Some(change) = self.change {
                for edit in change.edits() {
                    match &edit.content {
                        Content::Write(bytes) => state.documents.insert(edit.path.clone(), bytes.clone()),
                        Content::Delete => state.documents.remove(&edit.path),
                    };
                }
                state.commits += 1;
            }
            Ok(())
        })
    }
}
