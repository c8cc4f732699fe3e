//! Short texts in the server's own folder. They are not part of the library, and clones lack them.

use std::{fs, io, io::Write as _, path::PathBuf};

use tabellion_platform::{create, create_folders, read_text};

use super::Library;

/// The folder, in the server's own.
const FOLDER: &str = "aside";

impl Library {
    /// Stores `text` under `name`, a file name; replaces an earlier text.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn keep_aside(&self, name: &str, text: &str) -> io::Result<()> {
        // The server's own folder and the one in it.
        create_folders(&self.derived(FOLDER), 2)?;
        create(&self.aside(name))?.write_all(text.as_bytes())
    }

    /// Returns the text stored under `name`.
    pub fn kept_aside(&self, name: &str) -> Option<String> {
        read_text(&self.aside(name)).ok()
    }

    /// Removes the text stored under `name`.
    pub fn forget_aside(&self, name: &str) {
        // The text may be missing.
        let _ = fs::remove_file(self.aside(name));
    }

    fn aside(&self, name: &str) -> PathBuf {
        self.derived(FOLDER).join(name)
    }
}
