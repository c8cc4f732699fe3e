//! Resources.

use super::ArgumentSpec;
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
    /// Schema of the text, which is JSON.
    pub schema: &'static Schema,
}

/// A family of resources: one for each URI that fits a template.
#[derive(Debug)]
pub struct ResourceTemplateSpec {
    /// Their common fields. The URI is the template.
    pub resource: ResourceSpec,
    /// The variables of the template. Path variables are required.
    pub variables: &'static [ArgumentSpec],
}

impl ResourceTemplateSpec {
    /// Returns the variable of that name.
    pub fn variable(&self, name: &str) -> Option<&'static ArgumentSpec> {
        self.variables.iter().find(|variable| variable.name == name)
    }
}
