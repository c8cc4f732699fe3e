//! Programs: the documents of a library and a sequence of steps.

use std::{collections::BTreeMap, fmt};

use crate::{Bytes, checks::prelude::*, semantics::words};

/// A program. Any part of a program is a program, since a step without its document does nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Program {
    /// Documents that are committed before the first step, by path.
    pub(super) documents: BTreeMap<String, Bytes>,
    pub(super) steps: Vec<Step>,
}

/// A step of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub(super) enum Step {
    /// A mutating call.
    Call(Edit),
    /// The preview of a mutating call, then the call.
    Preview(Edit),
    /// A reading call.
    Read { path: String },
    /// An invalid example of the contract, on this document unless the path is the invalid part.
    Invalid { tool: String, example: String, path: String },
    /// A person saves a document.
    Save { path: String, bytes: Bytes },
    /// A person removes a document.
    Remove { path: String },
    /// A person stages a document.
    Stage { path: String },
    /// A person commits everything.
    Commit,
    /// The server is closed and restarted.
    Restart,
    /// The server is killed and restarted.
    Kill,
    /// The following calls go to the other of two processes over the library.
    OtherServer,
}

/// A mutating call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Edit {
    pub(super) kind: Kind,
    pub(super) path: String,
    pub(super) content: String,
    /// Target of the section; empty for kinds without a target.
    pub(super) target: String,
}

/// Kinds of mutating effects, simplest first.
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

    /// Returns true if the kind names a section.
    pub(super) const fn has_target(self) -> bool {
        matches!(self, Self::ReplaceSection | Self::InsertBefore | Self::InsertAfter)
    }

    /// Returns true if the kind takes a content.
    pub(super) const fn has_content(self) -> bool {
        !matches!(self, Self::Delete)
    }
}

impl Edit {
    pub(super) fn with(&self) -> With<'_> {
        With { path: &self.path, content: &self.content, target: &self.target }
    }
}

impl Step {
    /// Returns the path of the step's document.
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

    /// Returns a mutable reference to the step's [`path`](Self::path).
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

    /// Returns a mutable reference to the edit of a mutating call.
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
            Self::Read { path } => write!(f, "a read of `{path}`"),
            Self::Invalid { tool, example, .. } => write!(f, "an invalid call of {tool} ({example})"),
            Self::Save { path, .. } => write!(f, "a person's save of `{path}`"),
            Self::Remove { path } => write!(f, "a person's removal of `{path}`"),
            Self::Stage { path } => write!(f, "a person's `git add` of `{path}`"),
            Self::Commit => f.write_str("a person's commit"),
            Self::Restart => f.write_str("a restart"),
            Self::Kill => f.write_str("a kill and a restart"),
            Self::OtherServer => f.write_str("a switch to the other server"),
        }
    }
}
