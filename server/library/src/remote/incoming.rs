//! Plans how the commits of a remote's branch become the library's: a plan like that of a mutation, published by the same transaction.
//!
//! A document in the way with a person's uncommitted bytes is committed first. If HEAD is in the remote's history, HEAD advances;
//! else both lines are merged ([`merge`](super::merge)) in a commit with both as parents. No commit is ever rewritten, and the
//! working tree is never checked out, reset or stashed; commits that can't be taken without loss are left to the person's
//! `git pull`.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use gix::{ObjectId, bstr::ByteSlice};
use tabellion_runtime::{Failure, FailureKind};

use super::{
    super::{
        attributes::Attributes,
        commit::Authorship,
        commit_message, conversion,
        failures::{InRepository, invalid_path, refused},
        history,
        intent::Logged,
        objects::{NewObjects, blob_id},
        path::is_markdown,
        pending::Pending,
        plan::{self, Adopted, LoadedDocument},
        planned::{DocumentPlan, Plan},
        tree::{self, TreeChanges, TreeEntry, Trees},
        tree_diff::{self, Budget},
        versions, walk,
        working_tree::WorkingTree,
    },
    merge::{self, Changes},
    whole,
};
use crate::path::LibraryPath;

/// Maximum number of files that one step takes, and of bytes of trees that it reads to find them.
const OF_STEP: Budget = Budget { tree_bytes: 64 << 20, documents: 10_000 };
/// Maximum number of bytes of files that one step takes.
const MAX_BYTES: usize = 256 << 20;
/// Permission bits of a new file, before the umask.
const NEW_FILE: u32 = 0o666;

/// Result of taking commits from the remote in one step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// Files that changed here.
    pub files: usize,
    /// Set if both sides had new commits, which were merged.
    pub merged: bool,
    /// Documents whose uncommitted bytes were committed first.
    pub adopted: Vec<String>,
    /// Files that hold this side's version of a document that could not be merged.
    pub conflicts: Vec<String>,
}

/// Plans to take the commit `tip`, on top of `pending`, which has no change yet. `None` if HEAD has it already. `from` names the remote.
///
/// # Errors
/// If the library's state prevents it; the message advises the person.
pub(super) fn plan(
    working_tree: &WorkingTree,
    pending: &Pending,
    tip: ObjectId,
    from: &str,
) -> Result<Option<(Plan, Taken)>, Failure> {
    let git = working_tree.repository.git();
    let head = pending.head();
    let base = match head {
        None => None,
        Some(head) if head == tip => return Ok(None),
        // If histories cross, the common commit that is found first can be an older one.
        Some(head) if history::reaches(&git, tip, head, None)? => Some(head),
        Some(head) => {
            let base = git.merge_base(head, tip).reading("the history")?;
            // A library without files, as `tabellion init` makes it, takes any history.
            if base.is_none() && pending.tree() != Some(ObjectId::empty_tree(tip.kind())) {
                return Err(refused(
                    "the remote's branch has no commit in common with this library; choose its remote with `tabellion remote set`",
                ));
            }
            base.map(gix::Id::detach)
        }
    };
    if base == Some(tip) {
        return Ok(None);
    }
    if !working_tree.repository.prefix().is_empty() {
        return Err(by_hand("the library is a folder of a larger repository"));
    }
    let tree_of = |commit: Option<ObjectId>| commit.map(|commit| tree::of_commit(&git, commit)).transpose();
    let [base_tree, tip_tree] = [tree_of(base)?, tree_of(Some(tip))?];
    let theirs = changes(&git, base_tree, tip_tree)?;
    let ours = changes(&git, base_tree, pending.tree())?;
    let mut incoming = Incoming {
        working_tree,
        git: &git,
        pending,
        objects: NewObjects::default(),
        disk: BTreeMap::new(),
        adopted: Vec::new(),
    };
    let newest = pending.time().max(tree::time_of_commit(&git, tip)?);
    let owner = Authorship::now(working_tree.repository.author(&git), newest);
    let (adopted, ours) = incoming.adopt(&theirs, ours, &owner)?;
    let own_commit = adopted.as_ref().map_or(head, |adopted| Some(adopted.commit));

    let mut taken =
        Taken { merged: own_commit != base, adopted: incoming.adopted.clone(), ..Taken::default() };
    let mut results = if taken.merged {
        let own = own_commit.unwrap_or(tip);
        let mut merged = merge::merge(&git, &mut incoming.objects, &ours, &theirs, own)?;
        whole::take_back(&git, &mut merged, [&ours, &theirs], [head.unwrap_or(tip), tip], own)?;
        taken.conflicts = merged.conflicts;
        merged.changes
    } else {
        theirs.iter().map(|(path, [_, new])| (path.clone(), *new)).collect()
    };
    taken.files = results.len();
    for path in &taken.adopted {
        // It stays unchanged, and is added to the index.
        let own = || ours.get(path).and_then(|[_, own]| *own);
        results.entry(path.clone()).or_insert_with(own);
    }
    let (tree, folders) = incoming.trees(pending.tree(), &results)?;
    let (commit, log_line) = if taken.merged {
        let message = commit_message::merge(from, taken.files, &taken.conflicts, owner.time);
        let parents = own_commit.into_iter().chain([tip]);
        let commit = owner.commit(&mut incoming.objects, tree, parents, &message)?;
        (commit, owner.log_line("pull", &message))
    } else {
        if Some(tree) != tip_tree {
            return Err(by_hand("its commits change what can't be shown as files here"));
        }
        // The trees are the remote's own.
        incoming.objects = NewObjects::default();
        (tip, owner.log_line("pull", &format!("fast-forward to {from}")))
    };
    let (documents, links) = incoming.documents(results)?;
    let plan = Plan {
        logged: Logged { commit, line: log_line },
        tree,
        touched: Vec::new(),
        objects: incoming.objects,
        folders,
        documents,
        links,
        key: None,
    };
    Ok(Some((plan, taken)))
}

/// Returns the files that differ between two trees.
fn changes(git: &gix::Repository, old: Option<ObjectId>, new: Option<ObjectId>) -> Result<Changes, Failure> {
    let mut found = Changes::new();
    let mut unnameable = false;
    let mut budget = OF_STEP;
    let ended = tree_diff::walk(git, [old, new], &mut budget, |path, sides| {
        let is_folder = sides.iter().flatten().any(|(mode, _)| mode.is_tree());
        let (Ok(path), false) = (path.to_str(), is_folder) else {
            unnameable = true;
            return ControlFlow::Break(());
        };
        let sides = sides.map(|side| side.map(|(mode, blob)| TreeEntry { blob, mode }));
        // A folder that became a file, or the other way round, comes twice.
        let known = found.entry(path.to_owned()).or_insert([None, None]);
        *known = [sides[0].or(known[0]), sides[1].or(known[1])];
        if found.len() > OF_STEP.documents { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match ended {
        ControlFlow::Continue(()) => Ok(found),
        ControlFlow::Break(()) if unnameable => {
            Err(by_hand("a path in its commits is not UTF-8, or is too long"))
        }
        ControlFlow::Break(()) => Err(by_hand("its commits change more files than are taken in one step")),
    }
}

/// Returns the failure of a step that is left to the person's git.
fn by_hand(why: &str) -> Failure {
    refused(format!("{why}; `git pull` takes the remote's commits, and then all goes on by itself"))
}

fn in_the_way(path: &LibraryPath) -> Failure {
    let message = format!(
        "`{path}` has changes that are not committed, and the remote's commits change it too; commit it (`git commit`)"
    );
    Failure::new(FailureKind::Conflict, message)
}

/// The plan under construction.
struct Incoming<'a> {
    working_tree: &'a WorkingTree,
    git: &'a gix::Repository,
    pending: &'a Pending,
    objects: NewObjects,
    /// The inspected files on the disk.
    disk: BTreeMap<String, OnDisk>,
    /// Paths of the documents whose uncommitted bytes are committed first.
    adopted: Vec<String>,
}

/// A file on the disk, compared with HEAD.
struct OnDisk {
    path: LibraryPath,
    file: Option<Arc<LoadedDocument>>,
    kept_before: Option<TreeEntry>,
    kept: Option<TreeEntry>,
}

impl OnDisk {
    fn is_dirty(&self) -> bool {
        self.kept != self.kept_before
    }
}

/// Documents to be exchanged, and entries without a file here.
type Planned = (Vec<DocumentPlan>, Vec<(String, Option<TreeEntry>)>);

impl Incoming<'_> {
    /// Inspects the file at the git path `path`.
    fn look(&mut self, path: &str) -> Result<&OnDisk, Failure> {
        if !self.disk.contains_key(path) {
            let library_path = LibraryPath::of_entry(path).map_err(|error| invalid_path(&error))?;
            let file = self.working_tree.file(&library_path)?;
            let file = file.map(LoadedDocument::new).transpose()?.map(Arc::new);
            let (kept_before, kept) =
                plan::compare(self.working_tree, self.git, self.pending, &library_path, file.clone())?;
            let found = OnDisk { path: library_path, file, kept_before, kept };
            self.disk.insert(path.to_owned(), found);
        }
        Ok(&self.disk[path])
    }

    /// Plans a commit of the conflicting documents' bytes on the disk; returns it, and this side's changes including it.
    fn adopt(
        &mut self,
        theirs: &Changes,
        mut ours: Changes,
        owner: &Authorship,
    ) -> Result<(Option<Adopted>, Changes), Failure> {
        for (path, sides) in theirs {
            let own = ours.get(path).map_or(sides[0], |[_, own]| *own);
            if sides.iter().flatten().chain(&own).any(|entry| entry.mode.is_link()) {
                return Err(by_hand(&format!(
                    "a commit changes the symbolic link `{}`",
                    path.escape_debug()
                )));
            }
            if sides[1].is_some_and(|entry| entry.mode.is_blob()) {
                self.check_kinds(path)?;
            }
            if sides.iter().flatten().all(|entry| entry.mode.is_blob()) {
                let is_dirty = self.look(path)?.is_dirty();
                self.check_adoptable(path, is_dirty)?;
            }
        }
        let dirty: Vec<_> = self.disk.values().filter(|file| file.is_dirty()).collect();
        let documents = dirty.iter().map(|file| (file.path.clone(), file.file.clone()));
        let adopted = plan::adopt(self.working_tree, self.pending, documents.collect(), owner)?;
        for file in dirty {
            let path = file.path.as_str().to_owned();
            let base = theirs.get(&path).map_or(file.kept_before, |[base, _]| *base);
            ours.insert(path.clone(), [base, file.kept]);
            self.adopted.push(path);
        }
        if let Some(adopted) = &adopted {
            self.objects.extend(&adopted.objects);
        }
        ours.retain(|_, [base, own]| base != own);
        Ok((adopted, ours))
    }

    /// Refuses a file of the remote that is a folder here, or in a folder that is a file here.
    fn check_kinds(&self, path: &str) -> Result<(), Failure> {
        let root = self.working_tree.root.path();
        let is_folder = |path: &str| Some(root.join(path).symlink_metadata().ok()?.is_dir());
        let above = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
        let file = above.into_iter().find(|folder| is_folder(folder) == Some(false));
        let (name, here, there) = match file {
            Some(file) => (file, "file", "folder"),
            None if is_folder(path) == Some(true) => (path, "folder", "file"),
            None => return Ok(()),
        };
        Err(by_hand(&format!(
            "`{}` is a {here} here and a {there} in the remote's commits: rename it (`git mv`) and commit that, or let git take both",
            name.escape_debug()
        )))
    }

    /// Only documents are committed for a person.
    fn check_adoptable(&self, path: &str, is_dirty: bool) -> Result<(), Failure> {
        let file = &self.disk[path];
        let excluded = || walk::exclusion(&self.working_tree.root, &file.path, &self.working_tree.rules);
        if !is_dirty || is_markdown(path) && matches!(excluded(), Ok(None)) {
            return Ok(());
        }
        Err(in_the_way(&file.path))
    }

    /// Returns the tree of HEAD with the results.
    fn trees(
        &mut self,
        head: Option<ObjectId>,
        results: &BTreeMap<String, Option<TreeEntry>>,
    ) -> Result<(ObjectId, Vec<tree::FolderChange>), Failure> {
        let changes: TreeChanges =
            results.iter().map(|(path, entry)| (path.clone().into(), *entry)).collect();
        let mut trees = Trees { git: self.git, pending: self.pending.objects(), new: &mut self.objects };
        trees.with(head, &changes)
    }

    /// Plans the exchange of each file.
    fn documents(&mut self, results: BTreeMap<String, Option<TreeEntry>>) -> Result<Planned, Failure> {
        let (mut documents, mut links) = (Vec::new(), Vec::new());
        let mut room = MAX_BYTES;
        for (path, entry) in results {
            if entry.is_some_and(|entry| entry.mode.is_commit()) {
                links.push((path, entry));
                continue;
            }
            self.check_filter(&path)?;
            self.look(&path)?;
            let content = entry.map(|entry| self.content(&path, entry.blob)).transpose()?;
            let length = content.as_ref().map_or(0, Vec::len);
            room = room
                .checked_sub(length)
                .ok_or_else(|| by_hand("its files are larger than what is taken in one step"))?;
            let file = &self.disk[&path];
            if file.is_dirty() && !self.adopted.contains(&path) {
                return Err(in_the_way(&file.path));
            }
            if entry.is_none() && file.file.is_none() && file.kept_before.is_none() {
                continue;
            }
            documents.push(DocumentPlan {
                path: file.path.clone(),
                old: file.file.as_ref().map(|file| file.id),
                new: content.as_deref().map(blob_id).transpose()?,
                content,
                mode: file.file.as_ref().map_or(NEW_FILE, |file| file.file.mode),
                kept_before: file.kept_before,
                kept_after: entry,
                versions: Vec::new(),
            });
        }
        Ok((documents, links))
    }

    /// Returns the bytes for the disk of a stored blob. A file whose line endings git converts keeps its current ones; a new one has those
    /// that git checks out.
    fn content(&self, path: &str, blob: ObjectId) -> Result<Vec<u8>, Failure> {
        let kept = match self.objects.data(blob) {
            Some(data) => data.to_vec(),
            None => versions::content(self.git, blob)?,
        };
        let Some(file) = &self.disk[path].file else {
            return conversion::from_git(self.git, path, kept);
        };
        let is_converted = self.disk[path].kept.is_some_and(|entry| entry.blob != file.id);
        if is_converted && file.file.bytes.contains_str("\r\n") {
            let converted = kept.replace("\r\n", "\n").replace("\n", "\r\n");
            if conversion::kept_id(self.working_tree, path, &converted, blob_id(&converted)?)? == blob {
                return Ok(converted);
            }
        }
        Ok(kept)
    }

    /// Fails if a filter would change the file's bytes. Large files of `git lfs` are left as their pointers.
    fn check_filter(&self, path: &str) -> Result<(), Failure> {
        let attributes = Attributes::for_path(self.git, path)?;
        match attributes.out_of_reach(&self.git.config_snapshot()) {
            Some(what) if what != "filter=lfs" => {
                Err(by_hand(&format!("`{path}` has git's attribute `{what}`")))
            }
            _ => Ok(()),
        }
    }
}
