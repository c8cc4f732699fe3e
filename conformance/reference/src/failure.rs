//! Failures of the system.

use std::fmt::Display;

use tabellion_runtime::{Failure, FailureKind};

/// Returns a function that turns a system error into a failure to do `doing`.
pub(super) fn failed<E: Display>(doing: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::new(FailureKind::Io, format!("can't {doing}: {error}"))
}
