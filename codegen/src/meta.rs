//! The schemas of contract files. Editors read them too, for completion and hover.

use std::sync::LazyLock;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;
use tabellion_runtime::{
    pointer::{split_last, tokens},
    schema::{compile, explain, nearest},
};

use crate::{document::Document, pointer, problem::Problem};

static CONTRACT: LazyLock<MetaSchema> =
    LazyLock::new(|| MetaSchema::new(include_str!("meta/contract.schema.json")));
static TOOL: LazyLock<MetaSchema> = LazyLock::new(|| MetaSchema::new(TOOL_TEXT));
static OPERATION: LazyLock<MetaSchema> =
    LazyLock::new(|| MetaSchema::new(include_str!("meta/operation.schema.json")));
static ENTITY: LazyLock<MetaSchema> =
    LazyLock::new(|| MetaSchema::new(include_str!("meta/entity.schema.json")));

const TOOL_TEXT: &str = include_str!("meta/tool.schema.json");
const TOOL_ID: &str = "tool.schema.json";

/// A schema of contract files, and its compiled form.
struct MetaSchema {
    schema: Value,
    validator: Validator,
}

impl MetaSchema {
    /// Compiles a meta-schema, with `tool.schema.json` available for its references.
    fn new(text: &str) -> Self {
        let parse = |text| serde_json::from_str::<Value>(text).expect("meta-schemas are JSON");
        let (mut schema, mut tool) = (parse(text), parse(TOOL_TEXT));
        tool["$id"] = TOOL_ID.into();
        schema["$defs"]["tool"] = tool;
        Self { validator: compile(&schema).expect("meta-schemas are schemas"), schema }
    }

    /// Returns the keys that an object may have, by the path of a keyword of its schema, which can lead through references.
    fn keys(&self, path: &str) -> impl Iterator<Item = &str> {
        let object = split_last(path).map_or("", |(object, _)| object);
        let (mut base, mut at) = (&self.schema, &self.schema);
        for token in tokens(object) {
            let (file, place) = match at["$ref"].as_str().filter(|_| token == "$ref") {
                Some(reference) => reference.split_once('#').unwrap_or((reference, "")),
                None => {
                    at = at.pointer(&pointer::push("", &token)).unwrap_or(&Value::Null);
                    continue;
                }
            };
            if file == TOOL_ID {
                base = &self.schema["$defs"]["tool"];
            }
            at = base.pointer(place).unwrap_or(&Value::Null);
        }
        at["properties"].as_object().into_iter().flat_map(|properties| properties.keys().map(String::as_str))
    }

    /// Returns the messages of a validator's error, each with its location.
    fn said(&self, error: &ValidationError<'_>) -> Vec<(String, String)> {
        let at = error.instance_path().as_str();
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let message = |name: &String| {
                    let meant = nearest(name, self.keys(error.schema_path().as_str()));
                    let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
                    format!("this key is not known here{meant}")
                };
                unexpected.iter().map(|name| (pointer::push(at, name), message(name))).collect()
            }
            ValidationErrorKind::FalseSchema => vec![(at.into(), "this key is not allowed here".into())],
            _ => vec![(at.into(), explain(error, "this value"))],
        }
    }
}

/// The kind of a contract file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Meta {
    /// `contract.json`
    Contract,
    /// `tools/<name>.json`
    Tool,
    /// `operations/<tool>/<name>.json`
    Operation,
    /// `entities/<name>.json`
    Entity,
}

impl Meta {
    /// Returns the violations of the meta-schema in `document`.
    pub(crate) fn problems(self, document: &Document) -> Vec<Problem> {
        let (name, meta) = match self {
            Self::Contract => ("contract", &CONTRACT),
            Self::Tool => ("tool", &TOOL),
            Self::Operation => ("operation", &OPERATION),
            Self::Entity => ("entity", &ENTITY),
        };
        let help = format!("`meta/{name}.schema.json` describes every key; editors show it as you type");
        let errors = meta.validator.iter_errors(document.value);
        errors
            .flat_map(|error| meta.said(&error))
            .map(|(at, message)| document.problem(at, message, help.as_str()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tabellion_runtime::{
        FailureKind,
        spec::{
            Discovery, EffectKind, ErrorChannel, GuaranteeKind, ProvenancePlace, ProvenanceType,
            ProvenanceUse, Shows,
        },
    };

    use super::*;

    const FIELD_TYPE: &str =
        "/properties/provenance/properties/fields/additionalProperties/properties/type/enum";
    const FIELD_FROM: &str =
        "/properties/provenance/properties/fields/additionalProperties/properties/from/items/enum";
    const FIELD_DISCOVER: &str =
        "/properties/provenance/properties/fields/additionalProperties/properties/discover/enum";

    #[test]
    fn the_meta_schemas_list_the_words_of_the_closed_vocabularies() {
        let contract: Value = serde_json::from_str(include_str!("meta/contract.schema.json")).unwrap();
        let tool: Value = serde_json::from_str(TOOL_TEXT).unwrap();
        for (meta, pointer, words) in [
            (
                &contract,
                "/properties/errors/additionalProperties/properties/failures/items/enum",
                json!(FailureKind::ALL),
            ),
            (&contract, "/properties/errorChannel/enum", json!(ErrorChannel::ALL)),
            (&contract, "/properties/guarantees/items/properties/kind/enum", json!(GuaranteeKind::ALL)),
            (&contract, FIELD_TYPE, json!(ProvenanceType::ALL)),
            (&contract, FIELD_FROM, json!(ProvenancePlace::ALL)),
            (&contract, FIELD_DISCOVER, json!(Discovery::ALL)),
            (&tool, "/properties/provenance/enum", json!(ProvenanceUse::ALL)),
            (&tool, "/properties/approval/properties/shows/enum", json!(Shows::ALL)),
            (&tool, "/properties/effects/items/properties/effect/enum", json!(EffectKind::ALL)),
        ] {
            assert_eq!(meta.pointer(pointer), Some(&words), "{pointer}");
        }
    }
}
