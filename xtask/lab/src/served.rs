//! Our server over HTTP, while a foreign program uses it.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use xtask::Outcome;

use crate::measure;

/// The server's output before its address.
const LISTENING: &str = "listening on ";

/// A server that is stopped when this is dropped.
pub(crate) struct Served {
    process: Child,
    /// URL of its MCP endpoint.
    pub(crate) url: String,
}

impl Served {
    /// Returns its resident memory, in megabytes.
    ///
    /// # Errors
    /// If the system does not report it.
    pub(crate) fn memory(&self) -> Outcome<f64> {
        measure::resident(self.process.id()).ok_or_else(|| "the memory of the server is unknown".into())
    }

    /// Starts `program` with `arguments` for the library in `folder`, on a free port of this machine.
    pub(crate) fn start<S: AsRef<OsStr>>(program: &Path, folder: &Path, arguments: &[S]) -> Outcome<Self> {
        Self::start_as("serve", program, folder, arguments)
    }

    /// As [`start`](Self::start), with a different command of the program than `serve`.
    pub(crate) fn start_as<S: AsRef<OsStr>>(
        command: &str,
        program: &Path,
        folder: &Path,
        arguments: &[S],
    ) -> Outcome<Self> {
        let mut process = Command::new(program)
            .args([command, "--http", "127.0.0.1:0", "--library"])
            .arg(folder)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let said = process.stderr.take().ok_or("no standard error")?;
        let mut lines = BufReader::new(said).lines();
        let mut served = Self { process, url: String::new() };
        let mut before = Vec::new();
        for line in lines.by_ref() {
            let line = line?;
            if let Some((_, url)) = line.split_once(LISTENING) {
                served.url = url.into();
                break;
            }
            before.push(line);
        }
        if served.url.is_empty() {
            return Err(format!("the server ended at once: {}", before.join("\n")).into());
        }
        // Further output is for the person who runs the task.
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Ok(served)
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
