//! Modes of operation: ways to run a server, in each of which some of its tools may be called.

use crate::origin::Transport;

/// The modes of a contract, and what is answered to a call that its mode does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModesSpec {
    /// Names of the modes.
    pub names: &'static [&'static str],
    /// The environment variable of the server that sets the mode.
    pub env: Option<&'static str>,
    /// The HTTP header that sets the mode of a request, where the server has none.
    pub header: Option<&'static str>,
    /// The mode over lines, if none is set.
    pub lines: &'static str,
    /// The mode over HTTP, if none is set.
    pub http: &'static str,
    /// Name in the error table of both refusals.
    pub error: &'static str,
    /// What a tool answers in a mode that it is not for, with `{tool}`, `{mode}` and `{allowed}`.
    pub refused: &'static str,
    /// What every tool answers in a mode that is not known, with `{mode}` and `{names}`.
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
