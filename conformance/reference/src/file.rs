//! Files of servers: locks among processes, and JSON documents that are replaced as a whole.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::Path,
    process,
};

use data_encoding::HEXLOWER;
use serde::{Serialize, de::DeserializeOwned};

use crate::mutant::{Mutant, is};

/// The system's source of random bytes.
pub(super) const RANDOM: &str = "/dev/urandom";

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

/// Replaces a document as a whole. The new bytes are synced before the rename, the folder is not.
pub(super) fn replace_json(path: &Path, document: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(document)?;
    if is(Mutant::WritesInPlace) {
        return fs::write(path, bytes);
    }
    let new = path.with_file_name(format!("new-{}", process::id()));
    let written = File::create(&new).and_then(|mut file| {
        file.write_all(&bytes)?;
        if is(Mutant::NeverSyncs) { Ok(()) } else { file.sync_all() }
    });
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        // It is replaced by the next change of this process otherwise.
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// Returns random hexadecimal digits.
pub(super) fn random(digits: usize) -> io::Result<String> {
    let mut bytes = vec![0; digits / 2];
    File::open(RANDOM)?.read_exact(&mut bytes)?;
    Ok(HEXLOWER.encode(&bytes))
}
