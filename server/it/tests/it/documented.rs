//! Sessions at a terminal in the documentation: each command is run, and its output compared with the document's.

use std::{
    fs,
    io::Write as _,
    net::TcpListener,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::TABELLION;

/// Separates the output of commands.
const MARK: &str = "--- the next command ---";
/// Placeholder for any text in the output.
const LEFT_OUT: char = '…';

/// A command and its output.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) says: String,
}

/// Returns the commands of the sessions in a document.
pub(crate) fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![];
    let mut is_within = false;
    for line in document.lines() {
        match (is_within, line) {
            (false, "```console") => is_within = true,
            (true, "```") => is_within = false,
            (true, line) => match line.strip_prefix("$ ") {
                Some(command) => steps.push(Step { command: command.to_owned(), says: String::new() }),
                None => {
                    let step = steps.last_mut().expect("a session begins with a command");
                    step.says += line;
                    step.says += "\n";
                }
            },
            (false, _) => {}
        }
    }
    steps
}

/// Returns a text with one letter for each id, commit and time: they differ each time.
fn comparable(text: &str) -> String {
    let mut comparable = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_id =
            |c: char| c.is_ascii_hexdigit() || c == '-' || c == ':' || c == 'T' || c == 'Z' || c == '.';
        let end = rest.find(|c| !is_id(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        if word.len() >= 16 && word.chars().filter(char::is_ascii_digit).count() >= 6 {
            comparable.push('#');
            rest = &rest[end..];
        } else if end > 0 {
            comparable += word;
            rest = &rest[end..];
        } else {
            comparable.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    comparable
}

/// Returns true if `found` has all parts of `documented`, in their order and at both ends.
pub(crate) fn agrees(documented: &str, found: &str) -> bool {
    let (documented, found) = (comparable(documented.trim_end()), comparable(found.trim_end()));
    let parts: Vec<_> = documented.split(LEFT_OUT).collect();
    let mut rest = found.as_str();
    for (at, part) in parts.iter().enumerate() {
        // A document may leave out the end of a line alone.
        let part = part.trim_end();
        match rest.find(part) {
            Some(0) => rest = &rest[part.len()..],
            Some(place) if at > 0 => rest = &rest[place + part.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || documented.ends_with(LEFT_OUT)
}

fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs the commands in one shell, in an empty folder; returns the output of each.
pub(crate) fn run(steps: &[Step], folder: &Path, variables: &[(&str, &str)]) -> Vec<String> {
    let programs = folder.join("programs");
    fs::create_dir(&programs).expect("a folder");
    symlink(TABELLION, programs.join("tabellion")).expect("a link");
    let work = folder.join("work");
    fs::create_dir(&work).expect("a folder");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("its address").port().to_string();
    drop(free);
    // Standard error is part of a session.
    let mut script = String::from("exec 2>&1\n");
    for step in steps {
        script += &step.command.replace("8000", &port);
        script += &format!("\necho '{MARK}'\n");
    }
    script += "kill %1 2> /dev/null\n";
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell
        .current_dir(&work)
        .env("PATH", format!("{}:{path}", programs.display()))
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut shell = shell.spawn().expect("a shell");
    let mut input = shell.stdin.take().expect("its input");
    input.write_all(script.as_bytes()).expect("written");
    drop(input);
    let output = shell.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stdout).expect("a text");
    said.split(&format!("{MARK}\n")).map(str::to_owned).collect()
}

#[test]
fn the_sessions_in_documents_are_as_they_say() {
    for (name, programs) in [("brainforge.md", &["bash", "curl"][..]), ("remotes.md", &["bash", "git"])] {
        if !programs.iter().all(|program| has(program)) {
            eprintln!("SKIPPED, {name} was not tried: it needs {programs:?}");
            continue;
        }
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
        let document = fs::read_to_string(document).expect("the document");
        let steps = steps(&document);
        assert!(steps.len() > 10, "{}", steps.len());
        let folder = tempfile::tempdir().expect("a folder");
        let people = [("AUTHOR", "Ann"), ("COMMITTER", "Ann")];
        let people = people.map(|(role, name)| {
            [(format!("GIT_{role}_NAME"), name), (format!("GIT_{role}_EMAIL"), "ann@example.com")]
        });
        let state = tempfile::tempdir().expect("a folder");
        let state = ("XDG_STATE_HOME", state.path().to_str().expect("its path"));
        let variables: Vec<_> =
            people.iter().flatten().map(|(name, value)| (name.as_str(), *value)).chain([state]).collect();
        let said = run(&steps, folder.path(), &variables);
        for (step, said) in steps.iter().zip(&said) {
            assert!(
                agrees(&step.says, said),
                "{name}\n$ {}\ndocumented: {}\nfound: {said}",
                step.command,
                step.says
            );
        }
        assert!(said.len() > steps.len(), "{name}: all commands were run: {} of {}", said.len(), steps.len());
    }
}

#[test]
fn what_differs_from_a_document_is_told_from_what_may_differ() {
    for (documented, found, expected) in [
        ("ok\n", "ok\n", true),
        ("ok\n", "no\n", false),
        ("ok\n", "ok, and more\n", false),
        ("{\"a\":1,…\n", "{\"a\":1,\"b\":2}\n", true),
        ("{\"a\":1,…\n", "{\"b\":2,\"a\":1,}\n", false),
        ("…\"b\":2}\n", "{\"a\":1,\"b\":2}\n", true),
        ("a…c…e\n", "abcde\n", true),
        ("a…e…c\n", "abcde\n", false),
        (
            "id b64aa32c-2a94-4f38-8ca0-d2339eafc199 at 2026-11-26T00:11:25.733Z",
            "id 01a21531-5c49-711e-bbc7-10fb3f850d4d at 2027-01-01T10:00:00.123Z",
            true,
        ),
        ("id b64aa32c-2a94-4f38-8ca0-d2339eafc199", "id 7", false),
    ] {
        assert_eq!(agrees(documented, found), expected, "{documented:?} {found:?}");
    }
}
