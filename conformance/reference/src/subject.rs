//! Correct servers and mutants as subjects of the suite.

use std::path::Path;

use serde_json::json;
use tabellion_conformance::{
    Subject,
    era::Era,
    launch::{DATABASE, DECISION, INSTANCE, Launch, MODE, PARTS, ROLE, Reach, SHARED, StoreCall, TOKEN},
    ledger::Source,
};
use tabellion_contracts::{
    braindrive_markdown::{self, tool},
    brainforge, learning_os, mcb, safe_markdown_editor,
};
use tabellion_runtime::ContractSpec;

use crate::{correct_server::CorrectServer, mutant::Specimen, proxy, small};

/// The program with the product's servers.
const PRODUCT: &str = "tabellion-under-test";

impl CorrectServer {
    /// Returns the server of a contract.
    ///
    /// # Errors
    /// If the contract has no server: a message that lists the contracts.
    pub fn find(contract: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|server| server.contract().id == contract);
        found.ok_or_else(|| {
            let ids = Self::ALL.map(|server| server.contract().id);
            format!("the contracts are {}", ids.join(", "))
        })
    }

    /// Returns the server's contract.
    pub fn contract(self) -> &'static ContractSpec {
        match self {
            Self::Reference => &braindrive_markdown::CONTRACT,
            Self::Memory => &learning_os::CONTRACT,
            Self::Editor => &safe_markdown_editor::CONTRACT,
            Self::Desk => proxy::DESK,
            Self::Tracker => small::TRACKER,
            Self::Logbook => small::LOGBOOK,
            Self::Bulletin => small::BULLETIN,
            Self::Mcb => &mcb::CONTRACT,
            Self::Brainforge => &brainforge::CONTRACT,
        }
    }

    /// Returns this server, or a mutant of it, as a server under test; `program` is the binary `tabellion-reference`. That of the product
    /// is beside it.
    pub fn subject(self, program: &Path, specimen: Option<&Specimen>) -> Subject {
        let product = program.with_file_name(PRODUCT);
        let [reference, product] = [program, &product].map(Path::to_string_lossy);
        let contract = self.contract();
        let mutant: &[&str] = match specimen {
            Some(specimen) => &["--mutant", specimen.name],
            None => &[],
        };
        let mut command = vec![&*reference];
        let mut ledger = Source::default();
        if self.is_behind_proxy() {
            command.extend(mutant);
            command.extend(["--", &*product]);
            if self != Self::Desk {
                command.extend(["serve", "--contract", contract.id]);
            }
            command.extend(match self {
                Self::Desk => &["desk", "{library}"][..],
                Self::Editor => &["--library", "{library}", "--document", "{document}"],
                Self::Mcb => &["--data", "{data}", "--workspace", "{workspace}"],
                _ => &["--library", "{library}"],
            });
        } else {
            let folder = if self.keeps_rows() { ["--data", "{data}"] } else { ["--library", "{library}"] };
            command.extend(folder);
            command.extend(["--contract", contract.id]);
            if self.keeps_rows() {
                ledger.command =
                    command.iter().chain(&["--export"]).map(|word| String::from(*word)).collect();
            }
            command.extend(mutant);
        }
        let name = match self {
            Self::Reference => "reference",
            _ => contract.id,
        };
        let command: Vec<String> = command.into_iter().map(String::from).collect();
        let program = format!("'{}'", command.join("' '"));
        let review = (self == Self::Brainforge).then(|| match specimen {
            Some(specimen) => format!("'{reference}' --mutant {} -- '{product}' review", specimen.name),
            None => format!("'{product}' review"),
        });
        let decide = |review: &String| {
            format!(
                "{review} {DECISION} {INSTANCE} -m decided --library {{library}} $(for part in {PARTS}; do printf ' --part %s' $part; done)"
            )
        };
        let launch = Launch {
            mode: contract.modes.map(|_| format!("--mode={MODE}")),
            role: contract.auth.map(|_| format!("--as={ROLE}")),
            decide: review.as_ref().map(decide),
            show: review.map(|review| format!("{review} show {INSTANCE} --library {{library}}")),
            store: (self == Self::Reference).then(appended).into_iter().collect(),
            share: (self == Self::Reference).then(|| format!("{program} --share {SHARED}")),
            ..Launch::new(command)
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

/// Returns the call that stores a text at the end of a document.
fn appended() -> StoreCall {
    StoreCall {
        tool: tool::EDIT_MARKDOWN.to_owned(),
        arguments: json!({
            "path": "README.md",
            "operation": { "type": "append", "content": format!("- {TOKEN}\n") },
        }),
    }
}

/// Returns a server [that can be](CorrectServer::is_over_http), or a mutant of it, as a server under test over HTTP; `program` is the
/// binary `tabellion-reference`.
pub fn over_http(server: CorrectServer, program: &Path, specimen: Option<&Specimen>) -> Subject {
    let mut subject = server.subject(program, specimen);
    let command = &mut subject.launch.command;
    command.extend(["--http", "127.0.0.1:{port}"].map(String::from));
    subject.launch.reach = Reach::Http("http://127.0.0.1:{port}/mcp".to_owned());
    subject.launch.clock_offset = (server == CorrectServer::Bulletin).then(|| small::CLOCK_OFFSET.to_owned());
    subject.launch.role_headers = match server {
        CorrectServer::Bulletin => small::ROLES
            .map(|role| (role.to_owned(), "Authorization".to_owned(), format!("Bearer {role}")))
            .into(),
        _ => Vec::new(),
    };
    subject
}

/// Returns a mutant of the server of `mcb`, whose rows are in databases on a PostgreSQL server, as a server under test; `program` is the
/// binary `tabellion-reference`.
pub fn in_database(server: &str, program: &Path, specimen: &Specimen) -> Subject {
    let mut subject = CorrectServer::Mcb.subject(program, Some(specimen));
    for word in &mut subject.launch.command {
        if word == "{data}" {
            *word = DATABASE.to_owned();
        }
    }
    subject.launch.database = Some(server.to_owned());
    subject.ledger.database = Some(server.to_owned());
    subject
}
