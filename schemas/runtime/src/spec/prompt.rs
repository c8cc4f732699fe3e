//! Prompts.

use serde::Deserialize;

use super::read::list;

/// A prompt: a text for a model, rendered from a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct PromptSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// The arguments.
    #[serde(default, deserialize_with = "list")]
    pub arguments: &'static [ArgumentSpec],
    /// The source document's text, with a placeholder in braces for each value: `{section_content}`.
    pub template: &'static str,
}

impl PromptSpec {
    /// Returns the argument of that name.
    pub fn argument(&self, name: &str) -> Option<&'static ArgumentSpec> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

/// An argument of a prompt. Its value is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ArgumentSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// True if the prompt requires it.
    #[serde(default)]
    pub required: bool,
    /// True if the server offers completions for it.
    #[serde(default)]
    pub completes: bool,
}
