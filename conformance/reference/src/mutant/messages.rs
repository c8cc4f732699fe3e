//! Defects in messages. Each function returns the correct value unless the process is its mutant.

use std::{
    io::{self, Write},
    process, thread,
    time::Duration,
};

use serde_json::{Value, json};
use tabellion_contracts::braindrive_markdown::tool;

use super::{super::wire::INTERNAL_ERROR, Mutant, is, tools::add_tool};

/// Length of a line at which a mutant exits, in bytes.
const LARGE_BYTES: usize = 1 << 20;

/// Runs before a line is answered.
pub(in super::super) fn before_line(line: &[u8]) {
    let dies = is(Mutant::DiesOnLargeArgument) && line.len() > LARGE_BYTES
        || is(Mutant::DiesOnBadLine) && serde_json::from_slice::<Value>(line).is_err()
        || is(Mutant::DiesOnDeepNesting) && String::from_utf8_lossy(line).contains(&"[".repeat(1000));
    if dies {
        process::exit(1);
    }
}

/// Runs before an answer is written.
pub(in super::super) fn before_answer(output: &mut impl Write, answer: &Value) -> io::Result<()> {
    if is(Mutant::LogsOnStdout) {
        writeln!(output, "INFO answered {}", answer["id"])?;
    }
    if is(Mutant::DuplicateAnswers) {
        writeln!(output, "{answer}")?;
    }
    Ok(())
}

/// Runs at the end of the input.
pub(in super::super) fn at_end() {
    if is(Mutant::NeverExits) {
        thread::sleep(Duration::from_secs(3600));
    }
}

/// Changes the code of an error.
pub(in super::super) fn change_code(code: i64) -> i64 {
    if is(Mutant::OneErrorCode) { INTERNAL_ERROR } else { code }
}

/// Changes the result of a call.
pub(in super::super) fn change_result(mut result: Value) -> Value {
    if is(Mutant::ContentIsText) {
        result["content"] = result["content"][0]["text"].take();
    }
    if is(Mutant::TextSaysDone) {
        result["content"][0]["text"] = "Done.".into();
    }
    result
}

/// Changes the list of tools.
pub(in super::super) fn change_tools(tools: &mut Vec<Value>) {
    add_tool(tools);
    let mut add = |name: &str, argument: &str, kind: &str| {
        let mut all = tools.iter_mut();
        if let Some(tool) = all.find(|listed| listed["name"] == name) {
            tool["inputSchema"]["properties"][argument] = json!({ "type": kind });
        }
    };
    if is(Mutant::EmptiesBeforeEncoding) {
        add(tool::WRITE_MARKDOWN, "encoding", "string");
    }
    if is(Mutant::IgnoresDryRun) {
        add(tool::WRITE_MARKDOWN, "dry_run", "boolean");
    }
    if is(Mutant::PagesByBytes) {
        add(tool::READ_MARKDOWN, "offset", "integer");
        add(tool::READ_MARKDOWN, "limit", "integer");
    }
    if is(Mutant::NondeterministicList) {
        fastrand::shuffle(tools);
    }
    if is(Mutant::ListOfTheStart) {
        fastrand::Rng::with_seed(std::process::id().into()).shuffle(tools);
    }
    if is(Mutant::TalksMuch) {
        for tool in tools {
            tool["description"] = "Use this tool wisely. ".repeat(1000).into();
        }
    }
}
