//! Sessions over REST: opened, renewed, ended.

use hyper::{Response, StatusCode, body::Bytes};
use serde_json::{Map, Value, json};
use tabellion_gateway::Access;
use tabellion_runtime::{
    ContractSpec, KnownCaller,
    calls::{NotAdmitted, SessionRecord, refused},
    identity::Method,
    spec::SessionsSpec,
    text,
};

use crate::{
    answer, call,
    refusal::Refusal,
    rest::{Rest, RestRequest, counted, not_found},
};

/// Maximum number of bytes of a client's description of itself.
const MAX_CLIENT: usize = 4096;

impl Rest {
    pub(super) async fn open_session(&self, asked: RestRequest) -> Result<Response<Bytes>, Refusal> {
        counted(&asked, Access::Write)?;
        let (caller, spec) = (self.caller(&asked)?, sessions(self.contract)?);
        let said = match &asked.request.body()[..] {
            // The body is optional, and clients without one send no media type.
            [] => Map::new(),
            body => call::body(asked.request.headers(), body)?,
        };
        let client = client(said)?;
        let opened = self.store()?.open_session(spec, &caller.identity, &client).await;
        self.answered(&asked, opened, |mut session| {
            session["tools"] = self.listed()["tools"].take();
            answer::json(StatusCode::CREATED, &session)
        })
    }

    /// Counts the request as activity of a session.
    pub(super) async fn renew_session(
        &self,
        id: &str,
        asked: RestRequest,
    ) -> Result<Response<Bytes>, Refusal> {
        counted(&asked, Access::Read)?;
        let (caller, spec) = self.holder(&asked)?;
        let renewed = self.store()?.renew_session(spec, &caller.identity, id).await;
        self.answered(&asked, renewed, |session| answer::json(StatusCode::OK, &session))
    }

    pub(super) async fn end_session(&self, id: &str, asked: RestRequest) -> Result<Response<Bytes>, Refusal> {
        counted(&asked, Access::Read)?;
        let (caller, spec) = self.holder(&asked)?;
        let ended = self.store()?.end_session(spec, &caller.identity, id).await;
        self.answered(&asked, ended, |session| {
            let ended = json!({
                "session_id": session["session_id"],
                "status": session["status"],
                "terminated_at": session["terminated_at"],
            });
            answer::json(StatusCode::OK, &ended)
        })
    }

    fn holder(&self, asked: &RestRequest) -> Result<(KnownCaller, &'static SessionsSpec), Refusal> {
        Ok((self.caller(asked)?, sessions(self.contract)?))
    }

    fn answered(
        &self,
        asked: &RestRequest,
        session: Result<SessionRecord, NotAdmitted>,
        answer: impl FnOnce(Value) -> Response<Bytes>,
    ) -> Result<Response<Bytes>, Refusal> {
        Ok(match session {
            Ok(session) => {
                let method = asked.grant.as_ref().map_or(Method::Local, |grant| grant.identity().method());
                answer(described(&session, method))
            }
            Err(refusal) => {
                let service = self.service()?;
                answer::declared(self.contract, &refused(&**service, refusal))
            }
        })
    }
}

fn sessions(contract: &'static ContractSpec) -> Result<&'static SessionsSpec, Refusal> {
    contract.sessions.ok_or_else(not_found)
}

/// Returns the client of a request: its members `client_info` and `agent`.
fn client(said: Map<String, Value>) -> Result<Value, Refusal> {
    let bad = |why: &str| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
    for (name, value) in &said {
        let takes = match name.as_str() {
            "client_info" => ["client_type", "version"],
            "agent" => ["name", "version"],
            _ => {
                return Err(bad("the body has `client_info` and `agent`, and no other members"));
            }
        };
        let is_text =
            |(member, value): (&String, &Value)| takes.contains(&member.as_str()) && value.is_string();
        if !value.as_object().is_some_and(|value| value.iter().all(is_text)) {
            let why = format!("`{name}` is an object of the texts `{}` and `{}`", takes[0], takes[1]);
            return Err(bad(&why));
        }
        let mut texts = value.as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str());
        if name == "agent" && !texts.all(text::is_legible) {
            return Err(bad(
                "a `name` and a `version` of `agent` need a letter or a digit; leave out the unknown one",
            ));
        }
    }
    let said = Value::Object(said);
    if said.to_string().len() > MAX_CLIENT {
        return Err(bad("what the body says is too long"));
    }
    Ok(said)
}

fn described(session: &SessionRecord, method: Method) -> Value {
    let status = if session.terminated_at.is_some() { "terminated" } else { "active" };
    let mut described = json!({
        "session_id": session.id,
        "status": status,
        "authentication_method": method,
        "created_at": answer::written(session.created_at.into()),
        "last_activity_at": answer::written(session.last_activity_at.into()),
        "expires_at": answer::written(session.expires_at.into()),
        "max_expires_at": answer::written(session.max_expires_at.into()),
    });
    for member in ["client_info", "agent"] {
        if let Some(said) = session.client.get(member) {
            described[member] = said.clone();
        }
    }
    if let Some(at) = session.terminated_at {
        described["terminated_at"] = answer::written(at.into()).into();
    }
    described
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sessions_client_is_described_by_texts() {
        for (said, is_taken) in [
            (json!({}), true),
            (json!({ "agent": { "name": "helper", "version": "1" } }), true),
            (json!({ "agent": { "name": "helper" }, "client_info": { "version": "" } }), true),
            (json!({ "agent": { "name": " ", "version": "1" } }), false),
            (json!({ "agent": { "name": "helper", "version": "\u{3164}" } }), false),
            (json!({ "agent": { "name": 1 } }), false),
            (json!({ "agent": "helper" }), false),
            (json!({ "client": {} }), false),
        ] {
            let members = said.as_object().cloned().unwrap_or_default();
            assert_eq!(client(members).is_ok(), is_taken, "{said}");
        }
    }
}
