//! `tabellion call`: a tool, called through the same dispatch as by a client.

mod answer;
mod approver;
pub mod fields;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value, json};
use tabellion_calls::Calls;
use tabellion_library::{CreateFolders, path::LibraryPath};
use tabellion_pack::{Grounds, Packs};
use tabellion_runtime::{
    Agent, Answer, CallContext, Contract, ContractSpec, ErrorAnswer, Rejection, ToolSpec, Violation,
    calls::{CallStore, NewExecution, RecordedCall},
    context,
};

use tabellion_serve::{self as serve, calls, provenance::ServerEnvironment};
use tabellion_upkeep::{
    TerminalError, console,
    data::Data,
    page::{self, Output, Page},
};

use self::approver::AtTerminal;
use super::open;

/// Returns the name and version that this program reports as an agent.
fn program() -> Agent {
    Agent { name: Some("tabellion".into()), version: Some(env!("CARGO_PKG_VERSION").into()) }
}

/// The place of the contract's data.
#[derive(Debug)]
pub enum DataSource {
    /// The library in this folder.
    Library(PathBuf),
    /// The rows in this data folder, or in the system's place for it, and the folders of the host in which the call can name paths.
    Data(Option<PathBuf>, Vec<PathBuf>),
}

/// A call of a tool.
#[derive(Debug)]
pub struct Call {
    /// The place of the contract's data.
    pub place: DataSource,
    /// The tool's contract.
    pub contract: &'static ContractSpec,
    /// The tool.
    pub tool: &'static ToolSpec,
    /// The document, for contracts that work on one.
    pub document: Option<String>,
    /// The caller's role, for contracts that have roles.
    pub role: Option<String>,
    /// The arguments.
    pub arguments: Value,
    /// The conditions, as in a request's `_meta`.
    pub conditions: Map<String, Value>,
    /// Grants approval without asking.
    pub yes: bool,
    /// Form of the answer.
    pub output: Output,
}

impl Call {
    /// Makes the call and shows its answer.
    ///
    /// # Errors
    /// If the contract can't be opened, the call is refused or rejected, or standard output can't be written.
    pub fn run(self, packs: Packs) -> Result<(), TerminalError> {
        let grounds = match &self.place {
            DataSource::Library(folder) => self.in_library(folder)?,
            DataSource::Data(folder, workspaces) => self.in_data(folder.as_deref(), workspaces)?,
        };
        let (service, rows) = packs.service(self.contract.id, &grounds).map_err(TerminalError::new)?;
        let client = Some(concat!("tabellion/", env!("CARGO_PKG_VERSION")).into());
        let context = CallContext::from_meta(client, &self.conditions).map_err(|violations| {
            let said: Vec<_> = violations.iter().map(|violation| violation.message.clone()).collect();
            TerminalError::new(said.join("; "))
        })?;
        let folders: Vec<_> = match &self.place {
            DataSource::Library(folder) => vec![folder.clone()],
            DataSource::Data(..) => rows.iter().map(|rows| rows.beside("")).collect(),
        };
        let environment = ServerEnvironment::new(&Default::default(), &[self.contract], &folders);
        let environment = environment.map_err(TerminalError::new)?;
        let context = CallContext { origin: environment.into_origin(), ..context };
        let context = serve::local_caller(self.role.as_deref()).makes(context, self.contract, program());
        let context =
            context.with_approver(Arc::new(AtTerminal { yes: self.yes, colour: self.output.colour }));
        let calls = match &grounds.library {
            Some(library) => calls::open(library, [&self.contract])?,
            None => None,
        };
        let runtime = serve::runtime()?;
        let answer = runtime.block_on(self.make(&*service, calls, context));
        serve::settle(rows);
        let answer = match answer {
            Ok(answer) => answer,
            Err(rejection) => return Err(self.rejected(rejection)?),
        };
        let in_meta = |key: &&str| answer.meta.get(*key)?.as_str();
        let in_response = || answer.response.pointer(self.tool.commit?)?.as_str();
        let commit = [context::COMMIT, context::CHANGE].iter().find_map(in_meta).or_else(in_response);
        let done = format!("the call was made{}", commit.map_or(String::new(), |id| format!(" in {id}")));
        if self.output.json {
            return page::json(&json!({ "response": answer.response, "meta": answer.meta }))
                .map_err(TerminalError::unreported(done));
        }
        for note in answer::notes(&answer.meta) {
            console::say_in_colour(&format!("{}note{:#}: {note}", page::NAME, page::NAME));
        }
        let mut page = Page::new(self.output);
        answer::add(&mut page, self.contract, self.tool, &self.arguments, &answer);
        page.show().map_err(TerminalError::unreported(done))
    }

    /// Makes the call; its execution is recorded if the contract requires that.
    async fn make(
        &self,
        service: &dyn Contract,
        calls: Option<Arc<Calls>>,
        context: CallContext,
    ) -> Result<Answer, Rejection> {
        let arguments = self.arguments.clone();
        let Some(calls) = calls else {
            return service.call(&context, self.tool.name, arguments).await;
        };
        let operation = self.contract.taker(self.tool.name, &arguments);
        let tool = operation.unwrap_or(self.tool);
        let new = NewExecution::new(self.contract, tool, &context, &arguments);
        let store: Arc<dyn CallStore> = calls;
        let (recorded, context) = RecordedCall::begin(&store, service, &new, &context).await?;
        let outcome = service.call(&context, self.tool.name, arguments.clone()).await;
        recorded.end(service, &context, outcome).await
    }

    fn in_library(&self, folder: &Path) -> Result<Grounds, TerminalError> {
        let library = open(folder)?;
        let document = self.document.as_deref().map(LibraryPath::parse).transpose();
        let document = document.map_err(|error| TerminalError::new(format_args!("`--document`: {error}")))?;
        let document = document.map(|path| library.true_path(&path));
        Ok(Grounds { library: Some(library), document, ..Grounds::default() })
    }

    /// A call that changes something creates the data folder, as the server does; one that reads does not.
    fn in_data(&self, folder: Option<&Path>, workspaces: &[PathBuf]) -> Result<Grounds, TerminalError> {
        let data = Data::choose(folder).map_err(TerminalError::new)?;
        let operation = self.contract.taker(self.tool.name, &self.arguments);
        let changes = operation.is_some_and(|operation| operation.mutating);
        let create = if changes { CreateFolders::Last } else { CreateFolders::Nothing };
        data.check(create).map_err(TerminalError::new)?;
        if !changes && !data.may_have_rows_of(self.contract) {
            return Err(TerminalError::new(format_args!(
                "`{}` has no rows of `{}` yet",
                data.name().display(),
                self.contract.id
            ))
            .hint(
                "name their folder with `--data DIR`; the first change, and `tabellion serve`, create them",
            ));
        }
        let workspaces = workspaces.to_owned();
        Ok(Grounds { data: Some(data.place()), workspaces, finishes: true, ..Grounds::default() })
    }

    /// Returns the error for a rejection; also shows it as JSON, if requested.
    fn rejected(&self, rejection: Rejection) -> Result<TerminalError, TerminalError> {
        match rejection {
            Rejection::Declared(error) => {
                if self.output.json {
                    page::json(&json!({ "error": {
                        "name": error.name, "code": error.code, "message": error.message, "data": error.data
                    } }))?;
                }
                Ok(self.declared(&error))
            }
            Rejection::Breach { detail, .. } => Ok(TerminalError::new(format_args!(
                "the implementation broke its contract, and nothing was written: {detail}"
            ))),
            other => Ok(TerminalError::new(format_args!("the call was rejected: {other:?}"))),
        }
    }

    /// Returns the error of a contract, with violations by the name of their option.
    fn declared(&self, error: &ErrorAnswer) -> TerminalError {
        let hint =
            format!("`tabellion call {} {} --help` describes the fields", self.contract.id, self.tool.name);
        let violations = error.data.get("violations").and_then(Value::as_array);
        let said: Vec<String> =
            violations.into_iter().flatten().filter_map(|violation| self.violation(violation)).collect();
        if said.is_empty() {
            return TerminalError::new(page::visible(&error.message));
        }
        TerminalError::new(page::visible(&said.join("\n       "))).hint(hint)
    }

    fn violation(&self, violation: &Value) -> Option<String> {
        let message = violation["message"].as_str()?;
        let pointer = violation["pointer"].as_str()?;
        let fields = fields::from_schema(&self.tool.input.wire());
        let field = fields.iter().find(|field| format!("/{}", field.at.join("/")) == pointer);
        Some(match field {
            Some(field) => format!("`--{}`: {message}", field.option(RESERVED)),
            None => {
                Violation { rule: "".into(), pointer: pointer.into(), message: message.into() }.to_string()
            }
        })
    }
}

/// Names of the options that every tool has.
pub const RESERVED: &[&str] = &[
    "as",
    "color",
    "data",
    "document",
    "help",
    "idempotency-key",
    "if-base",
    "json",
    "json-arguments",
    "library",
    "no-pager",
    "workspace",
    "yes",
];
