//! The effects of creating, updating and deleting on the rows; `create` has the values of new ones.

use serde_json::Value;
use tabellion_runtime::spec::{
    Action, Assigned, Assignment, EntitySpec, FieldSpec, FieldType, Moment, OnDelete, Scope,
};

use super::{Model, Refused, constant, now, stored_form};
use crate::{
    ledger::rows::Row,
    rows::{Request, values},
};

impl Model {
    /// Makes the change of a request; after an error, the model is of no use.
    pub(super) fn change(&mut self, request: &Request) -> Result<(), Refused> {
        let (entity, org) = (request.entity, request.content.org.as_deref());
        match request.operation.action {
            Action::Create => {
                let given = given(entity, request)?;
                self.create(entity, org, request.content.caller.as_deref(), &given)
            }
            Action::Update => {
                let mut data = named(entity, &request.content.data)?;
                let at = self.find(entity, request).ok_or(Refused::NotThere)?;
                if request.operation.key_in_data {
                    data.retain(|name, _| !entity.key.contains(&name.as_str()));
                }
                match request.operation.set {
                    [] => self.update(entity, at, &data),
                    set => self.assign(entity, at, set, (request.operation.fields, &data)),
                }
            }
            Action::Delete => {
                let at = self.find(entity, request).ok_or(Refused::NotThere)?;
                self.delete(entity, at)
            }
            Action::Get | Action::List => Ok(()),
        }
    }

    fn update(&mut self, entity: &'static EntitySpec, at: usize, set: &Row) -> Result<(), Refused> {
        check_fields(entity, set, false)?;
        let old = self.all(entity)[at].clone();
        for (name, value) in set {
            let Some(field) = entity.field(name) else { continue };
            // A row can be sent back as it was read.
            if old.get(name) == Some(&stored_form(field, value.clone())) {
                continue;
            }
            let is_fixed = field.is_fixed()
                || entity.key.contains(&field.name)
                || entity.org_field() == Some(field.name);
            if is_fixed || !values::is_valid(field, value) {
                return Err(Refused::Field(name.clone()));
            }
        }
        self.patch(entity, at, set)
    }

    /// Sets the fields that an operation of its own assigns, to the contract's values or the given ones.
    fn assign(
        &mut self,
        entity: &'static EntitySpec,
        at: usize,
        set: &[Assignment],
        (fields, data): (&[&str], &Row),
    ) -> Result<(), Refused> {
        let old = self.all(entity)[at].clone();
        if let Some(name) = data.keys().find(|name| !fields.contains(&name.as_str())) {
            return Err(Refused::Field(name.clone()));
        }
        let mut changed = Row::new();
        for assignment in set {
            let given = data.get(assignment.field);
            let field = entity.field(assignment.field);
            let is_wrong =
                |value: &Value| value.is_null() || field.is_none_or(|field| !values::is_valid(field, value));
            if given.is_some_and(is_wrong) {
                return Err(Refused::Field(assignment.field.to_owned()));
            }
            let is_free = old.get(assignment.field).is_none_or(Value::is_null);
            if !assignment.if_null || is_free {
                let value = given.cloned().unwrap_or_else(|| assigned(assignment, &old));
                changed.insert(assignment.field.to_owned(), value);
            }
        }
        self.patch(entity, at, &changed)
    }

    /// Sets fields of a row, with all that follows.
    fn patch(&mut self, entity: &'static EntitySpec, at: usize, set: &Row) -> Result<(), Refused> {
        let old = self.all(entity)[at].clone();
        let mut row = old.clone();
        let mut given = Row::new();
        for (name, value) in set {
            let value = match entity.field(name) {
                Some(field) => stored_form(field, value.clone()),
                None => value.clone(),
            };
            if old.get(name) != Some(&value) {
                row.insert(name.clone(), value.clone());
                given.insert(name.clone(), value);
            }
        }
        self.copy_again(entity, &old, &mut row)?;
        hooks(entity, Some(&old), &given, &mut row);
        let is_changed = row != old;
        if is_changed {
            let of_change = |field: &&FieldSpec| matches!(field.kind, FieldType::Now(Moment::Change));
            for field in entity.fields.iter().filter(of_change) {
                row.insert(field.name.to_owned(), now());
            }
        }
        self.check(entity, Some(&old), &row)?;
        self.put(entity, at, row);
        self.take_marks(entity, Some(&old), at)?;
        if is_changed {
            self.also(entity, Action::Update, at)?;
        }
        Ok(())
    }

    /// Removes a row and those that go with it, and clears the references to them.
    fn delete(&mut self, entity: &'static EntitySpec, at: usize) -> Result<(), Refused> {
        let key = entity.key.first().and_then(|name| self.all(entity)[at].get(*name));
        let org = self.spec.org.filter(|_| entity.scope == Scope::Root).map(|org| org.default);
        let caller = self.spec.caller.filter(|caller| caller.entity == entity.name);
        let defaults = [org, caller.map(|caller| caller.default)];
        if defaults.into_iter().flatten().any(|default| key == Some(&default.into())) {
            return Err(Refused::InUse(entity.name));
        }
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
                    if !gone.iter().any(|(entity, known)| entity.name == other.name && *known == row) {
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
        self.removed.extend(gone.into_iter().map(|(entity, row)| (entity.name, row)));
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
    pub(super) fn take_marks(
        &mut self,
        entity: &'static EntitySpec,
        old: Option<&Row>,
        at: usize,
    ) -> Result<(), Refused> {
        let own = self.all(entity)[at].clone();
        for field in entity.fields.iter().filter(|field| !field.one_true_in.is_empty()) {
            let has = |row: &Row| row.get(field.name) == Some(&true.into());
            let had_here =
                |old: &Row| has(old) && field.one_true_in.iter().all(|name| old.get(*name) == own.get(*name));
            if !has(&own) || old.is_some_and(had_here) {
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
    pub(super) fn also(&mut self, entity: &'static EntitySpec, on: Action, at: usize) -> Result<(), Refused> {
        for also in entity.also.iter().filter(|also| also.on == on) {
            let row = self.all(entity)[at].clone();
            let is = |row: &Row, (name, value): &(&str, &str)| row.get(*name) == Some(&constant(value));
            let key = row.get(also.key).cloned().unwrap_or_default();
            if key.is_null() || !also.when.iter().all(|field| is(&row, field)) {
                continue;
            }
            let wrong = || Refused::Field(also.key.to_owned());
            let other = self.entity(also.entity).ok_or_else(wrong)?;
            let org = entity.org_field().and_then(|name| row.get(name)).and_then(Value::as_str);
            let old = self.by_key(other, org, &key).cloned().ok_or_else(wrong)?;
            if !also.unless.is_empty() && also.unless.iter().all(|field| is(&old, field)) {
                match on {
                    Action::Create => return Err(wrong()),
                    _ => continue,
                }
            }
            let at = self.all(other).iter().position(|it| *it == old).ok_or_else(wrong)?;
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

    pub(super) fn push(&mut self, entity: &'static EntitySpec, row: Row) -> usize {
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

/// Returns the values of a new row: its data, and the values next to them.
fn given(entity: &'static EntitySpec, request: &Request) -> Result<Row, Refused> {
    let mut given = named(entity, &request.content.data)?;
    let org = request.content.org.as_deref().filter(|_| entity.scope == Scope::Root);
    let org = entity.key.first().zip(org).map(|(name, org)| ((*name).to_owned(), org.into()));
    for (name, value) in request.content.key.clone().into_iter().chain(org) {
        match given.insert(name.clone(), value.clone()) {
            Some(other) if other != value => return Err(Refused::Field(name)),
            _ => {}
        }
    }
    Ok(given)
}

/// Returns data with fields under their own names.
fn named(entity: &'static EntitySpec, data: &Row) -> Result<Row, Refused> {
    let mut named = data.clone();
    for field in entity.fields {
        let Some(alias) = field.alias else { continue };
        let Some(value) = named.shift_remove(alias) else {
            continue;
        };
        match named.insert(field.name.to_owned(), value.clone()) {
            Some(other) if other != value => return Err(Refused::Field(alias.to_owned())),
            _ => {}
        }
    }
    Ok(named)
}

/// Checks that the entity has the fields that are named.
pub(super) fn check_fields(entity: &EntitySpec, given: &Row, is_new: bool) -> Result<(), Refused> {
    // A field that is copied into a new row can be given, if it has the same value.
    let is_kept_back = |field: &FieldSpec| field.hidden && !(is_new && field.copy.is_some());
    let is_unknown = |name: &&String| entity.field(name).is_none_or(is_kept_back);
    match given.keys().find(is_unknown) {
        Some(name) => Err(Refused::Field(name.clone())),
        None => Ok(()),
    }
}

/// Applies the hooks of fields that have become, or are no longer, a certain value.
pub(super) fn hooks(entity: &EntitySpec, old: Option<&Row>, given: &Row, row: &mut Row) {
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
