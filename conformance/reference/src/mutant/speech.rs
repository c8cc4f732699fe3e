//! What mutants say otherwise. Each function gives back what is right, unless the process is the mutant that it is for.

use std::{
    io::{self, Write},
    process, thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    super::wire::{INTERNAL_ERROR, STATELESS, UNKNOWN_METHOD, error},
    Mutant, is,
};

/// So long a line is too much for one that dies of it.
const LARGE_BYTES: usize = 1 << 20;

/// The line is about to be answered.
pub(in super::super) fn hears(line: &[u8]) {
    let dies = is(Mutant::DiesOnLargeArgument) && line.len() > LARGE_BYTES
        || is(Mutant::DiesOnBadLine) && serde_json::from_slice::<Value>(line).is_err()
        || is(Mutant::DiesOnDeepNesting) && String::from_utf8_lossy(line).contains(&"[".repeat(1000));
    if dies {
        process::exit(1);
    }
}

/// The answer is about to be written.
pub(in super::super) fn before_answer(output: &mut impl Write, answer: &Value) -> io::Result<()> {
    if is(Mutant::LogsOnStdout) {
        writeln!(output, "INFO answered {}", answer["id"])?;
    }
    if is(Mutant::DuplicateAnswers) {
        writeln!(output, "{answer}")?;
    }
    Ok(())
}

/// The input has ended.
pub(in super::super) fn at_end() {
    if is(Mutant::NeverExits) {
        thread::sleep(Duration::from_secs(3600));
    }
}

/// A notification has been heard.
pub(in super::super) fn notified() -> Option<Value> {
    is(Mutant::AnswersNotifications).then(|| error(None, UNKNOWN_METHOD, "there is no such method"))
}

/// Whether a revision is spoken.
pub(in super::super) fn speaks(revision: &str) -> bool {
    revision == STATELESS || is(Mutant::AnyRevision)
}

/// The code that an error has.
pub(in super::super) fn code(code: i64) -> i64 {
    if is(Mutant::OneErrorCode) {
        INTERNAL_ERROR
    } else {
        code
    }
}

/// What a call of a tool that there is not is answered with, if not with an error.
pub(in super::super) fn unknown_tool() -> Option<Value> {
    is(Mutant::UnknownToolIsFine).then(|| json!({ "content": [], "isError": false }))
}

/// The result of a call that was made.
pub(in super::super) fn result(mut result: Value) -> Value {
    if is(Mutant::ContentIsText) {
        result["content"] = result["content"][0]["text"].take();
    }
    if is(Mutant::TextSaysDone) {
        result["content"][0]["text"] = "Done.".into();
    }
    result
}

/// The tools as they are listed.
pub(in super::super) fn lists(tools: &mut [Value]) {
    if is(Mutant::NondeterministicList) {
        fastrand::shuffle(tools);
    }
    if is(Mutant::TalksMuch) {
        for tool in tools {
            tool["description"] = "Use this tool wisely. ".repeat(1000).into();
        }
    }
}

/// Whether an error is marked as one.
pub(in super::super) fn says_errors() -> bool {
    !is(Mutant::ErrorsAsSuccess)
}
