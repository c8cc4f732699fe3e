//! The pager: `$PAGER`, or `less`, as in git.

use std::{
    env,
    ffi::OsString,
    io::Write as _,
    process::{Command, Stdio},
};

/// Options of `less`: end if all fits on one screen, show colours, and leave the text on the screen. As in git, they are used
/// only if the environment does not set others.
const LESS: &str = "FRX";

/// Shows the text in the pager and waits for its end. Returns false if there is none.
pub(super) fn show(text: &[u8]) -> bool {
    let pager = env::var_os("PAGER").unwrap_or_else(|| OsString::from("less"));
    if pager.is_empty() || pager == "cat" {
        return false;
    }
    let mut command = shell(&pager);
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut pager) = command.stdin(Stdio::piped()).spawn() else {
        return false;
    };
    let mut written = false;
    if let Some(mut input) = pager.stdin.take() {
        // A pager that ends early needs no more text.
        let _ = input.write_all(text);
        written = true;
    }
    // A shell returns 127 if it does not find the program.
    let ended = pager.wait();
    written && ended.is_ok_and(|status| status.code() != Some(127))
}

#[cfg(unix)]
fn shell(pager: &OsString) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager).stderr(Stdio::null());
    command
}

#[cfg(not(unix))]
fn shell(pager: &OsString) -> Command {
    Command::new(pager)
}
