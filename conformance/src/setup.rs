//! Preparation of a library before the server starts: files, folders, and the results of a command.

use std::{
    fs::{self, File},
    io,
    path::{Component, Path},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::watcher;

/// Number of lines of a command's output to show.
const MAX_LINES: usize = 8;

/// Preparation of every library. Empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// Paths of folders to create.
    pub folders: Vec<String>,
    /// Paths of files, and their content.
    pub files: Vec<(String, String)>,
    /// Program and arguments, run in the library once its documents are there; `{library}` is its folder.
    pub command: Vec<String>,
}

impl Setup {
    /// Creates the folders and files in the library at `root`.
    pub fn put(&self, root: &Path) -> io::Result<()> {
        for folder in &self.folders {
            fs::create_dir_all(root.join(folder))?;
        }
        for (path, content) in &self.files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            fs::write(path, content)?;
        }
        Ok(())
    }

    /// Runs the command in the library at `root`, with the server's variables.
    ///
    /// # Errors
    /// If the command cannot be run, fails, or takes longer than `patience`; with the end of its output.
    pub fn run(
        &self,
        root: &Path,
        environment: &[(String, String)],
        patience: Duration,
    ) -> Result<(), String> {
        let filled = |text: &str| text.replace("{library}", &root.to_string_lossy());
        let mut words = self.command.iter().map(|word| filled(word));
        let Some(program) = words.next() else {
            return Ok(());
        };
        let mut command = Command::new(&program);
        command.args(words).current_dir(root);
        command.envs(environment.iter().map(|(name, value)| (name, filled(value))));
        run_within(&mut command, patience)
            .map_err(|why| format!("the library could not be prepared: `{}` {why}", self.command.join(" ")))
    }
}

/// Returns true if a path stays in the folder that it is relative to, and is not one of git's.
pub(crate) fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && !path.starts_with(".git/") && path != ".git" && {
        parts.all(|part| matches!(part, Component::Normal(_)))
    }
}

/// Runs a command until it ends. Its output is in a file, because a process that it leaves behind could hold a pipe
/// open.
///
/// # Errors
/// If the command cannot be run, fails, or takes longer than `patience`: a description with the end of its output.
pub fn run_within(command: &mut Command, patience: Duration) -> Result<(), String> {
    let mut run = || {
        let output = watcher::file()?;
        let status = wait(command, output.as_file(), patience)?;
        Ok::<_, io::Error>((status, fs::read(output.path())?))
    };
    let (status, output) = run().map_err(|error| format!("can't be run: {error}"))?;
    let how = match status {
        Some(status) if status.success() => return Ok(()),
        Some(status) => format!("failed ({status})"),
        None => format!("failed (still running after {} s)", patience.as_secs()),
    };
    let output = String::from_utf8_lossy(&output);
    let last: Vec<_> = output.lines().rev().take(MAX_LINES).collect();
    let shown: String = last.iter().rev().map(|line| format!("\n    {line}")).collect();
    Err(how + &shown)
}

fn wait(command: &mut Command, output: &File, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let mut child =
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?).spawn()?;
    let since = Instant::now();
    loop {
        match child.try_wait()? {
            None if since.elapsed() <= patience => thread::sleep(Duration::from_millis(2)),
            None => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            status => return Ok(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_prepared_or_the_reason_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let setup = |command: &str| Setup {
            folders: vec![".obsidian/deep".to_owned()],
            files: vec![(".config/x.json".to_owned(), "{}".to_owned())],
            command: ["sh", "-c", command].map(str::to_owned).to_vec(),
        };
        let run = |command: &str| {
            let setup = setup(command);
            setup.put(dir.path()).unwrap();
            let variables = [("AT".to_owned(), "{library}/made".to_owned())];
            setup.run(dir.path(), &variables, Duration::from_millis(300))
        };
        assert_eq!(run("cat .config/x.json > \"$AT\""), Ok(()));
        assert_eq!(fs::read_to_string(dir.path().join("made")).unwrap(), "{}");
        assert!(dir.path().join(".obsidian/deep").is_dir());
        for (command, why) in [
            ("echo no vault; exit 3", "failed (exit status: 3)\n    no vault"),
            ("sleep 9", "failed (still running after 0 s)"),
        ] {
            let error = run(command).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let none = Setup { command: vec!["/no/such/program".to_owned()], ..Setup::default() };
        let error = none.run(dir.path(), &[], Duration::from_secs(1)).unwrap_err();
        assert!(error.contains("can't be run"), "{error}");
    }
}
