//! Tests which of a contract's guarantees a server keeps, by its answers, its files and its git history.
//!
//! A [`Subject`] is a server under test. [`checks`] has the checks, [`run`](mod@run) runs them, and [`report`] shows the
//! results. A check is [cases](check::Case) as data and a [judgement](judgement::Judgement) of one case, so that a failing case
//! can be shrunk, saved and replayed; it names no tool, but looks up the tool for each effect in the contract.
//!
//! | module | is for |
//! |---|---|
//! | [`contracts`], [`era`], [`layout`] | contracts that the suite can judge, protocol generations, and fixed names in a library |
//! | [`subject`], [`launch`], [`adapter`] | the server: how it is started and reached, and how its tools map to the contract's |
//! | [`target`], [`http`], [`talk`], [`official`] | the wire: raw messages over lines or HTTP, conversations, MCP's official schemas |
//! | [`client`], [`crowd`], [`person`], [`reply`] | calls of the contract's tools in either era, by one client or several at once, and the person who approves them |
//! | [`scene`], [`setup`], [`ledger`], [`own`] | the disk: a temporary library, its setup, surroundings and content, without server state |
//! | [`rows`] | requests about the rows of a contract's entities, and a model of the rows |
//! | [`stepper`] | kills a program, or fails a system call, at a chosen point |
//! | `watcher` | ends servers and removes temporary folders when the suite ends, even if it is killed |
//! | [`check`](mod@check), [`checks`], [`request`], [`generate`], [`documents`], [`attacks`], [`traps`] | the checks, and their cases |
//! | [`judgement`], [`semantics`], [`markdown`], [`moment`], [`settled`] | requirements: after a call, and when no call is in progress |
//! | [`probe`], [`sdk`] | detects whether the server speaks MCP, in which eras, and the kit that it is written with |
//! | [`declared`] | the contract of a server without one: its own list of tools |
//! | [`run`](mod@run), [`trace`], [`report`], [`known`], [`replay`] | results, known failures, and replays |
//! | [`exit`] | the exit codes of the command line, which is another crate |
//!
//! A server in Rust runs the suite in its own tests with one line: see [`check`](fn@check).
//!
//! The crate depends on the contracts and on no server.

pub mod adapter;
mod assert;
pub mod attacks;
pub mod base;
pub mod bytes;
pub mod callers;
pub mod check;
pub mod checks;
pub mod client;
pub mod contracts;
pub mod crowd;
pub mod declared;
pub mod documents;
pub mod era;
pub mod exit;
pub mod generate;
pub mod history;
pub mod http;
pub mod judgement;
pub mod known;
pub mod launch;
pub mod layout;
pub mod ledger;
pub mod markdown;
pub mod moment;
mod named;
pub mod official;
pub mod own;
pub mod pattern;
pub mod person;
pub mod probe;
pub mod promises;
pub mod provenance;
pub mod replay;
pub mod reply;
pub mod report;
pub mod request;
pub mod rows;
pub mod run;
mod sample;
pub mod scene;
pub mod sdk;
pub mod semantics;
pub mod settled;
pub mod setup;
pub mod stepper;
pub mod subject;
pub mod talk;
pub mod target;
pub mod texts;
pub mod trace;
pub mod traps;
mod watcher;

pub use assert::{check, check_only};
pub use bytes::Bytes;
pub use contracts::IntoContract;
pub use ledger::Ledger;
pub use own::Own;
pub use stepper::Stepper;
pub use subject::Subject;
pub use target::{Target, WireError};
