//! An argument was renamed: the field is gone.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/argument_renamed.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
