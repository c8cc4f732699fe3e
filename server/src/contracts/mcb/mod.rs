//! `mcb`: rows of projects, their people and their work. Operations that follow from the entities need no method here.

use std::sync::Arc;

use tabellion_contracts::mcb::{Mcb, Service};
use tabellion_records::Records;
use tabellion_runtime::{Contract, Failure};

/// The contract over its rows.
struct OverRows;

impl Mcb for OverRows {}

/// Puts the implementation over `records`.
///
/// # Errors
/// If what it derives from the rows can't be opened.
pub(super) fn service(records: Arc<Records>) -> Result<Arc<dyn Contract>, Failure> {
    Ok(Arc::new(Service::new(OverRows, records)))
}
