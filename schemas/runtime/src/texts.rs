//! The JSON of a contract beside its generated code: schemas and examples, each read when it is first needed.

use std::{collections::HashMap, fmt, ops::Deref, sync::OnceLock};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::spec::Example;

/// A file of JSON texts by their names. Generated code includes it.
pub struct Texts {
    file: &'static str,
    parts: OnceLock<HashMap<String, Part>>,
}

struct Part {
    text: &'static RawValue,
    examples: OnceLock<Vec<Example>>,
}

impl Texts {
    /// Takes a generated file, an object of texts by name.
    pub const fn new(file: &'static str) -> Self {
        Self {
            file,
            parts: OnceLock::new(),
        }
    }

    fn part(&self, name: &str) -> &Part {
        let parts = self.parts.get_or_init(|| {
            let texts: HashMap<String, &'static RawValue> =
                serde_json::from_str(self.file).expect("a generated file is an object");
            let part = |text| Part {
                text,
                examples: OnceLock::new(),
            };
            texts.into_iter().map(|(name, text)| (name, part(text))).collect()
        });
        parts
            .get(name)
            .unwrap_or_else(|| panic!("the generated file has `{name}`"))
    }
}

/// A JSON text: written where it is used, or kept in a file by its name.
#[derive(Clone, Copy)]
pub enum Text {
    /// The text.
    Written(&'static str),
    /// Its file and its name there.
    Kept(&'static Texts, &'static str),
}

impl Text {
    /// Returns the text.
    ///
    /// # Panics
    /// If the file lacks it; generated code names what is there.
    pub fn get(self) -> &'static str {
        match self {
            Self::Written(text) => text,
            Self::Kept(texts, name) => texts.part(name).text.get(),
        }
    }

    /// Returns what the text says.
    ///
    /// # Panics
    /// If it is not JSON; generated code always is.
    pub fn value(self) -> Value {
        serde_json::from_str(self.get()).expect("generated texts are JSON")
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value().to_string())
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl Eq for Text {}

/// Requests that a contract shows for a tool.
#[derive(Clone, Copy)]
pub enum Examples {
    /// The examples.
    Written(&'static [Example]),
    /// Their file and the name of their list there.
    Kept(&'static Texts, &'static str),
}

impl Deref for Examples {
    type Target = [Example];

    fn deref(&self) -> &'static [Example] {
        match *self {
            Self::Written(examples) => examples,
            Self::Kept(texts, name) => {
                let part = texts.part(name);
                part.examples
                    .get_or_init(|| Vec::deserialize(part.text).expect("generated examples are a list"))
            }
        }
    }
}

impl fmt::Debug for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}
