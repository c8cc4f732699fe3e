//! Exit codes of the command line.

/// Everything that must hold was tried and holds.
pub const PASSED: u8 = 0;
/// Something that must hold is broken, or could not be tried.
pub const BROKEN: u8 = 1;
/// The command line can't be understood, or names what is not there.
pub const USAGE: u8 = 2;
/// The tester itself was in trouble, so that nothing is said of the server.
pub const HARNESS: u8 = 3;
/// Something passes that is listed as known to fail.
pub const UNEXPECTED_PASS: u8 = 4;
