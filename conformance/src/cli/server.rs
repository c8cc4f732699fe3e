//! The server under test, as every subcommand that starts one is told of it.

use std::{path::PathBuf, time::Duration};

use tabellion_schemas::{CONTRACTS, ContractSpec};

use super::Trouble;
use crate::{
    adapter::Adapter,
    in_tests,
    subject::{Era, Launch, Subject},
};

/// Which server, and how it is started.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct Server {
    /// The contract that the server is held to; may be left out if there is but one
    #[arg(long)]
    contract: Option<String>,
    /// What reports call the server; the name that it gives itself, if not given
    #[arg(long)]
    pub(super) name: Option<String>,
    /// A variable for its environment; `{library}` in it is the folder of the library
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Its working directory; may be `{library}`
    #[arg(long)]
    dir: Option<PathBuf>,
    /// How long it may take for an answer, the first one included
    #[arg(long, value_name = "SECONDS", default_value_t = crate::target::PATIENCE.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    patience: u64,
    /// Show what it writes to standard error
    #[arg(long, short)]
    verbose: bool,
    /// The command that serves a library, which `{library}` in it stands for
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

impl Server {
    /// The server, held to its contract or, if none is named, to `other`.
    pub(super) fn subject(&self, other: Option<&str>) -> Result<Subject, Trouble> {
        let launch = Launch {
            environment: self.env.clone(),
            directory: self.dir.clone(),
            verbose: self.verbose,
            patience: Duration::from_secs(self.patience),
            ..Launch::of(self.command.clone())
        };
        if !launch.names_library() {
            let command = self.command.join(" ");
            return Err(Trouble::Usage(format!(
                "nothing tells the server which library to serve; put `{{library}}` into the command, as in \
                 `-- {command} {{library}}`, or into `--env` or `--dir`"
            )));
        }
        Ok(Subject {
            name: self.name.clone().unwrap_or_else(|| self.command[0].clone()),
            contract: self.contract(other)?,
            launch,
            adapter: Adapter::Native,
            era: Era::Session,
        })
    }

    fn contract(&self, other: Option<&str>) -> Result<&'static ContractSpec, Trouble> {
        match (self.contract.as_deref().or(other), CONTRACTS) {
            (Some(id), _) => Ok(in_tests::contract(id)?),
            (None, [only]) => Ok(only),
            (None, all) => {
                let ids: Vec<_> = all
                    .iter()
                    .map(|contract| format!("\n  --contract {}", contract.id))
                    .collect();
                let ids = ids.concat();
                Err(Trouble::Usage(format!(
                    "say which contract the server is held to:{ids}"
                )))
            }
        }
    }

    /// The options and the command, as they are to be written to start the same server again; what variables hold may be
    /// secret and is not said.
    pub(super) fn again(&self) -> (String, String) {
        let mut options = Vec::new();
        if let Some(contract) = &self.contract {
            options.push(format!("--contract {}", quoted(contract)));
        }
        for (name, value) in &self.env {
            let value = if value.contains("{library}") {
                quoted(value)
            } else {
                format!("\"${name}\"")
            };
            options.push(format!("--env {name}={value}"));
        }
        if let Some(dir) = &self.dir {
            options.push(format!("--dir {}", quoted(&dir.to_string_lossy())));
        }
        let command: Vec<_> = self.command.iter().map(|argument| quoted(argument)).collect();
        (options.join(" "), command.join(" "))
    }
}

/// An argument as a shell reads it.
pub(super) fn quoted(argument: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@%+,{}".contains(it);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it must be NAME=VALUE".to_owned()),
    }
}
