//! Responses must have one more field: it is missing.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/response_field_required.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
