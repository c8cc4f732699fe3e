//! Callers of a contract with roles: how the suite acts as one, and the reasons for a refusal by gates and roles.

use serde_json::{Map, Value, json};
use tabellion_runtime::{
    Agent, ContractSpec, Identity, KnownCaller, ToolSpec,
    auth::{NEEDS, REASON},
    context::GATES,
    gates::VIOLATIONS,
    spec::{AuthSpec, CallerKind, RoleSpec, ScopeWord},
};

use crate::{
    check::Bench,
    client::Client,
    judgement::{Stop, not_applicable},
    scene::Scene,
    target::CLIENT_NAME,
};

/// The person for whom the suite acts, where gates are evaluated here.
const PERSON: &str = "a person";

/// Returns the caller that has this role and no more than it takes, as gates see it. Its identity is the suite's own word.
pub(crate) fn caller(auth: &AuthSpec, role: &RoleSpec) -> KnownCaller {
    match role.kind {
        CallerKind::Human => {
            let scope = role.scope.unwrap_or(ScopeWord::Read);
            KnownCaller::human(auth, Identity::local(PERSON), PERSON, vec![scope])
        }
        CallerKind::Agent => {
            let scopes = vec![ScopeWord::Read, ScopeWord::Write];
            let agent =
                Agent { name: Some(CLIENT_NAME.into()), version: Some(env!("CARGO_PKG_VERSION").into()) };
            KnownCaller::agent(auth, agent, Identity::local(PERSON), PERSON, scopes)
        }
    }
}

/// Starts a server, and opens a client that has this role; without one, a client of a contract without roles.
pub fn open<'a>(bench: &Bench<'a>, scene: &Scene<'a>, role: Option<&RoleSpec>) -> Result<Client<'a>, Stop> {
    let launch = &bench.subject.launch;
    let Some(role) = role else { return scene.start() };
    scene.trace(format!("the client has the role `{}`", role.name));
    if launch.is_http() {
        let headers = launch.headers_of(role.name);
        if headers.is_empty() {
            let why = format!(
                "no header makes a client a caller of the role `{0}`: add `--role-header '{0}=NAME: VALUE'`",
                role.name
            );
            return Err(not_applicable(why));
        }
        let target = scene.connect()?;
        target.set_headers(headers);
        return Client::open(bench.subject, target, scene.library());
    }
    match launch.role_argument(role.name) {
        Some(argument) => scene.start_by(|command| {
            command.arg(argument);
        }),
        // Over a pipe, a client is an agent unless the operator specifies otherwise.
        None if role.kind == CallerKind::Agent => scene.start(),
        None => {
            let why = "no argument gives a client a role: add `--role-argument`, such as --as={role}";
            Err(not_applicable(why))
        }
    }
}

/// The parts of an answer that concern roles and gates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    /// True if the call was refused.
    pub(crate) is_refused: bool,
    /// The whole answer, for people.
    pub(crate) text: String,
    /// The reason in the details of an error about callers, if it is one.
    pub(crate) reason: Option<String>,
    /// The violations of gates.
    pub(crate) violations: Vec<Value>,
    /// True if the gates ask for a review; `None` if the answer does not report it.
    pub(crate) asks_review: Option<bool>,
}

impl Told {
    /// Returns the ids of the violated clauses, sorted.
    pub(crate) fn clauses(&self) -> Vec<String> {
        let ids = self.violations.iter().filter_map(|it| it["clause"].as_str());
        let mut ids: Vec<_> = ids.map(str::to_owned).collect();
        ids.sort();
        ids
    }
}

/// Calls an operation's tool with any arguments; returns the parts of the answer that concern roles and gates.
pub(crate) fn call(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    tool: &ToolSpec,
    arguments: &Value,
) -> Result<Told, Stop> {
    let answer = client.request("tools/call", json!({ "name": tool.name, "arguments": arguments }))?;
    Ok(told(bench.subject.contract, &answer))
}

/// Reads these parts of an answer: from the contract's error body, from `_meta`, or from the data of a JSON-RPC error.
fn told(contract: &ContractSpec, answer: &Value) -> Told {
    let result = &answer["result"];
    let is_refused = answer.get("error").is_some() || result["isError"] == true;
    let details = details(contract, answer);
    let violations = match contract.error_body {
        Some(body) if answer.get("error").is_none() => &result["structuredContent"][body.at][body.violations],
        _ => details.get(VIOLATIONS).unwrap_or(&Value::Null),
    };
    let reason = details.get(REASON).and_then(Value::as_str);
    Told {
        is_refused,
        text: answer.to_string(),
        // Other errors have reasons, too, but not about their caller's needs.
        reason: reason.filter(|_| details.contains_key(NEEDS)).map(str::to_owned),
        violations: violations.as_array().cloned().unwrap_or_default(),
        asks_review: result["_meta"][GATES]["requires_review"].as_bool(),
    }
}

/// Returns the details of the error in an answer; empty if it is not an error.
pub fn details(contract: &ContractSpec, answer: &Value) -> Map<String, Value> {
    let result = &answer["result"];
    let details = match (answer.get("error"), contract.error_body) {
        (Some(error), _) => &error["data"],
        (None, Some(body)) => &result["structuredContent"][body.at][body.details],
        (None, None) => &result["_meta"]["tabellion/error"]["data"],
    };
    details.as_object().cloned().unwrap_or_default()
}
