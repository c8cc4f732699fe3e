//! Replays a log: computes the tables that must follow from it.

use tabellion_runtime::spec::RowsSpec;

use super::rows::{Entry, LoggedRow, Row, RowLedger, Tables, canonical_row, shown_place};

/// Returns the tables that the log gives, beginning with an empty store.
///
/// # Errors
/// The first entry that does not follow from those before it.
pub fn tables(spec: &RowsSpec, log: &[Entry]) -> Result<Tables, String> {
    let mut tables = Tables::default();
    for (number, entry) in log.iter().enumerate() {
        apply(spec, &mut tables, entry).map_err(|why| format!("entry {} of the log: {why}", number + 1))?;
    }
    Ok(tables)
}

/// Makes the change of an entry.
///
/// # Errors
/// If the rows differ from the entry's record of their old values.
pub fn apply(spec: &RowsSpec, tables: &mut Tables, entry: &Entry) -> Result<(), String> {
    for logged in &entry.rows {
        apply_row(spec, tables, logged)?;
    }
    Ok(())
}

impl RowLedger {
    /// Returns the difference between the tables and those that the log gives when it is replayed; `None` if they are equal,
    /// or the log can't be read.
    pub fn replay_differs(&self, spec: &RowsSpec) -> Option<String> {
        let replayed = match tables(spec, self.log.as_ref()?) {
            Ok(tables) => tables,
            Err(why) => return Some(why),
        };
        let difference = replayed.difference(&self.tables)?;
        Some(format!("replaying the log does not give the tables: {difference}"))
    }
}

fn apply_row(spec: &RowsSpec, tables: &mut Tables, logged: &LoggedRow) -> Result<(), String> {
    let entity = spec.entity(&logged.entity);
    let entity = entity.ok_or_else(|| format!("the contract has no entity `{}`", logged.entity))?;
    let place = logged.place(entity);
    let name = shown_place(&place);
    let found = tables.get(&place).cloned();
    let before = logged.before.clone().map(|row| canonical_row(entity, row));
    let after = logged.after.clone().map(|row| canonical_row(entity, row));
    let differs = |row: &Row, said: &Row| said.iter().any(|(name, value)| row.get(name) != Some(value));
    match (found, before, after) {
        (None, None, Some(after)) => {
            if let Some(field) = entity.fields.iter().find(|field| !after.contains_key(field.name)) {
                return Err(format!("{name} was added without `{}`", field.name));
            }
            tables.put(entity, after);
        }
        (Some(_), None, _) => return Err(format!("{name} was added, but it was there already")),
        (None, Some(_), _) => return Err(format!("{name} was changed or removed, but it was not there")),
        (Some(row), Some(before), _) if differs(&row, &before) => {
            return Err(format!("{name} was not what the entry says"));
        }
        (Some(row), Some(before), None) => {
            if row.keys().any(|field| !before.contains_key(field)) {
                return Err(format!("{name} was removed without all of its fields in the log"));
            }
            tables.remove(&place);
        }
        (Some(mut row), Some(_), Some(after)) => {
            row.extend(after);
            tables.put(entity, row);
        }
        (None, None, None) => return Err(format!("{name} has neither a state before nor one after")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::ledger::rows::tests::{PAGE, row};

    static SPEC: RowsSpec = RowsSpec { contract: "pages", entities: &[PAGE], ..RowsSpec::EMPTY };

    fn entry(before: &Value, after: &Value) -> Entry {
        let rows = json!([{ "entity": "page", "key": { "org_id": "o", "id": "a" }, "before": before, "after": after }]);
        serde_json::from_value(json!({ "id": "x", "rows": rows, "at": 1 })).expect("an entry")
    }

    #[test]
    fn a_log_gives_the_tables_or_says_which_entry_does_not_fit() {
        let whole = |set: Value| Value::Object(row("a", &set));
        let added = entry(&Value::Null, &whole(json!({})));
        let renamed = entry(&json!({ "title": "T" }), &json!({ "title": "U" }));
        let removed = entry(&whole(json!({ "title": "U" })), &Value::Null);
        let all = [added.clone(), renamed.clone(), removed.clone()];
        let after = tables(&SPEC, &all[..2]).expect("tables");
        let found: Vec<_> = after.rows("page").map(|row| row["title"].clone()).collect();
        assert_eq!(found, ["U"]);
        assert!(tables(&SPEC, &all).expect("tables").is_empty());
        for (log, expected) in [
            (
                vec![&renamed],
                "entry 1 of the log: page [\"o\",\"a\"] was changed or removed, but it was not there",
            ),
            (vec![&added, &added], "was added, but it was there already"),
            (vec![&added, &removed], "was not what the entry says"),
            (vec![&added, &entry(&json!({ "title": "T" }), &Value::Null)], "without all of its fields"),
            (vec![&entry(&Value::Null, &json!({ "id": "a" }))], "was added without `org_id`"),
        ] {
            let log: Vec<_> = log.into_iter().cloned().collect();
            let why = tables(&SPEC, &log).expect_err("an entry that does not fit");
            assert!(why.contains(expected), "{why}");
        }
    }
}
