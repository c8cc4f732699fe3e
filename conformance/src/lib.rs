//! Proves or breaks the guarantees of any implementation of a contract, on the disk.
//!
//! A [`Subject`] is a server under test. [`checks`] says what is tried, [`run`](mod@run) tries it, and
//! [`report`] shows what came of it. A check is [cases](check::Case) as data and a judgement of one case, so that a
//! failure can be made smaller, saved and played again; it names no tool, but asks the contract which tool has which effect.
//!
//! | module | is for |
//! |---|---|
//! | [`subject`], [`launch`], [`adapter`] | the server: how it is started and reached, and how its tools are named and shaped |
//! | [`target`], [`http`], [`talk`], [`official`] | the wire: raw messages in lines or over HTTP, conversations in which anything can be said, MCP's own schemas |
//! | [`client`], [`person`], [`reply`] | calls of the contract's tools in either era, and who approves of them |
//! | [`scene`], [`ledger`] | the disk: a throw-away library with what lies around it, and what it holds, from its files and git |
//! | [`stepper`] | a program that dies, or a system call that fails, at any point that one names |
//! | [`check`](mod@check), [`checks`], [`request`], [`generate`], [`documents`], [`attacks`], [`traps`] | what is tried, and on what |
//! | [`semantics`], [`markdown`], [`moment`], [`settled`] | what must hold: after a call, and when nobody is at work |
//! | [`probe`] | whether there is a server at all, and what it speaks |
//! | [`run`](mod@run), [`trace`], [`report`], [`known`], [`replay`] | what came of it, what is put up with, and once more |
//!
//! A server in Rust holds itself to a contract with one line of its tests: see [`check`](fn@check).
//!
//! This crate knows contracts and the disk; it never depends on a server.

pub mod adapter;
mod assert;
pub mod attacks;
pub mod bytes;
pub mod check;
pub mod checks;
pub mod cli;
pub mod client;
pub mod contracts;
pub mod documents;
pub mod era;
pub mod exit;
pub mod generate;
pub mod http;
pub mod judgement;
pub mod known;
pub mod launch;
pub mod layout;
pub mod ledger;
pub mod markdown;
pub mod moment;
pub mod official;
pub mod person;
pub mod probe;
pub mod replay;
pub mod reply;
pub mod report;
pub mod request;
pub mod run;
pub mod scene;
pub mod semantics;
pub mod settled;
pub mod stepper;
pub mod subject;
pub mod talk;
pub mod target;
pub mod trace;
pub mod traps;

pub use assert::check;
pub use bytes::Bytes;
pub use ledger::Ledger;
pub use stepper::Stepper;
pub use subject::Subject;
pub use target::{Target, WireError};
