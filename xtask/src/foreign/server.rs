//! Our server over HTTP, for as long as somebody else's program speaks with it.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use crate::Outcome;

/// How the server says where it is.
const LISTENING: &str = "listening on ";

/// A server that ends when it is dropped.
pub(crate) struct Served {
    process: Child,
    /// Where its MCP is.
    pub(crate) url: String,
}

impl Served {
    /// Starts `program` with what `arguments` say of the library in `folder`, at a free port of this machine.
    ///
    /// # Errors
    /// When it doesn't say where it listens.
    pub(crate) fn start<S: AsRef<OsStr>>(program: &Path, folder: &Path, arguments: &[S]) -> Outcome<Self> {
        let mut process = Command::new(program)
            .args(["serve", "--http", "127.0.0.1:0", "--library"])
            .arg(folder)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let said = process.stderr.take().ok_or("no standard error")?;
        let mut lines = BufReader::new(said).lines();
        let mut served = Self {
            process,
            url: String::new(),
        };
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
        // Whatever else it says is for whoever runs the task.
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Ok(served)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
