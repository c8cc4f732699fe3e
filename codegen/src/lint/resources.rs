//! What a contract offers beside tools: resources by their URI, prompts with what their templates lack.

use std::collections::BTreeMap;

use tabellion_runtime::template::placeholders;

use super::{examples, rules, values};
use crate::{
    contract::{Contract, Prompt},
    problem::Problem,
};

/// Checks the resources and prompts.
pub(super) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    let resources = &contract.spec.resources;
    let mut uris = BTreeMap::new();
    for (i, resource) in resources.iter().enumerate() {
        if let Some(first) = uris.insert(&resource.uri, &resource.name) {
            problems.push(contract.document.problem(
                format!("/resources/{i}/uri"),
                format!("`{}` is the URI of resource `{first}` too", resource.uri),
                "give each resource a URI of its own",
            ));
        }
    }
    // The schemas of resources come last.
    let authored: Vec<_> = contract.schemas().collect();
    let authored = &authored[authored.len() - resources.len()..];
    for (authored, resource) in authored.iter().zip(resources) {
        rules::satisfiable(authored, problems);
        values::defaults(authored, problems);
        examples::of_resource(authored, resource, problems);
    }
    for (i, prompt) in contract.spec.prompts.iter().enumerate() {
        self::prompt(contract, prompt, &format!("/prompts/{i}"), problems);
    }
}

fn prompt(contract: &Contract, prompt: &Prompt, at: &str, problems: &mut Vec<Problem>) {
    if !prompt.arguments.is_empty() && placeholders(&prompt.template).is_empty() {
        problems.push(contract.document.problem(
            format!("{at}/arguments"),
            "the template has no placeholder, so nothing that a client says can be in the prompt",
            "write `{name}` where a value belongs, or take the arguments away",
        ));
    }
}
