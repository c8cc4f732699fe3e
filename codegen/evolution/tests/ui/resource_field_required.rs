//! A field of a resource became required: the value has the wrong type.

#[path = "implementation.rs"]
mod implementation;
#[path = "generated/resource_field_required.rs"]
mod notes;

fn main() {
    let _ = implementation::Server;
}
