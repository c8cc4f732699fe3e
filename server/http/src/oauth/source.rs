//! Where an issuer's keys come from: a file that is read again when it changes, or a URL that is asked now and then.
//!
//! Keys that were had stay when new ones can't be had: an issuer that is away for a while locks nobody out.

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

use super::{BadSet, BadUrl, KeySet, fetch, resource};
use crate::{
    fresh::Fresh,
    tls::{self, BadTls},
};

/// Why there can be no source.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The system doesn't let us read the file.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The file holds something else.
    #[error("`{}`: {error}", path.display())]
    Set {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: BadSet,
    },
    /// The URL can't be asked.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// It can't be asked safely.
    #[error(transparent)]
    Tls(#[from] BadTls),
}

/// How often a URL is asked.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Without a reason.
    pub every: Duration,
    /// While keys were never had.
    pub first: Duration,
    /// At most, because a token names a key that is not known.
    pub between: Duration,
    /// How long one answer may take.
    pub patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(10 * 60),
            first: Duration::from_secs(5),
            between: Duration::from_secs(30),
            patience: Duration::from_secs(10),
        }
    }
}

/// Where an issuer's keys come from.
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
    /// Nothing where the URL is this machine's, in the clear.
    tls: Option<Arc<ClientConfig>>,
    pace: Pace,
    set: Mutex<Option<Arc<KeySet>>>,
    /// When it was asked last because of a token. Who holds this asks.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

impl Source {
    /// A file, or a URL if `text` begins like one.
    ///
    /// # Errors
    /// When the file has no keys, or the URL can't be asked safely. That nobody answers there is no error.
    pub fn new(text: &str, pace: Pace) -> Result<Self, Unavailable> {
        if !text.contains("://") {
            let path = PathBuf::from(text);
            let set = Fresh::new(vec![path.clone()], || read(&path))?;
            return Ok(Self(Origin::File(path, set)));
        }
        let url = resource::safe(text)?;
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

    /// The keys that are known.
    pub(super) fn current(&self) -> Option<Arc<KeySet>> {
        match &self.0 {
            Origin::File(path, set) => {
                let again = || match read(path) {
                    Ok(set) => Some(set),
                    Err(error) => {
                        tracing::error!(%error, "the issuer's keys stay as they were");
                        None
                    }
                };
                Some(set.current(again))
            }
            Origin::Url(remote) => remote.known(),
        }
    }

    /// The keys, asked for again if they are still `seen` and that was not just done for another token. That they were asked for
    /// without a reason meanwhile doesn't count: an issuer may get a new key at any time.
    pub(super) async fn again(&self, seen: Option<Arc<KeySet>>) -> Option<Arc<KeySet>> {
        let Origin::Url(remote) = &self.0 else {
            return self.current();
        };
        // Whoever hangs up meanwhile doesn't stop it.
        let asking = tokio::spawn({
            let remote = remote.clone();
            async move {
                let mut asked = remote.asked.lock().await;
                let is_new = remote.known().as_ref().map(Arc::as_ptr) != seen.as_ref().map(Arc::as_ptr);
                let is_recent = asked.is_some_and(|at| at.elapsed() < remote.pace.between);
                if !is_new && !is_recent {
                    *asked = Some(Instant::now());
                    remote.ask().await;
                }
            }
        });
        // It only fails when the runtime ends.
        let _ = asking.await;
        remote.known()
    }

    /// Asks now and then, for ever.
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
                remote.pace.every
            } else {
                remote.pace.first
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
        match fetch::get(&self.url, self.tls.as_ref(), self.pace.patience).await {
            Ok(set) => {
                *self.set.lock() = Some(Arc::new(set));
            }
            Err(error) => {
                let url = &self.url;
                tracing::warn!(%url, %error, "the issuer's keys can't be had; those that were had stay good");
            }
        }
    }
}

fn read(path: &Path) -> Result<KeySet, Unavailable> {
    let text = std::fs::read(path).map_err(|error| Unavailable::Io {
        path: path.into(),
        error,
    })?;
    KeySet::parse(&text).map_err(|error| Unavailable::Set {
        path: path.into(),
        error,
    })
}
