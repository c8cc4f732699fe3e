//! `Prefer` (RFC 7240): how long, if at all, a client waits for an execution.

use std::time::Duration;

use hyper::{HeaderMap, StatusCode};
use tabellion_runtime::openapi::MAX_WAIT_SECONDS;

use crate::{query, refusal::Refusal};

/// Default wait of a request.
const WAIT: Duration = Duration::from_secs(30);
/// Maximum wait of a request.
const MAX_WAIT: Duration = Duration::from_secs(MAX_WAIT_SECONDS);
const RESPOND_ASYNC: &str = "respond-async";

/// The preferences of a request. As the RFC requires, unknown and malformed preferences are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Preference {
    /// Set if the request is answered as soon as the execution is recorded, or after the wait that it specifies.
    pub(super) is_async: bool,
    /// Maximum wait.
    pub(super) wait: Duration,
    /// True if the request specifies the wait.
    pub(super) says_wait: bool,
}

impl Preference {
    /// Reads the preferences of a request.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let all = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let all = all.flat_map(|value| value.split(',')).map(str::trim);
        let mut preference = Self { is_async: false, wait: WAIT, says_wait: false };
        for said in all {
            let said = said.split(';').next().unwrap_or_default().trim();
            if said.eq_ignore_ascii_case(RESPOND_ASYNC) {
                preference.is_async = true;
            } else if let Some(wait) = said.strip_prefix("wait=").and_then(seconds) {
                (preference.wait, preference.says_wait) = (wait, true);
            }
        }
        preference
    }

    /// Returns the time for which the request waits for the end of its execution (RFC 7240, section 4.3).
    pub(super) const fn patience(self) -> Duration {
        if self.is_async && !self.says_wait { Duration::ZERO } else { self.wait }
    }

    /// Returns the applied preference, if a request is answered before its execution has ended.
    pub(super) const fn applied(self) -> Option<&'static str> {
        if self.is_async { Some(RESPOND_ASYNC) } else { None }
    }
}

/// Returns the wait of `wait=S` among the members of a query, if there is one.
///
/// # Errors
/// If the value is not a number of seconds from 0 to 60.
pub(super) fn of_query(query: &[(String, String)]) -> Result<Option<Duration>, Refusal> {
    let said = query.iter().find(|(name, _)| name == query::WAIT);
    match said.map(|(_, seconds)| seconds.parse()) {
        None => Ok(None),
        Some(Ok(seconds)) if seconds <= MAX_WAIT_SECONDS => Ok(Some(Duration::from_secs(seconds))),
        Some(_) => {
            let why = format!("`wait` is a number of seconds from 0 to {MAX_WAIT_SECONDS}");
            Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why))
        }
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.trim_matches('"').parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn preferences_are_read_as_rfc_7240_has_them() {
        for (said, is_async, wait) in [
            ("", false, None),
            ("respond-async", true, None),
            ("Respond-Async, wait=5", true, Some(5)),
            ("wait=5", false, Some(5)),
            ("wait=\"7\"; x=1", false, Some(7)),
            ("return=minimal,wait=100", false, Some(60)),
            ("wait=soon", false, None),
            ("wait", false, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("prefer", HeaderValue::from_static(said));
            let read = Preference::from_headers(&headers);
            assert_eq!(read.is_async, is_async, "{said}");
            let patience = wait.unwrap_or(if is_async { 0 } else { 30 });
            assert_eq!(read.patience().as_secs(), patience, "{said}");
            assert_eq!(read.says_wait.then_some(read.wait.as_secs()), wait, "{said}");
        }
        for (said, wait) in [
            (None, Some(None)),
            (Some("3"), Some(Some(3))),
            (Some("60"), Some(Some(60))),
            (Some("61"), None),
            (Some(""), None),
            (Some("soon"), None),
        ] {
            let query: Vec<_> =
                said.map(|said| (query::WAIT.to_owned(), said.to_owned())).into_iter().collect();
            let read = of_query(&query).map(|wait| wait.map(|wait| wait.as_secs()));
            assert_eq!(read.ok(), wait, "{said:?}");
        }
    }
}
