//! How a client and a server agree on what they speak.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{library, short};
use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    era::Era,
    judgement::{Judgement, Stop, ensure, fail},
    official,
    talk::Talk,
};

pub(super) const CHECK: Check = Check {
    id: "wire/handshake",
    severity: Severity::Must,
    guarantees: &[],
    states: "Client and server agree on a revision as MCP prescribes, whichever the client requests, \
            and tools can then be listed.",
    explains: "Sessions (2025-11-25 and older): `initialize` is sent with current, older and unknown revisions. The server \
               must answer with the requested revision or one that it supports, never with an unknown one, and \
               must list its tools in the session. Without sessions (2026-07-28): `server/discover` must name the \
               revision, requests must be answered without anything before them, requests of an unknown revision must be \
               refused with -32022 and the revisions that there are, and requests without a revision with -32602.",
    cases,
    judge,
    shrink: as_small_as_can_be,
};

/// One way to begin.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Opening {
    /// A session in this revision.
    Session(String),
    /// The question what the server speaks.
    Discover,
    /// A request, with nothing before it.
    Nothing,
    /// A request of this revision.
    Revision(String),
    /// A request without these members of `_meta`.
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
            .map(|revision| {
                (
                    format!("initialize with {revision}"),
                    Opening::Session(revision.into()),
                )
            })
            .collect(),
        Era::Stateless => {
            let unknown = UNKNOWN.map(|revision| {
                (
                    format!("a request of {revision}"),
                    Opening::Revision(revision.into()),
                )
            });
            let fixed = [
                ("server/discover", Opening::Discover),
                ("a request with nothing before it", Opening::Nothing),
                (
                    "a request without a revision",
                    Opening::Without(vec![REVISION.into()]),
                ),
                (
                    "a request without capabilities",
                    Opening::Without(vec![CAPABILITIES.into()]),
                ),
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
        Opening::Session(revision) => return session(&mut talk, &revision),
        Opening::Discover => {
            let answer = talk.ask(&id, "server/discover", json!({}))?;
            proper(bench, Some("server/discover"), &answer)?;
            let supported = &answer["result"]["supportedVersions"];
            ensure(names(supported, bench.subject.era.revision()), || {
                format!("`supportedVersions` is {supported}, without the revision that the server speaks")
            })?;
            offers_tools(&answer["result"])?;
        }
        Opening::Nothing => {}
        Opening::Revision(revision) => {
            let meta = json!({ REVISION: revision, CAPABILITIES: {} });
            let answer = plain(&mut talk, &meta)?;
            ensure(answer["error"]["code"] == -32022, || {
                format!(
                    "a request of {revision} was answered with {} instead of error -32022",
                    short(&answer)
                )
            })?;
            proper(bench, None, &answer)?;
            let data = &answer["error"]["data"];
            let told =
                names(&data["supported"], bench.subject.era.revision()) && data["requested"] == revision;
            ensure(told, || {
                format!("the refusal does not say what is supported and what was asked for: {data}")
            })?;
        }
        Opening::Without(members) => {
            let mut meta = json!({ REVISION: bench.subject.era.revision(), CAPABILITIES: {} });
            if let Some(meta) = meta.as_object_mut() {
                members.iter().for_each(|member| {
                    meta.shift_remove(member);
                });
            }
            let answer = plain(&mut talk, &meta)?;
            ensure(answer["error"]["code"] == -32602, || {
                let members = members.join(", ");
                format!(
                    "a request without {members} was answered with {} instead of error -32602",
                    short(&answer)
                )
            })?;
        }
    }
    talk.settle(0)?;
    Ok(())
}

/// A request with this `_meta` and nothing more.
fn plain(talk: &mut Talk<'_>, meta: &Value) -> Result<Value, Stop> {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    talk.say(request.to_string())?;
    talk.answer(&json!(1))
}

fn session(talk: &mut Talk<'_>, revision: &str) -> Judgement {
    let answer = talk.initialize(revision)?;
    let unknown = UNKNOWN.contains(&revision);
    if let Some(error) = answer.get("error") {
        // The specification shows this as one way to tell that revisions don't match.
        return ensure(unknown, || {
            format!("`initialize` with {revision} was answered with {error}")
        });
    }
    let Some(agreed) = answer["result"]["protocolVersion"].as_str() else {
        return Err(fail("the answer to `initialize` has no `protocolVersion`"));
    };
    ensure(!UNKNOWN.contains(&agreed), || {
        format!("the server agrees to speak {agreed}, which is no revision of MCP")
    })?;
    official::check(agreed, Some("initialize"), &answer).map_err(fail)?;
    offers_tools(&answer["result"])?;
    let list = talk.ask(&json!(2), "tools/list", json!({}))?;
    official::check(agreed, Some("tools/list"), &list).map_err(fail)?;
    ensure(list.get("result").is_some(), || {
        format!(
            "in a session of {agreed}, `tools/list` is answered with {}",
            list["error"]
        )
    })
}

fn proper(bench: &Bench<'_>, method: Option<&str>, message: &Value) -> Judgement {
    official::check(bench.subject.era.revision(), method, message).map_err(fail)
}

fn offers_tools(result: &Value) -> Judgement {
    ensure(result["capabilities"]["tools"].is_object(), || {
        "the server does not say that it has tools (`capabilities.tools`)".into()
    })
}

fn names(list: &Value, name: &str) -> bool {
    list.as_array()
        .is_some_and(|list| list.iter().any(|it| it == name))
}
