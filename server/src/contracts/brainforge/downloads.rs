//! URLs of exports over HTTP: until when they hold, and a signature that only this library can make.

use std::{fs, io, path::PathBuf};

use chrono::{DateTime, Utc};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tabellion_http::{DOWNLOADS, Download, Downloads};
use tabellion_library::Library;
use tabellion_notes::{SECRET_BYTES, SecretFile};
use uuid::Uuid;

use super::shelf::Shelf;

/// Name of the file with the key, which signs what leads to the exports beside it.
const KEY: &str = "exports.key";
/// What exports are, by the extension of their files.
const MEDIA_TYPES: [(&str, &str); 2] = [("json", "application/json"), ("zip", "application/zip")];

/// The exports of a library, for those who have their URLs.
pub(super) struct Exports {
    folder: PathBuf,
    key: SecretFile,
}

impl Exports {
    /// Returns the exports of a library.
    pub(super) fn of(library: &Library) -> Self {
        let derived = Shelf::derived(library);
        Self {
            folder: Shelf::exports_in(&derived),
            key: SecretFile::at(derived.join(KEY)),
        }
    }

    /// Returns the URL of an export, below that of the endpoint.
    ///
    /// # Errors
    /// If there is no key, and none can be made.
    pub(super) fn url(&self, endpoint: &str, id: Uuid, until: DateTime<Utc>) -> io::Result<String> {
        let (id, expires) = (id.to_string(), until.timestamp().to_string());
        let mac = mac(&self.key.read_or_make()?, &id, &expires);
        let signature = HEXLOWER.encode(&mac.finalize().into_bytes());
        Ok(format!(
            "{endpoint}/{DOWNLOADS}/{id}?expires={expires}&signature={signature}"
        ))
    }
}

fn mac(key: &[u8; SECRET_BYTES], id: &str, expires: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    mac.update(format!("{id}\n{expires}").as_bytes());
    mac
}

impl Downloads for Exports {
    fn open(&self, id: &str, query: &str) -> io::Result<Option<Download>> {
        let Some((expires, signature)) = parts(query) else {
            return Ok(None);
        };
        let (Ok(at), Ok(signature)) = (expires.parse::<i64>(), HEXLOWER.decode(signature.as_bytes())) else {
            return Ok(None);
        };
        let key = match self.key.read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            key => key?,
        };
        // In constant time. An id that was signed is one of an export, and leads nowhere else.
        let is_signed = mac(&key, id, expires).verify_slice(&signature).is_ok();
        if !is_signed || at <= Utc::now().timestamp() {
            return Ok(None);
        }
        for (extension, media_type) in MEDIA_TYPES {
            let name = format!("{id}.{extension}");
            match fs::File::open(self.folder.join(&name)) {
                Ok(file) => {
                    return Ok(Some(Download {
                        file,
                        name,
                        media_type,
                    }));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Returns when a URL expires, and its signature: the members of its query, in any order, each once.
fn parts(query: &str) -> Option<(&str, &str)> {
    let mut parts: Vec<_> = query.split('&').collect();
    parts.sort_unstable();
    let [expires, signature] = parts[..] else {
        return None;
    };
    Some((
        expires.strip_prefix("expires=")?,
        signature.strip_prefix("signature=")?,
    ))
}

#[cfg(test)]
mod tests;
