//! Sources of an issuer's keys: a file that is read again when it changes, or a URL that is fetched regularly.
//!
//! Known keys stay in use while the issuer can't be reached, so that its outage locks no caller out.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use hyper::Uri;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_rustls::rustls::ClientConfig;

use super::{KeySet, KeySetError, UrlError, fetch, resource};
use crate::{
    fresh::{Fresh, Read},
    tls::{self, TlsError},
};

/// The reason that a source of keys can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be read.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The file is not a key set.
    #[error("`{}`: {error}", path.display())]
    Set {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        #[source]
        error: KeySetError,
    },
    /// The URL is invalid or unsafe.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// TLS cannot be configured.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Intervals and timeout of requests for keys.
#[derive(Debug, Clone, Copy)]
pub struct PollingLimits {
    /// Interval of regular requests.
    pub every: Duration,
    /// Interval until the first success.
    pub first: Duration,
    /// Minimum interval of requests for a token's unknown key.
    pub between: Duration,
    /// Timeout of a request.
    pub timeout: Duration,
}

impl Default for PollingLimits {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(10 * 60),
            first: Duration::from_secs(5),
            between: Duration::from_secs(30),
            timeout: Duration::from_secs(10),
        }
    }
}

/// The source of an issuer's keys.
#[derive(Debug)]
pub struct Source(Origin);

#[derive(Debug)]
enum Origin {
    File(PathBuf, Fresh<KeySet>),
    Url(Arc<Remote>),
}

/// Keys at a URL.
#[derive(Debug)]
struct Remote {
    url: Uri,
    /// `None` for an unencrypted URL on this machine.
    tls: Option<Arc<ClientConfig>>,
    pace: PollingLimits,
    set: Mutex<Option<Arc<KeySet>>>,
    /// Time of the last request for an unknown key. Its lock is held during requests.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

impl Source {
    /// Uses the URL `place`, or the file at that path if it is not a URL.
    ///
    /// # Errors
    /// If the file has no keys, or the URL is unsafe. A server that does not answer is not an error.
    pub fn new(place: impl Into<PathBuf>, pace: PollingLimits) -> Result<Self, SourceError> {
        let path = place.into();
        let Some(url) = path.to_str().filter(|text| text.contains("://")) else {
            let set = Fresh::new(vec![path.clone()], || read(&path))?;
            return Ok(Self(Origin::File(path, set)));
        };
        let url = resource::safe(url)?;
        let is_secret = url.scheme_str() == Some("https");
        let tls = is_secret.then(tls::client).transpose()?;
        Ok(Self(Origin::Url(Arc::new(Remote {
            url,
            tls: tls.map(Arc::new),
            pace,
            set: Mutex::default(),
            asked: tokio::sync::Mutex::default(),
        }))))
    }

    /// Returns the known keys.
    pub(super) fn current(&self) -> Option<Arc<KeySet>> {
        match &self.0 {
            Origin::File(path, set) => {
                let again = || match read(path) {
                    Ok(set) => Read::Done(set),
                    Err(error) => {
                        tracing::error!(%error, "the changed file of keys can't be used; the previous keys stay in use");
                        Read::Failed { instead: None }
                    }
                };
                Some(set.current(again))
            }
            Origin::Url(remote) => remote.key_set(),
        }
    }

    /// Returns the keys; fetches them first if they are still `seen`, at most once per interval for all tokens. Regular requests
    /// do not count: an issuer may get a new key at any time.
    pub(super) async fn again(&self, seen: Option<Arc<KeySet>>) -> Option<Arc<KeySet>> {
        let Origin::Url(remote) = &self.0 else {
            return self.current();
        };
        // In a separate task: a client that disconnects must not cancel it.
        let asking = tokio::spawn({
            let remote = remote.clone();
            async move {
                let mut asked = remote.asked.lock().await;
                let is_new = remote.key_set().as_ref().map(Arc::as_ptr) != seen.as_ref().map(Arc::as_ptr);
                let is_recent = asked.is_some_and(|at| at.elapsed() < remote.pace.between);
                if !is_new && !is_recent {
                    *asked = Some(Instant::now());
                    remote.ask().await;
                }
            }
        });
        // It fails only when the runtime shuts down.
        let _ = asking.await;
        remote.key_set()
    }

    /// Fetches the keys at regular intervals; never returns.
    pub(super) async fn keep_fresh(&self) {
        let Origin::Url(remote) = &self.0 else {
            return std::future::pending().await;
        };
        loop {
            let asking = remote.asked.lock().await;
            remote.ask().await;
            drop(asking);
            let has_some = remote.key_set().is_some();
            sleep(if has_some { remote.pace.every } else { remote.pace.first }).await;
        }
    }
}

impl Remote {
    fn key_set(&self) -> Option<Arc<KeySet>> {
        self.set.lock().clone()
    }

    async fn ask(&self) {
        match fetch::get(&self.url, self.tls.as_ref(), self.pace.timeout).await {
            Ok(set) => {
                *self.set.lock() = Some(Arc::new(set));
            }
            Err(error) => {
                let url = &self.url;
                tracing::warn!(%url, %error, "the issuer's keys can't be fetched; known keys stay in use");
            }
        }
    }
}

fn read(path: &Path) -> Result<KeySet, SourceError> {
    let text = tabellion_platform::read_regular(path, tabellion_platform::MAX_OWN_BYTES)
        .map_err(|error| SourceError::Io { path: path.into(), error: error.into() })?;
    KeySet::parse(&text).map_err(|error| SourceError::Set { path: path.into(), error })
}
