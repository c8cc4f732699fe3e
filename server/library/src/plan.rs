//! Plans a mutation: makes every check and creates every object. Writes and changes nothing.
//!
//! The new commit's tree is HEAD's (or that of the mutation before it in the same transaction) with the changed paths, never the
//! index. Bytes of a document that differ from HEAD are first recorded in a separate commit, the parent of the new one: both become
//! visible in one step.

use std::{borrow::Cow, sync::Arc};

use gix::{
    ObjectId,
    objs::tree::{EntryKind, EntryMode},
};
use sha1::{Digest, Sha1};
use tabellion_runtime::{Change, Content, Entry, Failure, FailureKind};

use super::{
    commit::Authorship,
    commit_message::{EXTERNAL, Record, RecordedCall, ToolDetails},
    conversion,
    failures::{IoContext, case_twin, invalid_path, refused},
    history::Touched,
    index_file::Mark,
    intent::Logged,
    objects::{NewObjects, blob_id},
    pending::Pending,
    planned::{DocumentPlan, Plan},
    root::{FileBytes, MAX_FILE_BYTES, twin_among},
    sparse,
    tree::{TreeChanges, TreeEntry, Trees},
    versions,
    walk::{self, Exclusion},
    working_tree::{ExternalPolicy, WorkingTree},
};
use crate::path::LibraryPath;

/// Permission bits with which a file's owner can write and execute it.
const OWNER_WRITES: u32 = 0o200;
const OWNER_EXECUTES: u32 = 0o100;
/// Permission bits of a new file, before the umask.
const NEW_FILE: u32 = 0o666;

/// Size of the object cache while a mutation is planned, in bytes.
const CACHE_BYTES: usize = 8 << 20;

/// A document in the state that its change found.
#[derive(Debug)]
pub(super) struct LoadedDocument {
    pub(super) file: FileBytes,
    /// Id of its bytes.
    pub(super) id: ObjectId,
}

impl LoadedDocument {
    pub(super) fn new(file: FileBytes) -> Result<Self, Failure> {
        let id = blob_id(&file.bytes)?;
        Ok(Self { file, id })
    }

    /// Returns the id of the document as git stores it at `git_path`.
    pub(super) fn git_blob_id(
        &self,
        working_tree: &WorkingTree,
        git_path: &str,
    ) -> Result<ObjectId, Failure> {
        conversion::kept_id(working_tree, git_path, &self.file.bytes, self.id)
    }
}

/// An edit and the document that it applies to.
#[derive(Debug)]
pub(super) struct PlannedEdit<'a> {
    pub(super) path: LibraryPath,
    pub(super) old: Option<Arc<LoadedDocument>>,
    pub(super) content: &'a Content,
}

/// Plans a change of the documents of `edits`, whose paths differ, on top of everything `pending`. The files that a person has moved away
/// from the paths of `moved` are removed in the commit of the person's uncommitted bytes.
pub(super) fn plan(
    working_tree: &WorkingTree,
    pending: &Pending,
    (mut edits, moved): (Vec<PlannedEdit<'_>>, Vec<PlannedEdit<'_>>),
    change: &Change,
    entry: &Entry<'_>,
) -> Result<Plan, Failure> {
    let mut git = working_tree.repository.git();
    // Trees are read first and changed later.
    git.object_cache_size(CACHE_BYTES);
    let mut planner = Planner { working_tree, git: &git, pending, objects: NewObjects::default() };
    let mut states = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        states.push(planner.look_at(edit, &edits[..number])?);
    }
    let edited = edits.len();
    for edit in moved.into_iter().filter(|edit| edit.old.is_none()) {
        let (git_path, kept) = planner.in_commit(&edit.path)?;
        let state = planner.state(&edit, git_path, kept)?;
        if state.is_dirty() {
            edits.push(edit);
            states.push(state);
        }
    }

    let owner = Authorship::now(working_tree.repository.author(&git), pending.time());
    let authorship = match &entry.call.author {
        Some(author) => owner.by(author),
        None => owner.clone(),
    };
    let adopted = planner.adopt(&edits, &states, &owner)?;
    let (base, base_tree) = match adopted {
        Some((commit, tree)) => (Some(commit), Some(tree)),
        None => (pending.commit(), pending.tree()),
    };

    let mut changes = TreeChanges::new();
    let mut documents = Vec::new();
    for (edit, state) in edits.iter().zip(&states) {
        let content = edit.content.bytes().map(<[u8]>::to_vec);
        let mode = state.on_disk.or(state.kept_before).map_or(EntryKind::Blob.into(), |kept| kept.mode);
        let (kept_after, new) =
            content.as_deref().map(|bytes| planner.keep(state, bytes, mode)).transpose()?.unzip();
        changes.insert(state.git_path.clone().into(), kept_after);
        let adopted = adopted.filter(|_| state.is_dirty());
        documents.push(DocumentPlan {
            path: edit.path.clone(),
            old: edit.old.as_ref().map(|before| before.id),
            new,
            content,
            mode: edit.old.as_ref().map_or(NEW_FILE, |before| before.file.mode),
            kept_before: state.kept_before,
            kept_after,
            versions: adopted
                .map(|(commit, _)| owner.version(commit, state.on_disk.map(|kept| kept.blob), None))
                .into_iter()
                .collect(),
        });
    }
    let (tree, mut folders) = planner.trees().with(base_tree, &changes)?;
    if adopted.is_some() {
        (_, folders) = planner.trees().with(pending.tree(), &changes)?;
    }
    let record = planner.record(change, entry, &states[..edited], &documents[..edited], &authorship);
    let message = record.render();
    let commit = authorship.commit(&mut planner.objects, tree, base, &message)?;
    let changed = states.iter().zip(&documents[..edited]);
    let changed = changed.map(|(state, document)| state.touched(state.on_disk, document.kept_after));
    let adopting = adopted.map(|(commit, _)| {
        let dirty = states.iter().filter(|state| state.is_dirty());
        (commit, dirty.map(|state| state.touched(state.kept_before, state.on_disk)).collect())
    });
    let touched = adopting.into_iter().chain([(commit, changed.collect())]).collect();
    let noted = versions::entry(record);
    for document in &mut documents[..edited] {
        let content = document.kept_after.map(|kept| kept.blob);
        document.versions.push(authorship.version(commit, content, noted.clone()));
    }

    Ok(Plan {
        logged: Logged { commit, line: authorship.log_line("commit", &message) },
        tree,
        touched,
        objects: planner.objects,
        folders,
        documents,
        links: Vec::new(),
        key: entry.call.kept_key(),
    })
}

/// Checks that the document at `path`, with this mode and with `kept` in HEAD, can be changed to `size` bytes, as far as this does
/// not depend on concurrent changes.
pub(super) fn check_change(
    working_tree: &WorkingTree,
    git: &gix::Repository,
    path: &LibraryPath,
    mode: Option<u32>,
    size: usize,
    kept: Option<TreeEntry>,
) -> Result<(), Failure> {
    if size as u64 > MAX_FILE_BYTES {
        let message = format!(
            "`{path}` would have {size} bytes, more than the {MAX_FILE_BYTES} that are read; split it"
        );
        return Err(Failure::new(FailureKind::TooLarge, message));
    }
    let excluded = walk::exclusion(&working_tree.root, path, &working_tree.rules);
    match excluded.map_err(|error| refused(error.to_string()).with("rule", error.rule()))? {
        Some(Exclusion::Ignored) if kept.is_some() => {}
        Some(why) => return Err(refused(format!("`{path}` {why}"))),
        None => {}
    }
    conversion::check(git, &working_tree.repository.git_path(path))?;
    if mode.is_some_and(|mode| mode & OWNER_WRITES == 0) {
        return Err(refused(format!("`{path}` is read-only; make it writable first (`chmod u+w`)")));
    }
    Ok(())
}

/// Returns the tree entry of the document in the newest commit `pending`, and the one that the file on the disk would get.
///
/// # Errors
/// If a person has staged a different version or set a mark.
pub(super) fn compare(
    working_tree: &WorkingTree,
    git: &gix::Repository,
    pending: &Pending,
    path: &LibraryPath,
    old: Option<Arc<LoadedDocument>>,
) -> Result<(Option<TreeEntry>, Option<TreeEntry>), Failure> {
    let mut planner = Planner { working_tree, git, pending, objects: NewObjects::default() };
    let (git_path, kept) = planner.in_commit(path)?;
    let edit = PlannedEdit { path: path.clone(), old, content: &Content::Delete };
    let state = planner.state(&edit, git_path, kept)?;
    Ok((state.kept_before, state.on_disk))
}

/// A commit of a person's uncommitted bytes.
pub(super) struct Adopted {
    pub(super) commit: ObjectId,
    pub(super) objects: NewObjects,
}

/// Plans a commit of the documents' current bytes on the disk, on top of everything `pending`; `None` if all equal the newest commit.
///
/// # Errors
/// If one of them can't be committed, or uncommitted bytes are to be refused.
pub(super) fn adopt(
    working_tree: &WorkingTree,
    pending: &Pending,
    documents: Vec<(LibraryPath, Option<Arc<LoadedDocument>>)>,
    owner: &Authorship,
) -> Result<Option<Adopted>, Failure> {
    let git = working_tree.repository.git();
    let mut planner = Planner { working_tree, git: &git, pending, objects: NewObjects::default() };
    let edits: Vec<_> = documents
        .into_iter()
        .map(|(path, old)| PlannedEdit { path, old, content: &Content::Delete })
        .collect();
    let mut states = Vec::new();
    for edit in &edits {
        let (git_path, kept) = planner.in_commit(&edit.path)?;
        states.push(planner.state(edit, git_path, kept)?);
    }
    let adopted = planner.adopt(&edits, &states, owner)?;
    Ok(adopted.map(|(commit, _)| Adopted { commit, objects: planner.objects }))
}

/// The state of a document before its change.
struct DocumentState {
    git_path: String,
    /// Tree entry of the newest commit.
    kept_before: Option<TreeEntry>,
    /// Tree entry that the file on disk would get.
    on_disk: Option<TreeEntry>,
}

impl DocumentState {
    /// Returns true if the file differs from the newest commit.
    fn is_dirty(&self) -> bool {
        self.on_disk != self.kept_before
    }

    fn touched(&self, before: Option<TreeEntry>, after: Option<TreeEntry>) -> Touched {
        Touched::new(&self.git_path, before, after)
    }
}

struct Planner<'a> {
    working_tree: &'a WorkingTree,
    git: &'a gix::Repository,
    pending: &'a Pending,
    objects: NewObjects,
}

impl Planner<'_> {
    fn trees(&mut self) -> Trees<'_> {
        Trees { git: self.git, pending: self.pending.objects(), new: &mut self.objects }
    }

    /// Checks that `edit` is possible after the `earlier` edits of the same change.
    fn look_at(
        &mut self,
        edit: &PlannedEdit<'_>,
        earlier: &[PlannedEdit<'_>],
    ) -> Result<DocumentState, Failure> {
        let (git_path, kept_before) = self.in_commit(&edit.path)?;
        self.check(edit, &git_path, kept_before, earlier)?;
        self.state(edit, git_path, kept_before)
    }

    /// Returns the git path of a document, and its tree entry in the newest commit.
    fn in_commit(&mut self, path: &LibraryPath) -> Result<(String, Option<TreeEntry>), Failure> {
        let git_path = self.working_tree.repository.git_path(path);
        let kept = match self.pending.tree() {
            Some(tree) => self.trees().look_up(tree, &git_path)?,
            None => None,
        };
        Ok((git_path, kept))
    }

    /// Compares the document with the newest commit, which has `kept_before`.
    fn state(
        &self,
        edit: &PlannedEdit<'_>,
        git_path: String,
        kept_before: Option<TreeEntry>,
    ) -> Result<DocumentState, Failure> {
        let on_disk = if self.pending.has(&edit.path) {
            kept_before
        } else {
            let on_disk = self.kept_of(edit.old.as_deref(), &git_path, kept_before)?;
            self.check_staged(&edit.path, &git_path, kept_before, on_disk)?;
            on_disk
        };
        Ok(DocumentState { git_path, kept_before, on_disk })
    }

    /// Checks the document's current state against the edit.
    fn check(
        &self,
        edit: &PlannedEdit<'_>,
        git_path: &str,
        kept: Option<TreeEntry>,
        earlier: &[PlannedEdit<'_>],
    ) -> Result<(), Failure> {
        let path = &edit.path;
        let size = edit.content.bytes().map_or(0, <[u8]>::len);
        check_change(
            self.working_tree,
            self.git,
            path,
            edit.old.as_ref().map(|before| before.file.mode),
            size,
            kept,
        )?;
        match (&edit.old, edit.content) {
            (None, Content::Delete) => {
                Err(Failure::new(FailureKind::NotFound, format!("`{path}` does not exist")))
            }
            (None, Content::Write(_)) => {
                if sparse::excludes(&self.working_tree.repository, self.git, git_path) {
                    let message = format!(
                        "`{path}` is outside of the sparse checkout; `git sparse-checkout add` its folder first"
                    );
                    return Err(refused(message));
                }
                let created = earlier.iter().filter(|edit| edit.old.is_none());
                let twin = created.map(|edit| twin_among(path, &edit.path)).find(Option::is_some).flatten();
                let twin = match twin.or_else(|| self.pending.case_twin(path)) {
                    Some(twin) => Some(twin),
                    None => self.working_tree.root.case_twin(path).context("look for", path.as_path())?,
                };
                match twin {
                    Some(twin) => Err(case_twin(path, &twin)),
                    None => self.working_tree.root.check_new(path).map_err(|error| invalid_path(&error)),
                }
            }
            _ => Ok(()),
        }
    }

    /// Refuses if a person has staged a version that neither HEAD nor the disk has: it would be lost with its index entry.
    fn check_staged(
        &self,
        path: &LibraryPath,
        git_path: &str,
        kept: Option<TreeEntry>,
        on_disk: Option<TreeEntry>,
    ) -> Result<(), Failure> {
        let (staged, mark) = self.pending.staged(git_path)?.unzip();
        self.check_mark(path, mark.flatten(), kept, on_disk)?;
        let blob = |kept: Option<TreeEntry>| kept.map(|kept| kept.blob);
        if [blob(kept), blob(on_disk)].contains(&blob(staged)) {
            return Ok(());
        }
        let message = format!(
            "`{path}` has a staged change that is not in the file; commit it (`git commit`) or unstage it (`git restore --staged`) first"
        );
        Err(Failure::new(FailureKind::Conflict, message))
    }

    /// Refuses if a person told git to ignore changes of the file and the mark hides a change.
    fn check_mark(
        &self,
        path: &LibraryPath,
        mark: Option<Mark>,
        kept: Option<TreeEntry>,
        on_disk: Option<TreeEntry>,
    ) -> Result<(), Failure> {
        let (name, option) = match mark {
            // Git itself removes the mark from an existing file.
            Some(Mark::SkipWorktree) if on_disk.is_some() && sparse::is_on(self.git) => return Ok(()),
            Some(Mark::SkipWorktree) => ("skip-worktree", "--no-skip-worktree"),
            Some(Mark::AssumeUnchanged) if on_disk != kept => ("assume-unchanged", "--no-assume-unchanged"),
            _ => return Ok(()),
        };
        Err(refused(format!(
            "`{path}` is marked `{name}` in the index, so git does not look at it and no commit shall have it; \
             `git update-index {option}` it first"
        )))
    }

    /// Returns the tree entry for the document on disk.
    fn kept_of(
        &self,
        old: Option<&LoadedDocument>,
        git_path: &str,
        kept: Option<TreeEntry>,
    ) -> Result<Option<TreeEntry>, Failure> {
        let Some(before) = old else { return Ok(None) };
        let mode: EntryMode = match kept {
            Some(kept) if !self.working_tree.repository.keeps_modes() => kept.mode,
            _ if before.file.mode & OWNER_EXECUTES != 0 && self.working_tree.repository.keeps_modes() => {
                EntryKind::BlobExecutable.into()
            }
            _ => EntryKind::Blob.into(),
        };
        // Not added to the objects, because HEAD usually has it.
        let blob = before.git_blob_id(self.working_tree, git_path)?;
        Ok(Some(TreeEntry { blob, mode }))
    }

    /// Adds a document to the objects; returns its tree entry and the id of its unconverted bytes.
    fn keep(
        &mut self,
        state: &DocumentState,
        bytes: &[u8],
        mode: EntryMode,
    ) -> Result<(TreeEntry, ObjectId), Failure> {
        let kept = conversion::to_git(self.working_tree, &state.git_path, bytes)?;
        let base = state.on_disk.or(state.kept_before).map(|before| before.blob);
        let blob = self.objects.add_blob(base, &kept)?;
        let id = match kept {
            Cow::Borrowed(_) => blob,
            Cow::Owned(_) => blob_id(bytes)?,
        };
        Ok((TreeEntry { blob, mode }, id))
    }

    /// Creates a commit of a person's uncommitted bytes in the documents; returns it and its tree. `None` if all documents
    /// equal the newest commit.
    fn adopt(
        &mut self,
        edits: &[PlannedEdit<'_>],
        states: &[DocumentState],
        authorship: &Authorship,
    ) -> Result<Option<(ObjectId, ObjectId)>, Failure> {
        let dirty: Vec<_> = edits.iter().zip(states).filter(|(_, state)| state.is_dirty()).collect();
        let pending = self.pending;
        let Some((first, _)) = dirty.first() else {
            return Ok(None);
        };
        if self.working_tree.options.external == ExternalPolicy::Refuse {
            let path = &first.path;
            let message =
                format!("`{path}` has changes that are not committed; commit them (`git commit`) first");
            return Err(Failure::new(FailureKind::Conflict, message));
        }
        for (edit, state) in &dirty {
            if let (Some(before), Some(kept)) = (&edit.old, state.on_disk) {
                self.keep(state, &before.file.bytes, kept.mode)?;
            }
        }
        let changes = dirty.iter().map(|(_, state)| (state.git_path.clone().into(), state.on_disk));
        let (tree, _) = self.trees().with(pending.tree(), &changes.collect())?;
        let summary = if dirty.iter().all(|(_, state)| state.on_disk.is_none()) {
            "record a removal that was not committed"
        } else {
            "record what was not committed"
        };
        let record = Record {
            operation: EXTERNAL.to_owned(),
            paths: dirty.iter().map(|(_, state)| state.git_path.clone()).collect(),
            tool: None,
            client: None,
            time: authorship.time,
            summary: summary.to_owned(),
            key: None,
            request: None,
            caller: None,
            call: None,
            tool_details: None,
        };
        let commit = authorship.commit(&mut self.objects, tree, self.pending.commit(), &record.render())?;
        Ok(Some((commit, tree)))
    }

    fn record(
        &self,
        change: &Change,
        entry: &Entry<'_>,
        states: &[DocumentState],
        documents: &[DocumentPlan],
        authorship: &Authorship,
    ) -> Record {
        let details = entry.details.clone();
        let contents = states.iter().zip(documents);
        let contents = contents.map(|(state, document)| {
            [state.on_disk, document.kept_after].map(|kept| kept.map(|kept| kept.blob.to_string()))
        });
        Record {
            operation: change.operation.to_owned(),
            paths: states.iter().map(|state| state.git_path.clone()).collect(),
            tool: Some(entry.tool.to_owned()),
            client: entry.call.client.clone(),
            time: authorship.time,
            summary: change.summary.clone(),
            key: entry.call.kept_key(),
            request: entry.request.map(request_digest),
            caller: entry.call.identity.as_ref().map(ToString::to_string),
            call: entry.call.execution.as_deref().map(|execution| RecordedCall {
                execution: execution.to_owned(),
                session: entry.call.session.as_deref().map(str::to_owned),
            }),
            tool_details: (!details.is_empty())
                .then(|| ToolDetails { details, contents: contents.collect() }),
        }
    }
}

/// Returns the digest of a request, which distinguishes requests with the same idempotency key.
pub(super) fn request_digest(request: &str) -> String {
    ObjectId::from_bytes_or_panic(&Sha1::digest(request)).to_string()
}
