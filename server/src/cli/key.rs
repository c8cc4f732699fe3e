//! `tabellion key`: makes keys, shows which there are, takes them away.

use std::{
    error::Error,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{Args, Subcommand};

use tabellion_http::keys::{KeyFile, Scope};

use crate::{console::say, contracts, serve::libraries};

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a key and show it, once
    Create(Create),
    /// Show the keys that there are, without their secrets
    List(Keys),
    /// Take a key away; servers that run notice it
    Revoke(Revoke),
}

/// Which file.
#[derive(Debug, Args)]
pub(super) struct Keys {
    /// The file of keys, which `serve --keys` is told of too
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
}

/// A new key.
#[derive(Debug, Args)]
pub(super) struct Create {
    #[command(flatten)]
    file: Keys,

    /// Whose it is: the author of all commits that are made with it
    #[arg(long)]
    name: String,

    /// The author's address; one that says which key it was, if not given
    #[arg(long)]
    email: Option<String>,

    /// What it is good for: `read` or `write`, then `:CONTRACT` for one contract, then `@LIBRARY` for one library; may be
    /// repeated
    #[arg(long = "scope", value_name = "SCOPE", default_value = "read")]
    scopes: Vec<Scope>,
}

/// A key that is to go.
#[derive(Debug, Args)]
pub(super) struct Revoke {
    #[command(flatten)]
    file: Keys,

    /// The key's id, as `key list` shows it
    id: String,
}

/// Does it, and says on standard output what came of it.
pub(super) fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    match command {
        Command::Create(new) => {
            new.scopes.iter().try_for_each(check)?;
            let file = KeyFile::at(&new.file.keys);
            let secret = file.create(&new.name, new.email.as_deref(), new.scopes.clone())?;
            writeln!(out, "{}", secret.reveal())?;
            say(format_args!(
                "keep this key now, it is not shown again; its id is {}",
                secret.id()
            ));
        }
        Command::List(file) => {
            for key in KeyFile::at(&file.keys).read()? {
                let scopes: Vec<_> = key.scopes.iter().map(ToString::to_string).collect();
                let (id, created) = (&key.id, &key.created);
                let scopes = scopes.join(" ");
                writeln!(out, "{id}\t{created}\t{} <{}>\t{scopes}", key.name, key.email)?;
            }
        }
        Command::Revoke(old) => {
            let principal = KeyFile::at(&old.file.keys).revoke(&old.id)?;
            writeln!(out, "{}\t{} <{}>", principal.id, principal.name, principal.email)?;
        }
    }
    Ok(())
}

/// Refuses a scope that could never be good for anything.
fn check(scope: &Scope) -> Result<(), String> {
    let (contract, library) = scope.names();
    if let Some(contract) = contract.filter(|name| contracts::spec(name).is_none()) {
        let all = contracts::names().join(", ");
        return Err(format!("there is no contract `{contract}`; there are {all}"));
    }
    match library.filter(|name| !libraries::is_name(name)) {
        Some(library) => Err(format!("no library can be called `{library}`")),
        None => Ok(()),
    }
}
