//! `previews`: pairs of tools, of which one shows the effect of the other beforehand.

use tabellion_runtime::spec::{self, PreviewPair};

use super::Key;
use crate::{
    algebra,
    changes::Changes,
    contract::{Contract, Side, Tool},
    leak::list,
    lint::pointers::{leads_to, named},
    problem::Problem,
    sample, views,
};

pub(super) struct Previews;

impl Key for Previews {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for (i, pair) in contract.spec.previews.iter().enumerate() {
            let at = format!("/previews/{i}");
            let preview = named(contract, pair.preview, &format!("{at}/preview"), problems);
            let applies = named(contract, pair.applies, &format!("{at}/applies"), problems);
            if let Some(tool) = preview {
                let (output, at_diff) = (tool.schema(Side::Output), format!("{at}/diff"));
                leads_to(output, pair.diff, "string", &contract.document, &at_diff, problems);
                mutates(contract, tool, false, &format!("{at}/preview"), problems);
            }
            if let Some(tool) = applies {
                mutates(contract, tool, true, &format!("{at}/applies"), problems);
            }
        }
    }

    /// A preview must accept exactly the requests of its tool.
    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for (i, pair) in contract.spec.previews.iter().enumerate() {
            if let Some(message) = difference(contract, pair) {
                problems.push(contract.document.problem(
                    format!("/previews/{i}"),
                    message,
                    "give both the same `inputSchema`, with the same rules",
                ));
            }
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let (old, new) = (&old.spec.previews, &new.spec.previews);
        for pair in old.iter().filter(|pair| !new.contains(pair)) {
            changes
                .breaking(format!("`{}` no longer previews `{}` in that form", pair.preview, pair.applies));
        }
        for pair in new.iter().filter(|pair| !old.contains(pair)) {
            changes.compatible(format!("`{}` previews `{}`", pair.preview, pair.applies));
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.previews = list(contract.spec.previews.iter().copied());
    }
}

fn mutates(contract: &Contract, tool: &Tool, expected: bool, at: &str, problems: &mut Vec<Problem>) {
    if tool.spec.mutating == expected {
        return;
    }
    let name = &tool.spec.name;
    let message = if expected {
        format!("`{name}` changes nothing, so it has no preview")
    } else {
        format!("`{name}` is a preview, but mutating")
    };
    let help = "correct the pair, or the tool's `mutating`";
    problems.push(contract.document.problem(at, message, help));
}

/// Returns the difference between the requests of the two tools, if there is one.
fn difference(contract: &Contract, pair: &PreviewPair) -> Option<String> {
    let (preview, applies) = (contract.tool(pair.preview)?, contract.tool(pair.applies)?);
    let shown = views::enforced(preview.schema(Side::Input));
    let done = views::enforced(applies.schema(Side::Input));
    if shown == done {
        return None;
    }
    if algebra::covers(&shown, &done) == Some(true) && algebra::covers(&done, &shown) == Some(true) {
        return None;
    }
    let tools = [preview, applies];
    let (preview, applies) = (pair.preview, pair.applies);
    Some(if let Some(example) = sample::between(Side::Input, &done, &shown, tools) {
        format!("`{applies}` accepts requests that `{preview}` rejects, such as {example}")
    } else if let Some(example) = sample::between(Side::Input, &shown, &done, tools) {
        format!("`{preview}` accepts requests that `{applies}` rejects, such as {example}")
    } else {
        format!("it can't be proved that `{preview}` and `{applies}` accept the same requests")
    })
}
