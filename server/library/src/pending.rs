//! Mutations planned one after the other and published in one transaction, each with its own commit and log entry.

use std::{
    collections::{BTreeMap, HashSet},
    time::SystemTime,
};

use gix::ObjectId;
use tabellion_runtime::{Failure, Version};

use super::{
    document,
    history::Touched,
    index::{Index, IndexStat, index_failure},
    index_file::{self, Draft, Folders, Mark},
    intent::{Exchange, Intent, Logged},
    objects::NewObjects,
    planned::Plan,
    racy,
    repository::Head,
    root::{FileBytes, twin_among},
    tree::{self, TreeEntry},
    working_tree::WorkingTree,
};
use crate::path::LibraryPath;

/// Planned mutations on top of the last commit.
#[derive(Debug)]
pub(super) struct Pending {
    head: Head,
    /// Time of HEAD, in seconds since 1970.
    time: Option<i64>,
    tree: Option<ObjectId>,
    commits: Vec<Logged>,
    touched: Vec<(ObjectId, Vec<Touched>)>,
    objects: NewObjects,
    folders: Folders,
    documents: BTreeMap<LibraryPath, Document>,
    links: Vec<(String, Option<TreeEntry>)>,
    keys: HashSet<String>,
    /// The documents' new versions, oldest first.
    versions: Vec<(LibraryPath, Version)>,
    index: Index,
}

/// The change of one document.
#[derive(Debug)]
struct Document {
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    kept_before: Option<TreeEntry>,
    kept_after: Option<TreeEntry>,
    content: Option<Vec<u8>>,
    mode: u32,
}

/// The pending change of a document.
pub(super) enum PendingDocument {
    Unchanged,
    Deleted,
    Written(FileBytes),
}

/// The work of a transaction.
#[derive(Debug)]
pub(super) struct Work {
    /// The intent, to be written first.
    pub(super) intent: Intent,
    /// The documents that each commit touched.
    pub(super) touched: Vec<(ObjectId, Vec<Touched>)>,
    pub(super) objects: NewObjects,
    /// The documents' new bytes, in the order of the intent's documents; `None` for a deletion.
    pub(super) contents: Vec<Option<Vec<u8>>>,
    /// The new index.
    pub(super) draft: Draft,
    /// The modification time that the index must have.
    pub(super) settled: SystemTime,
    /// The index with which everything was compared.
    pub(super) index: IndexStat,
}

impl Pending {
    /// Returns an empty list on top of HEAD.
    ///
    /// # Errors
    /// If the repository is in a state that permits no change.
    pub(super) fn begin(working_tree: &WorkingTree) -> Result<Self, Failure> {
        let git = working_tree.repository.git();
        working_tree.repository.check_idle(&git)?;
        let head = working_tree.repository.head(&git)?;
        let tree = head.commit.map(|commit| tree::of_commit(&git, commit)).transpose()?;
        Ok(Self {
            time: head.commit.map(|commit| tree::time_of_commit(&git, commit)).transpose()?.flatten(),
            head,
            tree,
            commits: Vec::new(),
            touched: Vec::new(),
            objects: NewObjects::default(),
            folders: Folders::new(),
            documents: BTreeMap::new(),
            links: Vec::new(),
            keys: HashSet::new(),
            versions: Vec::new(),
            index: Index::read(&working_tree.repository.index())?,
        })
    }

    /// Returns the newest commit.
    pub(super) fn commit(&self) -> Option<ObjectId> {
        self.commits.last().map_or(self.head.commit, |logged| Some(logged.commit))
    }

    /// Returns the time of HEAD, in seconds since 1970.
    pub(super) fn time(&self) -> Option<i64> {
        self.time
    }

    /// Returns the newest commit's tree.
    pub(super) fn tree(&self) -> Option<ObjectId> {
        self.tree
    }

    /// Returns the objects that are not written yet.
    pub(super) fn objects(&self) -> &NewObjects {
        &self.objects
    }

    /// Returns true if the document at `path` will be changed.
    pub(super) fn has(&self, path: &LibraryPath) -> bool {
        self.documents.contains_key(path)
    }

    /// Returns the change of the document at `path`.
    pub(super) fn document(&self, path: &LibraryPath) -> PendingDocument {
        let Some(document) = self.documents.get(path) else {
            return PendingDocument::Unchanged;
        };
        match &document.content {
            None => PendingDocument::Deleted,
            Some(bytes) => PendingDocument::Written(FileBytes {
                bytes: bytes.clone(),
                modified: SystemTime::now(),
                mode: document.mode,
                id: None,
            }),
        }
    }

    /// Returns the full name of the checked-out branch.
    pub(super) fn branch(&self) -> &str {
        &self.head.branch
    }

    /// Returns the last published commit.
    pub(super) fn head(&self) -> Option<ObjectId> {
        self.head.commit
    }

    /// Returns the new versions of the document at `path`, newest first.
    pub(super) fn versions(&self, path: &LibraryPath) -> impl Iterator<Item = &Version> {
        let of_path = self.versions.iter().rev().filter(move |(other, _)| other == path);
        of_path.map(|(_, version)| version)
    }

    /// Returns true if a mutation has this idempotency key.
    pub(super) fn has_key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// As [`Root::case_twin`](super::root::Root::case_twin), among new documents.
    pub(super) fn case_twin(&self, path: &LibraryPath) -> Option<String> {
        self.documents
            .iter()
            .filter(|(_, document)| document.old.is_none() && document.new.is_some())
            .find_map(|(other, _)| twin_among(path, other))
    }

    /// Returns the index entry at `path`, and its mark; `None` for one that has no version yet (`git add -N`).
    ///
    /// # Errors
    /// If the index is invalid.
    pub(super) fn staged(&self, path: &str) -> Result<Option<(TreeEntry, Option<Mark>)>, Failure> {
        let found = index_file::look_up_marked(&self.index.bytes, path).map_err(index_failure)?;
        Ok(found.filter(|(_, mark)| *mark != Some(Mark::IntentToAdd)))
    }

    /// Adds a mutation planned on top of these.
    pub(super) fn add(&mut self, plan: Plan) {
        self.tree = Some(plan.tree);
        self.commits.push(plan.logged);
        self.touched.extend(plan.touched);
        self.objects.extend(&plan.objects);
        self.keys.extend(plan.key);
        self.links.extend(plan.links);
        for folder in plan.folders {
            self.folders.entry(folder.path).or_insert((folder.before, folder.after)).1 = folder.after;
        }
        for planned in plan.documents {
            let versions = planned.versions.into_iter();
            self.versions.extend(versions.map(|version| (planned.path.clone(), version)));
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

    /// Returns the work for the transaction, after comparing with the disk.
    ///
    /// # Errors
    /// If the disk can't be read, or the index can't be changed.
    pub(super) fn into_work(self, working_tree: &WorkingTree) -> Result<Work, Failure> {
        let paths = self.documents.keys().map(|path| working_tree.repository.git_path(path));
        let paths: Vec<_> = paths.collect();
        let kept = self.documents.values().map(|document| document.kept_after);
        let links = self.links.iter().map(|(path, kept)| (&**path, *kept));
        let changes: Vec<_> = paths.iter().map(String::as_str).zip(kept).chain(links).collect();
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
            touched: self.touched,
            objects: self.objects,
            contents,
            draft,
            settled,
            index: stat,
        })
    }
}
