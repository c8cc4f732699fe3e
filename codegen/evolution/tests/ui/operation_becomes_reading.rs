//! An operation no longer changes anything: it has nothing to stage.

#[path = "desk_implementation.rs"]
mod implementation;
#[path = "generated/operation_becomes_reading.rs"]
mod desk;

fn main() {
    let _ = implementation::Server;
}
