//! Pushes and fetches with bare repositories on this machine, and addresses.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

use super::*;

const SOON: Duration = Duration::from_secs(20);
const MAIN: &str = "refs/heads/main";

/// A repository with commits, and a bare one to share it through.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        for (folder, options) in [("ours", &["-b", "main"][..]), ("shared.git", &["-b", "main", "--bare"])] {
            fs::create_dir(bench.path(folder)).unwrap();
            bench.git(folder, &[&["init", "-q"], options].concat());
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.path(folder)).args([
            "-c",
            "user.name=Ann",
            "-c",
            "user.email=ann@example.com",
        ]);
        let output = git.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn commit(&self, folder: &str) -> String {
        self.git(folder, &["commit", "-q", "--allow-empty", "-m", folder]);
        self.git(folder, &["rev-parse", "HEAD"])
    }

    fn remote(&self) -> Remote {
        self.remote_at(self.path("shared.git").to_str().unwrap())
    }

    fn remote_at(&self, address: &str) -> Remote {
        let git_dir = self.path("ours/.git");
        let lent = Lent {
            folder: git_dir.join("tabellion/remote.git"),
            objects: git_dir.join("objects"),
            shallow: git_dir.join("shallow"),
            connections: None,
        };
        Remote::open(&lent, Address::parse(address).unwrap(), MAIN.to_owned()).unwrap()
    }

    fn tip(&self) -> String {
        self.git("shared.git", &["rev-parse", MAIN])
    }

    fn hook(&self, name: &str, script: &str) {
        let file = self.path("shared.git/hooks").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        #[cfg(unix)]
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_branch_is_pushed_and_fetched() {
    let bench = Bench::new();
    let remote = bench.remote();
    assert_eq!((remote.known_commit(), remote.fetch(SOON)), (None, Ok(None)));
    let first = bench.commit("ours");
    assert_eq!(remote.push(&first, None, SOON), Pushed::Accepted);
    remote.remember(&first);
    assert_eq!((bench.tip(), remote.known_commit()), (first.clone(), Some(first.clone())));

    bench.git(".", &["clone", "-q", "shared.git", "other"]);
    let second = bench.commit("other");
    bench.git("other", &["push", "-q"]);
    let third = bench.commit("ours");
    for base in [Some(&*first), None] {
        let pushed = remote.push(&third, base, SOON);
        assert!(matches!(pushed, Pushed::Rejected(_)), "{base:?}: {pushed:?}");
    }
    assert_eq!(bench.tip(), second);
    assert_eq!(remote.fetch(SOON), Ok(Some(second.clone())));
    // Its objects are the library's now.
    bench.git("ours", &["cat-file", "-e", &second]);
    assert_eq!(fs::read_dir(bench.path("ours/.git/tabellion/remote.git/objects")).unwrap().count(), 0);
    assert!(!bench.path("ours/.git/FETCH_HEAD").exists());
}

#[test]
fn a_repository_can_be_opened_by_many_at_once() {
    let bench = Bench::new();
    for _ in 0..20 {
        let own = bench.path("ours/.git/tabellion");
        // It is there from the second time on.
        let _ = fs::remove_dir_all(&own);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| bench.remote().remember("of a thread"));
            }
        });
        assert_eq!(bench.remote().known_commit().as_deref(), Some("of a thread"));
    }
}

/// A process that is killed leaves an unfinished file; the library's maintenance removes a commit that only our reference has.
#[test]
fn references_to_nothing_do_not_matter() {
    let bench = Bench::new();
    let first = bench.commit("ours");
    let remote = bench.remote();
    assert_eq!(remote.push(&first, None, SOON), Pushed::Accepted);
    let own = bench.path("ours/.git/tabellion/remote.git");
    for (name, text) in [
        ("HEAD.new-1-1", "ref"),
        ("refs/known.new-1-1", "12"),
        ("refs/known", "1111111111111111111111111111111111111111\n"),
        ("refs/fetched/1-1", "1111111111111111111111111111111111111111\n"),
        ("refs/fetched/1-1.lock", ""),
    ] {
        let leave = || fs::write(own.join(name), text).unwrap();
        leave();
        assert_eq!(bench.remote().fetch(SOON), Ok(Some(first.clone())), "{name}");
        leave();
        let second = bench.commit("ours");
        let pushed = bench.remote().push(&second, Some(&first), SOON);
        assert_eq!((pushed, bench.tip()), (Pushed::Accepted, second), "{name}");
        bench.git("shared.git", &["update-ref", MAIN, &first]);
        remote.remember(&first);
        assert_eq!(remote.known_commit(), Some(first.clone()), "{name}");
    }
}

#[test]
fn what_a_hook_says_is_told() {
    let bench = Bench::new();
    bench.hook("pre-receive", "echo 'only on Mondays, ghp_0123456789abcdef'; exit 1");
    let first = bench.commit("ours");
    let Pushed::Rejected(words) = bench.remote().push(&first, None, SOON) else {
        panic!("it was not rejected");
    };
    assert!(words.contains("hook declined") && words.contains("only on Mondays, ***"), "{words}");
}

#[test]
fn a_remote_that_does_not_answer_is_given_up() {
    let bench = Bench::new();
    bench.hook("pre-receive", "sleep 600");
    let first = bench.commit("ours");
    let pushed = bench.remote().push(&first, None, Duration::from_millis(300));
    assert!(matches!(pushed, Pushed::Silent(Unreachable { trouble: Trouble::Cut, .. })), "{pushed:?}");
    fs::remove_dir_all(bench.path("shared.git")).unwrap();
    let gone = bench.remote().fetch(SOON).unwrap_err();
    assert_eq!(gone.trouble, Trouble::Missing, "{gone}");
}

#[test]
fn a_push_that_was_never_sent_leaves_no_doubt() {
    let bench = Bench::new();
    let first = bench.commit("ours");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("http://127.0.0.1:{port}/notes.git");
    for (address, trouble) in [(&*address, Trouble::Offline), ("/nowhere/notes.git", Trouble::Missing)] {
        let remote = bench.remote_at(address);
        let Pushed::Silent(silent) = remote.push(&first, None, SOON) else {
            panic!("{address} answered");
        };
        assert_eq!((silent.trouble, silent.may_have_arrived()), (trouble, false), "{silent}");
        assert_eq!(remote.fetch(SOON).unwrap_err().trouble, trouble, "{address}");
    }
    for (words, trouble) in [
        ("ssh: Could not resolve hostname example.invalid: Name or service not known", Trouble::Offline),
        ("ssh: connect to host example.com port 22: Connection refused", Trouble::Offline),
        ("git@example.com: Permission denied (publickey).", Trouble::Auth),
        ("fatal: write error: No space left on device", Trouble::Full),
        (
            "error: cannot update ref 'refs/fetched/7-0': couldn't write '/lib/.git/tabellion/remote.git/refs/fetched/7-0.lock'",
            Trouble::Full,
        ),
        ("fatal: the remote end hung up unexpectedly", Trouble::Cut),
        ("error: RPC failed; curl 52 Empty reply from server", Trouble::Cut),
    ] {
        assert_eq!(program::unreachable(words).trouble, trouble, "{words}");
    }
}

#[test]
fn the_librarys_configuration_does_nothing() {
    let bench = Bench::new();
    let first = bench.commit("ours");
    let evil = format!("touch {}", bench.path("ran").display());
    let shared = bench.path("shared.git").display().to_string();
    for (key, value) in [
        (&*format!("url.{}.insteadOf", bench.path("elsewhere").display()), &*shared),
        (&format!("remote.{shared}.receivepack"), &format!("{evil}; git-receive-pack")),
        (&format!("remote.{shared}.uploadpack"), &format!("{evil}; git-upload-pack")),
        ("core.sshCommand", &evil),
        ("core.hooksPath", "hooks"),
        ("core.fsmonitor", &evil),
        ("credential.helper", &format!("!{evil}")),
    ] {
        bench.git("ours", &["config", key, value]);
    }
    let hooks = bench.path("ours/hooks");
    fs::create_dir(&hooks).unwrap();
    for name in ["pre-push", "reference-transaction"] {
        fs::write(hooks.join(name), format!("#!/bin/sh\n{evil}\n")).unwrap();
        #[cfg(unix)]
        fs::set_permissions(hooks.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let own = bench.path("ours/.git/tabellion/remote.git");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("commondir"), bench.path("ours/.git").to_str().unwrap()).unwrap();
    let remote = bench.remote();
    assert_eq!(remote.push(&first, None, SOON), Pushed::Accepted);
    assert_eq!(remote.fetch(SOON), Ok(Some(first.clone())));
    assert_eq!(bench.tip(), first);
    assert!(!Path::new(&bench.path("ran")).exists());
}

#[test]
fn addresses_run_nothing_and_hold_no_password() {
    for (text, shown) in [
        ("https://example.com/a.git", Some("https://example.com/a.git")),
        ("https://ann@example.com/a.git", Some("https://example.com/a.git")),
        ("git@example.com:a/b.git", Some("example.com:a/b.git")),
        ("ssh://git@example.com:2222/a.git", Some("ssh://example.com:2222/a.git")),
        ("/srv/notes.git", Some("/srv/notes.git")),
        ("file:///srv/notes.git", Some("file:///srv/notes.git")),
        ("http://localhost:3000/a.git", Some("http://localhost:3000/a.git")),
        ("https://ann:secret@example.com/a.git", None),
        ("http://example.com/a.git", None),
        ("git://example.com/a.git", None),
        ("ext::sh -c touch% ran", None),
        ("fd::17", None),
        ("-uhelper", None),
        ("--upload-pack=x", None),
        ("ssh://-oProxyCommand=x/a", None),
        ("-oProxyCommand=x:a", None),
        ("relative/path", None),
        ("", None),
        ("https://example.com/\na", None),
    ] {
        let parsed = Address::parse(text);
        assert_eq!(parsed.as_ref().ok().map(ToString::to_string).as_deref(), shown, "{text}: {parsed:?}");
    }
}

#[test]
fn words_are_masked_and_cut() {
    for (words, shown) in [
        ("fatal: https://ann:secret@example.com/a.git\n  no", "fatal: https://example.com/a.git no"),
        ("key glpat-abc_DEF-1, done", "key ***, done"),
        ("a\u{1b}[31mb", "a\u{fffd}[31mb"),
    ] {
        assert_eq!(program::masked(words), shown);
    }
    assert_eq!(program::masked(&"x".repeat(999)).chars().count(), 301);
}
