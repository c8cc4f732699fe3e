//! `tabellion undo`: reverts an entry's change, in a new commit.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};
use tabellion_library::Library;
use tabellion_pack::Packs;
use tabellion_runtime::{CallContext, Failure, calls::CallStore};
use tabellion_serve::{
    self as serve, calls,
    undo::{CONFLICTS, Recorder, Undo},
};
use tabellion_upkeep::{
    TerminalError,
    page::{self, Output, Page, TITLE},
};

use super::{
    log::{change_as_json, difference, short},
    open,
};

/// Undoes the entry, or only shows the changes that this would make. One of `packs` may record it as an execution.
///
/// # Errors
/// If a later change is in the way, the library can't be opened or changed, or standard output can't be written.
pub fn undo(
    folder: &Path,
    id: &str,
    dry_run: bool,
    packs: Packs,
    output: Output,
) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let entry = library.find_entry(id)?;
    let change = library.change_of(&entry)?;
    let undo = Undo::from_entry(&entry, change).map_err(|failure| refusal(&failure))?;
    if dry_run {
        return preview(&undo, &library, output);
    }
    let commit = run(&undo, &library, packs)?;
    let made = library.find_entry(&commit)?;
    let done = format!("undone in {}", short(&commit));
    if output.json {
        return page::json(&json!({ "undone": entry.commit, "commit": commit, "paths": made.paths }))
            .map_err(TerminalError::unreported(done));
    }
    let mut page = Page::new(output);
    page.put(TITLE, &done);
    page.line(&format!(": {}", made.summary));
    for document in &library.change_of(&made)?.documents {
        page.diff(difference(document));
    }
    page.show().map_err(TerminalError::unreported(done))
}

/// Makes the change as this person; returns its commit.
pub(super) fn run(undo: &Undo, library: &Arc<Library>, packs: Packs) -> Result<String, TerminalError> {
    let call = CallContext {
        client: Some(concat!("tabellion/", env!("CARGO_PKG_VERSION")).into()),
        identity: Some(serve::local_caller(None).identity()),
        ..CallContext::default()
    };
    let recorder = recorder(library, packs)?;
    let commit = serve::runtime()?.block_on(undo.run(library, recorder.as_ref(), &call));
    commit.map_err(|failure| refusal(&failure))
}

/// Returns a recorder of undos, if executions are stored next to the library.
fn recorder(library: &Arc<Library>, packs: Packs) -> Result<Option<Recorder>, TerminalError> {
    if !calls::are_kept(library) {
        return Ok(None);
    }
    let specs = packs.specs();
    let calls = calls::open(library, &specs)?;
    Ok(Recorder::new(&specs, calls.map(|calls| calls as Arc<dyn CallStore>)))
}

/// Shows the changes that undoing would make now.
fn preview(undo: &Undo, library: &Library, output: Output) -> Result<(), TerminalError> {
    let mut page = Page::new(output);
    for change in undo.changes(library).map_err(|failure| refusal(&failure))? {
        if output.json {
            page::json(&change_as_json(&change))?;
        } else {
            page.diff(difference(&change));
        }
    }
    Ok(page.show()?)
}

/// Returns the error for a refusal, with its conflicts.
fn refusal(failure: &Failure) -> TerminalError {
    let message = &failure.message;
    let Some(conflicts) = failure.data.get(CONFLICTS).and_then(Value::as_array) else {
        return TerminalError::new(message);
    };
    let shown: Vec<_> = conflicts.iter().filter_map(Value::as_str).collect();
    TerminalError::new(format_args!("{message}\n\n{}", page::visible(&shown.join("\n"))))
        .hint("undo the later changes first (`tabellion log PATH` lists them), or edit the document by hand")
}
