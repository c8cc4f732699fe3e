//! The command line.

use std::{
    fmt::Display,
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser as _},
};

use crate::{
    contracts, demo,
    keys::{self, KeyCommand, Scope},
    library::ExternalPolicy,
    mcp::ApprovalMode,
    oauth::{Issuer, PublicUrl},
    rates::Rate,
    serve::{self, libraries::Named},
};

/// Exit code of a run that did what it was asked to.
pub const SUCCESS: u8 = 0;
/// Exit code of a run that failed; standard error says why.
pub const FAILURE: u8 = 1;
// 2 is clap's, for a command line that can't be understood.

/// A server for Markdown libraries in git: every edit is atomic, one commit, one log entry.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a library to an MCP client over standard input and output, or to many over HTTP
    Serve(Box<Serve>),
    /// Make API keys for HTTP, show which there are, take them away
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show the whole way once, on a throw-away library of real documents
    Demo,
}

/// What to serve.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Folder of the library; it and its git repository are made where they are missing. With --http there may be several:
    /// those with a name are served at `/mcp/NAME`
    #[arg(
        long = "library",
        value_name = "[NAME=]DIR",
        env = "BRAINDRIVE_LIBRARY_PATH",
        required = true,
        value_parser = OsStringValueParser::new().try_map(Named::parse)
    )]
    pub(crate) libraries: Vec<Named>,

    /// Contract to serve; may be repeated
    #[arg(
        long = "contract",
        value_name = "NAME",
        default_value = contracts::default(),
        value_parser = PossibleValuesParser::new(contracts::names())
    )]
    pub(crate) contracts: Vec<String>,

    /// The one document of contracts that work on one, relative to the library
    #[arg(long, value_name = "PATH")]
    pub(crate) document: Option<String>,

    /// Offer only the tools that change nothing, and refuse all others
    #[arg(long)]
    pub(crate) read_only: bool,

    /// What to do with calls that need a person's approval
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Approval::Prompt)]
    pub(crate) approval: Approval,

    /// Tools that need a person's approval though their contract asks for none: the person is shown the difference
    #[arg(
        long,
        value_name = "TOOL",
        value_delimiter = ',',
        conflicts_with = "read_only"
    )]
    pub(crate) approve: Vec<String>,

    /// What to do with a file that was changed outside of the server and not committed, before changing it
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = External::Adopt)]
    pub(crate) external: External,

    /// Serve over HTTP at this address, at `/mcp`, until interrupted or terminated; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) http: Option<SocketAddr>,

    /// With --http: serve on standard input and output as well, and until their client is gone
    #[arg(long, requires = "http")]
    pub(crate) stdio: bool,

    /// Serve over HTTP only those who have one of the keys in this file, which `tabellion key create` makes. Without it,
    /// only loopback addresses are served
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) keys: Option<PathBuf>,

    /// Serve over HTTP those who have an access token (a JWT) of this OAuth 2 authorization server, which is its `iss`
    #[arg(
        long,
        value_name = "URL",
        requires = "http",
        requires = "oauth_jwks",
        requires = "public_url"
    )]
    pub(crate) oauth_issuer: Option<Issuer>,

    /// The keys that the authorization server signs with (a JWK Set): a file, which is read again when it changes, or a URL
    #[arg(long, value_name = "FILE|URL", requires = "oauth_issuer")]
    pub(crate) oauth_jwks: Option<String>,

    /// What else than the library's URL a token may be for (`aud`), where the authorization server can't say that; may be
    /// repeated
    #[arg(long = "oauth-audience", value_name = "TEXT", requires = "oauth_issuer")]
    pub(crate) oauth_audiences: Vec<String>,

    /// What clients are asked to get a token for, to begin with; may be repeated, as for an authorization server that holds
    /// them for ever to the scope that they register for first
    #[arg(
        long = "oauth-scope",
        value_name = "SCOPE",
        default_value = "read",
        requires = "oauth_issuer"
    )]
    pub(crate) oauth_scopes: Vec<Scope>,

    /// Speak TLS over HTTP, with the certificates in this file (PEM, the server's own first), which is read again when it
    /// changes
    #[arg(long, value_name = "FILE", requires = "http", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// How often in a minute each caller over HTTP may look at something; `off` is as often as they like. 6000 for those
    /// with a key or a token, if not given
    #[arg(long, value_name = "N|off", requires = "http")]
    pub(crate) read_rate: Option<Rate>,

    /// How often in a minute each caller over HTTP may change something; `off` is as often as they like. 600 for those with a
    /// key or a token, if not given
    #[arg(long, value_name = "N|off", requires = "http")]
    pub(crate) write_rate: Option<Rate>,

    /// How the world calls the server, as in `https://notes.example`: libraries are at this and their path
    #[arg(long, value_name = "URL", requires = "http")]
    pub(crate) public_url: Option<PublicUrl>,

    /// A name, with or without a port, that the server is called by over HTTP, beside its own address; may be repeated
    #[arg(long = "allow-host", value_name = "HOST", requires = "http")]
    pub(crate) hosts: Vec<String>,

    /// Origin of pages that may use the server from a browser, as in `https://app.example`; may be repeated
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,
}

/// What to do with uncommitted bytes of a file that is about to be changed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum External {
    /// Record them in a commit of their own first
    Adopt,
    /// Refuse the change as a conflict
    Refuse,
}

impl From<External> for ExternalPolicy {
    fn from(external: External) -> Self {
        match external {
            External::Adopt => Self::Adopt,
            External::Refuse => Self::Refuse,
        }
    }
}

/// What to do with calls that need a person's approval.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Approval {
    /// Let the client ask its person; where it can't, refuse the call
    Prompt,
    /// Let the client ask its person; where it can't, grant the call
    Auto,
    /// Refuse the call without asking anybody
    Deny,
}

impl From<Approval> for ApprovalMode {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::Prompt => Self::Prompt,
            Approval::Auto => Self::Auto,
            Approval::Deny => Self::Deny,
        }
    }
}

/// Says something on standard error, to whoever listens: that nobody does is no reason to end.
pub(crate) fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "tabellion: {what}");
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(what) => serve::run(&what),
        Command::Key(what) => keys::run(&what),
        Command::Demo => demo::run(),
    };
    match done {
        Ok(()) => ExitCode::from(SUCCESS),
        Err(error) => {
            say(error);
            ExitCode::from(FAILURE)
        }
    }
}
