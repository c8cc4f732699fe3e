//! `annotations` and `mutating`: hints for clients and for the runtime.

use proc_macro2::TokenStream;
use quote::quote;
use tabellion_runtime::{FailureKind, spec};

use super::{EmittedTool, Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    problem::Problem,
};

pub(super) struct Annotated;

impl Key for Annotated {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in &contract.tools {
            let spec = &tool.spec;
            if spec.annotations.read_only == spec.mutating {
                problems.push(tool.document.problem(
                    "/annotations/readOnlyHint",
                    format!("`readOnlyHint` and `mutating` are both {}", spec.mutating),
                    "mutating tools are not read-only; all others are",
                ));
            }
        }
    }

    fn failures(&self, tool: &Tool) -> &'static [FailureKind] {
        if tool.spec.mutating {
            &[FailureKind::Conflict, FailureKind::Refused, FailureKind::Busy, FailureKind::Declined]
        } else {
            &[]
        }
    }

    /// Compares hints. A hint is a promise in one direction: a client that relies on it must not lose it.
    fn compare_any_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let is_operation = old.tool.operation.is_some();
        let (old, new) = (old.tool.spec.annotations, new.tool.spec.annotations);
        let promises = [
            ("read-only", old.read_only, new.read_only),
            ("not destructive", !old.destructive, !new.destructive),
            ("idempotent", old.idempotent, new.idempotent),
            ("closed to the outer world", !old.open_world, !new.open_world),
        ];
        // All but the first belong to the tool.
        let of_this = if is_operation { &promises[..1] } else { &promises };
        for (promise, before, after) in of_this.iter().copied() {
            match (before, after) {
                (true, false) => changes.breaking(format!("it is no longer {promise}")),
                (false, true) => changes.compatible(format!("it is now {promise}")),
                _ => {}
            }
        }
    }

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        // The hints of an operation follow from the tool's.
        if tool.operation.is_some() {
            return EmittedTool::default();
        }
        let annotations = emitted(tool.spec.annotations);
        let mutating = tool.spec.mutating.then(|| quote!(mutating: true,));
        EmittedTool::fields(quote!(annotations: #annotations, #mutating))
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.annotations = tool.spec.annotations;
        entry.mutating = tool.spec.mutating;
    }
}

/// Returns the expression of hints.
pub(super) fn emitted(annotations: spec::Annotations) -> TokenStream {
    let spec::Annotations { read_only, destructive, idempotent, open_world } = annotations;
    let hints = [
        (read_only, quote!(.read_only())),
        (destructive, quote!(.destructive())),
        (idempotent, quote!(.idempotent())),
        (open_world, quote!(.open_world())),
    ];
    let hints = hints.into_iter().filter_map(|(is, hint)| is.then_some(hint));
    quote!(spec::Annotations::NONE #(#hints)*)
}
