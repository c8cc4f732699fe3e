//! Contracts, and the runtime that every contract's generated code leans on.
//!
//! A contract's JSON (`<contract>/contract.json` and its `tools/`) is the only place where a tool is said. The
//! modules below [`generated`] hold what follows from it: types, one trait per contract and a table of its tools.
//! Behaviour lives in the hand-written modules, once: [`shape`] validates, [`dispatch`] leads a request to the
//! trait's method and back, [`rates`], [`policy`] and [`approval`] stand in its way, [`offer`] does the same for resources and
//! prompts, [`store`] says what a place that keeps documents must be able to do.
//!
//! This crate knows no file system, no git and no MCP library.

// Generated code names this crate as every other crate does, so that it compiles inside and outside of it.
#[allow(unused_extern_crates)]
extern crate self as tabellion_schemas;

pub mod approval;
pub mod call;
pub mod caller;
pub mod dispatch;
pub mod failure;
pub mod generated;
pub mod offer;
pub mod policy;
pub mod rates;
pub mod shape;
pub mod spec;
pub mod store;

pub use approval::{Approver, Decision, Proposal};
pub use call::{Author, CallContext, ReadCx, Receipt, Staged, WriteCx};
pub use caller::{Caller, Progress};
pub use dispatch::{Answer, BoxFuture, Contract, Rejection};
pub use failure::{ContractError, ErrorAnswer, Failure, FailureKind};
pub use generated::CONTRACTS;
pub use policy::PathPolicy;
pub use rates::RateLimits;
pub use shape::{Rule, Shape, Violation};
pub use spec::{
    Annotations, Approval, ArgumentSpec, ContractSpec, Effect, EffectKind, ErrorChannel, ErrorSpec, Example,
    Guarantee, LogSpec, PreviewPair, PromptSpec, RateLimit, ResourceSpec, Shows, ToolSpec, When,
};
pub use store::{
    Change, Content, Document, Entry, Past, Prepared, Replay, Session, Setback, Snapshot, Store, Version,
    VersionEntry,
};
