use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;

use super::*;

/// The folders of a test: workspaces `ws` and `ws/inner`, a neighbour with the same prefix, and a folder that must not be seen.
struct Places {
    _folder: tempfile::TempDir,
    at: PathBuf,
    workspaces: Workspaces,
}

fn places() -> Places {
    let folder = tempfile::tempdir().expect("a folder");
    let at = platform::canonicalize(folder.path()).expect("a path");
    for path in ["ws/src/deep", "ws/inner", "ws/a..b", "ws-beside", "secret/folder"] {
        fs::create_dir_all(at.join(path)).expect("folders");
    }
    for path in ["ws/src/main.rs", "ws/..name", "ws/inner/file", "ws-beside/file", "secret/file"] {
        fs::write(at.join(path), "text").expect("a file");
    }
    #[cfg(unix)]
    for (target, link) in [
        ("src", "ws/to-src"),
        ("../secret", "ws/to-secret"),
        ("../secret/file", "ws/to-file"),
        ("../secret/nothing", "ws/to-nothing"),
        ("to-itself", "ws/to-itself"),
        ("src/../../secret", "ws/winding"),
        ("ws/src", "into"),
        ("../ws-beside/../ws/src", "ws/out-and-in"),
    ] {
        symlink(target, at.join(link)).expect("a link");
    }
    let roots = [at.join("ws"), at.join("ws/inner")];
    let workspaces = Workspaces::new(&roots, &at.join("ws")).expect("workspaces");
    Places { _folder: folder, at, workspaces }
}

#[test]
fn a_path_is_judged_by_where_it_leads() {
    let places = places();
    let top = places.at.display();
    let absolute = |path: &str| format!("{top}/{path}");
    let mut cases = vec![
        (".".to_owned(), Ok("ws")),
        ("src".into(), Ok("ws/src")),
        ("./src//deep/".into(), Ok("ws/src/deep")),
        ("src/main.rs".into(), Ok("ws/src/main.rs")),
        ("a..b".into(), Ok("ws/a..b")),
        ("..name".into(), Ok("ws/..name")),
        ("inner/file".into(), Ok("ws/inner/file")),
        (absolute("ws"), Ok("ws")),
        (absolute("ws/src"), Ok("ws/src")),
        (String::new(), Err("path_empty")),
        ("src\0".into(), Err("path_nul")),
        ("..".into(), Err("path_parent_segment")),
        ("src/../src".into(), Err("path_parent_segment")),
        ("../ws/src".into(), Err("path_parent_segment")),
        (absolute("ws/../secret"), Err("path_parent_segment")),
        (absolute(""), Err("path_outside")),
        (absolute("secret"), Err("path_outside")),
        (absolute("secret/file"), Err("path_outside")),
        (absolute("secret/nothing"), Err("path_outside")),
        (absolute("secret/file/below"), Err("path_outside")),
        (absolute("nothing/at/all"), Err("path_outside")),
        (absolute("ws-beside/file"), Err("path_outside")),
        ("/".into(), Err("path_outside")),
        ("nothing".into(), Err("path_missing")),
        ("nothing/below".into(), Err("path_missing")),
        ("src/main.rs/below".into(), Err("path_missing")),
        ("~".into(), Err("path_missing")),
    ];
    if cfg!(unix) {
        cases.extend([
            ("/etc/passwd".into(), Err("path_outside")),
            ("/etc/nothing".into(), Err("path_outside")),
            ("to-src/deep".into(), Ok("ws/src/deep")),
            ("out-and-in".into(), Ok("ws/src")),
            (absolute("into/deep"), Ok("ws/src/deep")),
            ("to-secret".into(), Err("path_outside")),
            ("to-secret/file".into(), Err("path_outside")),
            ("to-secret/nothing".into(), Err("path_outside")),
            ("to-file".into(), Err("path_outside")),
            ("to-file/below".into(), Err("path_outside")),
            ("to-nothing".into(), Err("path_outside")),
            ("to-nothing/below".into(), Err("path_outside")),
            ("to-itself".into(), Err("path_outside")),
            ("winding/file".into(), Err("path_outside")),
            ("src\\..\\main.rs".into(), Err("path_missing")),
        ]);
    }
    for (path, expected) in cases {
        let found = places.workspaces.resolve(&path);
        let found = found.map(|found| found.path().to_owned());
        let found = found.as_ref().map_err(WorkspacePathError::rule);
        let expected = expected.map(|path| places.at.join(path));
        assert_eq!(found, expected.as_ref().map_err(|rule| *rule), "{path:?}");
    }
}

#[test]
fn an_error_does_not_tell_whether_something_outside_exists() {
    let places = places();
    for (one, other) in [("secret/file", "secret/none"), ("secret/folder/a", "nothing/else/a")] {
        let error = |path: &str| {
            let path = format!("{}/{path}", places.at.display());
            let error = places.workspaces.resolve(&path).expect_err("it is outside");
            error.to_string().replace(&path, "PATH")
        };
        assert_eq!(error(one), error(other));
    }
}

#[test]
fn a_path_knows_its_innermost_workspace() {
    let places = places();
    for (path, root, relative) in [
        (".", "ws", ""),
        ("src/deep", "ws", "src/deep"),
        ("inner", "ws/inner", ""),
        ("inner/file", "ws/inner", "file"),
    ] {
        let found = places.workspaces.resolve(path).expect(path);
        assert_eq!(found.root(), places.at.join(root), "{path}");
        assert_eq!(found.relative(), Path::new(relative), "{path}");
    }
}

#[test]
fn files_and_folders_are_told_apart() {
    let places = places();
    let workspaces = &places.workspaces;
    for (path, as_folder, as_file) in [
        ("src", None, Some("path_not_file")),
        ("src/main.rs", Some("path_not_folder"), None),
        ("nothing", Some("path_missing"), Some("path_missing")),
    ] {
        let rule = |found: Result<_, WorkspacePathError>| found.err().map(|error| error.rule());
        assert_eq!(rule(workspaces.folder(path)), as_folder, "{path}");
        assert_eq!(rule(workspaces.file(path)), as_file, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_put_there_after_the_judgement_is_not_followed() {
    let places = places();
    let file = places.workspaces.file("src/main.rs").expect("a file");
    assert!(file.open().is_ok());
    fs::rename(places.at.join("ws/src"), places.at.join("ws/moved")).expect("moved");
    symlink("../secret", places.at.join("ws/src")).expect("a link");
    fs::write(places.at.join("secret/main.rs"), "secret").expect("a file");
    assert!(matches!(file.open(), Err(OpenError::Symlink)));
}

/// Keys and rows are the server's, wherever its folder is.
#[test]
fn own_files_and_folders_are_in_no_workspace() {
    let places = places();
    let own = ["src/keys.json", "src/deep", "."].map(|path| places.at.join("ws").join(path));
    let workspaces = places.workspaces.clone().without(own);
    assert_eq!(workspaces.own(&places.at.join("ws")), ["src/keys.json", "src/deep"]);
    fs::write(places.at.join("ws/src/keys.json"), "{}").expect("a file");
    for path in ["src/keys.json", "src/deep"] {
        assert!(matches!(workspaces.resolve(path), Err(WorkspacePathError::Outside(_))), "{path}");
    }
    assert!(workspaces.resolve("src").is_ok());
}

#[test]
fn without_folders_the_work_tree_around_the_working_directory_is_the_workspace() {
    let places = places();
    for (git, expected) in [(false, "ws/src/deep"), (true, "ws")] {
        if git {
            fs::create_dir(places.at.join("ws/.git")).expect("a folder");
        }
        let found = Workspaces::new(&[], &places.at.join("ws/src/deep")).expect("a workspace");
        assert_eq!(found.roots(), [places.at.join(expected)]);
    }
    let root = places.at.ancestors().last().expect("a root");
    assert!(Workspaces::new(&[], root).expect("no workspace").roots().is_empty());
    let relative = Workspaces::new(&["../inner".into()], &places.at.join("ws/src")).expect("a workspace");
    assert_eq!(relative.roots(), [places.at.join("ws/inner")]);
    for path in ["nothing", "src/main.rs"] {
        let error = Workspaces::new(&[path.into()], &places.at.join("ws")).expect_err(path);
        let said = error.to_string();
        assert!(said.starts_with(&format!("can't use `{path}` as a workspace: ")), "{said}");
        assert!(said.ends_with("; name an existing folder"), "{said}");
    }
}
