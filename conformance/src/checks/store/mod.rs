//! Checks of servers whose store is not one file a document: lines of JSON, a database, anything. The operator names calls that store a
//! text (`--store`), and each text that a server acknowledges must be in the bytes of the store from then on.

mod calls;
mod crowd;
mod files;
mod killed;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[ACKNOWLEDGED, PIPELINED, PROCESSES, KILLED, FILES, UNKNOWN];

const ACKNOWLEDGED: Check = Check {
    id: "store/acknowledged",
    guarantees: &[],
    states: "What a call stores is in the store's files once it has succeeded, and stays there.",
    explains: "Makes each call of `--store` several times, with a new text each time. After each answer, all texts so far must be in \
               the bytes of some file of the library, or of the folder for data. A server whose files have no such text, even after its end, shows nothing.",
    cases: calls::cases,
    ..Check::must(crowd::one_by_one)
};

const PIPELINED: Check = Check {
    id: "store/pipelined",
    guarantees: &[],
    states: "Calls that one client makes without waiting for answers lose nothing of each other.",
    explains: "Sends 24 calls at once, as clients do whose agents call tools in parallel. Each text whose call succeeded must be in \
               the store.",
    cases: calls::cases,
    ..Check::must(crowd::pipelined)
};

const PROCESSES: Check = Check {
    id: "store/processes",
    guarantees: &[],
    states: "Two servers with one store lose nothing of each other's.",
    explains: "Starts the server twice on one store, as two clients on one machine do, and calls both by turns, then at once. Each \
               text whose call succeeded must be in the store.",
    cases: calls::cases,
    ..Check::must(crowd::processes)
};

const KILLED: Check = Check {
    id: "store/killed",
    guarantees: &[],
    states: "What was acknowledged survives the server's death, and the store can be used afterwards.",
    explains: "Kills the server right after an answer, at system calls of a call (with `ptrace`), and in the middle of many calls. Then \
               it is started again and makes one more call. Each text whose call succeeded must be in the store, before and after.",
    cases: calls::cases,
    ..Check::must(killed::judge)
};

const FILES: Check = Check {
    id: "store/files",
    guarantees: &[],
    states: "The store's files keep their modes, a link stays a link, and nothing is left beside them.",
    explains: "Makes calls over files that only their owner may read, and over a store that is a symbolic link, as people keep it in \
               a folder that is synchronized. Then compares modes, links and names of files.",
    cases: files::cases,
    ..Check::must(files::judge)
};

const UNKNOWN: Check = Check {
    id: "store/unknown",
    guarantees: &[],
    states: "A line of the store that the server does not know stays there.",
    explains: "Adds a line to a store that is one file of text, as a later version or a different program would (to lines of JSON, one \
               of JSON), and makes a call. A server may refuse such a store, but not drop the line.",
    cases: calls::cases,
    ..Check::should(files::unknown)
};
