//! A resource was added: its methods are missing.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/resource_added.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
