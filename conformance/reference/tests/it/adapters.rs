//! Adapters, against the reference implementation and mutants of it.

use std::{fs, process::Command};

use tabellion_conformance::exit;

/// An adapter that maps the contract's own read and write tools.
const ADAPTER: &str = r#"
[server]
name = "other"
contract = "braindrive-markdown"

[tools.read_markdown]
name = "read_markdown"
arguments = { path = "{/path}" }
response = { "/content" = { at = "/structuredContent/content" } }

[tools.write_markdown]
name = "write_markdown"
arguments = { path = "{/path}", content = "{/content}" }
response = { "/success" = { at = "/structuredContent/success" } }

[tools.edit_markdown]
name = "write_markdown"
arguments = { path = "{/path}", content = "{content}" }
response = { "/success" = { is = true } }
"#;

/// Runs `smoke` with this adapter against the reference or a mutant; returns the exit code and the output.
fn smoked(adapter: &str, mutant: &[&str]) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("adapter.toml");
    fs::write(&file, adapter).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance-under-test"));
    command.args(["smoke", "--adapter"]).arg(file);
    command.args(["--", env!("CARGO_BIN_EXE_tabellion-reference"), "--library", "{library}"]);
    let output = command.args(mutant).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), printed.into_owned())
}

#[test]
fn smoke_distinguishes_a_wrong_adapter_from_a_wrong_server() {
    let changed = |from: &str, to: &str| {
        assert!(ADAPTER.contains(from));
        ADAPTER.replace(from, to)
    };
    let lies: &[&str] = &["--mutant", "does-nothing"];
    let cases: [(String, &[&str], u8, &str); 7] = [
        (ADAPTER.to_owned(), &[], exit::PASSED, "works"),
        (ADAPTER.to_owned(), lies, exit::BROKEN, "the document is unchanged"),
        (changed("name = \"read_markdown\"", "name = \"read\""), &[], exit::USAGE, "has no tool `read`"),
        (
            changed("{ path = \"{/path}\" }", "{ file = \"{/path}\" }"),
            &[],
            exit::USAGE,
            "refuses the arguments",
        ),
        (changed("Content/success", "Content/done"), &[], exit::USAGE, "no value for `/success`"),
        (changed("\"{/content}\"", "\"else\""), &[], exit::BROKEN, "unexpected content"),
        (changed("\"{/path}\", content", "\"../{/path}\", content"), &[], exit::BROKEN, "it refused"),
    ];
    for (adapter, mutant, code, said) in cases {
        let (found, printed) = smoked(&adapter, mutant);
        assert_eq!(found, Some(code.into()), "{printed}");
        assert!(printed.contains(said), "{said}\n{printed}");
    }
}

#[test]
fn a_drafted_adapter_works() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance-under-test"));
    command.args(["template", "--", env!("CARGO_BIN_EXE_tabellion-reference"), "--library", "{library}"]);
    let output = command.current_dir(dir.path()).output().unwrap();
    let draft = String::from_utf8(output.stdout).unwrap();
    let (code, printed) = smoked(&draft, &[]);
    assert_eq!(code, Some(exit::PASSED.into()), "{draft}\n{printed}");
    assert!(!printed.contains("not mapped"), "{draft}\n{printed}");
}
