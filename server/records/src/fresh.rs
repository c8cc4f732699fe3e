//! Fresh values that a store makes for a call: ids, the time, secrets.

use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use tabellion_runtime::{Failure, FailureKind, rows::Fresh};
use uuid::Uuid;

/// Number of random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// The time of a call; `None` for one that goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Option<i64>);

/// A clock that goes on.
pub(crate) static RUNNING: Clock = Clock(None);

impl Clock {
    /// Returns a clock that stands at the current time.
    pub(crate) fn now() -> Self {
        Self(Some(seconds()))
    }
}

fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Returns a new secret.
pub(crate) fn secret(prefix: &str) -> Result<String, Failure> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(FailureKind::Io, "the system has no random bits").with_source(error))?;
    Ok(format!("{prefix}{}", HEXLOWER.encode(&bytes)))
}

/// Returns a new id.
pub(crate) fn id() -> String {
    Uuid::now_v7().to_string()
}

/// For reads: values that require the right to change the store are refused.
impl Fresh for Clock {
    fn now(&self) -> i64 {
        self.0.unwrap_or_else(seconds)
    }

    fn id(&self) -> String {
        id()
    }

    fn secret(&self, _: &str) -> Result<String, Failure> {
        Err(only_in_a_session())
    }

    fn seq(&self) -> Result<i64, Failure> {
        Err(only_in_a_session())
    }
}

fn only_in_a_session() -> Failure {
    Failure::new(FailureKind::Refused, "a call that only reads can't add rows")
}
