//! Rules for a row that is created or changed.

use std::collections::BTreeSet;

use serde_json::Value;
use tabellion_runtime::spec::{Edges, EntitySpec, FieldSpec, Reference, RowRule, Unique};

use super::{Model, Refused, constant};
use crate::{
    ledger::rows::Row,
    rows::{client, made::Made},
};

impl Model {
    /// Checks the rules for a row that becomes `row`; `old` is the row before, if there was one.
    pub(super) fn check(
        &self,
        entity: &'static EntitySpec,
        old: Option<&Row>,
        row: &Row,
    ) -> Result<(), Refused> {
        let differs = |name: &str| old.is_none_or(|old| old.get(name) != row.get(name));
        entity.rules.iter().try_for_each(|rule| check_together(*rule, row))?;
        for (field, reference) in entity.references() {
            let is_new = differs(field.name) || reference.same.iter().any(|name| differs(name));
            if is_new {
                self.check_reference(entity, field, reference, row)?;
            }
        }
        for unique in entity.uniques {
            if unique.fields.iter().copied().chain(unique.while_null).any(differs) {
                self.check_unique(entity, unique, old, row)?;
            }
        }
        for edges in entity.acyclic {
            self.check_edges(entity, edges, old, row)?;
        }
        Ok(())
    }

    fn check_reference(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        reference: Reference,
        row: &Row,
    ) -> Result<(), Refused> {
        let wrong = || Refused::Field(field.name.to_owned());
        let key = row.get(field.name).unwrap_or(&Value::Null);
        if key.is_null() || field.loose {
            return Ok(());
        }
        let to = self.entity(reference.to).ok_or_else(wrong)?;
        let org = entity.org_field().and_then(|name| row.get(name)).and_then(Value::as_str);
        let target = self.by_key(to, org, key).ok_or_else(wrong)?;
        if reference.same.iter().any(|name| row.get(*name) != target.get(*name)) {
            return Err(wrong());
        }
        let start = entity.key.first().and_then(|name| row.get(*name));
        let (mut at, mut passed) = (Some(key.clone()), BTreeSet::new());
        while let Some(key) = at.filter(|key| reference.acyclic && !key.is_null()) {
            if Some(&key) == start || !passed.insert(key.to_string()) {
                return Err(wrong());
            }
            let next = self.by_key(to, org, &key);
            at = next.and_then(|row| row.get(field.name)).cloned();
        }
        Ok(())
    }

    fn check_unique(
        &self,
        entity: &'static EntitySpec,
        unique: &Unique,
        old: Option<&Row>,
        row: &Row,
    ) -> Result<(), Refused> {
        let is_null = |row: &Row, name: &str| row.get(name).is_none_or(Value::is_null);
        let counts = |row: &Row| {
            !unique.fields.iter().any(|name| is_null(row, name))
                && unique.while_null.is_none_or(|name| is_null(row, name))
        };
        if !counts(row) {
            return Ok(());
        }
        let is_same = |other: &Row| {
            let mut fields =
                unique.fields.iter().chain(entity.org_field().iter()).copied().collect::<Vec<_>>();
            fields.dedup();
            fields.iter().all(|name| {
                let (one, other) = (row.get(*name), other.get(*name));
                match (one.and_then(Value::as_str), other.and_then(Value::as_str)) {
                    (Some(one), Some(other)) if unique.folded.contains(name) => {
                        one.eq_ignore_ascii_case(other)
                    }
                    _ => one == other,
                }
            })
        };
        let mut others = self.all(entity).iter().filter(|other| Some(*other) != old);
        if others.any(|other| counts(other) && is_same(other)) {
            return Err(Refused::Field(unique.fields[0].to_owned()));
        }
        Ok(())
    }

    fn check_edges(
        &self,
        entity: &'static EntitySpec,
        edges: &Edges,
        old: Option<&Row>,
        row: &Row,
    ) -> Result<(), Refused> {
        let value = |row: &Row, name: &str| row.get(name).cloned().unwrap_or_default();
        let by = edges.by.map(|name| value(row, name));
        if !edges.among.is_empty() && !edges.among.iter().any(|text| Some(constant(text)) == by) {
            return Ok(());
        }
        let start = value(row, edges.from);
        let (mut waiting, mut passed) = (vec![value(row, edges.to)], BTreeSet::new());
        while let Some(at) = waiting.pop() {
            if at == start {
                return Err(Refused::Field(edges.to.to_owned()));
            }
            if !passed.insert(at.to_string()) {
                continue;
            }
            let further = self.all(entity).iter().filter(|other| {
                Some(*other) != old
                    && value(other, edges.from) == at
                    && edges.by.map(|name| value(other, name)) == by
                    && entity.org_field().is_none_or(|name| other.get(name) == row.get(name))
            });
            waiting.extend(further.map(|other| value(other, edges.to)));
        }
        Ok(())
    }
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// Checks a rule about several fields together.
fn check_together(rule: RowRule, row: &Row) -> Result<(), Refused> {
    let value = |name: &str| row.get(name).filter(|value| !value.is_null());
    let wrong = |name: &str| Err(Refused::Field(name.to_owned()));
    match rule {
        RowRule::AnyOf(names) if names.iter().all(|name| value(name).is_none_or(is_blank)) => wrong(names[0]),
        RowRule::AnyOf(_) => Ok(()),
        RowRule::Differ(names) => {
            let mut found = BTreeSet::new();
            let twice = names.iter().find(|name| {
                let value = value(name).map(Value::to_string);
                value.is_some_and(|value| !found.insert(value))
            });
            twice.map_or(Ok(()), |name| wrong(name))
        }
        RowRule::Ordered(names) => {
            let mut last = None;
            for name in names {
                let time = value(name).and_then(|value| match Made::from_value(value) {
                    Some(_) => Some(client::now()),
                    None => value.as_i64(),
                });
                let Some(time) = time else { continue };
                if last.is_some_and(|last| time < last) {
                    return wrong(name);
                }
                last = Some(time);
            }
            Ok(())
        }
    }
}
