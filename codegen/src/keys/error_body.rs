//! `errorBody`, and `http` and `httpFor` of errors: the form of errors in results, and over HTTP.

use serde::Deserialize;
use serde_json::{Value, json};
use tabellion_runtime::{
    schema::compile,
    spec::{self, ErrorChannel, Severity},
};

use super::Key;
use crate::{
    algebra,
    changes::Changes,
    contract::{Contract, Side},
    leak::{leaked, list},
    problem::Problem,
    views,
};

/// The names of the members of an error in a result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ErrorBody {
    /// Member of the result that contains the object.
    pub at: String,
    /// The error's name.
    pub code: String,
    /// The message.
    pub message: String,
    /// Details for programs.
    pub details: String,
    /// The violations of gates.
    pub violations: String,
}

pub(super) struct ErrorBodies;

impl Key for ErrorBodies {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for (name, error) in &contract.spec.errors {
            if error.http.is_none() && !error.http_for.is_empty() {
                problems.push(contract.document.problem(
                    format!("/errors/{name}/httpFor"),
                    "the error has statuses for some reasons, and none for the others",
                    "add `\"http\"`",
                ));
            }
        }
        let Some(body) = &contract.spec.error_body else {
            return;
        };
        if contract.spec.error_channel != ErrorChannel::Result {
            problems.push(contract.document.problem(
                "/errorBody",
                "the contract's errors are JSON-RPC errors, which have a form of their own",
                "remove it, or set `errorChannel` to `result`",
            ));
        }
        let members = [&body.code, &body.message, &body.details, &body.violations];
        for (i, name) in members.iter().enumerate() {
            if members[..i].contains(name) {
                problems.push(contract.document.problem(
                    "/errorBody",
                    format!("two members have the name `{name}`"),
                    "give each a name of its own",
                ));
            }
        }
    }

    /// The output schema that clients see must admit the object, since they validate structured content with it.
    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let Some(body) = &contract.spec.error_body else {
            return;
        };
        let (set, sample) = (set(contract, body), sample(contract, body));
        for tool in &contract.tools {
            let wire = views::wire(tool.schema(Side::Output));
            let admits = match algebra::covers(&wire, &set) {
                Some(admits) => admits,
                None => compile(&wire).is_ok_and(|validator| validator.is_valid(&sample)),
            };
            if !admits {
                let at = if tool.parts.is_empty() { "/outputSchema" } else { "" };
                problems.push(tool.document.problem(
                    at,
                    "responses can't have the object that `errorBody` declares for errors",
                    format!("let the schema admit {sample}, or remove `errorBody`"),
                ));
            }
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        match (&old.spec.error_body, &new.spec.error_body) {
            (None, Some(_)) => changes.compatible("errors have an object in their results"),
            (Some(_), None) => changes.breaking("errors no longer have an object in their results"),
            (Some(before), Some(after)) if before != after => {
                changes.breaking("the object that errors have in their results changed its members");
            }
            _ => {}
        }
        for (name, before) in &old.spec.errors {
            let Some(after) = new.spec.errors.get(name) else {
                continue;
            };
            let said = before.http.is_some();
            if said && (before.http, &before.http_for) != (after.http, &after.http_for) {
                changes.breaking(format!("error `{name}` changed its HTTP status"));
            } else if !said && after.http.is_some() {
                changes.compatible(format!("error `{name}` has an HTTP status"));
            }
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.error_body = contract.spec.error_body.as_ref().map(|body| spec::ErrorBody {
            at: leaked(&body.at),
            code: leaked(&body.code),
            message: leaked(&body.message),
            details: leaked(&body.details),
            violations: leaked(&body.violations),
        });
        table.statuses = list(statuses(contract).map(|(error, reason, status)| spec::ErrorStatus {
            error: leaked(error),
            reason: reason.map(leaked),
            status,
        }));
    }
}

/// Returns the statuses of all errors: each error's own, then those of its reasons.
fn statuses(contract: &Contract) -> impl Iterator<Item = (&str, Option<&str>, u16)> {
    contract.spec.errors.iter().flat_map(|(name, error)| {
        let own = error.http.map(|status| (name.as_str(), None, status));
        let for_reasons = error.http_for.iter();
        let for_reasons = for_reasons.map(|(reason, status)| (name.as_str(), Some(reason.as_str()), *status));
        own.into_iter().chain(for_reasons)
    })
}

/// Returns the schema of all results with an error.
fn set(contract: &Contract, body: &ErrorBody) -> Value {
    let names: Vec<_> = contract.spec.errors.keys().collect();
    let closed = |properties: Value| {
        let required: Vec<_> = properties.as_object().into_iter().flatten().map(|(name, _)| name).collect();
        json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
    };
    let violation = closed(json!({
        "principle": { "type": "string" },
        "issue": { "type": "string" },
        "severity": { "enum": Severity::ALL },
        "actionable": { "type": "string" },
        "clause": { "type": "string" },
    }));
    closed(json!({ body.at.as_str(): closed(json!({
        body.code.as_str(): { "enum": names },
        body.message.as_str(): { "type": "string" },
        body.details.as_str(): { "type": "object" },
        body.violations.as_str(): { "type": "array", "items": violation },
    })) }))
}

/// Returns a result with an error.
fn sample(contract: &Contract, body: &ErrorBody) -> Value {
    let name = contract.spec.errors.keys().next();
    json!({ body.at.as_str(): {
        body.code.as_str(): name,
        body.message.as_str(): "…",
        body.details.as_str(): {},
        body.violations.as_str(): [],
    } })
}
