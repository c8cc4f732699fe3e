//! What tests of several contracts need.

use std::sync::Arc;

use tabellion_embed::ModelError;
use tabellion_meaning::{Embedder, Models};

/// No model, whatever is installed.
pub(crate) struct NoModel;

impl Models for NoModel {
    fn fingerprint(&self) -> &str {
        "none"
    }

    fn is_installed(&self) -> bool {
        false
    }

    fn open(&self) -> Result<Arc<dyn Embedder>, ModelError> {
        unreachable!("it is not installed")
    }
}
