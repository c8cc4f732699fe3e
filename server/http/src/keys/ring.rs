//! The valid keys.

use std::{collections::HashMap, sync::Arc};

use super::{ApiKey, KeyFile, KeyFileError, Principal, file::StoredKey};
use crate::cached_files::CachedFiles;

/// The keys of a file, read again when the file changes.
#[derive(Debug)]
pub struct KeyRing {
    file: KeyFile,
    keys: CachedFiles<Keys>,
}

/// By id.
type Keys = HashMap<String, KnownKey>;

#[derive(Debug)]
struct KnownKey {
    digest: String,
    principal: Arc<Principal>,
}

impl KeyRing {
    /// Reads the keys of `file`.
    ///
    /// # Errors
    /// Those of [`KeyFile::read`].
    pub fn new(file: KeyFile) -> Result<Self, KeyFileError> {
        let keys = CachedFiles::new(vec![file.path().into()], || file.read().map(by_id))?;
        Ok(Self { file, keys })
    }

    /// Returns the owner of `key`; `None` if the key is not valid. An unreadable file has no valid keys.
    pub fn principal(&self, key: &str) -> Option<Arc<Principal>> {
        let key = ApiKey::parse(key)?;
        let keys = self.keys();
        let known = keys.get(key.id())?;
        key.matches(&known.digest).then(|| known.principal.clone())
    }

    /// Returns true if the key of `principal` still exists unchanged.
    pub fn has(&self, principal: &Principal) -> bool {
        let keys = self.keys();
        keys.get(&principal.id)
            .is_some_and(|known| *known.principal == *principal)
    }

    fn keys(&self) -> Arc<Keys> {
        self.keys.current(|| {
            let keys = self.file.read().map(by_id);
            let none = |error| {
                tracing::error!(%error, "no key is valid until the file of keys can be read again");
                Keys::new()
            };
            Some(keys.unwrap_or_else(none))
        })
    }
}

fn by_id(keys: Vec<StoredKey>) -> Keys {
    let known = |key: StoredKey| {
        let principal = Arc::new(key.principal());
        let digest = key.sha256;
        (key.id, KnownKey { digest, principal })
    };
    keys.into_iter().map(known).collect()
}
