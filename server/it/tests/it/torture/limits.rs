//! Real limits: a full disk, a read-only mount, missing permissions, and the limits of `ulimit`.
//!
//! Under each, the server refuses a change with an error that contains advice, and nothing changes. When the cause is gone,
//! the same server makes the same change.

use std::{
    fs::{self, Permissions},
    io::{self, Write},
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tabellion_conformance::{Target, ledger};
use walkdir::WalkDir;

use super::{
    disk::{Disk, Side, Sides},
    mount::Mount,
};
use crate::support::{Library, Server, edit, exited, process};

/// A user id that owns no other file.
const UNPRIVILEGED_USER: u32 = 65534;
const TEXT: &str = "# A\n\none\n";
/// The size of a document that exceeds a limit; its commit is small, because it repeats one letter.
const LARGE: usize = 200_000;

/// Returns every kind of change. None is small: an almost full disk has room for small files.
fn changes() -> [(&'static str, Value); 4] {
    let large = "x".repeat(LARGE);
    [
        ("write_markdown", json!({ "path": "x/y/new.md", "content": large })),
        ("write_markdown", json!({ "path": "notes/a.md", "content": large })),
        ("edit_markdown", edit("notes/b.md", "append", "", &large)),
        ("delete_markdown", json!({ "path": "notes/c.md", "confirm": true })),
    ]
}

fn fill(library: &Library) {
    ledger::git(library.root(), &["init", "--quiet", "--initial-branch=main"]).expect("git init");
    for name in ["a", "b", "c"] {
        library.put(&format!("notes/{name}.md"), TEXT);
    }
    library.commit_all("first");
    // Creates the server's own folder.
    library
        .serve()
        .call("write_markdown", json!({ "path": "notes/b.md", "content": "# B\n" }))
        .expect("written");
}

/// Makes `changes` under a limit: each must be refused with the error `name` and a message that contains `advice`, and
/// nothing may change. Without the limit, each must succeed.
fn refuse_then_make(
    library: &Library,
    server: &mut Server,
    changes: &[(&'static str, Value)],
    (name, advice): (&str, &str),
    hinder: impl FnOnce(),
    mend: impl FnOnce(),
) {
    hinder();
    let read = || Disk::read(library).expect("a library");
    let unchanged = Sides { before: read(), after: read(), makes_repository: false };
    for (tool, request) in changes {
        let path = &request["path"];
        let refusal = match server.call(tool, request.clone()) {
            Err(refusal) => refusal,
            Ok(answer) => panic!("{tool} {path}: {answer}"),
        };
        assert!(refusal.name == name && refusal.message.contains(advice), "{tool} {path}: {refusal:?}");
        let mut problems = vec![];
        let (side, _) = unchanged.judge(library, &mut problems);
        assert_eq!((side, problems), (Side::Before, vec![]), "{tool} {path}");
    }
    server.call("get_markdown_activity_log", json!({})).expect("reading needs nothing");
    mend();
    for (tool, request) in changes {
        server
            .call(tool, request.clone())
            .unwrap_or_else(|refusal| panic!("{tool} {}: {refusal:?}", request["path"]));
    }
    assert_eq!(library.ledger().status, "");
    ledger::fsck(library.root()).expect("a sound repository");
}

#[test]
fn a_full_disk_refuses_changes() {
    for mount in [Mount::memory("2m"), Mount::image(16 << 20)].into_iter().flatten() {
        let library = Library::empty_in(mount.path());
        fill(&library);
        let filler = mount.path().join("filler");
        refuse_then_make(
            &library,
            &mut library.serve(),
            &changes(),
            ("IO_ERROR", "free some space"),
            || {
                let mut file = fs::File::create(&filler).expect("a file");
                for size in [1 << 16, 1 << 10, 1] {
                    while file.write_all(&vec![7; size]).and_then(|()| file.sync_data()).is_ok() {}
                }
            },
            || fs::remove_file(&filler).expect("removed"),
        );
    }
}

#[test]
fn a_read_only_mount_refuses_changes() {
    let Some(mount) = Mount::memory("4m") else { return };
    let library = Library::empty_in(mount.path());
    fill(&library);
    let mut server = library.serve();
    refuse_then_make(
        &library,
        &mut server,
        &changes(),
        ("IO_ERROR", "mount it writable"),
        || {
            mount.remount("ro");
            let mut late = library.serve();
            late.call("read_markdown", json!({ "path": "notes/a.md" })).expect("one that starts now reads");
            late.close();
        },
        || mount.remount("rw"),
    );
    server.close();
}

#[test]
fn missing_permissions_refuse_changes() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root {
        return eprintln!("SKIPPED, no permission was tried: only root can run a server as another user");
    }
    let hindrances = [
        ("notes", 0o555, "IO_ERROR", "give the server's user access"),
        (".git", 0o555, "IO_ERROR", "give the server's user access"),
        (".git/objects", 0o555, "IO_ERROR", "give the server's user access"),
        (".git/tabellion", 0o555, "IO_ERROR", "give the server's user access"),
        (".git/refs/heads", 0o555, "IO_ERROR", "give the server's user access"),
        ("notes/a.md", 0o444, "REFUSED", "chmod u+w"),
    ];
    for (place, mode, name, advice) in hindrances {
        let library = Library::empty();
        fill(&library);
        give_to(library.root(), UNPRIVILEGED_USER).expect("chown");
        let mut command = library.command();
        // The user must not use root's home.
        let command = command.uid(UNPRIVILEGED_USER).gid(UNPRIVILEGED_USER).env("HOME", "/nonexistent");
        let mut server = Server::start(command);
        let place = library.path(place);
        let usual = fs::metadata(&place).expect("there").permissions();
        refuse_then_make(
            &library,
            &mut server,
            &[("write_markdown", json!({ "path": "notes/a.md", "content": "new\n" }))],
            (name, advice),
            || fs::set_permissions(&place, Permissions::from_mode(mode)).expect("chmod"),
            || fs::set_permissions(&place, usual).expect("chmod"),
        );
    }
}

fn give_to(path: &Path, user: u32) -> io::Result<()> {
    WalkDir::new(path).into_iter().try_for_each(|entry| chown(entry?.path(), Some(user), Some(user)))
}

/// Returns a server's command under a limit of the shell's `ulimit`.
fn limited(library: &Library, limit: &str) -> Command {
    let server = library.command();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit {limit} && exec \"$@\""), "sh"])
        .arg(server.get_program())
        .args(server.get_args());
    command
}

#[test]
fn a_file_size_limit_refuses_changes() {
    let library = Library::empty();
    fill(&library);
    // The unit is 512 bytes.
    let mut server = Server::start(&mut limited(&library, "-S -f 100"));
    let pid = process(&server.target).to_string();
    refuse_then_make(
        &library,
        &mut server,
        &changes()[..3],
        ("IO_ERROR", "ulimit -f"),
        || (),
        || {
            let raised = Command::new("prlimit").args(["--fsize=unlimited:", "--pid", &pid]).status();
            assert!(raised.expect("prlimit").success());
        },
    );
    server.close();
}

#[test]
fn a_limit_on_open_files_refuses_changes() {
    let library = Library::with(&[("notes/a.md", TEXT)]);
    let mut refusals = 0;
    for most in 4..40 {
        let before = library.ledger();
        let mut command = limited(&library, &format!("-n {most}"));
        let Ok(mut target) = Target::start(command.stderr(Stdio::null())) else {
            continue;
        };
        // With too few descriptors it can't start; the exit code is an error.
        if target.initialize("2025-11-25").is_err() {
            assert_eq!(exited(target).code(), Some(1), "{most} open files");
            continue;
        }
        let request = json!({ "path": "notes/a.md", "content": format!("{most}\n") });
        match (Server { target }).call("write_markdown", request) {
            Err(refusal) => {
                refusals += 1;
                assert!(refusal.message.contains("ulimit -n"), "{most} open files: {refusal:?}");
                assert_eq!(library.ledger(), before, "{most} open files");
            }
            Ok(_) => assert_eq!(library.ledger().status, ""),
        }
    }
    assert!(refusals > 0, "no limit was low enough");
    ledger::fsck(library.root()).expect("a sound repository");
}
