//! The model: the library as it was seen and explained last, and the mutations that were accepted.
//!
//! After each step it is shown what the library is now. What the step does not explain is a failure; else the model takes
//! over what there is, since a server may choose some line endings and all ids.

use std::{collections::BTreeMap, path::Path};

use crate::{
    judgement::{Judgement, ensure, fail},
    request::Call,
    scene::View,
    semantics,
};

/// What has been explained so far.
#[derive(Debug)]
pub(super) struct LibraryModel {
    /// The library as it was seen last.
    pub(super) view: View,
    /// The mutations that were accepted, the oldest first.
    pub(super) log: Vec<Entry>,
    /// Whether each of them should be found as a commit.
    commits: bool,
}

/// An entry that the activity log must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) commit: String,
}

/// What a person does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Person<'a> {
    /// A document becomes this; it goes if this is `None`.
    Save(&'a str, Option<&'a [u8]>),
    /// A document is staged.
    Stage(&'a str),
    /// Everything is committed.
    Commit,
}

impl LibraryModel {
    pub(super) const fn new(view: View, commits: bool) -> Self {
        let log = Vec::new();
        Self { view, log, commits }
    }

    /// The bytes of a document.
    pub(super) fn document(&self, path: &str) -> Option<&[u8]> {
        bytes(&self.view, path)
    }

    /// Whether HEAD or the index has something else of this path than the folder.
    pub(super) fn is_left(&self, path: &str) -> bool {
        left(&self.view).contains_key(path)
    }

    /// Whether git knows the path or it is there, so that it can be staged.
    pub(super) fn is_known(&self, path: &str) -> bool {
        let mut index = self.view.library.index.lines();
        self.document(path).is_some()
            || index.any(|line| line.split_once('\t').is_some_and(|it| it.1 == path))
    }

    /// Whether the contract leaves no reason to refuse the call.
    pub(super) fn must_be_accepted(&self, call: &Call) -> bool {
        let path = &*call.path();
        let before = self.document(path);
        let is_text = before.is_none_or(|bytes| str::from_utf8(bytes).is_ok());
        let changes = |change| semantics::plainest(&change, before).as_deref() != before;
        // Where a document may lie, and whether folders are made for it, is the server's to say.
        let has_place = Path::new(path).parent().is_none_or(|folder| {
            let mut files = self.view.library.files.keys();
            folder == Path::new("") || files.any(|file| file.starts_with(folder))
        });
        has_place && is_text && !self.is_left(path) && semantics::change(call, before).is_ok_and(changes)
    }

    /// Judges a step that changes nothing.
    pub(super) fn nothing(&mut self, now: View) -> Judgement {
        self.others(&now, None)?;
        let commits = now.library.commits_since(&self.view.library).len();
        ensure(now.library.commits == self.view.library.commits, || {
            format!("nothing may be committed, but there are {commits} new commits")
        })?;
        self.left_of_others(&now, None)?;
        self.view.same_folders(&now)?;
        ensure(now == self.view, || "the index was changed".into())?;
        self.view = now;
        Ok(())
    }

    /// Judges a call that was refused.
    pub(super) fn refused(&mut self, call: &Call, message: &str, now: View) -> Judgement {
        self.nothing(now)?;
        ensure(!self.must_be_accepted(call), || {
            format!("a valid call was refused: {message}")
        })
    }

    /// Judges a mutation that was accepted; `changed` are the paths that differ between the old HEAD and the new one.
    pub(super) fn accepted(&mut self, call: &Call, changed: &[&str], now: View) -> Judgement {
        let path = &*call.path();
        semantics::allowed(call, self.document(path), bytes(&now, path))?;
        self.others(&now, Some(path))?;

        let commits = now.library.commits_since(&self.view.library);
        if self.commits {
            self.committed(path, &commits, changed, &now)?;
        }
        self.left_of_others(&now, Some(path))?;
        self.log.push(Entry {
            path: path.to_owned(),
            commit: commits.into_iter().next().unwrap_or_default(),
        });
        self.view = now;
        Ok(())
    }

    /// Judges the commits of an accepted mutation.
    fn committed(&self, path: &str, commits: &[String], changed: &[&str], now: &View) -> Judgement {
        // What a person has left of this document may be committed by itself before.
        let most = if self.is_left(path) { 2 } else { 1 };
        ensure((1..=most).contains(&commits.len()), || {
            let or = if most == 2 { "or two " } else { "" };
            format!("{} commits were made instead of one {or}", commits.len())
                .trim()
                .into()
        })?;
        ensure(now.library.commits.ends_with(&self.view.library.commits), || {
            "the new commit does not follow the last one".into()
        })?;
        let foreign: Vec<_> = changed.iter().filter(|changed| **changed != path).collect();
        ensure(foreign.is_empty(), || {
            format!("the commit changes also {foreign:?}")
        })?;

        let still = left(now).remove(path);
        ensure(still.is_none(), || {
            format!("what is in the folder is not what was committed: `git status` says {still:?}")
        })
    }

    /// Judges what is there after a person did something, which is that and no more.
    pub(super) fn person(&mut self, did: Person<'_>, now: View) -> Judgement {
        let committed = usize::from(matches!(did, Person::Commit));
        match did {
            Person::Save(path, saved) => {
                self.others(&now, Some(path))?;
                let found = bytes(&now, path);
                let holds = ensure(found == saved, || {
                    format!("`{path}` is not what the person made of it")
                });
                holds.map_err(|stop| stop.showing(path, saved, found))?;
                self.left_of_others(&now, Some(path))?;
            }
            Person::Stage(path) => {
                self.others(&now, None)?;
                self.left_of_others(&now, Some(path))?;
            }
            Person::Commit => self.others(&now, None)?,
        }
        let commits = now.library.commits_since(&self.view.library);
        ensure(commits.len() == committed, || {
            let made = commits.len();
            format!("there are {made} new commits; the person made {committed}")
        })?;
        self.view = now;
        Ok(())
    }

    /// Fails unless the activity log lists the accepted mutations and nothing else.
    pub(super) fn judge_log(&self, entries: &[Entry]) -> Judgement {
        let is_same = |found: &Entry, it: &Entry| found.path == it.path && (!self.commits || found == it);
        let wrong = entries
            .iter()
            .zip(&self.log)
            .position(|(found, it)| !is_same(found, it));
        if let Some(at) = wrong {
            let (found, expected) = (&entries[at], &self.log[at]);
            return Err(fail(format!(
                "entry {} of the activity log is of `{}` by {}; it should be of `{}` by {}",
                at + 1,
                found.path,
                found.commit,
                expected.path,
                expected.commit
            )));
        }
        ensure(entries.len() == self.log.len(), || {
            let (found, expected) = (entries.len(), self.log.len());
            format!("the activity log has {found} entries; {expected} mutations were accepted")
        })
    }

    /// Fails if a file other than `path` is not as it was.
    fn others(&self, now: &View, path: Option<&str>) -> Judgement {
        ensure(now.around == self.view.around, || {
            "files outside of the library were changed".into()
        })?;
        for changed in now.library.changed_since(&self.view.library) {
            if path.is_some_and(|path| Path::new(path) == changed) {
                continue;
            }
            let name = changed.to_string_lossy();
            let stop = fail(format!("`{name}` was changed without a call"));
            return Err(stop.showing(&name, self.document(&name), bytes(now, &name)));
        }
        Ok(())
    }

    /// Fails if what git finds uncommitted or staged of paths other than `path` is not what it was.
    fn left_of_others(&self, now: &View, path: Option<&str>) -> Judgement {
        let (before, after) = (left(&self.view), left(now));
        let mut paths = before.keys().chain(after.keys());
        let wrong = paths.find(|it| path != Some(it) && before.get(*it) != after.get(*it));
        match wrong {
            None => Ok(()),
            Some(wrong) => Err(fail(format!(
                "`git status` of `{wrong}` was {}; it is {}",
                shown(before.get(wrong)),
                shown(after.get(wrong)),
            ))),
        }
    }
}

/// The bytes of a document in a view.
fn bytes<'a>(view: &'a View, path: &str) -> Option<&'a [u8]> {
    let (_, bytes) = view.library.files.get(Path::new(path))?;
    Some(bytes)
}

/// What git finds uncommitted or staged: path and line of its status.
fn left(view: &View) -> BTreeMap<&str, &str> {
    let lines = view.library.status.lines();
    lines.map(|line| (path_of(line), line)).collect()
}

/// The path in a line of `git status --porcelain=v2 --no-renames`.
fn path_of(line: &str) -> &str {
    let fields = match line.as_bytes().first() {
        Some(b'1') => 9,
        Some(b'u') => 11,
        _ => 2,
    };
    line.splitn(fields, ' ').last().unwrap_or_default()
}

fn shown(line: Option<&&str>) -> String {
    line.map_or_else(|| "clean".into(), |line| format!("`{line}`"))
}
