//! An operation was removed: its method belongs to no trait.

#[path = "desk_implementation.rs"]
mod implementation;
#[path = "generated/operation_removed.rs"]
mod desk;

fn main() {
    let _ = implementation::Server;
}
