//! Exit codes of the command line.

/// Every check with severity `MUST` passed.
pub const PASSED: u8 = 0;
/// A check with severity `MUST` failed, or could not be run.
pub const BROKEN: u8 = 1;
/// The command line is invalid, or names something that does not exist.
pub const USAGE: u8 = 2;
/// The suite itself failed, or can't start the server, so the run has no verdict on it.
pub const HARNESS: u8 = 3;
/// A check passes that is listed as a known failure.
pub const UNEXPECTED_PASS: u8 = 4;
