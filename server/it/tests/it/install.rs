//! `install`, `uninstall` and `clients`, with a temporary home folder.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;
use tempfile::TempDir;
use walkdir::DirEntry;

use crate::support::{TABELLION, below, ended};

/// A home folder with a library, `notes`.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(TempDir::new().expect("a temporary folder"));
        home.put("my \"notes\" ä/a.md", "# A\n");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn get(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Runs the program; returns its exit code, standard output and standard error, with `~` for the home folder.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(TABELLION);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.0.path());
        let (code, out, said) = ended(&mut command);
        let shown = |text: String| text.replace(&*self.0.path().to_string_lossy(), "~");
        (code, shown(out), shown(said))
    }

    /// Returns all files of `folder` with their content.
    fn files(&self, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = below(&self.path(folder)).map(DirEntry::into_path).filter(|path| !path.is_dir());
        let mut files: Vec<_> = paths.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
        files.sort();
        files
    }
}

const LIBRARY: &str = "my \"notes\" ä";

#[test]
fn clients_that_are_found_get_an_entry_that_starts_and_lose_it_again() {
    let home = Home::new();
    home.put(".config/zed/settings.json", "// mine\r\n{\r\n\t\"vim\": true,\r\n}");
    home.put(".codex/config.toml", "model = 'x'");
    home.put(".config/goose/config.yaml", "extensions:\n  # dev\n  developer: {enabled: true}\n");
    let before = [home.files(".config"), home.files(".codex")];
    let all = |arguments: &[&str]| home.run(&[&["install", "--library", LIBRARY], arguments].concat());

    let (code, _, refused) = all(&[]);
    assert_eq!(code, Some(1));
    assert!(refused.contains("`--yes` for all that are found: zed, codex, goose"), "{refused}");
    let (code, diff, _) = all(&["--yes", "--dry-run"]);
    assert_eq!(code, Some(0));
    assert!(diff.contains("+[mcp_servers.tabellion]\n") && diff.contains(" \t\"vim\": true,\r\n"), "{diff}");
    assert_eq!([home.files(".config"), home.files(".codex")], before);

    let (code, said, error) = all(&["--yes"]);
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(said.matches("it starts and answers with 8 tools").count(), 3, "{said}");
    assert_eq!(all(&["--yes"]).1.matches("is already in").count(), 3);
    let (_, listed, _) = home.run(&["clients", "--json"]);
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let having = listed.as_array().expect("a list").iter();
    let having = having.filter(|client| client["entries"] == serde_json::json!(["tabellion"]));
    assert_eq!(having.count(), 3, "{listed}");

    let (code, said, _) = home.run(&["uninstall"]);
    assert_eq!((code, said.matches(": removed `tabellion` from `~/").count()), (Some(0), 3));
    assert_eq!([home.files(".config"), home.files(".codex")], before);
    let (code, _, error) = home.run(&["uninstall"]);
    assert!(code == Some(1) && error.contains("no client has an entry `tabellion`"), "{error}");
}

#[test]
fn an_entry_that_does_not_work_is_taken_back() {
    let home = Home::new();
    home.put(".cursor/mcp.json", "{}");
    for (arguments, part) in [
        (
            &["--library", LIBRARY, "--contract", "safe-markdown-editor"][..],
            "it wrote to standard error:\nerror: contract `safe-markdown-editor` works on one document",
        ),
        (&["--http", "http://127.0.0.1:9/mcp"], "is the server running?"),
        (&["--http", "notes"], "not a URL"),
    ] {
        let (code, said, error) = home.run(&[&["install", "cursor"], arguments].concat());
        assert_eq!((code, said), (Some(1), String::new()), "{error}");
        assert!(error.contains("`~/.cursor/mcp.json` is as before"), "{error}");
        assert!(error.contains(part), "{error}");
        assert_eq!(home.files(".cursor").len(), 1);
        assert_eq!(home.get(".cursor/mcp.json"), "{}");
    }
}

#[test]
fn wrong_arguments_are_refused_with_advice() {
    let home = Home::new();
    home.put(".cursor/mcp.json", "[]");
    for (arguments, code, part) in [
        (&["install", "cursor"][..], 2, "--library <DIR>"),
        (&["install", "cursr", "--library", LIBRARY], 2, "a similar value exists: 'cursor'"),
        (&["install", "cursor", "--library", LIBRARY, "--key", "k"], 2, "`--key` is for `--http`"),
        (&["install", "cursor", "--library", LIBRARY, "--name", "a b"], 2, "a name has 1 to 64 letters"),
        (&["install", "cursor", "--library", "."], 1, "is your home folder; choose a folder of notes"),
        (&["install", "cursor", "--library", "a/b"], 1, "`~/a/b` does not exist"),
        (&["install", "--yes", "--library", LIBRARY], 1, "line 1: the whole document should be a map"),
        (&["install", "claude-desktop", "--http", "http://x/mcp"], 1, "use `--library` instead of `--http`"),
        (&["install", "windsurf", "--library", LIBRARY, "--project"], 1, "omit `--project`"),
    ] {
        let (found, said, error) = home.run(arguments);
        assert_eq!((found, said), (Some(code), String::new()), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
        assert_eq!(home.files(".cursor").len(), 1);
    }
}

#[test]
fn a_project_has_files_of_its_own() {
    let home = Home::new();
    fs::create_dir(home.path("work")).expect("a folder");
    let arguments = ["--library", LIBRARY, "--project=work", "--name", "notes"];
    let (code, _, error) = home.run(&[&["install", "vscode", "continue"], &arguments[..]].concat());
    assert_eq!(code, Some(0), "{error}");
    let entry: Value = serde_json::from_str(&home.get("work/.vscode/mcp.json")).expect("JSON");
    assert_eq!(entry["servers"]["notes"]["type"], "stdio");
    assert!(home.get("work/.continue/mcpServers/notes.yaml").starts_with("name: Local\n"));
    let (code, ..) = home.run(&["uninstall", "--project=work", "--name", "notes"]);
    assert_eq!(code, Some(0));
    assert_eq!(fs::read_dir(home.path("work")).expect("a folder").count(), 0);
}
