//! Previews of a plan: diff, one-line summary, and risk.

use super::diff::Comparison;
use super::display;
use super::edit::{Edit, Plan};

/// Upper bound of removed or of added lines before the risk rises.
const MANY_LINES: usize = 20;

/// A plan in a form that a person or a model can judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The unified diff, which `git apply` turns into exactly the planned text; empty if nothing changes.
    pub diff: String,
    /// The line that [`summarize`] returns.
    pub summary: String,
    /// The risk of the edit.
    pub risk: Risk,
}

/// Extent of an edit's removals and changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Adds at most 20 lines and removes none.
    Low,
    /// Removes a line, or adds more than 20.
    Medium,
    /// Changes a heading or front matter outside its range, hides text in code or a comment, or removes more than 20 lines or half the file.
    High,
}

/// Returns the preview of a plan that `edit` made of `old`, the file at `path`.
pub fn preview(path: &str, old: &str, edit: &Edit<'_>, plan: &Plan) -> Preview {
    let diff = Comparison::between(old, &plan.text);
    let counts = diff.counts();
    Preview { diff: diff.unified(path), summary: summary(edit, plan, counts), risk: risk(old, plan, counts) }
}

/// Returns a one-line summary of an edit of `old`, for example `replace_section "## Scope": +3 -12 lines`, with the number
/// of headings that vanish or appear, if any, and with text that is hidden in code or a comment.
pub fn summarize(old: &str, edit: &Edit<'_>, plan: &Plan) -> String {
    summary(edit, plan, Comparison::between(old, &plan.text).counts())
}

fn summary(edit: &Edit<'_>, plan: &Plan, (added, removed): (usize, usize)) -> String {
    let mut summary = edit.name().to_owned();
    if let Some(target) = edit.target() {
        summary += &format!(" \"{}\"", display::one_line(target.trim()));
    }
    summary += &format!(": +{added} -{removed} lines");
    let all_after = plan.lost.iter().all(|section| section.heading.start >= plan.removed.end);
    let place = if all_after { "after" } else { "around" };
    match plan.lost.len() {
        0 => {}
        1 => summary += &format!("; 1 heading {place} it is swallowed"),
        lost => summary += &format!("; {lost} headings {place} it are swallowed"),
    }
    match plan.gained.len() {
        0 => {}
        1 => summary += "; 1 heading appears around it",
        gained => summary += &format!("; {gained} headings appear around it"),
    }
    match plan.removed_headings {
        0 => {}
        1 => summary += "; 1 heading is removed",
        removed => summary += &format!("; {removed} headings are removed"),
    }
    if plan.is_hidden {
        summary += "; it is inside of code or HTML that is open before it";
    } else if plan.hides_text && plan.lost.is_empty() && plan.gained.is_empty() {
        summary += "; the text after it is swallowed";
    }
    if plan.front_matter_changed {
        summary += "; the front matter changes";
    }
    summary
}

fn risk(old: &str, plan: &Plan, (added, removed): (usize, usize)) -> Risk {
    let outside_changes = !plan.lost.is_empty()
        || !plan.gained.is_empty()
        || plan.is_hidden
        || plan.hides_text
        || plan.front_matter_changed;
    // A diff also counts a last line that only gains a line ending, which removes nothing.
    let gone = if plan.removed.is_empty() { 0 } else { removed };
    let half_the_file = 2 * gone >= old.split_inclusive('\n').count();
    if outside_changes || gone > MANY_LINES || gone > 0 && half_the_file {
        Risk::High
    } else if gone > 0 || added > MANY_LINES {
        Risk::Medium
    } else {
        Risk::Low
    }
}
