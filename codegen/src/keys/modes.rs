//! `modes`: the modes of operation, and the modes in which each tool may be called.

use indexmap::IndexMap;
use quote::quote;
use serde::Deserialize;
use tabellion_runtime::{spec, template::placeholders};

use super::{Emitted, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    leak::{constant, texts},
    pointer,
    problem::Problem,
    rust::literal,
};

/// The modes of a contract, and the refusals of calls outside of their modes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Modes {
    pub names: Vec<&'static str>,
    pub env: Option<&'static str>,
    pub header: Option<&'static str>,
    pub default: IndexMap<&'static str, &'static str>,
    pub error: &'static str,
    pub refused: &'static str,
    pub unknown: &'static str,
}

/// Names of the transports in `default`.
const LINES: &str = "lines";
const HTTP: &str = "http";

/// The placeholders of each sentence.
const SENTENCES: [(&str, &[&str]); 2] =
    [("refused", &["tool", "mode", "allowed"]), ("unknown", &["mode", "names"])];

pub(super) struct OperationModes;

impl Key for OperationModes {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let Some(modes) = &contract.spec.modes else {
            for tool in contract.tools.iter().filter(|tool| !tool.spec.modes.is_empty()) {
                problems.push(tool.document.problem(
                    "/modes",
                    "the contract has no modes",
                    "declare `modes` in contract.json, or remove it",
                ));
            }
            return;
        };
        declared(contract, modes, problems);
        for tool in &contract.tools {
            of_tool(tool, modes, problems);
        }
        for operation in contract.operations() {
            if contract.spec.errors.contains_key(&modes.error)
                && !operation.spec.errors.contains(&modes.error)
            {
                problems.push(operation.document.problem(
                    "/errors",
                    format!("a mode can refuse it with `{}`, which the tool does not declare", modes.error),
                    format!("add `\"{}\"`", modes.error),
                ));
            }
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let (old, new) = match (&old.spec.modes, &new.spec.modes) {
            (None, None) => return,
            // The effect on each tool is listed under the tool.
            (None, Some(_)) => return changes.compatible("the contract has modes"),
            (Some(_), None) => return changes.breaking("the contract no longer has modes"),
            (Some(old), Some(new)) => (old, new),
        };
        for name in old.names.iter().filter(|name| !new.names.contains(name)) {
            changes.breaking(format!("mode `{name}` was removed"));
        }
        for name in new.names.iter().filter(|name| !old.names.contains(name)) {
            changes.compatible(format!("mode `{name}` was added"));
        }
        for (transport, before) in &old.default {
            if let Some(after) = new.default.get(transport).filter(|after| *after != before) {
                changes.breaking(format!("the mode over {transport} changed from `{before}` to `{after}`"));
            }
        }
        for (what, before, after) in
            [("environment variable", &old.env, &new.env), ("header", &old.header, &new.header)]
        {
            match (before, after) {
                (Some(before), after) if after.as_ref() != Some(before) => {
                    changes.breaking(format!("the {what} `{before}` no longer sets the mode"));
                }
                (None, Some(after)) => changes.compatible(format!("the {what} `{after}` sets the mode")),
                _ => {}
            }
        }
        if old.error != new.error {
            changes
                .breaking(format!("a refused mode is error `{}` and no longer `{}`", new.error, old.error));
        }
        if (&old.refused, &old.unknown) != (&new.refused, &new.unknown) {
            changes.compatible("the sentences about modes changed");
        }
    }

    /// A call that was allowed in a mode must stay so. Without modes, all calls were allowed.
    fn compare_any_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let Some(modes) = &new.contract.spec.modes else {
            return;
        };
        let (before, after) = (&old.tool.spec.modes, &new.tool.spec.modes);
        let had_all = old.contract.spec.modes.is_none();
        for mode in modes.names.iter().filter(|mode| !after.contains(mode)) {
            if had_all || before.contains(mode) {
                changes.breaking(format!("it may no longer be called in mode `{mode}`"));
            }
        }
        let is_old = |mode: &&&str| {
            let names = old.contract.spec.modes.as_ref().map(|modes| &modes.names);
            names.is_some_and(|names| names.contains(mode))
        };
        for mode in after.iter().filter(is_old).filter(|mode| !before.contains(mode)) {
            changes.compatible(format!("it may be called in mode `{mode}`"));
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let Some(modes) = &contract.spec.modes else {
            return Emitted::default();
        };
        let table = literal::expression(&table(modes));
        Emitted {
            fields: quote!(modes: Some(&MODES),),
            items: vec![quote! {
                /// The modes of operation.
                pub static MODES: spec::ModesSpec = #table;
            }],
            first: quote!(tabellion_runtime::modes::check(&CONTRACT, tool, call)?;),
            ..Emitted::default()
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.modes = contract.spec.modes.as_ref().map(|modes| constant(self::table(modes)));
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.modes = texts(&tool.spec.modes);
    }
}

/// Returns the table of a contract's modes.
fn table(modes: &Modes) -> spec::ModesSpec {
    spec::ModesSpec {
        names: texts(&modes.names),
        env: modes.env,
        header: modes.header,
        lines: modes.default[LINES],
        http: modes.default[HTTP],
        error: modes.error,
        refused: modes.refused,
        unknown: modes.unknown,
    }
}

/// Checks the contract's declaration.
fn declared(contract: &Contract, modes: &Modes, problems: &mut Vec<Problem>) {
    let mut say = |at: String, message: String, help: &str| {
        problems.push(contract.document.problem(at, message, help));
    };
    for (transport, mode) in &modes.default {
        if !modes.names.contains(mode) {
            say(
                format!("/modes/default/{transport}"),
                format!("there is no mode `{mode}`"),
                "add it to `names`, or correct its spelling",
            );
        }
    }
    if !contract.spec.errors.contains_key(&modes.error) {
        say(
            "/modes/error".into(),
            format!("the error table has no `{}`", modes.error),
            "add it to `errors`, or correct its spelling",
        );
    }
    for (key, known) in SENTENCES {
        let sentence = if key == "refused" { &modes.refused } else { &modes.unknown };
        for name in placeholders(sentence).iter().filter(|name| !known.contains(name)) {
            say(
                format!("/modes/{key}"),
                format!("`{{{name}}}` has no value here"),
                &format!("known are {{{}}}", known.join("}, {")),
            );
        }
    }
}

/// Checks that a tool declares the modes in which it may be called.
fn of_tool(tool: &Tool, modes: &Modes, problems: &mut Vec<Problem>) {
    if tool.spec.modes.is_empty() {
        problems.push(tool.document.problem(
            "",
            "the contract has modes, and the tool does not say in which it may be called",
            format!("add `\"modes\"`, with some of {}", modes.names.join(", ")),
        ));
    }
    for (i, mode) in tool.spec.modes.iter().enumerate() {
        if !modes.names.contains(mode) {
            problems.push(tool.document.problem(
                pointer::push("/modes", &i.to_string()),
                format!("there is no mode `{mode}`"),
                "add it to `modes` in contract.json, or correct its spelling",
            ));
        }
    }
}
