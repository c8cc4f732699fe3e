//! Times and ids that stay the same when a call is repeated under its idempotency key.
//!
//! A repeated call is answered by the method, on the state that the first call found. Values that are not in that state are taken from the
//! log: each change keeps its time, and the path of its note, as details.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tabellion_runtime::ReadCx;
use uuid::{Builder, Uuid};

/// Details in the log: the time of the call, and the path of the note that it is about.
const AT: &str = "at";
const NOTE_PATH: &str = "note_path";

/// Identity of a call, from which the ids that it assigns follow.
pub(super) struct Moment {
    /// Digest of the idempotency key, if the call has one.
    call: Option<Uuid>,
    /// The current time in whole milliseconds; for a repeated call, that of the first.
    pub(super) at: DateTime<Utc>,
}

impl Moment {
    pub(super) fn new(cx: &ReadCx<'_>) -> Self {
        let call = cx.call().kept_key().map(|key| digest(&format!("call\0{key}")));
        let first = detail(cx, AT).and_then(|at| DateTime::parse_from_rfc3339(at).ok());
        let now = || DateTime::from_timestamp_millis(Utc::now().timestamp_millis()).unwrap_or_default();
        Self { call, at: first.map_or_else(now, |first| first.to_utc()) }
    }

    /// Returns an id for an object that the call creates; `purpose` distinguishes several.
    pub(super) fn id(&self, purpose: &str) -> Uuid {
        match self.call {
            Some(call) => digest(&format!("{purpose}\0{call}")),
            None => Uuid::new_v4(),
        }
    }

    /// Returns the log details from which a repetition takes the same values. `note` is the path of the note, if there is one.
    pub(super) fn details(&self, note: Option<String>) -> Map<String, Value> {
        let at = self.at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let details = [(AT, Some(at)), (NOTE_PATH, note)];
        let said = details.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
        said.filter(|_| self.call.is_some()).collect()
    }
}

/// Returns the path that the note of a repeated call had for the first one.
pub(super) fn note_path<'c>(cx: &'c ReadCx<'_>) -> Option<&'c str> {
    detail(cx, NOTE_PATH)
}

fn detail<'c>(cx: &'c ReadCx<'_>, key: &str) -> Option<&'c str> {
    cx.first_call()?.get(key)?.as_str()
}

/// Derives an id from the hash of a text.
pub(super) fn digest(text: &str) -> Uuid {
    let digest = Sha256::digest(text.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}
