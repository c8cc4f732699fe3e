//! `tabellion call`: a tool, called through the same dispatch as by a client.

mod answer;
mod approver;
pub(crate) mod fields;

use std::{path::PathBuf, slice::from_ref, sync::Arc};

use serde_json::{Map, Value, json};
use tabellion_library::path::LibraryPath;
use tabellion_runtime::{CallContext, ContractSpec, ErrorAnswer, Rejection, ToolSpec, Violation};

use self::approver::AtTerminal;
use super::{Output, Page, TerminalError, open, page};
use crate::{console, contracts, provenance::ServerEnvironment, serve};

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    /// Folder of the library.
    pub(crate) folder: PathBuf,
    /// The tool's contract.
    pub(crate) contract: &'static ContractSpec,
    /// The tool.
    pub(crate) tool: &'static ToolSpec,
    /// The document, for contracts that work on one.
    pub(crate) document: Option<String>,
    /// The arguments.
    pub(crate) arguments: Value,
    /// The conditions, as in a request's `_meta`.
    pub(crate) conditions: Map<String, Value>,
    /// Grants what needs a person's approval.
    pub(crate) yes: bool,
    /// How to show the answer.
    pub(crate) output: Output,
}

impl Call {
    /// Makes the call and shows its answer.
    pub(crate) fn run(self) -> Result<(), TerminalError> {
        let library = open(&self.folder)?;
        let document = self.document.as_deref().map(LibraryPath::parse).transpose();
        let document = document.map_err(|error| TerminalError::new(format_args!("`--document`: {error}")))?;
        let document = document.map(|path| library.true_path(&path));
        let service = contracts::service(self.contract.id, &library, document.as_ref());
        let service = service.ok_or_else(|| {
            TerminalError::new("this contract works on one document: add `--document PATH`")
        })?;
        let client = Some(concat!("tabellion/", env!("CARGO_PKG_VERSION")).into());
        let context = CallContext::from_meta(client, &self.conditions).map_err(|violations| {
            let said: Vec<_> = violations
                .iter()
                .map(|violation| violation.message.clone())
                .collect();
            TerminalError::new(said.join("; "))
        })?;
        let environment =
            ServerEnvironment::new(&Default::default(), &[self.contract], from_ref(&self.folder));
        let environment = environment.map_err(TerminalError::new)?;
        let context = CallContext {
            origin: environment.into_origin(),
            ..context
        };
        let context = context.with_approver(Arc::new(AtTerminal {
            yes: self.yes,
            colour: self.output.colour,
        }));
        let arguments = self.arguments.clone();
        let runtime = serve::runtime()?;
        let answer = match runtime.block_on(service.call(&context, self.tool.name, arguments)) {
            Ok(answer) => answer,
            Err(rejection) => return Err(self.rejected(rejection)?),
        };
        if self.output.json {
            return Ok(page::json(
                &json!({ "response": answer.response, "meta": answer.meta }),
            )?);
        }
        for note in answer::notes(&answer.meta) {
            console::say_in_colour(&format!("{}note{:#}: {note}", page::NAME, page::NAME));
        }
        let mut page = Page::new(self.output);
        answer::add(&mut page, self.contract, self.tool, &self.arguments, &answer);
        Ok(page.show()?)
    }

    /// Returns the error for a rejection; also shows it as JSON, if that is wanted.
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
            other => Ok(TerminalError::new(format_args!(
                "the call was rejected: {other:?}"
            ))),
        }
    }

    /// Returns the error of a contract, with violations by the name of their option.
    fn declared(&self, error: &ErrorAnswer) -> TerminalError {
        let hint = format!(
            "`tabellion call {} {} --help` describes the fields",
            self.contract.id, self.tool.name
        );
        let violations = error.data.get("violations").and_then(Value::as_array);
        let said: Vec<String> = violations
            .into_iter()
            .flatten()
            .filter_map(|violation| self.violation(violation))
            .collect();
        if said.is_empty() {
            return TerminalError::new(page::visible(&error.message));
        }
        TerminalError::new(page::visible(&said.join("\n       "))).hint(hint)
    }

    fn violation(&self, violation: &Value) -> Option<String> {
        let message = violation["message"].as_str()?;
        let pointer = violation["pointer"].as_str()?;
        let fields = fields::of(&self.tool.input.wire());
        let field = fields
            .iter()
            .find(|field| format!("/{}", field.at.join("/")) == pointer);
        Some(match field {
            Some(field) => format!("`--{}`: {message}", field.option(RESERVED)),
            None => Violation {
                rule: "".into(),
                pointer: pointer.into(),
                message: message.into(),
            }
            .to_string(),
        })
    }
}

/// Names of the options that every tool has.
pub(crate) const RESERVED: &[&str] = &[
    "color",
    "document",
    "help",
    "idempotency-key",
    "if-base",
    "json",
    "json-arguments",
    "library",
    "no-pager",
    "yes",
];
