//! `examples`: requests and responses with the judgement they must get.

use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::spec;

use super::Key;
use crate::{
    contract::{Contract, Side, Tool},
    leak::list,
    lint::examples,
    problem::Problem,
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

/// Returns the examples of requests; those of responses are checked during generation and not needed later.
pub(crate) fn requests(tool: &Tool) -> impl Iterator<Item = spec::Example> {
    tool.spec.examples.iter().filter_map(|example| {
        Some(spec::Example {
            name: example.name.clone(),
            input: example.input.clone()?,
            valid: example.valid,
            at: example.at.clone(),
            rule: example.rule.clone(),
        })
    })
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

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.examples = tabellion_runtime::Examples::Written(list(requests(tool)));
    }
}
