//! URLs of exports over HTTP: until when they hold, and a signature that only this library can make.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tabellion_http::{DOWNLOADS, Download, Downloads};
use tabellion_library::Library;
use tabellion_platform as platform;
use uuid::Uuid;

use super::shelf::Shelf;

/// Name of the file with the key, which signs what leads to the exports beside it.
const KEY: &str = "exports.key";
const KEY_BYTES: usize = 32;
/// What exports are, by the extension of their files.
const MEDIA_TYPES: [(&str, &str); 2] = [("json", "application/json"), ("zip", "application/zip")];

/// The exports of a library, for those who have their URLs.
pub(super) struct Exports {
    folder: PathBuf,
    key: PathBuf,
}

impl Exports {
    /// Returns the exports of a library.
    pub(super) fn of(library: &Library) -> Self {
        let derived = Shelf::derived(library);
        Self {
            folder: Shelf::exports_in(&derived),
            key: derived.join(KEY),
        }
    }

    /// Returns the URL of an export, below that of the endpoint.
    ///
    /// # Errors
    /// If there is no key, and none can be made.
    pub(super) fn url(&self, endpoint: &str, id: Uuid, until: DateTime<Utc>) -> io::Result<String> {
        let (id, expires) = (id.to_string(), until.timestamp().to_string());
        let mac = mac(&self.key()?, &id, &expires);
        let signature = HEXLOWER.encode(&mac.finalize().into_bytes());
        Ok(format!(
            "{endpoint}/{DOWNLOADS}/{id}?expires={expires}&signature={signature}"
        ))
    }

    /// Returns the key. Makes one if there is none; of several processes, one does.
    fn key(&self) -> io::Result<[u8; KEY_BYTES]> {
        loop {
            match read(&self.key) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                read => return read,
            }
            let mut key = [0; KEY_BYTES];
            getrandom::fill(&mut key).map_err(io::Error::other)?;
            let folder = self.key.parent().unwrap_or(Path::new(""));
            fs::create_dir_all(folder)?;
            let new = folder.join(format!("{KEY}-{}", Uuid::new_v4()));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            platform::for_owner_alone(&mut options);
            let mut file = options.open(&new)?;
            file.write_all(&key).and_then(|()| file.sync_all())?;
            // A link takes no place that another process has taken meanwhile.
            let linked = fs::hard_link(&new, &self.key);
            fs::remove_file(&new)?;
            match linked {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
    }
}

fn read(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let key = fs::read(path)?;
    <[u8; KEY_BYTES]>::try_from(key).map_err(|_| {
        io::Error::other(format!(
            "`{}` is no key: remove it, and export again",
            path.display()
        ))
    })
}

fn mac(key: &[u8; KEY_BYTES], id: &str, expires: &str) -> Hmac<Sha256> {
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
        let key = match read(&self.key) {
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
mod tests {
    use std::io::Read as _;

    use super::*;

    const ENDPOINT: &str = "https://notes.example/mcp";

    /// Opens what a URL leads to.
    fn open(exports: &Exports, url: &str) -> Option<String> {
        let below = url.strip_prefix(ENDPOINT)?.strip_prefix("/exports/")?;
        let (id, query) = below.split_once('?')?;
        let mut text = String::new();
        let mut download = exports.open(id, query).unwrap()?;
        download.file.read_to_string(&mut text).unwrap();
        Some(format!("{}: {text}", download.media_type))
    }

    #[test]
    fn a_url_leads_to_its_export_until_it_expires_and_no_other_does() {
        let folder = tempfile::tempdir().unwrap();
        let exports = Exports {
            folder: folder.path().join("exports"),
            key: folder.path().join(KEY),
        };
        fs::create_dir(&exports.folder).unwrap();
        let (id, other) = (Uuid::new_v4(), Uuid::new_v4());
        for (id, text) in [(id, "{}"), (other, "[]")] {
            fs::write(exports.folder.join(format!("{id}.json")), text).unwrap();
        }
        let soon = Utc::now() + chrono::TimeDelta::minutes(5);
        let url = exports.url(ENDPOINT, id, soon).unwrap();
        assert_eq!(open(&exports, &url).unwrap(), "application/json: {}");
        assert_eq!(url, exports.url(ENDPOINT, id, soon).unwrap(), "the key stays");
        #[cfg(unix)]
        assert!(!platform::is_for_others(&fs::metadata(&exports.key).unwrap()));

        // Each character counts, and so do all others that a URL could have.
        for (at, is) in url.char_indices().skip(ENDPOINT.len() + "/exports/".len()) {
            for put in ["0", "1", "a", "A", "%30", ""] {
                let changed = format!("{}{put}{}", &url[..at], &url[at + is.len_utf8()..]);
                let is_same = put.chars().eq([is]);
                assert_eq!(open(&exports, &changed).is_some(), is_same, "{changed}");
            }
        }
        let moved = url.replace(&id.to_string(), &other.to_string());
        let later = url.replace(&soon.timestamp().to_string(), &(soon.timestamp() + 1).to_string());
        let past = exports.url(ENDPOINT, id, Utc::now()).unwrap();
        let twice = format!("{url}&signature=00");
        for wrong in [
            moved,
            later,
            past,
            twice,
            url[..url.find('?').unwrap() + 1].to_owned(),
        ] {
            assert_eq!(open(&exports, &wrong), None, "{wrong}");
        }
        let out = exports.open("../exports.key", "expires=99999999999&signature=00");
        assert!(out.unwrap().is_none());

        // Another key is another library's.
        fs::remove_file(&exports.key).unwrap();
        assert_eq!(open(&exports, &url), None);
        let new = exports.url(ENDPOINT, id, soon).unwrap();
        assert_ne!(new, url);
        assert!(open(&exports, &new).is_some() && open(&exports, &url).is_none());
        fs::remove_file(exports.folder.join(format!("{id}.json"))).unwrap();
        assert_eq!(open(&exports, &new), None);
        fs::write(&exports.key, "short").unwrap();
        assert!(
            exports
                .url(ENDPOINT, id, soon)
                .unwrap_err()
                .to_string()
                .contains("is no key")
        );
    }
}
