//! The rules that a written row must keep.

use std::collections::{BTreeSet, VecDeque};

use futures_util::future::{join, join_all};
use serde_json::Value;

use super::{Filter, Plan, Row, RowError, Select, constant, equal, identity, no_such, not_found, taken};
use crate::{
    rows::{error::shown, view::Test},
    spec::{EntitySpec, FieldSpec, Reference, RowRule, Scope, Unique},
};

impl Plan<'_> {
    /// Checks the rules for the new state `row` of a row.
    pub(super) async fn check(
        &self,
        entity: &'static EntitySpec,
        old: Option<&Row>,
        row: &Row,
    ) -> Result<(), RowError> {
        let differs = |name: &str| old.is_none_or(|old| old.get(name) != row.get(name));
        Self::check_together(entity, differs, row)?;
        let is_new = |(field, reference): &(&'static FieldSpec, Reference)| {
            differs(field.name) || reference.same.iter().any(|name| differs(name))
        };
        let references = entity.references().filter(is_new);
        let references = references.map(|(field, reference)| async move {
            self.check_reference(field, reference, row).await?;
            if reference.acyclic && old.is_some() {
                self.check_chain(entity, field, row).await?;
            }
            Ok(())
        });
        let is_new = |unique: &&Unique| unique.fields.iter().copied().chain(unique.while_null).any(differs);
        let uniques = entity.uniques.iter().filter(is_new);
        let uniques = uniques.map(|unique| self.check_unique(entity, unique, row));
        let (references, uniques) = join(join_all(references), join_all(uniques)).await;
        references.into_iter().chain(uniques).collect::<Result<(), _>>()?;
        for edges in entity.acyclic {
            let by = edges.by.map(|by| row.get(by).cloned().unwrap_or_default());
            let is = |text: &&str| constant(text).ok() == by;
            if (edges.among.is_empty() || edges.among.iter().any(is))
                && [Some(edges.from), Some(edges.to), edges.by].into_iter().flatten().any(differs)
            {
                self.check_edges(entity, edges, row).await?;
            }
        }
        Ok(())
    }

    /// Checks the conditions on several fields together.
    fn check_together(
        entity: &'static EntitySpec,
        differs: impl Fn(&str) -> bool,
        row: &Row,
    ) -> Result<(), RowError> {
        let value = |name: &str| row.get(name).filter(|value| !value.is_null());
        for rule in entity.rules {
            let fields = rule.fields();
            if !fields.iter().any(|name| differs(name)) {
                continue;
            }
            let pairs = || fields.windows(2).map(|pair| (pair[0], pair[1]));
            let wrong = |field: &str, problem: String| RowError::Value { field: field.into(), problem };
            match rule {
                RowRule::AnyOf(fields) if fields.iter().all(|name| value(name).is_none_or(is_blank)) => {
                    return Err(RowError::NoneOf { fields: fields.to_vec() });
                }
                RowRule::AnyOf(_) => {}
                RowRule::Differ(_) => {
                    let is_same = |(a, b): &(&str, &str)| value(a).is_some() && value(a) == value(b);
                    if let Some((other, field)) = pairs().find(is_same) {
                        return Err(wrong(field, format!("must differ from `{other}`")));
                    }
                }
                RowRule::Ordered(_) => {
                    let time = |name: &str| value(name).and_then(Value::as_i64);
                    let is_before = |(a, b): &(&str, &str)| time(b).zip(time(a)).is_some_and(|(b, a)| b < a);
                    if let Some((first, field)) = pairs().find(is_before) {
                        return Err(wrong(field, format!("can't be before `{first}`")));
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that a row can be removed at all: the default org and the default caller can't.
    pub(super) fn check_kept(&self, entity: &'static EntitySpec, row: &Row) -> Result<(), RowError> {
        let key = entity.key.first().and_then(|name| row.get(*name));
        let org = self.spec.org.filter(|_| entity.scope == Scope::Root).map(|org| org.default);
        let caller = self.spec.caller.filter(|caller| caller.entity == entity.name);
        let default = org.or(caller.map(|caller| caller.default));
        match key {
            Some(key) if default.is_some_and(|default| key == default) => {
                Err(RowError::Kept { entity: entity.name, key: shown(key) })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the call's org exists.
    pub(in crate::rows) async fn check_org(&self, entity: &'static EntitySpec) -> Result<(), RowError> {
        let is_within = entity.org_field().is_some() || entity.scope == Scope::Root && self.within.is_bound;
        let (true, Some(org), Some(key)) = (is_within, self.spec.org, self.org()) else {
            return Ok(());
        };
        let orgs = self.entity(org.entity)?;
        match self.get(orgs, std::slice::from_ref(&key)).await? {
            Some(_) => Ok(()),
            None if self.within.is_bound => Err(no_such(org.argument.unwrap_or_default(), orgs, &key)),
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
        if key.is_null() || field.loose {
            return Ok(());
        }
        let to = self.entity(reference.to)?;
        let Some(target) = self.get(to, std::slice::from_ref(key)).await? else {
            return Err(no_such(field.name, to, key));
        };
        match reference.same.iter().find(|name| row.get(**name) != target.get(**name)) {
            Some(same) => Err(RowError::Elsewhere { field: field.name, same }),
            None => Ok(()),
        }
    }

    /// Checks that the chain of `field` from `row` does not lead back to it.
    async fn check_chain(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        row: &Row,
    ) -> Result<(), RowError> {
        let start = entity.key.first().and_then(|name| row.get(*name));
        let mut at = row.get(field.name).cloned().unwrap_or_default();
        let mut way: Vec<_> = start.cloned().into_iter().collect();
        let mut passed = BTreeSet::new();
        while !at.is_null() && passed.insert(at.to_string()) {
            way.push(at.clone());
            if Some(&at) == start {
                return Err(circle(field.name, way));
            }
            let next = self.get(entity, &[at]).await?;
            at = next.and_then(|row| row.get(field.name).cloned()).unwrap_or_default();
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
        let mut waiting = VecDeque::from([vec![start.clone(), end(row, edges.to)]]);
        let mut passed = BTreeSet::new();
        while let Some(way) = waiting.pop_front() {
            let Some(at) = way.last().cloned() else { continue };
            if at == start {
                return Err(circle(edges.to, way));
            }
            if !passed.insert(at.to_string()) {
                continue;
            }
            let mut filters = vec![Filter::is(edges.from, at)];
            filters.extend(edges.by.map(|by| Filter::is(by, end(row, by))));
            let further = self.select(Select::new(entity, filters)).await?;
            let further = further.iter().filter(|row| identity(entity, row) != own);
            waiting.extend(further.map(|row| [way.as_slice(), &[end(row, edges.to)]].concat()));
        }
        Ok(())
    }

    async fn check_unique(
        &self,
        entity: &'static EntitySpec,
        unique: &Unique,
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
        let key = identity(entity, row);
        let found = self.select(Select::new(entity, filters)).await?;
        let Some(other) = found.iter().find(|found| identity(entity, found) != key) else {
            return Ok(());
        };
        let mut error = taken(entity, unique.fields);
        if let RowError::Taken { open, .. } = &mut error {
            let key = entity.key.iter().map(|name| shown(other.get(*name).unwrap_or(&Value::Null)));
            *open = unique.while_null.map(|field| (key.collect::<Vec<_>>().join(" "), field));
        }
        Err(error)
    }
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}

fn circle(field: &'static str, way: Vec<Value>) -> RowError {
    RowError::Circle { field, way }
}
