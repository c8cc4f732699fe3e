//! The current time, which tests can move.

use std::{
    sync::OnceLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use chrono::{DateTime, Utc};

/// Environment variable with the number of seconds by which a debug build's clock is ahead, so tests need not wait for expiry.
const OFFSET: &str = "TABELLION_CLOCK_OFFSET";

/// Returns the nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    static AHEAD: OnceLock<Duration> = OnceLock::new();
    let ahead = *AHEAD.get_or_init(|| {
        let seconds = cfg!(debug_assertions).then(|| std::env::var(OFFSET).ok()).flatten();
        Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(0))
    });
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + ahead;
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Converts a time returned by [`now`].
pub(crate) fn time(nanoseconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(nanoseconds)
}

/// Converts seconds to nanoseconds.
pub(crate) fn seconds(seconds: u32) -> i64 {
    i64::from(seconds) * 1_000_000_000
}
