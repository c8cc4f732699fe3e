//! An operation takes another argument: the old one is no field.

#[path = "desk_implementation.rs"]
mod implementation;
#[path = "generated/operation_takes_more.rs"]
mod desk;

fn main() {
    let _ = implementation::Server;
}
