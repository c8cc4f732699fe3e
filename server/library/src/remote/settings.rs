//! The remote of a library, and the sharing options: a file in the server's own folder, which only its owner can read.
//!
//! The sender of a library could include that file, and the user's notes would go to the sender. So it counts only if the user's
//! own folder, outside of any library, has a record of it: its digest, under that of the library's path. The address is fixed
//! there. Later changes of `.git/config`, which the sender of a library may have written, have no effect.

use std::{
    env, fmt, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tabellion_platform::{create_folders, for_owner_alone, open_to_write, read_text, rename};
use tabellion_remotes::Address;

use super::super::working_tree::WorkingTree;

/// Name of the separate repository in our own folder through which git accesses the remote.
pub(super) const REPOSITORY: &str = "remote.git";
/// Name of the file in our own folder.
const FILE: &str = "remote";

/// Moment at which a change is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Acknowledge {
    /// Once it is durable here; it is pushed in the background.
    #[default]
    Local,
    /// Once the remote's branch has it.
    Remote,
}

impl Acknowledge {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}

impl fmt::Display for Acknowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The remote of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSettings {
    /// The remote's address.
    pub address: Address,
    /// The branch there and here, with its full name.
    pub branch: String,
    /// Moment at which a change is acknowledged.
    pub acknowledge: Acknowledge,
    /// Maximum time that a change or a push waits for the remote.
    pub wait: Duration,
    /// The age of the last fetch from which on a reading call fetches first.
    pub pull_after: Duration,
    /// The number of unpublished commits from which on changes are refused.
    pub max_unpublished: Option<usize>,
}

impl RemoteSettings {
    /// Returns the default settings.
    pub fn new(address: Address, branch: String) -> Self {
        Self {
            address,
            branch,
            acknowledge: Acknowledge::default(),
            wait: Duration::from_secs(20),
            pull_after: Duration::from_secs(30),
            max_unpublished: None,
        }
    }

    /// Reads the settings of a library; `None` if there are none.
    pub(super) fn read(place: &SettingsPath) -> Option<StoredSettings> {
        let text = read_text(&place.own.join(FILE)).ok()?;
        let parsed = serde_json::from_str(&text).ok().and_then(|value| Self::parse(&value));
        let Some(settings) = parsed else {
            tracing::warn!(
                "the settings of the remote can't be read; `tabellion remote set` writes them anew"
            );
            return None;
        };
        let record = place.record().and_then(|file| read_text(&file).ok());
        if record.is_some_and(|record| record == digest(&text)) {
            return Some(StoredSettings::Set(settings));
        }
        tracing::warn!(
            address = %settings.address,
            "the library came with a remote that this user has not set; it is not used"
        );
        Some(StoredSettings::Foreign(settings.address))
    }

    fn parse(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str();
        let seconds = |name: &str| Some(Duration::from_secs(value.get(name)?.as_u64()?));
        Some(Self {
            address: Address::parse(text("address")?).ok()?,
            branch: text("branch")?.to_owned(),
            acknowledge: match text("acknowledge")? {
                "local" => Acknowledge::Local,
                "remote" => Acknowledge::Remote,
                _ => return None,
            },
            wait: seconds("waitSeconds")?,
            pull_after: seconds("pullAfterSeconds")?,
            max_unpublished: value.get("maxUnpublished").and_then(Value::as_u64).map(|most| most as usize),
        })
    }

    pub(super) fn write(&self, place: &SettingsPath) -> io::Result<()> {
        let no_home =
            || io::Error::new(io::ErrorKind::NotFound, "there is no home folder to record the remote in");
        let record = place.record().ok_or_else(no_home)?;
        create_folders(&place.own, 1)?;
        create_folders(record.parent().expect("it is in a folder"), 5)?;
        let text = json!({
            "address": self.address.as_str(),
            "branch": self.branch,
            "acknowledge": self.acknowledge.name(),
            "waitSeconds": self.wait.as_secs(),
            "pullAfterSeconds": self.pull_after.as_secs(),
            "maxUnpublished": self.max_unpublished,
        });
        let text = format!("{text:#}\n");
        replace(&record, &digest(&text))?;
        replace(&place.own.join(FILE), &text)
    }

    /// Removes the settings, and the local repository of the remote.
    pub(super) fn remove(place: &SettingsPath) -> io::Result<()> {
        match fs::remove_dir_all(place.own.join(REPOSITORY)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        for file in place.record().into_iter().chain([place.own.join(FILE)]) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The settings found in a library.
pub(super) enum StoredSettings {
    /// Set by this user.
    Set(RemoteSettings),
    /// Came with the library.
    Foreign(Address),
}

/// Location of the settings.
pub(super) struct SettingsPath {
    /// The server's own folder in the library.
    own: PathBuf,
    /// The user's folder.
    user: Option<PathBuf>,
}

impl SettingsPath {
    pub(super) fn new(working_tree: &WorkingTree) -> Self {
        Self {
            own: working_tree.repository.own(""),
            user: working_tree.options.user.clone().or_else(user_folder),
        }
    }

    /// Returns the user's folder for connections of ssh.
    pub(super) fn connections(&self) -> Option<PathBuf> {
        Some(self.user.as_ref()?.join("ssh"))
    }

    /// Returns the file that records the settings of this library.
    fn record(&self) -> Option<PathBuf> {
        let path = digest(self.own.to_string_lossy().as_ref());
        Some(self.user.as_ref()?.join("remotes").join(path))
    }
}

/// Returns the user's folder for this program's state: `~/.local/state/tabellion`, or `%LOCALAPPDATA%\\tabellion`.
fn user_folder() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else {
        absolute("XDG_STATE_HOME").or_else(|| Some(env::home_dir()?.join(".local/state")))
    };
    Some(state?.join("tabellion"))
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a small file in one step, which only its owner can read.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension("new");
    // It may be left from a killed process.
    let _ = fs::remove_file(&new);
    let mut options = fs::OpenOptions::new();
    for_owner_alone(options.write(true).create_new(true));
    let mut written = open_to_write(&new, &mut options)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    rename(&new, file)
}
