//! Libraries on several machines that share a bare repository, checked with git's own program.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use tabellion_remotes::Address;
use tabellion_runtime::{Claim, Failure, Store, StoreError};

use super::support::{Bench, change, git, make, prepare, wait};
use crate::{
    Acknowledge, Library, RemoteSettings, RemoteStatus, SyncError, Taken,
    checkpoint::{Checkpoint, Interruption, Watch},
    is_conflict,
};

const MAIN: &str = "refs/heads/main";

/// Opens the library with the remote `shared`.
pub(super) fn open(bench: &Bench, shared: &Path, acknowledge: Acknowledge) -> Library {
    open_watched(bench, shared, acknowledge, Box::new(|_| Ok(())))
}

fn open_watched(bench: &Bench, shared: &Path, acknowledge: Acknowledge, watch: Watch) -> Library {
    let settings = RemoteSettings {
        acknowledge,
        wait: Duration::from_secs(5),
        ..RemoteSettings::new(Address::parse(shared.to_str().unwrap()).unwrap(), MAIN.to_owned())
    };
    bench.library().set_remote(&settings).unwrap();
    bench.watched(watch)
}

pub(super) fn tip(shared: &Path) -> String {
    git(shared, &["rev-parse", MAIN]).1
}

fn hook(shared: &Path, name: &str, script: &str) {
    let file = shared.join("hooks").join(name);
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// Makes the change in the way of the runtime, with as many attempts as needed; each plans anew.
fn edit(library: &Library, path: &str, plan: impl Fn(&str) -> String) -> Result<String, Failure> {
    let mut claim = Claim::default();
    loop {
        let mut session = wait(library.begin(claim))?;
        let old = session.view().read(path)?.map(|document| document.bytes);
        let new = plan(str::from_utf8(&old.unwrap_or_default()).unwrap());
        let prepared = match prepare(&mut *session, &change(path, Some(&new))) {
            Err(StoreError::Failure(failure)) => return Err(failure),
            prepared => prepared.unwrap(),
        };
        match wait(session.publish()) {
            Ok(()) => return Ok(prepared.commit.into()),
            Err(StoreError::Behind) => claim.behind += 1,
            Err(StoreError::Conflict) => claim.attempt += 1,
            Err(StoreError::Failure(failure)) => return Err(failure),
        }
        assert!(claim.behind + claim.attempt < 50, "{claim:?}");
    }
}

fn insist(library: &Library, path: &str, content: &str) -> Result<String, Failure> {
    edit(library, path, |_| content.to_owned())
}

fn rule(failure: &Failure) -> &str {
    failure.data.get("rule").and_then(|rule| rule.as_str()).unwrap_or_default()
}

/// Returns the output of a command of the shell in the repository.
fn shell(bench: &Bench, command: &str) -> String {
    let output =
        std::process::Command::new("sh").args(["-c", command]).current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Commits that can't be taken, and a part of the message.
struct Case {
    name: &'static str,
    says: &'static str,
    /// Makes the commits elsewhere.
    there: fn(&Bench),
    /// Makes a person's changes here, before the commits arrive.
    here: fn(&Bench),
}

fn blocked(name: &'static str, says: &'static str, there: fn(&Bench)) -> Case {
    Case { name, says, there, here: |_| {} }
}

impl Case {
    fn after(self, here: fn(&Bench)) -> Self {
        Self { here, ..self }
    }
}

#[test]
fn what_cant_be_taken_is_left_as_it_is() {
    let change_plan = |b: &Bench| b.commit("plan.md", "a\n");
    let cases = [
        blocked("no branch", "detached", change_plan).after(|b| drop(b.git(&["checkout", "-q", "--detach"]))),
        blocked("uncommitted bytes of another file", "commit it", |b| {
            b.write("data.json", "{}\n");
            b.commit_all();
        })
        .after(|b| b.write("data.json", "mine\n")),
        blocked("a symbolic link", "git pull", |b| {
            #[cfg(unix)]
            std::os::unix::fs::symlink("/etc/passwd", b.path("link.md")).unwrap();
            b.commit_all();
        }),
        blocked("a folder in place of a file", "`plan.md` is a file here and a folder", |b| {
            b.git(&["rm", "-q", "plan.md"]);
            b.write("plan.md/part.md", "x\n");
            b.commit_all();
        }),
        blocked("a file in place of a folder", "`notes` is a folder here and a file", |b| {
            b.git(&["rm", "-qr", "notes"]);
            b.write("notes", "x\n");
            b.commit_all();
        }),
        blocked(
            "a folder in place of a file that is not committed",
            "`new.md` is a file here and a folder",
            |b| {
                b.write("new.md/part.md", "x\n");
                b.commit_all();
            },
        )
        .after(|b| b.write("new.md", "mine\n")),
        blocked("a name that leads nowhere good", "backslash", |b| {
            let blob = b.git(&["hash-object", "-w", "plan.md"]);
            b.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},a\\b.md")]);
            b.git(&["commit", "-qm", "name"]);
        }),
        blocked("uncommitted bytes under the new name of a file", "not committed", |b| {
            b.commit("notes/a.md", "a\n");
        })
        .after(|b| {
            b.git(&["mv", "notes/a.md", "moved.md"]);
            b.git(&["commit", "-qm", "mv"]);
            b.write("moved.md", "mine\n");
        }),
        blocked("a path longer than any file's", "too long", |b| {
            let blob = b.git(&["hash-object", "-w", "plan.md"]);
            let name = "x".repeat(200);
            let mut tree = String::new();
            for _ in 0..22 {
                let entry = match &*tree {
                    "" => format!("100644 blob {blob}\tnote.md"),
                    below => format!("040000 tree {below}\t{name}"),
                };
                b.write(".git/entry", &format!("{entry}\n"));
                tree = shell(b, "git mktree < .git/entry");
            }
            b.write(".git/entry", &format!("040000 tree {tree}\tdeep\n"));
            let top = shell(b, "(git ls-tree HEAD; cat .git/entry) | git mktree");
            let commit = b.git(&["commit-tree", "-p", "HEAD", "-m", "deep", &top]);
            b.git(&["update-ref", MAIN, &commit]);
        })
        .after(|b| {
            // Both sides have commits: a merge must not drop files that it can't show.
            b.commit("notes/a.md", "b\n");
        }),
        blocked("a staged change that is not in the file", "staged", change_plan).after(|b| {
            b.write("plan.md", "staged\n");
            b.git(&["add", "-A"]);
            b.write("plan.md", "old plan\n");
        }),
        blocked("a merge under way", "merge is in progress", change_plan).after(|b| {
            b.git(&["checkout", "-qb", "side"]);
            b.commit("plan.md", "side\n");
            b.git(&["checkout", "-q", "main"]);
            b.commit("plan.md", "main\n");
            b.try_git(&["merge", "side"]);
        }),
        blocked("another branch", "switch to it", change_plan)
            .after(|b| drop(b.git(&["checkout", "-qb", "side"]))),
        blocked("a history of its own", "rewritten", |b| {
            b.git(&["checkout", "-q", "--orphan", "new"]);
            b.git(&["commit", "-qm", "new"]);
            b.git(&["branch", "-M", "new", "main"]);
            b.git(&["push", "-qf", "origin", "main"]);
        }),
        blocked("a filter", "filter=secret", |b| {
            b.write(".gitattributes", "*.bin filter=secret\n");
            b.write("x.bin", "a\n");
            b.commit_all();
        })
        .after(|b| {
            b.git(&["config", "filter.secret.clean", "cat"]);
            b.write(".git/info/attributes", "*.bin filter=secret\n");
        }),
    ];
    for Case { name, says, there, here } in cases {
        let ([a, b], shared) = Bench::shared();
        open(&b, shared.path(), Acknowledge::Local).sync(false).unwrap();
        there(&a);
        a.git(&["push", "-q", "origin", "main"]);
        here(&b);
        let library = b.library();
        let before = (b.head(), b.status(), b.read("plan.md"));
        let error = library.sync(false).unwrap_err();
        assert!(matches!(error, SyncError::Blocked(_)), "{name}: {error:?}");
        assert!(error.to_string().contains(says), "{name}: {error}");
        assert_eq!((b.head(), b.status(), b.read("plan.md")), before, "{name}");
        assert_eq!(library.remote_state().unwrap().status, RemoteStatus::Blocked, "{name}");
    }
}

#[test]
fn the_state_is_blocked_as_long_as_the_shared_branch_is_not_checked_out() {
    let ([a, _], shared) = Bench::shared();
    let library = open(&a, shared.path(), Acknowledge::Local);
    library.sync(false).unwrap();
    for away in ["-qb side", "-q --detach"] {
        let arguments: Vec<_> = ["checkout"].into_iter().chain(away.split(' ')).collect();
        a.git(&arguments);
        assert_eq!(library.remote_state().unwrap().status, RemoteStatus::Blocked, "{away}, before a sync");
        library.sync(false).unwrap_err();
        a.git(&["checkout", "-q", "main"]);
        assert_eq!(library.remote_state().unwrap().status, RemoteStatus::Published, "{away}");
    }
}

#[test]
fn pointers_of_git_lfs_and_submodules_are_taken_as_they_are() {
    const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    let ([a, b], shared) = Bench::shared();
    let there = open(&b, shared.path(), Acknowledge::Local);
    a.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    a.write("x.bin", POINTER);
    a.git(&["add", "-A"]);
    let entry = format!("160000,{},module", a.head());
    a.git(&["update-index", "--add", "--cacheinfo", &entry]);
    a.git(&["commit", "-qm", "large"]);
    a.git(&["push", "-q", "origin", "main"]);
    let ran = b.path(".git/ran");
    for name in ["smudge", "clean", "process"] {
        b.git(&["config", &format!("filter.lfs.{name}"), &format!("touch '{}'; cat", ran.display())]);
    }
    there.sync(false).unwrap();
    assert_eq!((b.head(), b.read("x.bin").unwrap()), (a.head(), POINTER.into()));
    assert!(b.git(&["ls-files", "--stage", "module"]).starts_with("160000"));
    assert!(!ran.exists());
}

#[test]
fn a_folder_of_a_larger_repository_is_left_to_git() {
    let ([a, b], shared) = Bench::shared();
    let part = || {
        Library::open(
            &b.path("notes"),
            crate::Options { user: Some(b.path(".git/of-user")), ..crate::Options::default() },
        )
        .unwrap()
    };
    let address = Address::parse(shared.path().to_str().unwrap()).unwrap();
    part().set_remote(&RemoteSettings::new(address, MAIN.to_owned())).unwrap();
    let library = part();
    // Commits ahead are pushed; commits behind are not taken.
    insist(&library, "a.md", "new\n").unwrap();
    library.sync(false).unwrap();
    assert_eq!(tip(shared.path()), b.head());
    a.git(&["pull", "-q", "origin", "main"]);
    a.commit("plan.md", "a\n");
    a.git(&["push", "-q", "origin", "main"]);
    let error = library.sync(false).unwrap_err();
    assert!(error.to_string().contains("`git pull`"), "{error}");
    b.git(&["pull", "-q", "origin", "main"]);
    library.sync(false).unwrap();
}

#[test]
fn a_change_that_others_are_always_faster_than_is_given_up() {
    let ([a, _], shared) = Bench::shared();
    let library = open(&a, shared.path(), Acknowledge::Remote);
    let claim = Claim { behind: 3, waited: Duration::from_secs(6), ..Claim::default() };
    let failure = wait(library.begin(claim)).map(drop).unwrap_err();
    assert_eq!(rule(&failure), "remote_contended");
    assert!(failure.message.contains("3 times in 6 s"), "{failure}");
}

#[test]
fn commits_of_other_clones_are_told_from_those_made_here() {
    for (both_change, command) in [(false, None), (true, None), (false, Some("pull -q origin main"))] {
        let ([a, b], shared) = Bench::shared();
        let library = open(&b, shared.path(), Acknowledge::Local);
        let own = both_change.then(|| insist(&library, "notes/a.md", "new\n").unwrap());
        let there = ["more\n", "most\n"].map(|text| {
            a.commit("plan.md", text);
            a.head()
        });
        a.git(&["push", "-q", "origin", "main"]);
        match command {
            None => drop(library.sync(false).unwrap()),
            Some(command) => drop(b.git(&command.split(' ').collect::<Vec<_>>())),
        }
        b.commit("notes/b.md", "new\n");
        let made = library.made_here().unwrap().unwrap();
        assert!(there.iter().all(|commit| !made.contains(commit)), "{command:?}: {made:?}");
        assert!(own.iter().chain([&b.head()]).all(|commit| made.contains(commit)), "{command:?}: {made:?}");
    }
}

#[test]
fn line_endings_of_a_file_stay() {
    let ([a, b], shared) = Bench::shared();
    b.git(&["config", "core.autocrlf", "true"]);
    b.write("plan.md", "old plan\r\n");
    b.git(&["add", "plan.md"]);
    assert_eq!(b.status(), "");
    let there = open(&b, shared.path(), Acknowledge::Local);
    a.commit("plan.md", "old plan\nmore\n");
    a.write("new.md", "new\n");
    a.git(&["add", "new.md"]);
    a.git(&["commit", "-q", "-m", "new"]);
    a.git(&["push", "-q", "origin", "main"]);
    there.sync(false).unwrap();
    assert_eq!(b.read("plan.md").unwrap(), "old plan\r\nmore\r\n");
    // As git checks out a new file.
    assert_eq!(b.read("new.md").unwrap(), "new\r\n");
    assert_eq!(b.status(), "");
}

#[test]
fn an_empty_library_takes_everything_and_an_empty_remote_is_filled() {
    let ([a, _], shared) = Bench::shared();
    let empty = Bench::unborn();
    let library = open(&empty, shared.path(), Acknowledge::Local);
    library.sync(false).unwrap();
    assert_eq!((empty.head(), empty.status()), (a.head(), String::new()));
    assert_eq!(empty.read("notes/a.md").unwrap(), "old a\n");
    empty.assert_sound();

    // As `tabellion init` makes it, with an empty first commit.
    let begun = Bench::empty();
    drop(Library::open(&begun.path(""), crate::Options::default()).unwrap());
    let library = open(&begun, shared.path(), Acknowledge::Local);
    assert!(library.preview_sync(false).unwrap().taken.merged);
    library.sync(false).unwrap();
    assert_eq!((begun.head(), begun.status()), (tip(shared.path()), String::new()));
    assert_eq!(begun.read("notes/a.md").unwrap(), "old a\n");

    let fresh = tempfile::tempdir().unwrap();
    git(fresh.path(), &["init", "-q", "--bare", "-b", "main"]);
    let library = open(&a, fresh.path(), Acknowledge::Remote);
    insist(&library, "plan.md", "new\n").unwrap();
    assert_eq!(tip(fresh.path()), a.head());
}

#[test]
fn with_acknowledge_remote_a_change_is_in_the_remote_first() {
    let ([a, b], shared) = Bench::shared();
    let [here, there] = [&a, &b].map(|bench| open(bench, shared.path(), Acknowledge::Remote));
    let first = insist(&here, "plan.md", "a\n").unwrap();
    assert_eq!(tip(shared.path()), first);
    // It is behind, and plans again on the newer state.
    let second = insist(&there, "notes/a.md", "b\n").unwrap();
    assert_eq!((tip(shared.path()), b.read("plan.md").unwrap()), (second.clone(), "a\n".to_owned()));
    assert_eq!(git(shared.path(), &["log", "--format=%P", "-1", MAIN]).1, first);
    // A person's own commit goes with the next change.
    b.commit("plan.md", "person\n");
    let third = insist(&there, "notes/b.md", "b\n").unwrap();
    assert_eq!(tip(shared.path()), third);
    // Uncommitted bytes are committed first, in the remote too.
    b.write("plan.md", "more\n");
    let fourth = insist(&there, "plan.md", "agent\n").unwrap();
    assert_eq!(tip(shared.path()), fourth);
    assert_eq!(git(shared.path(), &["show", "main~1:plan.md"]).1, "more");
    for bench in [&a, &b] {
        bench.assert_sound();
    }
}

#[test]
fn what_the_remote_does_not_take_is_not_made() {
    let ([a, _], shared) = Bench::shared();
    let library = open(&a, shared.path(), Acknowledge::Remote);
    insist(&library, "plan.md", "a\n").unwrap();
    let before = a.head();
    hook(shared.path(), "pre-receive", "echo no, not today; exit 1");
    let failure = insist(&library, "plan.md", "b\n").unwrap_err();
    assert_eq!(rule(&failure), "remote_refused");
    assert!(failure.message.contains("not today"), "{failure}");
    fs::rename(shared.path(), shared.path().with_extension("away")).unwrap();
    let failure = insist(&library, "plan.md", "b\n").unwrap_err();
    assert_eq!(rule(&failure), "remote_unreachable");
    assert_eq!((a.head(), a.read("plan.md").unwrap(), a.status()), (before, "a\n".into(), String::new()));
    // Reading continues, and so do changes once the remote is back.
    fs::rename(shared.path().with_extension("away"), shared.path()).unwrap();
    hook(shared.path(), "pre-receive", "exit 0");
    insist(&library, "plan.md", "b\n").unwrap();
    assert_eq!(tip(shared.path()), a.head());
    a.assert_sound();
}

#[test]
fn an_answer_that_is_lost_is_asked_for() {
    // The remote takes the push, and its answer does not come in time.
    let ([a, _], shared) = Bench::shared();
    let library = open(&a, shared.path(), Acknowledge::Remote);
    hook(shared.path(), "post-receive", "sleep 60");
    let commit = insist(&library, "plan.md", "a\n").unwrap();
    assert_eq!((tip(shared.path()), a.head()), (commit.clone(), commit));
}

#[test]
fn a_change_during_a_fetch_is_no_rewriting() {
    let ([a, _], shared) = Bench::shared();
    let library = open(&a, shared.path(), Acknowledge::Remote);
    insist(&library, "plan.md", "begin\n").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let syncing = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                library.sync(false).unwrap();
            }
        });
        for number in 0..15 {
            insist(&library, "plan.md", &format!("{number}\n")).unwrap();
        }
        is_over.store(true, Ordering::SeqCst);
        syncing.join().unwrap();
    });
    assert_eq!(tip(shared.path()), a.head());
}

#[test]
fn a_rewritten_history_waits_for_a_person() {
    let ([a, b], shared) = Bench::shared();
    let here = open(&a, shared.path(), Acknowledge::Local);
    make(&here, &change("plan.md", Some("kept\n"))).unwrap();
    here.sync(false).unwrap();
    b.commit("notes/b.md", "other\n");
    b.git(&["push", "-qf", "origin", "main"]);
    let Err(SyncError::Blocked(failure)) = here.sync(false) else { panic!("it was not blocked") };
    assert_eq!(rule(&failure), "remote_rewritten");
    let synced = here.sync(true).unwrap();
    assert!(synced.taken.merged);
    assert_eq!(
        (a.read("plan.md").unwrap(), a.read("notes/b.md").unwrap()),
        ("kept\n".into(), "other\n".into())
    );
    assert_eq!(tip(shared.path()), a.head());
    git(shared.path(), &["update-ref", "-d", MAIN]);
    assert!(
        matches!(here.sync(false), Err(SyncError::Blocked(failure)) if failure.message.contains("no branch"))
    );
    // Setting the remote again accepts that, but no other branch is overlooked.
    git(shared.path(), &["update-ref", "refs/heads/other", &a.head()]);
    let refused = here.look_at_remote(false).unwrap_err().to_string();
    assert!(refused.contains("`--branch other`"), "{refused}");
    assert_eq!(here.look_at_remote(true), Ok(None));
    here.sync(false).unwrap();
    assert_eq!(tip(shared.path()), a.head());
}

#[test]
fn changes_that_are_not_published_are_bounded() {
    let ([a, _], shared) = Bench::shared();
    let address = Address::parse(shared.path().to_str().unwrap()).unwrap();
    let settings =
        RemoteSettings { max_unpublished: Some(2), ..RemoteSettings::new(address, MAIN.to_owned()) };
    a.library().set_remote(&settings).unwrap();
    let library = a.library();
    assert_eq!(library.remote_settings(), Some(&settings));
    assert!(library.look_at_remote(false).unwrap().is_some());
    assert_eq!(library.remote_state().unwrap().ahead, 0, "the clone has all commits of the remote");
    for content in ["a\n", "b\n"] {
        insist(&library, "plan.md", content).unwrap();
    }
    assert_eq!(library.remote_state().unwrap().ahead, 2);
    let refused = insist(&library, "plan.md", "c\n").unwrap_err();
    assert_eq!(rule(&refused), "remote_unpublished");
    assert!(refused.message.ends_with("`tabellion sync` pushes them"), "{refused}");
    assert_eq!(library.sync(false).unwrap().pushed, 2);
    insist(&library, "plan.md", "c\n").unwrap();
    // Sent to another user, or moved, the library is no longer shared.
    fs::remove_dir_all(a.path(".git/of-user")).unwrap();
    assert_eq!(a.library().remote_settings(), None);
    assert_eq!(a.library().foreign_remote(), Some(&settings.address));
    assert_eq!(a.library().remote().unwrap()["state"], "blocked");
    library.forget_remote().unwrap();
    assert_eq!(a.library().foreign_remote(), None);
}

#[test]
fn a_follower_publishes_and_fetches() {
    let ([a, b], shared) = Bench::shared();
    let [here, there] = [&a, &b].map(|bench| Arc::new(open(bench, shared.path(), Acknowledge::Local)));
    let _followers = [&here, &there].map(|library| Library::follow(library).unwrap());
    let commit = make(&here, &change("plan.md", Some("a\n"))).unwrap();
    while tip(shared.path()) != commit {
        std::thread::yield_now();
    }
    // As a webhook does.
    there.fetch_soon();
    while b.read("plan.md").unwrap() != "a\n" {
        std::thread::yield_now();
    }
}

/// Clones that lack a part of the history, or of its files.
#[test]
fn partial_clones_are_shared() {
    for options in
        [&["--depth", "1"][..], &["--filter=blob:none"], &["--filter=tree:0"], &["--single-branch"]]
    {
        let ([a, _], shared) = Bench::shared();
        git(shared.path(), &["config", "uploadpack.allowFilter", "true"]);
        for text in ["1\n", "2\n", "3\n"] {
            a.commit("plan.md", text);
        }
        a.git(&["push", "-q", "origin", "main"]);
        let b = Bench::empty();
        let address = format!("file://{}", shared.path().display());
        b.git(&[&["clone", "-q"], options, &[&*address, "."]].concat());
        let [here, there] = [&a, &b].map(|bench| open(bench, shared.path(), Acknowledge::Remote));
        for round in 0..2 {
            insist(&here, "notes/a.md", &format!("{round}\n")).unwrap();
            insist(&there, "notes/b.md", &format!("{round}\n")).unwrap();
            // Both sides changed, so they are merged.
            a.commit("plan.md", &format!("person {round}\n"));
            insist(&here, "notes/a.md", &format!("{round} more\n")).unwrap();
        }
        there.sync(false).unwrap();
        assert_eq!(
            (tip(shared.path()), b.read("plan.md").unwrap()),
            (b.head(), "person 1\n".into()),
            "{options:?}"
        );
        git(shared.path(), &["fsck", "--strict"]);
    }
}

#[test]
fn a_lock_that_was_left_in_the_remote_refuses() {
    let ([a, _], shared) = Bench::shared();
    let lock = shared.path().join("refs/heads/main.lock");
    for acknowledge in [Acknowledge::Remote, Acknowledge::Local] {
        let library = open(&a, shared.path(), acknowledge);
        library.sync(false).unwrap();
        let (before, text) = (a.head(), format!("{acknowledge:?}\n"));
        fs::write(&lock, "").unwrap();
        let made = insist(&library, "plan.md", &text);
        if acknowledge == Acknowledge::Remote {
            assert_eq!((rule(&made.unwrap_err()), a.head()), ("remote_refused", before));
        } else {
            made.unwrap();
            assert!(matches!(library.sync(false), Err(SyncError::Refused(_))));
            assert_eq!(library.remote_state().unwrap().status, RemoteStatus::Refused);
        }
        fs::remove_file(&lock).unwrap();
        insist(&library, "plan.md", &text).unwrap();
        library.sync(false).unwrap();
        assert_eq!(tip(shared.path()), a.head());
    }
}

/// Clocks of machines differ, and git walks histories by time.
#[test]
fn a_commit_is_not_before_its_parent() {
    const HOUR: i64 = 60 * 60;
    for ahead in [HOUR, -HOUR, 48 * HOUR] {
        let ([a, b], shared) = Bench::shared();
        let library = open(&b, shared.path(), Acknowledge::Remote);
        let now = UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed();
        a.write("plan.md", "from another time\n");
        a.git(&["add", "-A"]);
        let tree = a.git(&["write-tree"]);
        let parent = a.head();
        let output = std::process::Command::new("git")
            .arg("-C")
            .arg(a.path(""))
            .args(["commit-tree", &tree, "-p", &parent, "-m", "other"])
            .env("GIT_COMMITTER_DATE", format!("@{} +0000", now + ahead))
            .output()
            .unwrap();
        let other = String::from_utf8(output.stdout).unwrap();
        a.git(&["push", "-q", "origin", &format!("{}:{MAIN}", other.trim())]);
        let commit = insist(&library, "notes/a.md", "new\n").unwrap();
        let time: i64 = b.git(&["log", "-1", "--format=%ct", &commit]).parse().unwrap();
        // A clock that is two days ahead is not followed.
        let expected = if ahead == HOUR { now + HOUR } else { now };
        assert!((expected..now + 2 * HOUR).contains(&time), "{ahead}: {time}");
    }
}

#[test]
fn a_follower_that_ends_pushes_what_is_left() {
    let ([a, _], shared) = Bench::shared();
    let library = Arc::new(open(&a, shared.path(), Acknowledge::Local));
    let follower = Library::follow(&library);
    library.sync(false).unwrap();
    // It would wait a second for further changes.
    let commit = make(&library, &change("plan.md", Some("a\n"))).unwrap();
    drop(follower);
    assert_eq!(tip(shared.path()), commit);
}

/// The steps of a transaction that pushes first, and true if the remote has the change when the process dies after the step.
const STEPS: [(Checkpoint, bool); 7] = [
    (Checkpoint::Written, false),
    (Checkpoint::Pushed, true),
    (Checkpoint::Locked, true),
    (Checkpoint::Swapped, true),
    (Checkpoint::Indexed, true),
    (Checkpoint::Committed, true),
    (Checkpoint::Published, true),
];

#[test]
fn each_step_of_a_shared_change_can_be_the_last() {
    for (step, is_shared) in STEPS {
        for is_death in [true, false] {
            let ([a, _], shared) = Bench::shared();
            let once = AtomicBool::new(true);
            let watch: Watch = Box::new(move |reached| {
                if reached != step || !once.swap(false, Ordering::SeqCst) {
                    Ok(())
                } else if is_death {
                    Err(Interruption::Killed)
                } else {
                    Err(Interruption::Failed(StoreError::Conflict))
                }
            });
            let library = open_watched(&a, shared.path(), Acknowledge::Remote, watch);
            let before = tip(shared.path());
            // The first attempt fetches the remote's known state.
            library.sync(false).unwrap();
            let outcome = make(&library, &change("plan.md", Some("new\n")));
            let is_there = tip(shared.path()) != before;
            assert_eq!(is_there, is_shared, "{step:?}");
            if is_death {
                assert!(outcome.is_err(), "{step:?}");
            } else {
                // Once the remote has accepted, the call succeeds, regardless of failures here.
                assert_eq!(outcome.is_ok(), is_shared, "{step:?}: {outcome:?}");
            }
            drop(library);
            let library = a.library();
            insist(&library, "notes/a.md", "next\n").unwrap();
            let expected = if is_shared { "new\n" } else { "old plan\n" };
            assert_eq!(a.read("plan.md").unwrap(), expected, "{step:?}");
            assert_eq!((tip(shared.path()), a.status()), (a.head(), String::new()), "{step:?}");
            let made = git(shared.path(), &["rev-list", "--count", &format!("{before}..main")]).1;
            assert_eq!(made, if is_shared { "2" } else { "1" }, "{step:?}");
            a.assert_sound();
        }
    }
}

/// A person acts in the library's folder between the push of a change and its publication here.
#[test]
fn a_person_between_push_and_publication_loses_nothing() {
    /// A name, commands in the library's folder, and the files that are there in the end.
    type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);
    let cases: [Case; 4] = [
        (
            "commits a different document",
            "echo b > notes/b.md; git add -A; git commit -qm b",
            &[("plan.md", "new\nold plan\n"), ("notes/b.md", "b\n")],
        ),
        (
            "commits the same document",
            "echo '- mine' >> plan.md; git commit -qam mine",
            &[("plan.md", "new\nold plan\n- mine\n")],
        ),
        ("saves the same document", "echo '- mine' >> plan.md", &[("plan.md", "new\nold plan\n- mine\n")]),
        (
            "saves a different document",
            "echo b > notes/b.md",
            &[("plan.md", "new\nold plan\n"), ("notes/b.md", "b\n")],
        ),
    ];
    for (name, command, files) in cases {
        let ([a, _], shared) = Bench::shared();
        let (once, folder) = (AtomicBool::new(true), a.path(""));
        let watch: Watch = Box::new(move |reached| {
            if reached == Checkpoint::Pushed && once.swap(false, Ordering::SeqCst) {
                let mut shell = std::process::Command::new("sh");
                assert!(shell.args(["-ec", command]).current_dir(&folder).status().unwrap().success());
            }
            Ok(())
        });
        let library = open_watched(&a, shared.path(), Acknowledge::Remote, watch);
        library.sync(false).unwrap();
        let commit = insist(&library, "plan.md", "new\nold plan\n")
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
        library.sync(false).unwrap();
        for (path, content) in files {
            assert_eq!(a.read(path).as_deref(), Some(*content), "{name}: {path}");
        }
        assert_eq!(a.head(), tip(shared.path()), "{name}");
        let ids = git(shared.path(), &["rev-list", MAIN]).1;
        assert!(ids.contains(&commit), "{name}");
        let entries = library.activity(50).unwrap();
        assert_eq!(entries.len(), 1, "{name}: {entries:?}");
        a.assert_sound();
    }
}

/// Machines and a person with her own clone edit at random. In the end, each acknowledged line is in the remote's branch: in its
/// document, or in the version next to it.
fn edit_at_random(acknowledge: Acknowledge, machines: usize, seed: u64, edits: usize) {
    let ([a, b], shared) = Bench::shared();
    let clone = |name: &str| {
        let bench = Bench::empty();
        bench.git(&["clone", "-q", shared.path().to_str().unwrap(), "."]);
        bench.git(&["config", "user.name", name]);
        bench.git(&["config", "user.email", "bea@example.com"]);
        bench
    };
    let [c, person] = ["Ada", "Bea"].map(clone);
    let benches = &[&a, &b, &c][..machines];
    let libraries: Vec<_> = benches.iter().map(|bench| open(bench, shared.path(), acknowledge)).collect();
    let mut state = seed;
    let mut below = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let paths = ["plan.md", "notes/a.md", "notes/b.md", "new.md"];
    let mut acknowledged = HashMap::new();
    for number in 0..edits {
        let path = paths[below(paths.len())];
        let token = format!("line-{number}-of-{seed}");
        let who = below(machines + 2);
        let edited = |text: String, kind: usize| match kind {
            0 => format!("{text}- {token}\n"),
            1 => format!("{}\n\n## {token}\n\ntext\n", text.trim_end()),
            _ => format!("{token}\n{text}"),
        };
        let kind = below(3);
        match who {
            who if who == machines => {
                // She pulls by hand, edits, and pushes; sometimes she is too late.
                person.git(&["pull", "-q", "--no-rebase", "--no-edit"]);
                let text = person.read(path).unwrap_or_default();
                person.write(path, &edited(text, kind));
                person.git(&["add", "-A"]);
                person.git(&["commit", "-qm", &token]);
                person.git(&["push", "-q"]);
                acknowledged.insert(token, path);
            }
            who if who > machines => {
                let bench = benches[below(machines)];
                let text = bench.read(path).unwrap_or_default();
                bench.write(path, &edited(text, kind));
                acknowledged.insert(token, path);
            }
            who => {
                edit(&libraries[who], path, |text| edited(text.to_owned(), kind)).unwrap();
                acknowledged.insert(token, path);
            }
        }
        if below(3) == 0 {
            libraries[below(machines)].sync(false).unwrap();
        }
    }
    for bench in benches {
        bench.git(&["add", "-A"]);
        bench.try_git(&["commit", "-qm", "the rest"]);
    }
    for library in libraries.iter().chain(&libraries) {
        library.sync(false).unwrap();
    }
    for bench in benches {
        assert_eq!(bench.head(), tip(shared.path()), "{seed}");
        bench.assert_sound();
        assert_eq!(bench.status(), "", "{seed}");
    }
    let files = a.git(&["ls-files"]);
    for (token, path) in &acknowledged {
        let has = |file: &&str| a.read(file).is_some_and(|text| text.contains(token.as_str()));
        let found: Vec<_> = files.lines().filter(has).collect();
        let stem = path.trim_end_matches(".md");
        assert!(!found.is_empty(), "{seed}: {token} of {path} is lost");
        assert!(found.iter().all(|file| file.starts_with(stem)), "{seed}: {token}: {found:?}");
        assert!(found.iter().filter(|file| !is_conflict(file)).count() <= 1, "{seed}: {token}: {found:?}");
        let is_there_twice =
            |file: &&str| a.read(file).is_some_and(|text| text.matches(&format!("{token}\n")).count() > 1);
        assert!(!found.iter().any(is_there_twice), "{seed}: {token}: {found:?}");
    }
}

#[test]
fn machines_that_edit_at_random_lose_nothing() {
    let rounds = std::env::var("TABELLION_REMOTE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    for seed in 0..rounds.unwrap_or(2) {
        edit_at_random(Acknowledge::Local, 3, seed, 25);
        edit_at_random(Acknowledge::Remote, 3, seed, 15);
    }
    // Histories cross, and the common commit that is found is not the newest.
    edit_at_random(Acknowledge::Local, 2, 48, 25);
}

#[test]
fn a_conflict_is_named_after_its_file() {
    for (path, of) in [
        ("notes/plan.conflict-1a2b3c4d.md", true),
        ("plan.conflict-1a2b3c4d", true),
        ("plan.conflict-1A2b3c4d.md", false),
        ("plan.conflict-1a2b3c4.md", false),
        ("x.conflict-1a2b3c4d.md/plan.md", false),
        ("plan.md", false),
    ] {
        assert_eq!(is_conflict(path), of, "{path}");
    }
    assert_eq!(Taken::default().files, 0);
}
