//! `errorBody`, and `http` and `httpFor` of errors: the form of errors in results, and over HTTP.

use serde_json::{Value, json};
use tabellion_runtime::{
    schema::compile,
    spec::{self, ErrorBody, ErrorChannel, Severity},
};

use super::Key;
use crate::{
    algebra,
    changes::Changes,
    contract::{Contract, Side},
    leak::list,
    problem::Problem,
    views,
};

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
        let members = [body.code, body.message, body.details, body.violations];
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
        table.error_body = contract.spec.error_body;
        table.statuses = list(statuses(contract));
    }
}

/// Returns the statuses of all errors: each error's own, then those of its reasons.
fn statuses(contract: &Contract) -> impl Iterator<Item = spec::ErrorStatus> {
    contract.spec.errors.iter().flat_map(|(error, entry)| {
        let own = entry.http.map(|status| spec::ErrorStatus { error, reason: None, status });
        let for_reasons = entry.http_for.iter();
        let for_reasons = for_reasons.map(|(reason, status)| spec::ErrorStatus {
            error,
            reason: Some(reason),
            status: *status,
        });
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
    closed(json!({ body.at: closed(json!({
        body.code: { "enum": names },
        body.message: { "type": "string" },
        body.details: { "type": "object" },
        body.violations: { "type": "array", "items": violation },
    })) }))
}

/// Returns a result with an error.
fn sample(contract: &Contract, body: &ErrorBody) -> Value {
    let name = contract.spec.errors.keys().next();
    json!({ body.at: {
        body.code: name,
        body.message: "…",
        body.details: {},
        body.violations: [],
    } })
}
