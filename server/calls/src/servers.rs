//! The servers that share a file.

use std::{collections::HashSet, io, path::PathBuf};

use tabellion_platform::presence::{Presence, is_present};
use uuid::Uuid;

/// This process as one of the servers.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    pub(crate) id: String,
    #[expect(dead_code, reason = "held, never read: others see that this server runs")]
    presence: Presence,
}

impl Server {
    /// Joins the servers in `folder`.
    pub(crate) fn join(folder: PathBuf) -> io::Result<Self> {
        let id = Uuid::new_v4().to_string();
        let presence = Presence::join(&folder, &id)?;
        Ok(Self { folder, id, presence })
    }

    /// Returns those of these servers that have ended.
    pub(crate) fn ended<'s>(&self, servers: impl IntoIterator<Item = &'s str>) -> HashSet<&'s str> {
        let lives = |id: &str| id == self.id || is_present(&self.folder, id);
        servers.into_iter().filter(|id| !lives(id)).collect()
    }
}
