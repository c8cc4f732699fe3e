//! A contract with modes and provenance, without generated code: nine tools, three modes, twelve fields.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tabellion_runtime::{
    Answer, BoxFuture, CallContext, Change, Content, ContractError, ContractSpec, Discovered, Documents,
    Environment, ErrorAnswer, ErrorSpec, Failure, FailureKind, Provenance, Rejection, Schema, ToolSpec,
    Transport, WriteCx, dispatch, provenance,
    spec::{
        AlsoIf, Discovery, ErrorChannel, MissingProvenance, ModesSpec, ProvenanceDefault, ProvenanceField,
        ProvenancePlace::{self, Bound, Config, Holder},
        ProvenanceSpec, ProvenanceType, ProvenanceUse,
    },
};

use super::{memory::Memory, ready};

const fn text(
    name: &'static str,
    keys: &'static [&'static str],
    headers: &'static [&'static str],
    from: &'static [ProvenancePlace],
    discover: Option<Discovery>,
) -> ProvenanceField {
    ProvenanceField { name, kind: ProvenanceType::String, keys, headers, from, discover, default: None }
}

pub(crate) static FIELDS: &[ProvenanceField] = &[
    text(
        "session_id",
        &["session_id", "sessionId", "x-session-id", "x_session_id"],
        &["X-Session-Id"],
        &[Bound, Config],
        Some(Discovery::Session),
    ),
    text(
        "project_id",
        &["project_id", "projectId", "x-project-id", "x_project_id"],
        &["X-Project-Id"],
        &[Bound, Config],
        Some(Discovery::Project),
    ),
    text(
        "repo_id",
        &["repo_id", "repoId", "x-repo-id", "x_repo_id"],
        &["X-Repo-Id"],
        &[Bound, Config],
        Some(Discovery::Repository),
    ),
    text(
        "repo_path",
        &["repo_path", "repoPath", "x-repo-path", "x_repo_path"],
        &["X-Repo-Path", "X-Workspace-Root"],
        &[Bound, Config],
        Some(Discovery::RepositoryPath),
    ),
    text(
        "worktree_id",
        &["worktree_id", "worktreeId", "x-worktree-id", "x_worktree_id"],
        &["X-Worktree-Id"],
        &[Bound, Config],
        Some(Discovery::WorkTree),
    ),
    text(
        "operator_id",
        &["operator_id", "operatorId", "x-operator-id", "x_operator_id"],
        &["X-Operator-Id"],
        &[Holder, Config],
        Some(Discovery::Operator),
    ),
    text(
        "machine_id",
        &["machine_id", "machineId", "x-machine-id", "x_machine_id"],
        &["X-Machine-Id"],
        &[Config],
        Some(Discovery::Machine),
    ),
    text(
        "agent_program",
        &["agent_program", "agentProgram", "ide", "x-agent-program", "x_agent_program"],
        &["X-Agent-Program"],
        &[Config],
        Some(Discovery::Client),
    ),
    text(
        "model_id",
        &["model_id", "model", "modelId", "x-model-id", "x_model_id"],
        &["X-Model-Id"],
        &[Config],
        Some(Discovery::Unknown),
    ),
    ProvenanceField {
        kind: ProvenanceType::Boolean,
        default: Some(ProvenanceDefault::Present("parent_session_id")),
        ..text(
            "delegated",
            &["delegated", "is_delegated", "isDelegated", "x-delegated"],
            &["X-Delegated"],
            &[],
            None,
        )
    },
    ProvenanceField {
        kind: ProvenanceType::Integer,
        default: Some(ProvenanceDefault::Now),
        ..text("timestamp", &["timestamp"], &[], &[], None)
    },
    text(
        "parent_session_id",
        &["parent_session_id", "parentSessionId", "x-parent-session-id", "x_parent_session_id"],
        &["X-Parent-Session-Id"],
        &[Bound],
        None,
    ),
];

pub(crate) const REQUIRED: &[&str] = &[
    "session_id",
    "project_id",
    "repo_id",
    "repo_path",
    "worktree_id",
    "operator_id",
    "machine_id",
    "agent_program",
    "model_id",
    "delegated",
    "timestamp",
];

static PROVENANCE: ProvenanceSpec = ProvenanceSpec {
    fields: FIELDS,
    session: Some("session_id"),
    required: REQUIRED,
    also_if: &[AlsoIf { field: "delegated", then: &["parent_session_id"] }],
    missing: MissingProvenance {
        error: "INVALID",
        message: "Missing execution provenance for '{tool}': {fields}",
    },
};

static MODES: ModesSpec = ModesSpec {
    names: &["stdio-only", "client-hybrid", "server-hybrid"],
    env: Some("EXECUTION_FLOW"),
    header: Some("X-Execution-Flow"),
    lines: "stdio-only",
    http: "server-hybrid",
    error: "INVALID",
    refused: "Operation mode matrix violation for '{tool}': flow '{mode}' is not allowed. Allowed flows: {allowed}",
    unknown: "Invalid execution_flow '{mode}'. Expected one of: {names}",
};

static INPUT: Schema = Schema::plain(
    r#"{ "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } }, "additionalProperties": false }"#,
);
static OUTPUT: Schema = Schema::plain(
    r#"{ "type": "object", "required": ["text"], "properties": { "text": { "type": "string" }, "by": { "type": "string" } } }"#,
);

const fn tool(name: &'static str, modes: &'static [&'static str], used: Option<ProvenanceUse>) -> ToolSpec {
    ToolSpec {
        name,
        mutating: true,
        modes,
        provenance: used,
        errors: &["INVALID", "FAILED"],
        ..ToolSpec::new(&INPUT, &OUTPUT)
    }
}

const ALL: &[&str] = &["stdio-only", "client-hybrid", "server-hybrid"];
const SERVER: &[&str] = &["stdio-only", "server-hybrid"];

/// A tool that requires provenance.
pub(crate) static ALWAYS: ToolSpec = tool("always", ALL, Some(ProvenanceUse::Required));
/// A tool that stores the available fields.
pub(crate) static NEVER: ToolSpec = tool("never", ALL, Some(ProvenanceUse::Kept));

pub(crate) static TOOLS: [ToolSpec; 9] = [
    tool("index", ALL, None),
    tool("search", SERVER, None),
    tool("validate", &["stdio-only", "client-hybrid"], None),
    tool("memory", SERVER, None),
    tool("session", SERVER, None),
    tool("agent", SERVER, None),
    tool("project", SERVER, None),
    tool("vcs", SERVER, None),
    tool("entity", SERVER, None),
];

pub(crate) static CONTRACT: ContractSpec = ContractSpec {
    id: "sessions",
    error_channel: ErrorChannel::JsonRpc,
    errors: &[
        ErrorSpec { name: "INVALID", code: -32602, message: "invalid" },
        ErrorSpec { name: "FAILED", code: -32603, message: "failed" },
    ],
    modes: Some(&MODES),
    provenance: Some(&PROVENANCE),
    tools: &TOOLS,
    ..ContractSpec::EMPTY
};

pub(crate) struct Error(Failure);

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl ContractError for Error {
    fn answer(self) -> ErrorAnswer {
        let Failure { kind, message, data, .. } = self.0;
        let (name, code) =
            if kind == FailureKind::Invalid { ("INVALID", -32602) } else { ("FAILED", -32603) };
        ErrorAnswer { name, code, message, data }
    }
}

/// A server's environment.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) mode: Option<&'static str>,
    pub(crate) config: Value,
    pub(crate) discovers: bool,
    /// Each discovery that was made.
    pub(crate) asked: Arc<Mutex<Vec<()>>>,
}

impl Default for Facts {
    fn default() -> Self {
        Self { mode: None, config: Value::Null, discovers: false, asked: Arc::default() }
    }
}

impl Environment for Facts {
    fn mode(&self, contract: &ContractSpec) -> Option<String> {
        assert_eq!(contract.id, CONTRACT.id);
        self.mode.map(str::to_owned)
    }

    fn configured(&self, field: &str) -> Option<Value> {
        self.config.get(field).cloned()
    }

    fn discovers(&self, _: Transport) -> bool {
        self.discovers
    }

    fn discover(&self) -> BoxFuture<'_, Arc<Discovered>> {
        self.asked.lock().unwrap().push(());
        let found = |text: &str| Some(text.to_owned());
        let discovered = Discovered {
            project: found("a project"),
            repository: found("a repository"),
            repository_path: found("/a/path"),
            work_tree: found("main"),
            operator: found("an operator"),
            machine: found("a machine"),
        };
        Box::pin(async { Arc::new(discovered) })
    }
}

/// An implementation that binds a project and a work tree to every session with a name of one word.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pub(crate) asked: Mutex<Vec<String>>,
}

/// Establishes the provenance of a call.
pub(crate) fn establish(tool: &'static ToolSpec, call: &CallContext) -> Result<Arc<Provenance>, Rejection> {
    establish_with(tool, call, &Sessions::default())
}

pub(crate) fn establish_with(
    tool: &'static ToolSpec,
    call: &CallContext,
    sessions: &Sessions,
) -> Result<Arc<Provenance>, Rejection> {
    let memory = Memory::default();
    let established = provenance::establish::<_, Error, Documents>(
        &CONTRACT,
        tool,
        call,
        sessions,
        &memory,
        |sessions, _, session| {
            Box::pin(async move {
                sessions.asked.lock().unwrap().push(session.to_owned());
                if session == "broken" {
                    return Err(Failure::new(FailureKind::Io, "the sessions can't be read").into());
                }
                if session.contains(' ') {
                    // An unknown one.
                    return Ok(Map::new());
                }
                let bound = format!("bound to {session}");
                let values = json!({ "project_id": bound, "worktree_id": bound, "model_id": bound });
                Ok(values.as_object().unwrap().clone())
            })
        },
    );
    Ok(ready(established)?.provenance.unwrap())
}

/// Returns the fields with their sources: all but defaults.
pub(crate) fn said(provenance: &Provenance) -> Value {
    let fields = FIELDS.iter().filter_map(|field| {
        let source = provenance.source(field.name)?;
        let said = json!([provenance.get(field.name), source]);
        (said[1] != "default").then_some((field.name.to_owned(), said))
    });
    Value::Object(fields.collect())
}

#[track_caller]
pub(crate) fn rejected<T>(outcome: Result<T, Rejection>) -> ErrorAnswer {
    match outcome {
        Err(Rejection::Declared(error)) => error,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was not rejected"),
    }
}

/// Calls `never` as generated code does.
pub(crate) fn put(memory: &Memory, call: &CallContext, arguments: Value) -> Result<Answer, Rejection> {
    let call = CallContext { provenance: Some(establish(&NEVER, call)?), ..call.clone() };
    ready(dispatch::mutate::<_, Value, Value, Error, Documents>(
        &NEVER,
        &(),
        memory,
        &call,
        arguments,
        |(), cx: &WriteCx<'_>, request| {
            Box::pin(async move {
                let by = cx.provenance().text("operator_id").unwrap_or_default();
                let response = json!({ "text": request["text"], "by": by });
                let change = Change::one("a.md", Content::Write(vec![]), "put", "a note");
                let details = Map::from_iter([("tool's".into(), "own".into())]);
                Ok(cx.stage(change, move |_| response).with_details(details))
            })
        },
    ))
}
