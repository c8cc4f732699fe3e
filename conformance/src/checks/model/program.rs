//! Programs: what lies in a library, and what is done to it, step by step.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::EffectKind;

use crate::{Bytes, request::With, semantics::words};

/// A program. Any part of one is a program: a step for which nothing is there does nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Program {
    /// The documents that a person has committed before the first step, by their paths.
    pub(super) documents: BTreeMap<String, Bytes>,
    pub(super) steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub(super) enum Step {
    /// A mutating call.
    Call(Edit),
    /// The preview of a mutating call, and then the call.
    Preview(Edit),
    /// A reading call.
    Read { path: String },
    /// A call that the contract shows as invalid, about this document where that is not what is wrong.
    Invalid {
        tool: String,
        example: String,
        path: String,
    },
    /// A person saves a document.
    Save { path: String, bytes: Bytes },
    /// A person removes a document.
    Remove { path: String },
    /// A person stages what a document is now.
    Stage { path: String },
    /// A person commits everything.
    Commit,
    /// The server is closed and started again.
    Restart,
    /// The server is killed and started again.
    Kill,
    /// The calls that follow go to another process over the same library, or back to the first one.
    OtherServer,
}

/// A mutating call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Edit {
    pub(super) kind: Kind,
    pub(super) path: String,
    pub(super) content: String,
    /// The heading; empty for kinds that have none.
    pub(super) target: String,
}

/// Kinds of effects that change something, the plainest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Write,
    Delete,
    Append,
    Prepend,
    ReplaceSection,
    InsertBefore,
    InsertAfter,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Write,
        Self::Delete,
        Self::Append,
        Self::Prepend,
        Self::ReplaceSection,
        Self::InsertBefore,
        Self::InsertAfter,
    ];

    pub(super) const fn effect(self) -> EffectKind {
        match self {
            Self::Write => EffectKind::Write,
            Self::Delete => EffectKind::Delete,
            Self::Append => EffectKind::Append,
            Self::Prepend => EffectKind::Prepend,
            Self::ReplaceSection => EffectKind::ReplaceSection,
            Self::InsertBefore => EffectKind::InsertBefore,
            Self::InsertAfter => EffectKind::InsertAfter,
        }
    }

    /// Whether it is about a section.
    pub(super) const fn has_target(self) -> bool {
        matches!(
            self,
            Self::ReplaceSection | Self::InsertBefore | Self::InsertAfter
        )
    }

    /// Whether text comes with it.
    pub(super) const fn has_content(self) -> bool {
        !matches!(self, Self::Delete)
    }
}

impl Edit {
    pub(super) fn with(&self) -> With<'_> {
        With {
            path: &self.path,
            content: &self.content,
            target: &self.target,
        }
    }
}

impl Step {
    /// The document that it is about.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::Call(edit) | Self::Preview(edit) => Some(&edit.path),
            Self::Read { path }
            | Self::Invalid { path, .. }
            | Self::Save { path, .. }
            | Self::Remove { path }
            | Self::Stage { path } => Some(path),
            Self::Commit | Self::Restart | Self::Kill | Self::OtherServer => None,
        }
    }

    /// As [`path`](Self::path), to be changed.
    pub(super) fn path_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Call(edit) | Self::Preview(edit) => Some(&mut edit.path),
            Self::Read { path }
            | Self::Invalid { path, .. }
            | Self::Save { path, .. }
            | Self::Remove { path }
            | Self::Stage { path } => Some(path),
            Self::Commit | Self::Restart | Self::Kill | Self::OtherServer => None,
        }
    }

    /// The call that it makes, if it makes a mutating one that is valid.
    pub(super) fn edit_mut(&mut self) -> Option<&mut Edit> {
        match self {
            Self::Call(edit) | Self::Preview(edit) => Some(edit),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = |edit: &Edit| format!("{} of `{}`", words(Some(edit.kind.effect())), edit.path);
        match self {
            Self::Call(edit) => f.write_str(&call(edit)),
            Self::Preview(edit) => write!(f, "a preview and then {}", call(edit)),
            Self::Read { path } => write!(f, "a reading of `{path}`"),
            Self::Invalid { tool, example, .. } => write!(f, "an invalid call of {tool} ({example})"),
            Self::Save { path, .. } => write!(f, "a person's saving of `{path}`"),
            Self::Remove { path } => write!(f, "a person's removal of `{path}`"),
            Self::Stage { path } => write!(f, "a person's staging of `{path}`"),
            Self::Commit => f.write_str("a person's commit"),
            Self::Restart => f.write_str("a restart"),
            Self::Kill => f.write_str("a kill and a restart"),
            Self::OtherServer => f.write_str("a turn to the other server"),
        }
    }
}
