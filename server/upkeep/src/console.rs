//! The program's messages to its operator, and its questions.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
};

/// Writes a line to standard error. A closed or full standard error is ignored: it must not stop the program.
pub fn say(message: impl Display) {
    let _ = writeln!(io::stderr(), "tabellion: {message}");
}

/// As [`say`], without the program's name. Colours are removed if standard error does not show them.
pub fn say_in_colour(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Writes to standard output, for commands that answer a person or a script. A reader that closes the pipe early is not an error.
///
/// # Errors
/// If standard output can't be written.
pub fn answer(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Returns the number with the noun: `1 document`, `2 documents`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns true if standard output is a terminal.
pub fn answers_a_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns true if standard output shows colours: it is a terminal, and neither `NO_COLOR` nor `TERM=dumb` is set.
pub fn answers_in_colour() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Asks a yes-or-no question on the terminal. `None` if there is no terminal to ask on; anything but `y` or `yes` is no.
pub fn ask(question: impl Display) -> Option<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let mut line = String::new();
    io::stdin().read_line(&mut line).ok()?;
    Some(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}
