//! The one kind of future that trait objects return here.

use std::{future::Future, pin::Pin};

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
