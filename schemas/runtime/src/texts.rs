//! The schemas and examples of a contract's tools, parsed from the texts next to its generated code on first use.

use std::{collections::HashMap, fmt, ops::Deref, sync::OnceLock};

use serde::Deserialize as _;
use serde_json::value::RawValue;

use crate::{
    Schema, Text,
    spec::Example,
    text_file::{TextFile, ToolTexts},
};

/// The texts of a contract. Generated code has one static of it.
pub struct Texts {
    file: TextFile,
    tools: OnceLock<HashMap<&'static str, OfTool>>,
}

/// The schemas and examples of a tool or operation, each made once.
struct OfTool {
    texts: &'static ToolTexts,
    input: OnceLock<Schema>,
    output: OnceLock<Schema>,
    examples: OnceLock<Vec<Example>>,
}

impl Texts {
    /// Takes the generated file's text.
    pub const fn new(file: &'static str) -> Self {
        Self { file: TextFile::new(file), tools: OnceLock::new() }
    }

    /// Returns the text with this name.
    pub const fn text(&'static self, name: &'static str) -> Text {
        Text::Kept(&self.file, name)
    }

    fn tool(&'static self, name: &str) -> &'static OfTool {
        let tools = self.tools.get_or_init(|| {
            let of_tool = |texts| OfTool {
                texts,
                input: OnceLock::new(),
                output: OnceLock::new(),
                examples: OnceLock::new(),
            };
            let tools = self.file.content().tools.iter();
            tools.map(|(name, texts)| (*name, of_tool(texts))).collect()
        });
        tools.get(name).unwrap_or_else(|| panic!("the generated file has the tool `{name}`"))
    }
}

/// A tool's schema: written in place, or stored in a file by the name of the tool.
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
                tool.input.get_or_init(|| read(tool.texts.input))
            }
            Self::Output(texts, name) => {
                let tool = texts.tool(name);
                tool.output.get_or_init(|| read(tool.texts.output))
            }
        }
    }
}

impl fmt::Debug for ToolSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

/// Examples of a tool's requests in a contract.
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
                let text = tool.texts.examples;
                tool.examples.get_or_init(|| text.map_or_else(Vec::new, read))
            }
        }
    }
}

impl fmt::Debug for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}
