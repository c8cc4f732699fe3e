//! A resource was removed: its methods are too many.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/resource_removed.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
