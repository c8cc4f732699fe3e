//! The contract is the same.

#[path = "desk_implementation.rs"]
mod implementation;
#[path = "generated/operations_unchanged.rs"]
mod desk;

fn main() {
    let _ = implementation::Server;
}
