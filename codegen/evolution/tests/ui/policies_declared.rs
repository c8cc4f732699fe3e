//! Policies that the runtime keeps, and a template's words: nothing to follow.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/policies_declared.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
