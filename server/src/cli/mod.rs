//! The command line: its arguments, and the part of the program that each command starts.

mod arguments;
mod call;
mod clients;
mod data;
mod doctor;
mod generated;
mod install;
mod key;
mod model;
mod openapi;
mod people;
mod remote;
mod serve;

use std::{any::TypeId, error::Error, fmt::Display, io, path::PathBuf, process::ExitCode};

use clap::{
    CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    builder::{PathBufValueParser, TypedValueParser as _},
    error::ErrorKind,
};
use tabellion_platform::home;
use tabellion_serve as serving;
use tabellion_upkeep::{
    TerminalError,
    console::{say, say_in_colour},
};

use crate::{PACKS, demo};

/// Exit code of a successful run.
pub const SUCCESS: u8 = 0;
/// Exit code of a failed run; standard error says why.
pub const FAILURE: u8 = 1;
// Exit code 2 is clap's, for an invalid command line.

/// A server for Markdown libraries in git, and for rows: every change is atomic, one entry of the log, and stays.
#[derive(Debug, Parser)]
#[command(name = "tabellion", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a library, rows, or both, to one MCP client over standard input and output, or to several clients over HTTP
    Serve(Box<serve::Arguments>),
    /// Enter a server for a library or for rows into the configuration of MCP clients
    Install(Box<install::Install>),
    /// Remove it from the configuration of MCP clients
    Uninstall(install::Uninstall),
    /// List the MCP clients, their configuration files, and their entries that are Tabellion's
    Clients(clients::Clients),
    /// Create, list and revoke API keys for HTTP
    #[command(subcommand)]
    Key(key::Command),
    /// Install the model by which searches of `mcb` and `brainforge` also find what means the same, and say whether it is there
    #[command(subcommand)]
    Model(model::Command),
    /// Show a guided tour on a temporary library of real documents
    Demo,
    #[command(flatten)]
    People(people::Command),
    /// Call a tool of a contract, as an agent would
    ///
    /// The tool's fields are options. Wherever a value is text or JSON, `-` reads it from standard input.
    #[command(subcommand)]
    Call(Box<call::Call>),
    /// Check, export, import, back up, migrate and recover the rows of a contract
    #[command(subcommand)]
    Data(data::Command),
    /// Say what is wrong with a library or a data folder, or could go wrong, and what to do about it
    ///
    /// Changes nothing, unless --fix says so. The exit code is 0 if no line is red.
    Doctor(doctor::Arguments),
    /// Print the description of a contract's endpoints over REST (OpenAPI 3.1)
    Openapi(openapi::OpenApi),
    /// Print the completion script for a shell
    Completions(generated::Completions),
    /// Print a manual page (`tabellion man | man -l -` shows it)
    Man(generated::Man),
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let parsed = Cli::from_arg_matches(&command_line().get_matches());
    let done = match parsed.unwrap_or_else(|error| error.exit()).command {
        Command::Serve(arguments) => {
            let options = serving::Options::try_from(*arguments);
            let options = options.unwrap_or_else(|wrong| invalid("serve", wrong));
            if let Err(wrong) = serving::check_options(&options, PACKS) {
                invalid("serve", wrong);
            }
            serving::run(&options, PACKS)
        }
        Command::Install(arguments) => {
            if let Err(wrong) = arguments.check() {
                invalid("install", wrong);
            }
            install::install(&arguments)
        }
        Command::Uninstall(arguments) => install::uninstall(&arguments),
        Command::Clients(arguments) => clients::run(&arguments),
        Command::Key(command) => {
            if let Err(wrong) = command.check() {
                invalid("key", wrong);
            }
            key::run(&command)
        }
        Command::Model(command) => model::run(&command),
        Command::Demo => demo::run(),
        Command::People(command) => people::run(&command).map_err(Into::into),
        Command::Call(call) => call::run(&call).map_err(Into::into),
        Command::Data(command) => data::run(&command).map_err(Into::into),
        Command::Doctor(arguments) => match doctor::run(&arguments) {
            Ok(false) => return ExitCode::from(FAILURE),
            Ok(true) => Ok(()),
            Err(error) => Err(error.into()),
        },
        Command::Openapi(asked) => openapi::run(&asked).map_err(Into::into),
        Command::Completions(completions) => {
            generated::completions(&completions, command_line()).map_err(Into::into)
        }
        Command::Man(man) => generated::man(&man, command_line()).map_err(Into::into),
    };
    ended(done)
}

/// Returns the command line, in which each path can begin with `~`.
fn command_line() -> clap::Command {
    with_home(Cli::command())
}

fn with_home(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        if arg.get_value_parser().type_id() == TypeId::of::<PathBuf>() {
            arg.value_parser(PathBufValueParser::new().try_map(home::expanded))
        } else {
            arg
        }
    });
    command.mut_subcommands(with_home)
}

/// Ends the process as for any invalid command line of the command.
fn invalid(command: &str, wrong: impl Display) -> ! {
    let mut all = command_line();
    all.build();
    let kind = ErrorKind::ArgumentConflict;
    match all.find_subcommand_mut(command) {
        Some(command) => command.error(kind, wrong).exit(),
        None => all.error(kind, wrong).exit(),
    }
}

fn ended(done: Result<(), Box<dyn Error>>) -> ExitCode {
    let Err(error) = done else {
        return ExitCode::from(SUCCESS);
    };
    // The reader, such as `head`, has closed the pipe.
    let is_cut = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if error.downcast_ref().is_some_and(is_cut) {
        return ExitCode::from(SUCCESS);
    }
    match error.downcast_ref::<TerminalError>() {
        Some(error) => say_in_colour(&error.shown()),
        None => say(error),
    }
    ExitCode::from(FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_can_begin_with_a_tilde() {
        let home = std::env::home_dir().unwrap();
        let of = |arguments: &[&str]| {
            let matches = command_line().try_get_matches_from(arguments).unwrap();
            Cli::from_arg_matches(&matches).unwrap().command
        };
        for arguments in [
            &["tabellion", "init", "~/x"][..],
            &["tabellion", "serve", "~/x"],
            &["tabellion", "serve", "--library", "~/x"],
            &["tabellion", "serve", "--data", "~/x"],
            &["tabellion", "status", "--library", "~/x"],
            &["tabellion", "key", "list", "--keys", "~/x"],
            &[
                "tabellion",
                "serve",
                "--http",
                "127.0.0.1:0",
                "--public-url",
                "https://a.example",
                "--oauth-issuer",
                "https://b.example",
                "--oauth-jwks",
                "~/x",
            ],
        ] {
            let parsed = format!("{:?}", of(arguments));
            let path = format!("{:?}", home.join("x"));
            assert!(parsed.contains(&path) && !parsed.contains('~'), "{parsed}");
        }
        let refused = command_line().try_get_matches_from(["tabellion", "init", "~ann/x"]);
        assert!(refused.unwrap_err().to_string().contains("write the path out"));
    }
}
