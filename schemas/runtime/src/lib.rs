//! The runtime that every contract's generated code calls.
//!
//! A contract's JSON is the only place where its tools are declared; `tabellion-codegen` turns it into types, one trait
//! and a table of tools. The behaviour that all contracts share is here: [`shape`] validates, [`dispatch`] leads a
//! request to the trait's method and back, [`rates`], [`policy`] and [`approval`] can refuse it, [`offer`] does the same
//! for resources and prompts, and [`store`] declares what a store of documents must implement.
//!
//! This crate knows no contract by name, no file system, no git and no MCP library.

pub mod answer;
mod approval;
pub mod approver;
mod boundary;
pub mod call;
pub mod caller;
pub mod context;
pub mod contract;
pub mod dispatch;
pub mod failure;
pub mod future;
pub mod ids;
mod mutation;
pub mod policy;
pub mod rates;
pub mod resources_and_prompts;
pub mod schema;
pub mod spec;
pub mod store;
pub mod text;
pub mod token_bucket;

pub use answer::{Answer, Rejection};
pub use approver::{Approver, Decision, Proposal};
pub use call::{ReadCx, Receipt, Staged, WriteCx};
pub use caller::{Caller, Progress};
pub use context::{Author, CallContext};
pub use contract::Contract;
pub use failure::{ContractError, ErrorAnswer, Failure, FailureKind};
pub use future::BoxFuture;
pub use ids::{CommitId, ContentId, IdempotencyKey, IdempotencyKeyError, Precondition};
pub use policy::PathPolicy;
pub use rates::RateLimits;
pub use schema::{Rule, Schema, Violation};
pub use spec::{
    Annotations, Approval, ArgumentSpec, ContractSpec, Effect, EffectKind, ErrorChannel, ErrorSpec, Example,
    Guarantee, LogSpec, PreviewPair, PromptSpec, RateLimit, ResourceSpec, Shows, ToolSpec, When,
};
pub use store::{
    Change, Content, Document, DocumentHistory, Entry, Prepared, Replay, Session, Snapshot, Store,
    StoreError, Version, VersionEntry,
};
