//! Texts for a model.

/// A text for a model, made from a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// What a client may say.
    pub arguments: &'static [ArgumentSpec],
    /// The source document's text, with a placeholder in braces for each value: `{section_content}`.
    pub template: &'static str,
}

impl PromptSpec {
    /// The argument of that name, if the prompt has it.
    pub fn argument(&self, name: &str) -> Option<&'static ArgumentSpec> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

/// An argument of a prompt. Its value is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// Whether the prompt can't be made without it.
    pub required: bool,
    /// Whether values can be offered to somebody who types one.
    pub completes: bool,
}
