//! Workflows over REST: lists of them, and the calls by which instances are started, shown and completed.
//!
//! A request becomes the call that the contract declares for its endpoint ([`ContractSpec::calls`]): the path's
//! variables, the query and the body are its arguments. From then on it is handled like a call of a tool.

use std::sync::Arc;

use hyper::{Response, StatusCode, body::Bytes};
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    ContractSpec, ToolSpec, bpmn, openapi,
    spec::{Outcome, RestOperation, StateKind, WorkflowSpec},
    workflow_calls::RoleNames,
};

use crate::{
    answer,
    call::{self, Call, Ongoing},
    refusal::Refusal,
    rest::{Rest, RestRequest, not_found},
};

impl Rest {
    /// Makes the call of an endpoint of this kind. `variables` are those of the path, `query` the members of the query.
    pub(super) async fn call_workflow(
        self: &Arc<Self>,
        is: RestOperation,
        variables: Vec<String>,
        query: Vec<(String, String)>,
        asked: RestRequest,
    ) -> Result<Response<Bytes>, Refusal> {
        let call = self.contract.call_of(is).ok_or_else(not_found)?;
        if !self.offers(call.name) {
            let why = "this server is read-only, so that nothing is started or completed here";
            return Err(Refusal::new(StatusCode::NOT_FOUND, why));
        }
        let headers = asked.request.headers();
        let mut arguments =
            if call.mutating { call::body(headers, asked.request.body())? } else { from_query(call, query) };
        for (member, value) in is.call_members().into_iter().flatten().zip(variables) {
            if arguments.get(*member).is_some_and(|value| !value.is_null()) {
                let why = format!("`{member}` is in the path already: leave it out elsewhere");
                return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why));
            }
            arguments.insert((*member).to_owned(), value.into());
        }
        let call = Call::new(call, headers, arguments, self.origin(&asked))?;
        let outcome = Ongoing::begin(self, call)?.outcome().await;
        Ok(answer::plain(self.contract, openapi::success_of(is), outcome))
    }
}

/// Returns the arguments in a query, with the types of the call's schema. A value that does not parse as its type stays a text, which the
/// schema refuses.
fn from_query(call: &ToolSpec, query: Vec<(String, String)>) -> Map<String, Value> {
    let properties = call.input.wire()["properties"].take();
    let arguments = query.into_iter().map(|(name, text)| {
        let value = match properties[&name]["type"].as_str() {
            Some("integer") => text.parse::<i64>().ok().map(Value::from),
            Some("boolean") => text.parse::<bool>().ok().map(Value::from),
            _ => None,
        };
        (name, value.unwrap_or_else(|| text.into()))
    });
    arguments.collect()
}

/// Returns the JSON list of a contract's workflows.
pub(super) fn listed(contract: &ContractSpec) -> Value {
    let workflows: Vec<_> =
        contract.workflows.iter().map(|workflow| workflow_listed(contract, workflow)).collect();
    json!({ "count": workflows.len(), "workflows": workflows })
}

fn workflow_listed(contract: &ContractSpec, workflow: &'static WorkflowSpec) -> Value {
    let states = workflow.states.iter().map(|state| {
        let outcome: Option<Outcome> = match state.kind {
            StateKind::Task(_) => None,
            StateKind::Final(outcome) => Some(outcome),
        };
        json!({ "state": state.name, "final": outcome })
    });
    let tasks = workflow.states.iter().filter_map(|state| match state.kind {
        StateKind::Final(_) => None,
        StateKind::Task(task) => {
            let decisions = workflow.decisions(state.name).map(|transition| {
                json!({ "decision": transition.on, "to": transition.to, "needs": transition.needs })
            });
            Some(json!({
                "task_id": state.name,
                "name": task.name,
                "role": RoleNames::from_task(&task),
                "not_by_author": task.not_by_author,
                "decisions": decisions.collect::<Vec<_>>(),
            }))
        }
    });
    let mut tools = Map::new();
    for transition in workflow.transitions {
        if let Some(tool) = transition.by {
            tools.insert(transition.on.into(), tool.into());
        }
    }
    json!({
        "workflow_id": workflow.id,
        "name": workflow.name,
        "description": workflow.description,
        "version": workflow.version,
        "starts": workflow.starts,
        "parameters_schema": workflow.parameters.map(|schema| schema.wire()),
        "states": states.collect::<Vec<_>>(),
        "tasks": tasks.collect::<Vec<_>>(),
        "tool_mappings": tools,
        (contract.gate_members.gates): workflow.gates,
        "bpmn": bpmn::render(workflow),
    })
}
