//! Code that several test binaries share.

#![allow(dead_code, reason = "each uses a part of it")]

pub(crate) mod memory;
pub(crate) mod origin;

use futures_util::FutureExt as _;

/// Polls a future that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("the store in memory never waits")
}
