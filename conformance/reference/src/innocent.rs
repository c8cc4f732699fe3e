//! Innocents: servers that keep what a check states, each in a way that a careless check takes for a failure.
//!
//! They are a vault: plain files, tools of its own behind an adapter, and no commits but for one. What it does is correct;
//! what it does differently is named after the false accusation that it provoked. The zoo requires that its checks acquit it.

mod vault;
mod wire;

use std::{io, path::Path, sync::OnceLock};

use tabellion_conformance::{Subject, adapter::Adapter, era::Era};
use tabellion_contracts::braindrive_markdown;
use tabellion_runtime::Failure;

use vault::Vault;

/// What an innocent does differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each entry of the registry describes it")]
pub enum Innocent {
    RefusesExisting,
    WholeDocuments,
    KeepsNoHistory,
    KeepsState,
    IgnoresNullParams,
    AddsExtension,
    HasDefaults,
    ReadsInPages,
    OtherErrorCodes,
    CreatesByAppending,
    CommitsLater,
}

/// An innocent and its description.
#[derive(Debug)]
pub struct Acquitted {
    /// The innocent.
    pub innocent: Innocent,
    /// Name on the command line.
    pub name: &'static str,
    /// What it does, in words.
    pub does: &'static str,
    /// What it was accused of, in words.
    pub accused_of: &'static str,
    /// Checks that must acquit it: they don't fail, or their failure breaks none of their guarantees.
    pub acquitted_by: &'static [&'static str],
}

/// All innocents.
pub const INNOCENTS: &[Acquitted] = &[
    acquitted(
        Innocent::RefusesExisting,
        "refuses-existing",
        "creates a note, and refuses to overwrite one",
        "making commits, and losing each of them",
        &[
            "concurrent/clients",
            "concurrent/processes",
            "concurrent/create",
            "bytes/write-exact",
            "atomic/kill-observed",
            "mutation/content",
            "model/one-client",
        ],
    ),
    acquitted(
        Innocent::WholeDocuments,
        "whole-documents",
        "has no tool that edits, so that the adapter sends whole documents",
        "losing what the adapter overwrote",
        &[
            "concurrent/clients",
            "concurrent/processes",
            "concurrent/sections",
            "concurrent/editor",
        ],
    ),
    acquitted(
        Innocent::KeepsNoHistory,
        "keeps-no-history",
        "adds to what a person has saved, without commits",
        "losing a save that is in the document, and changing a person's commit",
        &["concurrent/editor", "concurrent/git", "paths/special-files"],
    ),
    acquitted(
        Innocent::KeepsState,
        "keeps-state",
        "makes a folder of its own in the library when it starts, and writes a journal there",
        "changing the library with whatever it was asked",
        &[
            "wire/bad-lines",
            "wire/bad-params",
            "schema/json-oddities",
            "paths/escape",
            "paths/links",
            "paths/git-internals",
            "pure/reads-change-nothing",
            "pure/refusals-change-nothing",
            "model/one-client",
        ],
    ),
    acquitted(
        Innocent::IgnoresNullParams,
        "ignores-null-params",
        "gives no answer to a call whose `params` are null",
        "writing part of a change",
        &["wire/bad-params"],
    ),
    acquitted(
        Innocent::AddsExtension,
        "adds-extension",
        "writes `x.sh` to `x.sh.md`, and takes `....` for the name of a folder",
        "letting paths lead out of the library",
        &["paths/escape", "paths/git-internals"],
    ),
    acquitted(
        Innocent::HasDefaults,
        "has-defaults",
        "creates an empty note where no content is given, as its schema says",
        "accepting an invalid call",
        &["pure/refusals-change-nothing"],
    ),
    acquitted(
        Innocent::ReadsInPages,
        "reads-in-pages",
        "returns the first 20,000 characters of a note, and says that there are more",
        "returning torn documents",
        &["concurrent/reads-whole", "concurrent/reads-beside-git"],
    ),
    acquitted(
        Innocent::OtherErrorCodes,
        "other-error-codes",
        "answers a line that is not UTF-8 with -32602",
        "serving it",
        &["wire/bad-lines"],
    ),
    acquitted(
        Innocent::CreatesByAppending,
        "creates-by-appending",
        "creates the note that it is to append to",
        "accepting an impossible call",
        &["pure/refusals-change-nothing", "model/one-client"],
    ),
    acquitted(
        Innocent::CommitsLater,
        "commits-later",
        "commits a note a moment after the answer",
        "making the last call's commit with the next call",
        &[
            "pure/refusals-change-nothing",
            "mutation/no-implicit-edits",
            "mutation/only-its-document",
            "mutation/person-uncommitted",
            "model/one-client",
        ],
    ),
];

const fn acquitted(
    innocent: Innocent,
    name: &'static str,
    does: &'static str,
    accused_of: &'static str,
    acquitted_by: &'static [&'static str],
) -> Acquitted {
    Acquitted {
        innocent,
        name,
        does,
        accused_of,
        acquitted_by,
    }
}

/// Maps the contract's tools to the vault's, except those that edit.
const ADAPTER: &str = r#"
[server]
name = "vault"
contract = "braindrive-markdown"

[tools.read_markdown]
name = "read_note"
arguments = { path = "{/path}" }
response = { "/content" = { at = "/structuredContent/content" } }

[tools.write_markdown]
name = "create_note"
arguments = { path = "{/path}", content = "{/content}" }
response = { "/success" = { is = true } }

[tools.delete_markdown]
name = "delete_note"
arguments = { path = "{/path}" }
response = { "/success" = { is = true } }
"#;

/// Maps edits to tools that edit.
const EDITS: &str = r#"
[tools.edit_markdown]
name = "edit_note"
arguments = { path = "{/path}", old = "{old}", new = "{new}" }
response = { "/success" = { is = true } }

[tools.edit_markdown.append]
name = "append_note"
arguments = { path = "{/path}", content = "{/operation/content}" }
"#;

/// Maps edits to whole documents.
const WHOLE: &str = r#"
[tools.edit_markdown]
name = "create_note"
arguments = { path = "{/path}", content = "{content}" }
response = { "/success" = { is = true } }
"#;

impl Acquitted {
    /// Returns the innocent of this name.
    ///
    /// # Errors
    /// If it does not exist: a message that lists the names.
    pub fn find(name: &str) -> Result<&'static Self, String> {
        INNOCENTS.iter().find(|it| it.name == name).ok_or_else(|| {
            let names: Vec<_> = INNOCENTS.iter().map(|it| it.name).collect();
            format!("the innocents are {}", names.join(", "))
        })
    }

    /// Returns the server under test; `program` is the binary `tabellion-reference`.
    ///
    /// # Panics
    /// If its adapter is invalid, which is a defect of this crate.
    pub fn subject(&self, program: &Path) -> Subject {
        let edits = if self.innocent == Innocent::WholeDocuments {
            WHOLE
        } else {
            EDITS
        };
        let mapping = Adapter::parse(&[ADAPTER, edits].concat()).expect("the adapter is valid");
        let program = program.to_string_lossy();
        let command = [&*program, "--library", "{library}", "--innocent", self.name];
        Subject {
            name: self.name.to_owned(),
            era: Era::Stateless,
            adapter: Adapter::Mapped(mapping),
            ..Subject::new(
                &braindrive_markdown::CONTRACT,
                command.into_iter().map(String::from).collect(),
            )
        }
    }

    /// Serves the library at `root` as this innocent, over standard input and output until the input ends.
    ///
    /// # Errors
    /// If the library can't be opened, or a pipe breaks.
    pub fn serve(&self, root: &Path) -> io::Result<()> {
        SELF.get_or_init(|| self.innocent);
        let failed = |failure: Failure| io::Error::other(failure.message);
        wire::serve(&Vault::open(root).map_err(failed)?)
    }
}

static SELF: OnceLock<Innocent> = OnceLock::new();

/// Returns true if this process is that innocent.
fn is(innocent: Innocent) -> bool {
    SELF.get() == Some(&innocent)
}
