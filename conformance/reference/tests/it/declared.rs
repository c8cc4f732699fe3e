//! Judgement without a contract: the reference keeps its own declarations, and mutants break theirs.

use std::process::Command;

use tabellion_conformance::exit;

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
        (
            &["--mutant", "commits-at-start"],
            "pure",
            exit::PASSED,
            &["checks: 1 passed ("],
        ),
        (
            &["--mutant", "read-writes"],
            "pure",
            exit::BROKEN,
            &["pure/reads-change-nothing"],
        ),
        (
            &["--mutant", "wrong-output-shape"],
            "wire/output-schema",
            exit::BROKEN,
            &["wire/output-schema"],
        ),
        // It takes more than its schemas say, which is only advice.
        (
            &["--mutant", "accepts-unknown-arguments"],
            "schema",
            exit::PASSED,
            &["2 warned"],
        ),
        (
            &["--mutant", "logs-on-stdout"],
            "wire/stdout-clean",
            exit::BROKEN,
            &["wire/stdout-clean"],
        ),
    ];
    for (mutant, only, code, said) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_conformance-under-test"));
        command.args([
            "run",
            "--contract",
            "declared",
            "--only",
            only,
            "--time-budget",
            "600",
            "--",
        ]);
        command.args([
            env!("CARGO_BIN_EXE_tabellion-reference"),
            "--library",
            "{library}",
        ]);
        let output = command.args(mutant).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code.into()), "{mutant:?}\n{printed}");
        for said in said {
            assert!(printed.contains(said), "{mutant:?}: {said}\n{printed}");
        }
    }
}
