//! The store, as the runtime uses it: opened, seeded, its turns and its snapshots.

use std::{
    future::Future,
    path::Path,
    pin::pin,
    sync::atomic::AtomicUsize,
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tabellion_runtime::{
    BoxFuture, CallContext, Entry, Failure, RowEdit, Rows, RowsChange, Session, Store,
    ground::State,
    rows::{Plan, RowBefore, Within},
    spec::{FieldType, RowsSpec},
};
use tabellion_sqlite::Pool;

use crate::{
    batch::Writing,
    failures::{self, damaged},
    file::{self, Start},
    log,
    reading::{MAX_IDLE, Reader},
    records::Records,
    session::Turn,
};

impl Records {
    /// Opens the rows of a contract in `folder`. See [`Start`] for what it may do to the folder.
    ///
    /// # Errors
    /// If the folder can't be used, the file is damaged, newer than the program, or needs a migration that loses data.
    pub fn open(folder: &Path, spec: &'static RowsSpec, start: Start) -> Result<Self, Failure> {
        let opened = file::open(folder, spec, start)?;
        let records = Self {
            spec,
            path: opened.path,
            pool: Pool::new(MAX_IDLE),
            writer: tokio::sync::Mutex::new(Mutex::new(Writing::new(opened.connection, opened.mark))),
            queued: AtomicUsize::new(0),
            _usage: opened.usage,
        };
        if start != Start::Existing {
            records.seed()?;
        }
        Ok(records)
    }

    /// Adds the rows that a new store begins with, if nothing was changed yet.
    fn seed(&self) -> Result<(), Failure> {
        if self.spec.seeds.is_empty() || Reader::begin(self)?.with(log::end)?.seq > 0 {
            return Ok(());
        }
        let mut turn = finished(Turn::begin(self))??;
        if turn.with(log::end)?.seq > 0 {
            // Another process was first.
            return Ok(());
        }
        let change = finished(self.seeds(&turn))??;
        let (call, details) = (CallContext::default(), Map::new());
        let entry = Entry {
            tool: "seed",
            call: &call,
            request: None,
            details: &details,
        };
        turn.make(&change, &entry)?;
        finished(turn.commit())?
    }

    async fn seeds(&self, turn: &Turn<'_>) -> Result<RowsChange, Failure> {
        let facts = Map::new();
        let mut rows = vec![];
        for seed in self.spec.seeds {
            let within = Within {
                org: seed.org.map(String::from),
                is_bound: false,
            };
            let mut plan = Plan::new(self.spec, turn, within, &facts);
            // The plan of each seed sees the rows of those before it only in its own plan.
            plan.adopt(std::mem::take(&mut rows));
            let failure = |error: tabellion_runtime::rows::RowError| error.into_failure("");
            let entity = plan.entity(seed.entity).map_err(failure)?;
            let given = serde_json::from_str(seed.row).map_err(damaged)?;
            plan.create(entity, given).await.map_err(failure)?;
            let change = plan.finish("seed").map_err(failure)?;
            rows = change.into_rows();
        }
        RowsChange::new(rows, "seed").map_err(damaged)
    }
}

impl Store<Rows> for Records {
    fn begin<'a>(&'a self, _: u32) -> BoxFuture<'a, Result<Box<dyn Session<Rows> + 'a>, Failure>> {
        Box::pin(async move { Ok(Box::new(Turn::begin(self).await?) as Box<dyn Session<Rows>>) })
    }

    fn snapshot<'a>(&'a self) -> BoxFuture<'a, Result<Option<State<'a, Rows>>, Failure>> {
        Box::pin(async move { Ok(Some(Box::new(Reader::begin(self)?) as State<'a, Rows>)) })
    }

    fn difference(&self, before: &Vec<Option<RowBefore>>, change: &RowsChange) -> String {
        let mut text = String::new();
        for (before, row) in before.iter().zip(change.rows()) {
            text += &format!("{}\n", row.name());
            let is_secret = |name: &str| {
                let kind = row.entity.field(name).map(|field| field.kind);
                matches!(kind, Some(FieldType::Secret { .. }))
            };
            let mut line = |sign: char, name: &str, value: Option<&Value>| {
                if let Some(value) = value.filter(|_| !is_secret(name)) {
                    text += &format!("{sign} {name}: {value}\n");
                }
            };
            let old = before.as_ref().map(|before| &before.row);
            match &row.edit {
                RowEdit::Insert(new) => new.iter().for_each(|(name, value)| line('+', name, Some(value))),
                RowEdit::Patch(set) => {
                    for (name, value) in set {
                        line('-', name, old.and_then(|old| old.get(name)));
                        line('+', name, Some(value));
                    }
                }
                RowEdit::Remove => {
                    let old = old.into_iter().flatten();
                    old.for_each(|(name, value)| line('-', name, Some(value)));
                }
            }
        }
        text
    }
}

/// Returns what a future comes to that waits for nothing, as those of this store do while it is opened.
fn finished<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Ok(outcome),
        Poll::Pending => Err(failures::refused("the data is in use while it is opened")),
    }
}
