//! Shell completions and manual pages, made from the command line's own definition.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man as Page;

use tabellion_upkeep::{TerminalError, console};

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The command whose page to print, as in `call learning-os`; without one, the program's
    command: Vec<String>,
    /// Write the pages of all commands into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

/// Prints the completion script of `program`.
pub(super) fn completions(asked: &Completions, mut program: Command) -> Result<(), TerminalError> {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut program, "tabellion", &mut script);
    Ok(console::answer(&script)?)
}

/// Prints the manual page of `program`, or writes all.
pub(super) fn man(asked: &Man, program: Command) -> Result<(), TerminalError> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    if let Some(folder) = &asked.out {
        fs::create_dir_all(folder)?;
        return Ok(write(&program, folder)?);
    }
    let mut command: &Command = &program;
    for name in &asked.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            TerminalError::new(format_args!("there is no command `{name}`"))
                .hint(format!("the commands are {}", known.join(", ")))
        })?;
    }
    let mut text = Vec::new();
    page(command).render(&mut text)?;
    Ok(console::answer(&text)?)
}

/// Writes the pages of a command and of those below it.
fn write(command: &Command, folder: &Path) -> io::Result<()> {
    command.get_subcommands().try_for_each(|command| write(command, folder))?;
    page(command).generate_to(folder).map(|_| ())
}

/// Returns the page of a command. Its synopsis is the usage in the command's help, which has required options and values.
fn page(command: &Command) -> Page {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    Page::new(command.clone().name(&*name.leak()).override_usage(usage))
        .source(concat!("tabellion ", env!("CARGO_PKG_VERSION")))
}
