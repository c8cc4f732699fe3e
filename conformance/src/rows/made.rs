//! Values that a server makes: the model knows only their kind, until an answer or the tables show them.

use serde_json::{Value, json};
use tabellion_runtime::spec::FieldSpec;

use super::values;

/// Member of the object that stands for a value in the model. No row has it, because no text has the character U+0000.
const MADE: &str = "\0made";

/// Kind of a made value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// An id that no row of the entity has had.
    Id,
    /// The time of the call.
    Now,
    /// A number above all of its kind so far.
    Seq,
    /// Any valid value of the field.
    Any,
    /// The stored form of a secret.
    Secret,
}

/// Knowledge with which a value is learned.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    /// The earliest and the latest time of the call, in seconds of Unix time.
    pub within: (i64, i64),
    /// The largest number of a row so far.
    pub last: i64,
    /// Ids that rows of the entity have had.
    pub ids: &'a dyn Fn(&Value) -> bool,
}

impl Made {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Id, "id"),
        (Self::Now, "now"),
        (Self::Seq, "seq"),
        (Self::Any, "any"),
        (Self::Secret, "secret"),
    ];

    /// Returns the placeholder for the value in the model.
    pub fn value(self) -> Value {
        let name = Self::ALL.iter().find(|(made, _)| *made == self);
        json!({ MADE: name.map(|(_, name)| *name) })
    }

    /// Returns the kind for which a value of the model is a placeholder; `None` if it is a plain value.
    pub fn from_value(value: &Value) -> Option<Self> {
        let name = value.get(MADE)?.as_str()?;
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(made, _)| *made)
    }

    /// Checks the server's value for a made one.
    ///
    /// # Errors
    /// The end of a sentence that begins with the field.
    pub fn check(self, field: &FieldSpec, value: &Value, known: &Circumstances<'_>) -> Result<(), String> {
        let is_right = match self {
            Self::Id => value.as_str().is_some_and(values::is_id) && !(known.ids)(value),
            Self::Now => {
                let (since, until) = known.within;
                value.as_i64().is_some_and(|at| (since..=until).contains(&at))
            }
            Self::Seq => value.as_i64().is_some_and(|seq| seq > known.last),
            Self::Any => values::is_valid(field, value),
            Self::Secret => true,
        };
        if is_right {
            return Ok(());
        }
        let what = match self {
            Self::Id => "a new id".to_owned(),
            Self::Now => format!("the time of the call, which was {}", known.within.0),
            Self::Seq => format!("a number above {}, the largest so far", known.last),
            Self::Any | Self::Secret => "a value of the field".to_owned(),
        };
        Err(format!("is {value} instead of {what}"))
    }
}
