//! Checks of the negotiation of a protocol revision.

use super::calls::{library, short};
use crate::{checks::prelude::*, era::Era, official};

pub(super) const CHECK: Check = Check {
    id: "wire/handshake",
    guarantees: &[],
    states: "Client and server agree on a revision as MCP prescribes, whichever the client requests, \
            and tools can then be listed.",
    explains: "Sessions (2025-11-25 and older): `initialize` is sent with current, older and unknown revisions. The \
               server must answer with the requested revision or one that it supports, never with an unknown one, and \
               must list its tools in the session. Without sessions (2026-07-28): `server/discover` must name the \
               revision, a first request must be answered, a request of an unknown revision must be refused with \
               -32022 and the supported revisions, and a request without a revision with -32602.",
    cases,
    ..Check::must(judge)
};

/// The first request of a case.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Opening {
    /// `initialize` with this revision.
    Session(String),
    /// `server/discover`.
    Discover,
    /// `tools/list`, without a request before it.
    Nothing,
    /// `tools/list` with this revision.
    Revision(String),
    /// `tools/list` without these members of `_meta`.
    Without(Vec<String>),
}

/// Unknown revisions.
const UNKNOWN: [&str; 3] = ["1999-01-01", "2199-12-31", "latest"];
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let case = |(name, opening): (String, Opening)| Case::new(name, opening);
    let openings: Vec<_> = match bench.subject.era {
        Era::Session => ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
            .into_iter()
            .chain(UNKNOWN)
            .map(|revision| (format!("initialize with {revision}"), Opening::Session(revision.into())))
            .collect(),
        Era::Stateless => {
            let unknown = UNKNOWN
                .map(|revision| (format!("a request of {revision}"), Opening::Revision(revision.into())));
            let fixed = [
                ("server/discover", Opening::Discover),
                ("a first request", Opening::Nothing),
                ("a request without a revision", Opening::Without(vec![REVISION.into()])),
                ("a request without capabilities", Opening::Without(vec![CAPABILITIES.into()])),
            ];
            let fixed = fixed.map(|(name, opening)| (name.to_owned(), opening));
            fixed.into_iter().chain(unknown).collect()
        }
    };
    Ok(openings.into_iter().map(case).collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let opening: Opening = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::begin(bench.subject, &scene)?;
    let id = json!(1);
    match opening {
        Opening::Session(revision) => return judge_session(&mut talk, &revision),
        Opening::Discover => {
            let answer = talk.ask(&id, "server/discover", json!({}))?;
            ensure_valid(bench, Some("server/discover"), &answer)?;
            let supported = &answer["result"]["supportedVersions"];
            ensure(has_name(supported, bench.subject.era.revision()), || {
                format!("`supportedVersions` is {supported}, without the revision that the server speaks")
            })?;
            ensure_tools_capability(&answer["result"])?;
        }
        Opening::Nothing => {}
        Opening::Revision(revision) => {
            let meta = json!({ REVISION: revision, CAPABILITIES: {} });
            let answer = list_tools(&mut talk, &meta)?;
            ensure(answer["error"]["code"] == -32022, || {
                format!(
                    "a request of {revision} was answered with {} instead of error -32022",
                    short(&answer)
                )
            })?;
            ensure_valid(bench, None, &answer)?;
            let data = &answer["error"]["data"];
            let names_revisions =
                has_name(&data["supported"], bench.subject.era.revision()) && data["requested"] == revision;
            ensure(names_revisions, || {
                format!("the refusal does not name the supported and the requested revision: {data}")
            })?;
        }
        Opening::Without(members) => {
            let mut meta = json!({ REVISION: bench.subject.era.revision(), CAPABILITIES: {} });
            if let Some(meta) = meta.as_object_mut() {
                members.iter().for_each(|member| {
                    meta.shift_remove(member);
                });
            }
            let answer = list_tools(&mut talk, &meta)?;
            let is_served = answer.get("result").is_some();
            if is_served && members == [REVISION] && !bench.subject.is_native() {
                let why = "a server of several revisions may take the request for one of an older revision";
                return Err(not_applicable(why));
            }
            ensure(answer["error"]["code"] == -32602, || {
                let members = members.join(", ");
                format!(
                    "a request without {members} was answered with {} instead of error -32602",
                    short(&answer)
                )
            })?;
            if !bench.subject.is_native() {
                // A server of several revisions may take the connection for one of an older revision.
                return Ok(());
            }
        }
    }
    talk.settle(0)?;
    Ok(())
}

/// Sends `tools/list` with this `_meta` alone, and returns the answer.
fn list_tools(talk: &mut Talk<'_>, meta: &Value) -> Result<Value, Stop> {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    talk.say(request.to_string())?;
    talk.answer(&json!(1))
}

fn judge_session(talk: &mut Talk<'_>, revision: &str) -> Judgement {
    let answer = talk.initialize(revision)?;
    let unknown = UNKNOWN.contains(&revision);
    if let Some(error) = answer.get("error") {
        // The specification's example of a version mismatch is an error.
        return ensure(unknown, || format!("`initialize` with {revision} was answered with {error}"));
    }
    let Some(agreed) = answer["result"]["protocolVersion"].as_str() else {
        return Err(fail("the answer to `initialize` has no `protocolVersion`"));
    };
    ensure(!UNKNOWN.contains(&agreed), || {
        format!("the server agrees to {agreed}, which is not a revision of MCP")
    })?;
    official::check(agreed, Some("initialize"), &answer)?;
    ensure_tools_capability(&answer["result"])?;
    let list = talk.ask(&json!(2), "tools/list", json!({}))?;
    official::check(agreed, Some("tools/list"), &list)?;
    ensure(list.get("result").is_some(), || {
        format!("in a session of {agreed}, `tools/list` is answered with {}", list["error"])
    })
}

fn ensure_valid(bench: &Bench<'_>, method: Option<&str>, message: &Value) -> Judgement {
    Ok(official::check(bench.subject.era.revision(), method, message)?)
}

fn ensure_tools_capability(result: &Value) -> Judgement {
    ensure(result["capabilities"]["tools"].is_object(), || {
        "the server does not declare `capabilities.tools`".into()
    })
}

fn has_name(list: &Value, name: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|it| it == name))
}
