//! Requests that must be refused.

use std::collections::BTreeMap;

use tabellion_runtime::spec::{RateLimit, RateLimitPer, RestEndpoint, RestMethod, RestOperation};

use super::{
    faces::{Conditions, Face, Faces, endpoint, method, name},
    outcome::RestAnswer,
    program::{operations, writer},
};
use crate::{
    callers,
    checks::{gates, prelude::*},
    http::Request,
    request,
};

/// The most calls that are made to exceed a limit.
const MAX_CALLS: u32 = 60;
/// A name that no tool has.
const NO_TOOL: &str = "no-such-tool";

/// A request that must be refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Bad {
    /// A call of a tool that does not exist.
    UnknownTool(String),
    /// A call with a body that is not a JSON object, or not declared as one.
    Body(Body),
    /// A request with a method other than the endpoint's.
    Method { to: RestOperation, method: RestMethod },
    /// A request without credentials.
    Anonymous(RestOperation),
    /// A request with credentials that no caller has.
    Disguised(RestOperation),
    /// A call that the contract refuses.
    Call(Refusable),
    /// A valid call, after as many as the limit of the operation's rate permits.
    TooOften { operation: String },
}

named! {
    /// An unexpected body.
    pub(super) enum Body {
        Half = "half an object",
        List = "a list",
        Null = "null",
        PlainText = "an object as plain text",
    }
}

/// A call that is refused for its content, or for its caller.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Refusable {
    operation: String,
    arguments: Value,
    role: Option<String>,
    documents: BTreeMap<String, String>,
}

/// A request and its answer.
pub(super) struct Sent {
    /// The path below the one of MCP.
    pub(super) path: String,
    pub(super) method: &'static str,
    pub(super) answer: RestAnswer,
}

/// Status that a refusal must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// One of these, which HTTP has for it.
    OneOf(&'static [u16]),
    /// The one that the contract declares for the error.
    Declared,
}

impl Bad {
    /// Returns the requests that must be refused, by name.
    pub(super) fn cases(bench: &Bench<'_>) -> Vec<(String, Self)> {
        let mut all = Vec::new();
        let mut add = |name: String, bad: Self| all.push((name, bad));
        let contract = bench.subject.contract;
        let calls = contract.endpoint(RestOperation::ToolExecute).is_some();
        if calls {
            add("an unknown tool".into(), Self::UnknownTool(NO_TOOL.into()));
            if let Some(tool) = operations(bench).next() {
                let name = tool.name.to_uppercase();
                add(format!("the tool `{name}`"), Self::UnknownTool(name));
            }
            Body::ALL.into_iter().for_each(|body| add(body.to_string(), Self::Body(body)));
        }
        for to in [RestOperation::ToolExecute, RestOperation::ToolList, RestOperation::OpenApi] {
            let Some(endpoint) = contract.endpoint(to) else {
                continue;
            };
            for method in [RestMethod::Get, RestMethod::Post, RestMethod::Delete] {
                let is_it = |other: &RestEndpoint| other.path == endpoint.path && other.method == method;
                if !contract.rest.iter().any(is_it) {
                    add(format!("{method} {}", endpoint.path), Self::Method { to, method });
                }
            }
            if contract.auth.is_some() && to != RestOperation::OpenApi {
                add(format!("{} without credentials", endpoint.path), Self::Anonymous(to));
                add(format!("{} with unknown credentials", endpoint.path), Self::Disguised(to));
            }
        }
        if calls {
            all.extend(Self::refused_calls(bench));
        }
        all
    }

    /// Returns the calls that a contract refuses.
    fn refused_calls(bench: &Bench<'_>) -> Vec<(String, Self)> {
        let contract = bench.subject.contract;
        let role = writer(bench).map(|role| role.name.to_owned());
        let of = |tool: &ToolSpec, arguments: Value, role: &Option<String>| {
            Self::Call(Refusable {
                operation: tool.label().to_owned(),
                arguments,
                role: role.clone(),
                documents: BTreeMap::new(),
            })
        };
        let mut all = Vec::new();
        for tool in operations(bench) {
            let none = Some(json!({})).filter(|none| tool.input.check(none).is_err());
            for (what, arguments) in
                [("nothing", none), ("an invalid example", request::invalid_examples(tool).next())]
            {
                let call = arguments.map(|arguments| of(tool, arguments, &role));
                all.extend(call.map(|call| (format!("`{}` with {what}", tool.label()), call)));
            }
        }
        for role in contract.auth.map_or(&[][..], |auth| auth.roles) {
            let Some(auth) = contract.auth else { continue };
            let roles = callers::caller(auth, role).roles;
            let mut operations = operations(bench);
            let other = operations
                .find(|tool| !tool.roles.is_empty() && !roles.iter().any(|role| tool.roles.contains(role)));
            let example = other.and_then(|tool| Some((tool, request::examples(tool).next()?)));
            if let Some((tool, arguments)) = example {
                let name = format!("`{}` as {}", tool.label(), role.name);
                all.push((name, of(tool, arguments, &Some(role.name.to_owned()))));
            }
        }
        for (name, attempt) in gates::breaking(bench) {
            if attempt.violated.is_empty() {
                continue;
            }
            let call = Refusable {
                operation: attempt.operation,
                arguments: attempt.request,
                role: attempt.role,
                documents: attempt.documents,
            };
            all.push((name, Self::Call(call)));
        }
        let limited = operations(bench).filter(|tool| limit(bench, tool).is_some());
        let fewest = limited.min_by_key(|tool| limit(bench, tool).map(|limit| limit.calls));
        if let Some(tool) = fewest.filter(|tool| request::examples(tool).next().is_some()) {
            let operation = tool.label().to_owned();
            all.push((format!("`{operation}` too often"), Self::TooOften { operation }));
        }
        all
    }

    /// Returns the name of the caller's role.
    pub(super) fn role(&self, bench: &Bench<'_>) -> Option<String> {
        match self {
            Self::Call(call) => call.role.clone(),
            _ => writer(bench).map(|role| role.name.to_owned()),
        }
    }

    /// Returns the documents of the library.
    pub(super) fn documents(&self) -> BTreeMap<String, String> {
        match self {
            Self::Call(call) => call.documents.clone(),
            _ => BTreeMap::new(),
        }
    }

    /// Makes the calls that come before it, over both faces in turn where these are counted together.
    pub(super) fn prepare(&self, faces: &mut Faces<'_, '_>) -> Judgement {
        let Self::TooOften { operation } = self else {
            return Ok(());
        };
        let (tool, arguments) = faces.bench.example(operation)?;
        let Some(limit) = limit(faces.bench, tool) else {
            return Ok(());
        };
        // A connection may be a session of its own, which is counted apart.
        let counted_together = match limit.per {
            RateLimitPer::Caller => &Face::ALL[..],
            RateLimitPer::Session => &[Face::Rest],
        };
        for (_, face) in (0..limit.calls.get()).zip(counted_together.iter().copied().cycle()) {
            faces.call(face, tool, &arguments, &Conditions::default())?;
        }
        Ok(())
    }

    /// Sends the request.
    pub(super) fn send(&self, faces: &Faces<'_, '_>) -> Result<Sent, Stop> {
        let bench = faces.bench;
        let (to, tool, arguments) = match self {
            Self::UnknownTool(name) => (RestOperation::ToolExecute, name.clone(), json!({})),
            Self::Call(Refusable { operation, arguments, .. }) => {
                let tool = bench.subject.contract.operation(operation);
                let tool = tool.ok_or_else(|| fail(format!("there is no operation `{operation}`")))?;
                (RestOperation::ToolExecute, tool.name.to_owned(), arguments.clone())
            }
            Self::TooOften { operation } => {
                let (tool, arguments) = bench.example(operation)?;
                (RestOperation::ToolExecute, tool.name.to_owned(), arguments)
            }
            Self::Body(_) => valid(bench, RestOperation::ToolExecute)?,
            Self::Method { to, .. } | Self::Anonymous(to) | Self::Disguised(to) => valid(bench, *to)?,
        };
        let endpoint = endpoint(bench, to)?;
        let is_call = to == RestOperation::ToolExecute;
        let mut request = faces.request(method(endpoint), Some(&arguments).filter(|_| is_call));
        match self {
            Self::Body(body) => request = body.put(request),
            Self::Method { method, .. } => {
                request.method = name(*method);
                if *method == RestMethod::Post && !is_call {
                    request = faces.request(name(*method), Some(&json!({})));
                }
            }
            Self::Anonymous(_) => request = faces.anonymous(request),
            Self::Disguised(_) => request = faces.disguised(request),
            Self::UnknownTool(_) | Self::Call(_) | Self::TooOften { .. } => {}
        }
        let path = endpoint.path_with(&[&tool]);
        let answer = faces.send(&path, &request)?;
        Ok(Sent { path, method: method(endpoint), answer })
    }

    /// Returns which status the refusal must have.
    pub(super) const fn expected(&self) -> Expected {
        match self {
            Self::UnknownTool(_) => Expected::OneOf(&[404]),
            // The contract does not specify it. RFC 9110 has 400 for requests that can't be read, 422 for those that can't
            // be processed.
            Self::Body(Body::Half | Body::List | Body::Null) => Expected::OneOf(&[400, 422]),
            Self::Body(Body::PlainText) => Expected::OneOf(&[415]),
            Self::Method { .. } => Expected::OneOf(&[405]),
            Self::Anonymous(_) | Self::Disguised(_) => Expected::OneOf(&[401]),
            Self::Call(_) | Self::TooOften { .. } => Expected::Declared,
        }
    }

    /// Returns the headers that the refusal must have.
    pub(super) const fn headers(&self) -> &'static [&'static str] {
        match self {
            // RFC 9110, 15.5.6 and 15.5.2.
            Self::Method { .. } => &["Allow"],
            Self::Anonymous(_) | Self::Disguised(_) => &["WWW-Authenticate"],
            Self::TooOften { .. } => &["Retry-After"],
            Self::UnknownTool(_) | Self::Body(_) | Self::Call(_) => &[],
        }
    }
}

impl Body {
    /// Puts the body into a request that has a valid one.
    fn put(self, mut request: Request) -> Request {
        match self {
            Self::Half => {
                let half = request.body.len() / 2;
                request.body.truncate(half);
            }
            Self::List => request.body = b"[]".into(),
            Self::Null => request.body = b"null".into(),
            Self::PlainText => request = request.with("Content-Type", "text/plain"),
        }
        request
    }
}

/// Returns the cases of requests that must be refused.
pub(super) fn cases(bench: &Bench<'_>) -> Vec<Case> {
    let cases = Bad::cases(bench).into_iter();
    cases.map(|(name, bad)| Case::new(name, bad)).collect()
}

fn limit(bench: &Bench<'_>, tool: &ToolSpec) -> Option<&'static RateLimit> {
    let name = tool.rate_limit?;
    let mut limits = bench.subject.contract.rate_limits.iter();
    limits.find(|limit| limit.name == name && limit.calls.get() <= MAX_CALLS)
}

/// Returns the parts of a valid request to an endpoint: a call is a changing one, if there is one.
fn valid(bench: &Bench<'_>, to: RestOperation) -> Result<(RestOperation, String, Value), Stop> {
    if to != RestOperation::ToolExecute {
        return Ok((to, String::new(), Value::Null));
    }
    let with = |tool: &'static ToolSpec| Some((tool, request::examples(tool).next()?));
    let mut changing = operations(bench).filter(|tool| tool.mutating).filter_map(with);
    let found = changing.next().or_else(|| operations(bench).find_map(with));
    let (tool, arguments) = found.ok_or_else(|| not_applicable("no tool has a valid example"))?;
    Ok((to, tool.name.to_owned(), arguments))
}
