//! Calls each effect once on a temporary library, to distinguish a wrong adapter from a wrong server.

use std::fmt;

use serde_json::Value;
use tabellion_runtime::{
    ToolSpec,
    spec::{Effect, EffectKind},
};

use super::{
    mapping::doing,
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

/// Initial content of every document.
pub(super) const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n";

/// Result of one call of a tool, or of one effect of a tool.
#[derive(Debug)]
pub struct SmokeResult {
    /// Tool of the contract.
    pub tool: &'static ToolSpec,
    /// Effect, if the tool has any.
    pub effect: Option<EffectKind>,
    /// True if the document did not exist before.
    pub is_new: bool,
    /// Tool of the server that was called.
    pub called: Option<String>,
    /// Outcome.
    pub outcome: Outcome,
}

/// Outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server had the effect that the contract declares.
    Works,
    /// The adapter does not map the tool or effect.
    NotMapped,
    /// The call does not match the server's list of tools, or the mapping does not match the server's response.
    AdapterWrong(String),
    /// The server accepted the call's arguments, but did not have the effect.
    NotDone(String),
}

/// A call to try.
struct SmokeCall {
    tool: &'static ToolSpec,
    effect: Option<&'static Effect>,
    /// `None` if the contract has no example for the call.
    call: Option<Call>,
    path: String,
    /// True if the document does not exist.
    is_new: bool,
}

impl SmokeCall {
    fn before(&self) -> Option<&'static [u8]> {
        (!self.is_new).then_some(DOCUMENT.as_bytes())
    }
}

/// Calls every tool and effect of the contract once, each on a document of its own.
pub fn smoke(subject: &Subject) -> Result<Vec<SmokeResult>, Stop> {
    let tries = tries(subject);
    let documents = tries.iter().filter(|it| !it.is_new);
    let documents: Vec<_> = documents.map(|it| (it.path.as_str(), DOCUMENT)).collect();
    let trace = Trace::default();
    let scene = Scene::new(subject, &trace, &documents)?;
    let mut client = scene.start()?;
    let offer = offer::ask(&mut client).map_err(crate::judgement::fail)?;
    let done = tries.into_iter().map(|it| {
        let mut tried = SmokeResult {
            tool: it.tool,
            effect: it.effect.map(|effect| effect.kind),
            is_new: it.is_new,
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

/// Returns a call for every effect of every tool, and for each tool without effects. A preview has the effects of the
/// previewed tool.
fn tries(subject: &Subject) -> Vec<SmokeCall> {
    let mut tries = Vec::new();
    for tool in subject.contract.operations() {
        let doing = doing(subject.contract, tool);
        let mut add = |effect: Option<&'static Effect>, is_new: bool| {
            let path = format!(
                "notes/{}-{}{}.md",
                tool.label(),
                effect.map_or("call".into(), |effect| effect.kind.to_string()),
                if is_new { "-new" } else { "" }
            );
            let with = With { path: &path, content: "## Scope\n\nLess of it.\n", target: "## Scope" };
            let call = match effect {
                Some(effect) => with_effect(doing, effect, with),
                None => about(tool, "notes")
                    .or_else(|| examples(tool).next().map(|arguments| Call { tool, arguments })),
            };
            let call = call.map(|call| Call { tool, ..call });
            tries.push(SmokeCall { tool, effect, call, path, is_new });
        };
        match doing.effects {
            [] => add(None, false),
            effects => effects.iter().for_each(|effect| add(Some(effect), false)),
        }
        let write = doing.effects.iter().find(|effect| effect.kind == EffectKind::Write);
        if write.is_some() && subject.adapter.depends_on_existence(tool) {
            add(write, true);
        }
    }
    tries
}

fn attempt(
    subject: &Subject,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    offer: &Offer,
    it: &SmokeCall,
    called: &mut Option<String>,
) -> Result<(), Outcome> {
    let wrong = |why: String| Outcome::AdapterWrong(why);
    let call = it.call.as_ref().ok_or_else(|| wrong("the contract has no example of it".to_owned()))?;
    let (root, arguments) = (scene.library(), &call.arguments);
    let mut ask = |params: Value| Ok(client.request("tools/call", params)?);
    let params = subject.adapter.call_after(it.tool, arguments, &root, &mut ask);
    let params = params.map_err(|stop| match stop {
        Stop::NotApplicable(why) => wrong(why),
        stop => Outcome::NotDone(stop.to_string()),
    })?;
    let name = params["name"].as_str().unwrap_or_default();
    *called = Some(name.to_owned());
    fits(offer, name, &params["arguments"]).map_err(wrong)?;
    let message =
        ask(params).and_then(|first| subject.adapter.finish(it.tool, arguments, &root, first, &mut ask));
    let message = message.map_err(|stop| Outcome::NotDone(stop.to_string()))?;
    let done = match subject.adapter.reply(it.tool, &message) {
        Reply::Done(done) => done,
        Reply::Refused(refusal) => {
            return Err(Outcome::NotDone(format!("it refused: {}", refusal.message.trim())));
        }
    };
    if let Some(pointer) = subject.adapter.missing(it.tool, &message).first() {
        let result = &message["result"];
        return Err(wrong(format!("the response has no value for `{pointer}`: {result}")));
    }
    let after = scene.read(&it.path);
    if it.tool.effects.is_empty() {
        let changed = after.as_deref() != it.before();
        return if changed { Err(Outcome::NotDone("it changed the document".to_owned())) } else { Ok(()) };
    }
    judge(call, it, &done.response, after.as_deref())
}

/// Checks that the server offers the tool and that the tool's schema accepts the arguments.
fn fits(offer: &Offer, name: &str, arguments: &Value) -> Result<(), String> {
    let Some(tool) = offer.get(name) else {
        let known: Vec<_> = offer.keys().map(|name| format!("`{name}`")).collect();
        return Err(format!("the server has no tool `{name}`, but {}", known.join(", ")));
    };
    let Ok(schema) = jsonschema::validator_for(&tool["inputSchema"]) else {
        return Ok(());
    };
    match schema.iter_errors(arguments).next() {
        None => Ok(()),
        Some(error) => Err(format!("the schema of `{name}` refuses the arguments {arguments}: {error}")),
    }
}

/// Judges from the document whether the server had the declared effect.
fn judge(call: &Call, it: &SmokeCall, response: &Value, after: Option<&[u8]>) -> Result<(), Outcome> {
    let before = it.before();
    if let Some(effect) = it.effect.filter(|effect| effect.kind == EffectKind::Read) {
        let read = semantics::content_read(effect, response)
            .map_err(|stop| Outcome::AdapterWrong(stop.to_string()))?;
        if read != DOCUMENT {
            return Err(Outcome::NotDone(format!("it read {read:?} instead of {DOCUMENT:?}")));
        }
    } else if after == before {
        return Err(Outcome::NotDone("it reports success, but the document is unchanged".to_owned()));
    }
    semantics::allowed(call, before, after).map_err(|stop| {
        let after = after.map(String::from_utf8_lossy);
        Outcome::NotDone(format!("{stop}: {after:?}"))
    })
}

impl fmt::Display for SmokeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.effect {
            Some(kind) if self.is_new => format!("{} {kind} (new)", self.tool.label()),
            Some(kind) => format!("{} {kind}", self.tool.label()),
            None => self.tool.label().to_owned(),
        };
        let called = self.called.as_ref().map_or_else(String::new, |name| format!("-> {name}"));
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
