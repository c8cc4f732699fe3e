//! The program `tabellion-codegen`: generates, lints and compares the contracts of any package.

use std::{
    error::Error,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::{Parser, Subcommand};
use tabellion_codegen::{Sources, compat, lint, load, load_all, locks, stale, write};

/// Exit code if a contract has problems, a file is out of date or a version does not announce its changes.
const FOUND: u8 = 1;

/// Contracts of MCP servers: from JSON to Rust
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Write the Rust modules of the contracts
    Generate {
        /// The folder with a folder for each contract
        #[arg(long, value_name = "FOLDER", default_value = "schemas")]
        schemas: PathBuf,
        /// The folder of the modules; other files in it are left alone
        #[arg(long, value_name = "FOLDER", default_value = "src/generated")]
        out: PathBuf,
        /// The command to name at the top of each module
        #[arg(long, value_name = "COMMAND", default_value = "tabellion-codegen generate")]
        command: String,
        /// Write nothing; fail if a module is not what the contracts say
        #[arg(long)]
        check: bool,
    },
    /// Print all problems of the contracts, and which changes of rows wait for all others of their org
    Lint {
        /// The folder with a folder for each contract, or one contract's folder
        #[arg(default_value = "schemas")]
        schemas: PathBuf,
    },
    /// Print what has changed, with a request that is lost; fail if a version does not announce its changes
    #[command(group = clap::ArgGroup::new("before").required(true))]
    Compat {
        /// Compare with this revision of git
        #[arg(long, value_name = "REVISION", group = "before")]
        base: Option<String>,
        /// Compare with the contracts in another folder
        #[arg(long, value_name = "FOLDER", group = "before")]
        old: Option<PathBuf>,
        /// The folder with a folder for each contract
        #[arg(long, value_name = "FOLDER", default_value = "schemas")]
        schemas: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(FOUND)
        }
    }
}

fn run(command: Subcommands) -> Result<(), Box<dyn Error>> {
    match command {
        Subcommands::Generate { schemas, out, command, check: false } => {
            for path in write(&schemas, &out, &command)? {
                eprintln!("{}", path.display());
            }
            Ok(())
        }
        Subcommands::Generate { schemas, out, command, .. } => {
            let stale = stale(&schemas, &out, &command)?;
            let paths: Vec<_> = stale.iter().map(|file| file.path.display().to_string()).collect();
            if paths.is_empty() {
                return Ok(());
            }
            Err(format!("not what the contracts say: {}\nrun `{command}`", paths.join(", ")).into())
        }
        Subcommands::Lint { schemas } => {
            let sources = if schemas.join("contract.json").is_file() {
                Sources::from_contract(&schemas)?
            } else {
                Sources::from_dir(&schemas)?
            };
            for contract in lint(&sources)? {
                let locks = locks(&contract).map_or_else(String::new, |locks| locks.to_string());
                print(&format!(
                    "{} {}: no problems\n{locks}",
                    contract.spec.contract, contract.spec.version
                ))?;
            }
            Ok(())
        }
        Subcommands::Compat { base, old, schemas } => {
            let old = match (base, old) {
                (Some(revision), _) => load(&sources_at(&schemas, &revision)?)?,
                (None, Some(folder)) => load_all(&folder)?,
                (None, None) => vec![],
            };
            let compared = compat::compare_all(&old, &load_all(&schemas)?);
            print(&compared.text)?;
            if compared.mistakes.is_empty() {
                return Ok(());
            }
            Err(compared.mistakes.join("\n").into())
        }
    }
}

/// Prints text; a reader that has enough of it is no error.
fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Returns the contracts in `schemas` at a revision of git.
fn sources_at(schemas: &Path, revision: &str) -> Result<Sources, Box<dyn Error>> {
    // A revision that looks like an option must not be passed as one.
    let commit = format!("{revision}^{{commit}}");
    let commit = git(schemas, &["rev-parse", "--verify", "--end-of-options", &commit]).map_err(|error| {
        let folder = schemas.display();
        format!("can't read `{revision}` for `--base`, which is a commit, a branch or a tag of the repository of `{folder}`: {error}")
    })?;
    let commit = commit.trim();
    let mut files = vec![];
    for path in git(schemas, &["ls-tree", "-r", "--name-only", "-z", commit])?.split('\0') {
        if path.ends_with(".json") {
            files.push((path.to_owned(), git(schemas, &["show", &format!("{commit}:./{path}")])?));
        }
    }
    Ok(Sources::from_map(schemas, files))
}

/// Runs git in `folder`; returns its output.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("git").current_dir(folder).args(arguments).output();
    let output = output.map_err(|error| format!("can't run git in `{}`: {error}", folder.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
