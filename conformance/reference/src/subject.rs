//! Correct servers and mutants as subjects of the suite.

use std::path::Path;

use serde_json::json;
use tabellion_conformance::{
    Subject,
    era::Era,
    launch::{DATABASE, DECISION, INSTANCE, Launch, MODE, PARTS, ROLE, Reach, SHARED, StoreCall, TOKEN},
};
use tabellion_contracts::{
    braindrive_markdown::{self, tool},
    brainforge, learning_os, mcb, safe_markdown_editor,
};
use tabellion_runtime::ContractSpec;

use crate::{correct_server::CorrectServer, mutant::Specimen, proxy};

/// The program with the product's servers.
const PRODUCT: &str = "tabellion-under-test";

impl CorrectServer {
    /// Returns the server's contract.
    pub fn contract(self) -> &'static ContractSpec {
        match self {
            Self::Reference => &braindrive_markdown::CONTRACT,
            Self::Memory => &learning_os::CONTRACT,
            Self::Editor => &safe_markdown_editor::CONTRACT,
            Self::Desk => proxy::DESK,
            Self::Tracker => proxy::TRACKER,
            Self::Bulletin => proxy::BULLETIN,
            Self::Mcb => &mcb::CONTRACT,
            Self::Brainforge => &brainforge::CONTRACT,
        }
    }

    /// Returns the arguments of the program that serves the contract.
    const fn arguments(self) -> &'static str {
        match self {
            Self::Reference => "--library {library}",
            Self::Memory => "serve --contract learning-os --library {library}",
            Self::Editor => "serve --contract safe-markdown-editor --library {library} --document {document}",
            Self::Desk => "desk {library}",
            Self::Tracker => "tracker {data}",
            Self::Bulletin => "bulletin {library}",
            Self::Mcb => "serve --contract mcb --data {data} --workspace {workspace} --provenance strict",
            Self::Brainforge => "serve --contract brainforge --library {library}",
        }
    }

    /// Returns this server, or a mutant of it, as a server under test; `program` is the binary `tabellion-reference`. That of the product
    /// is beside it.
    pub fn subject(self, program: &Path, specimen: Option<&Specimen>) -> Subject {
        let product = program.with_file_name(PRODUCT);
        let [reference, product] = [program, &product].map(Path::to_string_lossy);
        let contract = self.contract();
        let mut command = vec![&*reference];
        command.extend(specimen.iter().flat_map(|specimen| ["--mutant", specimen.name]));
        if self != Self::Reference {
            command.extend(["--", &*product]);
        }
        command.extend(self.arguments().split_whitespace());
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

/// Returns the reference or the server of `bulletin`, or a mutant of it, as a server under test over HTTP; `program` is the
/// binary `tabellion-reference`.
pub fn over_http(server: CorrectServer, program: &Path, specimen: Option<&Specimen>) -> Subject {
    let mut subject = server.subject(program, specimen);
    let command = &mut subject.launch.command;
    // The command of a server behind a proxy ends with that server's own.
    command.splice(1..1, ["--http", "127.0.0.1:{port}"].map(String::from));
    subject.launch.reach = Reach::Http("http://127.0.0.1:{port}/mcp".to_owned());
    if server == CorrectServer::Bulletin {
        subject.launch.clock_offset = Some(proxy::CLOCK_OFFSET.to_owned());
        subject.launch.role_headers = proxy::role_headers();
    }
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
