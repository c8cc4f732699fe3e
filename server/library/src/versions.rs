//! The history of one document: the commits that changed it, along one line of ancestors.
//!
//! At a merge the line continues with a parent whose document equals the merge's, so the branch that changed it is followed commit
//! by commit; if there is none, with the first. This is the history simplification of `git log -- PATH`, with one side chosen where
//! git shows both.

use chrono::{DateTime, FixedOffset, TimeZone};
use gix::{
    ObjectId,
    bstr::ByteSlice,
    objs::{CommitRefIter, commit::ref_iter::Token},
};
use serde_json::{Map, Value};
use tabellion_runtime::{
    CommitId, ContentId, Document, DocumentHistory, Failure, Until, Version, VersionEntry,
};

use super::{
    commit_message::{Record, ToolDetails},
    failures::InRepository,
    tree,
};

/// Size of the object cache, in bytes: each commit shares most trees with the one before.
const OBJECT_CACHE_BYTES: usize = 4 << 20;
/// Contained in each message with details of a tool.
const DETAILS_MARK: &[u8] = b"Tabellion-Details:";

/// The line of a document's versions, as far back as it was read.
#[derive(Debug, Default)]
pub(super) struct VersionLine {
    /// Newest first.
    versions: Vec<Version>,
    /// The known commit at which the line ends.
    since: Option<CommitId>,
    /// Set if it ends before the beginning.
    is_over: bool,
}

impl VersionLine {
    /// Adds `versions`, newest first, as far as `until` permits.
    pub(super) fn follow<'v>(&mut self, versions: impl Iterator<Item = &'v Version>, until: Until<'_>) {
        for version in versions {
            if self.ends_at(&version.commit, until) || self.add(version.clone(), until) {
                return;
            }
        }
    }

    /// Returns true if the line ends at this commit, because it is known.
    fn ends_at(&mut self, commit: &str, until: Until<'_>) -> bool {
        let is_known = until.known.contains(&commit);
        if is_known {
            self.since = Some(CommitId::new(commit));
            self.is_over = true;
        }
        is_known
    }

    /// Adds a version; returns true if the line ends with it.
    fn add(&mut self, version: Version, until: Until<'_>) -> bool {
        self.is_over = (until.enough)(&version);
        self.versions.push(version);
        self.is_over
    }

    /// Continues from `commit` back as far as `until` permits. `path` is relative to the top of the repository. `unchanged` follows
    /// the only parents of a commit as long as the document is known to be the same, and not past a known commit; it returns the
    /// last one.
    pub(super) fn go_back(
        &mut self,
        git: &gix::Repository,
        commit: Option<ObjectId>,
        path: &str,
        until: Until<'_>,
        unchanged: &dyn Fn(ObjectId) -> Result<ObjectId, Failure>,
    ) -> Result<(), Failure> {
        if self.is_over {
            return Ok(());
        }
        let mut git = git.clone();
        git.object_cache_size(OBJECT_CACHE_BYTES);
        let mut next = match commit {
            Some(commit) => Node::read(&git, commit, path)?,
            None => None,
        };
        while let Some(mut node) = next {
            let last = unchanged(node.id)?;
            if last != node.id {
                node = match Node::with_content(&git, last, |_| Ok(node.content))? {
                    Some(node) => node,
                    None => return Ok(()),
                };
            }
            if self.ends_at(&node.id.to_string(), until) {
                return Ok(());
            }
            let parent = node.parent(&git, path)?;
            let before = parent.as_ref().and_then(|parent| parent.content);
            let is_version = before != node.content || node.is_kept_change(parent.as_ref(), path);
            if is_version && self.add(node.version(before, path), until) {
                return Ok(());
            }
            next = parent;
        }
        Ok(())
    }

    /// Returns the history of `document`, whose stored content is `now`, at the commit `state`.
    pub(super) fn past(
        mut self,
        document: Option<Document>,
        now: Option<ObjectId>,
        state: Option<ObjectId>,
    ) -> DocumentHistory {
        self.versions.reverse();
        DocumentHistory {
            document,
            now: now.map(|id| ContentId::new(id.to_string())),
            state: state.map(|id| CommitId::new(id.to_string())),
            since: self.since,
            versions: self.versions,
        }
    }
}

/// A commit on the line.
struct Node {
    id: ObjectId,
    data: Vec<u8>,
    tree: Option<ObjectId>,
    parents: Vec<ObjectId>,
    content: Option<ObjectId>,
}

impl Node {
    /// Reads the commit `id`; `None` at the end of a shallow clone.
    fn read(git: &gix::Repository, id: ObjectId, path: &str) -> Result<Option<Self>, Failure> {
        Self::read_beside(git, id, path, None)
    }

    /// Reads the commit `id`. `content` returns the document's content in its tree.
    fn with_content(
        git: &gix::Repository,
        id: ObjectId,
        content: impl FnOnce(ObjectId) -> Result<Option<ObjectId>, Failure>,
    ) -> Result<Option<Self>, Failure> {
        let Some(object) = git.try_find_object(id).reading("a commit")? else {
            return Ok(None);
        };
        let data = object.try_into_commit().reading("a commit")?.detach().data;
        let (mut tree, mut parents) = (None, Vec::new());
        for token in CommitRefIter::from_bytes(&data, id.kind()).map_while(Result::ok) {
            match token {
                Token::Tree { id } => tree = Some(id),
                Token::Parent { id } => parents.push(id),
                _ => break,
            }
        }
        Ok(Some(Self { id, data, tree, parents, content: tree.map(content).transpose()?.flatten() }))
    }

    /// As [`Self::read`]; a commit with the same tree as `other` has the same document.
    fn read_beside(
        git: &gix::Repository,
        id: ObjectId,
        path: &str,
        other: Option<&Self>,
    ) -> Result<Option<Self>, Failure> {
        Self::with_content(git, id, |tree| match other {
            Some(other) if other.tree == Some(tree) => Ok(other.content),
            _ => Ok(tree::look_up(git, tree, path)?.map(|kept| kept.blob)),
        })
    }

    /// Returns the next commit of the line.
    fn parent(&self, git: &gix::Repository, path: &str) -> Result<Option<Self>, Failure> {
        let mut first = None;
        for parent in &self.parents {
            let Some(parent) = Self::read_beside(git, *parent, path, Some(self))? else {
                continue;
            };
            if parent.content == self.content {
                return Ok(Some(parent));
            }
            first = first.or(Some(parent));
        }
        Ok(first)
    }

    /// Returns true for a tool's change of the document that left its bytes unchanged. It is a version too, since it can be undone.
    fn is_kept_change(&self, parent: Option<&Self>, path: &str) -> bool {
        let is_same_tree = parent.is_some_and(|parent| parent.tree == self.tree);
        let content = self.content.map(|id| id.to_string());
        let is_kept = |record: Record| match record.contents_of(path) {
            Some(contents) => is_same_tree || contents.iter().all(|side| *side == content),
            None => false,
        };
        self.data.contains_str(DETAILS_MARK) && self.record().is_some_and(is_kept)
    }

    /// Returns the record, if the commit is one of the library's own.
    fn record(&self) -> Option<Record> {
        let message = self.data.split_once_str(b"\n\n")?.1;
        Record::parse(&message.to_str_lossy())
    }

    /// Returns the version that the commit made of the document at `path`, which had the content `before`.
    fn version(&self, before: Option<ObjectId>, path: &str) -> Version {
        let (mut author, mut time) = (String::new(), DateTime::default());
        for token in CommitRefIter::from_bytes(&self.data, self.id.kind()).map_while(Result::ok) {
            if let Token::Author { signature } = token {
                author = signature.name.to_str_lossy().into_owned();
                time = signature.time().map_or(time, moment);
            }
        }
        let record = self.record();
        if let Some(record) = &record {
            time = record.time.fixed_offset();
        }
        let contents = [before, self.content].map(|id| id.map(|id| id.to_string()));
        let is_that_change =
            |record: &Record| self.parents.len() < 2 && record.contents_of(path) == Some(&contents);
        let [_, content] = contents.clone();
        Version {
            commit: CommitId::new(self.id.to_string()),
            author,
            time,
            content: content.map(ContentId::new),
            entry: record.filter(is_that_change).and_then(entry),
        }
    }
}

/// Returns the log entry of a tool's change, if it has details.
pub(super) fn entry(record: Record) -> Option<VersionEntry> {
    let ToolDetails { details, .. } = record.tool_details?;
    Some(VersionEntry { tool: record.tool?, operation: record.operation, details })
}

/// Returns the details that a tool added to the log entry of its commit; empty if there are none.
pub(super) fn details(git: &gix::Repository, commit: ObjectId) -> Result<Map<String, Value>, Failure> {
    let node = Node::with_content(git, commit, |_| Ok(None))?;
    let entry = node.and_then(|node| node.record()).and_then(entry);
    Ok(entry.map(|entry| entry.details).unwrap_or_default())
}

fn moment(time: gix::date::Time) -> DateTime<FixedOffset> {
    let offset = FixedOffset::east_opt(time.offset);
    let zone = offset.or_else(|| FixedOffset::east_opt(0));
    zone.and_then(|zone| zone.timestamp_opt(time.seconds, 0).single()).unwrap_or_default()
}

/// Parses an id.
pub(super) fn content_id(id: &str) -> Result<ObjectId, Failure> {
    ObjectId::from_hex(id.as_bytes()).reading("an id")
}

/// Returns the bytes of a stored content.
pub(super) fn content(git: &gix::Repository, id: ObjectId) -> Result<Vec<u8>, Failure> {
    Ok(git.find_blob(id).reading("an earlier content")?.detach().data)
}
