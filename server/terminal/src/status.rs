//! `tabellion status`: the target of the next change, and the uncommitted documents.

use std::path::{self, Path};

use serde_json::{Value, json};
use tabellion_library::{Difference, UncommittedList};
use tabellion_pack::Packs;
use tabellion_upkeep::{
    TerminalError,
    page::{self, ADDED, FAINT, NAME, Output, Page, REMOVED, STRONG, TITLE, WARNING},
};

use super::{
    diff,
    log::{as_json, short},
    open, remote,
};

/// Maximum number of untracked documents to list; `--json` lists all.
const MAX_UNTRACKED: usize = 10;

/// Shows the library's state.
///
/// # Errors
/// If the library can't be opened or read, or standard output can't be written.
pub fn status(folder: &Path, packs: Packs, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let place = library.place()?;
    let UncommittedList { documents, truncated } = library.uncommitted()?;
    let last = library.activity(1)?.pop();
    let problems = packs.problems(&library)?;
    let folder = path::absolute(folder)?.canonicalize()?;
    if output.json {
        let uncommitted: Vec<Value> = documents
            .iter()
            .map(|document| json!({ "path": document.path, "state": diff::name(document.difference) }))
            .collect();
        return Ok(page::json(&json!({
            "library": folder,
            "branch": place.branch,
            "commit": place.commit,
            "ready": place.refusal.is_none(),
            "refusal": place.refusal.map(|failure| failure.message),
            "uncommitted": uncommitted,
            "remote": library.remote_settings().zip(library.remote_state()).map(|(settings, state)| remote::as_json(settings, &state)),
            "conflicts": library.conflicts()?.len(),
            "truncated": truncated,
            "last": last.as_ref().map(as_json),
            "problems": problems.iter().map(|(path, problems)| {
                json!({ "path": path, "problems": problems })
            }).collect::<Vec<_>>(),
        }))?);
    }
    let mut page = Page::new(output);
    page.put(STRONG, "library  ").line(&folder.display().to_string());
    let commit = place.commit.as_deref().map_or("no commit yet", short);
    let branch = place.branch.as_deref().unwrap_or("no branch");
    page.put(STRONG, "branch   ").put(NAME, branch).line(&format!(" at {commit}"));
    match &place.refusal {
        None => page.put(STRONG, "changes  ").put(ADDED, "possible").line(""),
        Some(failure) => page.put(STRONG, "changes  ").put(REMOVED, "refused").line(&format!(": {failure}")),
    };
    if let Some((settings, state)) = library.remote_settings().zip(library.remote_state()) {
        page.put(STRONG, "remote   ").put(NAME, &format!("{}: ", settings.address));
        remote::put_state(&mut page, &state);
    }
    page.put(STRONG, "last     ");
    match &last {
        None => page.put(FAINT, "no tool has changed anything yet").line(""),
        Some(entry) => {
            page.put(TITLE, short(&entry.commit)).line(&format!("  {}: {}", entry.paths[0], entry.summary))
        }
    };
    if truncated {
        page.line("").put(WARNING, "note").line(&format!(": {}", diff::TRUNCATED));
    }
    let of = |wanted: Difference| documents.iter().filter(move |document| document.difference == wanted);
    if of(Difference::Modified).chain(of(Difference::Deleted)).next().is_some() {
        page.line("").line("Not committed; an agent's change to one of these commits it first, as it is:");
        for document in of(Difference::Modified) {
            page.put(WARNING, "  modified  ").line(&document.path);
        }
        for document in of(Difference::Deleted) {
            page.put(REMOVED, "  deleted   ").line(&document.path);
        }
    }
    if of(Difference::Untracked).next().is_some() {
        page.line("").line("Not in the repository yet:");
        for document in of(Difference::Untracked).take(MAX_UNTRACKED) {
            page.put(FAINT, "  untracked ").line(&document.path);
        }
        let more = of(Difference::Untracked).count().saturating_sub(MAX_UNTRACKED);
        if more > 0 {
            page.put(FAINT, &format!("  and {more} more")).line("");
        }
    }
    let conflicts = library.conflicts()?;
    if !conflicts.is_empty() {
        page.line("").line(
            "Changed on two machines, and not merged; `tabellion conflicts show` shows the other version:",
        );
        for (path, _) in conflicts {
            page.put(WARNING, "  conflict  ").line(path.as_str());
        }
    }
    if !problems.is_empty() {
        page.line("").line("Notes that can't be understood:");
        for (path, problems) in problems {
            for problem in problems {
                page.put(WARNING, "  note      ").line(&format!("{path}: {problem}"));
            }
        }
    }
    Ok(page.show()?)
}
