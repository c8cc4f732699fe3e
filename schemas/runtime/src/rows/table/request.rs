//! Parsing of requests of operations on rows.

use serde_json::Value;

use super::call::{Table, breach};
use crate::{
    context::CallContext,
    rows::{
        Filter, Plan, Row, RowError, Select, Test, Within, error::shown, identity, plan::not_found,
        value::checked,
    },
    spec::{Action, EntitySpec, RowOperation, Scope},
};

/// A parsed request.
pub(super) struct Request {
    pub(super) within: Within,
    /// The values outside of the data, by field.
    pub(super) arguments: Row,
    /// The row's fields.
    pub(super) data: Row,
    /// The filters of a list, by member.
    pub(super) filters: Row,
    pub(super) limit: u64,
    pub(super) after: Option<Value>,
}

impl Table {
    /// Parses a valid request.
    pub(super) fn take_apart(
        &self,
        entity: &'static EntitySpec,
        call: &CallContext,
        request: Value,
    ) -> Result<Request, RowError> {
        let Value::Object(mut members) = request else {
            return Err(breach("a request is no object"));
        };
        let operation = self.operation;
        let (within, named_org) = self.within(call, &mut members)?;
        let mut arguments = Row::new();
        for (member, field) in operation.arguments {
            if let Some(value) = members.shift_remove(*member)
                && !operation.wildcard.is_some_and(|wildcard| value == wildcard)
            {
                arguments.insert((*field).into(), value);
            }
        }
        let mut filters = match operation.filters_in {
            Some(member) => object(member, members.shift_remove(member))?,
            None => {
                let names = operation.filters.iter().map(|filter| filter.member);
                let names = names.chain(operation.limit).chain(operation.after);
                names.filter_map(|name| members.shift_remove_entry(name)).collect()
            }
        };
        let mut take = |member: Option<&str>| filters.shift_remove(member?).filter(|it| !it.is_null());
        let (limit, after) = (take(operation.limit), take(operation.after));
        let mut data = match operation.data {
            Some(member) => object(member, members.shift_remove(member))?,
            None => std::mem::take(&mut members),
        };
        if let Some(unknown) = members.keys().chain(unknown_filters(operation, &filters)).next() {
            let fields = operation.arguments.iter().map(|(_, field)| *field);
            return Err(RowError::Unknown {
                field: unknown.clone(),
                entity: entity.name,
                fields: fields.chain(operation.filters.iter().map(|it| it.member)).collect(),
            });
        }
        take_aliases(entity, &mut data)?;
        if operation.key_in_data && operation.action != Action::Create {
            for name in entity.key {
                if let Some(value) = data.shift_remove(*name) {
                    name_row(entity, &mut arguments, name, value)?;
                }
            }
        }
        self.name_org(entity, named_org, &mut arguments, &data)?;
        if let Some(unknown) = data.keys().find(|name| !self.takes(name)) {
            return Err(RowError::Unknown {
                field: unknown.clone(),
                entity: entity.name,
                fields: operation.fields.to_vec(),
            });
        }
        Ok(Request { within, arguments, data, filters, limit: self.limit(limit)?, after })
    }

    /// Returns true if the operation permits this member in the data; the entity has further rules.
    fn takes(&self, name: &str) -> bool {
        match self.operation.action {
            Action::Create => true,
            Action::Update if self.operation.set.is_empty() => true,
            _ => self.operation.fields.contains(&name),
        }
    }

    fn limit(&self, given: Option<Value>) -> Result<u64, RowError> {
        let (default, max) = self.operation.limits;
        let limit = given.map_or(Some(default), |limit| limit.as_u64());
        limit.filter(|limit| (1..=max).contains(limit)).ok_or_else(|| RowError::Value {
            field: self.operation.limit.unwrap_or("limit").into(),
            problem: format!("must be an integer from 1 to {max}"),
        })
    }

    /// Returns the org of the call (the named one, that of the caller, or the default), and the named one.
    fn within(&self, call: &CallContext, members: &mut Row) -> Result<(Within, Option<Value>), RowError> {
        let Some(org) = self.spec.org else {
            return Ok((Within::default(), None));
        };
        let named = org.argument.and_then(|member| members.shift_remove(member));
        let named = named.filter(|named| !named.is_null());
        let bound = call.org.as_deref();
        let not_there = |named: &Value| RowError::NotFound { entity: org.entity, key: shown(named) };
        let key = match (&named, bound) {
            (Some(named), Some(bound)) if named != bound => return Err(not_there(named)),
            (_, Some(bound)) => bound,
            (Some(named), None) => named.as_str().ok_or_else(|| not_there(named))?,
            (None, None) => org.default,
        };
        let within = Within { org: Some(key.to_owned()), is_bound: bound.is_some() };
        Ok((within, named))
    }

    /// If rows are orgs, a named org is the key of the row: of the one to create, or of the only ones in reach.
    fn name_org(
        &self,
        entity: &'static EntitySpec,
        named: Option<Value>,
        arguments: &mut Row,
        data: &Row,
    ) -> Result<(), RowError> {
        let (Scope::Root, Some(named), [key]) = (entity.scope, named, entity.key) else {
            return Ok(());
        };
        if data.get(*key).is_some_and(|given| *given != named) {
            let field = self.spec.org.and_then(|org| org.argument).unwrap_or(key);
            return Err(RowError::Conflicting { field });
        }
        name_row(entity, arguments, key, named)
    }
}

/// Adds a field value that the row to find must have.
fn name_row(
    entity: &'static EntitySpec,
    arguments: &mut Row,
    name: &'static str,
    value: Value,
) -> Result<(), RowError> {
    if arguments.get(name).is_some_and(|named| *named != value) {
        return Err(not_found(entity, &[value]));
    }
    arguments.insert(name.into(), value);
    Ok(())
}

/// Returns the members of an object in a request; empty if it is absent.
fn object(member: &str, value: Option<Value>) -> Result<Row, RowError> {
    match value {
        Some(Value::Object(members)) => Ok(members),
        None => Ok(Row::new()),
        Some(_) => Err(RowError::Value { field: member.into(), problem: "must be an object".into() }),
    }
}

fn unknown_filters<'f>(operation: &RowOperation, filters: &'f Row) -> impl Iterator<Item = &'f String> {
    filters.keys().filter(|name| {
        let mut known = operation.filters.iter();
        !known.any(|filter| filter.member == name.as_str())
    })
}

/// Replaces aliases by the fields' own names.
fn take_aliases(entity: &'static EntitySpec, data: &mut Row) -> Result<(), RowError> {
    for field in entity.fields {
        let Some(alias) = field.alias else { continue };
        let Some(value) = data.shift_remove(alias) else {
            continue;
        };
        if data.get(field.name).is_some_and(|given| *given != value) {
            return Err(RowError::Value {
                field: alias.into(),
                problem: format!("must be the same as `{}`", field.name),
            });
        }
        data.insert(field.name.into(), value);
    }
    Ok(())
}

/// Returns the row that the arguments name by its key, or by other fields.
pub(super) async fn find(
    plan: &Plan<'_>,
    entity: &'static EntitySpec,
    operation: &'static RowOperation,
    arguments: &Row,
) -> Result<Row, RowError> {
    // Arguments beside the key say where the row is.
    let missing = || {
        let (key, beside): (Vec<_>, Vec<_>) = arguments
            .iter()
            .partition(|(name, _)| entity.key.is_empty() || entity.key.contains(&name.as_str()));
        if key.is_empty() {
            return not_found(
                entity,
                &beside.into_iter().map(|(_, value)| value.clone()).collect::<Vec<_>>(),
            );
        }
        let key = key.into_iter().map(|(_, value)| shown(value)).collect::<Vec<_>>().join(" ");
        let beside = beside.into_iter().map(|(name, value)| format!(" with `{name}` {}", shown(value)));
        RowError::NotFound { entity: entity.name, key: key + &beside.collect::<String>() }
    };
    let values: Vec<_> = entity.key.iter().filter_map(|name| arguments.get(*name).cloned()).collect();
    if values.len() == entity.key.len() {
        let row = plan.get(entity, &values).await?;
        let has = |row: &Row| {
            let mut arguments = arguments.iter();
            arguments.all(|(name, value)| filter(entity, name, value).is_ok_and(|filter| filter.passes(row)))
        };
        let Some(row) = row.filter(has) else {
            plan.check_org(entity).await?;
            return Err(missing());
        };
        return Ok(row);
    }
    let mut filters = vec![];
    for (name, value) in arguments {
        filters.push(filter(entity, name, value)?);
    }
    if filters.is_empty() {
        let fields: Vec<_> = operation.arguments.iter().map(|(member, _)| *member).collect();
        return Err(RowError::NoneOf { fields });
    }
    let mut select = Select::new(entity, filters);
    select.limit = Some(1);
    let Some(row) = plan.select(select).await?.pop() else {
        plan.check_org(entity).await?;
        return Err(missing());
    };
    Ok(row)
}

/// Returns the filter for a field and a value of a request.
pub(super) fn filter(entity: &'static EntitySpec, name: &str, value: &Value) -> Result<Filter, RowError> {
    let field = entity.field(name);
    let field = field.ok_or_else(|| breach(format!("there is no field `{name}` to find by")))?;
    let value = checked(field, value.clone()).unwrap_or_else(|_| value.clone());
    let mut filter = Filter::is(field.name, value);
    if entity.is_folded(field.name) {
        filter.test = Test::IsFolded;
    }
    Ok(filter)
}

/// Joins the arguments to the data; both may contain equal values.
pub(super) fn joined(entity: &'static EntitySpec, arguments: &Row, mut data: Row) -> Result<Row, RowError> {
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
pub(super) fn key(entity: &EntitySpec, row: &Row) -> Vec<Value> {
    let of_org = entity.org_field().iter().count();
    identity(entity, row).split_off(of_org)
}
