//! Calls of contracts, independent of their protocol.
//!
//! ```text
//! request → Gateway::tool → Gateway::call: access → conditions → caller → approval → record → contract → count → outcome
//! ```
//!
//! [`Gateway`] has the contracts and the state that their clients share. The protocols build on it: they parse requests into
//! [`CallRequest`]s, and render [`Answer`](tabellion_runtime::Answer)s and [`CallError`]s.

mod access;
mod approval;
mod caller;
pub mod calls;
mod catalog;
mod error;
mod gateway;
mod intake;
mod internal_error;
pub mod json;
mod origin;
mod recording;
#[cfg(feature = "testing")]
pub mod testing;

pub use access::{Access, Budget, Grant};
pub use approval::{ApprovalMode, ApprovalPolicy, Unattended};
pub use caller::{LocalCaller, person};
pub use catalog::{Catalog, FoundResource, Kind, NameClash, Offer, Route, rules};
pub use error::{CallError, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST};
pub use gateway::{CallRequest, Gateway, MakeApprover, ReviewPlace, connection};
pub use intake::{Intake, Permits, Slot, WeakSlot};
pub use origin::{Client, RequestOrigin, Requester};
pub use recording::Awaited;
