//! Single values of front matter, as text, and times.

use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use serde_json::Value;

/// Returns a value that is not a list or map as text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}

/// Returns true for a spelling of `false`, in any case.
pub(crate) fn is_false(text: &str) -> bool {
    ["false", "no", "off"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Parses a time of RFC 3339, or one without an offset, or a date, which are taken as UTC. Fractions of a second are dropped, so
/// times in answers, filters and indexes compare alike.
pub(crate) fn parse_time(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return DateTime::from_timestamp(time.timestamp(), 0);
    }
    let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    let time = formats.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    let date = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
    let time = time.or_else(date)?.and_utc();
    DateTime::from_timestamp(time.timestamp(), 0)
}

/// Returns a time in RFC 3339, UTC, in whole seconds.
pub(crate) fn show_time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
