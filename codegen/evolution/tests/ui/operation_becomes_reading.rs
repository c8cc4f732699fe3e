//! An operation becomes a reading one: it can't stage a change.

#[path = "desk_implementation.rs"]
mod implementation;
#[path = "generated/operation_becomes_reading.rs"]
mod desk;

fn main() {
    let _ = implementation::Server;
}
