//! `tabellion key`: creates, lists and revokes API keys.

use std::{
    error::Error,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{Args, Subcommand};

use tabellion_http::keys::{Bound, KeyFile, Scope};
use tabellion_runtime::Agent;

use tabellion_serve::libraries;
use tabellion_upkeep::{TerminalError, console::say};

use crate::PACKS;

/// Operations on API keys.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create a key and print it; it is shown only once
    Create(Create),
    /// List the keys, without their secrets
    List(Keys),
    /// Revoke a key; running servers notice it
    Revoke(Revoke),
}

/// The key file to use.
#[derive(Debug, Args)]
pub(super) struct Keys {
    /// Key file; the same as for `serve --keys`
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
}

/// Arguments of `key create`.
#[derive(Debug, Args)]
pub(super) struct Create {
    #[command(flatten)]
    file: Keys,

    /// The key's owner, recorded as the author of all commits made with it
    #[arg(long)]
    name: String,

    /// E-mail address of the author; derived from the key's id if omitted
    #[arg(long)]
    email: Option<String>,

    /// Permissions of the key: `read`, `write` or `review`, optionally followed by `:CONTRACT` for one contract and `@LIBRARY` for one
    /// library; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", default_value = "read")]
    scopes: Vec<Scope>,

    /// Id of the org that the key is bound to, in contracts that keep orgs as rows: there is no other one for its calls
    #[arg(long, value_name = "ORG")]
    org: Option<String>,

    /// Id of the user who makes the key's calls, in contracts that keep users as rows
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// The agent that makes the key's calls, for contracts with roles: without it, a person makes them. An agent can't have the
    /// scope `review`
    #[arg(long, value_name = "NAME@VERSION", value_parser = agent)]
    agent: Option<Agent>,
}

/// Parses the name and the version of an agent.
fn agent(text: &str) -> Result<Agent, String> {
    let agent = Agent::parse(text).filter(|agent| agent.version.is_some());
    agent.ok_or_else(|| "write the agent's name and version, as in `helper@1.2`".into())
}

/// Arguments of `key revoke`.
#[derive(Debug, Args)]
pub(super) struct Revoke {
    #[command(flatten)]
    file: Keys,

    /// Id of the key, as `key list` prints it
    id: String,
}

impl Command {
    /// Checks the values of a new key: if one is not valid, the command line is invalid.
    ///
    /// # Errors
    /// The value to correct.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self::Create(new) = self else { return Ok(()) };
        new.scopes.iter().try_for_each(check)?;
        KeyFile::check(&new.name, new.email.as_deref(), &new.scopes, &new.bound())
            .map_err(|error| error.to_string())
    }
}

impl Create {
    fn bound(&self) -> Bound {
        Bound { org: self.org.clone(), user: self.user.clone(), agent: self.agent.clone() }
    }
}

/// Runs the command and prints its result on standard output.
pub(super) fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    match command {
        Command::Create(new) => {
            let file = KeyFile::new(&new.file.keys);
            let (email, scopes) = (new.email.as_deref(), new.scopes.clone());
            let secret = file.create_bound(&new.name, email, scopes, new.bound())?;
            if let Err(error) = writeln!(out, "{}", secret.reveal()).and_then(|()| out.flush()) {
                // The key was not shown.
                file.revoke(secret.id())?;
                return Err(
                    format!("no key was made: it can't be written to standard output: {error}").into()
                );
            }
            say(format_args!("store this key now, it is not shown again; its id is {}", secret.id()));
        }
        Command::List(file) => {
            for key in KeyFile::new(&file.keys).read()? {
                let scopes: Vec<_> = key.scopes.iter().map(ToString::to_string).collect();
                let (id, created) = (&key.id, &key.created);
                let scopes = scopes.join(" ");
                write!(out, "{id}\t{created}\t{} <{}>\t{scopes}", key.name, key.email)?;
                for (what, bound) in [("org", &key.org), ("user", &key.user)] {
                    if let Some(bound) = bound {
                        write!(out, "\t{what} {bound}")?;
                    }
                }
                if let Some(agent) = &key.agent {
                    write!(out, "\tagent {agent}")?;
                }
                writeln!(out)?;
            }
        }
        Command::Revoke(old) => {
            let principal = KeyFile::new(&old.file.keys).revoke(&old.id)?;
            let revoked = principal.identity.subject();
            writeln!(out, "{revoked}\t{} <{}>", principal.name, principal.email)
                .map_err(TerminalError::unreported(format_args!("the key {revoked} was revoked")))?;
        }
    }
    Ok(())
}

/// Refuses a scope that names a contract or library that can't exist.
fn check(scope: &Scope) -> Result<(), String> {
    let (contract, library) = scope.names();
    if let Some(contract) = contract.filter(|name| PACKS.spec(name).is_none()) {
        let all = PACKS.names().join(", ");
        return Err(format!("there is no contract `{contract}`; the contracts are {all}"));
    }
    library.map_or(Ok(()), libraries::check_name)
}
