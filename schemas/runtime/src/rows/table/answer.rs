//! Answers of operations on rows.

use serde_json::{Map, Value, json};

use super::{
    call::{Table, breach},
    request::{Request, filter},
};
use crate::{
    call::ReadCx,
    context::{TOTAL, TRUNCATED},
    rows::{Filter, Plan, Row, RowError, Rows, Select, Test, error::shown, value::checked, view::Order},
    spec::{Action, EntitySpec, FieldSpec, FieldType, FilterBy, ListFilter, Scope},
};

/// Upper bound of the bytes of the rows in a list; a larger row is a list of its own.
const MAX_LIST_BYTES: usize = 4 << 20;

impl Table {
    /// Returns the rows that the request selects.
    pub(super) async fn list(
        &self,
        cx: &ReadCx<'_, Rows>,
        plan: &Plan<'_>,
        entity: &'static EntitySpec,
        request: Request,
    ) -> Result<Value, RowError> {
        plan.check_org(entity).await.map_err(|error| match error {
            RowError::NotFound { entity, key } => {
                RowError::NoSuch { field: self.org_argument().unwrap_or_default(), entity, key }
            }
            error => error,
        })?;
        let mut select = Select::new(entity, vec![]);
        for (name, value) in &request.arguments {
            if let Some(field) = entity.field(name) {
                check_there(plan, (entity, field), self.member(entity, field.name), value).await?;
            }
            select.all.push(filter(entity, name, value)?);
        }
        for filter in self.operation.filters {
            let value = request.filters.get(filter.member);
            if let Some(value) = value.filter(|value| !value.is_null()) {
                narrow(plan, &mut select, filter, value).await?;
            }
        }
        let total = plan.count(select.clone()).await?;
        select.order = entity.order.iter().map(|name| (*name, Order::Up)).collect();
        // One more row shows whether any are left.
        select.limit = Some(request.limit.saturating_add(1));
        if let Some(after) = request.after {
            self.continue_after(plan, &mut select, after).await?;
        }
        let mut rows = plan.select(select).await?;
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        if rows.len() > limit {
            rows.truncate(limit);
            cx.note(TRUNCATED, true);
            cx.note(TOTAL, total);
        }
        let (mut items, mut bytes) = (vec![], 0);
        for row in &rows {
            let item = whole(plan, entity, row).await?;
            bytes += item.to_string().len();
            if bytes > MAX_LIST_BYTES && !items.is_empty() {
                cx.note(TRUNCATED, true);
                cx.note(TOTAL, total);
                break;
            }
            items.push(item);
        }
        let mut answer = self.named();
        answer.insert("count".into(), items.len().into());
        answer.insert("total".into(), total.into());
        answer.insert("items".into(), items.into());
        Ok(answer.into())
    }

    /// Returns the member of a request that names a row by this field.
    fn member(&self, entity: &EntitySpec, field: &'static str) -> &'static str {
        let argument = self.operation.arguments.iter().find(|(_, of)| *of == field);
        let org = self.org_argument().filter(|_| entity.scope == Scope::Root && entity.key == [field]);
        argument.map(|(member, _)| *member).or(org).unwrap_or(field)
    }

    /// Selects only the rows after the one that the request names.
    async fn continue_after(
        &self,
        plan: &Plan<'_>,
        select: &mut Select,
        after: Value,
    ) -> Result<(), RowError> {
        let entity = select.entity;
        let row = match self.operation.after_by {
            None => plan.get(entity, std::slice::from_ref(&after)).await?,
            Some(name) if entity.order == [name] => {
                select.all.push(Filter { field: name, test: Test::More, value: after });
                return Ok(());
            }
            // Numbers of rows begin at 1.
            Some(_) if after.as_i64().is_some_and(|number| number < 1) => return Ok(()),
            Some(name) => {
                let mut found = Select::new(entity, vec![Filter::is(name, after.clone())]);
                found.limit = Some(1);
                plan.select(found).await?.pop()
            }
        };
        select.after = Some(row.ok_or_else(|| RowError::Value {
            field: self.operation.after.unwrap_or_default().into(),
            problem: format!(
                "names no {} that is there now: {}; list again from the beginning, without it",
                entity.name,
                shown(&after)
            ),
        })?);
        Ok(())
    }

    /// Returns the answer with a row, including the secrets that the plan generated for it.
    pub(super) async fn answer(
        &self,
        plan: &Plan<'_>,
        entity: &'static EntitySpec,
        row: &Row,
    ) -> Result<Value, RowError> {
        let mut answer = whole(plan, entity, row).await?;
        if self.operation.action == Action::Create {
            for (field, secret) in plan.secrets() {
                answer[*field] = secret.as_str().into();
            }
        }
        Ok(match self.operation.answer {
            Some(member) => json!({ member: answer }),
            None => answer,
        })
    }

    pub(super) fn deleted(&self, entity: &EntitySpec, row: &Row) -> Value {
        let mut answer = Map::from_iter([("deleted".to_owned(), true.into())]);
        answer.extend(self.named());
        for name in entity.key {
            answer.insert((*name).into(), row.get(*name).cloned().unwrap_or_default());
        }
        answer.into()
    }

    fn named(&self) -> Map<String, Value> {
        let resource = self.operation.resource;
        resource.map(|name| ("resource".to_owned(), name.into())).into_iter().collect()
    }
}

/// Selects only the rows that pass a filter.
async fn narrow(
    plan: &Plan<'_>,
    select: &mut Select,
    filter: &'static ListFilter,
    value: &Value,
) -> Result<(), RowError> {
    let entity = select.entity;
    let field = |name: &str| {
        let field = entity.field(name);
        field.ok_or_else(|| breach(format!("there is no field `{name}` to list by")))
    };
    let wrong = |problem: &str| RowError::Value { field: filter.member.into(), problem: problem.into() };
    match filter.by {
        FilterBy::Value(names) => {
            let mut any = vec![];
            for name in names {
                let field = field(name)?;
                let value = checked(field, value.clone()).map_err(|error| match error {
                    RowError::Value { problem, .. } => wrong(&problem),
                    other => other,
                })?;
                check_there(plan, (entity, field), filter.member, &value).await?;
                any.push(super::request::filter(entity, name, &value)?);
            }
            select.any.push(any);
        }
        FilterBy::Item(name) => {
            select.all.push(Filter { field: field(name)?.name, test: Test::HasItem, value: value.clone() })
        }
        FilterBy::Words(names) => {
            let words: Vec<_> = value.as_str().unwrap_or_default().split_whitespace().collect();
            if words.is_empty() {
                return Err(wrong("can't be blank"));
            }
            for word in words {
                let contains =
                    |name: &&'static str| Filter { field: name, test: Test::Contains, value: word.into() };
                select.any.push(names.iter().map(contains).collect());
            }
        }
    }
    Ok(())
}

/// Checks that the row that a field refers to, or a key names, exists. `member` is the request's name for the field.
async fn check_there(
    plan: &Plan<'_>,
    (entity, field): (&'static EntitySpec, &'static FieldSpec),
    member: &'static str,
    value: &Value,
) -> Result<(), RowError> {
    let to = match field.kind {
        FieldType::Ref(reference) => plan.entity(reference.to)?,
        _ if entity.key == [field.name] => entity,
        _ => return Ok(()),
    };
    if field.loose || plan.get(to, std::slice::from_ref(value)).await?.is_some() {
        return Ok(());
    }
    Err(RowError::NoSuch { field: member, entity: to.name, key: shown(value) })
}

/// Returns the row as in answers, with the members that they add from other rows.
async fn whole(plan: &Plan<'_>, entity: &'static EntitySpec, row: &Row) -> Result<Value, RowError> {
    let mut answer = shape(entity, row);
    for added in entity.adds {
        let referring = entity.field(added.reference).map(|field| field.kind);
        let key = row.get(added.reference).filter(|key| !key.is_null());
        let other = match (referring, key) {
            (Some(FieldType::Ref(reference)), Some(key)) => {
                let to = plan.entity(reference.to)?;
                plan.get(to, std::slice::from_ref(key)).await?
            }
            _ => None,
        };
        let value = other.and_then(|other| other.get(added.field).cloned());
        answer[added.name] = value.unwrap_or_default();
    }
    Ok(answer)
}

/// Returns the row as in answers: without secrets and hidden fields.
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
