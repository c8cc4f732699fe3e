//! Keys that a step can name: of rows that are there, of rows of other orgs, and of no row.

use serde_json::{Value, json};
use tabellion_runtime::spec::{EntitySpec, FieldSpec, FieldType, Scope};

use super::step::{Choice, MISSING};
use crate::{
    ledger::rows::Row,
    rows::{Model, RowsClient, requests},
};

/// The rows that a step can name.
pub(super) struct NamedRows<'m> {
    pub(super) rows: &'m RowsClient<'m>,
    pub(super) model: &'m Model,
    pub(super) org: Option<&'m str>,
}

impl NamedRows<'_> {
    pub(super) fn row(&self, entity: &'static EntitySpec, choice: &Choice) -> Option<&Row> {
        let all: Vec<_> = match choice {
            Choice::Elsewhere(_) => {
                let here: Vec<_> = self.model.visible(entity, self.org).collect();
                let all = self.model.all(entity).iter();
                all.filter(|row| !here.contains(row)).collect()
            }
            _ => self.model.visible(entity, self.org).collect(),
        };
        match choice {
            Choice::Row(number) | Choice::Elsewhere(number) if !all.is_empty() => {
                Some(all[number % all.len()])
            }
            _ => None,
        }
    }

    /// Returns the key of a row, which may be given itself.
    pub(super) fn key(&self, entity: &'static EntitySpec, choice: &Choice) -> Option<Row> {
        if *choice == Choice::Missing {
            let missing = |name: &&str| ((*name).to_owned(), json!(MISSING));
            return Some(entity.key.iter().map(missing).collect());
        }
        if let (Choice::Value(value), [name]) = (choice, entity.key) {
            return Some(Row::from_iter([((*name).to_owned(), value.clone())]));
        }
        self.row(entity, choice).map(|row| requests::key_of(entity, row))
    }

    /// Returns the name that the call gives its caller: by a field of a row, or the key of the default one.
    pub(super) fn caller(&self, named: Option<&(Choice, usize)>) -> Option<String> {
        let caller = self.rows.spec.caller?;
        let entity = self.rows.spec.entity(caller.entity)?;
        let Some((choice, by)) = named else {
            return Some(caller.default.to_owned());
        };
        let by = caller.by[by % caller.by.len()];
        let value = self.row(entity, choice).and_then(|row| row.get(by)?.as_str());
        Some(value.unwrap_or(MISSING).to_owned())
    }

    /// Returns the value of a field of a row, of which `known` is known already; `None` if there is none.
    pub(super) fn value(
        &self,
        entity: &'static EntitySpec,
        field: &FieldSpec,
        choice: &Choice,
        known: &Row,
    ) -> Option<Value> {
        match (choice, field.kind) {
            (Choice::Value(value), _) => Some(value.clone()),
            (Choice::Next(is_right), FieldType::Next(next)) => {
                let is_same = |row: &&Row| next.within.iter().all(|name| row.get(*name) == known.get(*name));
                let same = self.model.visible(entity, self.org).filter(is_same);
                let largest = same.filter_map(|row| row.get(field.name)?.as_i64()).max();
                Some((largest.unwrap_or(0) + if *is_right { 1 } else { 9 }).into())
            }
            (choice, FieldType::Ref(reference)) => {
                let to = self.rows.spec.entity(reference.to)?;
                if to.scope == Scope::Root && entity.org_field() == Some(field.name) {
                    return None;
                }
                self.key(to, choice)?.get(to.key[0]).cloned()
            }
            _ => None,
        }
    }
}
