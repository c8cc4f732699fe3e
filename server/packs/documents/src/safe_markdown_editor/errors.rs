//! Errors about sections in the contract's terms: problem, place, remedy, and details for programs.

use serde_json::json;
use tabellion_contracts::safe_markdown_editor::ToolError;
use tabellion_runtime::{Failure, FailureKind};

use tabellion_library::path::LibraryPath;
use tabellion_markdown::{
    editor::SectionError,
    lineage::{SectionId, UndoError},
};

/// Upper bound of sections offered for an unclear heading.
const MAX_CANDIDATES: usize = 50;
/// Upper bound of sections listed in the message itself.
const MAX_LISTED: usize = 10;
/// Upper bound of the characters of a heading in a log entry or a message.
const MAX_HEADING_CHARACTERS: usize = 120;

/// A section that the caller may have meant.
pub(super) struct Candidate {
    pub(super) section_id: SectionId,
    pub(super) heading: String,
    pub(super) position: usize,
    /// Line of the heading, counted from 1.
    pub(super) line: usize,
}

/// Returns the heading, shortened for display.
pub(super) fn shown(heading: &str) -> String {
    let heading = heading.trim();
    if heading.chars().count() <= MAX_HEADING_CHARACTERS {
        return heading.into();
    }
    heading.chars().take(MAX_HEADING_CHARACTERS).chain(['…']).collect()
}

pub(super) fn no_document(path: &LibraryPath) -> ToolError {
    let message = format!(
        "there is no file `{path}`; insert a section to begin it, or bring it back if it was deleted or renamed (`git log --follow \
         -- {path}`)"
    );
    Failure::new(FailureKind::NotFound, message).into()
}

pub(super) fn no_such_id(id: &str) -> ToolError {
    let message = format!(
        "Section not found: no section has the id \"{}\" (any more); list the sections to see their ids",
        shown(id).escape_debug()
    );
    ToolError::application_error(message).with("section_id", id)
}

pub(super) fn no_such_heading(heading: &str, nearest: &[Candidate]) -> ToolError {
    let advice = match nearest {
        [] => "list the sections to see what there is".into(),
        _ => format!("did you mean {}?", listed(nearest)),
    };
    let message = format!(
        "Section not found: no section has the heading \"{}\"; {advice}",
        shown(heading).escape_debug()
    );
    with_candidates(ToolError::application_error(message).with("heading", heading), nearest)
}

pub(super) fn ambiguous(heading: &str, candidates: &[Candidate]) -> ToolError {
    let message = format!(
        "{} sections have the heading \"{}\"; say which by its id: {}",
        candidates.len(),
        shown(heading).escape_debug(),
        listed(candidates)
    );
    with_candidates(ToolError::application_error(message).with("heading", heading), candidates)
}

pub(super) fn disagree(id: &SectionId, title: &str, heading: &str) -> ToolError {
    let message = format!(
        "the section {id} has the heading \"{}\" and not \"{}\"; give one of the two, or both of the same section",
        shown(title).escape_debug(),
        shown(heading).escape_debug()
    );
    ToolError::invalid_params(message).with("section_id", id.to_string()).with("heading", heading)
}

pub(super) fn not_named() -> ToolError {
    ToolError::invalid_params("identify the section by its id or its heading")
}

fn with_candidates(error: ToolError, candidates: &[Candidate]) -> ToolError {
    let candidates = candidates.iter().take(MAX_CANDIDATES).map(|candidate| {
        json!({
            "section_id": candidate.section_id.to_string(),
            "heading": candidate.heading,
            "position": candidate.position,
            "line": candidate.line,
        })
    });
    error.with("candidates", candidates.collect::<Vec<_>>())
}

fn listed(candidates: &[Candidate]) -> String {
    let names: Vec<String> = candidates
        .iter()
        .take(MAX_LISTED)
        .map(|candidate| {
            let heading = shown(&candidate.heading);
            format!("{} (\"{}\", line {})", candidate.section_id, heading.escape_debug(), candidate.line)
        })
        .collect();
    match candidates.len() - names.len() {
        0 => names.join(" or "),
        more => format!("{} or {more} more", names.join(", ")),
    }
}

/// Converts the error of a change to a section.
pub(super) fn section(error: SectionError) -> ToolError {
    let message = error.to_string();
    match error {
        SectionError::Position { position, max, .. } => {
            ToolError::invalid_params(message).with("position", position).with("most", max)
        }
        SectionError::HeadingLines | SectionError::HeadingEmpty => ToolError::invalid_params(message),
        SectionError::NoHeading { .. }
        | SectionError::EndsSection { .. }
        | SectionError::Reparents { .. }
        | SectionError::Swallows { .. }
        | SectionError::Reveals { .. }
        | SectionError::Limit(_) => ToolError::application_error(message),
    }
}

/// Converts the error of an undo or redo.
pub(super) fn undo(error: UndoError) -> ToolError {
    let answer = ToolError::application_error(error.to_string());
    match error {
        UndoError::Nothing { .. } => answer,
        UndoError::Changed { commit, .. } => answer.with("commit", commit),
    }
}
