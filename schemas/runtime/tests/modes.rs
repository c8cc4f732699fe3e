//! Modes: nine tools in three modes, set by the operator, by a header, or not at all; and both refusals, word for word.

mod support;

use std::sync::Arc;

use serde_json::json;
use support::origin::{CONTRACT, Facts, TOOLS, rejected};
use tabellion_runtime::{CallContext, CallOrigin, Rejection, ToolSpec, Transport, modes};

/// The modes that allow each tool.
const MATRIX: &str = "
              index search validate memory session agent project vcs entity
stdio-only      yes    yes      yes    yes     yes   yes     yes yes    yes
client-hybrid   yes     no      yes     no      no    no      no  no     no
server-hybrid   yes    yes       no    yes     yes   yes     yes yes    yes
";

/// The way in which a mode is set.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Operator,
    Header,
    OperatorAgainstHeader,
    HeaderOverLines,
    Unset(Transport),
}

fn check(tool: &'static ToolSpec, mode: &'static str, by: By) -> Result<(), Rejection> {
    let (set, header, transport) = match by {
        By::Operator => (Some(mode), None, Transport::Lines),
        By::Header => (None, Some(mode), Transport::Http),
        By::OperatorAgainstHeader => (Some(mode), Some("nonsense"), Transport::Http),
        By::HeaderOverLines => (None, Some(mode), Transport::Lines),
        By::Unset(transport) => (None, None, transport),
    };
    let headers = header.map(|mode| ("x-execution-flow".to_owned(), mode.to_owned()));
    let facts = Facts { mode: set, ..Facts::default() };
    let call = CallContext {
        origin: CallOrigin {
            transport,
            headers: headers.into_iter().collect(),
            environment: Some(Arc::new(facts)),
            ..CallOrigin::default()
        },
        ..CallContext::default()
    };
    modes::check(&CONTRACT, tool, &call)
}

#[test]
fn each_tool_may_be_called_in_the_modes_of_the_matrix() {
    let mut lines = MATRIX.trim().lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let tools = lines.next().unwrap();
    assert_eq!(tools, TOOLS.each_ref().map(|tool| tool.name));
    let mut cells = 0;
    for line in lines {
        let (mode, allowed) = (line[0], &line[1..]);
        for (tool, allowed) in TOOLS.iter().zip(allowed) {
            cells += 1;
            let unset = match mode {
                "stdio-only" => Some(By::Unset(Transport::Lines)),
                "server-hybrid" => Some(By::Unset(Transport::Http)),
                _ => None,
            };
            let set = [By::Operator, By::Header, By::OperatorAgainstHeader];
            for by in set.into_iter().chain(unset) {
                let outcome = check(tool, mode, by);
                if *allowed == "yes" {
                    assert_eq!(outcome, Ok(()), "{} {mode} {by:?}", tool.name);
                    continue;
                }
                let error = rejected(outcome);
                let sentence = format!(
                    "Operation mode matrix violation for '{}': flow '{mode}' is not allowed. Allowed flows: {}",
                    tool.name,
                    tool.modes.join(", ")
                );
                assert_eq!((error.code, error.message), (-32602, sentence));
                assert_eq!(error.data["rule"], json!("mode"));
            }
        }
    }
    assert_eq!(cells, 27);
    let error = rejected(check(&TOOLS[1], "client-hybrid", By::Operator));
    let sentence = "Operation mode matrix violation for 'search': flow 'client-hybrid' is not allowed. Allowed flows: stdio-only, server-hybrid";
    assert_eq!(error.message, sentence);
}

#[test]
fn a_mode_that_there_is_not_is_refused_by_every_tool() {
    for tool in &TOOLS {
        for mode in ["x", "", "STDIO-ONLY", "stdio-only "] {
            for by in [By::Operator, By::Header, By::OperatorAgainstHeader] {
                let error = rejected(check(tool, mode, by));
                let sentence = format!(
                    "Invalid execution_flow '{mode}'. Expected one of: stdio-only, client-hybrid, server-hybrid"
                );
                assert_eq!((error.code, error.message), (-32602, sentence), "{by:?}");
                assert_eq!(error.data["rule"], json!("mode"));
            }
        }
    }
}

#[test]
fn a_header_means_nothing_over_lines() {
    assert_eq!(check(&TOOLS[1], "client-hybrid", By::HeaderOverLines), Ok(()));
    assert_eq!(check(&TOOLS[1], "nonsense", By::HeaderOverLines), Ok(()));
}
