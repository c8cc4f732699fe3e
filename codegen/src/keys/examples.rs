//! `examples`: requests and responses with the judgement they must get.

use quote::quote;
use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec;

use super::{EmittedTool, Key};
use crate::{
    contract::{Contract, Side, Tool},
    lint::examples,
    problem::Problem,
    rust::text,
    table::{leaked, list},
};

/// A request or a response, and how it must be judged.
#[derive(Debug, Clone, Deserialize)]
pub struct Example {
    /// What it shows; unique in its file.
    pub name: String,
    /// A request.
    pub input: Option<Value>,
    /// A response.
    pub output: Option<Value>,
    /// Whether it satisfies the enforced schema.
    pub valid: bool,
    /// JSON pointer to the value that is wrong.
    pub at: Option<String>,
    /// Id of the rule, or the keyword, that it breaks.
    pub rule: Option<String>,
}

impl Example {
    /// Which side it is an example of, and the value.
    pub fn instance(&self) -> Option<(Side, &Value)> {
        match (&self.input, &self.output) {
            (Some(value), None) => Some((Side::Input, value)),
            (None, Some(value)) => Some((Side::Output, value)),
            _ => None,
        }
    }
}

pub(super) struct Examples;

impl Key for Examples {
    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in contract.operations() {
            for side in Side::ALL {
                examples::of_tool(tool, side, problems);
            }
        }
    }

    /// Keeps the examples of requests; those of responses are checked during generation and not needed later.
    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        let examples = tool.spec.examples.iter().filter_map(|example| {
            let (name, valid) = (&example.name, example.valid);
            let json = text::json(example.input.as_ref()?);
            let [at, rule] = [&example.at, &example.rule].map(|it| text::optional(it.as_ref()));
            Some(quote!(spec::Example { name: #name, json: #json, valid: #valid, at: #at, rule: #rule }))
        });
        let examples: Vec<_> = examples.collect();
        if examples.is_empty() {
            return EmittedTool::default();
        }
        EmittedTool::fields(quote!(examples: &[#(#examples),*],))
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.examples = list(tool.spec.examples.iter().filter_map(|example| {
            Some(spec::Example {
                name: leaked(&example.name),
                json: leaked(&text::pretty(example.input.as_ref()?)),
                valid: example.valid,
                at: example.at.as_deref().map(leaked),
                rule: example.rule.as_deref().map(leaked),
            })
        }));
    }
}
