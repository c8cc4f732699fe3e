//! `tabellion remote`, `sync` and `conflicts`: sharing a library with other machines.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use tabellion_library::{
    Acknowledge, Address, DocumentChange, Library, RemoteSettings, RemoteState, Taken, is_branch_name,
    path::LibraryPath,
};
use tabellion_pack::Packs;
use tabellion_platform as platform;
use tabellion_serve::undo::Undo;
use tabellion_upkeep::{
    TerminalError,
    console::counted,
    page::{self, ADDED, NAME, Output, Page, STRONG, WARNING},
};

use super::{
    log::{difference, short},
    open,
    undo::run,
};

/// A person's settings for the remote.
#[derive(Debug)]
pub struct Chosen<'a> {
    /// A name in git's configuration, or an address.
    pub remote: &'a str,
    /// The branch, if it is not the library's own.
    pub branch: Option<&'a str>,
    /// When a change counts as made.
    pub acknowledge: Acknowledge,
    /// Upper bound of the time that a call waits for the remote.
    pub wait: Duration,
    /// Age of the last fetch from which a call fetches first.
    pub pull_after: Duration,
    /// Number of unpublished commits from which changes are refused; `None` for no limit.
    pub max_unpublished: Option<usize>,
}

/// Adds the library's state relative to its remote, and the end of the line.
pub(super) fn put_state(page: &mut Page, state: &RemoteState) {
    let ahead = match state.ahead {
        0 => String::new(),
        ahead => format!(", {} not there yet", counted(ahead, "commit")),
    };
    page.line(&format!("{}{ahead}", state.status.name()));
    if let Some((why, since)) = &state.trouble {
        let since = since.as_ref().map(|since| format!("since {}: ", since.format("%Y-%m-%d %H:%M UTC")));
        page.line(&format!("         {}{why}", since.unwrap_or_default()));
    }
}

pub(super) fn as_json(settings: &RemoteSettings, state: &RemoteState) -> Value {
    let mut value = state.to_json();
    value["address"] = json!(settings.address.to_string());
    value["branch"] = json!(settings.branch.trim_start_matches("refs/heads/"));
    value["acknowledge"] = json!(settings.acknowledge.name());
    value
}

/// Shows the remote and the library's state relative to it.
///
/// # Errors
/// If the library can't be opened or read, or standard output can't be written.
pub fn show(folder: &Path, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let found = library.remote_settings().zip(library.remote_state());
    if output.json {
        let value = found.map_or(Value::Null, |(settings, state)| as_json(settings, &state));
        return Ok(page::json(&value)?);
    }
    let mut page = Page::new(output);
    match found {
        None => {
            page.line("the library is not shared; `tabellion remote set URL` shares it");
        }
        Some((settings, state)) => {
            page.put(STRONG, "remote   ").line(&settings.address.to_string());
            let branch = settings.branch.trim_start_matches("refs/heads/");
            page.put(STRONG, "branch   ").put(NAME, branch).line("");
            let acknowledge = match settings.acknowledge {
                Acknowledge::Local => "once a change is durable here; it is pushed in the background",
                Acknowledge::Remote => "once the remote has a change",
            };
            page.put(STRONG, "answers  ").line(acknowledge);
            put_state(page.put(STRONG, "state    "), &state);
        }
    }
    Ok(page.show()?)
}

/// Shares the library through a remote, which must answer.
///
/// # Errors
/// If the remote does not answer, the settings can't be kept, the library can't be opened, or standard output can't be written.
pub fn set(folder: &Path, chosen: &Chosen<'_>, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let branch = match (chosen.branch, library.place()?.branch) {
        (Some(branch), _) => branch.to_owned(),
        (None, Some(branch)) => branch,
        (None, None) => {
            return Err(TerminalError::new("no branch is checked out")
                .hint("`git switch` to one, or name it with --branch"));
        }
    };
    if !is_branch_name(&branch) {
        return Err(TerminalError::new(format_args!("`{branch}` can't be the name of a branch")));
    }
    let text = match library.configured_remote(chosen.remote) {
        Some(address) => address,
        None if Path::new(chosen.remote).is_dir() => {
            platform::canonicalize(Path::new(chosen.remote))?.display().to_string()
        }
        None => chosen.remote.to_owned(),
    };
    let address = Address::parse(&text).map_err(TerminalError::new)?;
    let own = library.repository_facts();
    let place = platform::canonicalize(Path::new(text.strip_prefix("file://").unwrap_or(&text))).ok();
    if place.is_some_and(|place| [own.top, own.git_dir, own.common_dir].contains(&place)) {
        return Err(TerminalError::new("a library can't be its own remote"));
    }
    let settings = RemoteSettings {
        acknowledge: chosen.acknowledge,
        wait: chosen.wait,
        pull_after: chosen.pull_after,
        max_unpublished: chosen.max_unpublished,
        ..RemoteSettings::new(address, format!("refs/heads/{branch}"))
    };
    library.set_remote(&settings)?;
    let shared = open(folder)?;
    let tip = match shared.look_at_remote(chosen.branch.is_some()) {
        Ok(tip) => tip,
        Err(error) => {
            // Restores the earlier settings.
            match library.remote_settings() {
                Some(before) => library.set_remote(before)?,
                None => library.forget_remote()?,
            }
            return Err(error.into());
        }
    };
    let state = shared.remote_state();
    if output.json {
        return Ok(page::json(&state.map_or(Value::Null, |state| as_json(&settings, &state)))?);
    }
    let mut page = Page::new(output);
    page.put(ADDED, "shared").line(&format!(
        " through `{branch}` of {}, which {}",
        settings.address,
        match tip {
            Some(_) => "has commits",
            None => "has no such branch yet",
        }
    ));
    match state.and_then(|state| state.trouble) {
        None => page.line(
            "`tabellion sync` takes its commits and pushes yours; from the next start on, a server does that by itself",
        ),
        Some((why, _)) => page.put(WARNING, "blocked").line(&format!(": {why}")),
    };
    Ok(page.show()?)
}

/// Stops sharing the library.
///
/// # Errors
/// If the settings can't be removed, the library can't be opened, or standard output can't be written.
pub fn forget(folder: &Path, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let was = library.remote_settings().map(|settings| settings.address.to_string());
    library.forget_remote()?;
    if output.json {
        return Ok(page::json(&json!({ "forgotten": was }))?);
    }
    let mut page = Page::new(output);
    page.line(&match was {
        Some(address) => {
            format!("no longer shared through {address}; servers that run stop at their next start")
        }
        None => "the library was not shared".to_owned(),
    });
    Ok(page.show()?)
}

/// Fetches the remote's commits, and pushes those of the library.
///
/// # Errors
/// If the library is not shared or can't be opened, the remote does not answer or refuses, or standard output can't be written.
pub fn sync(folder: &Path, dry_run: bool, accept: bool, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let synced = if dry_run { library.preview_sync(accept)? } else { library.sync(accept)? };
    let Taken { files, merged, adopted, conflicts } = &synced.taken;
    let (taken, pushed) = if dry_run { ("would take", "would push") } else { ("took", "pushed") };
    let done = match (files, synced.pushed) {
        (0, 0) => "in step with the remote".to_owned(),
        (0, commits) => format!("{pushed} {}", counted(commits, "commit")),
        (files, 0) => format!("{taken} {}", counted(*files, "file")),
        (files, commits) => format!(
            "{taken} {}{}, {pushed} {}",
            counted(*files, "file"),
            if *merged { " in a merge" } else { "" },
            counted(commits, "commit")
        ),
    };
    if output.json {
        return page::json(&json!({
            "dryRun": dry_run, "files": files, "merged": merged, "committedFirst": adopted, "conflicts": conflicts, "pushed": synced.pushed,
        }))
        .map_err(TerminalError::unreported(done));
    }
    let mut page = Page::new(output);
    page.line(&done);
    for path in adopted {
        page.put(STRONG, "  committed first  ").line(path);
    }
    for path in conflicts {
        page.put(WARNING, "  conflict         ").line(path);
    }
    page.show().map_err(TerminalError::unreported(done))
}

/// Lists documents that could not be merged.
///
/// # Errors
/// If the library can't be opened or read, or standard output can't be written.
pub fn conflicts(folder: &Path, output: Output) -> Result<(), TerminalError> {
    let found = open(folder)?.conflicts()?;
    if output.json {
        let all = found.iter().map(|(path, of)| json!({ "document": of, "other": path.as_str() }));
        return Ok(page::json(&all.collect::<Value>())?);
    }
    let mut page = Page::new(output);
    if found.is_empty() {
        page.line("no document waits for a decision");
    }
    for (path, of) in found {
        page.put(NAME, &of).line(&format!(": the other version is `{path}`"));
    }
    Ok(page.show()?)
}

/// Shows how the other version differs from the document.
///
/// # Errors
/// If `path` holds no other version, the library can't be opened or read, or standard output can't be written.
pub fn conflict(folder: &Path, path: &str, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let found = library.conflicts()?;
    let Some((other, of)) = found.into_iter().find(|(other, _)| other.as_str() == path) else {
        return Err(TerminalError::new(format_args!("`{path}` holds no other version of a document"))
            .hint("`tabellion conflicts list` lists those that do"));
    };
    let document = LibraryPath::of_any_file(&of).map_err(TerminalError::new)?;
    let change =
        DocumentChange { before: bytes(&library, &document)?, after: bytes(&library, &other)?, path: of };
    if output.json {
        return Ok(page::json(&super::log::change_as_json(&change))?);
    }
    let mut page = Page::new(output);
    page.diff(difference(&change));
    Ok(page.show()?)
}

/// Keeps the version in the file at `path`, which is the document or another version of it, and removes the others.
///
/// # Errors
/// If `path` holds no version, the library can't be opened or changed, or standard output can't be written.
pub fn keep(folder: &Path, path: &str, packs: Packs, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let found = library.conflicts()?;
    let is_of = |(other, of): &&(LibraryPath, String)| other.as_str() == path || of == path;
    let Some((_, of)) = found.iter().find(is_of) else {
        return Err(TerminalError::new(format_args!(
            "`{path}` is no version of a document that could not be merged"
        ))
        .hint("`tabellion conflicts list` lists them"));
    };
    let document = LibraryPath::of_any_file(of).map_err(TerminalError::new)?;
    // Several machines may have left a version each; keeping one of them decides on that version alone.
    let others =
        found.iter().filter(|(other, document)| other.as_str() == path || (of == path && document == of));
    let others: Vec<_> = others
        .map(|(other, _)| Ok((other.to_string(), bytes(&library, other)?)))
        .collect::<Result<_, TerminalError>>()?;
    let kept = others.iter().find(|(other, _)| other == path);
    let version = kept.and_then(|(_, bytes)| bytes.clone());
    let now = bytes(&library, &document)?;
    let undo = Undo::keeping((path, version), (of, now), others);
    let commit = run(&undo, &library, packs)?;
    let made = library.find_entry(&commit)?;
    let done = format!("kept `{path}` in {}", short(&commit));
    if output.json {
        return page::json(&json!({ "kept": path, "commit": commit, "paths": made.paths }))
            .map_err(TerminalError::unreported(done));
    }
    let mut page = Page::new(output);
    page.put(NAME, of).line(&format!(": {done}"));
    page.show().map_err(TerminalError::unreported(done))
}

fn bytes(library: &Library, path: &LibraryPath) -> Result<Option<Vec<u8>>, TerminalError> {
    Ok(library.read(path)?.map(|state| state.bytes))
}
