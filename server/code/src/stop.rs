//! The switch that ends a run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// A switch that ends a run. Cloned switches are one.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the run to end. It does within the time of one file.
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// Returns whether the run is to end.
    pub fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}
