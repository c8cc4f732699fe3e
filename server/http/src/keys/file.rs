//! The file of keys: JSON that only its owner may read, with the hashes of the keys.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use chrono::{SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use super::{ApiKey, Bound, Principal, Scope};
use tabellion_platform::{self as platform, FileLock};
use tabellion_runtime::{Agent, Identity, spec::ScopeWord};

/// Maximum length of a principal's name, in characters.
const MAX_NAME: usize = 64;
/// Maximum length of an e-mail address, in characters (RFC 5321).
const MAX_EMAIL: usize = 254;

/// The reason that a file of keys can't be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The system refuses to read or write a file.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The file does not exist.
    #[error(
        "the file of keys `{}` does not exist; `tabellion key create --keys FILE --name OWNER` creates it with a first key",
        .0.display()
    )]
    Missing(PathBuf),
    /// Other users may read or change the file.
    #[error("other users can read or change `{}`; forbid that with `chmod 600`", .0.display())]
    Permissions(PathBuf),
    /// The file is not JSON, or not in the expected form.
    #[error("`{}` is not a file of keys: {error}", path.display())]
    Json {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        #[source]
        error: serde_json::Error,
    },
    /// Two keys of the file have the same id.
    #[error("`{}` is not a file of keys: there are two keys `{id}`", path.display())]
    DuplicateId {
        /// Path of the file.
        path: PathBuf,
        /// The id.
        id: String,
    },
    /// The name can't be used in a commit's author line.
    #[error("`{}` can't be the name of a key's owner; a name has 1 to {MAX_NAME} visible characters, without `<` and `>`", .0.escape_debug())]
    Name(String),
    /// The address can't be used in a commit's author line.
    #[error("`{}` is not an e-mail address", .0.escape_debug())]
    Email(String),
    /// An agent's key would permit reviews.
    #[error("an agent can't have the scope `{0}`: only people review")]
    AgentReviews(Scope),
    /// The file has no such key.
    #[error("there is no key `{}`; `tabellion key list` shows all keys", .0.escape_debug())]
    UnknownKey(String),
}

/// A file of keys.
#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

/// Content of a file of keys.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    keys: Vec<StoredKey>,
}

/// A key as stored in the file, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredKey {
    /// Id of the key. It is not secret.
    pub id: String,
    /// Name of its owner.
    pub name: String,
    /// Address of its owner.
    pub email: String,
    /// The key's permissions.
    pub scopes: Vec<Scope>,
    /// Id of the only org that the key can access, if it is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
    /// Id or address of the user who makes its calls, if specified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `NAME@VERSION` of the agent that makes its calls, unless a person does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Time of the key's creation, in RFC 3339.
    pub created: String,
    /// SHA-256 of the secret, in hexadecimal.
    pub(super) sha256: String,
}

impl StoredKey {
    pub(super) fn principal(&self) -> Principal {
        Principal {
            identity: Identity::key(&self.id),
            name: self.name.clone(),
            email: self.email.clone(),
            scopes: self.scopes.clone(),
            bound: Bound {
                org: self.org.clone(),
                user: self.user.clone(),
                agent: self.agent.as_deref().map(|text| Agent::parse(text).unwrap_or_default()),
            },
        }
    }
}

impl KeyFile {
    /// Names the file at `path`, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the keys.
    ///
    /// # Errors
    /// If the file is missing, if other users may read it, or if it is not a file of keys.
    pub fn read(&self) -> Result<Vec<StoredKey>, KeyFileError> {
        let opened = platform::open_regular(&self.path).map_err(io::Error::from);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => KeyFileError::Missing(self.path.clone()),
            _ => self.io(error),
        })?;
        let metadata = file.metadata().map_err(|error| self.io(error))?;
        if platform::is_for_others(&metadata) {
            return Err(KeyFileError::Permissions(self.path.clone()));
        }
        let mut text = String::new();
        file.take(platform::MAX_OWN_BYTES).read_to_string(&mut text).map_err(|error| self.io(error))?;
        let content: Content = serde_json::from_str(&text)
            .map_err(|error| KeyFileError::Json { path: self.path.clone(), error })?;
        let mut ids = BTreeSet::new();
        match content.keys.iter().find(|key| !ids.insert(&key.id)) {
            Some(duplicate) => {
                Err(KeyFileError::DuplicateId { path: self.path.clone(), id: duplicate.id.clone() })
            }
            None => Ok(content.keys),
        }
    }

    /// Creates a key, and the file if it is missing. The returned key is stored nowhere.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), except for a missing file; also if `name` or `email` can't be used in a commit.
    pub fn create(
        &self,
        name: &str,
        email: Option<&str>,
        scopes: Vec<Scope>,
    ) -> Result<ApiKey, KeyFileError> {
        self.create_bound(name, email, scopes, Bound::default())
    }

    /// Checks the values of a new key.
    ///
    /// # Errors
    /// If the name or the address is not valid, or an agent's key would permit reviews.
    pub fn check(
        name: &str,
        email: Option<&str>,
        scopes: &[Scope],
        bound: &Bound,
    ) -> Result<(), KeyFileError> {
        if !is_name(name) {
            return Err(KeyFileError::Name(name.into()));
        }
        if let Some(email) = email.filter(|email| !is_email(email)) {
            return Err(KeyFileError::Email(email.into()));
        }
        let reviews = scopes.iter().find(|scope| scope.word() == ScopeWord::Review);
        match (&bound.agent, reviews) {
            (Some(_), Some(scope)) => Err(KeyFileError::AgentReviews(scope.clone())),
            _ => Ok(()),
        }
    }

    /// As [`create`](Self::create), for calls about the rows of one org or user, or of an agent.
    ///
    /// # Errors
    /// Those of [`create`](Self::create), and if an agent's key would permit reviews.
    pub fn create_bound(
        &self,
        name: &str,
        email: Option<&str>,
        scopes: Vec<Scope>,
        bound: Bound,
    ) -> Result<ApiKey, KeyFileError> {
        Self::check(name, email, &scopes, &bound)?;
        let key = ApiKey::random();
        let email = email.map_or_else(|| format!("key-{}@tabellion.localhost", key.id()), str::to_owned);
        let _lock = self.lock()?;
        let mut keys = match self.read() {
            Err(KeyFileError::Missing(_)) => vec![],
            keys => keys?,
        };
        keys.push(StoredKey {
            id: key.id().into(),
            name: name.into(),
            email,
            scopes,
            org: bound.org,
            user: bound.user,
            agent: bound.agent.map(|agent| agent.to_string()),
            created: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
            sha256: key.digest(),
        });
        self.write(keys)?;
        Ok(key)
    }

    /// Removes a key; returns its owner.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and if there is no such key.
    pub fn revoke(&self, id: &str) -> Result<Principal, KeyFileError> {
        let _lock = self.lock()?;
        let mut keys = self.read()?;
        let index = keys.iter().position(|key| key.id == id);
        let index = index.ok_or_else(|| KeyFileError::UnknownKey(id.into()))?;
        let principal = keys.remove(index).principal();
        self.write(keys)?;
        Ok(principal)
    }

    /// Locks the file against other writers.
    fn lock(&self) -> Result<FileLock, KeyFileError> {
        if self.path.is_dir() {
            return Err(self.io(io::ErrorKind::IsADirectory.into()));
        }
        let path = self.beside("lock");
        platform::lock_file(&path).map_err(|error| KeyFileError::Io { path, error })
    }

    /// Replaces the file atomically: readers see the keys before or after.
    fn write(&self, keys: Vec<StoredKey>) -> Result<(), KeyFileError> {
        let text = serde_json::to_string_pretty(&Content { keys }).expect("keys are JSON");
        let path = self.beside("new");
        let written = || {
            // A crashed process may have left the file.
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            platform::for_owner_alone(&mut options);
            let mut file = platform::open_to_write(&path, &mut options)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            fs::rename(&path, &self.path)
        };
        written().map_err(|error| self.io(error))
    }

    /// Returns the file's path with a further extension.
    fn beside(&self, extension: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{extension}"));
        name.into()
    }

    fn io(&self, error: io::Error) -> KeyFileError {
        KeyFileError::Io { path: self.path.clone(), error }
    }
}

/// Returns true if `text` can be the name of a commit's author.
pub(crate) fn is_name(text: &str) -> bool {
    is_printable(text, MAX_NAME)
}

/// Returns true if `text` can be the address of a commit's author.
pub(crate) fn is_email(text: &str) -> bool {
    is_printable(text, MAX_EMAIL) && text.contains('@') && !text.contains(' ')
}

/// Returns true if `text` can be written in a commit's author line and parsed there.
fn is_printable(text: &str, max: usize) -> bool {
    let hides =
        |c: char| c.is_control() || matches!(c, '<' | '>') || tabellion_runtime::text::is_invisible(c);
    (1..=max).contains(&text.chars().count()) && text.trim() == text && !text.chars().any(hides)
}
