//! A tool was added: its method is missing.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/tool_added.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
