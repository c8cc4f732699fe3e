//! Nothing changed: the implementation compiles.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/unchanged.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
