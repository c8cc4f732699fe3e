//! Changes alongside people and other servers.

use std::{
    fs,
    io::Write,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, SystemTime},
};

use tabellion_runtime::{CallContext, Claim, Entry, IdempotencyKey, Identity, Replay, Store, StoreError};

use super::support::{Bench, begin, change, make, path, prepare, ready, wait};
use crate::{
    Library,
    checkpoint::{Checkpoint, Watch},
};

#[test]
fn a_save_between_reading_and_publishing_is_seen() {
    for content in [Some("new\n"), None] {
        let bench = Bench::new();
        let library = bench.library();
        let mut session = begin(&library);
        session.view().read("notes/a.md").unwrap();
        bench.write("notes/a.md", "mine\n");
        prepare(&mut *session, &change("notes/a.md", content)).unwrap();
        assert_eq!(wait(session.publish()), Err(StoreError::Conflict));
        assert_eq!(bench.read("notes/a.md").as_deref(), Some("mine\n"));
        assert_eq!(bench.status(), " M notes/a.md");
        bench.assert_sound();
    }
}

/// A person's edits in the middle of a transaction, before the commit point; the transaction then has no effect.
#[test]
fn an_interleaved_change_wins() {
    type Deed = (&'static str, Checkpoint, fn(&std::path::Path));
    const DEEDS: [Deed; 7] = [
        ("saves in place", Checkpoint::Locked, |top| {
            std::fs::write(top.join("notes/a.md"), "mine\n").unwrap()
        }),
        ("saves by renaming", Checkpoint::Locked, |top| {
            std::fs::write(top.join(".a.swp"), "mine\n").unwrap();
            std::fs::rename(top.join(".a.swp"), top.join("notes/a.md")).unwrap();
        }),
        ("links", Checkpoint::Locked, |top| {
            std::fs::remove_file(top.join("notes/a.md")).unwrap();
            std::os::unix::fs::symlink("b.md", top.join("notes/a.md")).unwrap();
        }),
        ("deletes", Checkpoint::Locked, |top| std::fs::remove_file(top.join("notes/a.md")).unwrap()),
        ("commits", Checkpoint::Written, |top| {
            let (ok, output) = super::support::git(top, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
            assert!(ok, "{output}");
        }),
        ("stages", Checkpoint::Written, |top| {
            std::fs::write(top.join("plan.md"), "staged\n").unwrap();
            let (ok, output) = super::support::git(top, &["add", "plan.md"]);
            assert!(ok, "{output}");
        }),
        ("switches", Checkpoint::Written, |top| {
            let (ok, output) = super::support::git(top, &["switch", "-q", "-c", "other"]);
            assert!(ok, "{output}");
        }),
    ];
    for (shown, at, deed) in DEEDS {
        for content in [Some("new\n"), None] {
            let bench = Bench::new();
            let top = bench.path("");
            let watch: Watch = Box::new(move |step| {
                if step == at {
                    deed(&top);
                }
                Ok(())
            });
            let library = bench.watched(watch);
            let outcome = make(&library, &change("notes/a.md", content));
            assert_eq!(outcome, Err(StoreError::Conflict), "{shown}");
            let left = bench.read("notes/a.md");
            let expected = match shown {
                "deletes" => None,
                "links" => Some("old b\n"),
                "commits" | "switches" | "stages" => Some("old a\n"),
                _ => Some("mine\n"),
            };
            assert_eq!(left.as_deref(), expected, "{shown}");
            bench.assert_sound();
        }
    }
}

/// A save to the new document, before the commit: the index must not claim that git has seen it.
#[test]
fn a_save_to_the_new_document_shows() {
    let bench = Bench::new();
    let document = bench.path("notes/a.md");
    let watch: Watch = Box::new(move |step| {
        if step == Checkpoint::Swapped {
            let mut file = std::fs::File::create(&document).unwrap();
            file.write_all(b"mine\n").unwrap();
            // Git reads files as new as the index in any case.
            let earlier = SystemTime::now() - Duration::from_secs(10);
            file.set_modified(earlier).unwrap();
        }
        Ok(())
    });
    make(&bench.watched(watch), &change("notes/a.md", Some("ours\n"))).unwrap();
    assert_eq!(bench.read("notes/a.md").as_deref(), Some("mine\n"));
    assert_eq!(bench.status(), " M notes/a.md");
    bench.assert_sound();
}

#[test]
fn staged_changes_of_other_files_stay_staged() {
    let bench = Bench::new();
    bench.write("plan.md", "staged\n");
    bench.write("new.md", "staged\n");
    bench.git(&["add", "-A"]);
    bench.write("plan.md", "dirty\n");
    make(&bench.library(), &change("notes/a.md", Some("new\n"))).unwrap();
    assert_eq!(bench.status(), "A  new.md\nMM plan.md");
    assert_eq!(bench.git(&["show", "HEAD:plan.md"]), "old plan");
    bench.assert_sound();
}

/// Appends a line in the way of the runtime, until it succeeds.
fn append(library: &Library, line: &str) {
    for attempt in 0..100 {
        let mut session = wait(library.begin(Claim { attempt, ..Claim::default() })).unwrap();
        let old = session.view().read("notes/a.md").unwrap().unwrap();
        let text = String::from_utf8(old.bytes).unwrap() + line + "\n";
        let prepared = match prepare(&mut *session, &change("notes/a.md", Some(&text))) {
            Ok(prepared) => prepared,
            Err(StoreError::Conflict) => continue,
            Err(other) => panic!("{other:?}"),
        };
        match wait(session.publish()) {
            Ok(()) => {
                assert_eq!(prepared.commit.len(), 40);
                return;
            }
            Err(StoreError::Conflict) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("never got in");
}

#[test]
fn two_servers_and_forty_callers_lose_nothing() {
    let bench = Bench::new();
    let before = bench.head();
    let libraries = [bench.library(), bench.library()];
    thread::scope(|scope| {
        for (server, library) in libraries.iter().enumerate() {
            for caller in 0..20 {
                scope.spawn(move || append(library, &format!("line {server}-{caller}")));
            }
        }
    });
    let text = bench.read("notes/a.md").unwrap();
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 40);
    assert_eq!(bench.git(&["rev-list", "--count", &format!("{before}..HEAD")]), "40");
    assert_eq!(libraries[0].activity(100).unwrap().len(), 40);
    assert_eq!(bench.status(), "");
    bench.assert_sound();
}

#[test]
fn a_key_answers_with_the_first_commit_also_after_a_restart() {
    let bench = Bench::new();
    bench.write("notes/a.md", "dirty\n");
    let key = IdempotencyKey::parse("k-1").unwrap();
    let call = CallContext {
        idempotency_key: Some(key.clone()),
        identity: Some(Identity::local("ada")),
        ..CallContext::default()
    };
    let entry =
        Entry { tool: "a_tool", call: &call, request: Some("{\"a\":1}"), details: &serde_json::Map::new() };
    let commit = {
        let library = bench.library();
        let mut session = begin(&library);
        let replay = ready(session.replay(&call, &key, "{\"a\":1}"));
        assert!(replay.unwrap().is_none());
        let change = change("notes/a.md", Some("new\n"));
        let commit = ready(session.prepare(&change, &entry)).unwrap().commit;
        wait(session.publish()).unwrap();
        commit
    };
    bench.write("plan.md", "theirs\n");
    bench.git(&["commit", "-q", "-a", "-m", "theirs"]);
    let library = bench.library();
    make(&library, &change("notes/a.md", Some("newer\n"))).unwrap();
    let session = begin(&library);
    let replay = ready(session.replay(&call, &key, "{\"a\":1}")).unwrap();
    let Some(Replay::Before { commit: replayed, before, after }) = replay else {
        panic!("a library answers on what the first call found")
    };
    assert_eq!(replayed, commit);
    for (state, expected) in [(before, "dirty\n"), (after, "new\n")] {
        assert_eq!(state.view().read("notes/a.md").unwrap().unwrap().bytes, expected.as_bytes());
        assert_eq!(state.view().read("nothing.md").unwrap(), None);
    }
    // The key is the caller's own: no other caller learns of the commit by guessing it.
    for identity in [None, Some(Identity::local("ada").with_agent("helper"))] {
        let other = CallContext { identity, ..call.clone() };
        let replay = ready(session.replay(&other, &key, "{\"a\":1}")).unwrap();
        assert!(replay.is_none(), "{:?}", other.identity);
    }
    match ready(session.replay(&call, &key, "{\"a\":2}")).err().unwrap() {
        StoreError::Failure(failure) => assert_eq!(failure.kind, tabellion_runtime::FailureKind::Conflict),
        StoreError::Conflict | StoreError::Behind => panic!("it can be told"),
    }
}

#[test]
fn a_dropped_session_leaves_no_trace() {
    let bench = Bench::new();
    bench.write("notes/a.md", "dirty\n");
    let library = bench.library();
    let objects = bench.git(&["count-objects"]);
    let head = bench.head();
    let mut session = begin(&library);
    prepare(&mut *session, &change("x/new.md", Some("new\n"))).unwrap();
    prepare(&mut *session, &change("notes/a.md", Some("new\n"))).unwrap();
    drop(session);
    assert_eq!((bench.head(), bench.git(&["count-objects"])), (head, objects));
    assert_eq!(bench.status(), " M notes/a.md");
    assert!(!bench.path("x").exists());
    bench.assert_sound();
}

/// A reader never sees bytes that are not a commit's, except a person's.
#[test]
fn a_reader_sees_whole_commits() {
    let bench = Bench::new();
    let library = bench.library();
    let stop = Arc::new(Mutex::new(false));
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !*stop.lock().unwrap() {
                let state = library.read(&path("notes/a.md")).unwrap().unwrap();
                assert!(!state.dirty, "{state:?}");
                seen += 1;
            }
            seen
        });
        for number in 0..20 {
            make(&library, &change("notes/a.md", Some(&format!("{number}\n")))).unwrap();
        }
        *stop.lock().unwrap() = true;
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn the_log_has_our_changes_and_only_those() {
    let bench = Bench::new();
    let library = bench.library();
    make(&library, &change("notes/a.md", Some("1\n"))).unwrap();
    bench.git(&["switch", "-q", "-c", "side"]);
    make(&library, &change("notes/b.md", Some("2\n"))).unwrap();
    bench.git(&["switch", "-q", "main"]);
    bench.write("plan.md", "theirs\n");
    make(&library, &change("plan.md", Some("3\n"))).unwrap();
    assert_eq!(paths(&library, 10), ["notes/a.md", "plan.md"]);
    bench.git(&["merge", "-q", "-m", "merge", "side"]);
    let merged = paths(&library, 10);
    assert_eq!(merged.len(), 3);
    assert_eq!(merged, paths(&bench.library(), 10), "the same after a restart");
    assert_eq!(paths(&library, 1).len(), 1);
    bench.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(paths(&library, 10), ["notes/a.md", "plan.md"]);
    let entry = library.activity(1).unwrap().remove(0);
    assert_eq!(entry.commit, bench.head());
    assert_eq!((&*entry.tool, &*entry.operation), ("a_tool", "write"));
    assert_eq!(entry.client.as_deref(), Some("test/1"));
}

fn paths(library: &Library, limit: usize) -> Vec<String> {
    library.activity(limit).unwrap().into_iter().map(|entry| entry.paths.concat()).collect()
}

/// In git's way: it holds the index, removes the file, writes it anew, and leaves a new index.
#[test]
fn a_file_that_git_makes_anew_is_waited_for() {
    let bench = Bench::new();
    let library = bench.library();
    let (index, lock) = (bench.path(".git/index"), bench.path(".git/index.lock"));
    let place = bench.path("notes/a.md");
    for pause in (0..500).map(Duration::from_micros) {
        thread::scope(|scope| {
            let git = scope.spawn(|| {
                fs::copy(&index, &lock).unwrap();
                fs::remove_file(&place).unwrap();
                thread::sleep(pause);
                let mut file = fs::File::create_new(&place).unwrap();
                for part in ["one", "two"] {
                    thread::sleep(pause);
                    file.write_all(part.as_bytes()).unwrap();
                }
                drop(file);
                fs::rename(&lock, &index).unwrap();
            });
            while !git.is_finished() {
                let read = library.read(&path("notes/a.md")).unwrap();
                let to_change = begin(&library).view().read("notes/a.md").unwrap();
                for bytes in [read.map(|it| it.bytes), to_change.map(|it| it.bytes)] {
                    let bytes = bytes.unwrap_or_default();
                    assert!([&b"old a\n"[..], b"onetwo"].contains(&&*bytes), "{pause:?}: {bytes:?}");
                }
            }
        });
    }
}

#[test]
fn a_file_of_another_repository_is_not_read_for_a_change_either() {
    let bench = Bench::new();
    bench.git(&["init", "-q", "inside"]);
    bench.write("inside/x.md", "theirs\n");
    let library = bench.library();
    for failure in [
        library.read(&path("inside/x.md")).unwrap_err(),
        begin(&library).view().read("inside/x.md").unwrap_err(),
    ] {
        assert_eq!(failure.kind, tabellion_runtime::FailureKind::Refused, "{failure}");
    }
}
