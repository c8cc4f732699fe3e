//! The keys that are good now.

use std::{collections::HashMap, sync::Arc};

use super::{Holder, KeyFile, Secret, Trouble, file::Entry};
use crate::fresh::Fresh;

/// The keys of a file, as they are now.
#[derive(Debug)]
pub struct Ring {
    file: KeyFile,
    keys: Fresh<Keys>,
}

/// By the key's id: its digest, and who has it.
type Keys = HashMap<String, (String, Arc<Holder>)>;

impl Ring {
    /// The keys of `file`.
    ///
    /// # Errors
    /// When it can't be read, or has none.
    pub fn new(file: KeyFile) -> Result<Self, Trouble> {
        let keys = Fresh::new(vec![file.path().into()], || file.read().map(by_id))?;
        Ok(Self { file, keys })
    }

    /// Whoever has this key; `None` where nobody has. A file that can't be read any more has no keys.
    pub fn holder(&self, key: &str) -> Option<Arc<Holder>> {
        let secret = Secret::parse(key)?;
        let keys = self.keys();
        let (digest, holder) = keys.get(secret.id())?;
        secret.is_of(digest).then(|| holder.clone())
    }

    /// Whether the key of `holder` is still there, as it was.
    pub fn has(&self, holder: &Holder) -> bool {
        let keys = self.keys();
        keys.get(&holder.id).is_some_and(|(_, now)| **now == *holder)
    }

    fn keys(&self) -> Arc<Keys> {
        self.keys.current(|| {
            let keys = self.file.read().map(by_id);
            let none = |error| {
                tracing::error!(%error, "no key is good until this is mended");
                Keys::new()
            };
            Some(keys.unwrap_or_else(none))
        })
    }
}

fn by_id(keys: Vec<Entry>) -> Keys {
    let keys = keys.into_iter();
    keys.map(|key| (key.id.clone(), (key.sha256.clone(), Arc::new(key.holder()))))
        .collect()
}
