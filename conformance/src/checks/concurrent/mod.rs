//! Concurrency: many clients, several servers, an editor and git in the same library.
//!
//! Cases are bounded by counts, not by time. Each edit adds a unique line, which shows whether the edit is lost, duplicated
//! or part of a foreign commit. The worst failure is reported first: a lost edit before a missing commit.

mod base;
pub(super) mod crowd;
mod editor;
pub(super) mod edits;
mod git;
mod reads;
mod switches;

use crowd::Activity;

use crate::check::Check;

/// Guarantees that a lost or duplicated edit breaks.
const EDITS: &[&str] = &["no-partial-application", "commit-per-mutation"];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "concurrent/clients",
        guarantees: EDITS,
        states: "Of many edits of one document in flight to one server, each acknowledged one is in it, with a \
                 commit.",
        explains: "20 edits are sent before the first answer is read: appends, then replacements of one section \
                   each. Every acknowledged edit must be in the document exactly once and have exactly one commit, \
                   the one in its answer. A refused edit must leave no trace. At the end folder, index, HEAD and log \
                   must agree.",
        cases: |_| crowd::cases(1, 20, &[Activity::Append, Activity::Sections]),
        shrink: crowd::shrink,
        ..Check::must(crowd::judge)
    },
    Check {
        id: "concurrent/processes",
        guarantees: EDITS,
        states: "Of many edits of one document by several servers, each acknowledged one is in it, with a commit.",
        explains: "As concurrent/clients, with 4 server processes for the same library and 5 edits each, of one \
                   document and of several, and with 2 processes and 10 edits each. A lock inside one process does \
                   not protect against others.",
        cases: |_| {
            let mut cases = crowd::cases(4, 5, &[Activity::Append, Activity::Several])?;
            cases.extend(crowd::cases(2, 10, &[Activity::Append])?);
            Ok(cases)
        },
        shrink: crowd::shrink,
        ..Check::must(crowd::judge)
    },
    Check {
        id: "concurrent/sections",
        guarantees: EDITS,
        states: "Edits of different sections of one document by two servers do not overwrite each other.",
        explains: "Two servers replace five sections each. At the end each section must contain the text of its \
                   acknowledged edit, or its old text if the edit was refused.",
        cases: |_| crowd::cases(2, 5, &[Activity::Sections]),
        shrink: crowd::shrink,
        ..Check::must(crowd::judge)
    },
    Check {
        id: "concurrent/create",
        guarantees: EDITS,
        states: "A document that several servers create at once has the content of one acknowledged call.",
        explains: "4 servers create the same document 3 times each, with different texts. The document must contain \
                   exactly the text of one acknowledged call, and each acknowledged call must have its commit.",
        cases: |_| crowd::cases(4, 3, &[Activity::Create]),
        shrink: crowd::shrink,
        ..Check::must(crowd::judge)
    },
    Check {
        id: "concurrent/log",
        guarantees: &["log-entry-per-mutation"],
        states: "After many concurrent edits the log has one entry for each, in the order of the commits.",
        explains: "4 servers make 5 edits each, of one document and of others. Then two more servers return the log: \
                   both logs must be equal, contain each acknowledged edit once, and list the commits oldest first.",
        cases: |_| crowd::cases(4, 5, &[Activity::Several]),
        shrink: crowd::shrink,
        ..Check::must(crowd::judge_log)
    },
    Check {
        id: "concurrent/reads-whole",
        guarantees: &["no-partial-application"],
        states: "Clients that read a document while others overwrite it get the old or the new version, complete.",
        explains: "A document of 100 KB is overwritten with one of two versions 20 times and read meanwhile, through \
                   the same server or through a second one. Each read must succeed and return exactly one of the \
                   versions.",
        cases: reads::cases,
        shrink: reads::shrink,
        ..Check::must(reads::judge)
    },
    Check {
        id: "concurrent/reads-beside-git",
        guarantees: &[],
        states: "Clients that read a document while git switches branches get one version or the other, complete.",
        explains: "A document of 200 KB differs between two branches. A person switches between them repeatedly; \
                   each time git deletes the document and writes it again. Each read must succeed and return exactly \
                   one of the versions. A server can detect a switch: git holds `.git/index.lock` during it and \
                   leaves a changed index.",
        cases: switches::cases,
        ..Check::should(switches::judge)
    },
    Check {
        id: "concurrent/editor",
        guarantees: EDITS,
        states: "A person's editor and the server can change the same document, and no change of either is lost \
                 without a trace.",
        explains: "An editor saves a document 40 times, by renaming or in place, while servers append to it 40 \
                   times. Each save that the editor did not overwrite itself must be in the document, in git's \
                   history, or in a backup in the library. Each acknowledged edit must be there once, with its \
                   commit, and a refused edit nowhere. A save in place that took the editor longer than 3 ms does \
                   not count against the server.",
        cases: editor::cases,
        shrink: editor::shrink,
        ..Check::must(editor::judge)
    },
    Check {
        id: "concurrent/git",
        guarantees: &["commit-per-mutation", "no-implicit-edits"],
        states: "A person can use git in the library while the server edits: no commit of either is lost or absorbed \
                 by another.",
        explains: "A person repeatedly commits a document of their own, or stages one, and retries while git's lock \
                   is held. All acknowledged edits and all commits of the person must be in HEAD's history, each \
                   without changes of the other, and staged changes must stay staged.",
        cases: git::cases,
        shrink: git::shrink,
        ..Check::must(git::judge)
    },
    Check {
        id: "concurrent/lost-update",
        guarantees: &["no-implicit-edits"],
        states: "A write with a precondition is refused if the document has changed since.",
        explains: "For servers that return the base of an answer in `_meta` (`tabellion/base`): two clients read a \
                   document and write it back with `tabellion/ifBase`. The second write must be refused and change \
                   nothing. Of several concurrent writes, exactly one must succeed; likewise if several clients \
                   create the same document.",
        cases: base::cases,
        shrink: base::shrink,
        ..Check::must(base::judge)
    },
];
