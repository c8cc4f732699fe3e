//! Compares the model with a server's tables, and learns the values that the server made.

use serde_json::Value;
use tabellion_runtime::spec::{EntitySpec, FieldType};

use super::Model;
use crate::{
    ledger::rows::{Row, Tables, identity, shown},
    rows::made::{Circumstances, Made},
};

/// Adds an id to those that are known, once.
fn remember(known: &mut Vec<Value>, id: &Value) {
    if !known.contains(id) {
        known.push(id.clone());
    }
}

impl Model {
    /// Compares the model with the tables after a call that was made at some time `within`; then it has the tables' rows.
    ///
    /// # Errors
    /// The first difference, for people.
    pub fn learn(&mut self, tables: &Tables, within: (i64, i64)) -> Result<(), String> {
        for entity in self.spec.entities {
            self.compare(entity, tables, within)?;
        }
        self.take(tables);
        Ok(())
    }

    /// Takes the tables as they are.
    pub(super) fn take(&mut self, tables: &Tables) {
        for entity in self.spec.entities {
            let rows: Vec<_> = tables.rows(entity.name).cloned().collect();
            for field in entity.fields {
                let values = || rows.iter().filter_map(|row| row.get(field.name));
                match field.kind {
                    FieldType::Seq => {
                        self.last = values().filter_map(Value::as_i64).fold(self.last, i64::max)
                    }
                    FieldType::Id => {
                        let known = self.ids.entry(entity.name).or_default();
                        values().for_each(|id| remember(known, id));
                    }
                    _ => {}
                }
            }
            self.rows.insert(entity.name, rows);
        }
    }

    fn compare(
        &self,
        entity: &'static EntitySpec,
        tables: &Tables,
        within: (i64, i64),
    ) -> Result<(), String> {
        let name = |row: &Row| format!("{} {}", entity.name, identity(entity, row));
        let is_new = |row: &&Row| {
            let mut names = entity.identity();
            names.any(|name| row.get(name).and_then(Made::from_value).is_some())
        };
        let mut left: Vec<_> = tables.rows(entity.name).collect();
        let (new, known): (Vec<_>, Vec<_>) = self.all(entity).iter().partition(is_new);
        for expected in known {
            let is_same = |row: &&Row| identity(entity, row) == identity(entity, expected);
            match left.iter().position(is_same) {
                Some(at) => self.compare_row(entity, expected, left.remove(at), within)?,
                None => return Err(format!("{} is missing", name(expected))),
            }
        }
        for expected in new {
            match left.pop() {
                Some(found) => self.compare_row(entity, expected, found, within)?,
                None => return Err(format!("the new {} is missing", entity.name)),
            }
        }
        match left.first() {
            Some(row) => Err(format!("{} should not be there", name(row))),
            None => Ok(()),
        }
    }

    fn compare_row(
        &self,
        entity: &'static EntitySpec,
        expected: &Row,
        found: &Row,
        within: (i64, i64),
    ) -> Result<(), String> {
        let ids = |id: &Value| self.ids.get(entity.name).is_some_and(|ids| ids.contains(id));
        let known = Circumstances { within, last: self.last, ids: &ids };
        for field in entity.fields {
            let value = |row: &Row| row.get(field.name).cloned().unwrap_or_default();
            let (expected, found_value) = (value(expected), value(found));
            let wrong = match Made::from_value(&expected) {
                Some(made) => made.check(field, &found_value, &known).err(),
                None if expected != found_value => {
                    Some(format!("is {} instead of {}", shown(&found_value), shown(&expected)))
                }
                None => None,
            };
            if let Some(wrong) = wrong {
                let row = identity(entity, found);
                return Err(format!("`{}` of {} {row} {wrong}", field.name, entity.name));
            }
        }
        Ok(())
    }
}
