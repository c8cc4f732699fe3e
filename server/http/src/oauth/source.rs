//! The source of an issuer's keys: a file that is read again when it changes, or a URL that is polled.
//!
//! If a fetch fails, the last keys stay valid, so that an unreachable issuer locks out no caller.

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
    cached_files::CachedFiles,
    tls::{self, TlsError},
};

/// Why a source can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file can't be read.
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
        /// The cause.
        #[source]
        error: KeySetError,
    },
    /// The URL is refused.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// TLS can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Intervals and timeout of fetches.
#[derive(Debug, Clone, Copy)]
pub struct FetchIntervals {
    /// Between regular fetches.
    pub every: Duration,
    /// Until the first fetch succeeds.
    pub first: Duration,
    /// Minimum between fetches because of unknown key ids in tokens.
    pub between: Duration,
    /// Timeout of a fetch.
    pub timeout: Duration,
}

impl Default for FetchIntervals {
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
    File(PathBuf, CachedFiles<KeySet>),
    Url(Arc<Remote>),
}

/// Keys at a URL.
#[derive(Debug)]
struct Remote {
    url: Uri,
    /// `None` if the URL is plain HTTP on this machine.
    tls: Option<Arc<ClientConfig>>,
    intervals: FetchIntervals,
    set: Mutex<Option<Arc<KeySet>>>,
    /// Time of the last fetch because of a token. The holder of the lock fetches.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

impl Source {
    /// Creates a source from a path, or a URL if `text` begins like one.
    ///
    /// # Errors
    /// If the file has no keys, or the URL is not safe. An unreachable URL is not an error.
    pub fn new(text: &str, intervals: FetchIntervals) -> Result<Self, SourceError> {
        if !text.contains("://") {
            let path = PathBuf::from(text);
            let set = CachedFiles::new(vec![path.clone()], || read(&path))?;
            return Ok(Self(Origin::File(path, set)));
        }
        let url = resource::safe(text)?;
        let is_secret = url.scheme_str() == Some("https");
        let tls = is_secret.then(tls::client).transpose()?;
        Ok(Self(Origin::Url(Arc::new(Remote {
            url,
            tls: tls.map(Arc::new),
            intervals,
            set: Mutex::default(),
            asked: tokio::sync::Mutex::default(),
        }))))
    }

    /// Returns the known keys.
    pub(super) fn current(&self) -> Option<Arc<KeySet>> {
        match &self.0 {
            Origin::File(path, set) => {
                let again = || match read(path) {
                    Ok(set) => Some(set),
                    Err(error) => {
                        tracing::error!(%error, "the issuer's keys can't be read; the last ones stay valid");
                        None
                    }
                };
                Some(set.current(again))
            }
            Origin::Url(remote) => remote.known(),
        }
    }

    /// Fetches the keys again, if they are still `seen` and were not just fetched for another token. Regular fetches do not
    /// count: an issuer may add a key at any time.
    pub(super) async fn refetch(&self, seen: Option<Arc<KeySet>>) -> Option<Arc<KeySet>> {
        let Origin::Url(remote) = &self.0 else {
            return self.current();
        };
        // Spawned, so that a client that hangs up does not cancel it.
        let asking = tokio::spawn({
            let remote = remote.clone();
            async move {
                let mut asked = remote.asked.lock().await;
                let is_new = remote.known().as_ref().map(Arc::as_ptr) != seen.as_ref().map(Arc::as_ptr);
                let is_recent = asked.is_some_and(|at| at.elapsed() < remote.intervals.between);
                if !is_new && !is_recent {
                    *asked = Some(Instant::now());
                    remote.ask().await;
                }
            }
        });
        // Fails only when the runtime ends.
        let _ = asking.await;
        remote.known()
    }

    /// Fetches at regular intervals, for ever.
    pub(super) async fn keep_fresh(&self) {
        let Origin::Url(remote) = &self.0 else {
            return std::future::pending().await;
        };
        loop {
            let asking = remote.asked.lock().await;
            remote.ask().await;
            drop(asking);
            let has_some = remote.known().is_some();
            sleep(if has_some {
                remote.intervals.every
            } else {
                remote.intervals.first
            })
            .await;
        }
    }
}

impl Remote {
    fn known(&self) -> Option<Arc<KeySet>> {
        self.set.lock().clone()
    }

    async fn ask(&self) {
        match fetch::get(&self.url, self.tls.as_ref(), self.intervals.timeout).await {
            Ok(set) => {
                *self.set.lock() = Some(Arc::new(set));
            }
            Err(error) => {
                let url = &self.url;
                tracing::warn!(%url, %error, "the issuer's keys can't be fetched; the last ones stay valid");
            }
        }
    }
}

fn read(path: &Path) -> Result<KeySet, SourceError> {
    let text = std::fs::read(path).map_err(|error| SourceError::Io {
        path: path.into(),
        error,
    })?;
    KeySet::parse(&text).map_err(|error| SourceError::Set {
        path: path.into(),
        error,
    })
}
