//! Judgement without a contract: the reference keeps its own declarations, and mutants break theirs.

use std::{env, fs, process::Command};

use tabellion_conformance::exit;

const REFERENCE: &str = env!("CARGO_BIN_EXE_tabellion-reference");

#[test]
fn a_server_is_held_to_what_it_declares() {
    let cases: [(&[&str], &str, u8, &[&str]); 6] = [
        (
            &[],
            "wire,schema,pure,budget/tools-list-tokens",
            exit::PASSED,
            &[
                "judged by what its tools declare",
                "not judged: calls of delete_markdown, edit_markdown, write_markdown",
                "by what it declares: checks:",
            ],
        ),
        // A promise that it does not make is not judged.
        (&["--mutant", "commits-at-start"], "pure", exit::PASSED, &["checks: 1 passed ("]),
        (&["--mutant", "read-writes"], "pure", exit::BROKEN, &["pure/reads-change-nothing"]),
        (&["--mutant", "wrong-output-shape"], "wire/output-schema", exit::BROKEN, &["wire/output-schema"]),
        // It accepts more than its schemas specify, which is only advice.
        (&["--mutant", "accepts-unknown-arguments"], "schema", exit::PASSED, &["2 warned"]),
        (&["--mutant", "logs-on-stdout"], "wire/stdout-clean", exit::BROKEN, &["wire/stdout-clean"]),
    ];
    for (mutant, only, code, said) in cases {
        let run = ["--contract", "declared", "--only", only, "--time-budget", "600", "--"];
        runs(&[&run[..], &[REFERENCE, "--library", "{library}"], mutant].concat(), code, said);
    }
}

/// Foreign origins are tried with requests that need no tool.
#[test]
fn origins_are_judged_whatever_the_tools_are() {
    let only = "http/origin,http/revision-header,http/headers-agree,http/other-methods";
    let run = [
        "--contract",
        "declared",
        "--only",
        only,
        "--time-budget",
        "600",
        "--url",
        "http://127.0.0.1:{port}/mcp",
    ];
    let server = ["--", REFERENCE, "--library", "{library}", "--http", "127.0.0.1:{port}"];
    for (mutant, code, said) in [
        (&[][..], exit::PASSED, "7 passed, 1 not applicable"),
        (
            &["--mutant", "http-any-origin"],
            exit::BROKEN,
            "a call from http://attacker.example was answered with",
        ),
    ] {
        runs(&[&run[..], &server, mutant].concat(), code, &[said]);
    }
}

/// A server without a library keeps its store in the folder for data.
#[test]
fn a_store_is_also_found_in_the_folder_for_data() {
    let create = "test -e \"$1/.git\" || { echo > \"$1/README.md\" && git -C \"$1\" init --quiet; }";
    let start = &*format!("{create} && exec \"$0\" --library \"$1\" $2 $3");
    let call = r#"edit_markdown={"path":"README.md","operation":{"type":"append","content":"{token}\n"}}"#;
    let run = ["--contract", "declared", "--only", "store/processes", "--store", call, "--"];
    let server = ["sh", "-c", start, REFERENCE, "{data}"];
    for (mutant, code, said) in [
        (&[][..], exit::PASSED, "checks: 1 passed"),
        (&["--mutant", "loses-racing-edit"], exit::BROKEN, "acknowledged texts are not in the store"),
    ] {
        runs(&[&run[..], &server, mutant].concat(), code, &[said]);
    }
}

/// A server that permits certain folders: a mutant's tool, to which the adapter passes them.
#[test]
fn confinement_is_judged_where_it_can_be_seen() {
    let temporary = env::temp_dir().canonicalize().unwrap();
    let home = env::home_dir().expect("a home").canonicalize().unwrap();
    let [temporary, home] = [temporary, home].map(|folder| folder.to_string_lossy().into_owned());
    let cases: [(&str, &[&str], u8, &str); 6] = [
        ("confined", &["{library}"], exit::PASSED, "checks: 1 passed"),
        ("confined", &["{library}", &temporary], exit::PASSED, "the libraries of this run are in"),
        ("confined", &[&temporary, &home], exit::PASSED, "`confined` is not judged"),
        ("confined", &["/"], exit::BROKEN, "reveals a file outside the library"),
        ("no-traversal", &[&temporary, &home], exit::PASSED, "`no-traversal` is not judged"),
        ("no-traversal", &["/"], exit::BROKEN, "reveals a file outside the library"),
    ];
    for (promise, permitted, code, said) in cases {
        let folder = tempfile::tempdir().unwrap();
        let adapter = folder.path().join("adapter.toml");
        let text = format!(
            "[server]\nname = \"reader\"\ncontract = \"braindrive-markdown\"\npromises = [{promise:?}]\n\
             command = [{REFERENCE:?}, \"--library\", \"{{library}}\", \"--mutant\", \"has-one-more-tool\"]\n\
             [tools.read_markdown]\nname = \"head_of_file\"\narguments = {{ file = \"{{absolute}}\", below = {permitted:?} }}\n\
             response = {{ \"/content\" = {{ text = true }} }}\n"
        );
        fs::write(&adapter, text).unwrap();
        let adapter = adapter.to_string_lossy();
        runs(&["--only", "paths/escape", "--adapter", &adapter], code, &[said]);
    }
}

/// Runs the suite with these arguments, which must end with this exit code and print these texts.
#[track_caller]
fn runs(arguments: &[&str], code: u8, said: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance-under-test"));
    let output = command.arg("run").args(arguments).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code.into()), "{arguments:?}\n{printed}");
    for said in said {
        assert!(printed.contains(said), "{arguments:?}: {said}\n{printed}");
    }
}
