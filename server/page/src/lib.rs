//! A page in the browser: people see what agents did, decide on it, and take it back.
//!
//! ```text
//! request → Page::answer → sign-in, origin, token → views (maud) → Source → library, rows
//! ```
//!
//! Views are URLs below [`BASE`]; changes are forms, answered with 303. Everything works without script. The crate knows no library, no
//! git and no tool: a [`Source`] gives the data and does what is asked for.
//!
//! | module | has |
//! |---|---|
//! | [`data`] | the data of pages, and the traits that give them |
//! | `answer` | from a request to a response: who asks, whether a form is genuine, headers |
//! | `sign_in` | links, cookies, tokens of forms |
//! | `views` | the pages |
//! | `reading` | foreign text and Markdown as markup, and what is worth a look |

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

/// The page of one server: its sources, and who has signed in.
pub struct Page {
    sources: Vec<Arc<dyn Source>>,
    sign_ins: SignIns,
    /// Whether browsers reach it by HTTPS, so that cookies are only sent there.
    is_secure: bool,
    /// Becomes true when the server shuts down.
    closing: watch::Sender<bool>,
    /// When a request came last.
    used: Mutex<Instant>,
}

impl Page {
    /// Shows `sources` to those whom `doorkeeper` lets in. `is_secure` says that browsers reach the page by HTTPS.
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

    /// Makes a link that signs `person` in, once and within two minutes; returns its path and query, which logs leave out. It leads to the path `to`, below [`BASE`].
    pub fn link(&self, person: Person, to: &str) -> String {
        let token = self.sign_ins.link(person);
        format!("{BASE}/login?link={token}&to={}", form::escaped(to))
    }

    /// Returns the routes. A request has its client's [`IpAddr`](std::net::IpAddr) among its extensions; its `Host` has been checked.
    pub fn router(self: &Arc<Self>) -> Router {
        let page = self.clone();
        let answer = any(async move |request: Request| -> Response { page.answer(request).await });
        Router::new()
            .route(BASE, answer.clone())
            .route(&format!("{BASE}/{{*rest}}"), answer)
    }

    /// Returns how long the page was not used.
    pub fn idle_for(&self) -> Duration {
        self.used.lock().elapsed()
    }

    /// Ends the streams of news, so that the server can shut down.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }
}
