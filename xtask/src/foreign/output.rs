//! What another's program says, within a time: one that hangs must not hang us.

use std::{
    io::{self, Read},
    process::{Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::Outcome;

/// How often to look whether a program has ended.
const EVERY: Duration = Duration::from_millis(20);

/// What a program said until it ended.
pub(crate) struct Said {
    /// Whether it ended well.
    pub(crate) well: bool,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Runs `command` to its end.
///
/// # Errors
/// When it can't be run, or takes longer than `patience`; then it is killed.
pub(crate) fn said(command: &mut Command, patience: Duration) -> Outcome<Said> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (output, errors) = (hear(process.stdout.take()), hear(process.stderr.take()));
    let since = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait()? {
            break status;
        }
        if since.elapsed() > patience {
            process.kill()?;
            process.wait()?;
            return Err(format!("`{program}` took longer than {patience:?}").into());
        }
        thread::sleep(EVERY);
    };
    let all = |heard: JoinHandle<io::Result<Vec<u8>>>| {
        let bytes = heard.join().map_err(|_| "a reader panicked")??;
        Outcome::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Said {
        well: status.success(),
        output: all(output)?,
        errors: all(errors)?,
    })
}

fn hear<R: Read + Send + 'static>(pipe: Option<R>) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_heard_to_its_end_and_no_longer() {
        let run = |script: &str, patience| said(Command::new("sh").args(["-c", script]), patience);
        let long = Duration::from_secs(600);
        let heard = run("echo a; echo b >&2", long).unwrap();
        assert_eq!((heard.well, &*heard.output, &*heard.errors), (true, "a\n", "b\n"));
        assert!(!run("exit 3", long).unwrap().well);
        let much = run("head -c 1000000 /dev/zero", long).unwrap();
        assert_eq!(much.output.len(), 1_000_000);
        assert!(run("exec sleep 600", Duration::ZERO).is_err());
    }
}
