//! Correct servers, one for each contract that the suite supports.

use std::path::Path;

use tabellion_conformance::{
    Subject,
    era::Era,
    launch::{DECISION, INSTANCE, Launch, MODE, ROLE, Reach},
    ledger::Source,
};
use tabellion_contracts::{braindrive_markdown, learning_os, safe_markdown_editor};
use tabellion_runtime::ContractSpec;

use crate::{mutant::Specimen, small};

/// A correct server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorrectServer {
    /// The reference implementation of `braindrive-markdown`.
    Reference,
    /// The small server of `learning-os`.
    Memory,
    /// The small server of `safe-markdown-editor`.
    Editor,
    /// The small server of the example `desk`.
    Desk,
    /// The small server of the example `tracker`.
    Tracker,
    /// The small server of the example `logbook`.
    Logbook,
    /// The small server of the example `bulletin`.
    Bulletin,
    /// The small server of the memory and the code of `mcb`.
    Recall,
    /// The small server of `brainforge`.
    Shelf,
}

impl CorrectServer {
    /// All correct servers.
    pub const ALL: [Self; 9] = [
        Self::Reference,
        Self::Memory,
        Self::Editor,
        Self::Desk,
        Self::Tracker,
        Self::Logbook,
        Self::Bulletin,
        Self::Recall,
        Self::Shelf,
    ];

    /// Returns the server of a contract.
    ///
    /// # Errors
    /// If the contract has no server: a message that lists the contracts.
    pub fn find(contract: &str) -> Result<Self, String> {
        let found = Self::ALL
            .into_iter()
            .find(|server| server.contract().id == contract);
        found.ok_or_else(|| {
            let ids = Self::ALL.map(|server| server.contract().id);
            format!("the contracts are {}", ids.join(", "))
        })
    }

    /// Returns the contract that the server keeps.
    pub fn contract(self) -> &'static ContractSpec {
        match self {
            Self::Reference => &braindrive_markdown::CONTRACT,
            Self::Memory => &learning_os::CONTRACT,
            Self::Editor => &safe_markdown_editor::CONTRACT,
            Self::Desk => small::DESK,
            Self::Tracker => small::TRACKER,
            Self::Logbook => small::LOGBOOK,
            Self::Bulletin => small::BULLETIN,
            Self::Recall => small::RECALL,
            Self::Shelf => small::SHELF,
        }
    }

    /// Returns the checks and families that the server passes; empty means all.
    pub const fn passes(self) -> &'static [&'static str] {
        match self {
            Self::Reference => &[],
            Self::Desk => &["operations", "mutation/recorded"],
            Self::Tracker => &["operations", "rows", "orgs", "secrets"],
            Self::Logbook => &["operations", "provenance", "modes", "errors"],
            Self::Bulletin => &["auth", "gates"],
            Self::Shelf => &["review", "versions", "links", "notes", "export"],
            Self::Recall => &["memory", "index", "search", "vcs", "validate"],
            Self::Memory | Self::Editor => &[
                "append",
                "approval",
                "policy",
                "outline",
                "undo",
                "mutation/recorded",
            ],
        }
    }

    /// Returns true if the server can be served over HTTP.
    pub const fn is_over_http(self) -> bool {
        matches!(self, Self::Reference | Self::Bulletin)
    }

    /// Returns true if the server keeps rows in a folder for data.
    pub const fn keeps_rows(self) -> bool {
        matches!(self, Self::Tracker | Self::Logbook | Self::Recall)
    }

    /// Returns this server, or a mutant of it, as a server under test; `program` is the binary `tabellion-reference`.
    pub fn subject(self, program: &Path, specimen: Option<&Specimen>) -> Subject {
        let program = program.to_string_lossy();
        let contract = self.contract();
        let folder = if self.keeps_rows() {
            ["--data", "{data}"]
        } else {
            ["--library", "{library}"]
        };
        let mut command = vec![&*program, folder[0], folder[1], "--contract", contract.id];
        let mut ledger = Source::default();
        if self.keeps_rows() {
            ledger.command = command
                .iter()
                .copied()
                .chain(["--export"])
                .map(String::from)
                .collect();
        }
        if self == Self::Recall {
            command.extend(["--workspace", "{workspace}"]);
        }
        if contract.document {
            command.extend(["--document", "{document}"]);
        }
        if let Some(specimen) = specimen {
            command.extend(["--mutant", specimen.name]);
        }
        let name = match self {
            Self::Reference => "reference",
            _ => contract.id,
        };
        let command: Vec<String> = command.into_iter().map(String::from).collect();
        let decide = format!(
            "'{}' --decide {DECISION} --instance {INSTANCE}",
            command.join("' '")
        );
        let launch = Launch {
            mode: (self == Self::Logbook).then(|| format!("--mode={MODE}")),
            role: contract.auth.map(|_| format!("--as={ROLE}")),
            decide: (self == Self::Shelf).then_some(decide),
            ..Launch::of(command)
        };
        Subject {
            name: specimen.map_or(name, |specimen| specimen.name).to_owned(),
            era: Era::Stateless,
            ledger,
            launch: launch.clone(),
            ..Subject::new(contract, launch.command)
        }
    }
}

/// Returns a server [that can be](CorrectServer::is_over_http), or a mutant of it, as a server under test over HTTP; `program` is the binary
/// `tabellion-reference`.
pub fn over_http(server: CorrectServer, program: &Path, specimen: Option<&Specimen>) -> Subject {
    let mut subject = server.subject(program, specimen);
    let command = &mut subject.launch.command;
    command.extend(["--http", "127.0.0.1:{port}"].map(String::from));
    subject.launch.reach = Reach::Http("http://127.0.0.1:{port}/mcp".to_owned());
    subject.launch.clock_offset = (server == CorrectServer::Bulletin).then(|| small::CLOCK_OFFSET.to_owned());
    subject.launch.role_headers = match server {
        CorrectServer::Bulletin => small::ROLES
            .map(|role| {
                (
                    role.to_owned(),
                    "Authorization".to_owned(),
                    format!("Bearer {role}"),
                )
            })
            .into(),
        _ => Vec::new(),
    };
    subject
}
