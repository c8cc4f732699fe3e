//! The switch that ends a run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// A switch that ends a run. Clones share one switch.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the run to end. It does so within the time of one file.
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// Returns true if the run should end.
    pub fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}
