//! An argument completes now: its method is missing.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/argument_completes.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
