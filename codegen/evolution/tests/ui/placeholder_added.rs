//! A template has one more placeholder: its value is missing.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/placeholder_added.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
