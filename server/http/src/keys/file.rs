//! The file of keys: JSON, without their secrets, for its owner alone.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use chrono::{SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use super::{Holder, Scope, Secret};
use tabellion_platform::{self as platform, FileLock};

/// The longest name of a holder, in characters.
const LONGEST_NAME: usize = 64;

/// Why a file of keys can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The system doesn't let us.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// Of what.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Others than its owner may read or change it.
    #[error("`{}` can be read or changed by others than its owner; take that away with `chmod 600`", .0.display())]
    Open(PathBuf),
    /// It holds something else.
    #[error("`{}` is no file of keys: {why}", path.display())]
    Broken {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No name for a holder.
    #[error("`{}` is no name for a key's holder; it has 1 to {LONGEST_NAME} characters, all of which can be seen", .0.escape_debug())]
    Name(String),
    /// No address for commits.
    #[error("`{}` is no e-mail address", .0.escape_debug())]
    Email(String),
    /// There is no such key.
    #[error("there is no key `{}`; `tabellion key list` shows those that there are", .0.escape_debug())]
    Unknown(String),
}

/// A file of keys.
#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

/// What a file of keys holds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    keys: Vec<Entry>,
}

/// A key, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Id of the key, which is no secret.
    pub id: String,
    /// Name of its owner.
    pub name: String,
    /// Address of its owner.
    pub email: String,
    /// What it permits.
    pub scopes: Vec<Scope>,
    /// When it was made, in RFC 3339.
    pub created: String,
    /// SHA-256 of the secret, in hexadecimal.
    pub(super) sha256: String,
}

impl Entry {
    pub(super) fn holder(&self) -> Holder {
        Holder {
            id: self.id.clone(),
            name: self.name.clone(),
            email: self.email.clone(),
            scopes: self.scopes.clone(),
        }
    }
}

impl KeyFile {
    /// The file at `path`, whether it is there or not.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The keys in it.
    ///
    /// # Errors
    /// When it is not there, when others may read it, and when it holds something else.
    pub fn read(&self) -> Result<Vec<Entry>, Trouble> {
        let mut file = File::open(&self.path).map_err(|error| self.io(error))?;
        let metadata = file.metadata().map_err(|error| self.io(error))?;
        if platform::is_for_others(&metadata) {
            return Err(Trouble::Open(self.path.clone()));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| self.io(error))?;
        let broken = |why: String| Trouble::Broken {
            path: self.path.clone(),
            why,
        };
        let content: Content = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let mut ids = BTreeSet::new();
        match content.keys.iter().find(|key| !ids.insert(&key.id)) {
            Some(twice) => Err(broken(format!("there are two keys `{}`", twice.id))),
            None => Ok(content.keys),
        }
    }

    /// Makes a key, and the file where it is missing. The key is nowhere else.
    ///
    /// # Errors
    /// As for reading the file, but for a file that is missing; also when `name` or `email` is none.
    pub fn create(&self, name: &str, email: Option<&str>, scopes: Vec<Scope>) -> Result<Secret, Trouble> {
        if !is_name(name) {
            return Err(Trouble::Name(name.into()));
        }
        let secret = Secret::random();
        let email = match email {
            Some(email) if is_email(email) => email.into(),
            Some(email) => return Err(Trouble::Email(email.into())),
            None => format!("key-{}@tabellion.localhost", secret.id()),
        };
        let _lock = self.lock()?;
        let mut keys = match self.read() {
            Err(Trouble::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => vec![],
            keys => keys?,
        };
        keys.push(Entry {
            id: secret.id().into(),
            name: name.into(),
            email,
            scopes,
            created: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
            sha256: secret.digest(),
        });
        self.write(keys)?;
        Ok(secret)
    }

    /// Takes a key away; whose it was.
    ///
    /// # Errors
    /// As for reading the file, and when there is no such key.
    pub fn revoke(&self, id: &str) -> Result<Holder, Trouble> {
        let _lock = self.lock()?;
        let mut keys = self.read()?;
        let place = keys.iter().position(|key| key.id == id);
        let place = place.ok_or_else(|| Trouble::Unknown(id.into()))?;
        let holder = keys.remove(place).holder();
        self.write(keys)?;
        Ok(holder)
    }

    /// Keeps out others who change it.
    fn lock(&self) -> Result<FileLock, Trouble> {
        let path = self.beside("lock");
        platform::lock_file(&path).map_err(|error| Trouble::Io { path, error })
    }

    /// Replaces the file: whoever reads it sees the keys before or those after.
    fn write(&self, keys: Vec<Entry>) -> Result<(), Trouble> {
        let text = serde_json::to_string_pretty(&Content { keys }).expect("keys are JSON");
        let path = self.beside("new");
        let written = || {
            // What a process that died has left.
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            platform::for_owner_alone(&mut options);
            let mut file = options.open(&path)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            fs::rename(&path, &self.path)
        };
        written().map_err(|error| self.io(error))
    }

    fn beside(&self, what: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{what}"));
        name.into()
    }

    fn io(&self, error: io::Error) -> Trouble {
        Trouble::Io {
            path: self.path.clone(),
            error,
        }
    }
}

/// Whether somebody can be called so.
pub(crate) fn is_name(text: &str) -> bool {
    is_shown(text, LONGEST_NAME)
}

/// Whether that can be somebody's address.
pub(crate) fn is_email(text: &str) -> bool {
    is_shown(text, 254) && text.contains('@') && !text.contains(' ')
}

/// Whether a text can stand in a commit's author line and be read there.
fn is_shown(text: &str, longest: usize) -> bool {
    let hides =
        |c: char| c.is_control() || matches!(c, '<' | '>') || tabellion_runtime::text::is_invisible(c);
    (1..=longest).contains(&text.chars().count()) && text.trim() == text && !text.chars().any(hides)
}
