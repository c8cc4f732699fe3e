//! Roles, gates and tags, which the runtime keeps: nothing to follow.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/callers_and_gates_declared.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
