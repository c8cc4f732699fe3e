//! The schemas of contract files. Editors read them too, for completion and hover.

use std::sync::LazyLock;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;
use tabellion_runtime::schema::{compile, explain};

use crate::{document::Document, pointer, problem::Problem};

static CONTRACT: LazyLock<Validator> =
    LazyLock::new(|| meta_schema(include_str!("meta/contract.schema.json")));
static TOOL: LazyLock<Validator> = LazyLock::new(|| meta_schema(TOOL_TEXT));
static OPERATION: LazyLock<Validator> =
    LazyLock::new(|| meta_schema(include_str!("meta/operation.schema.json")));
static ENTITY: LazyLock<Validator> = LazyLock::new(|| meta_schema(include_str!("meta/entity.schema.json")));

const TOOL_TEXT: &str = include_str!("meta/tool.schema.json");

/// Compiles a meta-schema, with `tool.schema.json` available for its references.
fn meta_schema(text: &str) -> Validator {
    let parse = |text| serde_json::from_str::<Value>(text).expect("meta-schemas are JSON");
    let (mut schema, mut tool) = (parse(text), parse(TOOL_TEXT));
    tool["$id"] = "tool.schema.json".into();
    schema["$defs"]["tool"] = tool;
    compile(&schema).expect("meta-schemas are schemas")
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
        let (name, validator) = match self {
            Self::Contract => ("contract", &CONTRACT),
            Self::Tool => ("tool", &TOOL),
            Self::Operation => ("operation", &OPERATION),
            Self::Entity => ("entity", &ENTITY),
        };
        let help = format!("`meta/{name}.schema.json` describes every key; editors show it as you type");
        validator
            .iter_errors(document.value)
            .flat_map(|error| said(&error))
            .map(|(at, message)| document.problem(at, message, help.as_str()))
            .collect()
    }
}

/// Returns the messages of a validator's error, each with its location.
fn said(error: &ValidationError<'_>) -> Vec<(String, String)> {
    let at = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|name| (pointer::push(at, name), "this key is not known here".into()))
            .collect(),
        ValidationErrorKind::FalseSchema => vec![(at.into(), "this key is not allowed here".into())],
        _ => vec![(at.into(), explain(error, "this value"))],
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
