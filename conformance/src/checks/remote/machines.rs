//! A bare repository and clones of it, as on several machines, each shared by the operator's command.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::super::concurrent::edits::{self, Edit};
use crate::{
    Ledger,
    checks::prelude::*,
    history::lines_with,
    launch::{SHARED, not_ours},
    ledger::git,
    setup::run_within,
    stepper::{Counting, Stepper},
    watcher,
};

/// Document that edits append to.
pub(super) const LIST: &str = "list.md";
pub(super) const BRANCH: &str = "main";
/// Name of the bare repository.
const REPOSITORY: &str = "shared.git";
/// Most attempts of a person to push while servers do.
const MAX_PUSHES: usize = 100;
/// Interval at which a condition is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A remote, and libraries that share it. The first one is the scene's.
pub(super) struct Machines<'a, 'b> {
    pub(super) bench: &'b Bench<'a>,
    pub(super) scene: Scene<'a>,
    place: TempDir,
    libraries: Vec<PathBuf>,
}

impl<'a, 'b> Machines<'a, 'b> {
    /// Creates the remote with a list, and this many libraries.
    ///
    /// # Errors
    /// "Not applicable", if there is no command that gives a library its remote.
    pub(super) fn new(bench: &'b Bench<'a>, number: usize) -> Result<Self, Stop> {
        let subject = bench.subject;
        if subject.launch.share.is_none() {
            let why = format!(
                "it is not known how a library is given a remote; add `--share COMMAND`, in which `{SHARED}` is a bare repository, such that \
                 changes are acknowledged by it"
            );
            return Err(not_applicable(why));
        }
        if subject.launch.running().is_some() {
            return Err(not_ours());
        }
        edits::ensure_partial(subject, tabellion_runtime::spec::EffectKind::Append)?;
        let scene = bench.scene(&[(LIST, "# List\n")])?;
        let mut machines = Self { bench, libraries: vec![scene.library()], scene, place: watcher::folder()? };
        machines.clone_to(REPOSITORY, &["--bare"])?;
        for machine in 1..number {
            let name = format!("machine-{machine}/library");
            let library = machines.clone_to(&name, &[])?;
            subject.setup.put(&library)?;
            machines.libraries.push(library);
        }
        machines.clone_to("person", &[])?;
        for library in &machines.libraries {
            bench.trace.did(format!("`{}` is given the remote", library.display()));
            let launch = &subject.launch;
            let shared = launch.shared(library, &machines.remote());
            let mut shared = shared.ok_or_else(|| Stop::Harness("no command shares a library".into()))?;
            run_within(&mut shared, launch.patience)
                .map_err(|why| Stop::Harness(format!("a library could not be given a remote: it {why}")))?;
        }
        Ok(machines)
    }

    /// Clones the scene's library, or the remote once it is there.
    fn clone_to(&self, name: &str, options: &[&str]) -> Result<PathBuf, Stop> {
        let (from, to) = (self.remote(), self.place.path().join(name));
        let from = if from.exists() { from } else { self.scene.library() };
        let (from, path) = (from.to_string_lossy(), to.to_string_lossy());
        let arguments = [&["clone", "--quiet", "--no-local"], options, &[&*from, &*path]].concat();
        git(self.place.path(), &arguments)?;
        Ok(to)
    }

    /// Returns the folder of the bare repository.
    pub(super) fn remote(&self) -> PathBuf {
        self.place.path().join(REPOSITORY)
    }

    /// Returns a path next to the bare repository.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Starts the server of a machine.
    pub(super) fn start(&self, machine: usize) -> Result<Client<'a>, Stop> {
        self.scene.start_at(&self.libraries[machine])
    }

    /// Starts the server of the first machine so that it can be killed at a system call.
    pub(super) fn start_stepped(&self) -> Result<(Client<'a>, Stepper), Stop> {
        self.scene.start_stepped(Counting::WhenArmed)
    }

    /// Returns an append that is not made yet.
    pub(super) fn edit(&self, token: &str) -> Result<Edit, Stop> {
        Edit::append(self.bench.subject, LIST, token)
    }

    /// Makes an append, which must succeed.
    pub(super) fn must_append(&self, client: &mut Client<'_>, token: &str) -> Result<Edit, Stop> {
        let mut edit = self.edit(token)?;
        edit.make(client)?;
        match &edit.reply {
            Some(Reply::Refused(refusal)) => {
                Err(refused("a valid call, while the remote takes changes,", refusal))
            }
            _ => Ok(edit),
        }
    }

    /// Returns the content of a machine's library.
    pub(super) fn library(&self, machine: usize) -> Result<Ledger, Stop> {
        Ok(Ledger::read_except(&self.libraries[machine], self.scene.own())?)
    }

    /// Runs git in the bare repository.
    pub(super) fn git(&self, arguments: &[&str]) -> Result<String, Stop> {
        Ok(git(&self.remote(), arguments)?.trim_end().to_owned())
    }

    /// Returns the branch's commit.
    pub(super) fn tip(&self) -> Result<String, Stop> {
        self.git(&["rev-parse", BRANCH])
    }

    /// Returns the branch's list.
    pub(super) fn list(&self) -> Result<String, Stop> {
        self.git(&["show", &format!("{BRANCH}:{LIST}")])
    }

    /// Returns true if the commit is in the branch's history.
    pub(super) fn has(&self, commit: &str) -> bool {
        self.git(&["merge-base", "--is-ancestor", commit, BRANCH]).is_ok()
    }

    /// Has the remote run a script, in which `$0` is the hook's own file.
    pub(super) fn hook(&self, name: &str, script: &str) -> Judgement {
        self.bench.trace.did(format!("the remote has the hook {name}: {script}"));
        let file = self.remote().join("hooks").join(name);
        fs::create_dir_all(self.remote().join("hooks"))?;
        fs::write(&file, format!("#!/bin/sh\n{script}\n"))?;
        Ok(fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?)
    }

    /// Removes the locks that a killed process of the remote has left, as its operator does: here, it is a child of the server that pushes.
    pub(super) fn repair(&self) -> Judgement {
        for lock in [&*format!("refs/heads/{BRANCH}.lock"), "packed-refs.lock", "HEAD.lock"] {
            match fs::remove_file(self.remote().join(lock)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs git in the clone of a person who only pushes.
    pub(super) fn person(&self, arguments: &[&str]) -> io::Result<String> {
        self.bench.trace.did(format!("a person elsewhere runs `git {}`", arguments.join(" ")));
        git(&self.place.path().join("person"), arguments)
    }

    /// Has that person push a line of the list; returns the commit.
    pub(super) fn push_line(&self, token: &str) -> Result<String, Stop> {
        let list = self.place.path().join("person").join(LIST);
        let mut last = String::new();
        for _ in 0..MAX_PUSHES {
            self.person(&["fetch", "--quiet"])?;
            self.person(&["reset", "--quiet", "--hard", &format!("origin/{BRANCH}")])?;
            let text = fs::read_to_string(&list)?;
            fs::write(&list, format!("{text}- {token}\n"))?;
            self.person(&["commit", "--quiet", "--all", "-m", token])?;
            match self.person(&["push", "--quiet", "origin", BRANCH]) {
                Ok(_) => return Ok(self.person(&["rev-parse", "HEAD"])?.trim_end().to_owned()),
                // Servers may be faster.
                Err(error) => last = error.to_string(),
            }
        }
        Err(Stop::Harness(format!("a person's push failed {MAX_PUSHES} times: {last}")))
    }

    /// Fails unless the branch's list has the line of each acknowledged edit once, and its commit, and of no refused one.
    pub(super) fn ensure_shared(&self, edits: &[Edit]) -> Judgement {
        edits::ensure_in_text(edits, LIST, &self.list()?)?;
        for edit in edits.iter().filter(|edit| edit.is_done()) {
            if let Some(commit) = edit.commit() {
                ensure(self.has(commit), || {
                    format!(
                        "the answer to the edit {} names commit {commit}, which is not in the remote's branch",
                        edit.token
                    )
                })?;
            }
        }
        edits::ensure_in_history(self.bench, &self.remote(), self.scene.own(), edits)
    }

    /// Fails unless a line is in the branch's list once.
    pub(super) fn ensure_line(&self, token: &str, whose: &str) -> Judgement {
        let list = self.list()?;
        let times = lines_with(token, list.lines());
        ensure(times == 1, || {
            format!("the line {token} of {whose} is in the branch's `{LIST}` {times} times")
        })
        .map_err(|stop| {
            stop.showing(LIST, Some(format!("…\n- {token}\n…\n").as_bytes()), Some(list.as_bytes()))
        })
    }

    /// Fails unless a machine whose call was the last one has the branch's commit and documents.
    pub(super) fn ensure_in_step(&self, machine: usize) -> Judgement {
        let found = self.library(machine)?;
        let (tip, list) = (self.tip()?, self.list()? + "\n");
        ensure(found.commits.first() == Some(&tip), || {
            format!(
                "after an acknowledged change, HEAD is {:?}, and the remote's branch is {tip}",
                found.commits.first()
            )
        })?;
        ensure(found.status.is_empty(), || {
            format!("after an acknowledged change, the folder differs from HEAD: {}", found.status.trim())
        })?;
        let here = found.files.get(Path::new(LIST)).map(|(_, bytes)| bytes.clone());
        if here.as_deref() == Some(list.as_bytes()) {
            return Ok(());
        }
        let what = format!("after an acknowledged change, `{LIST}` here is not the branch's");
        Err(fail(what).showing(LIST, Some(list.as_bytes()), here.as_deref()))
    }
}

/// Waits until a condition holds; returns false if it does not in time.
pub(super) fn within(time: Duration, is_so: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while !is_so() {
        if since.elapsed() > time {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}
