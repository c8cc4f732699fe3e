//! `tabellion review`: agents' pending proposals, and decisions on them.

use std::{path::Path, sync::Arc};

use chrono::DateTime;
use serde_json::json;
use tabellion_library::Library;
use tabellion_markdown::diff;
use tabellion_pack::{
    Packs,
    review::{self, Decide, Document, Filter, Listed, Review, Waiting},
};
use tabellion_runtime::{Agent, CallContext, calls::CallStore};
use tabellion_serve::{self as serve, calls, page::shown};
use tabellion_upkeep::{
    TerminalError,
    console::counted,
    page::{self, FAINT, NAME, Output, Page, STRONG, TITLE, WARNING},
};

use super::{
    log::{local, short},
    nearest_used, open,
};

/// Number of characters of an id that distinguish reviews.
const SHORT_ID: usize = 8;
/// Role of a person at the terminal.
const REVIEWER: &str = "reviewer";

/// Lists at most `limit` of the pending proposals, oldest first.
///
/// # Errors
/// If the library can't be opened or read, or standard output can't be written.
pub fn list(folder: &Path, limit: usize, packs: Packs, output: Output) -> Result<(), TerminalError> {
    let reviewed = reviewed(packs)?;
    let desk = (reviewed.desk)(open(&nearest_used(folder, packs))?, None);
    let part = review::Page { offset: 0, limit };
    let listed = serve::runtime()?.block_on(desk.list(&call(reviewed)?, &Filter::default(), part));
    let Listed { rows, total, .. } = listed.map_err(|error| refusal(&error))?;
    if output.json {
        return Ok(page::json(&json!({ "waiting": rows, "total": total }))?);
    }
    let mut page = Page::new(output);
    for row in &rows {
        let (id, title) = (&row.id, &row.title);
        line(&mut page, [id, title, &row.state, &row.author, &row.started_at], row.stale);
    }
    if rows.is_empty() && total == 0 {
        page.line("nothing waits for a review");
    } else if rows.len() < total {
        let shown = format!("{} of {}; `--all` lists all; ", rows.len(), counted(total, "proposal"));
        page.put(FAINT, &shown);
        page.put(FAINT, "`tabellion review show ID` shows one").line("");
    } else {
        page.put(FAINT, &format!("{}; ", counted(total, "proposal")));
        page.put(FAINT, "`tabellion review show ID` shows one").line("");
    }
    Ok(page.show()?)
}

/// Shows a proposal, and the effect of approving it. A decision then applies to the shown revision, unless it names another.
///
/// # Errors
/// If no or several proposals match `id`, the library can't be opened or read, or standard output can't be written.
pub fn show(folder: &Path, id: &str, packs: Packs, output: Output) -> Result<(), TerminalError> {
    let reviewed = reviewed(packs)?;
    let (library, call) = (open(&nearest_used(folder, packs))?, call(reviewed)?);
    let review = look(reviewed, &library, &call, id)?;
    // If the write fails, a decision has to name the revision.
    let _ = library.keep_aside(&shown(&call, &review.id), &review.revision);
    if output.json {
        return Ok(page::json(&json!({ "reviews": [review] }))?);
    }
    let mut page = Page::new(output);
    let Waiting { id, title, state, author, started_at, .. } = &review;
    line(&mut page, [id, title, state, author, started_at], review.stale);
    page.line(&format!("note      {}", review.note_id));
    page.line(&format!("version   {}", review.proposed_version));
    page.line(&format!("revision  {}", short(&review.revision)));
    for (name, text) in [("reason", &review.reason), ("notes", &review.notes)] {
        if let Some(text) = text {
            // Further lines are indented: they can't look like the diff or the advice below.
            for (at, line) in page::visible(text).lines().enumerate() {
                page.line(&format!("{:<9} {line}", if at == 0 { name } else { "" }));
            }
        }
    }
    page.line("");
    if let Some(document) = &review.document {
        let (path, before, after) = (&document.path, document.before.as_deref(), &document.after);
        page.diff(diff::unified_sides(path, before, Some(after)));
        parts(&mut page, document);
        let can = |decision: &str| review.decisions.iter().any(|name| name == decision);
        if can("approve") {
            let (id, revision) = (short_id(&review.id), short(&review.revision));
            page.put(FAINT, &format!("`tabellion review approve {id} --revision {revision}` approves this"));
            if document.parts.len() > 1 && can("approve_part") {
                page.put(FAINT, "; with `--part NUMBER`, only such parts");
            }
            page.line("");
        }
    }
    if review.stale {
        page.put(WARNING, "stale").line(": the note has changed since; have it revised, or reject it");
    }
    Ok(page.show()?)
}

/// Decides on a proposal. If the decision names no revision, it applies to the one shown last.
///
/// # Errors
/// If the decision is not possible, the library can't be opened or changed, or standard output can't be written.
pub fn decide(folder: &Path, mut decide: Decide, packs: Packs, output: Output) -> Result<(), TerminalError> {
    let id = &decide.id.clone();
    let reviewed = reviewed(packs)?;
    let (library, call) = (open(&nearest_used(folder, packs))?, call(reviewed)?);
    let review = look(reviewed, &library, &call, id)?;
    let name = shown(&call, &review.id);
    let last = library.kept_aside(&name);
    let calls = calls::open(&library, [&reviewed.contract])?;
    let desk = (reviewed.desk)(Arc::clone(&library), calls.map(|calls| calls as Arc<dyn CallStore>));
    decide.shown.revision = decide.shown.revision.or(last);
    let runtime = serve::runtime()?;
    let decided = runtime.block_on(desk.decide(&call, &decide));
    let commit = decided.map_err(|error| match error.reason() {
        Some("not_ready" | "role") => impossible(&decide.on, &review).unwrap_or_else(|| refusal(&error)),
        _ => refusal(&error),
    })?;
    library.forget_aside(&name);
    let review = runtime.block_on(desk.show(&call, id));
    let review = review.map_err(|error| refusal(&error))?;
    let done = format!("{} in {}", review.state, short(&commit));
    if output.json {
        return page::json(&json!({ "commit": commit, "reviews": [review] }))
            .map_err(TerminalError::unreported(done));
    }
    let mut page = Page::new(output);
    page.put(STRONG, &review.state);
    page.put(NAME, &format!(" {}", page::visible(&review.title)));
    page.line(&format!(" in {}", short(&commit)));
    page.show().map_err(TerminalError::unreported(done))
}

/// Returns the review of the contract that has one.
fn reviewed(packs: Packs) -> Result<&'static Review, TerminalError> {
    let review = packs.reviews().next();
    review.ok_or_else(|| TerminalError::new("no contract of this program has reviews"))
}

fn look(
    review: &Review,
    library: &Arc<Library>,
    call: &CallContext,
    id: &str,
) -> Result<Waiting, TerminalError> {
    let desk = (review.desk)(Arc::clone(library), None);
    let shown = serve::runtime()?.block_on(desk.show(call, id));
    shown.map_err(|error| refusal(&error))
}

/// Returns the id of the only proposal whose id begins with `id`.
pub(super) fn full_id(library: &Arc<Library>, id: &str, packs: Packs) -> Result<String, TerminalError> {
    let reviewed = reviewed(packs)?;
    Ok(look(reviewed, library, &call(reviewed)?, id)?.id)
}

fn refusal(error: &impl std::fmt::Display) -> TerminalError {
    TerminalError::new(page::visible(&error.to_string()))
}

/// Names of decisions in the workflow, and on the command line.
const COMMANDS: [(&str, &str); 5] = [
    ("approve", "review approve"),
    ("approve_part", "review approve --part"),
    ("reject", "review reject"),
    ("needs_revision", "review revise"),
    ("withdraw", "review withdraw"),
];

/// Returns the refusal of a decision that the person can't make now, with those that are possible; `None` if none is, or if this one
/// was possible.
fn impossible(on: &str, review: &Waiting) -> Option<TerminalError> {
    if review.decisions.is_empty() || review.decisions.iter().any(|name| name == on) {
        return None;
    }
    let command = |on: &str| COMMANDS.iter().find(|(name, _)| *name == on).map(|(_, command)| *command);
    let possible: Vec<_> =
        review.decisions.iter().filter_map(|on| Some(format!("`{}`", command(on)?))).collect();
    let message = format!("you can't `{}` a proposal in the state `{}`", command(on)?, review.state);
    Some(TerminalError::new(message).hint(format!("possible for you now: {}", possible.join(", "))))
}

/// Returns the context of a call by the person at the terminal.
fn call(review: &Review) -> Result<CallContext, TerminalError> {
    let call = CallContext {
        client: Some(concat!("tabellion/", env!("CARGO_PKG_VERSION")).into()),
        ..CallContext::default()
    };
    let call = serve::local_caller(Some(REVIEWER)).makes(call, review.contract, Agent::default());
    match call.caller {
        Some(_) => Ok(call),
        None => Err(TerminalError::new("the contract has no reviewers")),
    }
}

/// Lists the parts that can be taken or left.
fn parts(page: &mut Page, document: &Document) {
    for (index, part) in document.parts.iter().enumerate().filter(|_| document.parts.len() > 1) {
        let place = if part.front_matter {
            "front matter".to_owned()
        } else if part.new.is_empty() {
            format!("without old lines {} to {}", part.old.start + 1, part.old.end)
        } else {
            format!("lines {} to {}", part.new.start + 1, part.new.end)
        };
        page.put(STRONG, &format!("part {}", index + 1)).line(&format!("  {place}"));
    }
}

fn short_id(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// Adds one line: id, title, state, author and time of a proposal.
fn line(page: &mut Page, [id, title, state, author, started_at]: [&String; 5], is_stale: bool) {
    page.put(TITLE, short_id(id));
    page.put(NAME, &format!("  {}", page::visible(title)));
    page.put(FAINT, &format!("  {state} · {}", page::visible(author)));
    let local = DateTime::parse_from_rfc3339(started_at).map(|time| local(&time));
    page.put(FAINT, &format!(" · {}", local.as_deref().unwrap_or(started_at)));
    if is_stale {
        page.put(WARNING, "  stale");
    }
    page.line("");
}
