//! Working out a mutation: every check, and every object that it makes. Nothing is written and nothing changes.
//!
//! A commit of ours is HEAD's tree (or that of the mutation before it in the same transaction) and the one path, never the
//! index. If the document's bytes are not HEAD's, they are
//! first recorded as a commit of their own, the parent of ours: both become visible in one step, with ours.

use std::borrow::Cow;

use gix::{
    ObjectId,
    objs::tree::{EntryKind, EntryMode},
};
use sha1::{Digest, Sha1};
use tabellion_runtime::{Change, Content, Entry, Failure, FailureKind, Version};

use super::{
    ExternalPolicy, Library,
    commit::Authorship,
    commit_message::{EXTERNAL, Noted, Record},
    conversion,
    index_file::Mark,
    intent::Logged,
    objects::{NewObjects, blob_id},
    pending::Pending,
    root::{FileBytes, MAX_FILE_BYTES},
    sparse,
    tree::{Kept, Step, Trees},
    trouble::{At, refused},
    versions,
    walk::{self, Exclusion},
};
use crate::path::LibraryPath;

/// The permission bits by which a file's owner may write and execute it.
const OWNER_WRITES: u32 = 0o200;
const OWNER_EXECUTES: u32 = 0o100;
/// The permission bits of a new file, before the system takes away what its user does not want.
const NEW_FILE: u32 = 0o666;

/// How many bytes of git's objects are remembered while a mutation is worked out.
const CACHE_BYTES: usize = 8 << 20;

/// A mutation, worked out, on top of those that come first.
#[derive(Debug)]
pub(super) struct Plan {
    /// Its commit, and what git's logs say of it.
    pub(super) logged: Logged,
    /// The commit's tree.
    pub(super) tree: ObjectId,
    /// The objects that it makes.
    pub(super) objects: NewObjects,
    /// The trees on the way to the document, before and after.
    pub(super) folders: Vec<Step>,
    /// The document.
    pub(super) path: LibraryPath,
    /// Id of its bytes before; `None` where there is no document.
    pub(super) old: Option<ObjectId>,
    /// Id of its bytes after; `None` where it is deleted.
    pub(super) new: Option<ObjectId>,
    /// Its bytes after.
    pub(super) content: Option<Vec<u8>>,
    /// Its permission bits.
    pub(super) mode: u32,
    /// What the commit before has at the path.
    pub(super) kept_before: Option<Kept>,
    /// What the commit after has at the path.
    pub(super) kept_after: Option<Kept>,
    /// The caller's idempotency key.
    pub(super) key: Option<String>,
    /// What becomes of the document, oldest first: at most one commit that adopts, and its own.
    pub(super) versions: Vec<Version>,
}

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
    pub(super) fn kept(&self, library: &Library, git_path: &str) -> Result<ObjectId, Failure> {
        conversion::kept_id(library, git_path, &self.file.bytes, self.id)
    }
}

/// Works out `change` to the document at `path`, which is `old`, after all that is `pending`.
pub(super) fn plan(
    library: &Library,
    pending: &Pending,
    path: LibraryPath,
    old: Option<&Before>,
    change: &Change,
    entry: &Entry<'_>,
) -> Result<Plan, Failure> {
    let mut git = library.repository.git();
    // The trees on the way are looked through and then changed.
    git.object_cache_size(CACHE_BYTES);
    let mut planner = Planner {
        library,
        git: &git,
        pending,
        path: &path,
        objects: NewObjects::default(),
    };
    let git_path = planner.git_path();
    let kept_before = match pending.tree() {
        Some(tree) => planner.trees().look_up(tree, &git_path)?,
        None => None,
    };
    planner.check(old, &change.content, kept_before)?;

    let owner = Authorship::now(library.repository.author(&git));
    let authorship = match &entry.call.author {
        Some(author) => owner.by(author),
        None => owner.clone(),
    };
    let on_disk = if pending.has(&path) {
        kept_before
    } else {
        let on_disk = planner.kept_of(old, kept_before)?;
        planner.check_staged(kept_before, on_disk)?;
        on_disk
    };
    let mut versions = Vec::new();
    let (base, base_tree) = if on_disk == kept_before {
        (pending.commit(), pending.tree())
    } else {
        let (commit, tree) = planner.adopt(old, on_disk, &owner)?;
        versions.push(owner.version(commit, on_disk.map(|kept| kept.blob), None));
        (Some(commit), Some(tree))
    };

    let content = match &change.content {
        Content::Write(bytes) => Some(bytes.clone()),
        Content::Delete => None,
    };
    let mode = on_disk
        .or(kept_before)
        .map_or(EntryKind::Blob.into(), |kept| kept.mode);
    let (kept_after, new) = content
        .as_deref()
        .map(|bytes| planner.keep(bytes, mode))
        .transpose()?
        .unzip();
    let (tree, mut folders) = planner.with(base_tree, kept_after)?;
    if base_tree != pending.tree() {
        (_, folders) = planner.with(pending.tree(), kept_after)?;
    }
    let contents = [on_disk, kept_after].map(|kept| kept.map(|kept| kept.blob.to_string()));
    let record = planner.record(change, entry, contents, &authorship);
    let message = record.render();
    let commit = authorship.commit(&mut planner.objects, tree, base, &message)?;
    versions.push(authorship.version(commit, kept_after.map(|kept| kept.blob), versions::entry(record)));

    Ok(Plan {
        logged: Logged {
            commit,
            line: authorship.log_line(&message),
        },
        tree,
        objects: planner.objects,
        folders,
        old: old.map(|before| before.id),
        new,
        content,
        mode: old.map_or(NEW_FILE, |before| before.file.mode),
        kept_before,
        kept_after,
        key: entry.call.idempotency_key.as_ref().map(String::from),
        path,
        versions,
    })
}

/// Whether the document at `path`, of this mode and with `kept` in HEAD, may be changed to one of `size` bytes: what does
/// not depend on what others are about to do.
pub(super) fn check_change(
    library: &Library,
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
    let excluded = walk::exclusion(&library.root, path, &library.rules);
    match excluded.map_err(|error| refused(error.to_string()).with("rule", error.rule()))? {
        Some(Exclusion::Ignored) if kept.is_some() => {}
        Some(why) => return Err(refused(format!("`{path}` {why}"))),
        None => {}
    }
    conversion::check(git, &library.repository.git_path(path))?;
    if mode.is_some_and(|mode| mode & OWNER_WRITES == 0) {
        return Err(refused(format!(
            "`{path}` is read-only; make it writable first (`chmod u+w`)"
        )));
    }
    Ok(())
}

struct Planner<'a> {
    library: &'a Library,
    git: &'a gix::Repository,
    pending: &'a Pending,
    path: &'a LibraryPath,
    objects: NewObjects,
}

impl Planner<'_> {
    fn git_path(&self) -> String {
        self.library.repository.git_path(self.path)
    }

    fn trees(&mut self) -> Trees<'_> {
        Trees {
            git: self.git,
            pending: self.pending.objects(),
            new: &mut self.objects,
        }
    }

    fn with(&mut self, root: Option<ObjectId>, kept: Option<Kept>) -> Result<(ObjectId, Vec<Step>), Failure> {
        let path = self.git_path();
        self.trees().with(root, &path, kept)
    }

    /// What the document must be for `content` to be possible.
    fn check(&self, old: Option<&Before>, content: &Content, kept: Option<Kept>) -> Result<(), Failure> {
        let path = self.path;
        let size = match content {
            Content::Write(bytes) => bytes.len(),
            Content::Delete => 0,
        };
        check_change(
            self.library,
            self.git,
            path,
            old.map(|before| before.file.mode),
            size,
            kept,
        )?;
        match (old, content) {
            (None, Content::Delete) => Err(Failure::new(
                FailureKind::NotFound,
                format!("`{path}` does not exist"),
            )),
            (None, Content::Write(_)) => {
                if sparse::leaves_out(&self.library.repository, self.git, &self.git_path()) {
                    let message = format!(
                        "`{path}` is outside of the sparse checkout; `git sparse-checkout add` its folder first"
                    );
                    return Err(refused(message));
                }
                let twin = match self.pending.case_twin(path) {
                    Some(twin) => Some(twin),
                    None => self.library.root.case_twin(path).at("look for", path.as_path())?,
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
    fn check_staged(&self, kept: Option<Kept>, on_disk: Option<Kept>) -> Result<(), Failure> {
        let (staged, mark) = self.pending.staged(&self.git_path())?.unzip();
        self.check_mark(mark.flatten(), kept, on_disk)?;
        let blob = |kept: Option<Kept>| kept.map(|kept| kept.blob);
        if [blob(kept), blob(on_disk)].contains(&blob(staged)) {
            return Ok(());
        }
        let message = format!(
            "`{}` has a staged change that is not in the file; commit it (`git commit`) or unstage it (`git restore --staged`) first",
            self.path
        );
        Err(Failure::new(FailureKind::Conflict, message))
    }

    /// A file that a person has told git not to look at is only changed where nothing of it is hidden by that.
    fn check_mark(
        &self,
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
            "`{}` is marked `{name}` in the index, so git does not look at it and no commit shall have it; \
             `git update-index {option}` it first",
            self.path
        )))
    }

    /// How git would keep the document that is on the disk.
    fn kept_of(&mut self, old: Option<&Before>, kept: Option<Kept>) -> Result<Option<Kept>, Failure> {
        let Some(before) = old else { return Ok(None) };
        let mode: EntryMode = match kept {
            Some(kept) if !self.library.repository.keeps_modes() => kept.mode,
            _ if before.file.mode & OWNER_EXECUTES != 0 && self.library.repository.keeps_modes() => {
                EntryKind::BlobExecutable.into()
            }
            _ => EntryKind::Blob.into(),
        };
        // Not added to the objects: most often HEAD has it.
        let blob = before.kept(self.library, &self.git_path())?;
        Ok(Some(Kept { blob, mode }))
    }

    /// How git keeps a document of these bytes, which is added to the objects; and the id of the bytes as they are.
    fn keep(&mut self, bytes: &[u8], mode: EntryMode) -> Result<(Kept, ObjectId), Failure> {
        let kept = conversion::to_git(self.library, &self.git_path(), bytes)?;
        let blob = self.objects.add_blob(&kept)?;
        let id = match kept {
            Cow::Borrowed(_) => blob,
            Cow::Owned(_) => blob_id(bytes)?,
        };
        Ok((Kept { blob, mode }, id))
    }

    /// A commit that records what a person left uncommitted at the path; returns it and its tree.
    fn adopt(
        &mut self,
        old: Option<&Before>,
        on_disk: Option<Kept>,
        authorship: &Authorship,
    ) -> Result<(ObjectId, ObjectId), Failure> {
        let path = self.path;
        if self.library.options.external == ExternalPolicy::Refuse {
            let message =
                format!("`{path}` has changes that are not committed; commit them (`git commit`) first");
            return Err(Failure::new(FailureKind::Conflict, message));
        }
        if let (Some(before), Some(kept)) = (old, on_disk) {
            self.keep(&before.file.bytes, kept.mode)?;
        }
        let (tree, _) = self.with(self.pending.tree(), on_disk)?;
        let summary = match on_disk {
            Some(_) => "record what was not committed",
            None => "record a removal that was not committed",
        };
        let record = Record {
            operation: EXTERNAL.to_owned(),
            path: self.git_path(),
            tool: None,
            client: None,
            time: authorship.time,
            summary: summary.to_owned(),
            key: None,
            request: None,
            noted: None,
        };
        let commit = authorship.commit(&mut self.objects, tree, self.pending.commit(), &record.render())?;
        Ok((commit, tree))
    }

    fn record(
        &self,
        change: &Change,
        entry: &Entry<'_>,
        contents: [Option<String>; 2],
        authorship: &Authorship,
    ) -> Record {
        let details = entry.details.clone();
        Record {
            operation: change.operation.to_owned(),
            path: self.git_path(),
            tool: Some(entry.tool.to_owned()),
            client: entry.call.client.clone(),
            time: authorship.time,
            summary: change.summary.clone(),
            key: entry.call.idempotency_key.as_ref().map(String::from),
            request: entry.request.map(request_digest),
            noted: (!details.is_empty()).then_some(Noted { details, contents }),
        }
    }
}

/// What is kept of a request, to tell another one with the same key from the same one.
pub(super) fn request_digest(request: &str) -> String {
    ObjectId::from_bytes_or_panic(&Sha1::digest(request)).to_string()
}
