//! Files of servers: locks among processes, and JSON documents.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use serde::de::DeserializeOwned;

/// Takes a lock among processes, which is held until the file is dropped.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    file.lock()?;
    Ok(file)
}

/// Reads a document; `None` if it does not exist.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
