//! Descriptions and reasons changed, which no implementation sees.

#[path = "desk_implementation.rs"]
mod implementation;
#[path = "generated/operation_described.rs"]
mod desk;

fn main() {
    let _ = implementation::Server;
}
