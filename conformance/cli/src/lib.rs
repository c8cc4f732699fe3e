//! The command line of the conformance suite, with a file for each subcommand, and the packs of checks that it has.

mod explain;
mod list;
mod outputs;
mod replay;
mod report;
mod run;
mod server;
mod smoke;
mod template;
mod trouble;

use std::process::ExitCode;

use clap::{
    Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use tabellion_conformance::{check::Profile, checks, exit};

use self::trouble::Trouble;

/// Test which of a contract's guarantees an MCP server keeps, by what it leaves on the disk and in git
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the checks against a server
    Run(Box<run::Arguments>),
    /// Run one saved failing case again
    Replay(Box<replay::Arguments>),
    /// Show reports written by `run --json`, several servers side by side
    Report(report::Arguments),
    /// Call each tool once, to check whether the adapter or the server is at fault
    Smoke(smoke::Arguments),
    /// Print a draft of an adapter, for a server whose tools differ from the contract's
    Template(template::Arguments),
    /// List the checks
    List(list::Arguments),
    /// Explain what a check requires, why, and how it is tested
    Explain(explain::Arguments),
}

/// Adds the packs: checks in the terms of one contract; see [`checks::add`].
pub fn add_packs() {
    for pack in [&tabellion_conformance_brainforge::PACK, &tabellion_conformance_mcb::PACK] {
        checks::add(pack);
    }
}

/// Returns the parser of an option that takes a profile.
pub fn profiles() -> impl TypedValueParser<Value = Profile> {
    let names = Profile::ALL.map(|profile| PossibleValue::new(profile.name()).help(profile.purpose()));
    PossibleValuesParser::new(names).map(|name| {
        let mut all = Profile::ALL.into_iter();
        all.find(|profile| profile.name() == name).expect("one of the possible values")
    })
}

/// Runs the command.
pub fn main(cli: Cli) -> ExitCode {
    add_packs();
    let done = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Smoke(arguments) => smoke::run(&arguments),
        Command::Template(arguments) => template::run(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
    };
    let (message, code) = match done {
        Ok(code) => return ExitCode::from(code),
        Err(Trouble::Usage(message)) => (message, exit::USAGE),
        Err(Trouble::Harness(message)) => (message, exit::HARNESS),
    };
    eprintln!("error: {message}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tabellion_conformance::{
        check::{Severity, UNSAID},
        contracts::CONTRACTS,
    };

    use super::*;

    #[test]
    fn each_guarantee_of_the_contracts_has_a_check() {
        add_packs();
        for contract in CONTRACTS {
            let must = checks::all().filter(|check| check.severity == Severity::Must);
            let judged = must.flat_map(|check| checks::judged(check, contract));
            let judged: HashSet<_> = judged.map(|guarantee| guarantee.id).collect();
            for guarantee in contract.guarantees {
                assert!(
                    judged.contains(guarantee.id),
                    "{}: `{}` is an empty promise: give it a `kind`, or an id that a check names (`grep -r guarantees: conformance`)",
                    contract.id,
                    guarantee.id
                );
            }
        }
    }

    #[test]
    fn the_smoke_profile_has_checks_of_each_contract() {
        add_packs();
        let smoke: HashSet<_> = checks::smoke().collect();
        for id in &smoke {
            assert!(checks::find(id).is_some(), "{id}");
        }
        for contract in CONTRACTS {
            let many = checks::for_contract(contract).filter(|check| smoke.contains(check.id));
            assert!(many.count() >= 10, "{}", contract.id);
        }
    }

    #[test]
    fn checks_have_ids_of_their_own_and_say_what_they_are_for() {
        add_packs();
        let mut ids = HashSet::new();
        for check in checks::all() {
            let id = check.id;
            assert!(ids.insert(id) && id.split('/').count() == 2, "{id}");
            assert!(check.states.ends_with('.') && !check.explains.is_empty(), "{id}");
            assert_ne!(check.guarantees, UNSAID, "{id}");
        }
    }
}
