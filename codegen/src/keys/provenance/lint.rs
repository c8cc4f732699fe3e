//! Lints of `provenance`.

use std::collections::BTreeMap;

use tabellion_runtime::{
    spec::{Discovery, ProvenancePlace, ProvenanceType},
    template::placeholders,
};

use super::read::{Provenance, ProvenanceDefault, ProvenanceField};
use crate::{contract::Contract, pointer, problem::Problem};

/// Prefix of the `_meta` keys that the runtime reads itself.
const OWN: &str = "tabellion/";
/// The placeholders of the sentence about missing fields.
const PLACEHOLDERS: &[&str] = &["tool", "fields"];
/// Headers with another meaning.
const RESERVED: &[&str] =
    &["accept", "authorization", "content-type", "cookie", "host", "last-event-id", "origin"];
/// Prefix of MCP's headers.
const RESERVED_PREFIX: &str = "mcp-";
/// Names that are kept next to the fields.
const BESIDE: &[&str] =
    &[tabellion_runtime::provenance::RECEIVED_AT, tabellion_runtime::provenance::DISCOVERED];

pub(super) fn lint(contract: &Contract, problems: &mut Vec<Problem>) {
    let Some(provenance) = &contract.spec.provenance else {
        for tool in contract.tools.iter().filter(|tool| tool.spec.provenance.is_some()) {
            problems.push(tool.document.problem(
                "/provenance",
                "the contract has no fields of provenance",
                "declare `provenance` in contract.json, or remove it",
            ));
        }
        return;
    };
    let mut check = Check { contract, provenance, problems };
    check.fields();
    check.names();
    check.sentence();
    check.tools();
}

struct Check<'a> {
    contract: &'a Contract,
    provenance: &'a Provenance,
    problems: &'a mut Vec<Problem>,
}

impl Check<'_> {
    fn say(&mut self, at: impl Into<String>, message: String, help: &str) {
        let problem = self.contract.document.problem(at.into(), message, help);
        self.problems.push(problem);
    }

    /// Checks each field, and that each key or header belongs to one field.
    fn fields(&mut self) {
        // A field's own name is a key under `tabellion/provenance`.
        let names = self.provenance.fields.keys();
        let mut keys: BTreeMap<&str, &str> = names.map(|name| (*name, *name)).collect();
        let mut headers: BTreeMap<String, &str> = BTreeMap::new();
        if let Some(header) = self.contract.spec.modes.as_ref().and_then(|modes| modes.header.as_ref()) {
            headers.insert(header.to_ascii_lowercase(), "modes");
        }
        for (name, field) in &self.provenance.fields {
            let at = pointer::push("/provenance/fields", name);
            if BESIDE.contains(name) {
                let message = format!("`{name}` is kept beside the fields");
                self.say(at.as_str(), message, "choose another name");
            }
            for (i, key) in field.keys.iter().enumerate() {
                let at = format!("{at}/keys/{i}");
                if key.starts_with(OWN) {
                    let message = format!("`{key}` is not a client's key");
                    self.say(
                        at.as_str(),
                        message,
                        "keys of `_meta` that begin with `tabellion/` are the runtime's",
                    );
                }
                let other = keys.insert(key, name);
                if let Some(other) = other.filter(|other| other != name) {
                    self.say(at, format!("`{key}` is also a key of `{other}`"), "a key is one field's");
                }
            }
            for (i, header) in field.headers.iter().enumerate() {
                let (at, lower) = (format!("{at}/headers/{i}"), header.to_ascii_lowercase());
                if RESERVED.contains(&lower.as_str()) || lower.starts_with(RESERVED_PREFIX) {
                    let message = format!("`{header}` has another meaning");
                    self.say(at.as_str(), message, "choose another header");
                }
                if let Some(other) = headers.insert(lower, name) {
                    self.say(
                        at,
                        format!("`{header}` is also the header of `{other}`"),
                        "a header is one field's",
                    );
                }
            }
            self.default(&at, field);
            self.texts_only(&at, field);
        }
    }

    fn default(&mut self, at: &str, field: &ProvenanceField) {
        let (is, needed) = match &field.default {
            None => return,
            Some(ProvenanceDefault::Now(_)) => ("the time", ProvenanceType::Integer),
            Some(ProvenanceDefault::Present(other)) => {
                self.require_field(&format!("{at}/default/present"), other);
                ("whether there is another", ProvenanceType::Boolean)
            }
        };
        if field.kind != needed {
            self.say(
                format!("{at}/default"),
                format!("it is {is}, and the field is of type `{}`", field.kind),
                &format!("a field with this default is of type `{needed}`"),
            );
        }
    }

    /// Checks that textual sources belong to fields of texts.
    fn texts_only(&mut self, at: &str, field: &ProvenanceField) {
        if field.kind == ProvenanceType::String {
            return;
        }
        let from_holder = field.from.contains(&ProvenancePlace::Holder).then_some("from");
        let discovered = field.discover.map(|_: Discovery| "discover");
        for key in from_holder.into_iter().chain(discovered) {
            self.say(
                format!("{at}/{key}"),
                format!("it is a text, and the field is of type `{}`", field.kind),
                "remove it, or make the field a `string`",
            );
        }
    }

    /// Checks that other parts name fields.
    fn names(&mut self) {
        let provenance = self.provenance;
        for (i, name) in provenance.required.iter().enumerate() {
            self.require_field(&format!("/provenance/required/{i}"), name);
        }
        if let Some(session) = &provenance.session {
            self.require_field("/provenance/session", session);
            let field = provenance.fields.get(session);
            if field.is_some_and(|field| field.kind != ProvenanceType::String) {
                let message = format!("`{session}` is not of type `string`");
                self.say("/provenance/session", message, "a session has an id");
            }
        }
        for (i, also) in provenance.also_if.iter().enumerate() {
            let at = format!("/provenance/alsoIf/{i}");
            self.require_field(&format!("{at}/field"), also.field);
            if provenance.fields.get(&also.field).is_some_and(|field| field.kind != ProvenanceType::Boolean) {
                let message = format!("`{}` is never true", also.field);
                self.say(format!("{at}/field"), message, "name a field of type `boolean`");
            }
            for (j, name) in also.then.iter().enumerate() {
                let at = format!("{at}/then/{j}");
                self.require_field(&at, name);
                if provenance.required.contains(name) {
                    self.say(at, format!("`{name}` is always required"), "remove it here or in `required`");
                }
            }
        }
    }

    fn require_field(&mut self, at: &str, name: &str) {
        if !self.provenance.fields.contains_key(name) {
            self.say(
                at,
                format!("there is no field `{name}`"),
                "add it to `fields`, or correct its spelling",
            );
        }
    }

    fn sentence(&mut self) {
        let missing = &self.provenance.missing;
        if !self.contract.spec.errors.contains_key(&missing.error) {
            self.say(
                "/provenance/missing/error",
                format!("the error table has no `{}`", missing.error),
                "add it to `errors`, or correct its spelling",
            );
        }
        let found = placeholders(missing.message);
        for name in found.iter().filter(|name| !PLACEHOLDERS.contains(name)) {
            self.say(
                "/provenance/missing/message",
                format!("`{{{name}}}` has no value here"),
                "known are {tool} and {fields}",
            );
        }
        if !found.contains(&"fields") {
            self.say(
                "/provenance/missing/message",
                "it does not say what is missing".into(),
                "write `{fields}` where the fields should be named",
            );
        }
    }

    /// Checks that tools use it, and declare the error.
    fn tools(&mut self) {
        let using = || self.contract.tools.iter().filter(|tool| tool.spec.provenance.is_some());
        if using().next().is_none() {
            return self.say(
                "/provenance",
                "no tool has provenance".into(),
                "add `\"provenance\": \"required\"` or `\"kept\"` to a tool, or remove it",
            );
        }
        let error = &self.provenance.missing.error;
        if !self.contract.spec.errors.contains_key(error) {
            return;
        }
        for operation in using().flat_map(|tool| tool.operations()) {
            if !operation.spec.errors.contains(error) {
                self.problems.push(operation.document.problem(
                    "/errors",
                    format!("missing provenance becomes `{error}`, which the tool does not declare"),
                    format!("add `\"{error}\"`: calls can lack provenance, or have a value of another type"),
                ));
            }
        }
    }
}
