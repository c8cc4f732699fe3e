//! The model: the library after the last step, and the accepted mutations.
//!
//! After each step the model compares the library with the step's permitted effects. A difference is a failure; otherwise
//! the model adopts the library as it is, since a server chooses some line endings and all ids.

use std::{collections::BTreeMap, path::Path};

use crate::{
    checks::prelude::*,
    judgement::{self, Cause, Shows},
    scene::View,
    semantics,
};

/// The library after the last step, and its log.
#[derive(Debug)]
pub(super) struct LibraryModel {
    /// The library after the last step.
    pub(super) view: View,
    /// The accepted mutations, oldest first.
    pub(super) log: Vec<Entry>,
    /// True if each mutation must make a commit.
    has_commits: bool,
}

/// An entry of the activity log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) commit: String,
}

/// A person's action.
#[derive(Debug, Clone, Copy)]
pub(super) enum PersonAction<'a> {
    /// Saves a document, or deletes it if there are no bytes.
    Save(&'a str, Option<&'a [u8]>),
    /// Stages a document.
    Stage(&'a str),
    /// Commits everything.
    Commit,
}

/// Returns true if a document is gone or empty after a call, or has only its beginning.
fn is_partial(old: Option<&[u8]>, new: Option<&[u8]>) -> bool {
    match (old, new) {
        (_, None | Some([])) => true,
        (Some(old), Some(new)) => old.len() > new.len() && old.starts_with(new),
        (None, Some(_)) => false,
    }
}

impl LibraryModel {
    pub(super) const fn new(view: View, has_commits: bool) -> Self {
        let log = Vec::new();
        Self { view, log, has_commits }
    }

    /// Returns the bytes of a document.
    pub(super) fn document(&self, path: &str) -> Option<&[u8]> {
        bytes(&self.view, path)
    }

    /// Returns true if `git status` lists the path.
    pub(super) fn is_uncommitted(&self, path: &str) -> bool {
        uncommitted(&self.view).contains_key(path)
    }

    /// Returns true if the path exists or is in the index, so that `git add` accepts it.
    pub(super) fn can_be_staged(&self, path: &str) -> bool {
        let mut index = self.view.library.index.lines();
        self.document(path).is_some()
            || index.any(|line| line.split_once('\t').is_some_and(|it| it.1 == path))
    }

    /// Returns true if the contract has no reason to refuse the call.
    pub(super) fn must_be_accepted(&self, call: &Call) -> bool {
        let path = &*call.path();
        let before = self.document(path);
        let is_text = before.is_none_or(|bytes| str::from_utf8(bytes).is_ok());
        let changes = |change| semantics::plainest(&change, before).as_deref() != before;
        // A server need not create folders.
        let has_folder = Path::new(path).parent().is_none_or(|folder| {
            let mut files = self.view.library.files.keys();
            folder == Path::new("") || files.any(|file| file.starts_with(folder))
        });
        has_folder
            && is_text
            && !self.is_uncommitted(path)
            && semantics::change(call, before).is_ok_and(changes)
    }

    /// Fails if the library has changed.
    pub(super) fn unchanged(&mut self, now: View) -> Judgement {
        self.same_files(&now, None)?;
        let commits = now.library.commits_since(&self.view.library).len();
        ensure(now.library.commits == self.view.library.commits, || {
            format!("a step that changes nothing made {commits} commits")
        })?;
        self.same_status(&now, None)?;
        self.view.same_folders(&now)?;
        ensure(now == self.view, || "the index has changed".into())?;
        self.view = now;
        Ok(())
    }

    /// Judges a refused call.
    pub(super) fn refused(&mut self, call: &Call, refusal: &Refusal, now: View) -> Judgement {
        self.unchanged(now)?;
        if self.must_be_accepted(call) {
            return Err(judgement::refused("a valid call", refusal));
        }
        Ok(())
    }

    /// Takes the library as it is after an accepted call that the contract refuses.
    pub(super) fn adopt(&mut self, call: &Call, now: View) {
        let commits = now.library.commits_since(&self.view.library);
        self.record(call, commits);
        self.view = now;
    }

    fn record(&mut self, call: &Call, commits: Vec<String>) {
        self.log.push(Entry { path: call.path(), commit: commits.into_iter().next().unwrap_or_default() });
    }

    /// Judges an accepted mutation; `changed` are the paths that differ between the old and the new HEAD.
    pub(super) fn accepted(&mut self, call: &Call, changed: &[&str], now: View) -> Judgement {
        let path = &*call.path();
        let (old, new) = (self.document(path), bytes(&now, path));
        semantics::allowed(call, old, new).map_err(|stop| {
            // A whole edit that differs from the contract's is neither partial nor an error.
            if is_partial(old, new) { stop } else { stop.shows(Shows::Nothing) }
        })?;
        self.same_files(&now, Some(path))?;

        let commits = now.library.commits_since(&self.view.library);
        if self.has_commits {
            let committed = self.committed(path, &commits, changed, &now);
            committed.map_err(|stop| stop.shows(Shows::Commits))?;
        }
        self.same_status(&now, Some(path))?;
        self.record(call, commits);
        self.view = now;
        Ok(())
    }

    /// Judges the commits of an accepted mutation.
    fn committed(&self, path: &str, commits: &[String], changed: &[&str], now: &View) -> Judgement {
        // The server may adopt a person's uncommitted bytes in a commit of their own.
        let max_commits = if self.is_uncommitted(path) { 2 } else { 1 };
        ensure((1..=max_commits).contains(&commits.len()), || {
            let or = if max_commits == 2 { "or two " } else { "" };
            format!("{} commits were made instead of one {or}", commits.len()).trim().into()
        })?;
        ensure(now.library.commits.ends_with(&self.view.library.commits), || {
            "the previous HEAD is not an ancestor of the new commit".into()
        })?;
        let foreign: Vec<_> = changed.iter().filter(|changed| **changed != path).collect();
        ensure(foreign.is_empty(), || format!("the commit also changes {foreign:?}"))?;

        let status = uncommitted(now).remove(path);
        ensure(status.is_none(), || {
            format!("the commit differs from the folder: `git status` prints {status:?}")
        })
    }

    /// Fails unless the library has changed by the person's action alone.
    pub(super) fn person(&mut self, action: PersonAction<'_>, now: View) -> Judgement {
        let committed = usize::from(matches!(action, PersonAction::Commit));
        match action {
            PersonAction::Save(path, saved) => {
                self.same_files(&now, Some(path))?;
                let found = bytes(&now, path);
                let holds = ensure(found == saved, || format!("`{path}` differs from what the person saved"));
                holds.map_err(|stop| stop.showing(path, saved, found))?;
                self.same_status(&now, Some(path))?;
            }
            PersonAction::Stage(path) => {
                self.same_files(&now, None)?;
                self.same_status(&now, Some(path))?;
            }
            PersonAction::Commit => self.same_files(&now, None)?,
        }
        let commits = now.library.commits_since(&self.view.library);
        ensure(commits.len() == committed, || {
            let made = commits.len();
            format!("there are {made} new commits, but the person made {committed}")
        })?;
        self.view = now;
        Ok(())
    }

    /// Fails unless the activity log lists exactly the accepted mutations.
    pub(super) fn judge_log(&self, entries: &[Entry]) -> Judgement {
        let is_same = |found: &Entry, expected: &Entry| {
            found.path == expected.path && (!self.has_commits || found == expected)
        };
        let wrong = entries.iter().zip(&self.log).position(|(found, expected)| !is_same(found, expected));
        if let Some(at) = wrong {
            let (found, expected) = (&entries[at], &self.log[at]);
            let stop = fail(format!(
                "entry {} of the activity log is `{}` in commit {} instead of `{}` in commit {}",
                at + 1,
                found.path,
                found.commit,
                expected.path,
                expected.commit
            ));
            return Err(stop.shows(Shows::Log));
        }
        ensure(entries.len() == self.log.len(), || {
            let (found, expected) = (entries.len(), self.log.len());
            format!("the activity log has {found} entries, but {expected} mutations were accepted")
        })
        .map_err(|stop| stop.shows(Shows::Log))
    }

    /// Fails if a file other than `path` has changed.
    fn same_files(&self, now: &View, path: Option<&str>) -> Judgement {
        ensure(now.around == self.view.around, || "files outside the library have changed".into())?;
        for changed in now.library.changed_since(&self.view.library) {
            if path.is_some_and(|path| Path::new(path) == changed) {
                continue;
            }
            let name = changed.to_string_lossy();
            let stop =
                fail(format!("`{name}` was changed, but no call named it")).because(Cause::of_file(&changed));
            let stop = stop.shows(Shows::Documents);
            return Err(stop.showing(&name, self.document(&name), bytes(now, &name)));
        }
        Ok(())
    }

    /// Fails if the `git status` of a path other than `path` has changed.
    fn same_status(&self, now: &View, path: Option<&str>) -> Judgement {
        let (before, after) = (uncommitted(&self.view), uncommitted(now));
        let mut paths = before.keys().chain(after.keys());
        let wrong = paths.find(|it| path != Some(it) && before.get(*it) != after.get(*it));
        ensure_none(wrong, |wrong| {
            format!(
                "`git status` of `{wrong}` changed from {} to {}",
                status_text(before.get(wrong)),
                status_text(after.get(wrong)),
            )
        })
        .map_err(|stop| stop.shows(Shows::Commits))
    }
}

/// Returns the bytes of a document in a view.
fn bytes<'a>(view: &'a View, path: &str) -> Option<&'a [u8]> {
    let (_, bytes) = view.library.files.get(Path::new(path))?;
    Some(bytes)
}

/// Returns the lines of `git status` by path.
fn uncommitted(view: &View) -> BTreeMap<&str, &str> {
    let lines = view.library.status.lines();
    lines.map(|line| (path_of(line), line)).collect()
}

/// Returns the path in a line of `git status --porcelain=v2 --no-renames`.
fn path_of(line: &str) -> &str {
    let fields = match line.as_bytes().first() {
        Some(b'1') => 9,
        Some(b'u') => 11,
        _ => 2,
    };
    line.splitn(fields, ' ').last().unwrap_or_default()
}

fn status_text(line: Option<&&str>) -> String {
    line.map_or_else(|| "clean".into(), |line| format!("`{line}`"))
}
