//! Many clients, several servers, an editor and a git at the same library.
//!
//! What is tried is bounded by counts, not by time. Each edit brings a line of its own, so that one that is lost, doubled
//! or swept into another's commit can be told; the worst is said first: a lost edit before a missing commit.

mod base;
pub(super) mod crowd;
mod editor;
mod edits;
mod git;
mod history;
mod reads;
mod switches;

use crowd::Activity;

use crate::check::{Check, Severity, as_small_as_can_be};

/// What is broken when an edit gets lost or doubled.
const EDITS: &[&str] = &["no-partial-application", "commit-per-mutation"];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "concurrent/clients",
        severity: Severity::Must,
        guarantees: EDITS,
        states: "Of many edits of one document in flight to one server, each acknowledged one is in it, \
            with a commit.",
        explains: "20 edits are sent before the first answer is waited for: appendings, then replacements of one section \
                   each. Every edit that was acknowledged must be in the document exactly once and have exactly one \
                   commit, the one that was answered; of a refused one nothing may be found; all must agree at the end.",
        cases: |_| crowd::cases(1, 20, &[Activity::Append, Activity::Sections]),
        judge: crowd::judge,
        shrink: crowd::shrink,
    },
    Check {
        id: "concurrent/processes",
        severity: Severity::Must,
        guarantees: EDITS,
        states: "Of many edits of one document by several servers, each acknowledged one is in it, with a \
            commit.",
        explains: "As concurrent/clients, from 4 server processes over the same library with 5 edits each, of one document \
                   and of several, and from 2 with 10 edits each: what is locked inside of one process does not help.",
        cases: |_| {
            let mut cases = crowd::cases(4, 5, &[Activity::Append, Activity::Several])?;
            cases.extend(crowd::cases(2, 10, &[Activity::Append])?);
            Ok(cases)
        },
        judge: crowd::judge,
        shrink: crowd::shrink,
    },
    Check {
        id: "concurrent/sections",
        severity: Severity::Must,
        guarantees: EDITS,
        states: "Edits of different sections of one document by two servers do not overwrite each other.",
        explains: "Two servers replace five sections each. In the end each section holds what its acknowledged edit \
                   brought, or what it held before where that was refused.",
        cases: |_| crowd::cases(2, 5, &[Activity::Sections]),
        judge: crowd::judge,
        shrink: crowd::shrink,
    },
    Check {
        id: "concurrent/create",
        severity: Severity::Must,
        guarantees: EDITS,
        states: "A document that several servers create at once has the content of one acknowledged call.",
        explains: "4 servers create the same document 3 times each, with different texts. It must hold one of those that \
                   were acknowledged, whole, and each of these must have its commit.",
        cases: |_| crowd::cases(4, 3, &[Activity::Create]),
        judge: crowd::judge,
        shrink: crowd::shrink,
    },
    Check {
        id: "concurrent/log",
        severity: Severity::Must,
        guarantees: &["log-entry-per-mutation"],
        states: "After many concurrent edits the log has one entry for each, in the order of the commits.",
        explains: "4 servers make 5 edits each, of one document and of others. Then two more servers are asked for the log: \
                   both must tell the same, each acknowledged edit once, and the commits oldest first.",
        cases: |_| crowd::cases(4, 5, &[Activity::Several]),
        judge: crowd::judge_log,
        shrink: crowd::shrink,
    },
    Check {
        id: "concurrent/reads-whole",
        severity: Severity::Must,
        guarantees: &["no-partial-application"],
        states: "Clients that read a document while others overwrite it get the old or the new version, \
            complete.",
        explains: "A document of 100 KB is overwritten with one of two versions 20 times, and read meanwhile, through the \
                   same server or of a second one. Each reading must succeed, and be one of both to the last byte.",
        cases: reads::cases,
        judge: reads::judge,
        shrink: reads::shrink,
    },
    Check {
        id: "concurrent/reads-beside-git",
        severity: Severity::Should,
        guarantees: &[],
        states: "Clients that read a document while git switches branches get one version or the other, \
            complete.",
        explains: "A document of 200 KB differs between two branches. A person switches between them, over and over, and git \
                   takes the document away each time and writes it anew. Each reading must succeed, and be one of both to \
                   the last byte: git holds `.git/index.lock` for as long, and leaves another index.",
        cases: switches::cases,
        judge: switches::judge,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "concurrent/editor",
        severity: Severity::Must,
        guarantees: EDITS,
        states: "A person's editor and the server can change the same document, and no change of either is \
            lost without a trace.",
        explains: "An editor saves a document 40 times, by renaming or in place, while servers append to it 40 times. Each \
                   save that the editor did not overwrite itself must be in the document, in git's history, or put aside \
                   in the library; likewise each acknowledged edit, once, with its commit. A refused edit is nowhere. A \
                   save in place that took the editor longer than 3 ms is not held against the server.",
        cases: editor::cases,
        judge: editor::judge,
        shrink: editor::shrink,
    },
    Check {
        id: "concurrent/git",
        severity: Severity::Must,
        guarantees: &["commit-per-mutation", "no-implicit-edits"],
        states: "A person can use git in the library while the server edits: no commit of either is lost or \
            absorbed by another.",
        explains: "A person commits a document of their own again and again, or stages one, and tries again while a lock is \
                   held. All acknowledged edits and all commits of the person must be in HEAD's history, each with \
                   nothing of the other; what is staged stays staged.",
        cases: git::cases,
        judge: git::judge,
        shrink: git::shrink,
    },
    Check {
        id: "concurrent/lost-update",
        severity: Severity::Must,
        guarantees: &["no-implicit-edits"],
        states: "A write with a precondition is refused if the document has changed since.",
        explains: "For servers that say in `_meta` on which base (`tabellion/base`) they answer: two clients read a \
                   document and write it back with `tabellion/ifBase`. The second must be refused and change nothing; of \
                   several at the same time exactly one may win; also of several that create the same document.",
        cases: base::cases,
        judge: base::judge,
        shrink: base::shrink,
    },
];
