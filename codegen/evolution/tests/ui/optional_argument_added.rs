//! An argument that may be absent was added: the implementation, which does not use it, still compiles.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/optional_argument_added.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
