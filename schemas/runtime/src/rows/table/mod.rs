//! The table engine: runs the operations on entities, without Rust of their own.
//!
//! [`read`] and [`mutate`] are methods for [`dispatch`](crate::dispatch): the service that they are called on is a [`Table`].
//! `request` takes requests apart, and `answer` makes answers.

mod answer;
mod request;

use serde_json::{Map, Value};

pub use self::answer::shape;
use self::request::{Request, find, joined, key};
use super::{Plan, RowError, RowView, Rows, content_id, facts_of};
use crate::{
    call::{ReadCx, Staged, WriteCx},
    context::{BASE, CallContext},
    failure::{ContractError, Failure},
    future::BoxFuture,
    pointer,
    spec::{Action, EntitySpec, RowOperation, RowsSpec},
};

/// An operation on the rows of a contract, for one call.
#[derive(Debug)]
pub struct Table {
    /// The contract's rows.
    pub spec: &'static RowsSpec,
    /// The operation.
    pub operation: &'static RowOperation,
    /// Facts by name, which are values of fields that say so, beside those of the call.
    pub facts: Map<String, Value>,
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
    /// Creates the table of an operation, without facts beside those of the call.
    pub fn new(spec: &'static RowsSpec, operation: &'static RowOperation) -> Self {
        Self {
            spec,
            operation,
            facts: Map::new(),
        }
    }

    fn entity(&self) -> Result<&'static EntitySpec, RowError> {
        let name = self.operation.entity;
        let entity = self.spec.entity(name);
        entity.ok_or_else(|| breach(format!("there is no entity `{name}`")))
    }

    /// Returns the arguments that the request has, and the fields whose values they are, but for those that its data have, too.
    fn arguments_in(&self, request: &Value) -> Vec<(&'static str, &'static str)> {
        let data = self.operation.data.and_then(|member| request.get(member));
        let is_given = |(member, field): &(&str, &str)| {
            request.get(member).is_some() && data.is_none_or(|data| data.get(field).is_none())
        };
        self.operation
            .arguments
            .iter()
            .copied()
            .filter(is_given)
            .collect()
    }

    /// Returns the member of a request that names the org.
    fn org_argument(&self) -> Option<&'static str> {
        self.spec.org.and_then(|org| org.argument)
    }

    /// Returns the failure, which points at the member of the request that the field's value comes from.
    fn failure(&self, arguments: &[(&'static str, &'static str)], error: RowError) -> Failure {
        let within = self.operation.data.or(self.operation.filters_in);
        let within = within.map(|member| pointer::push("", member));
        let of_list = self
            .org_argument()
            .filter(|_| self.operation.action == Action::List);
        let of_list = of_list.map(|member| (member, member));
        let mut arguments = arguments.iter().copied().chain(of_list);
        let argument = arguments.find(|(_, field)| error.field() == Some(*field));
        match argument {
            Some((member, _)) => error.into_failure_at(pointer::push("", member)),
            None => error.into_failure(&within.unwrap_or_default()),
        }
    }

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

    fn facts(&self, call: &CallContext) -> Map<String, Value> {
        let mut facts = facts_of(call);
        facts.extend(self.facts.clone());
        facts
    }

    fn plan<'p>(&self, view: &'p dyn RowView, request: &Request, facts: &'p Map<String, Value>) -> Plan<'p> {
        Plan::new(self.spec, view, request.within.clone(), facts)
    }
}

fn breach(detail: impl Into<String>) -> RowError {
    Failure::internal(detail).into()
}
