//! The table engine: runs the operations on entities, without Rust of their own.
//!
//! [`read`] and [`mutate`] are methods for [`dispatch`](crate::dispatch), on a [`Table`] as service. `request` parses requests, and
//! `answer` builds answers.

mod answer;
mod call;
mod request;

use serde_json::{Map, Value};

pub use self::answer::shape;
pub use self::call::{PROVENANCE, Table, USER, facts_of};
use self::{
    call::breach,
    request::{Request, find, joined, key},
};
use super::{Plan, RowError, RowView, Rows, content_id};
use crate::{
    answer::{Answer, Rejection},
    call::{ReadCx, Staged, WriteCx},
    context::BASE,
    dispatch::Run,
    failure::ContractError,
    future::BoxFuture,
    spec::{Action, RowsSpec},
};

/// Runs an operation without a method, by the rules of its entity.
///
/// # Errors
/// See [`Rejection`]. After any of them, nothing has changed.
pub async fn run<Error: ContractError, S>(
    spec: &'static RowsSpec,
    run: Run<'_, S, Rows>,
) -> Result<Answer, Rejection> {
    let Some(rows) = &run.operation.rows else {
        return Err(Rejection::UnknownTool);
    };
    let service = &Table::new(spec, rows);
    let Run { operation, store, call, arguments, .. } = run;
    let run = Run { operation, service, store, call, arguments };
    if operation.mutating { run.mutate(mutate::<Error>).await } else { run.read(read::<Error>).await }
}

/// Runs a reading operation: `Get` or `List`.
pub fn read<'c, Error: ContractError>(
    table: &'c Table,
    cx: &'c ReadCx<'c, Rows>,
    request: Value,
) -> BoxFuture<'c, Result<Value, Error>> {
    Box::pin(async move {
        let arguments = table.arguments_in(&request);
        let answer = table.read(cx, request).await;
        answer.map_err(|error| Error::from(table.failure(&arguments, error)))
    })
}

/// Runs a mutating operation: `Create`, `Update` or `Delete`.
pub fn mutate<'c, Error: ContractError>(
    table: &'c Table,
    cx: &'c WriteCx<'c, Rows>,
    request: Value,
) -> BoxFuture<'c, Result<Staged<Value, Rows>, Error>> {
    Box::pin(async move {
        let arguments = table.arguments_in(&request);
        let staged = table.mutate(cx, request).await;
        staged.map_err(|error| Error::from(table.failure(&arguments, error)))
    })
}

impl Table {
    async fn read(&self, cx: &ReadCx<'_, Rows>, request: Value) -> Result<Value, RowError> {
        let entity = self.entity()?;
        let request = self.take_apart(entity, cx.call(), request)?;
        let facts = self.facts(cx.call());
        let plan = self.plan(cx.view(), &request, &facts);
        match self.operation.action {
            Action::Get => {
                let row = find(&plan, entity, self.operation, &request.arguments).await?;
                cx.note(BASE, content_id(entity, &row));
                self.answer(&plan, entity, &row).await
            }
            Action::List => self.list(cx, &plan, entity, request).await,
            Action::Create | Action::Update | Action::Delete => {
                Err(breach("a mutating operation is called as a reading one"))
            }
        }
    }

    async fn mutate(&self, cx: &WriteCx<'_, Rows>, request: Value) -> Result<Staged<Value, Rows>, RowError> {
        let entity = self.entity()?;
        let request = self.take_apart(entity, cx.call(), request)?;
        let facts = self.facts(cx.call());
        let mut plan = self.plan(cx.view(), &request, &facts);
        let arguments = &request.arguments;
        let (operation, answer) = match self.operation.action {
            Action::Create => {
                let given = joined(entity, arguments, request.data)?;
                let row = plan.create(entity, given).await?;
                ("create", self.answer(&plan, entity, &row).await?)
            }
            Action::Update => {
                let old = find(&plan, entity, self.operation, arguments).await?;
                let (key, data) = (key(entity, &old), request.data);
                let row = if self.operation.set.is_empty() {
                    plan.update(entity, &key, data).await?
                } else {
                    plan.assign(entity, &key, self.operation.set, data).await?
                };
                ("update", self.answer(&plan, entity, &row).await?)
            }
            Action::Delete => {
                let old = find(&plan, entity, self.operation, arguments).await?;
                let row = plan.delete(entity, &key(entity, &old)).await?;
                ("delete", self.deleted(entity, &row))
            }
            Action::Get | Action::List => {
                return Err(breach("a reading operation is called as a mutating one"));
            }
        };
        let change = plan.finish(operation)?;
        Ok(cx.stage(change, |_| answer))
    }

    fn plan<'p>(&self, view: &'p dyn RowView, request: &Request, facts: &'p Map<String, Value>) -> Plan<'p> {
        Plan::new(self.spec, view, request.within.clone(), facts)
    }
}
