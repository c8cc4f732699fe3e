//! Queries of requests: each endpoint takes its own members, and refuses others.

use hyper::StatusCode;
use tabellion_runtime::{
    ContractSpec,
    schema::nearest,
    spec::{RestEndpoint, RestMethod, RestOperation},
};

use crate::refusal::Refusal;

/// Member of a query that says for how many seconds to wait.
pub(super) const WAIT: &str = "wait";

/// Returns the members of a query to an endpoint, decoded.
///
/// # Errors
/// If the endpoint does not take one of them, or one is there twice.
pub(super) fn read(
    contract: &ContractSpec,
    endpoint: &RestEndpoint,
    query: Option<&str>,
) -> Result<Vec<(String, String)>, Refusal> {
    let known = taken(contract, endpoint.is);
    let mut members: Vec<(String, String)> = vec![];
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let said = name.escape_debug();
        if !known.iter().any(|known| **known == *name) {
            let near = nearest(&name, known.iter().map(String::as_str));
            let remedy = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if !known.is_empty() => format!("there are `{}`", known.join("`, `")),
                None if endpoint.method == RestMethod::Post => "send arguments in the body".into(),
                None => "leave it out".into(),
            };
            let why = format!("`{said}` in the query is not known here; {remedy}");
            return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
        }
        if members.iter().any(|(member, _)| **member == *name) {
            let why = format!("`{said}` is in the query twice: send it once");
            return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
        }
        members.push((name.into_owned(), value.into_owned()));
    }
    Ok(members)
}

/// Returns the names of the members that queries to endpoints of this kind may have.
fn taken(contract: &ContractSpec, is: RestOperation) -> Vec<String> {
    match is {
        RestOperation::ExecutionGet => vec![WAIT.into()],
        RestOperation::InstanceList => {
            let schema = contract.call_of(is).map(|call| call.input.wire());
            let properties = schema.as_ref().and_then(|schema| schema["properties"].as_object());
            properties.into_iter().flatten().map(|(name, _)| name.clone()).collect()
        }
        _ => vec![],
    }
}
