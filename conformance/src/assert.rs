//! Runs the suite in a server's own tests, in one line, and panics with the report if a check fails.

use std::env;

use crate::{
    Subject,
    contracts::IntoContract,
    probe::{self, ServerInfo},
    report::{
        Report,
        progress::Silent,
        terminal::{self, Extras},
    },
    run::{self, Options},
};

/// Environment variable with the checks to run.
const ONLY: &str = "TABELLION_ONLY";

/// Runs the quick profile against a server: every check in the newest era that the server speaks, and the wire checks
/// in every era.
///
/// The contract is a generated `CONTRACT`, the id of one of the suite's own, or a contract's folder. `{library}` in the command
/// is replaced by the path of the library.
///
/// ```no_run
/// # macro_rules! env { ($name:literal) => { "my-server" } }
/// #[test]
/// fn keeps_its_guarantees() {
///     tabellion_conformance::check(
///         "braindrive-markdown",
///         [env!("CARGO_BIN_EXE_my-server"), "--library", "{library}"],
///     );
/// }
/// ```
///
/// The environment variable `TABELLION_ONLY` restricts it to some checks or families, like `--only`: `TABELLION_ONLY=pure cargo
/// test`.
///
/// # Panics
/// If a check with severity `Must` fails, with the report; if the contract does not exist or the server does not speak
/// MCP.
#[track_caller]
pub fn check(contract: impl IntoContract, command: impl IntoIterator<Item = impl Into<String>>) {
    check_only(&[], contract, command);
}

/// As [`check`], with these checks and families alone; with all of them if none is named.
///
/// # Panics
/// As [`check`].
#[track_caller]
pub fn check_only(
    only: &[&str],
    contract: impl IntoContract,
    command: impl IntoIterator<Item = impl Into<String>>,
) {
    let command = command.into_iter().map(Into::into).collect();
    match judge(only, contract, command) {
        Ok(report) if report.is_passed() => {}
        Ok(report) => {
            let shown = terminal::whole(&report, Extras::default());
            panic!("\n{}", anstream::adapter::strip_str(&shown));
        }
        Err(message) => panic!("{message}"),
    }
}

fn judge(only: &[&str], contract: impl IntoContract, command: Vec<String>) -> Result<Report, String> {
    if command.is_empty() {
        return Err("the command is empty".to_owned());
    }
    let subject = Subject::new(contract.into_contract()?, command);
    let ServerInfo { eras, identity } = probe::probe(&subject)?;
    let asked = env::var(ONLY).unwrap_or_default();
    let mut wanted: Vec<_> = asked.split(',').filter(|id| !id.is_empty()).collect();
    if wanted.is_empty() {
        wanted = only.to_vec();
    }
    let options = Options {
        only: wanted.into_iter().map(str::to_owned).collect(),
        jobs: run::available_jobs(),
        eras,
        rest_in_last_era: true,
        ..Options::default()
    };
    if run::selected(&subject, &options).next().is_none() {
        return Err(format!("`{ONLY}` selects no check"));
    }
    let name = identity.map_or_else(|| subject.name.clone(), |it| it.name);
    Ok(run::run(&Subject { name, ..subject }, &options, &Silent))
}
