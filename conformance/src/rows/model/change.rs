//! What creating, updating and deleting make of the rows.

use serde_json::Value;
use tabellion_runtime::spec::{
    Action, Assigned, Assignment, EntitySpec, FieldSpec, FieldType, Moment, OnDelete,
};

use super::{Model, Refused, constant, now};
use crate::{
    ledger::rows::{Row, canonical},
    rows::{Request, made::Made, values},
};

impl Model {
    /// Makes the change of a request; after an error, the model is of no use.
    pub(super) fn change(&mut self, request: &Request) -> Result<(), Refused> {
        let (entity, org) = (request.entity, request.org.as_deref());
        match request.operation.action {
            Action::Create => {
                let mut given = request.data.clone();
                given.extend(request.key.clone());
                self.create(entity, org, &given)
            }
            Action::Update => {
                let at = self.find(entity, request).ok_or(Refused::NotThere)?;
                self.update(entity, at, &request.data)
            }
            Action::Delete => {
                let at = self.find(entity, request).ok_or(Refused::NotThere)?;
                self.delete(entity, at)
            }
            Action::Get | Action::List => Ok(()),
        }
    }

    fn create(&mut self, entity: &'static EntitySpec, org: Option<&str>, given: &Row) -> Result<(), Refused> {
        known(entity, given)?;
        if entity.org_field().is_some()
            && let Some(of) = self.spec.org
        {
            let orgs = self.entity(of.entity).ok_or(Refused::NotThere)?;
            let key = Value::from(org.unwrap_or_default());
            self.by_key(orgs, None, &key).ok_or(Refused::NotThere)?;
        }
        let mut row = Row::new();
        for field in entity.fields {
            let value = self.first_value(entity, org, field, given.get(field.name), &row)?;
            row.insert(field.name.to_owned(), value);
        }
        let is_same = |other: &Row| entity.identity().all(|name| other.get(name) == row.get(name));
        if self.all(entity).iter().any(is_same) {
            return Err(Refused::Field(entity.key[0].to_owned()));
        }
        hooks(entity, None, given, &mut row);
        self.check(entity, None, &row)?;
        let at = self.push(entity, row);
        self.take_marks(entity, None, at)?;
        self.also(entity, Action::Create, at)
    }

    /// Returns the value of a field of a new row.
    fn first_value(
        &self,
        entity: &'static EntitySpec,
        org: Option<&str>,
        field: &'static FieldSpec,
        given: Option<&Value>,
        row: &Row,
    ) -> Result<Value, Refused> {
        let wrong = || Refused::Field(field.name.to_owned());
        if entity.org_field() == Some(field.name) {
            let org = Value::from(org.unwrap_or_default());
            return match given {
                Some(given) if *given != org => Err(wrong()),
                _ => Ok(org),
            };
        }
        if let Some(given) = given {
            if field.is_of_store() || !values::is_valid(field, given) {
                return Err(wrong());
            }
            if let FieldType::Next(next) = field.kind
                && next.strict
                && canonical(field, given.clone()) != self.next(entity, field, next.within, row)
            {
                return Err(wrong());
            }
            return Ok(canonical(field, given.clone()));
        }
        Ok(match field.kind {
            FieldType::Now(_) => now(),
            FieldType::Seq => Made::Seq.value(),
            FieldType::Secret { .. } => Made::Secret.value(),
            FieldType::Next(next) => self.next(entity, field, next.within, row),
            _ if field.from.is_some() => Made::Any.value(),
            kind => match field.default {
                Some(default) => canonical(field, constant(default)),
                None if field.optional => Value::Null,
                None if matches!(kind, FieldType::Id) => Made::Id.value(),
                None => return Err(wrong()),
            },
        })
    }

    /// Returns the number that follows the largest one among the rows with the same values.
    fn next(&self, entity: &'static EntitySpec, field: &FieldSpec, within: &[&str], row: &Row) -> Value {
        let is_same = |other: &&Row| {
            let names = within.iter().copied().chain(entity.org_field());
            let mut names = names.filter(|name| *name != field.name);
            names.all(|name| other.get(name) == row.get(name))
        };
        let same = self.all(entity).iter().filter(is_same);
        let numbers = same.filter_map(|other| other.get(field.name)?.as_i64());
        (numbers.max().unwrap_or(0) + 1).into()
    }

    fn update(&mut self, entity: &'static EntitySpec, at: usize, set: &Row) -> Result<(), Refused> {
        known(entity, set)?;
        for (name, value) in set {
            let Some(field) = entity.field(name) else { continue };
            let is_fixed = field.is_fixed()
                || entity.key.contains(&field.name)
                || entity.org_field() == Some(field.name);
            if is_fixed || !values::is_valid(field, value) {
                return Err(Refused::Field(name.clone()));
            }
        }
        self.patch(entity, at, set)
    }

    /// Sets fields of a row, with all that follows.
    fn patch(&mut self, entity: &'static EntitySpec, at: usize, set: &Row) -> Result<(), Refused> {
        let old = self.all(entity)[at].clone();
        let mut row = old.clone();
        let mut given = Row::new();
        for (name, value) in set {
            let value = match entity.field(name) {
                Some(field) => canonical(field, value.clone()),
                None => value.clone(),
            };
            if old.get(name) != Some(&value) {
                row.insert(name.clone(), value.clone());
                given.insert(name.clone(), value);
            }
        }
        hooks(entity, Some(&old), &given, &mut row);
        if row != old {
            let of_change = |field: &&FieldSpec| matches!(field.kind, FieldType::Now(Moment::Change));
            for field in entity.fields.iter().filter(of_change) {
                row.insert(field.name.to_owned(), now());
            }
        }
        self.check(entity, Some(&old), &row)?;
        self.put(entity, at, row);
        self.take_marks(entity, Some(&old), at)?;
        self.also(entity, Action::Update, at)
    }

    /// Removes a row and those that go with it, and clears the references to them.
    fn delete(&mut self, entity: &'static EntitySpec, at: usize) -> Result<(), Refused> {
        self.also(entity, Action::Delete, at)?;
        let mut gone: Vec<(&'static EntitySpec, Row)> = vec![(entity, self.all(entity)[at].clone())];
        let mut next = 0;
        while let Some((entity, row)) = gone.get(next).cloned() {
            next += 1;
            for (other, field, reference) in self.spec.referring(entity) {
                if reference.on_delete != OnDelete::Cascade {
                    continue;
                }
                for at in self.referring(other, field.name, entity, &row) {
                    let row = self.all(other)[at].clone();
                    if !gone
                        .iter()
                        .any(|(entity, known)| entity.name == other.name && *known == row)
                    {
                        gone.push((other, row));
                    }
                }
            }
        }
        for (entity, row) in &gone {
            if let Some(rows) = self.rows.get_mut(entity.name) {
                rows.retain(|other| other != row);
            }
        }
        for (entity, row) in &gone {
            for (other, field, reference) in self.spec.referring(entity) {
                if reference.on_delete == OnDelete::Clear {
                    let clear = Row::from_iter([(field.name.to_owned(), Value::Null)]);
                    while let Some(at) = self.referring(other, field.name, entity, row).first() {
                        self.patch(other, *at, &clear)?;
                    }
                }
            }
        }
        for (entity, row) in &gone {
            for (other, field, reference) in self.spec.referring(entity) {
                let is_used = !self.referring(other, field.name, entity, row).is_empty();
                if reference.on_delete == OnDelete::Restrict && is_used {
                    return Err(Refused::InUse(entity.name));
                }
            }
        }
        Ok(())
    }

    /// Returns the indices of the rows of `other` whose `field` refers to `row`.
    fn referring(
        &self,
        other: &'static EntitySpec,
        field: &str,
        entity: &'static EntitySpec,
        row: &Row,
    ) -> Vec<usize> {
        let key = entity.key.first().and_then(|name| row.get(*name));
        let orgs = other.org_field().zip(entity.org_field());
        let refers =
            |it: &Row| it.get(field) == key && orgs.is_none_or(|(own, its)| it.get(own) == row.get(its));
        let rows = self.all(other).iter().enumerate();
        rows.filter(|(_, row)| refers(row)).map(|(at, _)| at).collect()
    }

    /// Takes marks that only one row can have from the others.
    fn take_marks(
        &mut self,
        entity: &'static EntitySpec,
        old: Option<&Row>,
        at: usize,
    ) -> Result<(), Refused> {
        let own = self.all(entity)[at].clone();
        for field in entity.fields.iter().filter(|field| !field.one_true_in.is_empty()) {
            let has = |row: &Row| row.get(field.name) == Some(&true.into());
            if !has(&own) || old.is_some_and(has) {
                continue;
            }
            let names = field.one_true_in.iter().copied().chain(entity.org_field());
            let names: Vec<_> = names.collect();
            let off = Row::from_iter([(field.name.to_owned(), false.into())]);
            for other in 0..self.all(entity).len() {
                let row = &self.all(entity)[other];
                let is_beside = names.iter().all(|name| row.get(*name) == own.get(*name));
                if other != at && has(row) && is_beside {
                    self.patch(entity, other, &off)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the changes of other rows that are part of a change.
    fn also(&mut self, entity: &'static EntitySpec, on: Action, at: usize) -> Result<(), Refused> {
        for also in entity.also.iter().filter(|also| also.on == on) {
            let row = self.all(entity)[at].clone();
            let is = |(name, value): &(&str, &str)| row.get(*name) == Some(&constant(value));
            let key = row.get(also.key).cloned().unwrap_or_default();
            if key.is_null() || !also.when.iter().all(is) {
                continue;
            }
            let wrong = || Refused::Field(also.key.to_owned());
            let other = self.entity(also.entity).ok_or_else(wrong)?;
            let org = entity
                .org_field()
                .and_then(|name| row.get(name))
                .and_then(Value::as_str);
            let old = self.by_key(other, org, &key).cloned().ok_or_else(wrong)?;
            let at = self
                .all(other)
                .iter()
                .position(|it| *it == old)
                .ok_or_else(wrong)?;
            let mut set = Row::new();
            for assignment in also.set {
                let is_free = old.get(assignment.field).is_none_or(Value::is_null);
                if !assignment.if_null || is_free {
                    set.insert(assignment.field.to_owned(), assigned(assignment, &row));
                }
            }
            self.patch(other, at, &set)?;
        }
        Ok(())
    }

    fn push(&mut self, entity: &'static EntitySpec, row: Row) -> usize {
        let rows = self.rows.entry(entity.name).or_default();
        rows.push(row);
        rows.len() - 1
    }

    fn put(&mut self, entity: &'static EntitySpec, at: usize, row: Row) {
        if let Some(rows) = self.rows.get_mut(entity.name) {
            rows[at] = row;
        }
    }
}

/// Checks that the entity has the fields that are named.
fn known(entity: &EntitySpec, given: &Row) -> Result<(), Refused> {
    let is_unknown = |name: &&String| entity.field(name).is_none_or(|field| field.hidden);
    match given.keys().find(is_unknown) {
        Some(name) => Err(Refused::Field(name.clone())),
        None => Ok(()),
    }
}

/// Sets what follows from fields that have become, or are no longer, a certain value.
fn hooks(entity: &EntitySpec, old: Option<&Row>, given: &Row, row: &mut Row) {
    for hook in entity.on {
        let value = constant(hook.is);
        let was = old.is_some_and(|old| old.get(hook.field) == Some(&value));
        let is = row.get(hook.field) == Some(&value);
        let assignments = match (was, is) {
            (false, true) => hook.set,
            (true, false) => hook.otherwise,
            _ => continue,
        };
        for assignment in assignments {
            let is_free = row.get(assignment.field).is_none_or(Value::is_null);
            if !given.contains_key(assignment.field) && (!assignment.if_null || is_free) {
                let value = assigned(assignment, row);
                row.insert(assignment.field.to_owned(), value);
            }
        }
    }
}

fn assigned(assignment: &Assignment, row: &Row) -> Value {
    match assignment.value {
        Assigned::Now => now(),
        Assigned::Json(text) => constant(text),
        Assigned::Field(name) => row.get(name).cloned().unwrap_or_default(),
    }
}
