//! A page in the browser, for people: to see agents' changes, decide on proposals, and undo changes.
//!
//! ```text
//! request → Page::answer → sign-in, origin, token → views (maud) → Source → library, rows
//! ```
//!
//! Views are URLs below [`BASE`]; changes are forms, answered with 303. Everything works without script. The
//! crate depends on no library, git or tool: a [`Source`] provides the data and performs the actions.
//!
//! | module | has |
//! |---|---|
//! | [`data`] | the data of pages, and the traits that provide it |
//! | `answer` | responses to requests: visitors, genuine forms, headers |
//! | `sign_in` | links, cookies, tokens of forms |
//! | `views` | the pages |
//! | `reading` | foreign text and Markdown as markup, and warnings about changes |

mod answer;
mod assets;
pub mod data;
mod events;
mod form;
pub mod reading;
mod sign_in;
#[cfg(test)]
mod tests;
mod views;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub use views::app;

use axum::{Router, extract::Request, response::Response, routing::any};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    data::{Doorkeeper, Person, Source},
    sign_in::SignIns,
};

/// The path of the page.
pub const BASE: &str = "/page";

/// The page of one server: its sources and sign-ins.
pub struct Page {
    sources: Vec<Arc<dyn Source>>,
    sign_ins: SignIns,
    /// True if browsers reach it by HTTPS, so that cookies are only sent there.
    is_secure: bool,
    /// Becomes true when the server shuts down.
    closing: watch::Sender<bool>,
    /// Time of the last request.
    used: Mutex<Instant>,
}

impl Page {
    /// Shows `sources` to people whom `doorkeeper` admits. `is_secure`: browsers reach the page by HTTPS.
    pub fn new(sources: Vec<Arc<dyn Source>>, doorkeeper: Arc<dyn Doorkeeper>, is_secure: bool) -> Arc<Self> {
        let (closing, _) = watch::channel(false);
        Arc::new(Self {
            sources,
            sign_ins: SignIns::new(doorkeeper),
            is_secure,
            closing,
            used: Mutex::new(Instant::now()),
        })
    }

    /// Creates a link that signs `person` in, once and within two minutes; returns its path and query, which
    /// logs leave out. It leads to the path `to`, below [`BASE`].
    pub fn link(&self, person: Person, to: &str) -> String {
        let token = self.sign_ins.link(person);
        format!("{BASE}/login?link={token}&to={}", form::escaped(to))
    }

    /// Returns the routes. A request's extensions must contain its client's [`IpAddr`](std::net::IpAddr); its `Host` must be checked
    /// before.
    pub fn router(self: &Arc<Self>) -> Router {
        let page = self.clone();
        let answer = any(async move |request: Request| -> Response { page.answer(request).await });
        let root = Router::new().route(BASE, answer.clone()).route(&format!("{BASE}/"), answer.clone());
        root.route(&format!("{BASE}/{{*rest}}"), answer)
    }

    /// Returns the time since the last request.
    pub fn idle_for(&self) -> Duration {
        self.used.lock().elapsed()
    }

    /// Ends the event streams, so that the server can shut down.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }
}
