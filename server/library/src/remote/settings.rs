//! With which remote a library is shared, and how: a file in the server's own folder, which only its owner can read.
//!
//! The address is fixed there. What becomes of `.git/config` later, which the sender of a library may have written, changes nothing.

use std::{fmt, fs, io, io::Write as _, path::Path, time::Duration};

use serde_json::{Value, json};
use tabellion_platform::{create_folders, for_owner_alone, open_to_write, read_text, rename};
use tabellion_remotes::Address;

/// Name of our own repository, with which git speaks to the remote, in our own folder.
pub(super) const REPOSITORY: &str = "remote.git";
/// Name of the file in our own folder.
const FILE: &str = "remote";

/// When a change is acknowledged.
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
    /// When a change is acknowledged.
    pub acknowledge: Acknowledge,
    /// How long a change or a push waits for the remote.
    pub wait: Duration,
    /// The age of what was fetched at which a reading call fetches first.
    pub pull_after: Duration,
    /// The number of commits that the remote does not have at which changes are refused.
    pub max_unpublished: Option<usize>,
}

impl RemoteSettings {
    /// Returns the settings that hold unless others are chosen.
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

    /// Reads the settings in the folder `own`; `None` if there are none.
    pub(super) fn read(own: &Path) -> Option<Self> {
        let text = read_text(&own.join(FILE)).ok()?;
        let parsed = serde_json::from_str(&text)
            .ok()
            .and_then(|value| Self::parse(&value));
        if parsed.is_none() {
            tracing::warn!(
                "the settings of the remote can't be read; `tabellion remote set` writes them anew"
            );
        }
        parsed
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
            max_unpublished: value
                .get("maxUnpublished")
                .and_then(Value::as_u64)
                .map(|most| most as usize),
        })
    }

    pub(super) fn write(&self, own: &Path) -> io::Result<()> {
        create_folders(own, 1)?;
        let text = json!({
            "address": self.address.as_str(),
            "branch": self.branch,
            "acknowledge": self.acknowledge.name(),
            "waitSeconds": self.wait.as_secs(),
            "pullAfterSeconds": self.pull_after.as_secs(),
            "maxUnpublished": self.max_unpublished,
        });
        let (file, new) = (own.join(FILE), own.join("remote.new"));
        // It may be left from a process that was killed.
        let _ = fs::remove_file(&new);
        let mut options = fs::OpenOptions::new();
        for_owner_alone(options.write(true).create_new(true));
        let mut written = open_to_write(&new, &mut options)?;
        written.write_all(format!("{text:#}\n").as_bytes())?;
        written.sync_all()?;
        rename(&new, &file)
    }

    /// Forgets them, with what was known of the remote.
    pub(super) fn remove(own: &Path) -> io::Result<()> {
        match fs::remove_dir_all(own.join(REPOSITORY)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        super::super::durable::remove_if_there(&own.join(FILE))
            .map_err(|failure| io::Error::other(failure.to_string()))
    }
}
