//! Times and ids that stay the same when a call is repeated under its idempotency key.
//!
//! A repeated call is answered by the method, on the state that the first call found. Values that are not in that state are taken from the
//! log: each change keeps its time as a detail.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tabellion_library::Library;
use tabellion_runtime::{Failure, ReadCx, Snapshot, Until, Version};
use uuid::{Builder, Uuid};

/// Details in the log: the time of the call, and the digest of its idempotency key.
const AT: &str = "at";
const CALL: &str = "call";

/// Identity of a call, from which the ids that it assigns follow.
pub(super) struct Moment {
    /// Digest of the idempotency key, if the call has one.
    call: Option<Uuid>,
}

impl Moment {
    pub(super) fn new(cx: &ReadCx<'_>) -> Self {
        Self { call: cx.call().kept_key().map(|key| digest(&format!("call\0{key}"))) }
    }

    /// Returns an id for an object that the call creates; `purpose` distinguishes several.
    pub(super) fn id(&self, purpose: &str) -> Uuid {
        match self.call {
            Some(call) => digest(&format!("{purpose}\0{call}")),
            None => Uuid::new_v4(),
        }
    }

    /// Returns the current time in whole seconds; for a repeated call, that of the first. `path` is of a document that the call changes.
    pub(super) fn time(&self, library: &Library, path: &str) -> Result<DateTime<Utc>, Failure> {
        let now = DateTime::from_timestamp(Utc::now().timestamp(), 0).unwrap_or_default();
        self.first_time(library, path, now)
    }

    /// As [`time`](Self::time), in whole milliseconds.
    pub(super) fn instant(&self, library: &Library, path: &str) -> Result<DateTime<Utc>, Failure> {
        let now = DateTime::from_timestamp_millis(Utc::now().timestamp_millis()).unwrap_or_default();
        self.first_time(library, path, now)
    }

    /// Returns `now`, or the time of the first call.
    fn first_time(
        &self,
        library: &Library,
        path: &str,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Failure> {
        let Some(call) = self.call else {
            return Ok(now);
        };
        let is_first = |version: &Version| {
            let entry = version.entry.as_ref();
            entry.is_some_and(|entry| entry.details.get(CALL) == Some(&call.to_string().into()))
        };
        let until = Until { enough: &is_first, ..Until::BEGINNING };
        let history = Snapshot::history(library, path, until)?;
        let first = history.versions.first().filter(|version| is_first(version));
        let at = first.and_then(|version| version.entry.as_ref()?.details.get(AT)?.as_str());
        let time = at.and_then(|at| DateTime::parse_from_rfc3339(at).ok());
        Ok(time.map_or(now, |time| time.to_utc()))
    }

    /// Returns the log details from which a repetition takes the same time.
    pub(super) fn details(&self, time: DateTime<Utc>) -> Map<String, Value> {
        let mut details = Map::new();
        if let Some(call) = self.call {
            details.insert(CALL.into(), call.to_string().into());
            details.insert(AT.into(), time.to_rfc3339_opts(SecondsFormat::AutoSi, true).into());
        }
        details
    }
}

/// Derives an id from the hash of a text.
pub(super) fn digest(text: &str) -> Uuid {
    let digest = Sha256::digest(text.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}
