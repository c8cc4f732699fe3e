//! Refusals of changes of rows.

use serde_json::{Map, Value};

use crate::{
    failure::{Failure, FailureKind},
    pointer,
    schema::Violation,
};

/// Maximum number of characters that a message quotes of a value.
const MAX_SHOWN: usize = 128;

/// The refusal of an operation on rows. The rows are unchanged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RowError {
    /// The row does not exist, or belongs to a different org.
    #[error("there is no {entity} {key}; list those that there are")]
    NotFound {
        /// Name of the entity.
        entity: &'static str,
        /// The key, for people.
        key: String,
    },
    /// A row that a field refers to does not exist, or belongs to a different org.
    #[error("`{field}` names no {entity}: there is no {key}")]
    NoSuch {
        /// Name of the field.
        field: &'static str,
        /// Name of the entity that it refers to.
        entity: &'static str,
        /// The value, for people.
        key: String,
    },
    /// A row that a field refers to belongs elsewhere.
    #[error("`{field}` must name a row with the same `{same}`")]
    Elsewhere {
        /// Name of the field.
        field: &'static str,
        /// Name of the field that differs.
        same: &'static str,
    },
    /// A unique value is taken.
    #[error(
        "there is {article} {entity} with this {} already{}choose another value",
        fields.join(" and "),
        open.as_ref().map_or_else(|| "; ".to_owned(), |(key, field)| format!(": {key}, without `{field}`; release it, or "))
    )]
    Taken {
        /// `a` or `an`.
        article: &'static str,
        /// Name of the entity.
        entity: &'static str,
        /// Names of the fields.
        fields: Vec<&'static str>,
        /// The other row's key, for people, and the field whose value releases it, if one does.
        open: Option<(String, &'static str)>,
    },
    /// The id is that of a row that was deleted.
    #[error(
        "`{field}` was that of a deleted {entity}, and ids are not used again; choose another, or leave it out"
    )]
    UsedBefore {
        /// Name of the field.
        field: &'static str,
        /// Name of the entity.
        entity: &'static str,
    },
    /// Other rows refer to it.
    #[error(
        "{entity} {key} is in use by {}, and can't be deleted as long as they refer to it{}",
        counted(by),
        instead.as_ref().map_or_else(String::new, |fields| format!("; set {fields} instead"))
    )]
    InUse {
        /// Name of the entity.
        entity: &'static str,
        /// The key, for people.
        key: String,
        /// Numbers of rows that refer to it, by entity.
        by: Vec<(&'static str, u64)>,
        /// Fields that can be set instead, with their values, if there are such.
        instead: Option<String>,
    },
    /// A field that can't change is given with a different value, or the server sets it.
    #[error("`{field}` {}; leave it out", if *.on_create { "is set by the server" } else { "can't be changed" })]
    Immutable {
        /// Name of the field.
        field: &'static str,
        /// True if a row was to be created with it.
        on_create: bool,
    },
    /// A number is not the next one.
    #[error("`{field}` must be {next}, which is the next one; leave it out")]
    NotNext {
        /// Name of the field.
        field: &'static str,
        /// The next number.
        next: i64,
    },
    /// A chain of references would lead back to its beginning.
    #[error("`{field}` would make a circle: {}", shown_way(way))]
    Circle {
        /// Name of the field.
        field: &'static str,
        /// Keys of the rows on the way, from the first one back to it.
        way: Vec<Value>,
    },
    /// The row is the default org, or that of the default caller.
    #[error("{entity} {key} can't be deleted: calls that name no {entity} need it")]
    Kept {
        /// Name of the entity.
        entity: &'static str,
        /// The key, for people.
        key: String,
    },
    /// A field defaults to the caller's row, which does not exist.
    #[error(
        "`{field}` is missing, and the caller's {entity} {key} is not in this org; give it a {entity} of this org"
    )]
    NoCaller {
        /// Name of the field.
        field: &'static str,
        /// Name of the entity that the field refers to.
        entity: &'static str,
        /// The key, for people.
        key: String,
    },
    /// None of several fields has a value, or none of several members is given.
    #[error("{} is missing", either(fields))]
    NoneOf {
        /// Names of the fields.
        fields: Vec<&'static str>,
    },
    /// An argument and the data name different values.
    #[error("conflicting {field} between args and data")]
    Conflicting {
        /// Name of the field.
        field: &'static str,
    },
    /// The entity has no such field.
    #[error("there is no field `{}` of {entity}; there are {}", shown_text(field), fields.join(", "))]
    Unknown {
        /// The name that was given.
        field: String,
        /// Name of the entity.
        entity: &'static str,
        /// The fields that can be given.
        fields: Vec<&'static str>,
    },
    /// Required fields are missing.
    #[error("{} {} missing", all(fields), if fields.len() == 1 { "is" } else { "are" })]
    Missing {
        /// Names of the fields; at least one.
        fields: Vec<&'static str>,
    },
    /// A value is not one of the field's.
    #[error("`{field}` {problem}")]
    Value {
        /// Name of the field.
        field: String,
        /// The problem, as the rest of a sentence.
        problem: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Failure),
}

impl RowError {
    /// Returns the stable name of the error, for programs.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::NoSuch { .. } | Self::Elsewhere { .. } | Self::NoCaller { .. } => "no_such",
            Self::Taken { .. } | Self::UsedBefore { .. } => "taken",
            Self::InUse { .. } | Self::Kept { .. } => "in_use",
            Self::Immutable { .. } => "immutable",
            Self::NotNext { .. } => "stale",
            Self::Circle { .. } => "circular",
            Self::Conflicting { .. } => "conflicting",
            Self::Unknown { .. } => "unknown_field",
            Self::Missing { .. } | Self::NoneOf { .. } => "missing",
            Self::Value { .. } => "value",
            Self::Store(_) => "store",
        }
    }

    /// Returns the name of the wrong field, if the error is about one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::NoSuch { field, .. }
            | Self::Elsewhere { field, .. }
            | Self::Immutable { field, .. }
            | Self::NotNext { field, .. }
            | Self::Circle { field, .. }
            | Self::NoCaller { field, .. }
            | Self::Conflicting { field }
            | Self::UsedBefore { field, .. } => Some(field),
            Self::Unknown { field, .. } | Self::Value { field, .. } => Some(field),
            Self::Taken { fields, .. } => fields.first().copied(),
            Self::NoneOf { fields } | Self::Missing { fields } => fields.first().copied(),
            Self::NotFound { .. } | Self::InUse { .. } | Self::Kept { .. } | Self::Store(_) => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::NotFound { .. } => FailureKind::NotFound,
            Self::Taken { .. }
            | Self::UsedBefore { .. }
            | Self::InUse { .. }
            | Self::Kept { .. }
            | Self::NotNext { .. } => FailureKind::Conflict,
            Self::Store(failure) => failure.kind,
            _ => FailureKind::Invalid,
        }
    }

    /// Returns the failure. `within` is the JSON pointer to the member of the request that contains the fields.
    pub fn into_failure(self, within: &str) -> Failure {
        let pointer = self.field().map(|field| pointer::push(within, field));
        self.into_failure_at(pointer.unwrap_or_default())
    }

    /// Returns the failure. `pointer` is the JSON pointer to the wrong member of the request, if there is one.
    pub(crate) fn into_failure_at(self, pointer: String) -> Failure {
        let Self::Store(failure) = self else {
            let mut failure = Failure::new(self.kind(), self.to_string()).with("rule", self.rule());
            if let Some(field) = self.field() {
                let violation = Violation { rule: self.rule().into(), pointer, message: self.to_string() };
                failure = failure
                    .with("field", shown_text(field))
                    .with("pointer", &*violation.pointer)
                    .with("violations", serde_json::json!([violation]));
            }
            if let Self::Circle { way, .. } = &self {
                failure = failure.with("way", way.clone());
            }
            if let Self::InUse { by, .. } = self {
                let by: Map<_, _> = by.into_iter().map(|(name, count)| (name.into(), count.into())).collect();
                failure = failure.with("by", by);
            }
            return failure;
        };
        failure
    }
}

fn counted(by: &[(&'static str, u64)]) -> String {
    let counted = by.iter().map(|(name, count)| format!("{count} {name}"));
    counted.collect::<Vec<_>>().join(", ")
}

fn shown_way(way: &[Value]) -> String {
    let way: Vec<_> = way.iter().map(shown).collect();
    way.join(" → ")
}

fn either(fields: &[&str]) -> String {
    quoted(fields).join(" or ")
}

fn all(fields: &[&str]) -> String {
    quoted(fields).join(" and ")
}

fn quoted(fields: &[&str]) -> Vec<String> {
    fields.iter().map(|field| format!("`{field}`")).collect()
}

/// Returns a key for people: texts quoted, without control characters, and not longer than a line.
pub(super) fn shown(value: &Value) -> String {
    let bare = bare(value);
    if value.is_string() { format!("`{bare}`") } else { bare }
}

/// As [`shown`], without quotes.
pub(super) fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| shown_text(&value.to_string()), shown_text)
}

fn shown_text(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
