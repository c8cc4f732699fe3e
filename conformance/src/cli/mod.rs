//! The command line: what is asked for, and what is printed.

mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tabellion_schemas::{CONTRACTS, ContractSpec};

use crate::{checks, exit};

/// Prove or break the guarantees of any implementation of a contract, on the disk
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try a server
    Run(run::Arguments),
    /// Print the checks
    List {
        /// Only those that judge this contract
        #[arg(long)]
        contract: Option<String>,
    },
    /// Print what a check states, why, and how it is tried
    Explain {
        /// The check's id, as `list` prints it
        id: String,
    },
}

/// Does what the command line asks for.
pub fn main(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::List { contract } => list(contract.as_deref()),
        Command::Explain { id } => explain(&id),
    };
    done.map_or_else(
        |message| {
            eprintln!("error: {message}");
            ExitCode::from(exit::USAGE)
        },
        ExitCode::from,
    )
}

/// The contract with this id.
fn contract(id: &str) -> Result<&'static ContractSpec, String> {
    let found = CONTRACTS.iter().find(|contract| contract.id == id);
    found.copied().ok_or_else(|| {
        let ids: Vec<_> = CONTRACTS.iter().map(|contract| contract.id).collect();
        format!("there is no contract `{id}`; there is {}", ids.join(", "))
    })
}

fn list(contract: Option<&str>) -> Result<u8, String> {
    let contract = contract.map(self::contract).transpose()?;
    for check in checks::all() {
        if contract.is_none_or(|contract| checks::of(contract).any(|of| of.id == check.id)) {
            println!("{:30} {}", check.id, check.states);
        }
    }
    Ok(exit::PASSED)
}

fn explain(id: &str) -> Result<u8, String> {
    let check = checks::find(id).ok_or_else(|| format!("there is no check `{id}`; `list` prints them"))?;
    println!("{}\n\n{}\n\n{}", check.id, check.states, check.explains);
    Ok(exit::PASSED)
}
