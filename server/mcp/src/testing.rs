//! An adapter for tests, over the in-memory contracts of `tabellion_gateway::testing`.

use std::sync::Arc;

use tabellion_runtime::Contract;

pub use tabellion_gateway::testing::*;

use crate::{Adapter, ServerInfo};
use tabellion_gateway::{ApprovalPolicy, Offer};

/// Returns an adapter that serves `contracts`.
pub fn adapter(contracts: Vec<Arc<dyn Contract>>, approval: ApprovalPolicy) -> Adapter {
    let info = ServerInfo { name: "memory".into(), version: "1".into(), instructions: Some("Speak.".into()) };
    Adapter::new(contracts, Offer::Everything, info, approval).expect("no names clash")
}
