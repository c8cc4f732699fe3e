//! An argument of a prompt was renamed: the field is gone.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/prompt_argument_renamed.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
