//! A preview must accept exactly the requests that it is a preview of.

use crate::{
    algebra,
    contract::{Contract, Side},
    problem::Problem,
    sample, views,
};

/// Checks the inputs of each pair.
pub(super) fn pairs(contract: &Contract, problems: &mut Vec<Problem>) {
    for (i, pair) in contract.spec.previews.iter().enumerate() {
        let (Some(preview), Some(applies)) = (contract.tool(&pair.preview), contract.tool(&pair.applies))
        else {
            continue;
        };
        let shown = views::enforced(preview.schema(Side::Input));
        let done = views::enforced(applies.schema(Side::Input));
        if shown == done {
            continue;
        }
        if algebra::covers(&shown, &done) == Some(true) && algebra::covers(&done, &shown) == Some(true) {
            continue;
        }
        let tools = [preview, applies];
        let message = if let Some(example) = sample::between(Side::Input, &done, &shown, tools) {
            format!(
                "`{}` accepts what `{}` refuses, as {example}",
                pair.applies, pair.preview
            )
        } else if let Some(example) = sample::between(Side::Input, &shown, &done, tools) {
            format!(
                "`{}` accepts what `{}` refuses, as {example}",
                pair.preview, pair.applies
            )
        } else {
            format!(
                "it can't be proved that `{}` and `{}` accept the same",
                pair.preview, pair.applies
            )
        };
        problems.push(contract.document.problem(
            format!("/previews/{i}"),
            message,
            "give both the same `inputSchema`, with the same rules",
        ));
    }
}
