//! JSON texts in a file next to generated code, each read on first use.

use std::{collections::HashMap, fmt, sync::OnceLock};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

/// A generated file of JSON texts: those of each tool and operation by its name, and others.
pub struct TextFile {
    file: &'static str,
    content: OnceLock<Content>,
}

/// The content of a file.
#[derive(Deserialize)]
pub(crate) struct Content {
    #[serde(borrow)]
    pub(crate) tools: HashMap<&'static str, ToolTexts>,
    #[serde(borrow)]
    texts: HashMap<&'static str, &'static RawValue>,
}

/// The texts of a tool or operation.
#[derive(Deserialize)]
pub(crate) struct ToolTexts {
    #[serde(borrow)]
    pub(crate) input: &'static RawValue,
    #[serde(borrow)]
    pub(crate) output: &'static RawValue,
    #[serde(borrow, default)]
    pub(crate) examples: Option<&'static RawValue>,
}

impl TextFile {
    /// Takes the file's text.
    pub(crate) const fn new(file: &'static str) -> Self {
        Self { file, content: OnceLock::new() }
    }

    pub(crate) fn content(&self) -> &Content {
        let read = || serde_json::from_str(self.file).expect("a generated file has tools and texts");
        self.content.get_or_init(read)
    }
}

/// A JSON text: written in place, or stored in a file by its name.
#[derive(Clone, Copy)]
pub enum Text {
    /// The text.
    Written(&'static str),
    /// Its file and its name there.
    Kept(&'static TextFile, &'static str),
}

impl Text {
    /// Returns the value of the text.
    ///
    /// # Panics
    /// If the file lacks it, or it is not JSON; generated code only names existing texts.
    pub fn value(self) -> Value {
        let text = match self {
            Self::Written(text) => text,
            Self::Kept(file, name) => {
                let text = file.content().texts.get(name);
                text.unwrap_or_else(|| panic!("the generated file has `{name}`")).get()
            }
        };
        serde_json::from_str(text).expect("generated texts are JSON")
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
