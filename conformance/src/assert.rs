//! Runs the suite in a server's own tests, in one line, and panics with the report if a check fails.

use crate::{
    Subject, contracts,
    probe::{self, Spoken},
    report::{
        Report,
        progress::Silent,
        terminal::{self, With},
    },
    run::{self, Options},
};

/// Holds a server to a contract, quickly: every check in the newest era that it speaks, and those of the wire in all.
///
/// `{library}` in the command stands for the folder that is to be served.
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
/// # Panics
/// With the report, when something that must hold does not, and when there is no such contract or no server that speaks.
#[track_caller]
pub fn check(contract: &str, command: impl IntoIterator<Item = impl Into<String>>) {
    let command = command.into_iter().map(Into::into).collect();
    match judge(contract, command) {
        Ok(report) if report.is_passed() => {}
        Ok(report) => {
            let shown = terminal::whole(&report, With::default());
            panic!("\n{}", anstream::adapter::strip_str(&shown));
        }
        Err(message) => panic!("{message}"),
    }
}

fn judge(contract: &str, command: Vec<String>) -> Result<Report, String> {
    if command.is_empty() {
        return Err("no command is given".to_owned());
    }
    let subject = Subject::new(contracts::find(contract)?, command);
    let Spoken { eras, identity } = probe::probe(&subject)?;
    let options = Options {
        jobs: run::available_jobs(),
        eras,
        rest_in_last_era: true,
        ..Options::default()
    };
    let name = identity.map_or_else(|| subject.name.clone(), |it| it.name);
    Ok(run::run(&Subject { name, ..subject }, &options, &Silent))
}
