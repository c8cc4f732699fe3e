//! A secret in a file, for signing URLs of exports.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tabellion_platform::{create_folders, for_owner_alone, open_to_write, read_regular};

/// Bytes of a secret.
pub const SECRET_BYTES: usize = 32;

/// A secret in a file that only its owner can read.
#[derive(Debug, Clone)]
pub struct SecretFile(PathBuf);

impl SecretFile {
    /// Returns the secret in the file at `path`, without reading it.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the secret.
    ///
    /// # Errors
    /// If the file is missing, can't be read, or does not contain a secret.
    pub fn read(&self) -> io::Result<[u8; SECRET_BYTES]> {
        <[u8; SECRET_BYTES]>::try_from(read_regular(&self.0, 1 << 10)?).map_err(|_| {
            let path = self.0.display();
            io::Error::other(format!("`{path}` is no key: remove it, and export again"))
        })
    }

    /// Reads the secret, or creates it if there is none; of several processes, only one creates it.
    ///
    /// # Errors
    /// If it can't be read or created.
    pub fn read_or_make(&self) -> io::Result<[u8; SECRET_BYTES]> {
        loop {
            match self.read() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.make()?,
                read => return read,
            }
        }
    }

    fn make(&self) -> io::Result<()> {
        let (mut secret, mut suffix) = ([0; SECRET_BYTES], [0; 8]);
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        getrandom::fill(&mut suffix).map_err(io::Error::other)?;
        if let Some(folder) = self.0.parent() {
            create_folders(folder, 2)?;
        }
        let new = self.0.with_extension(format!("new-{:016x}", u64::from_be_bytes(suffix)));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        for_owner_alone(&mut options);
        let mut file = open_to_write(&new, &mut options)?;
        file.write_all(&secret).and_then(|()| file.sync_all())?;
        // A hard link does not replace a file that another process created meanwhile.
        let linked = fs::hard_link(&new, &self.0);
        fs::remove_file(&new)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }
}
