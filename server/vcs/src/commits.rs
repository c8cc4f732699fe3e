//! The commits of a branch, with their messages.

use std::collections::{BinaryHeap, HashSet};

use gix::ObjectId;

use crate::{
    error::{VcsError, check},
    repository::GitRepository,
    revision::Revision,
};

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitEntry {
    /// Its id.
    pub id: ObjectId,
    /// Its message; invalid UTF-8 becomes `U+FFFD`.
    pub message: String,
    /// Name of the author.
    pub author: String,
    /// Time of the commit, in seconds since 1970.
    pub time: i64,
}

impl GitRepository {
    /// Returns the `depth` latest commits in the history of a revision, latest first, including itself; fewer at the end of the history, or
    /// in a shallow clone.
    ///
    /// # Errors
    /// If one can't be read.
    pub fn commits(
        &self,
        revision: &Revision,
        depth: usize,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<CommitEntry>, VcsError> {
        let unreadable = |error: gix::Error| self.damaged("a commit", &error);
        let shallow = self.git.shallow_commits().map_err(unreadable)?;
        let ends = |id: &ObjectId| shallow.as_ref().is_some_and(|commits| commits.contains(id));
        let mut seen = HashSet::new();
        let mut next = BinaryHeap::new();
        // Among commits of the same second, the one that was found first comes first.
        let mut order = usize::MAX;
        let mut found = Vec::new();
        let mut ids = vec![revision.commit];
        while found.len() < depth {
            check(cancelled)?;
            for id in ids.drain(..).filter(|id| seen.insert(*id)) {
                let commit = self.git.find_commit(id).map_err(unreadable)?;
                let time = commit.time().map_err(unreadable)?.seconds;
                next.push((time, order, id));
                order -= 1;
            }
            let Some((time, _, id)) = next.pop() else { break };
            let commit = self.git.find_commit(id).map_err(unreadable)?;
            if !ends(&id) {
                ids.extend(commit.parent_ids().map(gix::Id::detach));
            }
            let author = commit.author().map_err(unreadable)?;
            found.push(CommitEntry {
                id,
                message: String::from_utf8_lossy(commit.message_raw().map_err(unreadable)?).into_owned(),
                author: String::from_utf8_lossy(author.name).into_owned(),
                time,
            });
        }
        Ok(found)
    }
}

#[cfg(test)]
#[path = "commits_tests.rs"]
mod tests;
