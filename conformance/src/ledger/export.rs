//! Reads rows and log from lines of JSON that a command prints.
//!
//! A line is `{"row": {"entity": …, "row": {…}}}` or `{"change": {"id": …, "rows": […]}}`; others are for other programs.

use std::process::{Command, Stdio};

use serde::Deserialize;
use tabellion_runtime::spec::RowsSpec;

use super::rows::{Entry, Row, RowLedger, Tables};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Row {
        entity: String,
        row: Row,
    },
    Change(Entry),
    #[serde(untagged)]
    Other(serde::de::IgnoredAny),
}

/// Runs `command` and parses its output.
///
/// # Errors
/// If it fails, or its output is not lines of JSON.
pub(super) fn read(mut command: Command, spec: &RowsSpec) -> Result<RowLedger, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(|error| format!("`{program}` can't be run: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{program}` failed ({}): {}", output.status, why.trim()));
    }
    let text = String::from_utf8(output.stdout)
        .map_err(|_| format!("`{program}` printed bytes that are not UTF-8"))?;
    parse(&text, spec).map_err(|why| format!("`{program}` printed {why}"))
}

fn parse(text: &str, spec: &RowsSpec) -> Result<RowLedger, String> {
    let (mut tables, mut log) = (Tables::default(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let wrong = |why: String| format!("line {}: {why}", number + 1);
        let line = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        match line {
            Line::Row { entity, row } => {
                let entity = spec
                    .entity(&entity)
                    .ok_or_else(|| wrong(format!("the contract has no entity `{entity}`")))?;
                tables.put(entity, row);
            }
            Line::Change(entry) => log.push(entry),
            Line::Other(_) => {}
        }
    }
    Ok(RowLedger { tables, log: Some(log) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::rows::tests::{PAGE, row};

    static SPEC: RowsSpec = RowsSpec { contract: "pages", entities: &[PAGE], ..RowsSpec::EMPTY };

    #[test]
    fn lines_are_rows_and_entries() {
        let row = row("a", &serde_json::json!({}));
        let text = format!(
            "{}\n{}\n{}\n",
            serde_json::json!({ "tabellion": { "contract": "pages" } }),
            serde_json::json!({ "change": { "id": "x", "rows": [], "seq": 1 } }),
            serde_json::json!({ "row": { "entity": "page", "row": row } }),
        );
        let mut command = Command::new("printf");
        command.args(["%s", &text]);
        let ledger = read(command, &SPEC).expect("lines");
        assert_eq!(ledger.tables.rows("page").collect::<Vec<_>>(), [&row]);
        assert_eq!(ledger.log.expect("a log")[0].id, "x");
        for (text, expected) in [("{", "line 1"), (r#"{"row":{"entity":"pag","row":{}}}"#, "no entity `pag`")]
        {
            let why = parse(text, &SPEC).expect_err("wrong");
            assert!(why.contains(expected), "{why}");
        }
        let why = read(Command::new("false"), &SPEC).expect_err("it fails");
        assert!(why.contains("`false` failed"), "{why}");
    }
}
