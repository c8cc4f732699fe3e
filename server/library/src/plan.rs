//! Working out a mutation: every check, and every object that it makes. Nothing is written and nothing changes.
//!
//! A commit of ours is HEAD's tree (or that of the mutation before it in the same transaction) and the one path, never the
//! index. If the document's bytes are not HEAD's, they are
//! first recorded as a commit of their own, the parent of ours: both become visible in one step, with ours.

use std::{borrow::Cow, sync::Arc};

use gix::{
    ObjectId,
    objs::tree::{EntryKind, EntryMode},
};
use sha1::{Digest, Sha1};
use tabellion_runtime::{Change, Content, Entry, Failure, FailureKind};

use super::{
    commit::Authorship,
    commit_message::{EXTERNAL, Noted, Record},
    conversion,
    index_file::Mark,
    intent::Logged,
    objects::{NewObjects, blob_id},
    pending::Pending,
    planned::{DocumentPlan, Plan},
    root::{FileBytes, MAX_FILE_BYTES, twin_among},
    sparse,
    tree::{Kept, TreeChanges, Trees},
    trouble::{At, refused},
    versions,
    walk::{self, Exclusion},
    working_tree::{ExternalPolicy, WorkingTree},
};
use crate::path::LibraryPath;

/// The permission bits by which a file's owner may write and execute it.
const OWNER_WRITES: u32 = 0o200;
const OWNER_EXECUTES: u32 = 0o100;
/// The permission bits of a new file, before the system takes away what its user does not want.
const NEW_FILE: u32 = 0o666;

/// How many bytes of git's objects are remembered while a mutation is worked out.
const CACHE_BYTES: usize = 8 << 20;

/// A document as its change found it.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) file: FileBytes,
    /// Id of its bytes.
    pub(super) id: ObjectId,
}

impl Before {
    pub(super) fn new(file: FileBytes) -> Result<Self, Failure> {
        let id = blob_id(&file.bytes)?;
        Ok(Self { file, id })
    }

    /// Id of what git keeps of it at `git_path`.
    pub(super) fn kept(&self, working_tree: &WorkingTree, git_path: &str) -> Result<ObjectId, Failure> {
        conversion::kept_id(working_tree, git_path, &self.file.bytes, self.id)
    }
}

/// One document of a change, with what was found of it.
#[derive(Debug)]
pub(super) struct PlannedEdit<'a> {
    pub(super) path: LibraryPath,
    pub(super) old: Option<Arc<Before>>,
    pub(super) content: &'a Content,
}

/// Works out a change of the documents of `edits`, of which no two have one path, after all that is `pending`.
pub(super) fn plan(
    working_tree: &WorkingTree,
    pending: &Pending,
    edits: Vec<PlannedEdit<'_>>,
    change: &Change,
    entry: &Entry<'_>,
) -> Result<Plan, Failure> {
    let mut git = working_tree.repository.git();
    // The trees on the way are looked through and then changed.
    git.object_cache_size(CACHE_BYTES);
    let mut planner = Planner {
        working_tree,
        git: &git,
        pending,
        objects: NewObjects::default(),
    };
    let mut states = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        states.push(planner.look_at(edit, &edits[..number])?);
    }

    let owner = Authorship::now(working_tree.repository.author(&git));
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
        let mode = state
            .on_disk
            .or(state.kept_before)
            .map_or(EntryKind::Blob.into(), |kept| kept.mode);
        let (kept_after, new) = content
            .as_deref()
            .map(|bytes| planner.keep(&state.git_path, bytes, mode))
            .transpose()?
            .unzip();
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
    let record = planner.record(change, entry, &states, &documents, &authorship);
    let message = record.render();
    let commit = authorship.commit(&mut planner.objects, tree, base, &message)?;
    let noted = versions::entry(record);
    for document in &mut documents {
        let content = document.kept_after.map(|kept| kept.blob);
        document
            .versions
            .push(authorship.version(commit, content, noted.clone()));
    }

    Ok(Plan {
        logged: Logged {
            commit,
            line: authorship.log_line(&message),
        },
        tree,
        objects: planner.objects,
        folders,
        documents,
        key: entry.call.idempotency_key.as_ref().map(String::from),
    })
}

/// Whether the document at `path`, of this mode and with `kept` in HEAD, may be changed to one of `size` bytes: what does
/// not depend on what others are about to do.
pub(super) fn check_change(
    working_tree: &WorkingTree,
    git: &gix::Repository,
    path: &LibraryPath,
    mode: Option<u32>,
    size: usize,
    kept: Option<Kept>,
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
        return Err(refused(format!(
            "`{path}` is read-only; make it writable first (`chmod u+w`)"
        )));
    }
    Ok(())
}

/// A document as it stands before its change.
struct DocumentState {
    git_path: String,
    /// What the newest commit has at the path.
    kept_before: Option<Kept>,
    /// How git would keep what is on the disk.
    on_disk: Option<Kept>,
}

impl DocumentState {
    /// Returns whether the disk has something else than the newest commit.
    fn is_dirty(&self) -> bool {
        self.on_disk != self.kept_before
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
        Trees {
            git: self.git,
            pending: self.pending.objects(),
            new: &mut self.objects,
        }
    }

    /// Checks that the document can be changed as `edit` says, after the `earlier` edits of the same change.
    fn look_at(
        &mut self,
        edit: &PlannedEdit<'_>,
        earlier: &[PlannedEdit<'_>],
    ) -> Result<DocumentState, Failure> {
        let git_path = self.working_tree.repository.git_path(&edit.path);
        let kept_before = match self.pending.tree() {
            Some(tree) => self.trees().look_up(tree, &git_path)?,
            None => None,
        };
        self.check(edit, &git_path, kept_before, earlier)?;
        let on_disk = if self.pending.has(&edit.path) {
            kept_before
        } else {
            let on_disk = self.kept_of(edit.old.as_deref(), &git_path, kept_before)?;
            self.check_staged(&edit.path, &git_path, kept_before, on_disk)?;
            on_disk
        };
        Ok(DocumentState {
            git_path,
            kept_before,
            on_disk,
        })
    }

    /// What the document must be for the edit to be possible.
    fn check(
        &self,
        edit: &PlannedEdit<'_>,
        git_path: &str,
        kept: Option<Kept>,
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
            (None, Content::Delete) => Err(Failure::new(
                FailureKind::NotFound,
                format!("`{path}` does not exist"),
            )),
            (None, Content::Write(_)) => {
                if sparse::leaves_out(&self.working_tree.repository, self.git, git_path) {
                    let message = format!(
                        "`{path}` is outside of the sparse checkout; `git sparse-checkout add` its folder first"
                    );
                    return Err(refused(message));
                }
                let created = earlier.iter().filter(|edit| edit.old.is_none());
                let twin = created
                    .map(|edit| twin_among(path, &edit.path))
                    .find(Option::is_some)
                    .flatten();
                let twin = match twin.or_else(|| self.pending.case_twin(path)) {
                    Some(twin) => Some(twin),
                    None => self
                        .working_tree
                        .root
                        .case_twin(path)
                        .at("look for", path.as_path())?,
                };
                match twin {
                    Some(twin) => Err(refused(format!(
                        "`{path}` differs from the existing `{twin}` only in case or composition, which not every \
                         system can tell apart; use that name"
                    ))),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// A version that a person has staged, and that neither HEAD nor the disk has, would be lost with its index entry.
    fn check_staged(
        &self,
        path: &LibraryPath,
        git_path: &str,
        kept: Option<Kept>,
        on_disk: Option<Kept>,
    ) -> Result<(), Failure> {
        let (staged, mark) = self.pending.staged(git_path)?.unzip();
        self.check_mark(path, mark.flatten(), kept, on_disk)?;
        let blob = |kept: Option<Kept>| kept.map(|kept| kept.blob);
        if [blob(kept), blob(on_disk)].contains(&blob(staged)) {
            return Ok(());
        }
        let message = format!(
            "`{path}` has a staged change that is not in the file; commit it (`git commit`) or unstage it (`git restore --staged`) first"
        );
        Err(Failure::new(FailureKind::Conflict, message))
    }

    /// A file that a person has told git not to look at is only changed where nothing of it is hidden by that.
    fn check_mark(
        &self,
        path: &LibraryPath,
        mark: Option<Mark>,
        kept: Option<Kept>,
        on_disk: Option<Kept>,
    ) -> Result<(), Failure> {
        let (name, option) = match mark {
            // Git itself takes the mark off a file that is there all the same.
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

    /// How git would keep the document that is on the disk.
    fn kept_of(
        &self,
        old: Option<&Before>,
        git_path: &str,
        kept: Option<Kept>,
    ) -> Result<Option<Kept>, Failure> {
        let Some(before) = old else { return Ok(None) };
        let mode: EntryMode = match kept {
            Some(kept) if !self.working_tree.repository.keeps_modes() => kept.mode,
            _ if before.file.mode & OWNER_EXECUTES != 0 && self.working_tree.repository.keeps_modes() => {
                EntryKind::BlobExecutable.into()
            }
            _ => EntryKind::Blob.into(),
        };
        // Not added to the objects: most often HEAD has it.
        let blob = before.kept(self.working_tree, git_path)?;
        Ok(Some(Kept { blob, mode }))
    }

    /// How git keeps a document of these bytes, which is added to the objects; and the id of the bytes as they are.
    fn keep(&mut self, git_path: &str, bytes: &[u8], mode: EntryMode) -> Result<(Kept, ObjectId), Failure> {
        let kept = conversion::to_git(self.working_tree, git_path, bytes)?;
        let blob = self.objects.add_blob(&kept)?;
        let id = match kept {
            Cow::Borrowed(_) => blob,
            Cow::Owned(_) => blob_id(bytes)?,
        };
        Ok((Kept { blob, mode }, id))
    }

    /// Makes a commit that records what a person left uncommitted in the documents; returns it and its tree. `None` where
    /// all of them are as the newest commit has them.
    fn adopt(
        &mut self,
        edits: &[PlannedEdit<'_>],
        states: &[DocumentState],
        authorship: &Authorship,
    ) -> Result<Option<(ObjectId, ObjectId)>, Failure> {
        let dirty: Vec<_> = edits
            .iter()
            .zip(states)
            .filter(|(_, state)| state.is_dirty())
            .collect();
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
                self.keep(&state.git_path, &before.file.bytes, kept.mode)?;
            }
        }
        let changes = dirty
            .iter()
            .map(|(_, state)| (state.git_path.clone().into(), state.on_disk));
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
            noted: None,
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
            key: entry.call.idempotency_key.as_ref().map(String::from),
            request: entry.request.map(request_digest),
            noted: (!details.is_empty()).then(|| Noted {
                details,
                contents: contents.collect(),
            }),
        }
    }
}

/// What is kept of a request, to tell another one with the same key from the same one.
pub(super) fn request_digest(request: &str) -> String {
    ObjectId::from_bytes_or_panic(&Sha1::digest(request)).to_string()
}
