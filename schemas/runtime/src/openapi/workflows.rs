//! Endpoints of workflows in OpenAPI, with the schemas that validate the contract's calls.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    calls::session_header,
    parts::{
        conditional, conditions, content, list, object, reference, refusals_of, relocate, responses, tagged,
    },
};
use crate::{
    schema::walk::remove_property,
    spec::{ContractSpec, Outcome, RestEndpoint, RestOperation, Starts, ToolSpec},
};

const TAG: &str = "workflows";
const WORKFLOW: &str = "Workflow";
/// Member of a wire schema that contains its definitions.
const DEFINITIONS: &str = "$defs";

/// Returns the operations of an endpoint of workflows with their paths, and adds their schemas.
pub(super) fn operations(
    contract: &ContractSpec,
    endpoint: &RestEndpoint,
    is_offered: &dyn Fn(&str) -> bool,
    schemas: &mut Map<String, Value>,
) -> Vec<(String, Value)> {
    if endpoint.is == RestOperation::WorkflowList {
        schemas.insert(WORKFLOW.into(), workflow(contract));
        return vec![(endpoint.path.into(), list("workflows", WORKFLOW, contract.workflows.len()))];
    }
    let Some(call) = contract.call_of(endpoint.is).filter(|call| is_offered(call.name)) else {
        return vec![];
    };
    match endpoint.is {
        RestOperation::WorkflowStart => starts(contract, endpoint, call, schemas),
        RestOperation::InstanceList => {
            let name = "workflow_instances";
            let mut operation = operation(contract, endpoint, call, name, lifted(name, call, schemas));
            let names = properties(call).into_iter();
            let parameters = names.map(|(name, mut schema)| {
                let description = schema["description"].take();
                if let Some(schema) = schema.as_object_mut() {
                    schema.remove("description");
                }
                json!({ "name": name, "in": "query", "description": description, "schema": schema })
            });
            operation["parameters"] = parameters.chain(session_header(contract)).collect();
            vec![(endpoint.path.into(), operation)]
        }
        RestOperation::InstanceGet => {
            let name = "workflow_instance";
            let mut operation = operation(contract, endpoint, call, name, lifted(name, call, schemas));
            operation["parameters"] = in_path(endpoint, call).chain(session_header(contract)).collect();
            vec![(endpoint.path.into(), conditional(operation))]
        }
        _ => {
            let answer = lifted("workflow_instance", call, schemas);
            let mut operation = operation(contract, endpoint, call, "complete_task", answer);
            let mut body = call.input.wire();
            for member in endpoint.is.call_members().into_iter().flatten() {
                remove_property(&mut body, member);
            }
            let name = "complete_task_request";
            schemas.insert(name.into(), body);
            operation["requestBody"] = required(name);
            operation["parameters"] =
                in_path(endpoint, call).chain(conditions()).chain(session_header(contract)).collect();
            vec![(endpoint.path.into(), operation)]
        }
    }
}

/// Returns an operation for each workflow, with its own parameters. For a workflow that a tool starts, every request is refused.
fn starts(
    contract: &ContractSpec,
    endpoint: &RestEndpoint,
    call: &'static ToolSpec,
    schemas: &mut Map<String, Value>,
) -> Vec<(String, Value)> {
    // The answers of each are among the definitions of the general answer.
    lifted("started_workflow", call, schemas);
    let operations = contract.workflows.iter().map(|workflow| {
        let name = format!("start_{}", workflow.id);
        let answer = reference(&format!("{}_started", workflow.id));
        let mut operation = operation(contract, endpoint, call, &name, answer);
        operation["description"] = workflow.description.into();
        if workflow.starts == Starts::Tool {
            operation["description"] =
                format!("{} A tool starts it: requests are refused.", workflow.description).into();
            let success = success_of(endpoint.is);
            if let Some(responses) = operation["responses"].as_object_mut() {
                responses.shift_remove(success.as_str());
            }
        }
        let parameters = workflow.parameters.map(|schema| schema.wire());
        let is_needed = parameters
            .as_ref()
            .is_some_and(|schema| schema["required"].as_array().is_some_and(|names| !names.is_empty()));
        let parameters = parameters.unwrap_or_else(|| json!({ "type": "object", "maxProperties": 0 }));
        let mut body = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": { "parameters": parameters },
        });
        if is_needed {
            body["required"] = json!(["parameters"]);
        }
        let request = format!("{name}_request");
        relocate(&mut body, &format!("#/components/schemas/{request}/properties/parameters"));
        schemas.insert(request.clone(), body);
        operation["requestBody"] = required(&request);
        operation["parameters"] = conditions().into_iter().chain(session_header(contract)).collect();
        (endpoint.path_with(&[workflow.id]), operation)
    });
    operations.collect()
}

fn operation(
    contract: &ContractSpec,
    endpoint: &RestEndpoint,
    call: &'static ToolSpec,
    name: &str,
    answer: Value,
) -> Value {
    let mut success = content("What is there now", answer);
    if endpoint.is != RestOperation::InstanceList {
        success = tagged(success);
    }
    let refusals = refusals_of(contract, call).into_iter();
    json!({
        "operationId": name,
        "description": call.description,
        "tags": [TAG],
        "responses": responses((success_of(endpoint.is), success), refusals),
    })
}

/// Adds the schema of a call's answers under `name`, and its definitions under their names; returns the reference to it.
fn lifted(name: &str, call: &ToolSpec, schemas: &mut Map<String, Value>) -> Value {
    let mut schema = call.output.wire();
    let definitions = match schema.as_object_mut().and_then(|it| it.shift_remove(DEFINITIONS)) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let all = definitions.into_iter().chain([(name.to_owned(), schema)]);
    for (name, mut schema) in all {
        to_components(&mut schema);
        schemas.insert(name, schema);
    }
    reference(name)
}

fn to_components(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref")
                && let Some(name) = target.strip_prefix("#/$defs/")
            {
                *target = format!("#/components/schemas/{name}");
            }
            members.values_mut().for_each(to_components);
        }
        Value::Array(items) => items.iter_mut().for_each(to_components),
        _ => {}
    }
}

fn properties(call: &ToolSpec) -> Map<String, Value> {
    match call.input.wire()["properties"].take() {
        Value::Object(properties) => properties,
        _ => Map::new(),
    }
}

/// Returns the variables of an endpoint's path as parameters, under the path's names.
fn in_path(endpoint: &RestEndpoint, call: &ToolSpec) -> impl Iterator<Item = Value> {
    let mut properties = properties(call);
    let members = endpoint.is.call_members().into_iter().flatten();
    let parameters: Vec<_> = endpoint
        .variable_names()
        .zip(members)
        .map(|(name, member)| {
            let description = properties.get_mut(*member).map(|it| it["description"].take());
            json!({
                "name": name,
                "in": "path",
                "required": true,
                "description": description,
                "schema": { "type": "string", "minLength": 1 },
            })
        })
        .collect();
    parameters.into_iter()
}

fn required(schema: &str) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": reference(schema) } } })
}

/// Returns the schema of a workflow in the list.
fn workflow(contract: &ContractSpec) -> Value {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let mut outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| json!(outcome)).collect();
    outcomes.push(Value::Null);
    let state = object(&["state", "final"], json!({ "state": text(), "final": { "enum": outcomes } }));
    let decision =
        object(&["decision", "to", "needs"], json!({ "decision": text(), "to": text(), "needs": texts() }));
    let task = object(
        &["task_id", "name", "role", "not_by_author", "decisions"],
        json!({
            "task_id": text(),
            "name": text(),
            "role": { "oneOf": [text(), texts()] },
            "not_by_author": { "type": "boolean" },
            "decisions": { "type": "array", "items": decision },
        }),
    );
    let required = [
        "workflow_id",
        "name",
        "description",
        "version",
        "starts",
        "parameters_schema",
        "states",
        "tasks",
        "tool_mappings",
        contract.gate_members.gates,
        "bpmn",
    ];
    object(
        &required,
        json!({
            "workflow_id": text(),
            "name": text(),
            "description": text(),
            "version": { "type": "integer", "minimum": 1 },
            "starts": { "enum": Starts::ALL },
            "parameters_schema": {
                "type": ["object", "null"],
                "description": "Schema of the parameters with which a request starts it; null if it takes none.",
            },
            "states": { "type": "array", "items": state },
            "tasks": { "type": "array", "items": task },
            "tool_mappings": {
                "type": "object",
                "additionalProperties": text(),
                "description": "The tools whose calls are events, by event.",
            },
            (contract.gate_members.gates): texts(),
            "bpmn": { "type": "string", "description": "The workflow as BPMN 2.0." },
        }),
    )
}

/// Returns the status of a successful answer.
pub fn success_of(is: RestOperation) -> StatusCode {
    match is {
        RestOperation::WorkflowStart => StatusCode::CREATED,
        _ => StatusCode::OK,
    }
}
