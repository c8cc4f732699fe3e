//! Provenance: the agent, program, machine and person behind a call, as a contract declares it.

use serde::Deserialize;

use super::read::list;
use crate::vocabulary::vocabulary;

/// The fields of provenance, and the answer to a call that lacks required ones.
#[derive(Debug, Clone, Copy)]
pub struct ProvenanceSpec {
    /// The fields, in storage order.
    pub fields: &'static [ProvenanceField],
    /// Name of the field that identifies the caller's session, to which values can be bound.
    pub session: Option<&'static str>,
    /// Names of the required fields, in the order in which missing ones are reported.
    pub required: &'static [&'static str],
    /// Further fields that some calls need.
    pub also_if: &'static [AlsoIf],
    /// The answer to a call that lacks a required field.
    pub missing: MissingProvenance,
}

/// A field of provenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenanceField {
    /// Its name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ProvenanceType,
    /// Keys of a request's `_meta`; the first match counts.
    pub keys: &'static [&'static str],
    /// HTTP headers; the first match counts.
    pub headers: &'static [&'static str],
    /// Its other sources.
    pub from: &'static [ProvenancePlace],
    /// The fact that the server may discover in place of it.
    pub discover: Option<Discovery>,
    /// Its value if no source has one.
    pub default: Option<ProvenanceDefault>,
}

/// Further fields of calls that have `true` for one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct AlsoIf {
    /// Name of the field that is true.
    pub field: &'static str,
    /// Names of the fields that such a call needs.
    #[serde(deserialize_with = "list")]
    pub then: &'static [&'static str],
}

/// The answer to a call without the provenance that its tool requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct MissingProvenance {
    /// Name in the error table.
    pub error: &'static str,
    /// The message, with `{tool}` and `{fields}`.
    pub message: &'static str,
}

/// The value of a field that no source has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvenanceDefault {
    /// The time at which the server received the call, in Unix seconds.
    Now,
    /// True if the call has the named field.
    Present(&'static str),
}

vocabulary! {
    /// The type of the values of a field of provenance.
    #[serde(rename_all = "lowercase")]
    pub enum ProvenanceType {
        /// Text that is not blank.
        String,
        /// An integer.
        Integer,
        /// True or false.
        Boolean,
    }
}

vocabulary! {
    /// A place where a server keeps values of provenance for calls that do not carry them.
    #[serde(rename_all = "lowercase")]
    pub enum ProvenancePlace {
        /// The holder of the API key, over HTTP; asked before the headers.
        Holder,
        /// The session that the call names, then the first call of the connection.
        Bound,
        /// The configuration of the workspace, then that of the server.
        Config,
    }
}

vocabulary! {
    /// A fact about a call's origin that a server can discover by itself.
    #[serde(rename_all = "kebab-case")]
    pub enum Discovery {
        /// An id of the connection.
        Session,
        /// Name of the project, as its remote repository spells it: `owner/name`.
        Project,
        /// An id of the repository that is the same in all clones.
        Repository,
        /// Path of the top of the work tree.
        RepositoryPath,
        /// Name of the work tree: `main`, or that of a linked one.
        WorkTree,
        /// Name of the person.
        Operator,
        /// Name of the machine.
        Machine,
        /// Name of the client.
        Client,
        /// The word `unknown`, for facts that can't be discovered.
        Unknown,
    }
}

vocabulary! {
    /// A tool's use of the provenance of its calls.
    #[serde(rename_all = "lowercase")]
    pub enum ProvenanceUse {
        /// Refuses calls without the required fields, and stores it with changes.
        Required,
        /// Stores the available fields with changes.
        Kept,
    }
}

impl ProvenanceSpec {
    /// Returns the field of that name.
    pub fn field(&self, name: &str) -> Option<&'static ProvenanceField> {
        self.fields.iter().find(|field| field.name == name)
    }
}
