//! The mode of the process, and the provenance of calls.

use std::env;

use serde_json::{Map, Value};
use tabellion_runtime::{
    ToolSpec,
    provenance::PROVENANCE,
    spec::{ModesSpec, ProvenanceDefault, ProvenanceField, ProvenanceSpec, ProvenanceType, ProvenanceUse},
};

use super::contract::{CONTRACT, INVALID};
use crate::{
    mutant::{Mutant, is},
    small::{Refusal, now},
};

/// The values of fields by their names.
pub(super) type Fields = Map<String, Value>;

/// The mode of the process, which never changes.
pub(super) struct Mode(String);

impl Mode {
    /// Returns the mode of the argument, else of the environment, else the default.
    pub(super) fn of_process(argument: Option<&str>) -> Self {
        let Some(modes) = CONTRACT.modes else {
            return Self(String::new());
        };
        let argument = argument.map(str::to_owned);
        let variable = modes.env.and_then(|name| env::var(name).ok());
        let variable = variable.filter(|value| !value.trim().is_empty());
        let set = if is(Mutant::EnvironmentFirst) { variable.or(argument) } else { argument.or(variable) };
        let set = set.unwrap_or_else(|| modes.lines.to_owned());
        let is_known = modes.names.contains(&&*set);
        Self(if is_known || !is(Mutant::TakesUnknownModes) { set } else { modes.lines.to_owned() })
    }

    /// Refuses a tool that is not for the mode.
    pub(super) fn allows(&self, tool: &ToolSpec) -> Result<(), Refusal> {
        let Some(modes) = CONTRACT.modes.filter(|_| !is(Mutant::AnyModeWillDo)) else {
            return Ok(());
        };
        let own = CONTRACT.tool(tool.name).map_or(&[][..], |tool| tool.modes);
        if !modes.names.contains(&&*self.0) {
            return Err((INVALID, self.unknown(modes)));
        }
        if own.contains(&&*self.0) {
            return Ok(());
        }
        let sentence = modes.refused.replace("{tool}", tool.name);
        let sentence = sentence.replace("{mode}", &self.0);
        Err((INVALID, sentence.replace("{allowed}", &own.join(", "))))
    }

    fn unknown(&self, modes: &ModesSpec) -> String {
        let sentence = modes.unknown.replace("{mode}", &self.0);
        sentence.replace("{names}", &modes.names.join(", "))
    }
}

/// Returns true if calls of the tool need provenance.
pub(super) fn is_required(tool: &ToolSpec) -> bool {
    let used = CONTRACT.tool(tool.name).and_then(|tool| tool.provenance);
    used == Some(ProvenanceUse::Required)
}

/// Returns the provenance of a call, all fields of which are recorded.
///
/// # Errors
/// The contract's sentence, if the call lacks a field that the tool needs.
pub(super) fn said(tool: &ToolSpec, meta: &Value) -> Result<Fields, Refusal> {
    let Some(spec) = CONTRACT.provenance else {
        return Ok(Fields::new());
    };
    let mut said = Fields::new();
    for field in spec.fields {
        if let Some(value) = of_request(field, meta) {
            said.insert(field.name.to_owned(), value);
        }
    }
    for field in spec.fields.iter().filter(|field| !said.contains_key(field.name)).collect::<Vec<_>>() {
        let value = match field.default {
            None => continue,
            Some(ProvenanceDefault::Now) => now().into(),
            Some(ProvenanceDefault::Present(other)) => said.contains_key(other).into(),
        };
        said.insert(field.name.to_owned(), value);
    }
    let missing = missing(spec, &said);
    if is_required(tool) && !missing.is_empty() && !is(Mutant::NeedsNoProvenance) {
        let named = if is(Mutant::NamesOneField) { &missing[..1] } else { &missing[..] };
        let sentence = spec.missing.message.replace("{tool}", tool.name);
        return Err((INVALID, sentence.replace("{fields}", &named.join(", "))));
    }
    for field in spec.fields {
        said.entry(field.name).or_insert(Value::Null);
    }
    Ok(said)
}

/// Returns the request's value of a field: under its key in our own object, else under the first key of `_meta`.
fn of_request(field: &ProvenanceField, meta: &Value) -> Option<Value> {
    let mut keys = field.keys.to_vec();
    if is(Mutant::LastSpellingCounts) {
        keys.reverse();
    }
    if is(Mutant::OneSpelling) && field.kind == ProvenanceType::String {
        keys.truncate(1);
    }
    let own = keys.iter().map(|key| &meta[PROVENANCE][*key]);
    let mut all = own.chain(keys.iter().map(|key| &meta[*key]));
    all.find(|value| is_said(field, value)).cloned()
}

fn is_said(field: &ProvenanceField, value: &Value) -> bool {
    match field.kind {
        ProvenanceType::String => {
            value.as_str().is_some_and(|text| !text.trim().is_empty() || is(Mutant::BlankWillDo))
        }
        ProvenanceType::Integer => value.is_i64(),
        ProvenanceType::Boolean => value.is_boolean(),
    }
}

fn missing(spec: &ProvenanceSpec, said: &Fields) -> Vec<&'static str> {
    let further = spec.also_if.iter().filter(|also| said.get(also.field) == Some(&Value::Bool(true)));
    let further = further.flat_map(|also| also.then).filter(|_| !is(Mutant::OrdersOfNoOne));
    let needed = spec.required.iter().chain(further);
    needed.filter(|name| !said.contains_key(**name)).copied().collect()
}
