//! Sharing a library through a branch of a remote: an acknowledged change is in the remote's branch, once, even if the push fails
//! or is cut off.
//!
//! Judged by the remote's own objects. The operator's command (`--share`) gives a library its remote, since no tool does that.

mod crowd;
mod cut;
mod foreign;
mod machines;
mod refused;

use crate::check::Check;

/// The guarantee that each check of the family judges.
const GUARANTEES: &[&str] = &["acknowledged-is-in-the-remote"];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "remote/acknowledged",
        guarantees: GUARANTEES,
        states: "Of many edits by servers on several machines, each acknowledged one is in the remote's branch, once, with its commit.",
        explains: "Several clones of one bare repository have a server each, which edit the same document at once, while a person pushes \
                   commits from a clone of her own. The line of each acknowledged edit must be in the branch's document exactly once, \
                   added by the commit in its answer, and the line of a refused one nowhere; the person's commits must be in the \
                   branch. Then each server makes one more edit: its folder and its HEAD must be the branch's.",
        cases: crowd::cases,
        shrink: crowd::shrink,
        ..Check::must(crowd::judge)
    },
    Check {
        id: "remote/refused",
        guarantees: GUARANTEES,
        states: "A change that the remote does not take is refused, and nothing has changed; the next one succeeds.",
        explains: "A hook of the remote rejects each push, a lock that a crash has left holds the branch, or the repository is gone. The \
                   call must be refused; folder, history and index must be as before. Once the remote takes changes again, a call \
                   must succeed, and be in the branch.",
        cases: refused::cases,
        ..Check::must(refused::judge)
    },
    Check {
        id: "remote/lost-answer",
        guarantees: GUARANTEES,
        states: "A change whose push is not answered is made once at most, and exactly once if it is acknowledged.",
        explains: "The remote's own process is killed, before it moves the branch or after that, so that the push ends without an answer. \
                   A server may find out what has happened, or refuse the call and say that it does not know. The line must be in \
                   the branch's document once if the call succeeded, and never twice.",
        cases: cut::answers,
        ..Check::must(cut::judge_answer)
    },
    Check {
        id: "remote/killed",
        guarantees: GUARANTEES,
        states: "A server that is killed during its push leaves a library that goes on, with the change once or not at all.",
        explains: "A hook of the remote waits, before the branch moves or after that. The server is killed then, with all that it started \
                   in its process group; the remote goes on. Then a person pushes a commit, and the server is started again: a call \
                   must succeed, and folder and HEAD must be the branch's. `git fsck` must pass.",
        cases: cut::kills,
        ..Check::must(cut::judge_kill)
    },
    Check {
        id: "remote/steps",
        guarantees: GUARANTEES,
        states: "A server that is killed at any system call of a shared change leaves a library that goes on, with the change once or not \
                 at all.",
        explains: "As remote/killed, but the server and the programs that it started are killed at one of the system calls that change \
                   something in the library, from the first one to the answer. Locks of a process of the remote that died with them are \
                   removed.",
        cases: cut::steps,
        ..Check::must(cut::judge_step)
    },
    Check {
        id: "remote/in-the-way",
        guarantees: GUARANTEES,
        states: "What a person has saved in a document and not committed is not lost when the remote's commits change that document.",
        explains: "A person saves a line here while a second one pushes a line of the same document. Then a call appends to it. It may be \
                   refused; if it succeeds, both lines must be in the branch's document or in its history. In any case the saved bytes \
                   must be in the folder, or in the history.",
        cases: foreign::ways,
        ..Check::must(foreign::judge_way)
    },
    Check {
        id: "remote/rewritten",
        guarantees: GUARANTEES,
        states: "A branch that a person has rewritten is not overwritten.",
        explains: "A person pushes a history without the last change by force. A later call may be refused, and changes nothing then, or \
                   succeed; in any case the person's commit must be in the branch.",
        ..Check::must(foreign::judge_rewritten)
    },
    Check {
        id: "remote/configuration",
        guarantees: GUARANTEES,
        states: "The library's own configuration redirects no push and runs no program.",
        explains: "Git's configuration in the library, which the sender of a library can write, replaces the remote's address by \
                   that of a different repository, names programs for the transfer, and has hooks. An acknowledged change must be in the remote that was set; \
                   the other repository must be empty, and no program may have run.",
        ..Check::must(foreign::judge_configuration)
    },
];
