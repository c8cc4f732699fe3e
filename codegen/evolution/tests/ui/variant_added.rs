//! A request can be one thing more: the match is not exhaustive.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/variant_added.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
