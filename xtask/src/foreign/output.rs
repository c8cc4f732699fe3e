//! Runs a foreign program with a timeout, and captures its output.

use std::{
    io::{self, Read},
    process::{Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::Outcome;

/// Interval at which to check whether a program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The output and status of a program.
pub struct Output {
    /// True if it succeeded.
    pub succeeded: bool,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

/// Runs `command` to its end.
///
/// # Errors
/// If it can't be run, or exceeds `timeout`; it is then killed.
pub fn output(command: &mut Command, timeout: Duration) -> Outcome<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (output, errors) = (read_all(process.stdout.take()), read_all(process.stderr.take()));
    let since = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait()? {
            break status;
        }
        if since.elapsed() > timeout {
            process.kill()?;
            process.wait()?;
            return Err(format!("`{program}` took longer than {timeout:?}").into());
        }
        thread::sleep(POLL_INTERVAL);
    };
    let all = |reader: JoinHandle<io::Result<Vec<u8>>>| {
        let bytes = reader.join().map_err(|_| "a reader panicked")??;
        Outcome::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Output { succeeded: status.success(), output: all(output)?, errors: all(errors)? })
}

fn read_all<R: Read + Send + 'static>(pipe: Option<R>) -> JoinHandle<io::Result<Vec<u8>>> {
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
    fn output_is_captured_until_the_end_or_the_timeout() {
        let run = |script: &str, timeout| output(Command::new("sh").args(["-c", script]), timeout);
        let long = Duration::from_secs(600);
        let echoed = run("echo a; echo b >&2", long).unwrap();
        assert_eq!((echoed.succeeded, &*echoed.output, &*echoed.errors), (true, "a\n", "b\n"));
        assert!(!run("exit 3", long).unwrap().succeeded);
        let much = run("head -c 1000000 /dev/zero", long).unwrap();
        assert_eq!(much.output.len(), 1_000_000);
        assert!(run("exec sleep 600", Duration::ZERO).is_err());
    }
}
