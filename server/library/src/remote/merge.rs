//! Merges two lines of commits, file by file: documents by sections, other texts by lines. A pure function of the two sides' changes.
//!
//! A file that one side renamed without changing it keeps that name with the other side's changes. Removed against changed: the
//! changed file stays. Documents of workflows are not merged: of two decisions on one proposal, the remote's counts, and a history of
//! both would be none. A file that can't be merged keeps the remote's version, and this side's is stored next to it as
//! `NAME.conflict-COMMIT.md`: no version is lost, and no step waits for a person.

use std::collections::BTreeMap;

use gix::ObjectId;
use tabellion_markdown::{Flavor, FrontMatter, merge_documents};
use tabellion_runtime::Failure;

use super::super::{failures::refused, objects::NewObjects, path::is_markdown, tree::TreeEntry, versions};

/// The parts of a conflict's file name around the commit.
const CONFLICT: &str = ".conflict-";
/// Digits of the commit in it.
const DIGITS: usize = 8;

/// A file before and after; `None` if there is none.
pub(super) type Sides = [Option<TreeEntry>; 2];
/// Changed files by path.
pub(super) type Changes = BTreeMap<String, Sides>;

/// Changes that the merge makes to this side.
pub(super) struct Merged {
    /// Files by path; `None` removes one.
    pub(super) changes: BTreeMap<String, Option<TreeEntry>>,
    /// Paths of this side's versions that could not be merged.
    pub(super) conflicts: Vec<String>,
}

impl Merged {
    /// Keeps this side's version of the file at `path`, as of the commit `commit`, next to it.
    pub(super) fn keep_beside(&mut self, path: &str, own: TreeEntry, commit: ObjectId) {
        let name = conflict_name(path, commit);
        self.changes.insert(name.clone(), Some(own));
        self.conflicts.push(name);
    }
}

/// Merges `theirs` into a side with the changes `ours` and the newest commit `own`. New blobs are added to `objects`.
pub(super) fn merge(
    git: &gix::Repository,
    objects: &mut NewObjects,
    ours: &Changes,
    theirs: &Changes,
    own: ObjectId,
) -> Result<Merged, Failure> {
    let mut merge =
        Merge { git, objects, own, merged: Merged { changes: BTreeMap::new(), conflicts: Vec::new() } };
    let mut renamed = Vec::new();
    for (path, [base, theirs_now]) in theirs {
        match (ours.get(path).map(|[_, own]| *own), *theirs_now) {
            (None, new) => merge.set(path, new),
            (Some(own), new) if own == new => {}
            (Some(Some(own)), Some(new)) => merge.both(path, *base, own, new)?,
            (Some(None), Some(new)) => match renamed_to(ours, *base) {
                Some(name) => merge.set(name, Some(new)),
                None => merge.set(path, Some(new)),
            },
            (Some(Some(own)), None) => {
                if let Some(name) = renamed_to(theirs, *base) {
                    merge.set(path, None);
                    renamed.push((name, own));
                }
            }
            (Some(None), None) => {}
        }
    }
    for (name, own) in renamed {
        merge.set(name, Some(own));
    }
    Ok(merge.merged)
}

/// Returns the name under which a side added the file that it removed, if there is one name.
fn renamed_to(side: &Changes, base: Option<TreeEntry>) -> Option<&str> {
    let is_same = |[before, after]: &Sides| before.is_none() && after.is_some() && *after == base;
    let mut names = side.iter().filter(|(_, sides)| is_same(sides)).map(|(name, _)| &**name);
    names.next().filter(|_| names.next().is_none())
}

struct Merge<'a> {
    git: &'a gix::Repository,
    objects: &'a mut NewObjects,
    own: ObjectId,
    merged: Merged,
}

impl Merge<'_> {
    fn set(&mut self, path: &str, entry: Option<TreeEntry>) {
        self.merged.changes.insert(path.to_owned(), entry);
    }

    /// Merges a file that both sides changed.
    fn both(
        &mut self,
        path: &str,
        base: Option<TreeEntry>,
        own: TreeEntry,
        shared: TreeEntry,
    ) -> Result<(), Failure> {
        let entries = [Some(own), Some(shared), base];
        if entries.iter().flatten().any(|entry| !entry.mode.is_blob()) {
            let message = format!(
                "both sides changed the submodule or link `{}`; merge them by `git pull`",
                path.escape_debug()
            );
            return Err(refused(message));
        }
        let mode = if Some(own.mode) == base.map(|base| base.mode) { shared.mode } else { own.mode };
        let base_blob = base.map(|base| base.blob);
        let blob = if own.blob == shared.blob || Some(own.blob) == base_blob {
            shared.blob
        } else if Some(shared.blob) == base_blob {
            own.blob
        } else {
            let [own_bytes, shared_bytes] = [self.bytes(own.blob)?, self.bytes(shared.blob)?];
            let base_bytes = base_blob.map(|blob| self.bytes(blob)).transpose()?;
            let (bytes, is_conflict) = merged(path, base_bytes.as_deref(), &own_bytes, &shared_bytes);
            if is_conflict {
                self.merged.keep_beside(path, own, self.own);
            }
            match bytes {
                Some(bytes) => self.objects.add_blob(Some(shared.blob), &bytes)?,
                None => shared.blob,
            }
        };
        self.set(path, Some(TreeEntry { blob, mode }));
        Ok(())
    }

    fn bytes(&self, blob: ObjectId) -> Result<Vec<u8>, Failure> {
        match self.objects.data(blob) {
            Some(data) => Ok(data.to_vec()),
            None => versions::content(self.git, blob),
        }
    }
}

/// Returns the merged bytes (`None`: the shared ones), and true if they lack own changes.
fn merged(path: &str, base: Option<&[u8]>, own: &[u8], shared: &[u8]) -> (Option<Vec<u8>>, bool) {
    let text = |bytes: &[u8]| str::from_utf8(bytes).ok().map(str::to_owned);
    let (Some(own_text), Some(shared_text)) = (text(own), text(shared)) else {
        return (None, true);
    };
    let base_text = base.and_then(text);
    if is_markdown(path) {
        if is_workflow(&own_text) && is_workflow(&shared_text) {
            return (None, true);
        }
        let merged = merge_documents(base_text.as_deref(), &own_text, &shared_text, Flavor::of_path(path));
        return (Some(merged.text.into_bytes()), merged.is_conflict);
    }
    match tabellion_markdown::merge(base.unwrap_or_default(), own, shared) {
        Ok(bytes) if base.is_some() => (Some(bytes), false),
        _ => (None, true),
    }
}

/// Returns true if the document is an instance of a workflow.
fn is_workflow(text: &str) -> bool {
    FrontMatter::parse(text).is_ok_and(|front_matter| {
        ["workflow", "state", "history"].iter().all(|key| front_matter.get(key).is_some())
    })
}

/// Returns the name for this side's version of the file at `path`: `notes/plan.conflict-1a2b3c4d.md`.
fn conflict_name(path: &str, own: ObjectId) -> String {
    let commit = own.to_hex_with_len(DIGITS);
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rfind('.').filter(|dot| *dot > 0) {
        Some(dot) => {
            let dot = path.len() - name.len() + dot;
            format!("{}{CONFLICT}{commit}{}", &path[..dot], &path[dot..])
        }
        None => format!("{path}{CONFLICT}{commit}"),
    }
}

/// Returns the path of the original file, if the name at `path` is that of a conflict file.
pub(crate) fn conflict_of(path: &str) -> Option<String> {
    let at = path.rfind(CONFLICT).filter(|at| !path[*at..].contains('/'))?;
    let rest = &path[at + CONFLICT.len()..];
    let (commit, ending) = rest.split_at_checked(DIGITS)?;
    let is_commit = commit.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let is_ending = ending.is_empty() || ending.starts_with('.');
    (is_commit && is_ending).then(|| format!("{}{ending}", &path[..at]))
}
