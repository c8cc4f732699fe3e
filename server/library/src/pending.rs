//! Mutations that were worked out one after the other and become visible together: one transaction, and still a commit
//! and a log entry for each.

use std::{
    collections::{BTreeMap, HashSet},
    time::SystemTime,
};

use gix::ObjectId;
use tabellion_runtime::{Failure, Version};

use super::{
    document,
    index::{Index, IndexStat, index_failure},
    index_file::{self, Draft, Folders, Mark},
    intent::{Exchange, Intent, Logged},
    objects::NewObjects,
    planned::Plan,
    racy,
    repository::Head,
    root::{FileBytes, twin_among},
    tree::{self, Kept},
    working_tree::WorkingTree,
};
use crate::path::LibraryPath;

/// Mutations on top of the last commit.
#[derive(Debug)]
pub(super) struct Pending {
    head: Head,
    tree: Option<ObjectId>,
    commits: Vec<Logged>,
    objects: NewObjects,
    folders: Folders,
    documents: BTreeMap<LibraryPath, Document>,
    keys: HashSet<String>,
    /// What the documents become, oldest first.
    versions: Vec<(LibraryPath, Version)>,
    index: Index,
}

/// What becomes of one document.
#[derive(Debug)]
struct Document {
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    kept_before: Option<Kept>,
    kept_after: Option<Kept>,
    content: Option<Vec<u8>>,
    mode: u32,
}

/// A document after the pending mutations.
#[derive(Debug)]
pub(super) enum PendingDocument {
    Written(FileBytes),
    Deleted,
}

/// What a transaction is to do.
#[derive(Debug)]
pub(super) struct Work {
    /// What is said of it before it begins.
    pub(super) intent: Intent,
    /// The new objects.
    pub(super) objects: NewObjects,
    /// The documents' bytes, in the order of the intent's documents; `None` where one goes.
    pub(super) contents: Vec<Option<Vec<u8>>>,
    /// The index as it will be.
    pub(super) draft: Draft,
    /// The time that it must have.
    pub(super) settled: SystemTime,
    /// The index that all this was compared with.
    pub(super) index: IndexStat,
}

impl Pending {
    /// Nothing yet, on top of what HEAD is now.
    ///
    /// # Errors
    /// When the repository is in a state that nothing can be changed in.
    pub(super) fn begin(working_tree: &WorkingTree) -> Result<Self, Failure> {
        let git = working_tree.repository.git();
        working_tree.repository.check_idle(&git)?;
        let head = working_tree.repository.head(&git)?;
        let tree = head
            .commit
            .map(|commit| tree::of_commit(&git, commit))
            .transpose()?;
        Ok(Self {
            head,
            tree,
            commits: Vec::new(),
            objects: NewObjects::default(),
            folders: Folders::new(),
            documents: BTreeMap::new(),
            keys: HashSet::new(),
            versions: Vec::new(),
            index: Index::read(&working_tree.repository.index())?,
        })
    }

    /// The newest commit.
    pub(super) fn commit(&self) -> Option<ObjectId> {
        self.commits
            .last()
            .map_or(self.head.commit, |logged| Some(logged.commit))
    }

    /// The newest commit's tree.
    pub(super) fn tree(&self) -> Option<ObjectId> {
        self.tree
    }

    /// The objects that are not written yet.
    pub(super) fn objects(&self) -> &NewObjects {
        &self.objects
    }

    /// Whether the document at `path` will be changed.
    pub(super) fn has(&self, path: &LibraryPath) -> bool {
        self.documents.contains_key(path)
    }

    /// Returns what the document at `path` will be, if it will be changed.
    pub(super) fn document(&self, path: &LibraryPath) -> Option<PendingDocument> {
        let document = self.documents.get(path)?;
        Some(match &document.content {
            None => PendingDocument::Deleted,
            Some(bytes) => PendingDocument::Written(FileBytes {
                bytes: bytes.clone(),
                modified: SystemTime::now(),
                mode: document.mode,
                id: None,
            }),
        })
    }

    /// The last commit that is made already.
    pub(super) fn head(&self) -> Option<ObjectId> {
        self.head.commit
    }

    /// What the document at `path` becomes, newest first.
    pub(super) fn versions(&self, path: &LibraryPath) -> impl Iterator<Item = &Version> {
        let of_path = self.versions.iter().rev().filter(move |(other, _)| other == path);
        of_path.map(|(_, version)| version)
    }

    /// Whether a mutation with this idempotency key is among these.
    pub(super) fn has_key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// As [`Root::case_twin`](super::root::Root::case_twin), among documents that will come.
    pub(super) fn case_twin(&self, path: &LibraryPath) -> Option<String> {
        self.documents
            .iter()
            .filter(|(_, document)| document.old.is_none() && document.new.is_some())
            .find_map(|(other, _)| twin_among(path, other))
    }

    /// What the index has at `path`, and its mark.
    ///
    /// # Errors
    /// When the index can't be understood.
    pub(super) fn staged(&self, path: &str) -> Result<Option<(Kept, Option<Mark>)>, Failure> {
        index_file::look_up_marked(&self.index.bytes, path).map_err(index_failure)
    }

    /// Adds a mutation that was worked out on top of these.
    pub(super) fn add(&mut self, plan: Plan) {
        self.tree = Some(plan.tree);
        self.commits.push(plan.logged);
        self.objects.extend(&plan.objects);
        self.keys.extend(plan.key);
        for folder in plan.folders {
            self.folders
                .entry(folder.path)
                .or_insert((folder.before, folder.after))
                .1 = folder.after;
        }
        for planned in plan.documents {
            let versions = planned.versions.into_iter();
            self.versions
                .extend(versions.map(|version| (planned.path.clone(), version)));
            let document = self.documents.entry(planned.path).or_insert(Document {
                old: planned.old,
                new: None,
                kept_before: planned.kept_before,
                kept_after: None,
                content: None,
                mode: planned.mode,
            });
            document.new = planned.new;
            document.kept_after = planned.kept_after;
            document.content = planned.content;
        }
    }

    /// What is to be done, which depends on the disk.
    ///
    /// # Errors
    /// When the disk can't be read, or the index can't be changed.
    pub(super) fn into_work(self, working_tree: &WorkingTree) -> Result<Work, Failure> {
        let paths = self
            .documents
            .keys()
            .map(|path| working_tree.repository.git_path(path));
        let paths: Vec<_> = paths.collect();
        let kept = self.documents.values().map(|document| document.kept_after);
        let changes: Vec<_> = paths.iter().map(String::as_str).zip(kept).collect();
        let Index { bytes, stat } = self.index;
        let mut draft = index_file::draft(bytes, &changes, &self.folders).map_err(index_failure)?;
        let settled = racy::settle(working_tree, &mut draft, &stat).map_err(index_failure)?;
        let mut documents = Vec::new();
        let mut contents = Vec::new();
        for (number, (path, document)) in self.documents.into_iter().enumerate() {
            let (aside, beside) = document::choose_aside(working_tree, &path, number);
            documents.push(Exchange {
                folders: document::missing_folders(working_tree, &path)?,
                old: document.old,
                new: document.new,
                kept_before: document.kept_before,
                kept_after: document.kept_after,
                aside,
                beside,
                path,
            });
            contents.push(document.content);
        }
        Ok(Work {
            intent: Intent {
                branch: self.head.branch,
                base: self.head.commit,
                commits: self.commits,
                objects: self.objects.ids().collect(),
                documents,
            },
            objects: self.objects,
            contents,
            draft,
            settled,
            index: stat,
        })
    }
}
