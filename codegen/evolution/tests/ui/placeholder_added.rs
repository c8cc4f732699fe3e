//! A template lacks one value more: it is missing.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/placeholder_added.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
