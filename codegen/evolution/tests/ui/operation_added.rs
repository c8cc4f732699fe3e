//! An operation was added: its method is missing.

#[path = "desk_implementation.rs"]
mod implementation;
#[path = "generated/operation_added.rs"]
mod desk;

fn main() {
    let _ = implementation::Server;
}
