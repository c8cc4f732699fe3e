//! The calls of workflow endpoints: for each such endpoint of `rest` an entry in `CALLS`, with exact schemas that follow from the
//! workflows, and a method of the trait.
//!
//! They are tools that clients of MCP do not see: the runtime dispatches them like all others, so a transition is one transaction, one
//! commit and one entry in the log, and callers, conditions and schemas are checked in the same place.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    spec::{self, Annotations, RestOperation, ScopeWord, Starts},
    workflow_calls::{InstanceStatus, MAX_LISTED, TaskState},
};

use super::read::{Workflow, distinct};
use crate::{
    contract::Contract,
    keys::{
        Emitted,
        auth::RoleLocation,
        rest::{Endpoint, endpoints},
    },
    leak::{exact, leaked, list, texts},
    problem::Problem,
    rust::text,
};

/// The members that every instance has.
pub(super) const MEMBERS: [&str; 11] = [
    "instance_id",
    "workflow_id",
    "version",
    "status",
    "state",
    "tasks",
    "data",
    "started_by",
    "created_at",
    "updated_at",
    "history",
];
/// Maximum length of a caller's notes on a decision, in characters.
const MAX_NOTES: usize = 8192;

/// A call of an endpoint.
struct Call<'a> {
    contract: &'a Contract,
    endpoint: &'a Endpoint,
    method: &'static str,
    description: &'static str,
    /// Types of its requests and of its answers, in the runtime.
    types: [&'static str; 2],
    mutating: bool,
    scopes: &'static [ScopeWord],
}

/// Returns the calls of a contract's endpoints, in their order.
fn calls(contract: &Contract) -> impl Iterator<Item = Call<'_>> {
    endpoints(contract).iter().filter_map(move |endpoint| {
        let (method, types, description) = match endpoint.is {
            RestOperation::WorkflowStart => {
                ("start_workflow", ["StartWorkflow", "StartedInstance"], "Starts an instance of a workflow.")
            }
            RestOperation::InstanceGet => (
                "workflow_instance",
                ["GetInstance", "InstanceView"],
                "Returns an instance of a workflow, with its tasks and its history.",
            ),
            RestOperation::InstanceList => (
                "workflow_instances",
                ["ListInstances", "Instances"],
                "Lists instances of workflows, oldest first.",
            ),
            RestOperation::TaskComplete => (
                "complete_task",
                ["CompleteTask", "InstanceView"],
                "Completes the task that an instance waits for.",
            ),
            _ => return None,
        };
        let mutating = matches!(endpoint.is, RestOperation::WorkflowStart | RestOperation::TaskComplete);
        Some(Call {
            contract,
            endpoint,
            method,
            description,
            types,
            mutating,
            // Reviewers' keys, which permit no other change, permit decisions too.
            scopes: if mutating && !endpoint.roles.is_empty() {
                &[ScopeWord::Write, ScopeWord::Review]
            } else {
                &[]
            },
        })
    })
}

/// Returns the trait's methods for endpoints, with the endpoints' places.
pub(crate) fn methods(contract: &Contract) -> impl Iterator<Item = (usize, &'static str)> {
    calls(contract).filter_map(move |call| {
        let mut all = endpoints(contract).iter();
        Some((all.position(|it| it == call.endpoint)?, call.method))
    })
}

/// Adds the problems of workflow endpoints.
pub(super) fn lint(contract: &Contract, problems: &mut Vec<Problem>) {
    for (i, endpoint) in endpoints(contract).iter().enumerate() {
        let at = |member: &str| format!("/rest/endpoints/{i}/{member}");
        let is = endpoint.is;
        if is.call_members().is_some() {
            let place = RoleLocation { document: &contract.document, at: at("roles"), what: "endpoint" };
            place.check(contract.spec.auth.as_ref(), &endpoint.roles, true, problems);
        } else if !endpoint.roles.is_empty() {
            problems.push(contract.document.problem(
                at("roles"),
                format!("endpoints of the kind `{is}` have no roles of their own"),
                "remove them",
            ));
        }
        let by_request = contract.spec.workflows.values();
        let mut by_request = by_request.filter(|workflow| workflow.starts == Starts::Request);
        if is == RestOperation::WorkflowStart
            && !contract.spec.workflows.is_empty()
            && by_request.next().is_none()
        {
            problems.push(contract.document.problem(
                at("is"),
                "no workflow starts by a request",
                "write `\"starts\": \"request\"` in one, or remove the endpoint",
            ));
        }
    }
}

pub(super) fn emit(contract: &Contract, mut emitted: Emitted) -> Emitted {
    let calls: Vec<_> = calls(contract).collect();
    if calls.is_empty() {
        return emitted;
    }
    let (entries, count) = (calls.iter().map(Call::entry), Literal::usize_unsuffixed(calls.len()));
    let schemas = calls.iter().flat_map(Call::schemas).map(|(name, schema)| {
        let schema = emitted.texts.keep(name.to_string().to_lowercase(), schema);
        quote!(static #name: Schema = Schema::exact(#schema);)
    });
    let schemas: Vec<_> = schemas.collect();
    emitted.fields.extend(quote!(calls: &CALLS,));
    emitted.items.extend(schemas);
    emitted.items.push(quote! {
        /// What endpoints call beside the tools.
        pub static CALLS: [ToolSpec; #count] = [#(#entries),*];
    });
    emitted.signatures.extend(calls.iter().map(Call::signature));
    let arm = |call: &Call<'_>| text::arm(&call.endpoint.is.to_string(), call.mutating, call.method);
    emitted.arms.extend(calls.iter().map(arm));
    emitted
}

pub(super) fn fill(contract: &Contract, table: &mut spec::ContractSpec) {
    table.calls = list(calls(contract).map(|call| {
        let [input, output] = call.schemas().map(|(_, schema)| exact(&schema));
        spec::ToolSpec {
            name: leaked(&call.endpoint.is.to_string()),
            description: call.description,
            annotations: call.annotations(),
            mutating: call.mutating,
            roles: texts(&call.endpoint.roles),
            scopes: call.scopes,
            errors: list(call.errors()),
            ..spec::ToolSpec::new(input, output)
        }
    }));
}

impl Call<'_> {
    fn annotations(&self) -> Annotations {
        Annotations {
            read_only: !self.mutating,
            destructive: false,
            idempotent: !self.mutating,
            open_world: false,
        }
    }

    /// Returns the names of its possible errors: all errors with failures of the runtime.
    fn errors(&self) -> impl Iterator<Item = &'static str> {
        let errors = self.contract.spec.errors.iter();
        errors.filter(|(_, error)| !error.failures.is_empty()).map(|(name, _)| *name)
    }

    /// Returns the schemas of its requests and answers, with the names of their statics.
    fn schemas(&self) -> [(Ident, Value); 2] {
        let base = self.method.to_uppercase();
        let workflows = Workflows(self.contract);
        let (input, output) = match self.endpoint.is {
            RestOperation::WorkflowStart => (start_request(), workflows.started()),
            RestOperation::InstanceGet => (get_request(), workflows.instance()),
            RestOperation::InstanceList => (workflows.list_request(), workflows.instances()),
            _ => (complete_request(), workflows.instance()),
        };
        [(format_ident!("{base}_REQUEST"), input), (format_ident!("{base}_ANSWER"), output)]
    }

    fn entry(&self) -> TokenStream {
        let (name, description, mutating) = (self.endpoint.is.to_string(), self.description, self.mutating);
        let annotations = crate::keys::annotations::emitted(self.annotations());
        let (roles, errors) = (&self.endpoint.roles, self.errors());
        let scopes = self.scopes.iter().map(text::variant);
        let [(input, _), (output, _)] = self.schemas();
        quote! {
            ToolSpec {
                name: #name,
                description: #description,
                annotations: #annotations,
                mutating: #mutating,
                roles: &[#(#roles),*],
                scopes: &[#(spec::ScopeWord::#scopes),*],
                errors: &[#(#errors),*],
                ..ToolSpec::new(&#input, &#output)
            }
        }
    }

    fn signature(&self) -> TokenStream {
        let (docs, name) = (text::docs(self.description), format_ident!("{}", self.method));
        let [request, answer] = self.types.map(|name| format_ident!("{name}"));
        let ground: TokenStream = self.contract.spec.rows.iter().map(|_| quote!(, Rows)).collect();
        let answer = quote!(tabellion_runtime::workflow_calls::#answer);
        let (cx, answer) = if self.mutating {
            (quote!(WriteCx), quote!(Staged<#answer #ground>))
        } else {
            (quote!(ReadCx), answer)
        };
        quote! {
            #docs
            fn #name(
                &self,
                cx: &#cx<'_ #ground>,
                req: tabellion_runtime::workflow_calls::#request,
            ) -> impl Future<Output = Result<#answer, ToolError>> + Send;
        }
    }
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties })
}

fn start_request() -> Value {
    object(
        &["workflow_id"],
        json!({
            "workflow_id": { "type": "string", "description": "Id of the workflow." },
            "parameters": { "type": "object", "description": "Its parameters." },
        }),
    )
}

fn get_request() -> Value {
    object(
        &["instance_id"],
        json!({ "instance_id": { "type": "string", "description": "Id of the instance." } }),
    )
}

fn complete_request() -> Value {
    object(
        &["instance_id", "task_id", "decision"],
        json!({
            "instance_id": { "type": "string", "description": "Id of the instance." },
            "task_id": { "type": "string", "description": "Id of its task." },
            "decision": { "type": "string", "minLength": 1, "maxLength": 64, "description": "One of the task's `decisions`." },
            "notes": { "type": "string", "maxLength": MAX_NOTES, "description": "What to say about it." },
            "data": { "type": "object", "description": "What the task has brought, for the tasks after it." },
        }),
    )
}

/// The workflows of a contract, for schemas that follow from them.
struct Workflows<'a>(&'a Contract);

impl Workflows<'_> {
    fn all(&self) -> impl Iterator<Item = (&str, &Workflow)> {
        self.0.spec.workflows.iter().map(|(id, workflow)| (*id, workflow))
    }

    /// Returns the schema of a value that belongs to one of the workflows that `is_meant` accepts; `each` makes theirs.
    fn of_each(
        &self,
        suffix: &str,
        is_meant: impl Fn(&Workflow) -> bool,
        each: impl Fn(&str, &Workflow) -> Value,
    ) -> (Value, Map<String, Value>) {
        let definitions: Map<String, Value> = self
            .all()
            .filter(|(_, workflow)| is_meant(workflow))
            .map(|(id, workflow)| (format!("{id}_{suffix}"), each(id, workflow)))
            .collect();
        let mut options: Vec<_> =
            definitions.keys().map(|name| json!({ "$ref": format!("#/$defs/{name}") })).collect();
        let schema = if options.len() == 1 { options.remove(0) } else { json!({ "oneOf": options }) };
        (schema, definitions)
    }

    fn started(&self) -> Value {
        let is_started = |workflow: &Workflow| workflow.starts == Starts::Request;
        let each = |id: &str, workflow: &Workflow| {
            object(
                &["instance_id", "workflow_id", "version", "status", "state", "next_task"],
                json!({
                    "instance_id": { "type": "string" },
                    "workflow_id": { "const": id },
                    "version": { "type": "integer", "minimum": 1 },
                    "status": { "enum": InstanceStatus::ALL },
                    "state": { "enum": names(workflow.states.keys()) },
                    "next_task": { "oneOf": [task(workflow), { "type": "null" }] },
                }),
            )
        };
        let (schema, definitions) = self.of_each("started", is_started, each);
        defined(schema, definitions)
    }

    fn instance(&self) -> Value {
        let (schema, definitions) = self.of_each("instance", |_| true, instance);
        defined(schema, definitions)
    }

    fn instances(&self) -> Value {
        let (schema, definitions) = self.of_each("instance", |_| true, instance);
        let listed = object(
            &["count", "instances"],
            json!({
                "count": { "type": "integer", "minimum": 0, "maximum": MAX_LISTED },
                "instances": { "type": "array", "maxItems": MAX_LISTED, "items": schema },
            }),
        );
        defined(listed, definitions)
    }

    fn list_request(&self) -> Value {
        object(
            &[],
            json!({
                "status": { "enum": InstanceStatus::ALL, "description": "Only instances with this status." },
                "workflow_id": { "enum": names(self.all().map(|(id, _)| id)), "description": "Only instances of this workflow." },
                "mine": { "type": "boolean", "default": false, "description": "Only instances that the caller has started." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LISTED, "default": MAX_LISTED, "description": "Maximum number of instances." },
                "after": { "type": "string", "description": "Only instances after the one with this id." },
            }),
        )
    }
}

/// Adds definitions to a schema.
fn defined(schema: Value, definitions: Map<String, Value>) -> Value {
    let mut whole = json!({ "$defs": definitions });
    if let (Some(whole), Value::Object(schema)) = (whole.as_object_mut(), schema) {
        whole.extend(schema);
    }
    whole
}

fn names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Vec<String> {
    names.into_iter().map(|name| name.as_ref().to_owned()).collect()
}

fn instance(id: &str, workflow: &Workflow) -> Value {
    let text = || json!({ "type": "string" });
    let time = || json!({ "type": "string", "format": "date-time" });
    let or_null = |types: &str| json!({ "type": [types, "null"] });
    let mut properties = Map::new();
    let mut put = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
    put("instance_id", text());
    put("workflow_id", json!({ "const": id }));
    put("version", json!({ "type": "integer", "minimum": 1 }));
    put("status", json!({ "enum": InstanceStatus::ALL }));
    put("state", json!({ "enum": names(workflow.states.keys()) }));
    for (name, schema) in &workflow.about {
        put(name, schema.clone());
    }
    put("tasks", json!({ "type": "array", "items": task(workflow) }));
    put(
        "data",
        json!({ "type": "object", "description": "What was given at the start and with its tasks." }),
    );
    put("started_by", text());
    put("created_at", time());
    put("updated_at", time());
    let passage = object(
        &["from", "to", "on", "by", "at", "commit"],
        json!({
            "from": or_null("string"),
            "to": text(),
            "on": text(),
            "by": text(),
            "at": time(),
            "commit": or_null("string"),
        }),
    );
    put("history", json!({ "type": "array", "minItems": 1, "items": passage }));
    let required: Vec<_> = properties.keys().cloned().collect();
    let required: Vec<_> = required.iter().map(String::as_str).collect();
    object(&required, properties.clone().into())
}

/// Returns the schema of a workflow's tasks.
fn task(workflow: &Workflow) -> Value {
    let tasks = || {
        let states = workflow.states.iter();
        states.filter_map(|(name, state)| Some((name, state.task()?)))
    };
    // In the form of the declaration: one role, or several.
    let one = tasks().any(|(_, task)| task.roles.len() == 1).then(|| json!({ "type": "string" }));
    let several = tasks().any(|(_, task)| task.roles.len() != 1);
    let several = several.then(|| json!({ "type": "array", "items": { "type": "string" } }));
    let mut roles: Vec<_> = [one, several].into_iter().flatten().collect();
    let role = if roles.len() == 1 { roles.remove(0) } else { json!({ "oneOf": roles }) };
    let decisions: Vec<_> = {
        let decisions = workflow.transitions.iter().filter(|it| it.by.is_none());
        distinct(decisions.map(|transition| transition.on))
    };
    let mut made: Vec<_> = workflow.events().into_iter().map(Value::from).collect();
    made.push(Value::Null);
    object(
        &["task_id", "name", "role", "state", "decisions", "decision", "completed_by", "completed_at"],
        json!({
            "task_id": { "enum": names(tasks().map(|(name, _)| name)) },
            "name": { "type": "string" },
            "role": role,
            "state": { "enum": TaskState::ALL },
            "decisions": { "type": "array", "items": { "enum": decisions } },
            "decision": { "enum": made },
            "completed_by": { "type": ["string", "null"] },
            "completed_at": { "oneOf": [{ "type": "string", "format": "date-time" }, { "type": "null" }] },
        }),
    )
}
