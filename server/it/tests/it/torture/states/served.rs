//! The checks of a state, step by step.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabellion_conformance::{Target, WireError};

use super::{
    picture::{FileTree, Picture},
    scene::Scene,
};
use crate::support::{Server, edit, exited};

/// Returns the tools that change the document at `path`.
fn changes(path: &str) -> [(&'static str, Value); 3] {
    [
        ("write_markdown", json!({ "path": path, "content": "written\n" })),
        ("edit_markdown", edit(path, "append", "", "more\n")),
        ("delete_markdown", json!({ "path": path, "confirm": true })),
    ]
}

/// Checks that every tool works, and that a person can continue with git.
pub(super) fn as_any_other(scene: &Scene) {
    let mut server = scene.serve();
    reads(scene, &mut server);
    for (path, said) in scene.state.refused {
        is_refused(scene, &mut server, path, said);
    }
    let allowed = Allowed::new(scene);
    let first = Picture::capture(scene);
    let untracked: Vec<_> =
        first.status.lines().filter(|line| line.starts_with("??")).map(String::from).collect();
    let (mut before, mut last) = (first, Vec::new());
    for (path, (tool, request)) in scene.state.documents.iter().zip(in_turn(scene)) {
        let commit;
        (before, commit) = change(scene, &mut server, &allowed, before, (tool, path, request));
        last.retain(|(earlier, _)| earlier != path);
        last.push((*path, commit));
    }
    server.close();
    ran_nothing(scene);
    goes_on(scene, &untracked, &last);

    let mut server = scene.serve();
    let path = scene.state.documents[0];
    let request = json!({ "path": path, "content": "again\n" });
    let before = Picture::capture(scene);
    change(scene, &mut server, &allowed, before, ("write_markdown", path, request));
    server.close();
    if !scene.state.damaged {
        scene.git("fsck --strict --no-dangling --no-progress");
    }
}

/// Returns a creation, an edit and a deletion.
fn in_turn(scene: &Scene) -> [(&'static str, Value); 3] {
    let [new, edited, gone] = scene.state.documents;
    let [create, ..] = changes(new);
    let [_, edit, _] = changes(edited);
    let [.., delete] = changes(gone);
    [create, edit, delete]
}

/// Checks that only reading works.
pub(super) fn only_reads(scene: &Scene) {
    let mut server = scene.serve();
    reads(scene, &mut server);
    for (path, said) in scene.state.refused {
        is_refused(scene, &mut server, path, said);
    }
    server.close();
    ran_nothing(scene);
}

fn ran_nothing(scene: &Scene) {
    let name = scene.state.name;
    assert!(!scene.canary().exists(), "{name}: a configured program ran");
}

/// Checks that the server does not start, with the expected message.
pub(super) fn does_not_start(scene: &Scene, said: &str) {
    let name = scene.state.name;
    let before = FileTree::read(scene);
    let mut target = Target::start(&mut scene.server()).expect("started");
    assert!(
        matches!(target.initialize("2025-11-25"), Err(WireError::Closed | WireError::Io(_))),
        "{name}: it serves"
    );
    let status = exited(target);
    assert_eq!(status.code(), Some(1), "{name}");
    assert!(scene.said().contains(said), "{name}: {}", scene.said());
    assert_eq!(FileTree::read(scene).changed_since(&before), <[PathBuf; 0]>::default(), "{name}");
}

/// Checks that reading, listing, searching and the log work, and change nothing.
fn reads(scene: &Scene, server: &mut Server) {
    let name = scene.state.name;
    let before = FileTree::read(scene);
    for path in scene.state.documents {
        let read = server.call("read_markdown", json!({ "path": path }));
        let content = read.ok().map(|read| read["content"].as_str().unwrap_or_default().to_owned());
        assert_eq!(content, scene.get(path), "{name}: {path}");
    }
    for (tool, request) in [
        ("list_markdown_files", json!({ "path": "", "recursive": true })),
        ("search_markdown", json!({ "query": "A" })),
        ("get_markdown_activity_log", json!({})),
    ] {
        let answer = server.call(tool, request);
        assert!(answer.is_ok(), "{name}: {tool}: {answer:?}");
    }
    assert_eq!(FileTree::read(scene).changed_since(&before), <[PathBuf; 0]>::default(), "{name}");
}

/// Checks that each tool refuses to change the document with the expected message, and that nothing changes.
fn is_refused(scene: &Scene, server: &mut Server, path: &str, said: &str) {
    let name = scene.state.name;
    let before = FileTree::read(scene);
    let exists = scene.get(path).is_some();
    for (tool, request) in changes(path) {
        // A missing document leads to a different refusal.
        if !exists && tool != "write_markdown" {
            continue;
        }
        let refusal = match server.call(tool, request) {
            Err(refusal) => refusal,
            Ok(answer) => panic!("{name}: {tool} changed {path}: {answer}"),
        };
        assert!(refusal.message.contains(said), "{name}: {path}: {tool}: {refusal:?}");
        let mut changed = FileTree::read(scene).changed_since(&before);
        if refusal.name == "BUSY" {
            // The server detects a held lock only after it wrote the objects.
            changed.retain(|path| !path.components().any(|part| part.as_os_str() == "objects"));
        }
        assert_eq!(changed, <[PathBuf; 0]>::default(), "{name}: {path}: {tool}");
    }
}

/// Makes one change and compares it with the disk: one commit that changes the document alone, one matching log entry, and
/// no other difference. Returns the new state, and the commit.
fn change(
    scene: &Scene,
    server: &mut Server,
    allowed: &Allowed,
    before: Picture,
    (tool, path, request): (&str, &str, Value),
) -> (Picture, String) {
    let name = format!("{}: {tool} {path}", scene.state.name);
    let answer = server.call(tool, request).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
    let commit = answer["git_commit_sha"].as_str().expect("a commit").to_owned();
    let after = Picture::capture(scene);
    let added = after.commits.len() - before.commits.len();
    assert_eq!(after.commits[..added], [commit.as_str()], "{name}: exactly one commit");
    assert_eq!(after.commits[added..], before.commits, "{name}");
    let shown = scene.git(&format!("show --format=%an --name-only --no-renames {commit}"));
    let (author, touched) = shown.split_once('\n').expect("an author");
    assert_eq!(touched.trim(), format!("{}{path}", allowed.prefix), "{name}");
    assert_ne!(author, "Environment", "{name}: its author");
    assert_eq!(after.status, before.status, "{name}");
    let others = |index: &[String]| -> Vec<String> {
        let ours = format!("\t{path}");
        index.iter().filter(|line| !line.ends_with(&ours)).cloned().collect()
    };
    assert_eq!(others(&after.index), others(&before.index), "{name}: other entries");
    for changed in after.things.changed_since(&before.things) {
        assert!(allowed.has(&changed, path), "{name}: {} changed", changed.display());
    }
    let log = server.call("get_markdown_activity_log", json!({ "limit": 1 })).expect("a log");
    let entry = &log["entries"][0];
    assert_eq!((&entry["path"], &entry["git_commit_sha"]), (&json!(path), &json!(commit)), "{name}");
    (after, commit)
}

/// The files that a change may touch.
struct Allowed {
    /// The library's path in the repository.
    prefix: String,
    /// The library's path below `$T`.
    library: PathBuf,
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Allowed {
    fn new(scene: &Scene) -> Self {
        let top = scene.top().canonicalize().expect("a folder");
        let below = |path: &Path| {
            let path = path.canonicalize().expect("a folder");
            path.strip_prefix(&top).expect("a folder in the scene").to_owned()
        };
        let [prefix, own, common, branch] = scene.parts([
            "git rev-parse --show-prefix",
            "git rev-parse --absolute-git-dir",
            "git rev-parse --path-format=absolute --git-common-dir",
            "git symbolic-ref HEAD",
        ]);
        let (own, common) = (below(Path::new(own.trim())), below(Path::new(common.trim())));
        let branch = common.join(branch.trim());
        let mut files = vec![
            own.join("index"),
            own.join("logs"),
            own.join("logs/HEAD"),
            common.join("logs"),
            common.join("logs/refs"),
        ];
        files.extend(branch.ancestors().take(3).map(Path::to_owned));
        Self {
            prefix: prefix.trim().to_owned(),
            library: below(&scene.library()),
            files,
            folders: vec![common.join("objects"), common.join("logs/refs/heads")],
        }
    }

    fn has(&self, changed: &Path, document: &str) -> bool {
        self.library.join(document).starts_with(changed)
            || self.files.iter().any(|file| file == changed)
            || self.folders.iter().any(|folder| changed.starts_with(folder))
    }
}

/// Checks that a person can commit their work, switch branches, and pack, without losing the server's changes. Afterwards
/// only the `untracked` files are uncommitted.
fn goes_on(scene: &Scene, untracked: &[String], last: &[(&str, String)]) {
    let name = scene.state.name;
    let [_, touched, _, _, status] = scene.parts([
        "git -c commit.gpgSign=false commit -qam 'by a person'",
        "git diff-tree --root --no-commit-id -r --name-only HEAD",
        "branch=$(git branch --show-current); git switch -q -c later; git switch -q \"$branch\"",
        if scene.state.damaged { "" } else { "git gc -q --prune=now" },
        "git status --porcelain --untracked-files=all",
    ]);
    let ours = |touched: &str| scene.state.documents.iter().any(|path| touched.ends_with(path));
    assert!(!touched.lines().any(ours), "{name}: the person's commit has {touched}");
    assert_eq!(status.lines().collect::<Vec<_>>(), untracked, "{name}: after the person went on");
    for (path, commit) in last {
        let now = scene.git(&format!("rev-list -1 HEAD -- '{path}'"));
        assert_eq!(now.trim(), commit, "{name}: {path}");
    }
}
