//! Previews of edits: a diff, a summary, and the risk.

use similar::{ChangeTag, TextDiff};
use tabellion_contracts::braindrive_markdown::EditOperation;

use super::markdown::{Plan, named};

/// Returns the unified diff from `old` to `new`, which `git apply` applies exactly.
pub(super) fn diff(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    // Like git: a name with a blank is followed by a tab.
    let end = if path.contains(' ') { "\t" } else { "" };
    let (old, new) = (lines(old), lines(new));
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
    let mut patch = format!("--- a/{path}{end}\n+++ b/{path}{end}\n");
    for hunk in diff.unified_diff().iter_hunks() {
        patch += &format!("{}\n", hunk.header());
        for change in hunk.iter_changes() {
            patch += &format!("{}{}", change.tag(), change.value());
            // For git, only a line feed ends a line.
            if !change.value().ends_with('\n') {
                patch += "\n\\ No newline at end of file\n";
            }
        }
    }
    patch
}

/// Returns the numbers of added and removed lines.
pub(super) fn counts(old: &str, new: &str) -> (usize, usize) {
    let (old, new) = (lines(old), lines(new));
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

/// Returns a one-line summary of an edit.
pub(super) fn summary(old: &str, operation: &EditOperation, plan: &Plan) -> String {
    let (come, go) = counts(old, &plan.text);
    let (name, target) = named(operation);
    let target = target.map(|target| format!(" {:?}", target.trim())).unwrap_or_default();
    let others = if plan.changes_others { "; surrounding blocks change" } else { "" };
    format!("{name}{target}: +{come} -{go} lines{others}")
}

/// Returns the risk of an edit: `low`, `medium` or `high`.
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
