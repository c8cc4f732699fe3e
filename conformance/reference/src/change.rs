//! Changes documents: each change is one commit of one path on top of HEAD.
//!
//! A change first writes its objects, to which nothing refers yet. Then, under git's own locks, it exchanges the
//! document, moves the branch, which is the commit point, and updates the index. An error before the commit point
//! undoes the exchange.

use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt, path::Path, time::SystemTime};

use serde_json::json;
use tabellion_contracts::braindrive_markdown::ToolError;
use tabellion_runtime::{ContentId, Failure, FailureKind, Precondition};

use super::{
    failed,
    folder::{DocumentSnapshot, ExchangeResult},
    journal::{Entry, Journal, Scratch},
    library::{Library, TRAILER, rfc3339},
    mutant::{self, Mutant, is},
    path,
    remote::{Offer, Remote},
};

/// Files in `.git` that mark an operation in progress, during which no change is made.
const IN_PROGRESS: [&str; 6] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply"];
/// Number of lost races after which a change is refused.
const MAX_RACES: usize = 20;

/// A change of a document.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) operation: &'static str,
    pub(super) summary: String,
    /// New bytes; `None` to delete the document.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Plans a change from a document's bytes, which are `None` if it does not exist.
pub(super) type Plan<'a> = dyn Fn(Option<&[u8]>) -> Result<Change, ToolError> + 'a;

/// Result of a change.
pub(super) struct Receipt {
    pub(super) commit: String,
    /// Content id of the new bytes.
    pub(super) blob: Option<String>,
}

/// A commit to make.
#[derive(Debug, Clone)]
struct Step {
    branch: String,
    head: Option<String>,
    path: String,
    /// Entry at the path in the commit.
    entry: Option<Entry>,
    message: String,
    /// Exchange in the folder; `None` if the document stays in the person's version.
    exchange: Option<Exchange>,
}

/// A document before and after a change.
#[derive(Debug, Clone)]
struct Exchange {
    before: Option<(DocumentSnapshot, Entry)>,
    after: Option<Vec<u8>>,
}

/// The result of recording a person's bytes.
enum RecordResult {
    /// HEAD, if there is one.
    Head(Option<String>),
    /// Another process made a change first.
    Overtaken,
}

impl Library {
    /// Changes the document at `path` according to `plan`, if its content id is `base`.
    pub(super) fn change(
        &self,
        path: &str,
        base: Option<&Precondition>,
        plan: &Plan<'_>,
    ) -> Result<Receipt, ToolError> {
        let stale = if is(Mutant::LosesRacingEdit) { self.folder.read(path)? } else { None };
        for _ in 0..MAX_RACES {
            let _lock = self.lock()?;
            if let Some(receipt) = self.attempt(path, base, plan, stale.as_ref())? {
                return Ok(receipt);
            }
        }
        Err(Failure::new(FailureKind::Busy, format!("`{path}` is changed too often; try again later")).into())
    }

    /// Takes the commits of the remote's branch, if the library is shared. Requires the lock.
    fn catch_up(&self, branch: &str) -> Result<(), Failure> {
        let Some(remote) = Remote::open(&self.git) else {
            return Ok(());
        };
        let Some(tip) = remote.tip(branch)? else {
            return Ok(());
        };
        if self.head().is_some_and(|head| remote.is_in(&tip, &head)) {
            return Ok(());
        }
        if is(Mutant::TakesTheirs) {
            return self.git.text(&["reset", "--quiet", "--hard", &tip]).map(drop);
        }
        let changed = ["diff", "--name-only", "-z", &format!("HEAD...{tip}")];
        for path in self.git.text(&changed)?.split_terminator('\0') {
            let found = self.folder.read(path)?.map(|found| {
                let entry = Entry::new(&found.bytes, found.mode);
                (found, entry)
            });
            if let RecordResult::Overtaken = self.record_persons(branch, path, found.as_ref())? {
                return Ok(());
            }
        }
        // The remote's version of a conflicting line stays; the history has both.
        let merge = ["merge", "--quiet", "--no-edit", "--strategy-option=theirs", &tip];
        self.git.text(&merge).map(drop)
    }

    /// Pushes a commit, if the library is shared and the commit is a change's: a commit of a person's bytes is pushed with the
    /// next change.
    fn offer(&self, step: &Step, commit: &str) -> Result<Offer, Failure> {
        let remote = Remote::open(&self.git).filter(|_| step.exchange.is_some());
        remote.map_or(Ok(Offer::Accepted), |remote| remote.offer(&step.branch, commit))
    }

    /// Attempts a change; returns `None` if another process made a change first.
    fn attempt(
        &self,
        path: &str,
        base: Option<&Precondition>,
        plan: &Plan<'_>,
        stale: Option<&DocumentSnapshot>,
    ) -> Result<Option<Receipt>, ToolError> {
        path::check(path)?;
        let path = &mutant::decode(path);
        let branch = self.branch()?;
        self.catch_up(&branch)?;
        let found = self.folder.read(path)?;
        let before = found.map(|found| {
            let entry = Entry::new(&found.bytes, found.mode);
            (found, entry)
        });
        let bytes = stale.or(before.as_ref().map(|(found, _)| found));
        let bytes = bytes.map(|found| found.bytes.as_slice());
        let id = before.as_ref().map(|(_, entry)| ContentId::new(&entry.blob));
        let is_other = |base: &Precondition| !base.is_met_by(id.as_ref());
        if base.is_some_and(is_other) && !is(Mutant::IgnoresBase) {
            let message = format!("`{path}` has changed since; read it again");
            return Err(Failure::new(FailureKind::Conflict, message).into());
        }
        let change = plan(bytes)?;
        if before.is_none() {
            let folders = path.matches('/').count();
            path::check_new(path, folders - self.folder.missing(path)?.len())?;
        }
        if let Some(receipt) = mutant::make_change(self, path, &change)? {
            return Ok(Some(receipt));
        }
        self.check_ignored(path)?;
        if before.is_none() {
            self.folder.check_twins(path)?;
        }
        let RecordResult::Head(head) = self.record_persons(&branch, path, before.as_ref())? else {
            return Ok(None);
        };
        let mode = before.as_ref().map_or(0o644, |(found, _)| found.mode);
        let entry = change.bytes.as_ref().map(|bytes| Entry::new(bytes, mode));
        let step = Step {
            branch,
            head,
            path: path.clone(),
            message: message(path, &change),
            entry: entry.clone(),
            exchange: Some(Exchange { before, after: change.bytes }),
        };
        let Some(commit) = self.publish(step)? else {
            return Ok(None);
        };
        mutant::after_commit(self, path);
        let commit = mutant::returned_commit(self, commit);
        Ok(Some(Receipt { commit, blob: entry.map(|entry| entry.blob) }))
    }

    /// Commits a person's staged or saved but uncommitted bytes of the document, so that they are not lost.
    fn record_persons(
        &self,
        branch: &str,
        path: &str,
        found: Option<&(DocumentSnapshot, Entry)>,
    ) -> Result<RecordResult, Failure> {
        let mut head = self.head();
        if is(Mutant::LosesDirtyFile) {
            return Ok(RecordResult::Head(head));
        }
        let mut committed = self.entry(path);
        for entry in [self.staged(path), found.map(|(_, saved)| saved.clone())].into_iter().flatten() {
            if committed.as_ref() == Some(&entry) {
                continue;
            }
            found.map(|(found, _)| self.git.keep(&found.bytes)).transpose()?;
            committed = Some(entry.clone());
            let step = Step {
                branch: branch.to_owned(),
                head,
                path: path.to_owned(),
                entry: Some(entry),
                message: format!("external: {path}\n\nRecorded before a change by the server.\n"),
                exchange: None,
            };
            let Some(commit) = self.publish(step)? else {
                return Ok(RecordResult::Overtaken);
            };
            head = Some(commit);
        }
        Ok(RecordResult::Head(head))
    }

    /// Makes a commit and publishes it; returns `None` if another process made a change first.
    fn publish(&self, step: Step) -> Result<Option<String>, Failure> {
        let scratch = self.scratch()?;
        let commit = match self.commit(&scratch, &step) {
            Err(_) if is(Mutant::AcksWithoutCommit) => step.head.clone().unwrap_or_default(),
            made => made?,
        };
        if is(Mutant::AcksBeforeWrite) || is(Mutant::WritesLate) && step.path == "README.md" {
            let answered = commit.clone();
            let rest = move |library: &Self| library.publish_commit(&scratch, &step, &commit).map(drop);
            self.postponed.replace(Some(Box::new(rest)));
            return Ok(Some(answered));
        }
        if is(Mutant::AcksBeforePush) || is(Mutant::ShowsFirst) {
            let shown = self.publish_commit(&scratch, &step, &commit)?;
            let offered = shown.as_ref().map(|shown| self.offer(&step, shown));
            if is(Mutant::ShowsFirst) {
                offered.transpose()?;
            }
            return Ok(shown);
        }
        if let Offer::Behind = self.offer(&step, &commit)? {
            return Ok(None);
        }
        let shown = self.publish_commit(&scratch, &step, &commit)?;
        if shown.is_none() && step.exchange.is_some() && Remote::open(&self.git).is_some() {
            // A person was faster here. The remote has the change: planned again, it would be made twice.
            self.catch_up(&step.branch)?;
            return Ok(Some(commit));
        }
        Ok(shown)
    }

    /// Completes a change that was answered early.
    pub(super) fn finish(&self) {
        // The lock, when taken, removes the change's prepared files, and the change is lost.
        let lost = is(Mutant::AcksBeforeWrite).then(|| self.postponed.take()).flatten();
        if lost.is_none() && self.postponed.borrow().is_none() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        let done = self.lock().and_then(|_lock| {
            let rest = lost.or_else(|| self.postponed.take());
            rest.map_or(Ok(()), |rest| rest(self))
        });
        done.err().into_iter().for_each(|failure| eprintln!("{failure}"));
    }

    fn publish_commit(
        &self,
        scratch: &Scratch,
        step: &Step,
        commit: &str,
    ) -> Result<Option<String>, Failure> {
        let exchange = step.exchange.as_ref();
        let before = exchange.and_then(|exchange| exchange.before.as_ref());
        let journal = Journal {
            branch: step.branch.clone(),
            commit: commit.to_owned(),
            path: step.path.clone(),
            exchanges: exchange.is_some(),
            before: before.map(|(_, entry)| entry.clone()),
            mode: before.map(|(found, _)| found.mode),
            entry: step.entry.clone(),
            folders: self.folder.missing(&step.path)?,
        };
        if let Some(bytes) = exchange.and_then(|exchange| exchange.after.as_ref()) {
            scratch.write("document", bytes)?;
            if let Some(mode) = journal.mode.filter(|_| !is(Mutant::ModeLost)) {
                let permissions = fs::Permissions::from_mode(mode);
                fs::set_permissions(scratch.path("document"), permissions)
                    .map_err(failed("keep the mode"))?;
            }
        }
        scratch.write("branch", format!("{commit}\n").as_bytes())?;
        self.announce(scratch, &journal)?;
        let done = self.show(scratch, step);
        match done {
            Ok(ExchangeResult::Done) => Ok(Some(commit.to_owned())),
            Ok(ExchangeResult::Raced) => {
                self.recover()?;
                Ok(None)
            }
            Err(failure) => {
                // Best effort: the next process that takes the lock recovers the change.
                let _ = self.recover();
                let made = self.git.ask(&["merge-base", "--is-ancestor", commit, &step.branch]);
                made.map(|_| Some(commit.to_owned())).ok_or(failure)
            }
        }
    }

    /// Makes the commit prepared in `scratch` visible: exchanges the document and moves the branch.
    fn show(&self, scratch: &Scratch, step: &Step) -> Result<ExchangeResult, Failure> {
        let branch = self.git.common.join(&step.branch);
        let index_lock = self.take(&self.index())?;
        let branch_lock = self.take(&branch)?;
        if self.git.ask(&["rev-parse", "--verify", "--quiet", &step.branch]) != step.head
            && !is(Mutant::TwoProcessRace)
        {
            index_lock.release()?;
            branch_lock.release()?;
            return Ok(ExchangeResult::Raced);
        }
        self.prepare_index(scratch, &step.path, step.entry.as_ref())?;
        if let Some(Exchange { before, after }) = &step.exchange {
            let (before, gone) = (before.as_ref().map(|(found, _)| found), after.is_none());
            let swapped = if is(Mutant::TruncatesThenWrites) && !gone {
                mutant::write_in_place(&self.folder.path.join(&step.path), &scratch.path("document"))?
            } else {
                self.folder.swap(&step.path, &scratch.path("document"), gone, before)?
            };
            let expected = match swapped {
                ExchangeResult::Done => before.map(|found| found.bytes.as_slice()),
                ExchangeResult::Raced => after.as_deref(),
            };
            self.lay_aside(scratch, expected);
            if swapped == ExchangeResult::Raced {
                index_lock.release()?;
                branch_lock.release()?;
                return Ok(ExchangeResult::Raced);
            }
        }
        scratch.put("branch", &branch)?;
        if !is(Mutant::ForgetsIndex) {
            scratch.put("index", &self.index())?;
        }
        index_lock.release()?;
        branch_lock.release()?;
        self.done()?;
        Ok(ExchangeResult::Done)
    }

    /// Writes the objects of a commit: HEAD's tree with the one path changed. Returns the commit's id.
    fn commit(&self, scratch: &Scratch, step: &Step) -> Result<String, Failure> {
        if let Some(bytes) = step.exchange.as_ref().and_then(|exchange| exchange.after.as_ref()) {
            self.git.keep(bytes)?;
        }
        let index = [("GIT_INDEX_FILE", OsString::from(scratch.path("tree")))];
        if is(Mutant::SweepsInStaged) {
            fs::copy(self.index(), scratch.path("tree")).map_err(failed("copy the index"))?;
        } else if let Some(head) = &step.head {
            self.git.feed(&["read-tree", head], b"", &index)?;
        }
        self.set_entry(&step.path, step.entry.as_ref(), &index)?;
        if is(Mutant::CommitsEverything) {
            let git_dir = OsString::from(&self.git.dir);
            self.git.feed(&["add", "--all"], b"", &[index[0].clone(), ("GIT_DIR", git_dir)])?;
        }
        let tree = self.git.feed(&["write-tree"], b"", &index)?;
        let mut arguments = vec!["commit-tree", &tree];
        let mut parent = step.head.clone();
        if is(Mutant::Amends) {
            parent = self.git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^"]);
        }
        arguments.extend(parent.iter().flat_map(|head| ["-p", head]));
        let mut commit = self.git.feed(&arguments, step.message.as_bytes(), &[])?;
        if is(Mutant::CommitsTwice) {
            let again = ["commit-tree", &tree, "-p", &commit];
            commit = self.git.feed(&again, b"update the activity log\n", &[])?;
        }
        Ok(commit)
    }

    /// Returns HEAD's branch, unless an operation is in progress.
    fn branch(&self) -> Result<String, Failure> {
        if let Some(state) = IN_PROGRESS.iter().find(|state| self.git.dir.join(state).exists()) {
            let message = format!("a merge, rebase or the like is in progress ({state}); finish it first");
            return Err(Failure::new(FailureKind::Refused, message));
        }
        let branch = self.git.ask(&["symbolic-ref", "--quiet", "HEAD"]);
        let message = "HEAD is detached; check out a branch first";
        branch.ok_or_else(|| Failure::new(FailureKind::Refused, message))
    }

    pub(super) fn index(&self) -> std::path::PathBuf {
        self.git.dir.join("index")
    }

    /// Prepares the new index in `scratch`: the current one with the one path changed.
    pub(super) fn prepare_index(
        &self,
        scratch: &Scratch,
        path: &str,
        entry: Option<&Entry>,
    ) -> Result<(), Failure> {
        let (now, next) = (self.index(), scratch.path("index"));
        let variable = [("GIT_INDEX_FILE", OsString::from(&next))];
        if is(Mutant::ResetsIndex) {
            self.git.feed(&["read-tree", "HEAD"], b"", &variable)?;
        } else if Path::exists(&now) {
            fs::copy(now, &next).map_err(failed("copy the index"))?;
        }
        self.set_entry(path, entry, &variable)?;
        scratch.sync("index")
    }

    /// Sets one path in the index that `variable` names.
    fn set_entry(
        &self,
        path: &str,
        entry: Option<&Entry>,
        variable: &[(&str, OsString)],
    ) -> Result<(), Failure> {
        let none = Entry { mode: "0".into(), blob: "0".repeat(40) };
        let Entry { mode, blob } = entry.unwrap_or(&none);
        let line = format!("{mode} {blob}\t{}{path}\0", self.git.prefix);
        // When git writes an index, it reads files that may have changed again, with the library's filters. In an empty
        // work tree there are none.
        let empty = self.own.join("nothing");
        fs::create_dir_all(&empty).map_err(failed("make an empty folder"))?;
        self.git
            .without_documents(&empty)
            .feed(&["update-index", "-z", "--index-info"], line.as_bytes(), variable)
            .map(drop)
    }
}

/// Returns a commit's message: the operation, and the log entry.
pub(super) fn message(path: &str, change: &Change) -> String {
    let entry = json!({
        "timestamp": rfc3339(SystemTime::now()),
        "operation": change.operation,
        "path": path,
        "summary": change.summary,
    });
    let trailer = if is(Mutant::DropsLogEntry) { String::new() } else { format!("{TRAILER}{entry}\n") };
    format!("{}: {path}\n\n{}{trailer}", change.operation, mutant::extra_message(change))
}
