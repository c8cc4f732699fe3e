#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::{
    fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::testing::{GO_ON, Playground, commit, git};

/// Prepares a repository, with the expected rule of [`VcsError`] when it is opened; `None` if it opens.
type Case = (&'static str, Prepare, Option<&'static str>);

/// Makes a repository in the playground, and returns its path.
type Prepare = fn(&Playground) -> PathBuf;

const fn opens(name: &'static str, prepare: Prepare) -> Case {
    (name, prepare, None)
}

const fn refused(name: &'static str, rule: &'static str, prepare: Prepare) -> Case {
    (name, prepare, Some(rule))
}

const CASES: &[Case] = &[
    opens("a work tree", |place| place.init("ws/repo")),
    opens("a folder below its top", |place| {
        let top = place.init("ws/repo");
        fs::create_dir_all(top.join("src/deep")).expect("folders");
        top.join("src/deep")
    }),
    opens("a bare repository", |place| {
        place.init("ws/repo");
        git(&place.path("ws"), &["clone", "-q", "--bare", "repo", "bare"]);
        place.path("ws/bare")
    }),
    opens("a linked work tree beside its repository", |place| {
        let top = place.init("ws/repo");
        git(&top, &["worktree", "add", "-q", "../linked"]);
        place.path("ws/linked")
    }),
    opens("a linked work tree of a repository outside, which knows it", |place| {
        let top = place.init("outside/repo");
        git(&top, &["worktree", "add", "-q", "../../ws/linked"]);
        place.path("ws/linked")
    }),
    refused("a `.git` file that leads to a repository outside", "repository_outside", |place| {
        let top = place.init("outside/repo");
        with_git_file(place, format!("gitdir: {}/.git\n", top.display()))
    }),
    refused("a `.git` file that leads to another's linked work tree", "repository_outside", |place| {
        let top = place.init("outside/repo");
        git(&top, &["worktree", "add", "-q", "../linked"]);
        with_git_file(place, fs::read(place.path("outside/linked/.git")).expect("a file"))
    }),
    refused("a `.git` file that leads to nothing", "repository_outside", |place| {
        with_git_file(place, "gitdir: /no/such/folder\n")
    }),
    refused("a `.git` file that is none", "repository_missing", |place| {
        with_git_file(place, "something else")
    }),
    refused("a `commondir` outside", "repository_outside", |place| {
        let other = place.init("outside/repo");
        let top = place.init("ws/repo");
        fs::write(top.join(".git/commondir"), format!("{}/.git\n", other.display())).expect("a file");
        top
    }),
    opens("alternates inside", |place| {
        let other = place.init("ws/other");
        git(&place.path("ws"), &["clone", "-q", "--shared", &other.to_string_lossy(), "repo"]);
        place.path("ws/repo")
    }),
    refused("alternates outside", "repository_outside", |place| {
        let other = place.init("outside/repo");
        git(&place.path("ws"), &["clone", "-q", "--shared", &other.to_string_lossy(), "repo"]);
        place.path("ws/repo")
    }),
    refused("alternates outside, of alternates inside", "repository_outside", |place| {
        let far = place.init("outside/repo");
        git(&place.path("ws"), &["clone", "-q", "--shared", &far.to_string_lossy(), "near"]);
        git(&place.path("ws"), &["clone", "-q", "--shared", "near", "repo"]);
        place.path("ws/repo")
    }),
    opens("a submodule", |place| {
        let inner = place.init("ws/inner");
        let top = place.init("ws/repo");
        git(&top, &["submodule", "--quiet", "add", &inner.to_string_lossy(), "sub"]);
        top.join("sub")
    }),
    refused("no repository", "repository_missing", |place| place.path("ws")),
    refused("a repository around the workspace", "repository_missing", |place| {
        git(&place.at, &["init", "-q"]);
        place.path("ws")
    }),
    refused("SHA-256 objects", "repository_unsupported", |place| {
        git(&place.path("ws"), &["init", "-q", "--object-format=sha256", "repo"]);
        place.path("ws/repo")
    }),
    refused("references in a table", "repository_unsupported", |place| {
        let top = place.init("ws/repo");
        git(&top, &["config", "core.repositoryFormatVersion", "1"]);
        git(&top, &["config", "extensions.refStorage", "reftable"]);
        top
    }),
    opens("a clone without history", |place| {
        let other = place.init("ws/other");
        let url = format!("file://{}", other.display());
        git(&place.path("ws"), &["clone", "-q", "--depth", "1", &url, "repo"]);
        place.path("ws/repo")
    }),
    refused("a configuration that is none", "repository_damaged", |place| {
        let top = place.init("ws/repo");
        fs::write(top.join(".git/config"), "[core\n").expect("a file");
        top
    }),
    opens("a work tree that is configured to be outside", |place| {
        let top = place.init("ws/repo");
        git(&top, &["config", "core.worktree", &place.path("outside").to_string_lossy()]);
        top
    }),
];

#[cfg(unix)]
const WITH_LINKS: &[Case] = &[
    refused("a link to a git folder outside", "repository_special", |place| {
        let other = place.init("outside/repo");
        fs::create_dir(place.path("ws/repo")).expect("a folder");
        symlink(other.join(".git"), place.path("ws/repo/.git")).expect("a link");
        place.path("ws/repo")
    }),
    refused("a link to objects outside", "repository_special", |place| replaced(place, "objects")),
    refused("a link to references outside", "repository_special", |place| replaced(place, "refs")),
    refused("a link to a branch outside", "repository_special", |place| replaced(place, "refs/heads/main")),
    refused("a link to HEAD outside", "repository_special", |place| replaced(place, "HEAD")),
    refused("a link to the configuration outside", "repository_special", |place| replaced(place, "config")),
    opens("a link to hooks outside", |place| replaced(place, "hooks")),
    refused("a link as `commondir`", "repository_special", |place| {
        let top = place.init("ws/repo");
        fs::write(top.join("elsewhere"), "/outside").expect("a file");
        symlink("../elsewhere", top.join(".git/commondir")).expect("a link");
        top
    }),
    refused("a link as `alternates`", "repository_special", |place| {
        let top = place.init("ws/repo");
        fs::write(top.join("elsewhere"), "/outside").expect("a file");
        symlink("../../../elsewhere", top.join(".git/objects/info/alternates")).expect("a link");
        top
    }),
    refused("a pipe as HEAD", "repository_special", |place| {
        let top = place.init("ws/repo");
        fs::remove_file(top.join(".git/HEAD")).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(top.join(".git/HEAD")).status();
        assert!(made.expect("mkfifo runs").success());
        top
    }),
    refused("a link to objects inside", "repository_special", |place| {
        let top = place.init("ws/repo");
        fs::rename(top.join(".git/objects"), top.join("moved")).expect("moved");
        symlink("../moved", top.join(".git/objects")).expect("a link");
        top
    }),
    refused("alternates through a link", "repository_special", |place| {
        let other = place.init("ws/other");
        symlink(&other, place.path("ws/link")).expect("a link");
        let top = place.init("ws/repo");
        let alternates = format!("{}/.git/objects\n", place.path("ws/link").display());
        fs::write(top.join(".git/objects/info/alternates"), alternates).expect("a file");
        top
    }),
    refused("a device as packed references", "repository_special", |place| {
        let top = place.init("ws/repo");
        symlink("/dev/zero", top.join(".git/packed-refs")).expect("a link");
        top
    }),
    refused("a branch with 6 GB", "repository_special", |place| {
        let top = place.init("ws/repo");
        let branch = fs::File::create(top.join(".git/refs/heads/large")).expect("a file");
        branch.set_len(6_000_000_000).expect("it has holes");
        top
    }),
    refused("6,000 links, one to the next", "repository_special", |place| {
        let top = place.init("ws/repo");
        for number in 0..6000 {
            let folder = top.join(format!("chain/{number}"));
            fs::create_dir_all(&folder).expect("a folder");
            symlink(format!("../{}", number + 1), folder.join("next")).expect("a link");
        }
        symlink("../../chain/0", top.join(".git/refs/chain")).expect("a link");
        top
    }),
    refused("8,000 alternates, one of the next", "repository_too_large", |place| {
        let top = place.init("ws/repo");
        let objects = |number| match number {
            0 => top.join(".git/objects"),
            number => place.path(&format!("ws/chain/{number}")),
        };
        for number in 0..8000 {
            let info = objects(number).join("info");
            fs::create_dir_all(&info).expect("folders");
            let next = format!("{}\n", objects(number + 1).display());
            fs::write(info.join("alternates"), next).expect("a file");
        }
        fs::create_dir_all(objects(8000)).expect("a folder");
        top
    }),
];

/// Makes a folder whose `.git` is a file with this content.
fn with_git_file(place: &Playground, content: impl AsRef<[u8]>) -> PathBuf {
    let folder = place.path("ws/thief");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join(".git"), content).expect("a file");
    folder
}

/// Replaces a file or folder in the git folder of a repository by a link to that of another, outside.
#[cfg(unix)]
fn replaced(place: &Playground, name: &str) -> PathBuf {
    let other = place.init("outside/repo").join(".git").join(name);
    let top = place.init("ws/repo");
    let own = top.join(".git").join(name);
    if own.is_dir() {
        fs::remove_dir_all(&own).expect("removed");
    } else {
        fs::remove_file(&own).expect("removed");
    }
    symlink(other, own).expect("a link");
    top
}

fn check_case((name, prepare, expected): &Case) {
    let place = Playground::new();
    let at = prepare(&place);
    let opened = place.open(&at.to_string_lossy());
    let rule = opened.as_ref().err().map(VcsError::rule);
    assert_eq!(rule, *expected, "{name}: {opened:?}");
    if let Ok(repository) = opened {
        assert!(repository.path().starts_with(place.path("ws")), "{name}");
        let head = repository.revision("HEAD").unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(head.commit.to_string(), git(&at, &["rev-parse", "HEAD"]), "{name}");
    }
}

#[test]
fn nothing_of_a_repository_is_outside_of_the_workspaces() {
    CASES.iter().for_each(check_case);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_in_gits_folder_are_judged() {
    WITH_LINKS.iter().for_each(check_case);
}

#[test]
fn an_error_says_what_to_do_and_not_where_things_are() {
    let place = Playground::new();
    let other = place.init("outside/repo");
    git(&place.path("ws"), &["clone", "-q", "--shared", &other.to_string_lossy(), "repo"]);
    let error = place.open("repo").expect_err("it borrows objects").to_string();
    assert!(error.contains("keeps objects outside of the workspaces"), "{error}");
    assert!(error.contains("git repack -a -d"), "{error}");
    assert!(!error.contains("outside/repo"), "{error}");
    git(&place.path("ws/repo"), &["repack", "-q", "-a", "-d"]);
    fs::remove_file(place.path("ws/repo/.git/objects/info/alternates")).expect("removed");
    place.open("repo").expect("it has its own objects now");
}

#[test]
fn a_cancelled_caller_gets_no_repository() {
    let place = Playground::new();
    place.init("ws/repo");
    let at = place.workspaces.folder("repo").expect("a folder");
    let opened = GitRepository::open(&place.workspaces, &at, &|| true);
    assert_eq!(opened.expect_err("cancelled").rule(), "cancelled");
    commit(&place.path("ws/repo"), &[], "more");
    GitRepository::open(&place.workspaces, &at, GO_ON).expect("a repository");
}

#[test]
fn a_configuration_outside_is_not_read() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    fs::write(place.path("outside/config"), "[from]\n\toutside = yes\n").expect("a file");
    let included = place.path("outside/config");
    git(&top, &["config", "include.path", &included.to_string_lossy()]);
    assert_eq!(git(&top, &["config", "from.outside"]), "yes");
    let repository = place.open("repo").expect("a repository");
    assert!(repository.git.config_snapshot().string("from.outside").is_none());
}

/// Makes `ws/repo` with the branches `main` and `topic`, and a clone of it.
fn cloned(place: &Playground, options: &[&str]) -> GitRepository {
    let other = place.init("ws/repo");
    git(&other, &["config", "uploadpack.allowFilter", "true"]);
    git(&other, &["checkout", "-q", "-b", "topic"]);
    commit(&other, &[("file", Some("topic"))], "topic");
    git(&other, &["checkout", "-q", "main"]);
    commit(&other, &[("file", Some("main"))], "main");
    let url = format!("file://{}", other.display());
    let clone = ["clone", "-q", "--no-single-branch", "--no-checkout"];
    git(&place.path("ws"), &[&clone, options, &[&url, "clone"]].concat());
    place.open("clone").expect("a repository")
}

#[test]
fn a_clone_that_lacks_something_is_told_how_to_get_it() {
    for (options, remedy) in [(&["--depth", "1"][..], "--unshallow"), (&["--filter=blob:none"], "--refetch")]
    {
        let place = Playground::new();
        let repository = cloned(&place, options);
        let revision = |name| repository.revision(name).expect("a branch");
        let compared = repository.compare(&revision("topic"), &revision("main"), GO_ON);
        let error = compared.expect_err("something is missing");
        assert_eq!(error.rule(), "repository_incomplete", "{error}");
        assert!(error.to_string().contains(remedy), "{error}");
    }
    let place = Playground::new();
    let repository = cloned(&place, &[]);
    let revision = |name| repository.revision(name).expect("a branch");
    repository.compare(&revision("topic"), &revision("main"), GO_ON).expect("a whole clone has all of it");
}

/// Writes an object without compression, with any header. Returns its id.
fn write_object(top: &Path, id: &str, header: &str, content: &[u8]) -> String {
    let data = [header.as_bytes(), b"\0", content].concat();
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in &data {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    let size = (data.len() as u16).to_le_bytes();
    let negated = (!(data.len() as u16)).to_le_bytes();
    let stream = [&[0x78, 0x01, 0x01][..], &size, &negated, &data, &(b << 16 | a).to_be_bytes()].concat();
    let folder = top.join(".git/objects").join(&id[..2]);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(&id[2..]), stream).expect("an object");
    id.to_owned()
}

/// Returns the peak memory of the process, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[test]
fn a_header_that_claims_6_gb_costs_nothing() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    let ids = ["commit", "tree", "tag", "blob"].map(|kind| {
        let id = format!("{}{}", "ab".repeat(19), kind.len()) + "0";
        write_object(&top, &id[..40], &format!("{kind} 6000000000"), b"short")
    });
    let tree = git(&top, &["rev-parse", "HEAD^{tree}"]);
    let bytes = |id: &str| gix::ObjectId::from_hex(id.as_bytes()).expect("an id");
    let repository = place.open("repo").expect("a repository");
    for id in &ids {
        assert!(repository.revision(id).is_err(), "{id}");
        assert!(repository.tree_of(bytes(id)).is_err(), "{id}");
        let compared = crate::compare::tree::differences(&repository, bytes(&tree), bytes(id), GO_ON);
        assert!(compared.is_err(), "{id}");
    }
    assert!(peak_memory() < 1 << 30, "{} MiB", peak_memory() >> 20);
}

#[test]
fn a_commit_with_4_billion_paths_is_refused_within_a_budget() {
    use std::io::Write;
    let place = Playground::new();
    let top = place.init("ws/repo");
    let blob = git(&top, &["rev-parse", "HEAD:file"]);
    let mut entries = format!("100644 blob {blob}\ta\n100644 blob {blob}\tb\n");
    let mut tree = String::new();
    for _ in 0..32 {
        let mut made = std::process::Command::new("git")
            .arg("mktree")
            .current_dir(&top)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("git runs");
        made.stdin.take().expect("a pipe").write_all(entries.as_bytes()).expect("written");
        let made = made.wait_with_output().expect("it ends");
        tree = String::from_utf8(made.stdout).expect("an id").trim().to_owned();
        entries = format!("040000 tree {tree}\ta\n040000 tree {tree}\tb\n");
    }
    let bomb = git(&top, &["commit-tree", "-p", "HEAD", "-m", "bomb", &tree]);
    git(&top, &["branch", "bomb", &bomb]);
    let repository = place.open("repo").expect("a repository");
    let revision = |name| repository.revision(name).expect("a branch");
    let compared = repository.compare(&revision("main"), &revision("bomb"), GO_ON).map(drop);
    let searched = repository.search(&revision("bomb"), "nothing", 1, GO_ON).map(drop);
    for result in [compared, searched] {
        assert_eq!(result.expect_err("it is too large").rule(), "repository_too_large");
    }
    assert!(peak_memory() < 1 << 30, "{} MiB", peak_memory() >> 20);
}

/// Another program exchanges a part of git's folder after it was checked, and undoes that before the answer.
#[cfg(unix)]
#[test]
fn a_git_folder_that_is_exchanged_while_it_is_read_reveals_nothing() {
    let place = Playground::new();
    let outside = place.init("outside/repo");
    commit(&outside, &[("secret", Some("outside line\n"))], "secret");
    let top = place.init("ws/repo");
    commit(&top, &[("own", Some("inside line\n"))], "own");
    let at = place.workspaces.folder("repo").expect("a folder");
    for names in [
        &["/repo/.git"][..],
        &["/repo/.git/objects", "/repo/.git/refs"],
        &["/repo/.git/objects", "/repo/.git/refs/heads/main"],
        &["/repo"],
    ] {
        let paths = |name: &&str| {
            [format!("ws{name}"), format!("ws{name}-aside"), format!("outside{name}")]
                .map(|path| place.path(&path))
        };
        let mut tries = 0;
        let found = GitRepository::read(
            &place.workspaces,
            &at,
            GO_ON,
            |error| error,
            |repository| {
                tries += 1;
                if tries == 1 {
                    for [there, aside, other] in names.iter().map(paths) {
                        fs::rename(&there, aside).expect("moved away");
                        symlink(other, there).expect("a link");
                    }
                }
                let found = repository.search(&repository.revision("main")?, "line", 10, GO_ON);
                if tries == 1 {
                    for [there, aside, _] in names.iter().map(paths).rev() {
                        fs::remove_file(&there).expect("removed");
                        fs::rename(aside, there).expect("moved back");
                    }
                    let revealed = found.as_ref().expect("it was exchanged");
                    assert_eq!(revealed.lines[0].snippet, "outside line", "{names:?}: nothing was tried");
                }
                found
            },
        );
        let lines = found.expect("it can be read once it rests").lines;
        assert_eq!((tries, &*lines[0].snippet), (2, "inside line"), "{names:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_git_folder_that_never_rests_is_an_error() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    let at = place.workspaces.folder("repo").expect("a folder");
    let found = GitRepository::read(
        &place.workspaces,
        &at,
        GO_ON,
        |error| error,
        |_| {
            fs::write(top.join(".git/ORIG_HEAD"), "").expect("a file");
            fs::remove_file(top.join(".git/ORIG_HEAD")).expect("removed");
            Ok(())
        },
    );
    assert_eq!(found.expect_err("it changes").rule(), "repository_changing");
}
