//! Innocents: servers that conform to a check, each in a way that a careless check takes for a failure.
//!
//! They are a vault: plain files, different tools behind an adapter, and no commits but for one. Its conduct is correct; each
//! deviation is named after the false accusation that it provoked. The zoo requires that its checks acquit it.

mod acquitted;
mod vault;
mod wire;

use std::{io, path::Path};

use tabellion_conformance::{Subject, adapter::Adapter, era::Era};
use tabellion_contracts::braindrive_markdown;
use tabellion_runtime::Failure;

pub use acquitted::{Acquitted, INNOCENTS, Innocent};
use acquitted::{become_one, is};
use vault::Vault;

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
        let edits = if self.innocent == Innocent::WholeDocuments { WHOLE } else { EDITS };
        let mapping = Adapter::parse(&[ADAPTER, edits].concat()).expect("the adapter is valid");
        let program = program.to_string_lossy();
        let command = [&*program, "--library", "{library}", "--innocent", self.name];
        Subject {
            name: self.name.to_owned(),
            era: Era::Stateless,
            adapter: Adapter::Mapped(mapping),
            ..Subject::new(&braindrive_markdown::CONTRACT, command.into_iter().map(String::from).collect())
        }
    }

    /// Serves the library at `root` as this innocent, over standard input and output until the input ends.
    pub fn serve(&self, root: &Path) -> io::Result<()> {
        become_one(self.innocent);
        let failed = |failure: Failure| io::Error::other(failure.message);
        wire::serve(&Vault::open(root).map_err(failed)?)
    }
}
