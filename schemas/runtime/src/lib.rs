//! The runtime that every contract's generated code calls.
//!
//! A contract's JSON is the only place where its tools are declared; `tabellion-codegen` turns it into types, one trait and a table of
//! tools. The behaviour that all contracts share is here: [`dispatch`] passes a request to the trait's method and back, [`schema`]
//! validates, [`modes`], [`provenance`], [`rates`], [`policy`] and an [`Approver`] can reject it, [`resources_and_prompts`] does the same
//! for resources and prompts, [`ground`] defines the data that contracts change, and [`store`] the traits of a store.
//!
//! This crate knows no contract by name, no file system, no git and no MCP library.

pub mod answer;
mod approval;
pub mod approver;
pub mod auth;
mod boundary;
pub mod bpmn;
pub mod call;
pub mod caller;
pub mod calls;
pub mod change;
pub mod context;
pub mod contract;
pub mod dispatch;
pub mod downloads;
pub mod failure;
pub mod future;
pub mod gates;
pub mod ground;
pub mod identity;
pub mod ids;
pub mod meta;
pub mod modes;
mod mutation;
pub mod openapi;
pub mod origin;
pub mod pointer;
pub mod policy;
pub mod provenance;
pub mod rates;
pub mod resources_and_prompts;
pub mod rows;
pub mod schema;
pub mod snapshot;
pub mod spec;
pub mod store;
pub mod template;
pub mod text;
mod text_file;
mod texts;
pub mod token_bucket;
pub mod uri_template;
mod vocabulary;
pub mod workflow;
pub mod workflow_calls;

pub use answer::{Answer, Rejection};
pub use approver::{Approver, Decision, Proposal, ProposedEffect};
pub use call::{ReadCx, Receipt, Staged, WriteCx};
pub use caller::{Agent, Caller, KnownCaller, Progress};
pub use change::{Change, ChangeError, Content, Edit};
pub use context::{Author, CallContext};
pub use contract::Contract;
pub use failure::{ContractError, ErrorAnswer, Failure, FailureKind};
pub use future::BoxFuture;
pub use ground::{Documents, Ground, HasView, State};
pub use identity::Identity;
pub use ids::{CommitId, ContentId, IdempotencyKey, IdempotencyKeyError, Precondition};
pub use origin::{CallOrigin, Connection, Discovered, Environment, Transport};
pub use policy::PathPolicy;
pub use provenance::Provenance;
pub use rates::RateLimits;
pub use rows::{Row, RowChange, RowEdit, RowView, Rows, RowsChange};
pub use schema::{Rule, Schema, Violation};
pub use snapshot::{Document, DocumentHistory, Snapshot, Until, Version, VersionEntry};
pub use spec::{
    Annotations, Approval, ArgumentSpec, ContractSpec, Effect, EffectKind, ErrorChannel, ErrorSpec, Example,
    Guarantee, GuaranteeKind, LogSpec, PreviewPair, PromptSpec, RateLimit, ResourceSpec, Shows, ToolSpec,
    When,
};
pub use store::{Claim, Entry, Prepared, Replay, Session, Store, StoreError};
pub use text_file::{Text, TextFile};
pub use texts::{Examples, Texts, ToolSchema};
