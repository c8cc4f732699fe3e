//! `examples`: requests and responses with the judgement they must get. Each must be as valid as it declares, and every rule needs an
//! example that satisfies it and one that breaks it.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use tabellion_runtime::{schema::compile, spec};

use super::Key;
use crate::{
    contract::{Authored, Contract, Side, Tool},
    leak::list,
    lint::rules,
    pointer,
    problem::Problem,
    views::{self, Rule},
};

/// A request or a response, and the required judgement.
#[derive(Debug, Clone, Deserialize)]
pub struct Example {
    pub name: String,
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub valid: bool,
    pub at: Option<String>,
    pub rule: Option<String>,
}

impl Example {
    /// Returns the side of the example, and the value.
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
                lint_side(tool, side, problems);
            }
        }
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.examples = tabellion_runtime::Examples::Written(list(requests(tool)));
    }
}

/// Checks the examples of one side of a tool.
fn lint_side(tool: &Tool, side: Side, problems: &mut Vec<Problem>) {
    let key = match side {
        Side::Input => "input",
        Side::Output => "output",
    };
    let examples = tool.spec.examples.iter().enumerate();
    let examples = examples.filter_map(|(i, example)| {
        let (of, value) = example.instance()?;
        (of == side).then(|| (format!("/examples/{i}"), example, value))
    });
    judge(&tool.authored(side), key, examples, problems);
}

/// A violation in an example.
struct Fault {
    at: String,
    /// Index of the broken rule, if it is one of the contract's.
    rule: Option<usize>,
    /// Id of that rule, otherwise the keyword.
    name: String,
}

/// Checks `examples` of one schema against their declared validity. `key` is the key of their values.
pub(super) fn judge<'a>(
    authored: &Authored<'_>,
    key: &str,
    examples: impl Iterator<Item = (String, &'a Example, &'a Value)>,
    problems: &mut Vec<Problem>,
) {
    let Authored { document, at, schema, .. } = authored;
    let Ok(validator) = compile(&authored.enforced()) else {
        return;
    };
    let rules = views::rules(schema);
    let (mut kept, mut broken) = (BTreeSet::new(), BTreeSet::new());
    let mut names = BTreeSet::new();
    for (at, example, value) in examples {
        if !names.insert(&example.name) {
            problems.push(document.problem(
                format!("{at}/name"),
                format!("there are two examples `{}`", example.name),
                "say what each of them shows",
            ));
        }
        let faults: Vec<_> = validator.iter_errors(value).map(|error| fault(&rules, &error)).collect();
        if let Some(message) = misjudged(example, &faults) {
            let help = "correct the example, or the schema and its rules";
            problems.push(document.problem(at, message, help));
        }
        if faults.is_empty() {
            let shown = rules.iter().enumerate().filter(|(_, rule)| occurs(&rule.owner, value));
            kept.extend(shown.map(|(i, _)| i));
        } else if let Some(rule) = faults[0].rule
            && faults.iter().all(|fault| fault.rule == Some(rule))
        {
            broken.insert(rule);
        }
    }
    for (i, rule) in rules.iter().enumerate() {
        let at = format!("{at}{}", rule.authored);
        let id = &rule.id;
        if !broken.contains(&i) {
            if rules::is_vacuous(schema, rule) {
                let help = "remove it: the schema already forbids what it forbids";
                problems.push(document.problem(at, format!("rule `{id}` excludes nothing"), help));
                continue;
            }
            let help = format!(
                "add {{ \"name\": …, \"{key}\": …, \"valid\": false, \"rule\": \"{id}\" }} to `examples`"
            );
            problems.push(document.problem(
                at.as_str(),
                format!("no example breaks only rule `{id}` here"),
                help,
            ));
        }
        if !kept.contains(&i) {
            let help = format!(
                "add {{ \"name\": …, \"{key}\": …, \"valid\": true }} with such a value to `examples`"
            );
            problems.push(document.problem(
                at,
                format!("no valid example has a value to which rule `{id}` applies"),
                help,
            ));
        }
    }
}

fn fault(rules: &[Rule], error: &jsonschema::ValidationError<'_>) -> Fault {
    let path = error.schema_path().as_str();
    let is_below = |rule: &Rule| {
        path.strip_prefix(&rule.enforced).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let rule = rules.iter().position(is_below);
    Fault {
        at: error.instance_path().as_str().into(),
        rule,
        name: match rule {
            Some(rule) => rules[rule].id.clone(),
            None => error.kind().keyword().to_string(),
        },
    }
}

/// Returns the problem of an example's declaration.
fn misjudged(example: &Example, faults: &[Fault]) -> Option<String> {
    let found = || {
        let faults: Vec<_> =
            faults.iter().map(|fault| format!("`{}` at `{}`", fault.name, fault.at)).collect();
        faults.join(", ")
    };
    let name = &example.name;
    match (example.valid, faults) {
        (true, []) => None,
        (true, _) => Some(format!("`{name}` should be valid, but breaks {}", found())),
        (false, []) => Some(format!("`{name}` should be invalid, but is valid")),
        (false, _) => {
            let as_said = |fault: &Fault| example.rule.as_ref().is_none_or(|rule| *rule == fault.name);
            let there = |fault: &Fault| example.at.as_ref().is_none_or(|at| *at == fault.at);
            if faults.iter().all(as_said) && faults.iter().any(there) {
                return None;
            }
            let rule = example.rule.as_ref().map(|rule| format!(" `{rule}` alone"));
            let at = example.at.as_ref().map(|at| format!(" at `{at}`"));
            Some(format!(
                "`{name}` should break{}{}, but breaks {}",
                rule.unwrap_or_default(),
                at.unwrap_or_default(),
                found()
            ))
        }
    }
}

/// Returns true if `value` has a part that the schema at `owner` describes.
fn occurs(owner: &str, value: &Value) -> bool {
    let steps: Vec<_> = pointer::tokens(owner).collect();
    reaches(&steps, value)
}

fn reaches(steps: &[String], value: &Value) -> bool {
    match steps {
        [] => true,
        [keyword, name, rest @ ..] if keyword == "properties" => {
            value.get(name).is_some_and(|value| reaches(rest, value))
        }
        [keyword, rest @ ..] if keyword == "items" => {
            value.as_array().is_some_and(|items| items.iter().any(|item| reaches(rest, item)))
        }
        [_, rest @ ..] => {
            value.as_object().is_some_and(|members| members.values().any(|value| reaches(rest, value)))
        }
    }
}
