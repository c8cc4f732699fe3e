//! The valid keys.

use std::{collections::HashMap, sync::Arc};

use super::{ApiKey, KeyFile, KeyFileError, Principal, file::StoredKey};
use crate::fresh::{Fresh, Read};

/// The keys of a file, read again when the file changes.
#[derive(Debug)]
pub struct KeyRing {
    file: KeyFile,
    /// `None` while the file can't be read: no key is valid, and none is known to be invalid.
    keys: Fresh<Option<Keys>>,
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
        let keys = Fresh::new(vec![file.path().into()], || file.read().map(by_id).map(Some))?;
        Ok(Self { file, keys })
    }

    /// Returns the owner of `key`; `None` if it is not valid. If the file can't be read any more, no key is valid.
    pub fn principal(&self, key: &str) -> Option<Arc<Principal>> {
        let key = ApiKey::parse(key)?;
        let keys = self.keys();
        let known = keys.as_ref().as_ref()?.get(key.id())?;
        key.matches(&known.digest).then(|| known.principal.clone())
    }

    /// Returns true if the key of `principal` still exists unchanged.
    pub fn has(&self, principal: &Principal) -> bool {
        self.by_id(principal.identity.subject()).is_some_and(|known| *known == *principal)
    }

    /// Returns the owner of the key with this id; `None` if it does not exist.
    pub fn by_id(&self, id: &str) -> Option<Arc<Principal>> {
        self.keys().as_ref().as_ref()?.get(id).map(|known| known.principal.clone())
    }

    /// Returns false while the file can't be read.
    pub fn is_readable(&self) -> bool {
        self.keys().is_some()
    }

    fn keys(&self) -> Arc<Option<Keys>> {
        self.keys.current(|| {
            let none = |error| {
                tracing::error!(%error, "no key is valid until the file of keys can be read again");
                Read::Failed { instead: Some(None) }
            };
            self.file.read().map(by_id).map(Some).map_or_else(none, Read::Done)
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
