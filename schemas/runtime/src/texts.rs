//! The JSON of a contract beside its generated code: schemas and examples, each read when it is first needed.

use std::{collections::HashMap, fmt, ops::Deref, sync::OnceLock};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{Schema, spec::Example};

/// A generated file of JSON texts: of each tool and operation by its name, and others.
pub struct Texts {
    file: &'static str,
    content: OnceLock<Content>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(borrow)]
    tools: HashMap<&'static str, OfTool>,
    #[serde(borrow)]
    texts: HashMap<&'static str, &'static RawValue>,
}

/// The texts of a tool or operation, and what is made of them once.
#[derive(Deserialize)]
struct OfTool {
    #[serde(borrow)]
    input: &'static RawValue,
    #[serde(borrow)]
    output: &'static RawValue,
    #[serde(borrow, default)]
    examples: Option<&'static RawValue>,
    #[serde(skip)]
    read_input: OnceLock<Schema>,
    #[serde(skip)]
    read_output: OnceLock<Schema>,
    #[serde(skip)]
    read_examples: OnceLock<Vec<Example>>,
}

impl Texts {
    /// Takes the file's text.
    pub const fn new(file: &'static str) -> Self {
        Self {
            file,
            content: OnceLock::new(),
        }
    }

    /// Returns the text with this name.
    pub const fn text(&'static self, name: &'static str) -> Text {
        Text::Kept(self, name)
    }

    fn content(&self) -> &Content {
        let read = || serde_json::from_str(self.file).expect("a generated file has tools and texts");
        self.content.get_or_init(read)
    }

    fn tool(&self, name: &str) -> &OfTool {
        let tool = self.content().tools.get(name);
        tool.unwrap_or_else(|| panic!("the generated file has the tool `{name}`"))
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
    /// Returns what the text says.
    ///
    /// # Panics
    /// If the file lacks it, or it is not JSON; generated code names what is there.
    pub fn value(self) -> Value {
        let text = match self {
            Self::Written(text) => text,
            Self::Kept(texts, name) => {
                let text = texts.content().texts.get(name);
                text.unwrap_or_else(|| panic!("the generated file has `{name}`"))
                    .get()
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

/// A tool's schema: written where it is used, or kept in a file by the name of the tool.
#[derive(Clone, Copy)]
pub enum ToolSchema {
    /// The schema.
    Written(&'static Schema),
    /// That of requests.
    Input(&'static Texts, &'static str),
    /// That of responses.
    Output(&'static Texts, &'static str),
}

impl Deref for ToolSchema {
    type Target = Schema;

    fn deref(&self) -> &'static Schema {
        let read = |text: &'static RawValue| Schema::authored(Text::Written(text.get()));
        match *self {
            Self::Written(schema) => schema,
            Self::Input(texts, name) => {
                let tool = texts.tool(name);
                tool.read_input.get_or_init(|| read(tool.input))
            }
            Self::Output(texts, name) => {
                let tool = texts.tool(name);
                tool.read_output.get_or_init(|| read(tool.output))
            }
        }
    }
}

impl fmt::Debug for ToolSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

/// Requests that a contract shows for a tool.
#[derive(Clone, Copy)]
pub enum Examples {
    /// The examples.
    Written(&'static [Example]),
    /// Their file and the name of the tool there.
    Kept(&'static Texts, &'static str),
}

impl Deref for Examples {
    type Target = [Example];

    fn deref(&self) -> &'static [Example] {
        match *self {
            Self::Written(examples) => examples,
            Self::Kept(texts, name) => {
                let tool = texts.tool(name);
                let read = |text| Vec::deserialize(text).expect("generated examples are a list");
                tool.read_examples
                    .get_or_init(|| tool.examples.map_or_else(Vec::new, read))
            }
        }
    }
}

impl fmt::Debug for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}
