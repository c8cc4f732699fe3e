//! One call of each effect on a throw-away library: whether it is the adapter that is wrong, or the server.

use std::fmt;

use serde_json::Value;
use tabellion_runtime::{
    ToolSpec,
    spec::{Effect, EffectKind},
};

use super::{
    doing,
    offer::{self, Offer},
};
use crate::{
    Subject,
    client::Client,
    judgement::Stop,
    reply::Reply,
    request::{Call, With, about, examples, with_effect},
    scene::Scene,
    semantics,
    trace::Trace,
};

/// What every document holds at first.
pub(super) const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n";

/// A tool, or one effect of it, and what came of calling it.
#[derive(Debug)]
pub struct Tried {
    /// The contract's tool.
    pub tool: &'static ToolSpec,
    /// The effect.
    pub effect: Option<EffectKind>,
    /// The server's tool that was called.
    pub called: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server did what the contract says.
    Works,
    /// The adapter has nothing for it.
    NotMapped,
    /// The call, or what the response is read by, is not as the server's own list of tools or its response is.
    AdapterWrong(String),
    /// The call was as the server wants it, and it did not do it.
    NotDone(String),
}

/// A call to try.
struct Try {
    tool: &'static ToolSpec,
    effect: Option<&'static Effect>,
    /// `None` if the contract has no example to make it from.
    call: Option<Call>,
    path: String,
}

/// Calls everything once that the contract has, each on a document of its own.
///
/// # Errors
/// When the server does not start, or the disk or git fails.
pub fn smoke(subject: &Subject) -> Result<Vec<Tried>, Stop> {
    let tries = tries(subject);
    let documents: Vec<_> = tries.iter().map(|it| (it.path.as_str(), DOCUMENT)).collect();
    let trace = Trace::default();
    let scene = Scene::new(subject, &trace, &documents)?;
    let mut client = scene.start()?;
    let offer = offer::ask(&mut client).map_err(crate::judgement::fail)?;
    let done = tries.into_iter().map(|it| {
        let mut tried = Tried {
            tool: it.tool,
            effect: it.effect.map(|effect| effect.kind),
            called: None,
            outcome: Outcome::NotMapped,
        };
        if subject.adapter.has(it.tool, it.effect) {
            tried.outcome = match attempt(subject, &scene, &mut client, &offer, &it, &mut tried.called) {
                Ok(()) => Outcome::Works,
                Err(outcome) => outcome,
            };
        }
        tried
    });
    Ok(done.collect())
}

/// Every effect of every tool, and the tools without one; a tool that previews has the effects of what it previews.
fn tries(subject: &Subject) -> Vec<Try> {
    let mut tries = Vec::new();
    for tool in subject.contract.tools {
        let doing = doing(subject.contract, tool);
        let mut add = |effect: Option<&'static Effect>| {
            let path = format!(
                "notes/{}-{}.md",
                tool.name,
                effect.map_or("call".into(), |effect| effect.kind.to_string())
            );
            let with = With {
                path: &path,
                content: "## Scope\n\nLess of it.\n",
                target: "## Scope",
            };
            let call = match effect {
                Some(effect) => with_effect(doing, effect, with),
                None => about(tool, "notes")
                    .or_else(|| examples(tool).next().map(|arguments| Call { tool, arguments })),
            };
            let call = call.map(|call| Call { tool, ..call });
            tries.push(Try {
                tool,
                effect,
                call,
                path,
            });
        };
        match doing.effects {
            [] => add(None),
            effects => effects.iter().for_each(|effect| add(Some(effect))),
        }
    }
    tries
}

fn attempt(
    subject: &Subject,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    offer: &Offer,
    it: &Try,
    called: &mut Option<String>,
) -> Result<(), Outcome> {
    let wrong = |why: String| Outcome::AdapterWrong(why);
    let call = it
        .call
        .as_ref()
        .ok_or_else(|| wrong("the contract has no example of it".to_owned()))?;
    let params = subject
        .adapter
        .call(it.tool, &call.arguments, &scene.library())
        .map_err(wrong)?;
    let name = params["name"].as_str().unwrap_or_default();
    *called = Some(name.to_owned());
    fits(offer, name, &params["arguments"]).map_err(wrong)?;
    let message = client
        .request("tools/call", params)
        .map_err(|error| Outcome::NotDone(error.to_string()))?;
    let done = match subject.adapter.reply(it.tool, &message) {
        Reply::Done(done) => done,
        Reply::Refused(refusal) => {
            return Err(Outcome::NotDone(format!(
                "it refused: {}",
                refusal.message.trim()
            )));
        }
    };
    if let Some(pointer) = subject.adapter.missing(it.tool, &message).first() {
        let result = &message["result"];
        return Err(wrong(format!(
            "the response has nothing for `{pointer}`; it is {result}"
        )));
    }
    let after = scene.read(&it.path);
    if it.tool.effects.is_empty() {
        let changed = after.as_deref() != Some(DOCUMENT.as_bytes());
        return if changed {
            Err(Outcome::NotDone("it changed the document".to_owned()))
        } else {
            Ok(())
        };
    }
    judge(call, it.effect, &done.response, after.as_deref())
}

/// Whether the server offers this tool and its schema takes these arguments.
fn fits(offer: &Offer, name: &str, arguments: &Value) -> Result<(), String> {
    let Some(tool) = offer.get(name) else {
        let known: Vec<_> = offer.keys().map(|name| format!("`{name}`")).collect();
        return Err(format!(
            "the server has no tool `{name}`, but {}",
            known.join(", ")
        ));
    };
    let Ok(schema) = jsonschema::validator_for(&tool["inputSchema"]) else {
        return Ok(());
    };
    match schema.iter_errors(arguments).next() {
        None => Ok(()),
        Some(error) => Err(format!(
            "the schema of `{name}` refuses the arguments {arguments}: {error}"
        )),
    }
}

/// Whether the server did what the contract says, from the document.
fn judge(
    call: &Call,
    effect: Option<&'static Effect>,
    response: &Value,
    after: Option<&[u8]>,
) -> Result<(), Outcome> {
    let before = Some(DOCUMENT.as_bytes());
    if let Some(effect) = effect.filter(|effect| effect.kind == EffectKind::Read) {
        let read = semantics::content_read(effect, response)
            .map_err(|stop| Outcome::AdapterWrong(stop.to_string()))?;
        if read != DOCUMENT {
            return Err(Outcome::NotDone(format!(
                "it read {read:?} where {DOCUMENT:?} is"
            )));
        }
    } else if after == before {
        return Err(Outcome::NotDone(
            "it says so, but the document has not changed".to_owned(),
        ));
    }
    semantics::allowed(call, before, after).map_err(|stop| {
        let after = after.map(String::from_utf8_lossy);
        Outcome::NotDone(format!("{stop}: {after:?}"))
    })
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.effect {
            Some(kind) => format!("{} {kind}", self.tool.name),
            None => self.tool.name.to_owned(),
        };
        let called = self
            .called
            .as_ref()
            .map_or_else(String::new, |name| format!("-> {name}"));
        write!(f, "{what:40} {called:24} {}", self.outcome)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => f.write_str("works"),
            Self::NotMapped => f.write_str("not mapped"),
            Self::AdapterWrong(why) => write!(f, "adapter wrong: {why}"),
            Self::NotDone(why) => write!(f, "server did not do it: {why}"),
        }
    }
}
