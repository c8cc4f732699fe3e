//! Short texts that are kept beside a library, in the server's own folder: no part of it, and lost with the clone.

use std::{fs, io, io::Write as _, path::PathBuf};

use tabellion_platform::{create, create_folders, read_text};

use super::Library;

/// The folder, in the server's own.
const FOLDER: &str = "aside";

impl Library {
    /// Keeps `text` under `name`, which is a file's name; replaces what was kept.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn keep_aside(&self, name: &str, text: &str) -> io::Result<()> {
        // The server's own folder and the one in it.
        create_folders(&self.derived(FOLDER), 2)?;
        create(&self.aside(name))?.write_all(text.as_bytes())
    }

    /// Returns what is kept under `name`.
    pub fn kept_aside(&self, name: &str) -> Option<String> {
        read_text(&self.aside(name)).ok()
    }

    /// Keeps nothing any more under `name`.
    pub fn forget_aside(&self, name: &str) {
        // Nothing may be there.
        let _ = fs::remove_file(self.aside(name));
    }

    fn aside(&self, name: &str) -> PathBuf {
        self.derived(FOLDER).join(name)
    }
}
