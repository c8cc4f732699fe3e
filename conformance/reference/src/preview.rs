//! What a person is shown before an edit: a diff, a line, and how much is at stake.

use similar::{ChangeTag, TextDiff};
use tabellion_contracts::braindrive_markdown::EditOperation;

use super::markdown::{Plan, named};

/// The unified diff from `old` to `new`, which `git apply` turns into exactly the new text.
pub(super) fn diff(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    // As git does it: a name with a blank ends in a tab.
    let end = if path.contains(' ') { "\t" } else { "" };
    let (old, new) = (lines(old), lines(new));
    let diff = TextDiff::configure()
        .newline_terminated(true)
        .diff_slices(&old, &new);
    let mut patch = format!("--- a/{path}{end}\n+++ b/{path}{end}\n");
    for hunk in diff.unified_diff().iter_hunks() {
        patch += &format!("{}\n", hunk.header());
        for change in hunk.iter_changes() {
            patch += &format!("{}{}", change.tag(), change.value());
            // To git a line ends with a line feed, and with nothing else.
            if !change.value().ends_with('\n') {
                patch += "\n\\ No newline at end of file\n";
            }
        }
    }
    patch
}

/// How many lines come, and how many go.
pub(super) fn counts(old: &str, new: &str) -> (usize, usize) {
    let (old, new) = (lines(old), lines(new));
    let diff = TextDiff::configure()
        .newline_terminated(true)
        .diff_slices(&old, &new);
    let count = |tag| {
        diff.iter_all_changes()
            .filter(|change| change.tag() == tag)
            .count()
    };
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

/// One line that says what an edit does.
pub(super) fn summary(old: &str, operation: &EditOperation, plan: &Plan) -> String {
    let (come, go) = counts(old, &plan.text);
    let (name, target) = named(operation);
    let target = target
        .map(|target| format!(" {:?}", target.trim()))
        .unwrap_or_default();
    let others = if plan.changes_others {
        "; blocks around it change"
    } else {
        ""
    };
    format!("{name}{target}: +{come} -{go} lines{others}")
}

/// `low`, `medium` or `high`.
pub(super) fn risk(old: &str, plan: &Plan) -> &'static str {
    let (come, go) = counts(old, &plan.text);
    let go = if plan.removed.is_empty() { 0 } else { go };
    if plan.changes_others || go > 20 || go > 0 && 2 * go >= lines(old).len() {
        "high"
    } else if go > 0 || come > 20 {
        "medium"
    } else {
        "low"
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
