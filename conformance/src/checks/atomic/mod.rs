//! Atomicity: kills, a full disk and I/O errors at every step of a mutation, and concurrent readers.
//!
//! After a fault the document has its old or its new content. Then a restarted server, or the same server with its next
//! mutation, makes folder, index, HEAD and log agree, and no temporary file remains.

pub(super) mod fault;
mod full_disk;
mod killed;
mod mutation;
pub(super) mod points;
pub(super) mod torn;

pub(super) use killed::kill;
use points::FaultKind;

use crate::check::Check;

/// Guarantees that a partial mutation breaks.
const ATOMICITY: &[&str] = &[
    "no-partial-application",
    "errors-write-nothing",
    "append-only",
    "one-entry-per-line",
    "refusals-write-nothing",
    "atomic-mutation",
    "errors-change-nothing",
];

/// Guarantees that a partial mutation breaks if the server was killed: it reported no error.
const ATOMICITY_WITHOUT_ERRORS: &[&str] =
    &["no-partial-application", "append-only", "one-entry-per-line", "atomic-mutation"];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "atomic/kill",
        guarantees: ATOMICITY_WITHOUT_ERRORS,
        states: "A server killed at any step of a mutation leaves it completely done or not done at all.",
        explains: "The server runs step by step under ptrace. It is killed, with its children, at each system call \
                   of a mutation that would change a file in the library. The document must have its old or its new \
                   content, and nothing else may change. After a restart folder, index, HEAD and log must agree, the \
                   repository must be intact, no lock or other file may remain, and the next mutation must succeed.",
        cases: |bench| points::cases(bench, &[FaultKind::Killed]),
        ..Check::must(fault::judge)
    },
    Check {
        id: "atomic/disk-full",
        guarantees: ATOMICITY,
        states: "A disk that is full at any step of a mutation leaves it completely done or not done at all.",
        explains: "As atomic/kill, but at each point the system call fails with ENOSPC: once, or together with all \
                   later ones until the server answers. A refused call must leave no trace, an acknowledged one must \
                   be complete, and the same server must make the next mutation.",
        cases: |bench| points::cases(bench, &[FaultKind::FullOnce, FaultKind::FullFromThenOn]),
        ..Check::must(fault::judge)
    },
    Check {
        id: "atomic/io-error",
        guarantees: ATOMICITY,
        states: "A disk that fails at any step of a mutation leaves it completely done or not done at all.",
        explains: "As atomic/disk-full, with EIO. The server must also handle errors of fsync, rename and other \
                   calls that a full disk rarely affects.",
        cases: |bench| points::cases(bench, &[FaultKind::BrokenOnce, FaultKind::BrokenFromThenOn]),
        ..Check::must(fault::judge)
    },
    Check {
        id: "atomic/kill-observed",
        guarantees: ATOMICITY_WITHOUT_ERRORS,
        states: "A server killed at any moment of a mutation leaves it completely done or not done at all.",
        explains: "As atomic/kill, but from outside and at full speed, which works on every system: mutations are \
                   sent, and the server's process group is killed after increasing delays.",
        cases: killed::kill_cases,
        ..Check::must(killed::judge_kill)
    },
    Check {
        id: "atomic/restart",
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
        explains: "The server is killed as soon as it has answered, and a new one is started, repeatedly. Each new \
                   server must show every acknowledged change, and starting must change nothing.",
        cases: killed::restart_cases,
        ..Check::must(killed::judge_restarts)
    },
    Check {
        id: "atomic/full-disk-really",
        guarantees: ATOMICITY,
        states: "On a full disk, mutations are refused or complete, and work again when there is space.",
        explains: "The library is on a small file system in memory, which only root can mount. The disk is filled \
                   except for a few bytes, a mutation of 100 KB is made, and the space is freed. Then everything \
                   must agree.",
        cases: full_disk::cases,
        ..Check::should(full_disk::judge)
    },
    Check {
        id: "atomic/torn-reads",
        guarantees: &["no-partial-application"],
        states: "A program that reads a document's file while it is overwritten finds the old or the new version, \
                 complete.",
        explains: "The server repeatedly overwrites a document with one of two versions of 1 MB while a program \
                   reads the file. The file must always exist and equal one of the versions.",
        cases: torn::cases,
        shrink: torn::shrink,
        ..Check::must(torn::judge)
    },
];
