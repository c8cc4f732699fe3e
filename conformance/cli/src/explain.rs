//! `explain`: prints the requirement, the reason and the method of a check.

use std::fmt::Write as _;

use anstyle::Style;

use super::{run::print, trouble::Trouble};
use tabellion_conformance::{
    check::Severity,
    checks,
    contracts::{self, CONTRACTS},
    exit,
};

/// Column at which text is wrapped.
const MAX_WIDTH: usize = 88;

/// Selection of a check.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The check's id, as `list` prints it
    id: String,
    /// The contract whose guarantees to name: one of the suite's own, or the folder of any other; all of its own by default
    #[arg(long, value_name = "NAME|FOLDER")]
    contract: Option<String>,
}

pub(super) fn explain(arguments: &Arguments) -> Result<u8, Trouble> {
    let id = &arguments.id;
    let check =
        checks::find(id).ok_or_else(|| format!("there is no check `{id}`{}", checks::did_you_mean(id)))?;
    let bold = Style::new().bold();
    let mut text = format!("{bold}{}{bold:#}", check.id);
    text.push_str(match check.severity {
        Severity::Must => "  must hold\n\n",
        Severity::Should => "  should hold\n\n",
    });
    text.push_str(&wrapped(check.states));
    text.push('\n');
    text.push_str(&wrapped(check.explains));
    let contract = arguments.contract.as_deref().map(contracts::find).transpose()?;
    for contract in contract.as_ref().map_or(CONTRACTS, std::slice::from_ref) {
        for (number, guarantee) in checks::judged(check, contract).enumerate() {
            if number == 0 {
                let _ = writeln!(text, "\n{bold}{} {}{bold:#}", contract.id, contract.version);
            }
            let _ = writeln!(text, "  {}: {}", guarantee.id, guarantee.text);
        }
    }
    print(&text)?;
    Ok(exit::PASSED)
}

/// Returns text wrapped at [`MAX_WIDTH`].
fn wrapped(text: &str) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for word in text.split_whitespace() {
        let long = word.chars().count();
        if width > 0 && width + 1 + long > MAX_WIDTH {
            lines.push('\n');
            width = 0;
        }
        if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += long;
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped() {
        let text = wrapped(&"word ".repeat(50));
        assert!(text.lines().all(|line| line.len() <= MAX_WIDTH), "{text}");
        assert_eq!(text.split_whitespace().count(), 50);
    }
}
