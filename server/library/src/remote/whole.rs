//! Reverts the rest of a change that conflicts in one of its documents, if the change counts as a whole.
//!
//! Such changes have recorded details, like a decision on a proposal, which changes the proposal and the note: if the remote has a
//! different decision, the note of this one is reverted too. This side's version goes next to it, as with every conflict. A
//! document that this side has changed again since stays unchanged.

use std::collections::{BTreeMap, BTreeSet};

use gix::{ObjectId, bstr::ByteSlice};
use tabellion_runtime::Failure;

use super::{
    super::{
        commit_message::Record,
        failures::InRepository,
        tree::{self, TreeEntry},
    },
    merge::{self, Changes, Merged},
};

/// Maximum number of commits of this side that are inspected.
const MAX_COMMITS: usize = 10_000;

/// A change of several documents: for each path, the file before and after.
type Change = BTreeMap<String, [Option<TreeEntry>; 2]>;

/// Reverts in `merged`, the merge of `theirs` into a side with the changes `ours`, the remainder of conflicting changes in that
/// side's own commits: those of `head` that `tip` lacks. `own` names the conflict files.
pub(super) fn take_back(
    git: &gix::Repository,
    merged: &mut Merged,
    [ours, theirs]: [&Changes; 2],
    [head, tip]: [ObjectId; 2],
    own: ObjectId,
) -> Result<(), Failure> {
    let names = merged.conflicts.iter();
    let conflicts: BTreeSet<String> = names.filter_map(|name| merge::conflict_of(name)).collect();
    if conflicts.is_empty() {
        return Ok(());
    }
    let mut now: BTreeMap<&str, Option<TreeEntry>> = BTreeMap::new();
    for (path, [_, own]) in ours {
        now.insert(path, *own);
    }
    let mut changes = changes(git, head, tip)?;
    let mut affected = conflicts.clone();
    loop {
        let is_affected = |change: &mut Change| change.keys().any(|path| affected.contains(path));
        let taken_back: Vec<_> = changes.extract_if(.., is_affected).collect();
        if taken_back.is_empty() {
            break;
        }
        for (path, [before, after]) in taken_back.into_iter().flatten() {
            match now.get_mut(&*path) {
                Some(now) if *now == after && !conflicts.contains(&path) => {
                    *now = before;
                    affected.insert(path);
                }
                _ => {}
            }
        }
    }
    for path in affected.difference(&conflicts) {
        let version = ours.get(path).and_then(|[_, own]| *own);
        let shared = match theirs.get(path) {
            Some([_, shared]) => *shared,
            None => now[&**path],
        };
        if version != shared {
            merged.changes.insert(path.clone(), shared);
            if let Some(version) = version {
                merged.keep_beside(path, version, own);
            }
        }
    }
    Ok(())
}

/// Returns the changes of this side that count as a whole, newest first.
fn changes(git: &gix::Repository, head: ObjectId, tip: ObjectId) -> Result<Vec<Change>, Failure> {
    let walk = git.rev_walk([head]).with_hidden([tip]).all().reading("the history")?;
    let mut found = Vec::new();
    for commit in walk.take(MAX_COMMITS) {
        let commit = commit.reading("the history")?.id;
        let message = git.find_commit(commit).reading("a commit")?;
        let parents: Vec<_> = message.parent_ids().map(gix::Id::detach).collect();
        let record = Record::parse(&message.message_raw_sloppy().to_str_lossy());
        let ([parent], Some(record)) = (&parents[..], record) else {
            continue;
        };
        if record.tool_details.is_none() || record.paths.len() < 2 {
            continue;
        }
        let sides = |path: String| -> Result<_, Failure> {
            let before = tree::look_up_at(git, Some(*parent), &path)?;
            let after = tree::look_up_at(git, Some(commit), &path)?;
            Ok((path, [before, after]))
        };
        found.push(record.paths.into_iter().map(sides).collect::<Result<_, _>>()?);
    }
    Ok(found)
}
