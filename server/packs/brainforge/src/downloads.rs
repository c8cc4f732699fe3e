//! URLs of exports over HTTP: each has an expiry time, and a signature that only this library can make.

use std::{
    io,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tabellion_contracts::brainforge::CONTRACT;
use tabellion_notes::{SECRET_BYTES, SecretFile};
use tabellion_platform::open_regular;
use tabellion_runtime::{
    Identity,
    downloads::{Download, Downloads, Opened},
    identity::Method,
    spec::{RestEndpoint, RestOperation},
};
use uuid::Uuid;

/// Name of the folder with the exports.
pub(super) const FOLDER: &str = "exports";
/// Name of the file with the key that signs URLs of the exports next to it.
const KEY: &str = "exports.key";
/// Media types of exports, by file extension.
const MEDIA_TYPES: [(&str, &str); 2] = [("json", "application/json"), ("zip", "application/zip")];

/// The exports of a library, for holders of their URLs.
pub(super) struct Exports {
    folder: PathBuf,
    key: SecretFile,
}

impl Exports {
    /// Returns the exports in the folder of a library's derived files.
    pub(super) fn new(derived: &Path) -> Self {
        Self { folder: derived.join(FOLDER), key: SecretFile::new(derived.join(KEY)) }
    }

    /// Returns the URL of an export, below that of the endpoint. If `by` has an API key, the URL is valid as long as the key is.
    ///
    /// # Errors
    /// If there is no key to sign it with, and none can be made.
    pub(super) fn url(
        &self,
        endpoint: &str,
        id: Uuid,
        until: DateTime<Utc>,
        by: Option<&Identity>,
    ) -> io::Result<String> {
        let (id, expires) = (id.to_string(), until.timestamp().to_string());
        let key = by.filter(|by| by.method() == Method::ApiKey).map(Identity::subject);
        let mac = mac(&self.key.read_or_make()?, &id, &expires, key);
        let signature = HEXLOWER.encode(&mac.finalize().into_bytes());
        let key = key.map_or(String::new(), |key| format!("&key={key}"));
        let path = place().path_with(&[&id]);
        Ok(format!("{endpoint}{path}?expires={expires}{key}&signature={signature}"))
    }
}

/// Returns the endpoint of downloads.
fn place() -> &'static RestEndpoint {
    let endpoint = CONTRACT.endpoint(RestOperation::Download);
    endpoint.expect("the contract has downloads")
}

fn mac(secret: &[u8; SECRET_BYTES], id: &str, expires: &str, key: Option<&str>) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key may have any length");
    let signed = [Some(id), Some(expires), key];
    let signed: Vec<_> = signed.into_iter().flatten().collect();
    mac.update(signed.join("\n").as_bytes());
    mac
}

impl Downloads for Exports {
    fn path(&self) -> &'static str {
        place().path
    }

    fn open(&self, id: &str, query: &str) -> io::Result<Opened> {
        let Some(Parts { expires, key, signature }) = parts(query) else {
            return Ok(Opened::Unsigned);
        };
        let (Ok(at), Ok(signature)) = (expires.parse::<i64>(), HEXLOWER.decode(signature.as_bytes())) else {
            return Ok(Opened::Unsigned);
        };
        let secret = match self.key.read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Opened::Unsigned),
            secret => secret?,
        };
        // In constant time. A signed id is the id of an export, so it cannot lead to another file.
        let is_signed = mac(&secret, id, expires, key).verify_slice(&signature).is_ok();
        if !is_signed {
            return Ok(Opened::Unsigned);
        }
        if at <= Utc::now().timestamp() {
            return Ok(Opened::Expired);
        }
        for (extension, media_type) in MEDIA_TYPES {
            let name = format!("{id}.{extension}");
            match open_regular(&self.folder.join(&name)).map_err(io::Error::from) {
                Ok(file) => {
                    return Ok(Opened::File(Download {
                        file: Box::new(file),
                        name,
                        media_type,
                        key: key.map(String::from),
                    }));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Opened::Missing)
    }
}

/// The members of a URL's query.
struct Parts<'q> {
    expires: &'q str,
    key: Option<&'q str>,
    signature: &'q str,
}

/// Returns the members of a query, in any order, each once.
fn parts(query: &str) -> Option<Parts<'_>> {
    let mut parts: Vec<_> = query.split('&').collect();
    parts.sort_unstable();
    let (expires, key, signature) = match parts[..] {
        [expires, signature] => (expires, None, signature),
        [expires, key, signature] => (expires, Some(key.strip_prefix("key=")?), signature),
        _ => return None,
    };
    Some(Parts {
        expires: expires.strip_prefix("expires=")?,
        key,
        signature: signature.strip_prefix("signature=")?,
    })
}

#[cfg(test)]
mod tests;
