//! Addresses of remotes, checked once: git itself would run a program for some of them.

use std::{fmt, path::Path};

/// The address of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    transport: &'static str,
}

/// Reason for refusing an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is empty, or has characters that can't be shown.
    #[error("an address has visible characters only; give a URL such as `https://example.com/notes.git`")]
    Unprintable,
    /// Programs would take it for an option.
    #[error("`{0}` begins with `-`; give a URL such as `https://example.com/notes.git`")]
    Option(String),
    /// It names a program to run.
    #[error("`{0}` names a program to run; give a URL with `https://`, `ssh://` or `file://`")]
    Helper(String),
    /// The transport is unknown, or sends everything in the clear.
    #[error(
        "the transport `{0}` is not used; give a URL with `https://`, `ssh://` or `file://` (`http://` and `git://` only to this machine)"
    )]
    Transport(String),
    /// It is no URL, and no path from the root.
    #[error(
        "`{0}` is neither a remote in git's configuration, nor a folder, nor a URL such as `https://example.com/notes.git`"
    )]
    Unknown(String),
    /// It holds a password, which every list of processes would show.
    #[error(
        "the address holds a password; leave it out, and give it to git's credential helper (`git help credentials`)"
    )]
    Password,
}

impl Address {
    /// Parses a URL, an address as `user@host:path`, or an absolute path.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.is_empty() || text.chars().any(|c| c.is_control() || c.is_whitespace() && c != ' ') {
            return Err(AddressError::Unprintable);
        }
        if text.starts_with('-') {
            return Err(AddressError::Option(text.to_owned()));
        }
        let is_helper = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b))
        };
        if text.split_once("::").is_some_and(|(name, _)| is_helper(name)) {
            return Err(AddressError::Helper(text.to_owned()));
        }
        let transport = match text.split_once("://") {
            Some((scheme, rest)) => of_url(scheme, rest)?,
            None if Path::new(text).is_absolute() => "file",
            None => of_short(text)?,
        };
        Ok(Self { text: text.to_owned(), transport })
    }

    /// Returns the address as git takes it. It holds no password.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns git's names of the transports that it may use.
    pub(crate) fn transports(&self) -> &[&'static str] {
        std::slice::from_ref(&self.transport)
    }
}

/// For messages: without the user.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self
            .text
            .split_once("://")
            .map_or(("", &*self.text), |(_, rest)| (&self.text[..self.text.len() - rest.len()], rest));
        let host = rest.split('/').next().unwrap_or(rest);
        let shown = host.rfind('@').map_or(rest, |at| &rest[at + 1..]);
        write!(f, "{scheme}{shown}")
    }
}

fn of_url(scheme: &str, rest: &str) -> Result<&'static str, AddressError> {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    if user.contains(':') {
        return Err(AddressError::Password);
    }
    if host.starts_with('-') || user.starts_with('-') {
        return Err(AddressError::Option(host.to_owned()));
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let is_here = ["localhost", "127.0.0.1", "[::1]"].contains(&name);
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Ok("https"),
        "ssh" => Ok("ssh"),
        "file" => Ok("file"),
        "http" if is_here => Ok("http"),
        "git" if is_here => Ok("git"),
        _ => Err(AddressError::Transport(scheme.to_owned())),
    }
}

/// An address as `user@host:path`, which is ssh.
fn of_short(text: &str) -> Result<&'static str, AddressError> {
    let (host, path) = text.split_once(':').ok_or_else(|| AddressError::Unknown(text.to_owned()))?;
    let host = host.rsplit('@').next().unwrap_or(host);
    let is_host = !host.is_empty() && !host.contains('/') && !path.is_empty();
    match () {
        () if host.starts_with('-') => Err(AddressError::Option(host.to_owned())),
        () if is_host => Ok("ssh"),
        () => Err(AddressError::Unknown(text.to_owned())),
    }
}
