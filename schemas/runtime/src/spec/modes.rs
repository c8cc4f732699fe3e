//! Modes of operation: ways to run a server, in each of which some of its tools may be called.

use crate::origin::Transport;

/// The modes of a contract, and the refusals of calls that a mode does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModesSpec {
    /// Names of the modes.
    pub names: &'static [&'static str],
    /// The environment variable of the server that sets the mode.
    pub env: Option<&'static str>,
    /// The HTTP header that sets the mode of a request, if the server does not set one.
    pub header: Option<&'static str>,
    /// The mode over lines, if none is set.
    pub lines: &'static str,
    /// The mode over HTTP, if none is set.
    pub http: &'static str,
    /// Name in the error table of both refusals.
    pub error: &'static str,
    /// The message of a tool in a mode that does not allow it, with `{tool}`, `{mode}` and `{allowed}`.
    pub refused: &'static str,
    /// The message of every tool in an unknown mode, with `{mode}` and `{names}`.
    pub unknown: &'static str,
}

impl ModesSpec {
    /// Returns the mode of calls by `transport`, if none is set.
    pub fn default_of(&self, transport: Transport) -> &'static str {
        match transport {
            Transport::Lines => self.lines,
            Transport::Http => self.http,
        }
    }
}
