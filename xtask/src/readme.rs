//! The tables in the README that follow from the contracts.
//!
//! A table stands between `<!-- tools: CONTRACT -->` (or `guarantees`) and `<!-- end -->`; everything else is
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
        let changes = if tool.spec.mutating {
            "one commit, one log entry"
        } else {
            "nothing"
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            table,
            "| `{}` | {} | {changes} |",
            tool.spec.name, tool.spec.description
        );
    }
    table.push('\n');
    table
}
