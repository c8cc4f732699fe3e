//! `errorChannel`, `errorDetails` and `errors`: the error table, and the errors of each tool.

use indexmap::IndexMap;
use quote::quote;
use serde::Deserialize;
use tabellion_runtime::{FailureKind, spec};

use super::{Emitted, EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    leak::{list, texts},
    problem::Problem,
    rust::text,
};

/// One row of the error table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorEntry {
    pub code: i32,
    pub message: &'static str,
    pub http: Option<u16>,
    #[serde(default)]
    pub http_for: IndexMap<&'static str, u16>,
    #[serde(default)]
    pub failures: Vec<FailureKind>,
}

pub(super) struct Errors;

impl Key for Errors {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in contract.operations() {
            for (i, error) in tool.spec.errors.iter().enumerate() {
                if !contract.spec.errors.contains_key(error) {
                    problems.push(tool.document.problem(
                        format!("/errors/{i}"),
                        format!("the error table has no `{error}`"),
                        "add it to `errors` in contract.json, or correct its spelling",
                    ));
                }
            }
        }
    }

    /// Returns the failures that every call can end with.
    fn failures(&self, _: &Tool) -> &'static [FailureKind] {
        &[FailureKind::Invalid, FailureKind::Io]
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let (before, after) = (old.spec.error_channel, new.spec.error_channel);
        if before != after {
            changes.breaking(format!("`errorChannel` changed from `{before}` to `{after}`"));
        }
        if old.spec.error_details != new.spec.error_details {
            match &old.spec.error_details {
                Some(key) => changes.breaking(format!("errors no longer repeat the detail in `{key}`")),
                None => changes.compatible("errors repeat the detail in their data"),
            }
        }
        let errors = [old, new].map(|of| of.spec.errors.iter().map(|(name, it)| (*name, it)));
        changes.by_name("error", errors, |changes, name, before, after| {
            if before.code != after.code {
                changes.breaking(format!(
                    "error `{name}` changed its code from {} to {}",
                    before.code, after.code
                ));
            }
            if before.message != after.message {
                changes.compatible(format!("error `{name}` changed its message"));
            }
        });
        for kind in FailureKind::ALL {
            if let (Some(before), Some(after)) = (old.error_for(*kind), new.error_for(*kind))
                && before != after
            {
                changes.breaking(format!("failure `{kind}` changed from error `{before}` to `{after}`"));
            }
        }
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let (before, after) = (&old.tool.spec.errors, &new.tool.spec.errors);
        for error in after.iter().filter(|error| !before.contains(error)) {
            changes.compatible(format!("it can return error `{error}`"));
        }
        for error in before.iter().filter(|error| !after.contains(error)) {
            changes.compatible(format!("it no longer returns error `{error}`"));
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let channel = text::variant(contract.spec.error_channel);
        let details = contract.spec.error_details.iter();
        let details = details.map(|key| quote!(error_details: Some(#key),));
        Emitted {
            fields: quote!(error_channel: spec::ErrorChannel::#channel, #(#details)* errors: &ERRORS,),
            ..Emitted::default()
        }
    }

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        let errors = &tool.spec.errors;
        EmittedTool::fields(quote!(errors: &[#(#errors),*],))
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.error_channel = contract.spec.error_channel;
        table.error_details = contract.spec.error_details;
        table.errors = list(contract.spec.errors.iter().map(|(name, error)| spec::ErrorSpec {
            name,
            code: error.code,
            message: error.message,
        }));
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.errors = texts(&tool.spec.errors);
    }
}
