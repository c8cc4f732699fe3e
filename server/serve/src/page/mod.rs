//! The page in the browser over the served libraries and rows: the sources of its data, and signing in.

mod door;
mod library;
mod rows;

use std::sync::Arc;

use tabellion_gateway::LocalCaller;
use tabellion_http as http;
use tabellion_library::Library;
use tabellion_mcp as mcp;
use tabellion_pack::{Packs, review::Review};
use tabellion_page::{
    Page,
    data::{Problem, StatusLine},
};
use tabellion_runtime::{Agent, BoxFuture, CallContext};
use tabellion_upkeep::doctor::{self, Finding, Target};

pub(crate) use self::{door::REVIEWER, rows::RowsSource};
pub use self::{
    door::{Door, Kept},
    library::{LibrarySource, ServedLibrary, shown},
};

/// Client name and version of calls from the page.
const CLIENT: &str = concat!("tabellion-page/", env!("CARGO_PKG_VERSION"));
/// Maximum size of both texts together for which an app shows changes: they are part of an answer that a model may read.
const MAX_APP_BYTES: usize = 64 << 10;

/// Returns the app that shows callers their own proposals, in the answers to the calls that make them. `server` has the role [`REVIEWER`].
pub(crate) fn app(review: &Review, library: &Arc<Library>, server: &LocalCaller) -> mcp::App {
    let desk = (review.desk)(Arc::clone(library), None);
    let call = server.makes(CallContext::default(), review.contract, Agent::default());
    let draw = move |id: String| -> BoxFuture<'static, Option<String>> {
        let (desk, call) = (Arc::clone(&desk), call.clone());
        Box::pin(async move {
            let waiting = desk.show(&call, &id).await.ok()?;
            let document = waiting.document?;
            let is_short = document.base.len() + document.after.len() <= MAX_APP_BYTES;
            is_short.then(|| tabellion_page::app::changes(&document.base, &document.after))
        })
    };
    mcp::App { page: tabellion_page::app::page(), tools: review.proposing_tools, draw: Box::new(draw) }
}

/// Returns the routes of a page for the HTTP server.
pub fn mounted(page: &Arc<Page>) -> http::Page {
    let ending = Arc::clone(page);
    http::Page { router: page.router(), end: Box::new(move || ending.close()) }
}

/// Returns the problem of a failure, for people.
fn failed(error: impl std::fmt::Display) -> Problem {
    Problem::Failed(error.to_string())
}

/// Returns the findings of `doctor`, as lines of the status page.
fn status(place: &Target, packs: Packs) -> Result<Vec<StatusLine>, Problem> {
    let line = |finding: Finding| StatusLine {
        good: finding.status == doctor::Status::Green,
        name: finding.id.replace(['-', '_'], " "),
        text: finding.message,
        advice: finding.mend,
    };
    let findings = doctor::findings(place, packs).map_err(failed)?;
    Ok(findings.into_iter().map(line).collect())
}
