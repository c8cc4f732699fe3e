//! The keys that are good now.

use std::{
    collections::HashMap,
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::{Holder, KeyFile, Secret, Trouble, file::Entry};
use crate::platform::{FileId, file_id};

/// The keys of a file, as they are now.
#[derive(Debug)]
pub struct Ring {
    file: KeyFile,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    version: Option<Version>,
    keys: HashMap<String, (String, Arc<Holder>)>,
}

/// By what a file is told from one that has taken its place, or was changed.
type Version = (Option<FileId>, u64, Option<SystemTime>);

impl Ring {
    /// The keys of `file`.
    ///
    /// # Errors
    /// When it can't be read, or has none.
    pub fn new(file: KeyFile) -> Result<Self, Trouble> {
        let version = version(&file);
        let known = Known {
            keys: by_id(file.read()?),
            version,
        };
        Ok(Self {
            file,
            known: Mutex::new(known),
        })
    }

    /// Whoever has this key; `None` where nobody has. A file that can't be read any more has no keys.
    pub fn holder(&self, key: &str) -> Option<Arc<Holder>> {
        let secret = Secret::parse(key)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let version = version(&self.file);
        if version != known.version {
            known.keys = match self.file.read() {
                Ok(keys) => by_id(keys),
                Err(error) => {
                    tracing::error!(%error, "no key is good until this is mended");
                    HashMap::new()
                }
            };
            known.version = version;
        }
        let (digest, holder) = known.keys.get(secret.id())?;
        secret.is_of(digest).then(|| holder.clone())
    }
}

fn by_id(keys: Vec<Entry>) -> HashMap<String, (String, Arc<Holder>)> {
    let keys = keys.into_iter();
    keys.map(|key| (key.id.clone(), (key.sha256.clone(), Arc::new(key.holder()))))
        .collect()
}

fn version(file: &KeyFile) -> Option<Version> {
    let metadata = fs::metadata(file.path()).ok()?;
    Some((file_id(&metadata), metadata.len(), metadata.modified().ok()))
}
