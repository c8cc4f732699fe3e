//! All innocents: a row for each, with its name on the command line, its conduct, the false accusation, and the checks that must
//! acquit it.

use std::sync::OnceLock;

/// An innocent and its description.
#[derive(Debug)]
pub struct Acquitted {
    /// The innocent.
    pub innocent: Innocent,
    /// Name on the command line.
    pub name: &'static str,
    /// Its conduct, in words.
    pub does: &'static str,
    /// The false accusation, in words.
    pub accused_of: &'static str,
    /// Checks that must acquit it: they don't fail, or their failure breaks none of their guarantees.
    pub acquitted_by: &'static [&'static str],
}

/// Declares [`Innocent`] and [`INNOCENTS`].
macro_rules! innocents {
    ($($innocent:ident $name:literal: $does:literal accused of $of:literal acquitted by $checks:expr;)+) => {
        /// Conduct that sets an innocent apart.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Innocent {
            $(#[doc = $does] $innocent,)+
        }

        /// All innocents.
        pub const INNOCENTS: &[Acquitted] = &[$(Acquitted {
            innocent: Innocent::$innocent,
            name: $name,
            does: $does,
            accused_of: $of,
            acquitted_by: &$checks,
        },)+];
    };
}

innocents! {
    RefusesExisting "refuses-existing": "creates a note, and refuses to overwrite one"
        accused of "making commits, and losing each of them"
        acquitted by ["concurrent/clients", "concurrent/processes", "concurrent/create", "bytes/write-exact",
            "atomic/kill-observed", "mutation/content", "model/one-client"];
    WholeDocuments "whole-documents": "has no tool that edits, so that the adapter sends whole documents"
        accused of "losing what the adapter overwrote, and telling what the adapter sent"
        acquitted by ["concurrent/clients", "concurrent/processes", "concurrent/sections",
            "concurrent/editor", "paths/swapped-folder"];
    KeepsNoHistory "keeps-no-history": "adds to what a person has saved, without commits"
        accused of "losing a save that is in the document, and changing a person's commit"
        acquitted by ["concurrent/editor", "concurrent/git", "paths/special-files"];
    KeepsState "keeps-state": "makes a folder of its own in the library when it starts, and writes a journal there"
        accused of "changing the library with whatever it was asked"
        acquitted by ["wire/bad-lines", "wire/bad-params", "schema/json-oddities", "paths/escape",
            "paths/links", "paths/git-internals", "pure/reads-change-nothing", "pure/refusals-change-nothing",
            "model/one-client"];
    IgnoresNullParams "ignores-null-params": "gives no answer to a call whose `params` are null"
        accused of "writing part of a change" acquitted by ["wire/bad-params"];
    AddsExtension "adds-extension": "writes `x.sh` to `x.sh.md`, and takes `....` for the name of a folder"
        accused of "letting paths lead out of the library"
        acquitted by ["paths/escape", "paths/git-internals"];
    HasDefaults "has-defaults": "creates an empty note where no content is given, as its schema says"
        accused of "accepting an invalid call" acquitted by ["pure/refusals-change-nothing"];
    ReadsInPages "reads-in-pages": "returns the first 20,000 characters of a note, and says that there are more"
        accused of "returning torn documents"
        acquitted by ["concurrent/reads-whole", "concurrent/reads-beside-git"];
    OtherErrorCodes "other-error-codes": "answers a line that is not UTF-8 with -32602"
        accused of "serving it" acquitted by ["wire/bad-lines"];
    CreatesByAppending "creates-by-appending": "creates the note that it is to append to"
        accused of "accepting an impossible call"
        acquitted by ["pure/refusals-change-nothing", "model/one-client"];
    SaysWhich "says-which": "writes the notes of a batch that it can, and says which it could not"
        accused of "writing a part of a batch" acquitted by ["mutation/batch"];
    ReadsLines "reads-lines": "returns lines by their numbers, from 1, without the end of the last"
        accused of "parts that do not join" acquitted by ["bytes/pages"];
    DryRuns "dry-runs": "says in a dry run that it would succeed"
        accused of "success without a change" acquitted by ["mutation/options"];
    MovesNotes "moves-notes": "moves a note by renaming it"
        accused of "losing what was moved" acquitted by ["bytes/moved", "bytes/every-tool"];
    CommitsLater "commits-later": "commits a note a moment after the answer"
        accused of "making the last call's commit with the next call"
        acquitted by ["pure/refusals-change-nothing", "mutation/no-implicit-edits",
            "mutation/only-its-document", "mutation/person-uncommitted", "model/one-client"];
}

static SELF: OnceLock<Innocent> = OnceLock::new();

/// Makes this process an innocent until it exits.
pub(super) fn become_one(innocent: Innocent) {
    SELF.get_or_init(|| innocent);
}

/// Returns true if this process is that innocent.
pub(super) fn is(innocent: Innocent) -> bool {
    SELF.get() == Some(&innocent)
}
