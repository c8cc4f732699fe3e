//! The fields of the tracker's entities, and the values that they can have.

use serde_json::{Value, json};

use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// An entity that operations change.
pub(super) struct Entity {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
    /// Names of fields by which lists are ordered, before the id.
    pub(super) order: &'static [&'static str],
}

/// A field.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// True if updates can't set it.
    pub(super) is_fixed: bool,
    /// Its value if none is given, as JSON; it is required without one.
    pub(super) default: Option<&'static str>,
}

/// The kind of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The id of the row.
    Id,
    /// The org of the row.
    Org,
    /// The id of a row of this entity, and the effect of that row's deletion.
    Of(&'static str, OnDelete),
    Text(usize, usize),
    Whole(i64, i64),
    Number,
    Other,
    /// The time of the creation.
    Created,
    /// The time of the last change.
    Changed,
    /// The time at which the issue was closed.
    Closed,
    /// A number over all rows.
    Seq,
    /// A number within the project.
    Count,
    Secret,
}

/// The effect of deleting a row on the rows that name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDelete {
    Refused,
    DeletesToo,
    Clears,
}

const LAST: i64 = (1 << 53) - 1;

const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, is_fixed: false, default: None }
}

const fn fixed(name: &'static str, kind: Kind) -> Field {
    Field { is_fixed: true, ..field(name, kind) }
}

const fn or(name: &'static str, kind: Kind, default: &'static str) -> Field {
    Field { default: Some(default), ..field(name, kind) }
}

pub(super) static ENTITIES: &[Entity] = &[
    Entity {
        name: "org",
        fields: &[
            fixed("id", Kind::Id),
            field("name", Kind::Text(1, 200)),
            fixed("created_at", Kind::Created),
        ],
        order: &[],
    },
    Entity {
        name: "project",
        fields: &[
            fixed("id", Kind::Id),
            fixed("org_id", Kind::Org),
            field("name", Kind::Text(1, 200)),
            or("settings", Kind::Other, "null"),
            or("labels", Kind::Other, "[]"),
            fixed("seq", Kind::Seq),
            fixed("created_at", Kind::Created),
            fixed("updated_at", Kind::Changed),
        ],
        order: &["seq"],
    },
    Entity {
        name: "issue",
        fields: &[
            fixed("id", Kind::Id),
            fixed("org_id", Kind::Org),
            fixed("project_id", Kind::Of("project", OnDelete::Refused)),
            fixed("number", Kind::Count),
            field("title", Kind::Text(1, 500)),
            or("body", Kind::Text(0, usize::MAX), "null"),
            or("state", Kind::Other, "\"open\""),
            or("pinned", Kind::Other, "false"),
            or("weight", Kind::Whole(0, 1000), "null"),
            or("parent_id", Kind::Of("issue", OnDelete::Clears), "null"),
            fixed("closed_at", Kind::Closed),
            fixed("created_at", Kind::Created),
            fixed("updated_at", Kind::Changed),
        ],
        order: &["project_id", "number"],
    },
    Entity {
        name: "comment",
        fields: &[
            fixed("id", Kind::Id),
            fixed("org_id", Kind::Org),
            fixed("issue_id", Kind::Of("issue", OnDelete::DeletesToo)),
            field("text", Kind::Text(1, usize::MAX)),
            or("score", Kind::Number, "0"),
            fixed("seq", Kind::Seq),
            fixed("created_at", Kind::Created),
        ],
        order: &["seq"],
    },
    Entity {
        name: "claim",
        fields: &[
            fixed("id", Kind::Id),
            fixed("org_id", Kind::Org),
            fixed("issue_id", Kind::Of("issue", OnDelete::DeletesToo)),
            field("worker", Kind::Text(1, 100)),
            or("reviewer", Kind::Text(1, 100), "null"),
            or("done", Kind::Other, "false"),
            fixed("created_at", Kind::Created),
        ],
        order: &[],
    },
    Entity {
        name: "access_key",
        fields: &[
            fixed("id", Kind::Id),
            fixed("org_id", Kind::Org),
            or("project_id", Kind::Of("project", OnDelete::DeletesToo), "null"),
            field("label", Kind::Text(1, 100)),
            fixed("secret", Kind::Secret),
            or("expires_at", Kind::Whole(-LAST, LAST), "null"),
            fixed("created_at", Kind::Created),
        ],
        order: &[],
    },
];

impl Field {
    /// Returns a value in its only form.
    ///
    /// # Errors
    /// If the field can't have it.
    pub(super) fn checked(&self, value: &Value) -> Result<Value, Refusal> {
        if value.is_null() && self.default == Some("null") {
            return Ok(Value::Null);
        }
        let is_text = |min: usize, max: usize| {
            value.as_str().is_some_and(|text| (min..=max).contains(&text.chars().count()))
        };
        let whole = value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i64);
        let whole = value.as_i64().or(whole.filter(|_| !value.is_u64()));
        let right = match self.kind {
            Kind::Id | Kind::Of(..) => value.as_str().is_some_and(is_id),
            Kind::Text(min, max) => is_text(min, max),
            Kind::Whole(min, max) => whole.is_some_and(|whole| (min..=max).contains(&whole)),
            Kind::Count => whole.is_some_and(|whole| (0..=LAST).contains(&whole)),
            Kind::Number => {
                let is_exact = value.as_i64().is_none_or(|whole| whole.abs() <= LAST) && !value.is_u64();
                let is_small = value.as_i64().is_some_and(|whole| whole.abs() <= LAST);
                value.is_number() && (is_exact || is_small || is(Mutant::RoundsNumbers))
            }
            _ => !value.is_null(),
        };
        if !right || has_nul(value) && !is(Mutant::TakesNul) {
            let message = if is(Mutant::NamesNoField) {
                "a value is wrong".to_owned()
            } else {
                format!("`{}` can't have this value", self.name)
            };
            return Err((-32602, message));
        }
        Ok(match self.kind {
            Kind::Whole(..) | Kind::Count => json!(whole),
            Kind::Number => json!(value.as_f64()),
            _ => value.clone(),
        })
    }
}

fn is_id(text: &str) -> bool {
    let is_of_id = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    (1..=128).contains(&text.len()) && text.chars().all(is_of_id)
}

fn has_nul(value: &Value) -> bool {
    // In the text of a value, a NUL is escaped; so is a backslash before it.
    let text = value.to_string();
    text.match_indices("\\u0000").any(|(at, _)| {
        let before = text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        before % 2 == 0
    })
}
