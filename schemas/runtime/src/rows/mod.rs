//! Rows: the data of contracts whose store is a database.
//!
//! A change is a list of [`RowChange`]s, which a store makes in one transaction with one entry in its log. [`table`] plans the changes of
//! operations on entities; [`view`] defines the reads that a store permits.

mod beside;
pub mod error;
pub mod plan;
pub mod table;
mod text;
mod value;
pub mod view;

use std::borrow::Cow;
use std::collections::BTreeSet;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub use self::{
    beside::{LoneChange, LoneReason, lone_changes},
    error::RowError,
    plan::{Plan, Within},
    table::{PROVENANCE, Table, USER, facts_of, run},
    text::pascal,
    value::{MAX_LOOSE_CHARS, checked},
    view::{Filter, Fresh, Order, RowView, Select, Test},
};
use crate::{
    approver::ProposedEffect,
    change::ChangeError,
    context::CHANGE,
    failure::Failure,
    future::BoxFuture,
    ground::{Ground, HasView},
    ids::ContentId,
    spec::{EntitySpec, FieldType, Shows},
};

/// Names of tables that stores of rows have for themselves.
const OWN_TABLES: [&str; 3] = ["change", "meta", "removed"];

/// Returns true if an entity can have a table of this name.
pub fn is_table(name: &str) -> bool {
    !OWN_TABLES.contains(&name) && !name.starts_with("sqlite_")
}

/// The fields of a row, all of them, in the order of the entity.
pub type Row = Map<String, Value>;

/// Rows of a contract's entities.
#[derive(Debug)]
pub enum Rows {}

/// The changes of one transaction: at least one row, each once.
#[derive(Debug, Clone, PartialEq)]
pub struct RowsChange {
    rows: Vec<RowChange>,
    /// The operation, in one word: `create`, `delete`.
    pub operation: &'static str,
}

/// The change of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct RowChange {
    /// Its entity.
    pub entity: &'static EntitySpec,
    /// The values that identify it, in the order of [`EntitySpec::identity`].
    pub key: Vec<Value>,
    /// Its edit.
    pub edit: RowEdit,
    /// Names of the fields whose values the store made: ids, times, secrets.
    pub made: BTreeSet<&'static str>,
    name: String,
}

/// The edit of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum RowEdit {
    /// It is added.
    Insert(Row),
    /// These fields get these values.
    Patch(Row),
    /// It is removed.
    Remove,
}

/// A row before a change, and the id of its content.
#[derive(Debug, Clone, PartialEq)]
pub struct RowBefore {
    /// The row.
    pub row: Row,
    /// Id of its content.
    pub id: ContentId,
}

impl RowChange {
    /// Creates the change of the row with these identifying values. The store generated the values of the fields in `made`.
    pub fn new(
        entity: &'static EntitySpec,
        key: Vec<Value>,
        edit: RowEdit,
        made: BTreeSet<&'static str>,
    ) -> Self {
        let of_org = entity.org_field().iter().count();
        let shown = key.iter().skip(of_org).map(error::bare);
        let name = format!("{} {}", entity.name, shown.collect::<Vec<_>>().join(" "));
        Self { entity, key, edit, made, name }
    }

    /// Returns the entity's name and the key, for messages that quote them together.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl RowsChange {
    /// Creates a change of several rows. The caller's `tabellion/ifBase` is compared with the first one.
    ///
    /// # Errors
    /// If there is no row, or a row is listed twice.
    pub fn new(rows: Vec<RowChange>, operation: &'static str) -> Result<Self, ChangeError> {
        if rows.is_empty() {
            return Err(ChangeError::Empty);
        }
        let mut found = BTreeSet::new();
        let mut is_new =
            |change: &RowChange| found.insert((change.entity.name, json!(change.key).to_string()));
        if let Some(twice) = rows.iter().find(|change| !is_new(change)) {
            return Err(ChangeError::Twice(twice.name.clone()));
        }
        Ok(Self { rows, operation })
    }

    /// Returns the changes of rows in their order.
    pub fn rows(&self) -> &[RowChange] {
        &self.rows
    }

    /// Takes the changes of rows out.
    pub fn into_rows(self) -> Vec<RowChange> {
        self.rows
    }

    /// Returns the generated ids.
    fn made_ids(&self) -> Vec<&Value> {
        let made = self.rows.iter().flat_map(|change| {
            let is_id = |name: &&&str| {
                let kind = change.entity.field(name).map(|field| field.kind);
                matches!(kind, Some(FieldType::Id))
            };
            let fields = change.made.iter().filter(is_id);
            fields.filter_map(|name| match &change.edit {
                RowEdit::Insert(row) | RowEdit::Patch(row) => row.get(*name),
                RowEdit::Remove => None,
            })
        });
        made.collect()
    }

    /// Returns the change of one row as text, without values that are generated anew when the change is planned again.
    fn approved(&self, change: &RowChange) -> String {
        let ids = self.made_ids();
        let mask = |value: &Value| match ids.iter().position(|id| *id == value) {
            Some(at) => json!({ "made": at }),
            None => value.clone(),
        };
        let masked = |row: &Row| -> Row {
            let kept = row.iter().map(|(name, value)| {
                let value =
                    if change.made.contains(name.as_str()) { json!({ "made": name }) } else { mask(value) };
                (name.clone(), value)
            });
            kept.collect()
        };
        let key: Vec<_> = change.key.iter().map(mask).collect();
        let edit = match &change.edit {
            RowEdit::Insert(row) => json!({ "insert": masked(row) }),
            RowEdit::Patch(set) => json!({ "patch": masked(set) }),
            RowEdit::Remove => json!("remove"),
        };
        json!([change.entity.name, key, edit]).to_string()
    }
}

impl Ground for Rows {
    type View<'v> = &'v (dyn RowView + 'v);
    type Change = RowsChange;
    /// The changed rows, in the order of the changes.
    type Before = Vec<Option<RowBefore>>;
    const RECEIPT: &'static str = CHANGE;

    fn names(change: &RowsChange) -> Vec<&str> {
        change.rows.iter().map(RowChange::name).collect()
    }

    fn before<'a>(
        view: &'a dyn RowView,
        change: &'a RowsChange,
    ) -> BoxFuture<'a, Result<Self::Before, Failure>> {
        Box::pin(async move {
            let mut before = vec![];
            for change in &change.rows {
                let row = view.get(change.entity, &change.key).await?;
                before.push(row.map(|row| RowBefore { id: content_id(change.entity, &row), row }));
            }
            Ok(before)
        })
    }

    fn base<'b>(before: &'b Self::Before, _: &RowsChange) -> Option<&'b ContentId> {
        before.first()?.as_ref().map(|before| &before.id)
    }

    fn effect(_: &Self::Before, change: &RowsChange) -> ProposedEffect {
        let all = |is: fn(&RowEdit) -> bool| change.rows.iter().all(|change| is(&change.edit));
        if all(|edit| matches!(edit, RowEdit::Insert(_))) {
            ProposedEffect::Create
        } else if all(|edit| matches!(edit, RowEdit::Remove)) {
            ProposedEffect::Delete
        } else {
            ProposedEffect::Change
        }
    }

    fn appended(_: &Self::Before, _: &RowsChange) -> Result<String, String> {
        Err("a change of rows appends no text; the contract must show the difference".into())
    }

    fn approved<'c>(
        before: &'c Self::Before,
        change: &'c RowsChange,
        shows: Shows,
    ) -> Result<Vec<Option<Cow<'c, [u8]>>>, String> {
        if shows == Shows::Appended {
            Self::appended(before, change)?;
        }
        let mut parts = vec![];
        for (before, row) in before.iter().zip(&change.rows) {
            parts.push(Some(change.approved(row).into_bytes().into()));
            let id = before.as_ref().map(|before| before.id.as_bytes());
            parts.push(id.map(Cow::from));
        }
        Ok(parts)
    }
}

impl<T: RowView> HasView<Rows> for T {
    fn view(&self) -> &dyn RowView {
        self
    }
}

/// Returns the id of a row's content: the SHA-256 of its canonical JSON, which has the fields in the order of the entity, without
/// secrets.
pub fn content_id(entity: &EntitySpec, row: &Row) -> ContentId {
    let is_secret = |kind| matches!(kind, FieldType::Secret { .. });
    let fields = entity.fields.iter().filter(|field| !is_secret(field.kind));
    let canonical: Row = fields
        .map(|field| {
            let value = row.get(field.name).cloned().unwrap_or_default();
            (field.name.to_owned(), value)
        })
        .collect();
    let canonical = Value::Object(canonical).to_string();
    ContentId::new(HEXLOWER.encode(&Sha256::digest(canonical)))
}

/// Returns the values that identify `row`, in the order of [`EntitySpec::identity`].
pub fn identity(entity: &EntitySpec, row: &Row) -> Vec<Value> {
    let value = |name| row.get(name).cloned().unwrap_or_default();
    entity.identity().map(value).collect()
}
