//! Resources.

use crate::schema::Schema;

/// A resource, which a client reads without arguments.
#[derive(Debug)]
pub struct ResourceSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// URI on the wire.
    pub uri: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Description on the wire.
    pub description: &'static str,
    /// Media type of the text.
    pub mime_type: &'static str,
    /// Schema of the JSON that the text is.
    pub schema: &'static Schema,
}
