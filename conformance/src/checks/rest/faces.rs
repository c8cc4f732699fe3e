//! A server with two faces: a client of it over MCP, and requests to it over REST by the same caller.

use std::time::Duration;

use tabellion_runtime::{
    calls::SESSION,
    context::{IDEMPOTENCY_KEY, IF_BASE},
    spec::{RestEndpoint, RestMethod, RestOperation, RoleSpec},
};

use super::outcome::{Outcome, RestAnswer};
use crate::{
    callers,
    checks::prelude::*,
    client::ONE_CLIENT,
    http::Request,
    launch,
    scene::View,
    target::{CLIENT_NAME, Target},
};

named! {
    /// A face of a server.
    pub(super) enum Face {
        Mcp = "MCP",
        Rest = "REST",
    }
}

impl Face {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Mcp => Self::Rest,
            Self::Rest => Self::Mcp,
        }
    }
}

/// Conditions of a call, and its idempotency key.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    /// The content that the document must have; null if it must not be there.
    pub(super) base: Option<Value>,
    /// The idempotency key.
    pub(super) key: Option<String>,
    /// Id of the session that the call names.
    pub(super) session: Option<String>,
    /// True if it asks to be answered before it is made; over REST alone.
    pub(super) is_async: bool,
}

/// A server over a library of its own, and its caller.
pub(super) struct Faces<'b, 'a> {
    pub(super) bench: &'b Bench<'a>,
    pub(super) scene: Scene<'a>,
    client: Client<'a>,
    /// The role of the caller.
    role: Option<&'static RoleSpec>,
    /// The headers that identify the caller.
    credentials: Vec<(String, String)>,
}

/// Returns the endpoint that does this.
///
/// # Errors
/// "Not applicable", if the contract has none.
pub(super) fn endpoint(bench: &Bench<'_>, is: RestOperation) -> Result<&'static RestEndpoint, Stop> {
    let endpoint = bench.subject.contract.endpoint(is);
    endpoint.ok_or_else(|| not_applicable(format!("the contract has no endpoint of the kind `{is}`")))
}

/// Returns the method of an endpoint, as it is written.
pub(super) const fn method(endpoint: &RestEndpoint) -> &'static str {
    name(endpoint.method)
}

/// Returns a method, as it is written.
pub(super) const fn name(method: RestMethod) -> &'static str {
    match method {
        RestMethod::Get => "GET",
        RestMethod::Post => "POST",
        RestMethod::Put => "PUT",
        RestMethod::Delete => "DELETE",
    }
}

impl<'b, 'a> Faces<'b, 'a> {
    /// Starts a server over these documents, with a caller of this role; without one, of a contract without roles.
    pub(super) fn open<'d>(
        bench: &'b Bench<'a>,
        role: Option<&str>,
        documents: impl IntoIterator<Item = (&'d String, &'d String)>,
    ) -> Result<Self, Stop> {
        let contract = bench.subject.contract;
        let documents: Vec<(&str, &str)> =
            documents.into_iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let scene = if contract.rows.is_some() {
            Scene::of_rows(bench.subject, &bench.trace)?
        } else {
            Scene::in_memory(bench.subject, &bench.trace, &documents)?
        };
        let spec = contract.auth.zip(role).and_then(|(auth, role)| auth.role(role));
        let client = callers::open(bench, &scene, spec)?;
        let credentials = role.map_or_else(Vec::new, |role| bench.subject.launch.headers_of(role));
        Ok(Self { bench, scene, client, role: spec, credentials })
    }

    /// Kills the server, and starts a new one of the library for the same caller.
    ///
    /// # Errors
    /// If it is not the suite's to kill, or none starts.
    pub(super) fn killed(self) -> Result<Self, Stop> {
        if self.bench.subject.launch.running().is_some() {
            return Err(launch::not_ours());
        }
        self.scene.trace("the server is killed");
        drop(self.client);
        let client = callers::open(self.bench, &self.scene, self.role)?;
        Ok(Self { client, ..self })
    }

    /// As [`killed`](Self::killed), but the clock of the new server is set ahead of this machine's.
    ///
    /// # Errors
    /// As [`killed`](Self::killed); "not applicable", if its clock can't be set.
    pub(super) fn later(self, by: Duration) -> Result<Self, Stop> {
        self.scene.set_clock_ahead(by)?;
        self.killed()
    }

    /// Returns a request of the caller to an endpoint, with a body of JSON if there is one.
    pub(super) fn request(&self, method: &'static str, body: Option<&Value>) -> Request {
        let agent = format!("{CLIENT_NAME}/{}", env!("CARGO_PKG_VERSION"));
        let mut request = Request::new(method).with("User-Agent", &agent);
        for (name, value) in &self.credentials {
            request = request.with(name, value);
        }
        if let Some(body) = body {
            request = request.with("Content-Type", "application/json");
            request.body = body.to_string().into_bytes();
        }
        request
    }

    /// Returns a request without the headers that identify the caller.
    pub(super) fn anonymous(&self, request: Request) -> Request {
        let names = self.credentials.iter();
        names.fold(request, |request, (name, _)| request.without(name))
    }

    /// Sends a request to a path below the one of MCP as the caller of another role.
    ///
    /// # Errors
    /// As [`send`](Self::send); "not applicable", if no header makes the suite such a caller.
    pub(super) fn send_as(&self, role: &str, path: &str, request: Request) -> Result<RestAnswer, Stop> {
        let headers = self.bench.subject.launch.headers_of(role);
        if headers.is_empty() {
            let why = format!("the check needs a second caller: add `--role-header '{role}=NAME: VALUE'`");
            return Err(not_applicable(why));
        }
        let target = self.client.target.beside(self.bench.subject.era);
        let target = target.ok_or_else(|| not_applicable(ONE_CLIENT))?;
        target.set_headers(headers.clone());
        let request =
            headers.iter().fold(self.anonymous(request), |request, (name, value)| request.with(name, value));
        self.scene.trace(format!("a client has the role `{role}`"));
        self.send_to(&target, path, &request)
    }

    /// Starts another server of the library, for the same caller.
    pub(super) fn another_server(&self) -> Result<Target, Stop> {
        let target = self.scene.connect()?;
        target.set_headers(self.credentials.clone());
        Ok(target)
    }

    /// Returns a request with credentials that no caller has.
    pub(super) fn disguised(&self, request: Request) -> Request {
        let unknown = |value: &str| {
            let (scheme, secret) = value.rsplit_once(' ').unwrap_or(("", value));
            format!("{scheme} {}", "x".repeat(secret.len()))
        };
        let headers = self.credentials.iter();
        headers.fold(request, |request, (name, value)| request.with(name, unknown(value).trim_start()))
    }

    /// Sends a request to a path below the one of MCP.
    pub(super) fn send(&self, path: &str, request: &Request) -> Result<RestAnswer, Stop> {
        self.send_to(&self.client.target, path, request)
    }

    /// As [`send`](Self::send), to another server.
    pub(super) fn send_to(&self, target: &Target, path: &str, request: &Request) -> Result<RestAnswer, Stop> {
        let answer = RestAnswer::read(target.send_http_below(path, request)?)?;
        self.scene.trace(format!("the answer is {}", answer.shown()));
        Ok(answer)
    }

    /// Sends the request to an endpoint that has no variable and no body.
    pub(super) fn get(&self, endpoint: &RestEndpoint) -> Result<RestAnswer, Stop> {
        self.send(endpoint.path, &self.request(method(endpoint), None))
    }

    /// Calls a tool over REST.
    ///
    /// # Errors
    /// If no response arrives, or the contract has no endpoint for it.
    pub(super) fn execute(
        &self,
        tool: &ToolSpec,
        arguments: &Value,
        conditions: &Conditions,
    ) -> Result<RestAnswer, Stop> {
        let (path, request) = self.execution(tool, arguments, conditions)?;
        self.send(&path, &request)
    }

    /// Returns the request that calls a tool over REST, and its path.
    ///
    /// # Errors
    /// "Not applicable", if the contract has no endpoint for it.
    pub(super) fn execution(
        &self,
        tool: &ToolSpec,
        arguments: &Value,
        conditions: &Conditions,
    ) -> Result<(String, Request), Stop> {
        let endpoint = endpoint(self.bench, RestOperation::ToolExecute)?;
        let mut request = self.request(method(endpoint), Some(arguments));
        if let Some(key) = &conditions.key {
            request = request.with("Idempotency-Key", key);
        }
        match &conditions.base {
            None => {}
            Some(Value::String(base)) => request = request.with("If-Match", &format!("\"{base}\"")),
            Some(_) => request = request.with("If-None-Match", "*"),
        }
        if let Some(session) = &conditions.session {
            request = request.with("X-Session-Id", session);
        }
        if conditions.is_async {
            request = request.with("Prefer", "respond-async");
        }
        Ok((endpoint.path_with(&[tool.name]), request))
    }

    /// Calls a tool over one face.
    pub(super) fn call(
        &mut self,
        face: Face,
        tool: &ToolSpec,
        arguments: &Value,
        conditions: &Conditions,
    ) -> Result<Outcome, Stop> {
        let contract = self.bench.subject.contract;
        if face == Face::Rest {
            let answer = self.execute(tool, arguments, conditions)?;
            return Outcome::of_rest(contract, &answer);
        }
        let mut meta = Map::new();
        meta.extend(conditions.base.clone().map(|base| (IF_BASE.to_owned(), base)));
        let key = conditions.key.clone();
        meta.extend(key.map(|key| (IDEMPOTENCY_KEY.to_owned(), key.into())));
        let session = conditions.session.clone();
        meta.extend(session.map(|session| (SESSION.to_owned(), session.into())));
        let message = self.client.call_raw(tool, arguments, meta)?;
        Ok(Outcome::of_mcp(contract, &message))
    }

    /// Returns the tools in the answer to `tools/list`.
    ///
    /// # Errors
    /// If it is refused, or has more than one page, which contracts with REST do not need.
    pub(super) fn tools(&mut self) -> Result<Vec<Value>, Stop> {
        let answer = self.client.request("tools/list", Value::Object(Map::new()))?;
        let tools = answer["result"]["tools"].as_array().cloned();
        tools.ok_or_else(|| fail(format!("`tools/list` was answered with {answer}")))
    }

    /// Fails unless the data are as in `before`, and the server answers the next request.
    pub(super) fn ensure_harmless(&mut self, before: &View, what: &str) -> Judgement {
        before.same(&self.scene.view()?, what)?;
        let tools = self.tools()?;
        ensure(!tools.is_empty(), || format!("after {what}, the server lists no tools"))
    }

    /// Ends the server.
    pub(super) fn close(self) -> Judgement {
        Ok(self.client.close()?)
    }
}

/// Returns the number of changes that were recorded between two views: commits, and entries of the log of rows.
pub(super) fn changes(before: &View, after: &View) -> usize {
    let entries = |view: &View| {
        let log = view.rows.as_ref().and_then(|rows| rows.log.as_ref());
        log.map_or(0, Vec::len)
    };
    let rows = entries(after).saturating_sub(entries(before));
    after.library.commits_since(&before.library).len() + rows
}
