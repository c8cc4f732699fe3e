//! Checks of contracts whose store keeps rows: the state of the rows and their log on the disk.
//!
//! | module | is for |
//! |---|---|
//! | [`entries`] | the log: one entry for each change, from which the tables can be made anew |
//! | [`written`] | the same for operations whose rows a method of the server changes |
//! | [`refused`], [`patch`], [`references`], [`unique`] | the rules of entities, one by one |
//! | [`conditions`] | preconditions and idempotency keys |
//! | [`program`], [`play`] | random programs of all operations, compared with a model |
//! | [`crowd`] | many clients at once |
//! | [`stepped`], [`synced`] | crashes, faults of the disk, and its state when a call is answered |

pub(super) mod basics;
mod conditions;
mod crowd;
mod entries;
mod patch;
mod play;
mod program;
mod references;
mod refused;
mod stepped;
mod synced;
mod unique;
mod written;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    entries::ONE_CHANGE,
    entries::LOG_REPLAYS,
    refused::CHECK,
    patch::CHECK,
    references::CHECK,
    unique::CHECK,
    conditions::CHANGED_SINCE,
    conditions::IDEMPOTENCY,
    play::CHECK,
    crowd::CHECK,
    stepped::KILLED,
    stepped::FAULTS,
    synced::CHECK,
];
