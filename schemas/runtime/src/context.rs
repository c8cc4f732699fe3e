//! The context of a call: caller, conditions, approver.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Map, Value};

pub use crate::meta::{
    BASE, CHANGE, COMMIT, DIRTY, GATES, IDEMPOTENCY_KEY, IF_BASE, PATH, REPLAYED, TOTAL, TRUNCATED,
};
use crate::{
    approver::Approver,
    caller::{Caller, KnownCaller, Progress, Waiting},
    failure::MAX_WORK,
    identity::Identity,
    ids::{ContentId, IdempotencyKey, Precondition},
    meta::{PROVENANCE, SESSION},
    origin::CallOrigin,
    pointer,
    provenance::Provenance,
    schema::Violation,
};

const PREFIX: &str = "tabellion/";
/// Maximum number of characters of a client's name; the rest is cut off.
const MAX_CLIENT_CHARS: usize = 200;

/// An author of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
}

/// Caller and conditions of a call.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// The authenticated caller, recorded as the author of commits; without one, the store decides (git's configuration).
    pub author: Option<Author>,
    /// The caller, for contracts with `auth`; `None` if it is unknown.
    pub caller: Option<Arc<KnownCaller>>,
    /// The caller's identity; `None` if callers are not distinguished.
    pub identity: Option<Identity>,
    /// The org that the caller is bound to, if any.
    pub org: Option<Arc<str>>,
    /// The user of the caller's key: the key of a row, if the contract stores users as rows.
    pub user: Option<Arc<str>>,
    /// Id of the caller for rate limits: its identity or, if callers are not distinguished, its address. Calls without one share a limit.
    pub counted_as: Option<Arc<str>>,
    /// The client's name and version, as it sent them.
    pub client: Option<String>,
    /// The origin of the call: the sources of its mode and its provenance.
    pub origin: CallOrigin,
    /// Its provenance. The runtime sets it, for tools that use it.
    pub provenance: Option<Arc<Provenance>>,
    /// The content that the changed document must have, if the caller gave one.
    pub if_base: Option<Precondition>,
    /// The caller's idempotency key.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The session that the caller names.
    pub session: Option<Arc<str>>,
    /// Id of the call's execution, if executions are recorded.
    pub execution: Option<Arc<str>>,
    /// The verdict of its tool's limit, if servers share the limit: the time to wait, if it is exceeded.
    pub limit: Option<Result<(), Duration>>,
    /// The verdict of its tool's gates so far. The runtime sets it, for the record of a call that fails.
    pub verdict: Verdict,
    /// The waiting side of the call.
    pub waiting: Waiting,
    /// Decides on calls that need approval; without one, they are declined.
    pub approver: Option<Arc<dyn Approver>>,
}

/// The verdict of the gates of a call's tool so far, as clients see it. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Verdict(Arc<Mutex<Option<Value>>>);

impl Verdict {
    pub(crate) fn put(&self, said: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
    }

    pub(crate) fn take(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl CallContext {
    /// Returns the call's idempotency key in its stored form: after the caller's identity and a space, so that callers never get the
    /// answers of other callers' calls. Neither part contains a space, so a key without an identity cannot imitate one with an identity.
    pub fn kept_key(&self) -> Option<String> {
        let key = self.idempotency_key.as_deref()?;
        Some(match &self.identity {
            Some(identity) => format!("{identity} {key}"),
            None => key.to_owned(),
        })
    }

    /// Sets the approver.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sets the waiting side, which can cancel and receives progress.
    #[must_use]
    pub fn with_caller(mut self, caller: Arc<dyn Caller>) -> Self {
        self.waiting = Waiting(Some(caller));
        self
    }

    /// Returns true if the call was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.waiting.0.as_ref().is_some_and(|caller| caller.has_cancelled())
    }

    /// Starts the clock of long work; the returned function returns true once the work must stop: when the caller has cancelled the call,
    /// or after [`MAX_WORK`]; the answer is then [`Failure::stopped`](crate::Failure::stopped).
    pub fn stop(&self) -> impl Fn() -> bool + Send + Sync + '_ {
        self.stop_after(MAX_WORK)
    }

    fn stop_after(&self, time: Duration) -> impl Fn() -> bool + Send + Sync + '_ {
        let begun = Instant::now();
        move || self.is_cancelled() || begun.elapsed() >= time
    }

    /// Reports progress to the caller.
    pub fn progress(&self, progress: Progress) {
        if let Some(caller) = &self.waiting.0 {
            caller.hear(progress);
        }
    }

    /// Reads the conditions from a request's `_meta`. Foreign keys are ignored; unknown `tabellion/` keys are rejected, since
    /// ignoring a misspelt condition would drop it.
    ///
    /// # Errors
    /// A violation for each unknown key and each invalid value.
    pub fn from_meta(client: Option<String>, meta: &Map<String, Value>) -> Result<Self, Vec<Violation>> {
        let client = client.map(|client| client.chars().take(MAX_CLIENT_CHARS).collect());
        let mut call = Self { client, ..Self::default() };
        let mut violations = vec![];
        for (key, value) in meta.iter().filter(|(key, _)| key.starts_with(PREFIX)) {
            let problem = match (key.as_str(), value) {
                (IF_BASE, Value::Null) => {
                    call.if_base = Some(Precondition::Absent);
                    continue;
                }
                (IF_BASE, Value::String(id)) => {
                    call.if_base = Some(Precondition::Has(ContentId::new(id.as_str())));
                    continue;
                }
                (IF_BASE, _) => "must be a content id (a string), or null where the document must not exist",
                (IDEMPOTENCY_KEY, value) => match IdempotencyKey::parse(value.as_str().unwrap_or_default()) {
                    Ok(key) => {
                        call.idempotency_key = Some(key);
                        continue;
                    }
                    Err(error) => &error.to_string(),
                },
                (SESSION, Value::String(id)) => {
                    call.session = Some(id.as_str().into());
                    continue;
                }
                (SESSION, _) => "must be the id of a session",
                // Read if the contract has provenance.
                (PROVENANCE, Value::Object(_)) => continue,
                (PROVENANCE, _) => "must be an object of fields of provenance",
                _ => {
                    "is not known; known are `tabellion/ifBase`, `tabellion/idempotencyKey`, `tabellion/provenance` and `tabellion/session`"
                }
            };
            violations.push(Violation {
                rule: "meta".into(),
                pointer: pointer::push("/_meta", key),
                message: format!("`{}` {problem}", key.escape_debug()),
            });
        }
        if violations.is_empty() { Ok(call) } else { Err(violations) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Impatient(bool);

    impl Caller for Impatient {
        fn has_cancelled(&self) -> bool {
            self.0
        }

        fn hear(&self, _: Progress) {}
    }

    #[test]
    fn work_stops_when_it_is_cancelled_or_its_time_is_over() {
        for (cancelled, time, stops) in
            [(false, MAX_WORK, false), (true, MAX_WORK, true), (false, Duration::ZERO, true)]
        {
            let call = CallContext::default().with_caller(Arc::new(Impatient(cancelled)));
            assert_eq!(call.stop_after(time)(), stops);
        }
    }
}
