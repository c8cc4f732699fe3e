//! Only words changed: the implementation still compiles.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/description_changed.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
