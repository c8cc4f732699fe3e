//! A reading tool became mutating: its method must stage.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/becomes_mutating.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
