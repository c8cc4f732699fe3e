//! What is expected of a state, step by step.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabellion_conformance::{Target, WireError};

use super::{picture::Picture, scene::Scene};
use crate::support::{Server, edit};

/// Each tool that changes, on the document at `path`.
fn changes(path: &str) -> [(&'static str, Value); 3] {
    [
        ("write_markdown", json!({ "path": path, "content": "written\n" })),
        ("edit_markdown", edit(path, "append", "", "more\n")),
        ("delete_markdown", json!({ "path": path, "confirm": true })),
    ]
}

/// Every tool works, and a person goes on with git.
pub(super) fn as_any_other(scene: &Scene) {
    let first = Picture::of(scene);
    let mut server = scene.serve();
    reads(scene, &mut server);
    for (path, said) in scene.state.refused {
        is_refused(scene, &mut server, path, said);
    }
    let mut last = Vec::new();
    for (path, (tool, request)) in scene.state.documents.iter().zip(in_turn(scene)) {
        last.retain(|(earlier, _)| earlier != path);
        last.push((*path, change(scene, &mut server, tool, path, request)));
    }
    is_sound(scene);
    server.close();
    assert!(
        !scene.canary().exists(),
        "{}: a configured program ran",
        scene.state.name
    );
    goes_on(scene, &first, &last);

    let mut server = scene.serve();
    let path = scene.state.documents[0];
    let request = json!({ "path": path, "content": "again\n" });
    change(scene, &mut server, "write_markdown", path, request);
    server.close();
    is_sound(scene);
}

/// A creation, an edit and a deletion.
fn in_turn(scene: &Scene) -> [(&'static str, Value); 3] {
    let [new, edited, gone] = scene.state.documents;
    let [create, ..] = changes(new);
    let [_, edit, _] = changes(edited);
    let [.., delete] = changes(gone);
    [create, edit, delete]
}

/// Only reading works.
pub(super) fn only_reads(scene: &Scene) {
    let mut server = scene.serve();
    reads(scene, &mut server);
    for (path, said) in scene.state.refused {
        is_refused(scene, &mut server, path, said);
    }
    server.close();
    assert!(
        !scene.canary().exists(),
        "{}: a configured program ran",
        scene.state.name
    );
}

/// The server ends at once, and says why.
pub(super) fn does_not_start(scene: &Scene, said: &str) {
    let name = scene.state.name;
    let before = Picture::of(scene);
    let mut target = Target::start(&mut scene.server()).expect("started");
    assert!(
        matches!(
            target.initialize("2025-11-25"),
            Err(WireError::Closed | WireError::Io(_))
        ),
        "{name}: it serves"
    );
    let status = target.close().expect("an end");
    assert_eq!(status.code(), Some(1), "{name}");
    assert!(scene.said().contains(said), "{name}: {}", scene.said());
    assert_eq!(
        Picture::of(scene).changed_since(&before),
        <[PathBuf; 0]>::default(),
        "{name}"
    );
}

/// Reading, listing, searching and the log work, and change nothing.
fn reads(scene: &Scene, server: &mut Server) {
    let name = scene.state.name;
    let before = Picture::of(scene);
    for path in scene.state.documents {
        let read = server.call("read_markdown", json!({ "path": path }));
        let content = read
            .ok()
            .map(|read| read["content"].as_str().unwrap_or_default().to_owned());
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
    assert_eq!(
        Picture::of(scene).changed_since(&before),
        <[PathBuf; 0]>::default(),
        "{name}"
    );
}

/// No tool changes the document, each says why, and everything stays as it is.
fn is_refused(scene: &Scene, server: &mut Server, path: &str, said: &str) {
    let name = scene.state.name;
    let before = Picture::of(scene);
    let exists = scene.get(path).is_some();
    for (tool, request) in changes(path) {
        // What is not there is missed before anything else.
        if !exists && tool != "write_markdown" {
            continue;
        }
        let refusal = match server.call(tool, request) {
            Err(refusal) => refusal,
            Ok(answer) => panic!("{name}: {tool} changed {path}: {answer}"),
        };
        assert!(
            refusal.message.contains(said),
            "{name}: {path}: {tool}: {refusal:?}"
        );
        let after = Picture::of(scene);
        let mut changed = after.changed_since(&before);
        if refusal.name == "BUSY" {
            // Who holds a lock is seen only after the objects were written.
            changed.retain(|path| !path.components().any(|part| part.as_os_str() == "objects"));
        }
        assert_eq!(changed, <[PathBuf; 0]>::default(), "{name}: {path}: {tool}");
        assert_eq!(after.status, before.status, "{name}: {path}: {tool}");
    }
}

/// Makes one change and holds it against the disk: one commit that touches the document alone, one log entry that agrees
/// with it, and nothing else anywhere. Returns the commit.
fn change(scene: &Scene, server: &mut Server, tool: &str, path: &str, request: Value) -> String {
    let name = format!("{}: {tool} {path}", scene.state.name);
    let before = Picture::of(scene);
    let answer = server
        .call(tool, request)
        .unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
    let commit = answer["git_commit_sha"].as_str().expect("a commit").to_owned();
    let after = Picture::of(scene);
    let added = after.commits.len() - before.commits.len();
    assert_eq!(
        after.commits[..added],
        [commit.as_str()],
        "{name}: exactly one commit"
    );
    assert_eq!(after.commits[added..], before.commits, "{name}");
    let touched = scene.touched_by(&commit);
    assert_eq!(touched, [path], "{name}");
    let author = scene.git(&format!("log -1 --format=%an {commit}"));
    assert_ne!(author.trim(), "Environment", "{name}: its author");
    assert_eq!(after.status, before.status, "{name}");
    let others = |index: &str| -> Vec<String> {
        let ours = format!("\t{path}");
        index
            .lines()
            .filter(|line| !line.ends_with(&ours))
            .map(String::from)
            .collect()
    };
    assert_eq!(
        others(&after.index),
        others(&before.index),
        "{name}: other entries"
    );
    let allowed = Allowed::of(scene, path);
    for changed in after.changed_since(&before) {
        assert!(allowed.has(&changed), "{name}: {} changed", changed.display());
    }
    let log = server
        .call("get_markdown_activity_log", json!({ "limit": 1 }))
        .expect("a log");
    let entry = &log["entries"][0];
    assert_eq!(
        (&entry["path"], &entry["git_commit_sha"]),
        (&json!(path), &json!(commit)),
        "{name}"
    );
    commit
}

/// What a change may touch.
struct Allowed {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Allowed {
    fn of(scene: &Scene, path: &str) -> Self {
        let top = scene.top();
        let below = |path: &str| {
            let path = Path::new(path.trim()).canonicalize().expect("a folder");
            let top = top.canonicalize().expect("a folder");
            path.strip_prefix(top).expect("a folder in the scene").to_owned()
        };
        let own = below(&scene.git("rev-parse --absolute-git-dir"));
        let common = below(&scene.git("rev-parse --path-format=absolute --git-common-dir"));
        let branch = scene.git("symbolic-ref HEAD");
        let document = below(scene.library().to_str().expect("UTF-8")).join(path);
        let mut files: Vec<_> = document.ancestors().map(Path::to_owned).collect();
        files.extend([
            own.join("index"),
            own.join("logs"),
            own.join("logs/HEAD"),
            common.join("logs"),
            common.join("logs/refs"),
        ]);
        let branch = common.join(branch.trim());
        files.extend(branch.ancestors().take(3).map(Path::to_owned));
        Self {
            files,
            folders: vec![common.join("objects"), common.join("logs/refs/heads")],
        }
    }

    fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|file| file == path)
            || self.folders.iter().any(|folder| path.starts_with(folder))
    }
}

fn is_sound(scene: &Scene) {
    if !scene.state.damaged {
        scene.git("fsck --strict --no-dangling --no-progress");
    }
}

/// A person commits what they had, switches branches, and packs; nothing of ours is undone by that.
fn goes_on(scene: &Scene, first: &Picture, last: &[(&str, String)]) {
    let name = scene.state.name;
    let untracked = |status: &str| -> Vec<String> {
        status
            .lines()
            .filter(|line| line.starts_with("??"))
            .map(String::from)
            .collect()
    };
    scene.git("-c commit.gpgSign=false commit -qam 'by a person'");
    let touched = scene.touched_by("HEAD");
    assert!(
        !touched
            .iter()
            .any(|path| scene.state.documents.contains(&&**path)),
        "{name}: the person's commit has {touched:?}"
    );
    let branch = scene.git("branch --show-current");
    scene.git("switch -q -c later");
    scene.git(&format!("switch -q {branch}"));
    if !scene.state.damaged {
        scene.git("gc -q --prune=now");
    }
    let status = scene.git("status --porcelain --untracked-files=all");
    assert_eq!(
        status.lines().collect::<Vec<_>>(),
        untracked(&first.status),
        "{name}: after the person went on"
    );
    for (path, commit) in last {
        assert_eq!(
            scene.git(&format!("rev-list -1 HEAD -- '{path}'")).trim(),
            commit,
            "{name}: {path}"
        );
    }
}
