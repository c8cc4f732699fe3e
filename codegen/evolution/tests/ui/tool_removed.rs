//! A tool was removed: its method is none of the trait's.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/tool_removed.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
