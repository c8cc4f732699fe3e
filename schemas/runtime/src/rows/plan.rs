//! A planned change of rows: what is asked for, and all that follows from it by the entities' rules.
//!
//! A plan reads through a view and writes nothing. Its own reads see what it has planned. A row of another org is not there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    Row, RowChange, RowEdit, RowsChange,
    error::{RowError, shown},
    identity,
    value::checked,
    view::{Filter, Order, RowView, Select, Test},
};
use crate::{
    failure::{Failure, FailureKind},
    spec::{
        Action, Assigned, Assignment, EntitySpec, FieldSpec, FieldType, Moment, Next, OnDelete, Reference,
        RowsSpec, Scope,
    },
};

/// The part of the rows that a call has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Within {
    /// Key of the call's org; `None` if rows are not divided into orgs.
    pub org: Option<String>,
    /// Whether the caller is bound to that org.
    pub is_bound: bool,
}

/// A planned change.
pub struct Plan<'a> {
    spec: &'static RowsSpec,
    view: &'a dyn RowView,
    within: Within,
    facts: &'a Map<String, Value>,
    planned: Vec<Planned>,
    /// Where in `planned` a row is, by its entity and the JSON of its identity.
    places: BTreeMap<(&'static str, String), usize>,
    secrets: Vec<(&'static str, String)>,
}

/// A row that the plan has touched.
struct Planned {
    entity: &'static EntitySpec,
    key: Vec<Value>,
    before: Option<Row>,
    after: Option<Row>,
    made: BTreeSet<&'static str>,
}

/// A row to be written, with what the store made of it.
struct Draft {
    row: Row,
    made: BTreeSet<&'static str>,
}

impl Draft {
    fn get(&self, name: &str) -> &Value {
        self.row.get(name).unwrap_or(&Value::Null)
    }

    fn set(&mut self, name: &'static str, value: Value) {
        self.made.remove(name);
        self.row.insert(name.into(), value);
    }

    fn make(&mut self, name: &'static str, value: Value) {
        self.row.insert(name.into(), value);
        self.made.insert(name);
    }
}

impl<'a> Plan<'a> {
    /// Begins a plan on `view`. `facts` of the call are values of fields that say so.
    pub fn new(
        spec: &'static RowsSpec,
        view: &'a dyn RowView,
        within: Within,
        facts: &'a Map<String, Value>,
    ) -> Self {
        Self {
            spec,
            view,
            within,
            facts,
            planned: vec![],
            places: BTreeMap::new(),
            secrets: vec![],
        }
    }

    /// Returns the change. Rows that were created and removed again are not part of it.
    ///
    /// # Errors
    /// If nothing was planned.
    pub fn finish(self, operation: &'static str) -> Result<RowsChange, RowError> {
        let mut rows = vec![];
        for Planned {
            entity,
            key,
            before,
            after,
            made,
        } in self.planned
        {
            let edit = match (before, after) {
                (None, None) => continue,
                (None, Some(row)) => RowEdit::Insert(row),
                (Some(_), None) => RowEdit::Remove,
                (Some(before), Some(after)) => {
                    let differs = |(name, value): &(String, Value)| before.get(name) != Some(value);
                    RowEdit::Patch(after.into_iter().filter(differs).collect())
                }
            };
            rows.push(RowChange::new(entity, key, edit, made));
        }
        RowsChange::new(rows, operation)
            .map_err(|error| Failure::new(FailureKind::Invalid, error.to_string()).into())
    }

    /// Adds the changes of an earlier plan, which this one sees, where they are new rows.
    pub fn adopt(&mut self, changes: Vec<RowChange>) {
        for change in changes {
            if let RowEdit::Insert(row) = change.edit {
                self.put(change.entity, change.key, None, Some(row), change.made);
            }
        }
    }

    /// Returns the secrets that were made, with the names of their fields.
    pub fn secrets(&self) -> &[(&'static str, String)] {
        &self.secrets
    }

    /// Returns the entity of that name.
    ///
    /// # Errors
    /// If the contract has none.
    pub fn entity(&self, name: &str) -> Result<&'static EntitySpec, RowError> {
        let entity = self.spec.entity(name);
        entity.ok_or_else(|| Failure::new(FailureKind::Io, format!("there is no entity `{name}`")).into())
    }

    /// Returns the row with these values of the entity's key; `None` if there is none in the call's org.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn get(&self, entity: &'static EntitySpec, key: &[Value]) -> Result<Option<Row>, RowError> {
        let key = self.identity_of(entity, key);
        if entity.scope == Scope::Root && self.within.is_bound && key.first() != self.org().as_ref() {
            return Ok(None);
        }
        self.row(entity, &key).await
    }

    /// Returns the row with this identity.
    async fn row(&self, entity: &'static EntitySpec, key: &[Value]) -> Result<Option<Row>, RowError> {
        if let Some(at) = self.places.get(&place(entity, key)) {
            return Ok(self.planned[*at].after.clone());
        }
        Ok(self.view.get(entity, key).await?)
    }

    /// Returns the selected rows of the call's org, as they are planned; those in the plan may come out of order.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn select(&self, mut select: Select) -> Result<Vec<Row>, RowError> {
        select.all.extend(self.org_filter(select.entity));
        let touched = |row: &Row| {
            let key = identity(select.entity, row);
            self.places.contains_key(&place(select.entity, &key))
        };
        let limit = select.limit;
        if let Some(limit) = &mut select.limit {
            *limit += self.planned.len() as u64;
        }
        let mut rows = self.view.select(&select).await?;
        rows.retain(|row| !touched(row));
        let planned = self
            .planned
            .iter()
            .filter(|it| it.entity.name == select.entity.name);
        let planned = planned.filter_map(|it| it.after.clone());
        rows.extend(planned.filter(|row| select.all.iter().all(|filter| filter.passes(row))));
        if let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) {
            rows.truncate(limit);
        }
        Ok(rows)
    }

    /// Returns the number of rows of the call's org that pass the filters, without regard to the plan.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn count(&self, entity: &'static EntitySpec, filters: Vec<Filter>) -> Result<u64, RowError> {
        let mut select = Select::new(entity, filters);
        select.all.extend(self.org_filter(entity));
        Ok(self.view.count(&select).await?)
    }

    /// Returns the filter of the call's org, for reads of `entity`.
    pub fn org_filter(&self, entity: &'static EntitySpec) -> Option<Filter> {
        let field = match entity.scope {
            Scope::Global => return None,
            Scope::Org(field) => field,
            Scope::Root if self.within.is_bound => entity.key.first()?,
            Scope::Root => return None,
        };
        Some(Filter::is(field, self.org().unwrap_or_default()))
    }

    fn org(&self) -> Option<Value> {
        self.within.org.as_deref().map(Value::from)
    }

    /// Returns the identity of the row with this key in the call's org.
    fn identity_of(&self, entity: &'static EntitySpec, key: &[Value]) -> Vec<Value> {
        let org = entity.org_field().map(|_| self.org().unwrap_or_default());
        org.into_iter().chain(key.iter().cloned()).collect()
    }

    /// Plans a new row with the given fields, and returns it.
    ///
    /// # Errors
    /// If the entity's rules forbid it.
    pub async fn create(&mut self, entity: &'static EntitySpec, given: Row) -> Result<Row, RowError> {
        check_names(entity, &given)?;
        let mut draft = Draft {
            row: Row::new(),
            made: BTreeSet::new(),
        };
        for field in entity.fields {
            self.fill(entity, field, &given, &mut draft).await?;
        }
        let key = identity(entity, &draft.row);
        self.check_org(entity).await?;
        if entity.scope == Scope::Root && self.within.is_bound {
            let message = format!(
                "a caller that is bound to one {0} can't create a different {0}",
                entity.name
            );
            return Err(Failure::new(FailureKind::AccessDenied, message).into());
        }
        if self.row(entity, &key).await?.is_some() {
            return Err(taken(entity, entity.key));
        }
        // After the values, so that a refused call wastes no random bits.
        self.make_secrets(entity, &mut draft)?;
        self.apply_hooks(entity, None, &given, &mut draft);
        self.check(entity, None, &draft.row).await?;
        let row = draft.row.clone();
        self.put(entity, key, None, Some(draft.row), draft.made);
        self.take_marks(entity, None, &row).await?;
        self.also(entity, Action::Create, &row).await?;
        Ok(row)
    }

    /// Sets one field of a new row.
    async fn fill(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        given: &Row,
        draft: &mut Draft,
    ) -> Result<(), RowError> {
        let name = field.name;
        if entity.org_field() == Some(name) {
            let org = self.org().unwrap_or_default();
            if given.get(name).is_some_and(|given| *given != org) {
                return Err(immutable(name, true));
            }
            draft.set(name, org);
            return Ok(());
        }
        let given = given.get(name);
        if given.is_some() && field.is_of_store() {
            return Err(immutable(name, true));
        }
        let given = given.map(|value| checked(field, value.clone())).transpose()?;
        match (field.kind, given) {
            (FieldType::Now(_), _) => draft.make(name, self.view.fresh().now().into()),
            (FieldType::Seq, _) => draft.make(name, self.view.fresh().seq()?.into()),
            (FieldType::Secret { .. }, _) => draft.set(name, Value::Null),
            (FieldType::Next(next), given) => {
                let number = self.next(entity, field, next, draft).await?;
                match given {
                    Some(given) if next.strict && given != number => {
                        return Err(RowError::NotNext {
                            field: name,
                            next: number.as_i64().unwrap_or_default(),
                        });
                    }
                    Some(given) => draft.set(name, given),
                    None => draft.make(name, number),
                }
            }
            (_, Some(given)) => draft.set(name, given),
            (kind, None) => match (field.from.and_then(|fact| self.facts.get(fact)), field.default) {
                (Some(fact), _) => draft.set(name, checked(field, fact.clone())?),
                (None, Some(default)) => draft.set(name, checked(field, constant(default)?)?),
                (None, None) if field.optional => draft.set(name, Value::Null),
                (None, None) if matches!(kind, FieldType::Id) => {
                    draft.make(name, self.view.fresh().id().into());
                }
                (None, None) => return Err(RowError::Missing { field: name }),
            },
        }
        Ok(())
    }

    /// Returns the number that follows the largest one.
    async fn next(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        next: Next,
        draft: &Draft,
    ) -> Result<Value, RowError> {
        let filters = next
            .within
            .iter()
            .map(|name| Filter::is(name, draft.get(name).clone()));
        let mut select = Select::new(entity, filters.collect());
        select.order = vec![(field.name, Order::Down)];
        select.limit = Some(1);
        let rows = self.select(select).await?;
        let numbers = rows.iter().filter_map(|row| row.get(field.name)?.as_i64());
        Ok((numbers.max().unwrap_or(0) + 1).into())
    }

    fn make_secrets(&mut self, entity: &'static EntitySpec, draft: &mut Draft) -> Result<(), RowError> {
        for field in entity.fields {
            if let FieldType::Secret { prefix } = field.kind {
                let secret = self.view.fresh().secret(prefix)?;
                draft.make(field.name, HEXLOWER.encode(&Sha256::digest(&secret)).into());
                self.secrets.push((field.name, secret));
            }
        }
        Ok(())
    }

    /// Plans that fields of a row get new values, and returns it.
    ///
    /// # Errors
    /// If there is no such row, or the entity's rules forbid it.
    pub async fn update(
        &mut self,
        entity: &'static EntitySpec,
        key: &[Value],
        set: Row,
    ) -> Result<Row, RowError> {
        let old = self.get(entity, key).await?;
        let old = old.ok_or_else(|| not_found(entity, key))?;
        check_names(entity, &set)?;
        let mut changed = Row::new();
        for (name, value) in set {
            let Some(field) = entity.field(&name) else {
                continue;
            };
            let current = old.get(&name).unwrap_or(&Value::Null);
            if value == *current {
                continue;
            }
            if field.is_fixed() || entity.key.contains(&field.name) || entity.org_field() == Some(field.name)
            {
                return Err(immutable(field.name, false));
            }
            let value = checked(field, value)?;
            if value != *current {
                changed.insert(name, value);
            }
        }
        self.patch(entity, old, changed).await
    }

    /// Plans that a row gets new values, which fit their fields.
    async fn patch(&mut self, entity: &'static EntitySpec, old: Row, set: Row) -> Result<Row, RowError> {
        let key = identity(entity, &old);
        let mut draft = Draft {
            row: old.clone(),
            made: BTreeSet::new(),
        };
        for (name, value) in &set {
            draft.row.insert(name.clone(), value.clone());
        }
        self.apply_hooks(entity, Some(&old), &set, &mut draft);
        if draft.row != old {
            for field in entity.fields {
                if matches!(field.kind, FieldType::Now(Moment::Change)) {
                    draft.make(field.name, self.view.fresh().now().into());
                }
            }
        }
        self.check(entity, Some(&old), &draft.row).await?;
        let row = draft.row.clone();
        self.put(entity, key, Some(old.clone()), Some(draft.row), draft.made);
        self.take_marks(entity, Some(&old), &row).await?;
        self.also(entity, Action::Update, &row).await?;
        Ok(row)
    }

    /// Plans that a row is removed, with all rows that go with it, and returns it.
    ///
    /// # Errors
    /// If there is no such row, or other rows refer to it.
    pub async fn delete(&mut self, entity: &'static EntitySpec, key: &[Value]) -> Result<Row, RowError> {
        let first = self.get(entity, key).await?;
        let first = first.ok_or_else(|| not_found(entity, key))?;
        self.also(entity, Action::Delete, &first).await?;
        let mut removed = vec![];
        let mut waiting = VecDeque::from([(entity, first.clone())]);
        self.remove(entity, &first);
        while let Some((entity, row)) = waiting.pop_front() {
            for (other, field, reference) in self.spec.referring(entity) {
                if reference.on_delete == OnDelete::Cascade {
                    for row in self.select(referring(other, field, entity, &row)).await? {
                        self.remove(other, &row);
                        waiting.push_back((other, row));
                    }
                }
            }
            removed.push((entity, row));
        }
        for (entity, row) in &removed {
            self.release(entity, row).await?;
        }
        Ok(first)
    }

    fn remove(&mut self, entity: &'static EntitySpec, row: &Row) {
        let key = identity(entity, row);
        self.put(entity, key, Some(row.clone()), None, BTreeSet::new());
    }

    /// Clears the references to a removed row, and refuses its removal if some must stay.
    async fn release(&mut self, entity: &'static EntitySpec, row: &Row) -> Result<(), RowError> {
        let mut by = vec![];
        for (other, field, reference) in self.spec.referring(entity) {
            match reference.on_delete {
                OnDelete::Cascade => {}
                OnDelete::Clear => {
                    for row in self.select(referring(other, field, entity, row)).await? {
                        let set = Row::from_iter([(field.name.to_owned(), Value::Null)]);
                        Box::pin(self.patch(other, row, set)).await?;
                    }
                }
                OnDelete::Restrict => {
                    let count = self.count_left(&referring(other, field, entity, row)).await?;
                    if count > 0 {
                        by.push((other.name, count));
                    }
                }
            }
        }
        if by.is_empty() {
            return Ok(());
        }
        let key = entity
            .key
            .iter()
            .map(|name| shown(row.get(*name).unwrap_or(&Value::Null)));
        Err(RowError::InUse {
            entity: entity.name,
            key: key.collect::<Vec<_>>().join(" "),
            by,
        })
    }

    /// Returns the number of rows that pass the filters once the plan is made.
    async fn count_left(&self, select: &Select) -> Result<u64, RowError> {
        let passes = |row: &Option<Row>| {
            let row = row.as_ref();
            row.is_some_and(|row| select.all.iter().all(|filter| filter.passes(row)))
        };
        let planned = || {
            self.planned
                .iter()
                .filter(|it| it.entity.name == select.entity.name)
        };
        let gone = planned().filter(|it| passes(&it.before)).count() as u64;
        let there = planned().filter(|it| passes(&it.after)).count() as u64;
        Ok((self.view.count(select).await? + there).saturating_sub(gone))
    }

    /// Records what becomes of a row.
    fn put(
        &mut self,
        entity: &'static EntitySpec,
        key: Vec<Value>,
        before: Option<Row>,
        after: Option<Row>,
        made: BTreeSet<&'static str>,
    ) {
        if let Some(at) = self.places.get(&place(entity, &key)) {
            let planned = &mut self.planned[*at];
            planned.after = after;
            planned.made.extend(made);
            return;
        }
        self.places.insert(place(entity, &key), self.planned.len());
        self.planned.push(Planned {
            entity,
            key,
            before,
            after,
            made,
        });
    }

    /// Sets what follows from the fields that have become, or are no longer, a certain value.
    fn apply_hooks(&self, entity: &'static EntitySpec, old: Option<&Row>, given: &Row, draft: &mut Draft) {
        for hook in entity.on {
            let Ok(value) = constant(hook.is) else { continue };
            let was = old.is_some_and(|old| old.get(hook.field) == Some(&value));
            let is = *draft.get(hook.field) == value;
            let assignments = match (was, is) {
                (false, true) => hook.set,
                (true, false) => hook.otherwise,
                _ => continue,
            };
            for assignment in assignments {
                let is_given = given.contains_key(assignment.field);
                let is_kept = assignment.if_null && !draft.get(assignment.field).is_null();
                if !is_given && !is_kept {
                    let value = self.assigned(assignment, &draft.row);
                    if matches!(assignment.value, Assigned::Now) {
                        draft.make(assignment.field, value);
                    } else {
                        draft.set(assignment.field, value);
                    }
                }
            }
        }
    }

    fn assigned(&self, assignment: &Assignment, row: &Row) -> Value {
        match assignment.value {
            Assigned::Now => self.view.fresh().now().into(),
            Assigned::Json(text) => constant(text).unwrap_or_default(),
            Assigned::Field(name) => row.get(name).cloned().unwrap_or_default(),
        }
    }

    /// Takes the marks that only one row can have from the others.
    async fn take_marks(
        &mut self,
        entity: &'static EntitySpec,
        old: Option<&Row>,
        row: &Row,
    ) -> Result<(), RowError> {
        for field in entity.fields.iter().filter(|field| !field.one_true_in.is_empty()) {
            let has = |row: &Row| row.get(field.name) == Some(&true.into());
            if !has(row) || old.is_some_and(has) {
                continue;
            }
            let mut filters = vec![Filter::is(field.name, true)];
            filters.extend(equal(field.one_true_in, row));
            let key = identity(entity, row);
            for other in self.select(Select::new(entity, filters)).await? {
                if identity(entity, &other) != key {
                    let set = Row::from_iter([(field.name.to_owned(), false.into())]);
                    Box::pin(self.patch(entity, other, set)).await?;
                }
            }
        }
        Ok(())
    }

    /// Plans the changes of other rows that are part of a change of `row`.
    async fn also(&mut self, entity: &'static EntitySpec, on: Action, row: &Row) -> Result<(), RowError> {
        for also in entity.also.iter().filter(|also| also.on == on) {
            let holds = |(name, value): &(&str, &str)| {
                constant(value).is_ok_and(|value| row.get(*name).unwrap_or(&Value::Null) == &value)
            };
            let key = row.get(also.key).cloned().unwrap_or_default();
            if key.is_null() || !also.when.iter().all(holds) {
                continue;
            }
            let other = self.entity(also.entity)?;
            let Some(old) = self.get(other, std::slice::from_ref(&key)).await? else {
                return Err(no_such(also.key, other, &key));
            };
            let set = also.set.iter().filter(|assignment| {
                let current = old.get(assignment.field);
                !assignment.if_null || current.is_none_or(Value::is_null)
            });
            let set = set.map(|assignment| (assignment.field.to_owned(), self.assigned(assignment, row)));
            let set = set.collect();
            Box::pin(self.patch(other, old, set)).await?;
        }
        Ok(())
    }

    /// Checks the rules for a row that becomes `row`.
    async fn check(&self, entity: &'static EntitySpec, old: Option<&Row>, row: &Row) -> Result<(), RowError> {
        let differs = |name: &str| old.is_none_or(|old| old.get(name) != row.get(name));
        for (field, reference) in entity.references() {
            if differs(field.name) || reference.same.iter().any(|name| differs(name)) {
                self.check_reference(field, reference, row).await?;
                if reference.acyclic && old.is_some() {
                    self.check_chain(entity, field, row).await?;
                }
            }
        }
        for unique in entity.uniques {
            if unique
                .fields
                .iter()
                .copied()
                .chain(unique.while_null)
                .any(differs)
            {
                self.check_unique(entity, unique, row).await?;
            }
        }
        for edges in entity.acyclic {
            let by = edges.by.map(|by| row.get(by).cloned().unwrap_or_default());
            let is = |text: &&str| constant(text).ok() == by;
            if (edges.among.is_empty() || edges.among.iter().any(is))
                && [Some(edges.from), Some(edges.to), edges.by]
                    .into_iter()
                    .flatten()
                    .any(differs)
            {
                self.check_edges(entity, edges, row).await?;
            }
        }
        Ok(())
    }

    /// Checks that the call's org is there.
    async fn check_org(&self, entity: &'static EntitySpec) -> Result<(), RowError> {
        let (Some(_), Some(org), Some(key)) = (entity.org_field(), self.spec.org, self.org()) else {
            return Ok(());
        };
        let orgs = self.entity(org.entity)?;
        match self.get(orgs, std::slice::from_ref(&key)).await? {
            Some(_) => Ok(()),
            None => Err(not_found(orgs, &[key])),
        }
    }

    async fn check_reference(
        &self,
        field: &'static FieldSpec,
        reference: Reference,
        row: &Row,
    ) -> Result<(), RowError> {
        let key = row.get(field.name).unwrap_or(&Value::Null);
        if key.is_null() {
            return Ok(());
        }
        let to = self.entity(reference.to)?;
        let Some(target) = self.get(to, std::slice::from_ref(key)).await? else {
            return Err(no_such(field.name, to, key));
        };
        match reference
            .same
            .iter()
            .find(|name| row.get(**name) != target.get(**name))
        {
            Some(same) => Err(RowError::Elsewhere {
                field: field.name,
                same,
            }),
            None => Ok(()),
        }
    }

    /// Checks that following `field` from `row` does not lead back to it.
    async fn check_chain(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        row: &Row,
    ) -> Result<(), RowError> {
        let start = entity.key.first().and_then(|name| row.get(*name));
        let mut at = row.get(field.name).cloned().unwrap_or_default();
        let mut passed = BTreeSet::new();
        while !at.is_null() && passed.insert(at.to_string()) {
            if Some(&at) == start {
                return Err(RowError::Circle { field: field.name });
            }
            let next = self.get(entity, &[at]).await?;
            at = next
                .and_then(|row| row.get(field.name).cloned())
                .unwrap_or_default();
        }
        Ok(())
    }

    /// Checks that no edges lead from the end of `row` to its beginning.
    async fn check_edges(
        &self,
        entity: &'static EntitySpec,
        edges: &crate::spec::Edges,
        row: &Row,
    ) -> Result<(), RowError> {
        let end = |row: &Row, name: &str| row.get(name).cloned().unwrap_or_default();
        let (own, start) = (identity(entity, row), end(row, edges.from));
        let mut waiting = vec![end(row, edges.to)];
        let mut passed = BTreeSet::new();
        while let Some(at) = waiting.pop() {
            if at == start {
                return Err(RowError::Circle { field: edges.to });
            }
            if !passed.insert(at.to_string()) {
                continue;
            }
            let mut filters = vec![Filter::is(edges.from, at)];
            filters.extend(edges.by.map(|by| Filter::is(by, end(row, by))));
            let further = self.select(Select::new(entity, filters)).await?;
            let further = further.iter().filter(|row| identity(entity, row) != own);
            waiting.extend(further.map(|row| end(row, edges.to)));
        }
        Ok(())
    }

    async fn check_unique(
        &self,
        entity: &'static EntitySpec,
        unique: &crate::spec::Unique,
        row: &Row,
    ) -> Result<(), RowError> {
        let is_null = |name: &str| row.get(name).is_none_or(Value::is_null);
        if unique.fields.iter().any(|name| is_null(name))
            || unique.while_null.is_some_and(|name| !is_null(name))
        {
            return Ok(());
        }
        let mut filters: Vec<_> = equal(unique.fields, row).collect();
        for filter in &mut filters {
            if unique.folded.contains(&filter.field) {
                filter.test = Test::IsFolded;
            }
        }
        filters.extend(unique.while_null.map(|name| Filter::is(name, Value::Null)));
        let mut select = Select::new(entity, filters);
        select.limit = Some(2);
        let key = identity(entity, row);
        let found = self.select(select).await?;
        if found.iter().any(|found| identity(entity, found) != key) {
            return Err(taken(entity, unique.fields));
        }
        Ok(())
    }
}

/// Selects the rows of `other` whose `field` refers to `row` of `entity`.
fn referring(
    other: &'static EntitySpec,
    field: &'static FieldSpec,
    entity: &'static EntitySpec,
    row: &Row,
) -> Select {
    let value = |name: &str| row.get(name).cloned().unwrap_or_default();
    let key = entity.key.first().map(|name| value(name)).unwrap_or_default();
    let mut filters = vec![Filter::is(field.name, key)];
    if let (Some(of_other), Some(of_entity)) = (other.org_field(), entity.org_field()) {
        filters.push(Filter::is(of_other, value(of_entity)));
    }
    Select::new(other, filters)
}

fn equal(names: &'static [&'static str], row: &Row) -> impl Iterator<Item = Filter> {
    let value = |name: &str| row.get(name).cloned().unwrap_or_default();
    names.iter().map(move |name| Filter::is(name, value(name)))
}

/// Checks that the entity has all fields that are named.
fn check_names(entity: &'static EntitySpec, given: &Row) -> Result<(), RowError> {
    let can_be_given = |field: &&FieldSpec| !field.is_of_store();
    match given
        .keys()
        .find(|name| entity.field(name).is_none_or(|field| field.hidden))
    {
        None => Ok(()),
        Some(unknown) => Err(RowError::Unknown {
            field: unknown.clone(),
            entity: entity.name,
            fields: entity
                .fields
                .iter()
                .filter(can_be_given)
                .map(|field| field.name)
                .collect(),
        }),
    }
}

fn place(entity: &EntitySpec, key: &[Value]) -> (&'static str, String) {
    (entity.name, Value::from(key).to_string())
}

fn constant(text: &str) -> Result<Value, RowError> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("the contract's constant {text:?} is no JSON: {error}");
        Failure::new(FailureKind::Io, message).into()
    })
}

fn taken(entity: &EntitySpec, fields: &[&'static str]) -> RowError {
    let article = if entity.name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    RowError::Taken {
        article,
        entity: entity.name,
        fields: fields.to_vec(),
    }
}

fn immutable(field: &'static str, on_create: bool) -> RowError {
    RowError::Immutable { field, on_create }
}

fn no_such(field: &'static str, entity: &EntitySpec, key: &Value) -> RowError {
    RowError::NoSuch {
        field,
        entity: entity.name,
        key: shown(key),
    }
}

pub(super) fn not_found(entity: &EntitySpec, key: &[Value]) -> RowError {
    RowError::NotFound {
        entity: entity.name,
        key: key.iter().map(shown).collect::<Vec<_>>().join(" "),
    }
}
