//! The table engine: runs the operations on entities, without Rust of their own.
//!
//! [`read`] and [`mutate`] are methods for [`dispatch`](crate::dispatch): the service that they are called on is a [`Table`].

use serde_json::{Map, Value, json};

use super::{
    Filter, Plan, Row, RowError, Rows, Select, Within, content_id, error::shown, plan::not_found, view::Order,
};
use crate::{
    call::{ReadCx, Staged, WriteCx},
    context::{BASE, CallContext},
    failure::{ContractError, Failure, FailureKind},
    future::BoxFuture,
    pointer,
    rows::RowView,
    spec::{Action, EntitySpec, FieldType, RowOperation, RowsSpec},
};

/// An operation on the rows of a contract, for one call.
#[derive(Debug)]
pub struct Table {
    /// The contract's rows.
    pub spec: &'static RowsSpec,
    /// The operation.
    pub operation: &'static RowOperation,
    /// Facts of the call by name, which are values of fields that say so.
    pub facts: Map<String, Value>,
}

/// A request taken apart.
struct Request {
    within: Within,
    /// The values beside the data, by field.
    arguments: Row,
    /// The row's fields.
    data: Row,
    limit: u64,
    after: Option<Value>,
}

/// Runs a reading operation: `Get` or `List`.
pub fn read<'c, Error: ContractError>(
    table: &'c Table,
    cx: &'c ReadCx<'c, Rows>,
    request: Value,
) -> BoxFuture<'c, Result<Value, Error>> {
    Box::pin(async move {
        let answer = table.read(cx, request).await;
        answer.map_err(|error| Error::from(table.failure(error)))
    })
}

/// Runs a mutating operation: `Create`, `Update` or `Delete`.
pub fn mutate<'c, Error: ContractError>(
    table: &'c Table,
    cx: &'c WriteCx<'c, Rows>,
    request: Value,
) -> BoxFuture<'c, Result<Staged<Value, Rows>, Error>> {
    Box::pin(async move {
        let staged = table.mutate(cx, request).await;
        staged.map_err(|error| Error::from(table.failure(error)))
    })
}

impl Table {
    /// Creates the table of an operation, for a call without facts.
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

    fn failure(&self, error: RowError) -> Failure {
        let within = self.operation.data.map(|member| pointer::push("", member));
        error.into_failure(&within.unwrap_or_default())
    }

    async fn read(&self, cx: &ReadCx<'_, Rows>, request: Value) -> Result<Value, RowError> {
        let entity = self.entity()?;
        let request = self.take_apart(entity, cx.call(), request)?;
        let plan = self.plan(cx.view(), &request);
        match self.operation.action {
            Action::Get => {
                let row = find(&plan, entity, &request.arguments).await?;
                cx.note(BASE, content_id(entity, &row));
                Ok(self.answer(entity, &row, &[]))
            }
            Action::List => self.list(&plan, entity, request).await,
            Action::Create | Action::Update | Action::Delete => {
                Err(breach("a mutating operation is called as a reading one"))
            }
        }
    }

    async fn mutate(&self, cx: &WriteCx<'_, Rows>, request: Value) -> Result<Staged<Value, Rows>, RowError> {
        let entity = self.entity()?;
        let request = self.take_apart(entity, cx.call(), request)?;
        let mut plan = self.plan(cx.view(), &request);
        let arguments = &request.arguments;
        let (operation, answer) = match self.operation.action {
            Action::Create => {
                let given = joined(entity, arguments, request.data)?;
                let row = plan.create(entity, given).await?;
                ("create", self.answer(entity, &row, plan.secrets()))
            }
            Action::Update => {
                let old = find(&plan, entity, arguments).await?;
                let row = plan.update(entity, &key(entity, &old), request.data).await?;
                ("update", self.answer(entity, &row, &[]))
            }
            Action::Delete => {
                let old = find(&plan, entity, arguments).await?;
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

    fn plan<'p>(&'p self, view: &'p dyn RowView, request: &Request) -> Plan<'p> {
        Plan::new(self.spec, view, request.within.clone(), &self.facts)
    }

    /// Takes a valid request apart.
    fn take_apart(
        &self,
        entity: &'static EntitySpec,
        call: &CallContext,
        request: Value,
    ) -> Result<Request, RowError> {
        let Value::Object(mut members) = request else {
            return Err(breach("a request is no object"));
        };
        let operation = self.operation;
        let within = self.within(call, &mut members)?;
        let mut arguments = Row::new();
        for (member, field) in operation.arguments {
            if let Some(value) = members.shift_remove(*member) {
                arguments.insert((*field).into(), value);
            }
        }
        let mut take = |member: Option<&str>| members.shift_remove(member?);
        let (limit, after) = (take(operation.limit), take(operation.after));
        let (default, max) = operation.limits;
        let limit = limit
            .filter(|limit| !limit.is_null())
            .map_or(Some(default), |limit| limit.as_u64());
        let limit = limit
            .filter(|limit| (1..=max).contains(limit))
            .ok_or_else(|| RowError::Value {
                field: operation.limit.unwrap_or("limit").into(),
                problem: format!("must be an integer from 1 to {max}"),
            })?;
        let data = match operation.data {
            Some(member) => match members.shift_remove(member) {
                Some(Value::Object(data)) => data,
                None => Row::new(),
                Some(_) => {
                    return Err(RowError::Value {
                        field: member.into(),
                        problem: "must be an object".into(),
                    });
                }
            },
            None => std::mem::take(&mut members),
        };
        if let Some(unknown) = members.keys().next() {
            return Err(RowError::Unknown {
                field: unknown.clone(),
                entity: entity.name,
                fields: operation.arguments.iter().map(|(_, field)| *field).collect(),
            });
        }
        Ok(Request {
            within,
            arguments,
            data,
            limit,
            after: after.filter(|after| !after.is_null()),
        })
    }

    /// Returns the org of the call: the one that it names, that of the caller, or the default.
    fn within(&self, call: &CallContext, members: &mut Row) -> Result<Within, RowError> {
        let Some(org) = self.spec.org else {
            return Ok(Within::default());
        };
        let named = org.argument.and_then(|member| members.shift_remove(member));
        let named = named.filter(|named| !named.is_null());
        let bound = call.org.as_deref();
        let not_there = |named: &Value| RowError::NotFound {
            entity: org.entity,
            key: shown(named),
        };
        let key = match (&named, bound) {
            (Some(named), Some(bound)) if named != bound => return Err(not_there(named)),
            (_, Some(bound)) => bound,
            (Some(named), None) => named.as_str().ok_or_else(|| not_there(named))?,
            (None, None) => org.default,
        };
        Ok(Within {
            org: Some(key.to_owned()),
            is_bound: bound.is_some(),
        })
    }

    async fn list(
        &self,
        plan: &Plan<'_>,
        entity: &'static EntitySpec,
        request: Request,
    ) -> Result<Value, RowError> {
        let mut filters = vec![];
        for (name, value) in request.arguments {
            let field = entity.field(&name);
            let field = field.ok_or_else(|| breach(format!("there is no field `{name}` to list by")))?;
            if let FieldType::Ref(reference) = field.kind {
                let to = plan.entity(reference.to)?;
                if plan.get(to, std::slice::from_ref(&value)).await?.is_none() {
                    return Err(RowError::NoSuch {
                        field: field.name,
                        entity: to.name,
                        key: shown(&value),
                    });
                }
            }
            filters.push(Filter::is(field.name, value));
        }
        let total = plan.count(entity, filters.clone()).await?;
        let mut select = Select::new(entity, filters);
        select.order = entity.order.iter().map(|name| (*name, Order::Up)).collect();
        select.limit = Some(request.limit);
        if let Some(key) = request.after {
            let row = plan.get(entity, std::slice::from_ref(&key)).await?;
            select.after = Some(row.ok_or_else(|| not_found(entity, &[key]))?);
        }
        let rows = plan.select(select).await?;
        let items: Vec<_> = rows.iter().map(|row| shape(entity, row)).collect();
        let mut answer = self.named();
        answer.insert("count".into(), items.len().into());
        answer.insert("total".into(), total.into());
        answer.insert("items".into(), items.into());
        Ok(answer.into())
    }

    /// Returns the answer that has a row, with the secrets that were made for it.
    fn answer(&self, entity: &EntitySpec, row: &Row, secrets: &[(&'static str, String)]) -> Value {
        let mut answer = shape(entity, row);
        if self.operation.action == Action::Create {
            for (field, secret) in secrets {
                answer[*field] = secret.as_str().into();
            }
        }
        match self.operation.answer {
            Some(member) => json!({ member: answer }),
            None => answer,
        }
    }

    fn deleted(&self, entity: &EntitySpec, row: &Row) -> Value {
        let mut answer = Map::from_iter([("deleted".to_owned(), true.into())]);
        answer.extend(self.named());
        for name in entity.key {
            answer.insert((*name).into(), row.get(*name).cloned().unwrap_or_default());
        }
        answer.into()
    }

    fn named(&self) -> Map<String, Value> {
        let resource = self.operation.resource;
        resource
            .map(|name| ("resource".to_owned(), name.into()))
            .into_iter()
            .collect()
    }
}

/// Returns the row that the arguments name by its key, or by other fields.
async fn find(plan: &Plan<'_>, entity: &'static EntitySpec, arguments: &Row) -> Result<Row, RowError> {
    let missing = || not_found(entity, &arguments.values().cloned().collect::<Vec<_>>());
    let values: Vec<_> = entity
        .key
        .iter()
        .filter_map(|name| arguments.get(*name).cloned())
        .collect();
    if values.len() == entity.key.len() {
        let row = plan.get(entity, &values).await?;
        let has = |row: &Row| arguments.iter().all(|(name, value)| row.get(name) == Some(value));
        return row.filter(has).ok_or_else(missing);
    }
    let mut filters = vec![];
    for (name, value) in arguments {
        let field = entity.field(name);
        let field = field.ok_or_else(|| breach(format!("there is no field `{name}` to find by")))?;
        filters.push(Filter::is(field.name, value.clone()));
    }
    if filters.is_empty() {
        return Err(RowError::Missing {
            field: entity.key.first().copied().unwrap_or_default(),
        });
    }
    let mut select = Select::new(entity, filters);
    select.limit = Some(1);
    plan.select(select).await?.pop().ok_or_else(missing)
}

/// Joins the values beside the data to those in it.
fn joined(entity: &'static EntitySpec, arguments: &Row, mut data: Row) -> Result<Row, RowError> {
    for (name, value) in arguments {
        if data.get(name).is_some_and(|given| given != value) {
            let field = entity.field(name).map_or("", |field| field.name);
            return Err(RowError::Conflicting { field });
        }
        data.insert(name.clone(), value.clone());
    }
    Ok(data)
}

/// Returns the values of the entity's key.
fn key(entity: &EntitySpec, row: &Row) -> Vec<Value> {
    let value = |name: &&str| row.get(*name).cloned().unwrap_or_default();
    entity.key.iter().map(value).collect()
}

/// Returns the row as answers have it: without secrets, and without what is hidden.
pub fn shape(entity: &EntitySpec, row: &Row) -> Value {
    let is_shown = |name: &str| {
        let field = entity.field(name);
        field.is_some_and(|field| !field.hidden && !matches!(field.kind, FieldType::Secret { .. }))
    };
    let fields = entity.fields.iter().filter(|field| is_shown(field.name));
    let fields = fields.map(|field| {
        let value = row.get(field.name).cloned().unwrap_or_default();
        (field.name.to_owned(), value)
    });
    Value::Object(fields.collect())
}

fn breach(detail: impl Into<String>) -> RowError {
    Failure::new(FailureKind::Io, detail).into()
}
