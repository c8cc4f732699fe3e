//! The page in the browser over what is served: where its data comes from, and who may sign in.

mod door;
mod library;
mod rows;

use std::sync::Arc;

use tabellion_http as http;
use tabellion_page::{
    Page,
    data::{Problem, StatusLine},
};

pub(crate) use self::{
    door::Door,
    library::{LibrarySource, shown},
    rows::RowsSource,
};
use crate::doctor::{self, Finding, Place};

/// Name and version that calls from the page have as their client.
const CLIENT: &str = concat!("tabellion-page/", env!("CARGO_PKG_VERSION"));
/// Returns what HTTP serves of a page.
pub(crate) fn mounted(page: &Arc<Page>) -> http::Page {
    let ending = Arc::clone(page);
    http::Page {
        router: page.router(),
        end: Box::new(move || ending.close()),
    }
}

/// Returns the problem of a failure, for people.
fn failed(error: impl std::fmt::Display) -> Problem {
    Problem::Failed(error.to_string())
}

/// Returns what the checks of `doctor` find, as lines of the status page.
fn status(place: &Place) -> Result<Vec<StatusLine>, Problem> {
    let line = |finding: Finding| StatusLine {
        good: finding.status == doctor::Status::Green,
        name: finding.id.replace(['-', '_'], " "),
        text: finding.message,
        advice: finding.mend,
    };
    let findings = doctor::findings(place).map_err(failed)?;
    Ok(findings.into_iter().map(line).collect())
}
