//! The arguments of an operation changed: the old field is gone.

#[path = "desk_implementation.rs"]
mod implementation;
#[path = "generated/operation_takes_more.rs"]
mod desk;

fn main() {
    let _ = implementation::Server;
}
