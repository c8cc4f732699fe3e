//! A tool was removed: its method belongs to no trait.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/tool_removed.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
