//! `rest`: the endpoints that serve the contract over REST.

use serde::Deserialize;
use tabellion_runtime::spec::{self, RestEndpoint, RestMethod, RestOperation};

use super::Key;
use crate::{
    changes::Changes,
    contract::Contract,
    leak::{list, texts},
    problem::Problem,
};

/// The contract over REST.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub struct Rest {
    pub endpoints: Vec<Endpoint>,
}

/// One endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Endpoint {
    pub method: RestMethod,
    pub path: &'static str,
    pub is: RestOperation,
    #[serde(default)]
    pub roles: Vec<&'static str>,
    #[serde(default)]
    pub others: Vec<&'static str>,
}

impl Endpoint {
    /// Returns the path without names of variables: paths of equal shape are routed alike.
    fn shape(&self) -> Vec<&str> {
        let segments = self.path.split('/');
        segments.map(|segment| if segment.starts_with('{') { "{}" } else { segment }).collect()
    }
}

pub(super) struct RestFace;

impl Key for RestFace {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let endpoints = endpoints(contract);
        for (i, endpoint) in endpoints.iter().enumerate() {
            let mut problem = |member: &str, what: String, help: String| {
                let at = format!("/rest/endpoints/{i}/{member}");
                problems.push(contract.document.problem(at, what, help));
            };
            let Endpoint { method, path, is, others, .. } = endpoint;
            if *method != is.method() {
                let wanted = is.method();
                problem(
                    "method",
                    format!("endpoints of the kind `{is}` have the method {wanted}"),
                    format!("write `\"method\": \"{wanted}\"`"),
                );
            }
            let variables = path.matches('{').count();
            if variables != is.variables() {
                let (wanted, help) = match is.variables() {
                    0 => ("no variable".to_owned(), "write all segments as they are"),
                    1 => ("one variable".to_owned(), "write it as `{name}`, in a segment of its own"),
                    wanted => {
                        (format!("{wanted} variables"), "write each as `{name}`, in a segment of its own")
                    }
                };
                problem(
                    "path",
                    format!("paths of the kind `{is}` have {wanted}, and this one has {variables}"),
                    help.into(),
                );
            }
            let roles = contract.spec.auth.as_ref().map(|auth| &auth.roles);
            let mut unknown =
                others.iter().filter(|role| !roles.is_some_and(|roles| roles.contains_key(*role)));
            if let Some(role) = unknown.next() {
                problem(
                    "others",
                    format!("there is no role `{role}`"),
                    "add it to `auth`, or correct its spelling".into(),
                );
            }
            let lacks = match is {
                RestOperation::ExecutionGet | RestOperation::ExecutionCancel => {
                    contract.spec.executions.is_none().then_some("executions")
                }
                RestOperation::SessionCreate | RestOperation::SessionRenew | RestOperation::SessionEnd => {
                    contract.spec.sessions.is_none().then_some("sessions")
                }
                RestOperation::WorkflowList
                | RestOperation::WorkflowStart
                | RestOperation::InstanceGet
                | RestOperation::InstanceList
                | RestOperation::TaskComplete => contract.spec.workflows.is_empty().then_some("workflows"),
                RestOperation::ToolList
                | RestOperation::ToolExecute
                | RestOperation::Download
                | RestOperation::OpenApi => None,
            };
            if let Some(lacks) = lacks {
                problem(
                    "is",
                    format!("the contract has no `{lacks}`"),
                    format!("add `{lacks}`, or remove the endpoint"),
                );
            }
            let earlier = &endpoints[..i];
            if earlier.iter().any(|other| other.is == *is) {
                problem("is", format!("`{is}` has an endpoint already"), "remove one of the two".into());
            }
            let is_same = |other: &Endpoint| other.shape() == endpoint.shape() && other.method == *method;
            if earlier.iter().any(is_same) {
                problem(
                    "path",
                    format!("requests to `{method} {path}` have an endpoint already"),
                    "give each endpoint a path or a method of its own".into(),
                );
            }
        }
        if endpoints.is_empty() {
            return;
        }
        for (name, error) in &contract.spec.errors {
            if error.http.is_none() && error.http_for.is_empty() {
                problems.push(contract.document.problem(
                    format!("/errors/{name}"),
                    "the contract is served over REST, and the error has no HTTP status",
                    "add `\"http\"`",
                ));
            }
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        let (before, after) = (endpoints(old), endpoints(new));
        let find = |endpoints: &[Endpoint], wanted: &Endpoint| {
            let key = |it: &Endpoint| (it.method, it.path, it.is, it.others.clone());
            endpoints.iter().find(|it| key(it) == key(wanted)).cloned()
        };
        for endpoint in before {
            let Endpoint { method, path, .. } = endpoint;
            match find(after, endpoint) {
                None => {
                    changes.breaking(format!("endpoint `{method} {path}` was removed or does something else"))
                }
                Some(is) => {
                    for role in endpoint.roles.iter().filter(|role| !is.roles.contains(role)) {
                        changes
                            .breaking(format!("role `{role}` may no longer call endpoint `{method} {path}`"));
                    }
                    for role in is.roles.iter().filter(|role| !endpoint.roles.contains(role)) {
                        changes.compatible(format!("role `{role}` may call endpoint `{method} {path}`"));
                    }
                }
            }
        }
        for endpoint in after.iter().filter(|endpoint| find(before, endpoint).is_none()) {
            let Endpoint { method, path, .. } = endpoint;
            changes.compatible(format!("endpoint `{method} {path}` was added"));
        }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.rest = list(endpoints(contract).iter().map(|endpoint| RestEndpoint {
            method: endpoint.method,
            path: endpoint.path,
            is: endpoint.is,
            others: texts(&endpoint.others),
        }));
    }
}

pub(super) fn endpoints(contract: &Contract) -> &[Endpoint] {
    contract.spec.rest.as_ref().map_or(&[], |rest| &rest.endpoints)
}
