//! The tables in the README that follow from the contracts.
//!
//! The tables of a contract (tools, and resources and prompts where it has any) stand between `<!-- tools: CONTRACT -->` and `<!-- end -->`; everything else is
//! written by hand.

use std::fmt::Write;

use tabellion_codegen::Contract;

use crate::{Outcome, schemas};

const END: &str = "<!-- end -->";

/// The README with every table as the contracts have it.
pub(crate) fn with_tables(text: &str) -> Outcome<String> {
    let contracts = tabellion_codegen::load_all(&schemas())?;
    let find = |folder: &str| {
        contracts
            .iter()
            .find(|contract| contract.folder == folder)
            .ok_or(format!("README.md: no contract `{folder}`"))
    };
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("<!-- tools: ") {
        let line_end = rest[at..].find('\n').map_or(rest.len(), |end| at + end + 1);
        let folder = rest[at..line_end]
            .trim_start_matches("<!-- tools: ")
            .trim_end()
            .trim_end_matches(" -->");
        let end = rest[line_end..]
            .find(END)
            .ok_or("README.md: a table without `<!-- end -->`")?
            + line_end;
        out.push_str(&rest[..line_end]);
        out.push_str(&tools(find(folder)?));
        rest = &rest[end..];
    }
    out.push_str(rest);
    Ok(out)
}

fn tools(contract: &Contract) -> String {
    let mut table = String::from("\n| tool | what it does | changes |\n|---|---|---|\n");
    for tool in &contract.tools {
        let changes = match (tool.spec.mutating, tool.spec.approval) {
            (false, _) => "nothing",
            (true, None) => "one commit, one log entry",
            (true, Some(_)) => "one commit, one log entry, once a person has approved",
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            table,
            "| `{}` | {} | {changes} |",
            tool.spec.name, tool.spec.description
        );
    }
    table.push('\n');
    table.push_str(&offers(contract));
    table
}

/// The resources and the prompts, where the contract has any.
fn offers(contract: &Contract) -> String {
    let (resources, prompts) = (&contract.spec.resources, &contract.spec.prompts);
    let mut table = String::new();
    if !resources.is_empty() {
        table.push_str("| resource | what it is |\n|---|---|\n");
        for resource in resources {
            let _ = writeln!(table, "| `{}` | {} |", resource.uri, resource.description);
        }
        table.push('\n');
    }
    if !prompts.is_empty() {
        table.push_str("| prompt | what it is for | arguments |\n|---|---|---|\n");
        for prompt in prompts {
            let arguments = prompt.arguments.iter();
            let arguments: Vec<_> = arguments
                .map(|it| format!("`{}`: {}", it.name, it.description))
                .collect();
            let arguments = if arguments.is_empty() {
                "none".into()
            } else {
                arguments.join(" ")
            };
            let _ = writeln!(
                table,
                "| `{}` | {} | {arguments} |",
                prompt.name, prompt.description
            );
        }
        table.push('\n');
    }
    table
}
