//! Programs that have a document open for writing during a change lose no byte.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use tabellion_runtime::{FailureKind, StoreError};

use super::support::{Bench, change, make, refusal};
use crate::checkpoint::{Checkpoint, Watch};

fn for_writing(bench: &Bench) -> File {
    OpenOptions::new().write(true).truncate(true).open(bench.path("notes/a.md")).unwrap()
}

#[test]
fn half_a_save_is_never_taken_for_the_whole() {
    let bench = Bench::new();
    let library = bench.library();
    let mut file = for_writing(&bench);
    file.write_all(b"half of ").unwrap();
    let editor = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        file.write_all(b"a save\n").unwrap();
    });
    make(&library, &change("notes/a.md", Some("new\n"))).unwrap();
    editor.join().unwrap();
    assert_eq!(bench.read("notes/a.md").as_deref(), Some("new\n"));
    assert_eq!(bench.git(&["show", "HEAD~1:notes/a.md"]), "half of a save");
    bench.assert_sound();
}

#[test]
fn a_file_that_stays_open_for_writing_is_not_changed() {
    let bench = Bench::new();
    let library = bench.library();
    let before = bench.head();
    let _file = for_writing(&bench);
    for content in [Some("new\n"), None] {
        let failure = refusal(&library, &change("notes/a.md", content));
        assert_eq!(failure.kind, FailureKind::Busy);
        assert!(failure.message.contains("open for writing"), "{failure}");
    }
    assert_eq!(bench.head(), before);
    make(&library, &change("notes/b.md", Some("new\n"))).expect("other files are free");
}

/// Waits until a program waits to write to the leased file `inode`.
fn wait_until_wanted(inode: u64) {
    let since = Instant::now();
    let is_wanted = |lock: &str| lock.contains("BREAKING") && lock.contains(&format!(":{inode} "));
    while !std::fs::read_to_string("/proc/locks").unwrap().lines().any(is_wanted) {
        assert!(since.elapsed() < Duration::from_secs(10), "the file was not opened in time");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A program that opens the document at the moment of the exchange has to wait, is detected, and its bytes are kept.
#[test]
fn bytes_written_to_the_old_document_are_kept() {
    for (step, committed) in
        [(Checkpoint::Swapped, false), (Checkpoint::Committed, true), (Checkpoint::Published, true)]
    {
        let bench = Bench::new();
        let old = File::open(bench.path("notes/a.md")).unwrap();
        let by_number = format!("/proc/self/fd/{}", old.as_raw_fd());
        let inode = old.metadata().unwrap().ino();
        let (done, written) = mpsc::channel();
        let done = std::sync::Mutex::new(done);
        let watch: Watch = Box::new(move |reached| {
            if reached == step {
                let (by_number, done) = (by_number.clone(), done.lock().unwrap().clone());
                thread::spawn(move || {
                    let mut file = OpenOptions::new().write(true).truncate(true).open(by_number).unwrap();
                    file.write_all(b"mine\n").unwrap();
                    done.send(()).unwrap();
                });
                wait_until_wanted(inode);
            }
            Ok(())
        });
        let outcome = make(&bench.watched(watch), &change("notes/a.md", Some("new\n")));
        written.recv_timeout(Duration::from_secs(10)).unwrap();
        if committed {
            let commit = outcome.unwrap();
            assert_eq!(bench.read("notes/a.md").as_deref(), Some("new\n"), "{step:?}");
            let late = format!(".git/tabellion/late-{commit}-content-0.md");
            assert_eq!(bench.read(&late).as_deref(), Some("mine\n"), "{step:?}");
            std::fs::remove_file(bench.path(&late)).unwrap();
        } else {
            assert_eq!(outcome, Err(StoreError::Conflict), "{step:?}");
            assert_eq!(bench.read("notes/a.md").as_deref(), Some("mine\n"), "{step:?}");
        }
        bench.assert_sound();
    }
}
