//! Defects of the mode of a server, of the provenance of calls, and of the errors that refuse them.

use std::{env, io, process::Command};

use serde_json::{Map, Value, json};
use tabellion_contracts::mcb::CONTRACT;
use tabellion_runtime::{
    provenance::PROVENANCE,
    spec::{ProvenanceField, ProvenanceSpec, ProvenanceType, ProvenanceUse},
};

use super::{
    message::{Call, Reply},
    server::Proxy,
};
use crate::mutant::{self, Mutant};

/// Start of the argument that sets the mode.
const MODE: &str = "--mode=";
/// A value of provenance that a mutant makes up.
const MADE_UP: &str = "unknown";
/// JSON-RPC's code for the server's own errors.
const INTERNAL_ERROR: i64 = -32603;
/// A code that the contract does not declare.
const UNDECLARED: i64 = -32050;
/// Name of a shared list: the sessions that have changed something.
const WATCHES: &str = "watches";

/// Gives the server its arguments and its mode.
pub(super) fn set_mode(server: &mut Command, arguments: &[String]) {
    let modes = CONTRACT.modes.expect("the contract has modes");
    let name = modes.env.expect("the environment can set the mode");
    let variable = env::var(name).unwrap_or_default();
    let without_mode = arguments.iter().filter(|word| !word.starts_with(MODE));
    match mutant::current() {
        // It is for all tools.
        Some(Mutant::AnyModeWillDo) => {
            server.args(without_mode).arg(format!("{MODE}{}", modes.lines)).env_remove(name)
        }
        Some(Mutant::EnvironmentFirst) if !variable.is_empty() => server.args(without_mode),
        Some(Mutant::TakesUnknownModes) if !modes.names.contains(&&*variable) => {
            server.args(arguments).env_remove(name)
        }
        _ => server.args(arguments),
    };
}

/// Leaves the tools that are not for the mode out of a list.
pub(super) fn hide_tools(proxy: &Proxy, mut answer: Value) -> Value {
    let modes = CONTRACT.modes.expect("the contract has modes");
    let argument = proxy.command.iter().find_map(|word| word.strip_prefix(MODE)).map(str::to_owned);
    let mode = argument.or_else(|| env::var(modes.env?).ok()).unwrap_or_else(|| modes.lines.to_owned());
    if let Some(tools) = answer["result"]["tools"].as_array_mut() {
        let own = |tool: &Value| CONTRACT.tool(tool["name"].as_str()?).map(|tool| tool.modes);
        tools.retain(|tool| own(tool).is_some_and(|modes| modes.contains(&&*mode)));
    }
    answer
}

/// Answers a call as a mutant of provenance or errors; `None` if the mutant is not one.
pub(super) fn answer(mutant: Mutant, call: &Call, proxy: &mut Proxy) -> io::Result<Option<Reply>> {
    let spec = CONTRACT.provenance.expect("the contract has provenance");
    let further = || spec.also_if.iter().flat_map(|also| also.then);
    let session = proxy.meta("session_id").cloned().unwrap_or_default();
    let meta = &mut proxy.request["params"]["_meta"];
    if !meta.is_object() {
        *meta = json!({});
    }
    match mutant {
        Mutant::NeedsNoProvenance => complete(spec, spec.required.iter().chain(further()), meta),
        Mutant::OrdersOfNoOne => complete(spec, further(), meta),
        Mutant::BlankWillDo => in_each(spec, meta, |_, found| {
            let blank =
                found.values_mut().filter(|value| value.as_str().is_some_and(|it| it.trim().is_empty()));
            blank.for_each(|value| *value = MADE_UP.into());
        }),
        Mutant::OneSpelling => in_each(spec, meta, |field, found| {
            if field.kind == ProvenanceType::String {
                found.retain(|key, _| key == field.keys[0]);
            }
        }),
        Mutant::LastSpellingCounts => in_each(spec, meta, |field, found| {
            let last = field.keys.iter().rfind(|key| found.contains_key(**key));
            found.retain(|key, _| Some(&key.as_str()) == last);
        }),
        Mutant::KeepsWhatItNeeds => {
            let used = CONTRACT.tool(&call.tool).and_then(|tool| tool.provenance);
            if used != Some(ProvenanceUse::Required) {
                in_each(spec, meta, |_, found| found.clear());
            }
        }
        Mutant::SeesItsWatch
        | Mutant::NamesOneField
        | Mutant::RefusesByResult
        | Mutant::CodeOfItsOwn
        | Mutant::TellsThePath
        | Mutant::TellsTheStatement
        | Mutant::TellsTheType
        | Mutant::NamesNoRequest => {}
        _ => return Ok(None),
    }
    let mut reply = proxy.forward(call)?;
    if mutant == Mutant::SeesItsWatch && !reply.is_refused() {
        let tool = CONTRACT.tool(&call.tool).and_then(|tool| tool.operation_of(&call.arguments));
        if tool.is_some_and(|tool| tool.mutating) {
            proxy.record.keep(WATCHES, session)?;
        } else if !proxy.record.all(WATCHES).contains(&session) {
            reply = proxy.refuse("this session has made nothing");
        }
    }
    if reply.0.get("error").is_some() {
        change_error(mutant, &mut reply, proxy);
    }
    Ok(Some(reply))
}

/// Adds values of those of these fields that have none.
fn complete<'n>(spec: &ProvenanceSpec, names: impl Iterator<Item = &'n &'static str>, meta: &mut Value) {
    let is_said =
        |value: &Value| !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty());
    for field in names.filter_map(|name| spec.field(name)) {
        let mut keys = field.keys.iter();
        if !keys.any(|key| is_said(&meta[PROVENANCE][*key]) || is_said(&meta[*key])) {
            meta[field.keys[0]] = match field.kind {
                ProvenanceType::String => MADE_UP.into(),
                ProvenanceType::Integer => 0.into(),
                ProvenanceType::Boolean => false.into(),
            };
        }
    }
}

/// Changes the values of each field, by their keys: those in the member for provenance, then those beside it.
fn in_each(
    spec: &ProvenanceSpec,
    meta: &mut Value,
    change: impl Fn(&ProvenanceField, &mut Map<String, Value>),
) {
    for field in spec.fields {
        for at in [&format!("/{}", PROVENANCE.replace('/', "~1")), ""] {
            if let Some(members) = meta.pointer_mut(at).and_then(Value::as_object_mut) {
                let of_field = |key: &&str| members.shift_remove_entry(*key);
                let mut found = field.keys.iter().filter_map(of_field).collect();
                change(field, &mut found);
                members.extend(found);
            }
        }
    }
}

/// Changes an error as the mutant does.
fn change_error(mutant: Mutant, reply: &mut Reply, proxy: &Proxy) {
    let error = &mut reply.0["error"];
    let message = error["message"].as_str().unwrap_or_default().to_owned();
    let is_internal = error["code"] == INTERNAL_ERROR;
    match mutant {
        Mutant::NamesOneField if message.starts_with("Missing") => {
            error["message"] = message.split(", ").next().into();
        }
        Mutant::CodeOfItsOwn if error["data"]["rule"] == "not_found" => error["code"] = UNDECLARED.into(),
        Mutant::TellsThePath if is_internal => {
            error["message"] = format!("can't write {}", proxy.folder.join("mcb.db").display()).into();
        }
        Mutant::TellsTheStatement if is_internal => {
            error["message"] = "can't write: INSERT INTO entries (id, text) VALUES (?, ?)".into();
        }
        Mutant::TellsTheType if is_internal => {
            error["message"] = "Os { code: 28, kind: StorageFull }".into();
        }
        Mutant::NamesNoRequest if is_internal => error["data"] = Value::Null,
        Mutant::RefusesByResult => {
            let content = json!([{ "type": "text", "text": message }]);
            let result = json!({ "resultType": "complete", "isError": true, "content": content });
            reply.0 = json!({ "jsonrpc": "2.0", "id": reply.0["id"], "result": result });
        }
        _ => {}
    }
}
