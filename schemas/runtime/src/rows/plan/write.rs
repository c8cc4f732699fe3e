//! Writing: creating, changing and removing rows, and the consequences for other rows.

use std::collections::{BTreeSet, VecDeque};

use futures_util::future::join3;
use serde_json::Value;

use super::{
    Draft, Filter, Plan, Row, RowError, Select, check_names, constant, equal, identity, immutable, no_such,
    not_found, referring, taken,
};
use crate::{
    failure::{Failure, FailureKind},
    rows::{error::shown, value::checked},
    spec::{Action, Assigned, Assignment, EntitySpec, FieldType, Moment, OnDelete, Scope},
};

impl Plan<'_> {
    /// Plans a new row with the given fields, and returns it.
    ///
    /// # Errors
    /// If the entity's rules forbid it.
    pub async fn create(&mut self, entity: &'static EntitySpec, given: Row) -> Result<Row, RowError> {
        check_names(entity, &given, true)?;
        self.check_org(entity).await?;
        let mut draft = self.draft(entity, &given).await?;
        let key = identity(entity, &draft.row);
        if entity.scope == Scope::Root && self.within.is_bound {
            let message =
                format!("a caller that is bound to one {0} can't create a different {0}", entity.name);
            return Err(Failure::new(FailureKind::AccessDenied, message).into());
        }
        self.apply_hooks(entity, None, &given, &mut draft);
        // A generated id is new.
        let is_id_given = entity.has_id() && entity.key.iter().any(|name| given.contains_key(*name));
        // No answer is needed for the next question, so a store can be asked all at once.
        let (there, was_removed, checked) = join3(
            self.row(entity, &key),
            async { Ok::<_, RowError>(is_id_given && self.view.was_removed(entity, &key).await?) },
            self.check(entity, None, &draft.row),
        )
        .await;
        if there?.is_some() {
            return Err(taken(entity, entity.key));
        }
        if was_removed? {
            return Err(RowError::UsedBefore { field: entity.key[0], entity: entity.name });
        }
        checked?;
        // Last: a refused call wastes no random bits.
        self.make_secrets(entity, &mut draft)?;
        let row = draft.row.clone();
        self.put(entity, key, None, Some(draft.row), draft.made);
        self.take_marks(entity, None, &row).await?;
        self.also(entity, Action::Create, &row).await?;
        Ok(row)
    }

    /// Plans new values for fields of a row, and returns the row.
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
        check_names(entity, &set, false)?;
        let mut changed = Row::new();
        for (name, value) in set {
            let Some(field) = entity.field(&name) else {
                continue;
            };
            let current = old.get(&name).unwrap_or(&Value::Null);
            if value == *current || checked(field, value.clone()).is_ok_and(|value| value == *current) {
                continue;
            }
            if field.is_fixed() || entity.key.contains(&field.name) || entity.org_field() == Some(field.name)
            {
                return Err(immutable(field.name, false));
            }
            changed.insert(name, self.given(field, value)?);
        }
        self.patch(entity, old, changed, BTreeSet::new()).await
    }

    /// Plans the assignments `set` to a row, where values in `given` take precedence, and returns the row.
    ///
    /// # Errors
    /// If there is no such row, or the entity's rules forbid it.
    pub async fn assign(
        &mut self,
        entity: &'static EntitySpec,
        key: &[Value],
        set: &'static [Assignment],
        given: Row,
    ) -> Result<Row, RowError> {
        let old = self.get(entity, key).await?;
        let old = old.ok_or_else(|| not_found(entity, key))?;
        let (mut changed, mut made) = (Row::new(), BTreeSet::new());
        for assignment in set {
            let current = old.get(assignment.field).unwrap_or(&Value::Null);
            let Some(field) = entity.field(assignment.field) else {
                continue;
            };
            let given = given.get(field.name).cloned();
            let given = given.map(|value| match value {
                Value::Null => {
                    Err(RowError::Value { field: field.name.into(), problem: "can't be null".into() })
                }
                value => self.given(field, value),
            });
            let given = given.transpose()?;
            if assignment.if_null && !current.is_null() {
                continue;
            }
            if given.is_none() && matches!(assignment.value, Assigned::Now) {
                made.insert(field.name);
            }
            let value = given.unwrap_or_else(|| self.assigned(assignment, &old));
            changed.insert(field.name.into(), value);
        }
        self.patch(entity, old, changed, made).await
    }

    /// Plans new values, which fit their fields, for a row. The store generated those in `made`.
    async fn patch(
        &mut self,
        entity: &'static EntitySpec,
        old: Row,
        set: Row,
        made: BTreeSet<&'static str>,
    ) -> Result<Row, RowError> {
        let key = identity(entity, &old);
        let mut draft = Draft { row: old.clone(), made };
        for (name, value) in &set {
            draft.row.insert(name.clone(), value.clone());
        }
        self.copy_again(entity, &old, &mut draft).await?;
        self.apply_hooks(entity, Some(&old), &set, &mut draft);
        let is_changed = draft.row != old;
        if is_changed {
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
        if is_changed {
            self.also(entity, Action::Update, &row).await?;
        }
        Ok(row)
    }

    /// Plans the removal of a row, with all rows that go with it, and returns the row.
    ///
    /// # Errors
    /// If there is no such row, or other rows refer to it.
    pub async fn delete(&mut self, entity: &'static EntitySpec, key: &[Value]) -> Result<Row, RowError> {
        let first = self.get(entity, key).await?;
        let first = first.ok_or_else(|| not_found(entity, key))?;
        self.check_kept(entity, &first)?;
        // The named row is the first of the change: the caller's base is that row's.
        self.remove(entity, &first);
        self.also(entity, Action::Delete, &first).await?;
        let mut removed = vec![];
        let mut waiting = VecDeque::from([(entity, first.clone())]);
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
                        Box::pin(self.patch(other, row, set, BTreeSet::new())).await?;
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
        let key = entity.key.iter().map(|name| shown(row.get(*name).unwrap_or(&Value::Null)));
        let key = key.collect::<Vec<_>>().join(" ");
        let instead = (!entity.retired.is_empty()).then(|| fields(entity.retired));
        Err(RowError::InUse { entity: entity.name, key, by, instead })
    }

    /// Applies the assignments of hooks whose fields take or lose a certain value.
    fn apply_hooks(&self, entity: &'static EntitySpec, old: Option<&Row>, given: &Row, draft: &mut Draft) {
        let mut follows = vec![];
        for hook in entity.on {
            let Ok(value) = constant(hook.is) else { continue };
            let was = old.is_some_and(|old| old.get(hook.field) == Some(&value));
            let is = *draft.get(hook.field) == value;
            // Lost values come before taken ones, in any order of the hooks.
            match (was, is) {
                (true, false) => follows.insert(0, hook.otherwise),
                (false, true) => follows.push(hook.set),
                _ => {}
            }
        }
        for assignment in follows.into_iter().flatten() {
            let is_given = given.contains_key(assignment.field);
            let is_kept = assignment.if_null && !draft.get(assignment.field).is_null();
            if is_given || is_kept {
                continue;
            }
            let value = self.assigned(assignment, &draft.row);
            if matches!(assignment.value, Assigned::Now) {
                draft.make(assignment.field, value);
            } else {
                draft.set(assignment.field, value);
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

    /// Clears, in the other rows, the marks that only one row can have.
    async fn take_marks(
        &mut self,
        entity: &'static EntitySpec,
        old: Option<&Row>,
        row: &Row,
    ) -> Result<(), RowError> {
        for field in entity.fields.iter().filter(|field| !field.one_true_in.is_empty()) {
            let has = |row: &Row| row.get(field.name) == Some(&true.into());
            // A marked row that moves clears the mark of the rows at its new place.
            let had_here = |old: &Row| {
                let is_same = |name: &&str| old.get(*name) == row.get(*name);
                has(old) && field.one_true_in.iter().all(is_same)
            };
            if !has(row) || old.is_some_and(had_here) {
                continue;
            }
            let mut filters = vec![Filter::is(field.name, true)];
            filters.extend(equal(field.one_true_in, row));
            let key = identity(entity, row);
            for other in self.select(Select::new(entity, filters)).await? {
                if identity(entity, &other) != key {
                    let set = Row::from_iter([(field.name.to_owned(), false.into())]);
                    Box::pin(self.patch(entity, other, set, BTreeSet::new())).await?;
                }
            }
        }
        Ok(())
    }

    /// Plans the changes of other rows that are part of a change of `row`.
    async fn also(&mut self, entity: &'static EntitySpec, on: Action, row: &Row) -> Result<(), RowError> {
        for also in entity.also.iter().filter(|also| also.on == on) {
            let has = |row: &Row, (name, value): &(&str, &str)| {
                constant(value).is_ok_and(|value| row.get(*name).unwrap_or(&Value::Null) == &value)
            };
            let key = row.get(also.key).cloned().unwrap_or_default();
            if key.is_null() || !also.when.iter().all(|field| has(row, field)) {
                continue;
            }
            let other = self.entity(also.entity)?;
            let Some(old) = self.get(other, std::slice::from_ref(&key)).await? else {
                return Err(no_such(also.key, other, &key));
            };
            if !also.unless.is_empty() && also.unless.iter().all(|field| has(&old, field)) {
                if on != Action::Create {
                    continue;
                }
                let problem = format!(
                    "names a {} with {}; choose another, or change it first",
                    other.name,
                    fields(also.unless)
                );
                return Err(RowError::Value { field: also.key.into(), problem });
            }
            let set = also.set.iter().filter(|assignment| {
                let current = old.get(assignment.field);
                !assignment.if_null || current.is_none_or(Value::is_null)
            });
            let is_made = |assignment: &&Assignment| matches!(assignment.value, Assigned::Now);
            let made = set.clone().filter(is_made).map(|assignment| assignment.field);
            let made = made.collect();
            let set = set.map(|assignment| (assignment.field.to_owned(), self.assigned(assignment, row)));
            let set = set.collect();
            Box::pin(self.patch(other, old, set, made)).await?;
        }
        Ok(())
    }
}

/// Returns fields and their values for people.
fn fields(values: &[(&str, &str)]) -> String {
    let values: Vec<_> = values.iter().map(|(name, value)| format!("`{name}` {value}")).collect();
    values.join(" and ")
}
