//! How a server is started and reached: over its standard input and output, or over HTTP.

use std::{
    borrow::Cow,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    Target, WireError,
    era::Era,
    http::Url,
    judgement::Stop,
    layout::{AROUND, DOCUMENT},
    stepper::{Counting, Stepper},
    target::free_port,
};

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Program and arguments; `{library}` in them is the folder of the library, `{document}` the path in it of the document
    /// of a contract that is about one, `{port}` where it is to listen.
    pub command: Vec<String>,
    /// Variables added to the environment; with the same in them.
    pub environment: Vec<(String, String)>,
    /// Working directory, if not the tester's; `{library}` as well.
    pub directory: Option<PathBuf>,
    /// Whether what it writes to standard error is shown.
    pub verbose: bool,
    /// How long it may take for an answer, the first one included.
    pub patience: Duration,
    /// How it is spoken to.
    pub reach: Reach,
}

/// How a server is spoken to.
#[derive(Debug, Clone)]
pub enum Reach {
    /// In lines over its standard input and output.
    Lines,
    /// Over HTTP at this URL, in which `{port}` is a port that is free.
    Http(String),
    /// Over HTTP; the server is external.
    Running(Running),
}

/// An external server over one folder. Clones share it.
#[derive(Debug, Clone)]
pub struct Running {
    url: Url,
    library: PathBuf,
    reset: String,
    is_taken: Arc<AtomicBool>,
}

impl Launch {
    /// A command with the default patience, in lines, and nothing else.
    pub fn of(command: Vec<String>) -> Self {
        Self {
            command,
            environment: Vec::new(),
            directory: None,
            verbose: false,
            patience: crate::target::ANSWER_TIMEOUT,
            reach: Reach::Lines,
        }
    }

    /// Whether the server is told which library to serve.
    pub fn names_library(&self) -> bool {
        self.names("{library}")
    }

    /// Whether the server is told this.
    pub fn names(&self, placeholder: &str) -> bool {
        let directory = self.directory.iter().map(|directory| directory.to_string_lossy());
        let variables = self.environment.iter().map(|(_, value)| value.into());
        let mut all = self
            .command
            .iter()
            .map(Into::into)
            .chain(variables)
            .chain(directory);
        all.any(|text: Cow<'_, str>| text.contains(placeholder))
    }

    /// Whether it speaks HTTP.
    pub fn is_http(&self) -> bool {
        !matches!(self.reach, Reach::Lines)
    }

    /// The external server, if it is one.
    pub fn running(&self) -> Option<&Running> {
        match &self.reach {
            Reach::Running(running) => Some(running),
            Reach::Lines | Reach::Http(_) => None,
        }
    }

    /// How the server is started, as the words of a command line of this tester.
    pub fn words(&self) -> Vec<String> {
        let word = |word: &str| word.to_owned();
        match &self.reach {
            Reach::Lines => self.command.clone(),
            Reach::Http(url) => {
                let before = [word("--url"), url.clone(), word("--")];
                before.into_iter().chain(self.command.clone()).collect()
            }
            Reach::Running(running) => vec![word("--url"), running.url.to_string()],
        }
    }

    /// The command that serves the library at `root`.
    fn command(&self, root: &Path, port: Option<u16>) -> Command {
        let filled = |text: &str| {
            let text = text.replace("{library}", &root.to_string_lossy());
            let text = text.replace("{document}", DOCUMENT);
            match port {
                Some(port) => text.replace("{port}", &port.to_string()),
                None => text,
            }
        };
        let mut arguments = self.command.iter().map(|argument| filled(argument));
        let mut command = Command::new(arguments.next().unwrap_or_default());
        command.args(arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, filled(value))));
        if let Some(directory) = &self.directory {
            command.current_dir(filled(&directory.to_string_lossy()));
        }
        if !self.verbose {
            command.stderr(Stdio::null());
        }
        command
    }

    /// The command that serves the library at `root`, and the URL that it is to serve if it speaks HTTP. `None` if the server is external:
    /// else runs it.
    ///
    /// # Errors
    /// When no port is free.
    pub fn prepare(&self, root: &Path) -> io::Result<Option<(Command, Option<Url>)>> {
        Ok(match &self.reach {
            Reach::Lines => Some((self.command(root, None), None)),
            Reach::Http(url) => {
                let port = free_port()?;
                let url = Url::parse(&url.replace("{port}", &port.to_string())).map_err(io::Error::other)?;
                Some((self.command(root, Some(port)), Some(url)))
            }
            Reach::Running(_) => None,
        })
    }

    /// A server over the library at `root`, to which nothing has been said; its command may be `changed` before it runs.
    ///
    /// # Errors
    /// When it does not start or answer.
    pub fn start(
        &self,
        root: &Path,
        era: Era,
        change: impl FnOnce(&mut Command),
    ) -> Result<Target, WireError> {
        let mut target = match (self.prepare(root)?, self.running()) {
            (Some((mut command, url)), _) => {
                change(&mut command);
                match url {
                    Some(url) => Target::serve(&mut command, url, era, self.patience)?,
                    None => Target::start(&mut command)?,
                }
            }
            (None, running) => {
                let url = running.map(|running| running.url.clone());
                let url = url.ok_or_else(|| io::Error::other("there is no server"))?;
                Target::connect(url, era, self.patience)?
            }
        };
        target.patience = self.patience;
        Ok(target)
    }

    /// As [`start`](Self::start), but step by step.
    ///
    /// # Errors
    /// When that is not possible here, or the server does not start.
    pub fn start_stepped(
        &self,
        root: &Path,
        era: Era,
        counting: Counting,
    ) -> Result<(Target, Stepper), Stop> {
        let prepared = self.prepare(root)?;
        let (command, url) = prepared.ok_or_else(not_ours)?;
        let folders = [root];
        let (mut target, stepper) = match url {
            Some(url) => Target::serve_stepped(command, &folders, counting, url, era, self.patience)??,
            None => Target::start_stepped(command, &folders, counting)?,
        };
        target.patience = self.patience;
        Ok((target, stepper))
    }
}

/// Returns why a check needs a server that the suite starts.
pub fn not_ours() -> Stop {
    Stop::NotTestable("the suite did not start the server; give its command to try this".to_owned())
}

impl Running {
    /// The server at `url`, which serves `library`. The shell runs `reset` before each case, when the library is what it is
    /// to be then: the server is to begin anew with what it finds.
    ///
    /// # Errors
    /// When the folder is not empty: all that is in it would be deleted.
    pub fn new(url: Url, library: &Path, reset: String) -> Result<Self, String> {
        let shown = library.display();
        let wrong = |error: io::Error| format!("`{shown}`: {error}");
        fs::create_dir_all(library).map_err(wrong)?;
        if fs::read_dir(library).map_err(wrong)?.next().is_some() {
            return Err(format!(
                "`{shown}` is not empty. Before each case all that is in it is deleted: give an empty folder of its own"
            ));
        }
        let library = library.canonicalize().map_err(wrong)?;
        for around in AROUND {
            let around = library.with_file_name(around);
            if around.exists() {
                return Err(format!(
                    "`{}` is there, where something is put that the server must not touch: give a folder that nothing lies beside",
                    around.display()
                ));
            }
        }
        Ok(Self {
            url,
            library,
            reset,
            is_taken: Arc::default(),
        })
    }

    /// Takes the folder for a library, empty, until the place is dropped.
    ///
    /// # Errors
    /// When it is taken, or the disk fails.
    pub(crate) fn take(&self) -> Result<OperatorFolder, Stop> {
        if self.is_taken.swap(true, Ordering::AcqRel) {
            let why = "the server serves one folder, and this takes two libraries at a time";
            return Err(Stop::NotTestable(why.to_owned()));
        }
        let place = OperatorFolder(self.clone());
        place.clear()?;
        Ok(place)
    }

    /// Has the server begin anew.
    ///
    /// # Errors
    /// When the command fails; then it says with what.
    pub(crate) fn begin_anew(&self, patience: Duration) -> Result<(), Stop> {
        let said = tempfile::NamedTempFile::new()?;
        let status = self.run_reset(said.as_file(), patience)?;
        if status.is_some_and(|status| status.success()) {
            return Ok(());
        }
        let how = match status {
            Some(status) => status.to_string(),
            None => format!("still running after {} s", patience.as_secs()),
        };
        let said = fs::read(said.path())?;
        let said = String::from_utf8_lossy(&said);
        let said: Vec<_> = said.lines().rev().take(8).collect();
        let said: String = said.iter().rev().map(|line| format!("\n    {line}")).collect();
        Err(Stop::Harness(format!("`{}` failed ({how}){said}", self.reset)))
    }

    /// Its output goes to a file: a server that it leaves behind may hold a pipe for ever.
    fn run_reset(&self, output: &File, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let mut shell = Command::new("sh")
            .args(["-c", &self.reset])
            .env("TABELLION_LIBRARY", &self.library)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .spawn()?;
        let since = Instant::now();
        loop {
            match shell.try_wait()? {
                None if since.elapsed() <= patience => thread::sleep(Duration::from_millis(2)),
                None => {
                    shell.kill()?;
                    shell.wait()?;
                    return Ok(None);
                }
                status => return Ok(status),
            }
        }
    }
}

/// The folder of an external server, while the suite uses it. It is left empty.
#[derive(Debug)]
pub(crate) struct OperatorFolder(Running);

impl OperatorFolder {
    pub(crate) fn library(&self) -> &Path {
        &self.0.library
    }

    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.0.library)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        for around in AROUND {
            let around = self.0.library.with_file_name(around);
            if around.exists() {
                fs::remove_dir_all(around)?;
            }
        }
        Ok(())
    }
}

impl Drop for OperatorFolder {
    fn drop(&mut self) {
        // The next who takes it tries again.
        let _ = self.clear();
        self.0.is_taken.store(false, Ordering::Release);
    }
}
