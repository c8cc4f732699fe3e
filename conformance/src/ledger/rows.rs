//! The rows and the log of a server under test, read without the server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde::Deserialize;
use serde_json::{Map, Number, Value};
use tabellion_runtime::spec::{EntitySpec, FieldSpec, FieldType};

/// The fields of a row by their names.
pub type Row = Map<String, Value>;

/// Maximum number of characters that a message quotes of a value.
const MAX_SHOWN: usize = 200;

/// The rows of all entities, each by its entity and its identity: its org and its key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables(BTreeMap<String, BTreeMap<String, Row>>);

/// Rows and log of a server at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLedger {
    /// The rows.
    pub tables: Tables,
    /// The entries of the log, oldest first; `None` if there is no way to read it.
    pub log: Option<Vec<Entry>>,
}

/// One entry of the log: one change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// Its id, which the caller received.
    pub id: String,
    /// The changed rows.
    pub rows: Vec<LoggedRow>,
    /// Other data that the server keeps with it.
    #[serde(flatten)]
    pub other: Row,
}

/// The log's record of one row.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LoggedRow {
    /// Name of the entity.
    pub entity: String,
    /// The identifying fields.
    pub key: Row,
    /// The fields that changed, as they were; all fields if the row was removed, none if it was added.
    pub before: Option<Row>,
    /// The fields that changed, as they are; all fields if the row was added, none if it was removed.
    pub after: Option<Row>,
}

/// The name of a row: its entity, and the JSON of its identity.
pub type RowName = (String, String);

impl Tables {
    /// Returns the rows of an entity.
    pub fn rows(&self, entity: &str) -> impl Iterator<Item = &Row> + Clone {
        self.0.get(entity).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the first row of an entity that has these values.
    pub fn find(&self, entity: &str, values: &Row) -> Option<&Row> {
        self.rows(entity).find(|row| values.iter().all(|(name, value)| row.get(name) == Some(value)))
    }

    /// Returns the number of rows of all entities.
    pub fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the row at a place.
    pub fn get(&self, (entity, identity): &RowName) -> Option<&Row> {
        self.0.get(entity)?.get(identity)
    }

    /// Adds or replaces a row, in the form in which values are compared.
    pub fn put(&mut self, entity: &EntitySpec, row: Row) {
        let row = canonical_row(entity, row);
        let identity = identity(entity, &row);
        self.0.entry(entity.name.to_owned()).or_default().insert(identity, row);
    }

    /// Removes the row at a place.
    pub fn remove(&mut self, (entity, identity): &RowName) -> Option<Row> {
        self.0.get_mut(entity)?.remove(identity)
    }

    /// Returns the places of the rows that differ, or are in one of the two only.
    pub fn changed(&self, later: &Self) -> BTreeSet<RowName> {
        let places = |tables: &Self| {
            let all = tables.0.iter();
            let all = all.flat_map(|(entity, rows)| rows.keys().map(|row| (entity.clone(), row.clone())));
            all.collect::<BTreeSet<_>>()
        };
        let all = places(self).into_iter().chain(places(later));
        all.filter(|place| self.get(place) != later.get(place)).collect()
    }

    /// Returns the first difference, for people; `None` if there is none.
    pub fn difference(&self, later: &Self) -> Option<String> {
        let place = self.changed(later).into_iter().next()?;
        let name = shown_place(&place);
        Some(match (self.get(&place), later.get(&place)) {
            (Some(_), None) => format!("{name} is missing"),
            (None, Some(row)) => {
                format!("{name} should not be there: {}", shown(&Value::Object(row.clone())))
            }
            (Some(old), Some(new)) => format!("{name}: {}", differing(old, new)),
            (None, None) => return None,
        })
    }
}

impl RowLedger {
    /// Returns the entries that were added to the log since `earlier`.
    ///
    /// # Errors
    /// If the earlier entries were changed or removed.
    pub fn entries_since(&self, earlier: &Self) -> Result<Option<&[Entry]>, String> {
        let (Some(log), Some(old)) = (&self.log, &earlier.log) else {
            return Ok(None);
        };
        match log.split_at_checked(old.len()) {
            Some((before, new)) if before == old => Ok(Some(new)),
            _ => Err("an entry of the log was changed or removed".to_owned()),
        }
    }
}

impl LoggedRow {
    /// Returns the row's place.
    pub fn place(&self, entity: &EntitySpec) -> RowName {
        let key = canonical_row(entity, self.key.clone());
        (self.entity.clone(), identity(entity, &key))
    }
}

/// Returns the JSON of the values that identify a row: its org and its key.
pub fn identity(entity: &EntitySpec, row: &Row) -> String {
    let value = |name| row.get(name).cloned().unwrap_or_default();
    Value::Array(entity.identity().map(value).collect()).to_string()
}

/// Returns the row with its values in the form in which they are compared.
pub fn canonical_row(entity: &EntitySpec, row: Row) -> Row {
    let value = |(name, value): (String, Value)| {
        let value = match entity.field(&name) {
            Some(field) => canonical(field, value),
            None => value,
        };
        (name, value)
    };
    row.into_iter().map(value).collect()
}

/// Returns a value in the form in which it is compared: whole numbers as integers where a field has integers, and as fractions where it
/// has numbers.
pub fn canonical(field: &FieldSpec, value: Value) -> Value {
    let Value::Number(number) = &value else {
        return value;
    };
    let form = match field.kind {
        FieldType::Number => number.as_f64().and_then(Number::from_f64),
        FieldType::Json => None,
        _ => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            number.as_i64().or(whole.map(|number| number as i64)).map(Number::from)
        }
    };
    form.map_or(value, Value::Number)
}

/// Returns a row's name for people: `issue ["home","a"]`.
pub fn shown_place((entity, identity): &RowName) -> String {
    format!("{entity} {}", cut(identity))
}

/// Returns a value for people, cut if it is long.
pub fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns the fields in which two rows differ, for people.
fn differing(expected: &Row, found: &Row) -> String {
    let mut text = String::new();
    let names: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for name in names {
        let (expected, found) = (expected.get(name), found.get(name));
        if expected != found {
            let value = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), shown);
            // Writing to a `String` does not fail.
            let _ = write!(
                text,
                "{}`{name}` is {} instead of {}",
                if text.is_empty() { "" } else { ", " },
                value(found),
                value(expected)
            );
        }
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;
    use tabellion_runtime::spec::Scope;

    use super::*;

    pub(crate) static PAGE: EntitySpec = EntitySpec {
        name: "page",
        table: "pages",
        scope: Scope::Org("org_id"),
        fields: &[
            FieldSpec::new("id", FieldType::Id),
            FieldSpec::new("org_id", FieldType::Id),
            FieldSpec::new("title", FieldType::Text { min: 0, max: 9 }),
            FieldSpec::new("weight", FieldType::Number),
            FieldSpec::new("count", FieldType::Integer { min: 0, max: 9 }),
            FieldSpec::new("pinned", FieldType::Boolean),
            FieldSpec::new("extra", FieldType::Json),
        ],
        ..EntitySpec::EMPTY
    };

    pub(crate) fn row(id: &str, set: &Value) -> Row {
        let mut row = json!({
            "id": id, "org_id": "o", "title": "T", "weight": 1.5, "count": 2, "pinned": false, "extra": null,
        });
        for (name, value) in set.as_object().expect("an object") {
            row[name] = value.clone();
        }
        row.as_object().expect("an object").clone()
    }

    fn tables(rows: &[Row]) -> Tables {
        let mut tables = Tables::default();
        rows.iter().for_each(|row| tables.put(&PAGE, row.clone()));
        tables
    }

    #[test]
    fn numbers_are_compared_by_their_values() {
        let one = tables(&[row("a", &json!({ "weight": 1, "count": 2.0 }))]);
        let other = tables(&[row("a", &json!({ "weight": 1.0, "count": 2 }))]);
        assert_eq!(one.difference(&other), None);
        // In a field of any JSON, numbers keep their form.
        let one = tables(&[row("a", &json!({ "extra": 1 }))]);
        let other = tables(&[row("a", &json!({ "extra": 1.0 }))]);
        assert!(one.difference(&other).is_some());
    }

    #[test]
    fn a_difference_names_the_row_and_the_field() {
        let old = tables(&[row("a", &json!({})), row("b", &json!({}))]);
        for (later, expected) in [
            (
                tables(&[row("a", &json!({ "title": "U" })), row("b", &json!({}))]),
                r#"page ["o","a"]: `title` is "U" instead of "T""#,
            ),
            (tables(&[row("a", &json!({}))]), r#"page ["o","b"] is missing"#),
            (
                tables(&[row("a", &json!({})), row("b", &json!({})), row("c", &json!({}))]),
                r#"page ["o","c"] should not be there"#,
            ),
        ] {
            let difference = old.difference(&later).expect("a difference");
            assert!(difference.starts_with(expected), "{difference}");
        }
    }
}
