//! Death, a full disk and a failing disk at every step of a mutation, and who looks on meanwhile.
//!
//! Wherever something strikes, the document is as it was or as it should become; then a restarted server, or the same one
//! with its next mutation, brings folder, index, HEAD and log to agree, and nothing is left over.

mod full_disk;
mod killed;
mod mutation;
mod points;
mod struck;
pub(super) mod torn;

use points::Happening;

use crate::check::{Check, Severity, as_small_as_can_be};

/// What a mutation that is cut off may break.
const WHOLE: &[&str] = &[
    "no-partial-application",
    "errors-write-nothing",
    "append-only",
    "one-entry-per-line",
    "refusals-write-nothing",
    "atomic-mutation",
    "errors-change-nothing",
];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "atomic/kill",
        severity: Severity::Must,
        guarantees: WHOLE,
        states: "A server killed at any step of a mutation leaves it completely done or not done at all.",
        explains: "The server runs step by step under ptrace. Each system call of a mutation that would change something \
                   in the library is a point at which it is killed, with its children. The document must be old or new, \
                   and nothing else changed; after a restart folder, index, HEAD and log must agree, git must find the \
                   repository sound, no lock or other file may be left over, and the next mutation must work.",
        cases: |bench| points::cases(bench, &[Happening::Killed]),
        judge: struck::judge,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "atomic/disk-full",
        severity: Severity::Must,
        guarantees: WHOLE,
        states: "A disk that is full at any step of a mutation leaves it completely done or not done at all.",
        explains: "As atomic/kill, but at each point the call fails with ENOSPC: once, or with all calls after it until \
                   the mutation is answered. A call that is refused must have left nothing, one that is acknowledged \
                   must be there, and the same server must make the next mutation.",
        cases: |bench| points::cases(bench, &[Happening::FullOnce, Happening::FullFromThenOn]),
        judge: struck::judge,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "atomic/io-error",
        severity: Severity::Must,
        guarantees: WHOLE,
        states: "A disk that fails at any step of a mutation leaves it completely done or not done at all.",
        explains: "As atomic/disk-full, with EIO: also fsync, rename and the other calls that a full disk seldom hits \
                   must have their errors seen.",
        cases: |bench| points::cases(bench, &[Happening::BrokenOnce, Happening::BrokenFromThenOn]),
        judge: struck::judge,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "atomic/kill-observed",
        severity: Severity::Must,
        guarantees: WHOLE,
        states: "A server killed at any moment of a mutation leaves it completely done or not done at all.",
        explains: "As atomic/kill, but from outside and at full speed, which works on every system: mutations are sent, \
                   and the server's whole process group is killed a little later each time.",
        cases: killed::moments,
        judge: killed::at_a_moment,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "atomic/restart",
        severity: Severity::Must,
        guarantees: &[
            "no-partial-application",
            "commit-per-mutation",
            "log-entry-per-mutation",
            "append-only",
            "commit-per-entry",
            "atomic-mutation",
            "commit-per-edit",
        ],
        states: "An acknowledged change survives a kill and a restart, with its commit and its log entry.",
        explains: "The server is killed as soon as it has answered, and a new one is started, again and again. Each \
                   finds all that was acknowledged, and starting changes nothing.",
        cases: killed::lives,
        judge: killed::after_answers,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "atomic/full-disk-really",
        severity: Severity::Should,
        guarantees: WHOLE,
        states: "On a full disk, mutations are refused or complete, and work again when there is space.",
        explains: "The library lies on a small file system in memory, which takes root to mount. It is filled but for a \
                   few bytes; a mutation of 100 KB is made; then the room is given back, and everything must agree.",
        cases: full_disk::cases,
        judge: full_disk::judge,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "atomic/torn-reads",
        severity: Severity::Must,
        guarantees: &["no-partial-application"],
        states: "A program that reads a document's file while it is overwritten finds the old or the new \
            version, complete.",
        explains: "The server overwrites a document with one of two versions of 1 MB again and again, while its file is read \
                   over and over: it must always be there, and be one of both to the last byte.",
        cases: torn::cases,
        judge: torn::judge,
        shrink: torn::shrink,
    },
];
