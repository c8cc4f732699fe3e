//! What the program tells its operator.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// Writes a line to standard error. A closed or full standard error is ignored: it must not stop the program.
pub(crate) fn say(message: impl Display) {
    let _ = writeln!(io::stderr(), "tabellion: {message}");
}
