//! A data folder, and calls of the contract that is served from it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use serde_json::{Map, Value, json};
use tabellion_contracts::mcb::ROWS;
use tabellion_meaning::Models;
use tabellion_records::{Location, Records, Start};
use tabellion_runtime::{
    CallContext, CallOrigin, Claim, ContentId, Contract, Entry, Precondition, Rejection, Row, Rows, Store,
    rows::{Plan, Within},
};
use tabellion_vcs::Workspaces;
use tempfile::TempDir;

use super::super::{Parts, over};
pub(super) use tabellion_meaning::NoModel;

/// The contract over rows in a temporary folder, and its caller.
pub(super) struct Bench {
    folder: Arc<TempDir>,
    contract: Arc<dyn Contract>,
    pub(super) records: Arc<Records>,
    caller: Caller,
}

/// The caller of a tool.
#[derive(Debug, Clone, Default)]
pub(super) struct Caller {
    org: Option<&'static str>,
    base: Option<String>,
    meta: Map<String, Value>,
}

impl Caller {
    /// A caller of the default org with complete provenance.
    pub(super) fn new() -> Self {
        let fields = [
            ("session_id", "s-1"),
            ("project_id", "shop"),
            ("repo_id", "r-1"),
            ("repo_path", "/home/ada/shop"),
            ("worktree_id", "main"),
            ("operator_id", "ada"),
            ("machine_id", "engine"),
            ("agent_program", "claude-code"),
            ("model_id", "m-1"),
        ];
        fields.iter().fold(Self::default(), |caller, (field, value)| caller.with(field, value))
    }

    /// The caller without a field of its provenance.
    pub(super) fn without(mut self, field: &str) -> Self {
        self.meta.shift_remove(field);
        self
    }

    /// Returns a field of the caller's provenance.
    pub(super) fn said(&self, field: &str) -> &str {
        self.meta[field].as_str().unwrap()
    }

    /// Returns true if the caller is bound to an org.
    pub(super) fn is_bound(&self) -> bool {
        self.org.is_some()
    }

    /// The caller with another value of its provenance.
    pub(super) fn with(mut self, field: &str, value: &str) -> Self {
        self.meta.insert(field.into(), value.into());
        self
    }

    /// The caller, bound to an org.
    pub(super) fn of_org(mut self, org: &'static str) -> Self {
        self.org = Some(org);
        self
    }

    /// The caller, with a precondition on the content of the row that is changed.
    pub(super) fn if_base(mut self, base: &str) -> Self {
        self.base = Some(base.into());
        self
    }

    fn context(&self) -> CallContext {
        let base = self.base.as_deref().map(ContentId::new);
        CallContext {
            org: self.org.map(Into::into),
            if_base: base.map(Precondition::Has),
            origin: CallOrigin { meta: Arc::new(self.meta.clone()), ..CallOrigin::default() },
            ..CallContext::default()
        }
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::over(Arc::new(tempfile::tempdir().unwrap()))
    }

    /// Returns the same bench with another caller.
    pub(super) fn by(&self, caller: &Caller) -> Self {
        let (folder, contract, records) =
            (Arc::clone(&self.folder), Arc::clone(&self.contract), Arc::clone(&self.records));
        Self { folder, contract, records, caller: caller.clone() }
    }

    /// Ends the contract, unless another bench made by [`by`](Self::by) is left; returns its folder.
    pub(super) fn close(self) -> Arc<TempDir> {
        self.folder
    }

    /// Serves the contract from a folder that may have data already, by words alone.
    pub(super) fn over(folder: Arc<TempDir>) -> Self {
        Self::with_models(folder, Box::new(NoModel))
    }

    /// Serves the contract from a folder, with vectors of a model.
    pub(super) fn with_models(folder: Arc<TempDir>, models: Box<dyn Models>) -> Self {
        let data = folder.path().join("data");
        Self::placed(folder, Location::Folder(data), models)
    }

    /// Serves the contract from rows at a place, in a folder for everything else.
    pub(super) fn placed(folder: Arc<TempDir>, place: Location, models: Box<dyn Models>) -> Self {
        let records = Arc::new(Records::open(place, &ROWS, Start::Serve).unwrap());
        Self::serving(folder, records, "", models)
    }

    /// Serves the contract once more, for a folder of the workspace alone.
    pub(super) fn within(&self, workspace: &str) -> Self {
        Self::serving(Arc::clone(&self.folder), Arc::clone(&self.records), workspace, Box::new(NoModel))
    }

    fn serving(
        folder: Arc<TempDir>,
        records: Arc<Records>,
        workspace: &str,
        models: Box<dyn Models>,
    ) -> Self {
        let store: Arc<dyn Store<Rows>> = records.clone();
        let workspace = folder.path().join(workspace);
        let workspaces = Arc::new(Workspaces::new(std::slice::from_ref(&workspace), &workspace).unwrap());
        let parts = Parts::new(&records, &workspaces, models);
        parts.begin();
        let contract = over(store, parts.words, parts.code, workspaces);
        Self { folder, contract, records, caller: Caller::new() }
    }

    /// A bench with a project, and calls of its caller.
    pub(super) fn with_project() -> Self {
        let bench = Self::new();
        bench.add_project("shop");
        bench
    }

    /// Returns the answer of a call, with its `_meta`.
    #[track_caller]
    pub(super) fn answer(&self, tool: &str, request: Value) -> Result<(Value, Value), Value> {
        let context = self.caller.context();
        let call = self.contract.call(&context, tool, request.clone());
        match wait(call) {
            Ok(answer) => Ok((answer.response, answer.meta.into())),
            Err(Rejection::Declared(error)) => {
                let mut data = Value::Object(error.data);
                data["code"] = error.code.into();
                data["message"] = error.message.into();
                Err(data)
            }
            Err(other) => panic!("{request}: {other:?}"),
        }
    }

    /// Returns the answer of a call that must succeed.
    #[track_caller]
    pub(super) fn call(&self, tool: &str, request: Value) -> Value {
        match self.answer(tool, request.clone()) {
            Ok((answer, _)) => answer,
            Err(error) => panic!("{request}: {error}"),
        }
    }

    /// Returns the rules that a refused call breaks, and checks that the error is one that the caller can correct.
    #[track_caller]
    pub(super) fn refusal(&self, tool: &str, request: Value) -> String {
        let error = match self.answer(tool, request.clone()) {
            Ok((answer, _)) => panic!("{request}: {answer}"),
            Err(error) => error,
        };
        assert_eq!(error["code"], -32602, "{request}: {error}");
        let first = error["rule"].as_str().unwrap_or_else(|| panic!("{request}: {error}"));
        let Some(violations) = error["violations"].as_array() else {
            return first.to_owned();
        };
        assert_eq!(
            [&violations[0]["rule"], &violations[0]["pointer"]],
            [&error["rule"], &error["pointer"]],
            "{request}: {error}"
        );
        let rules = violations.iter().filter_map(|violation| violation["rule"].as_str());
        rules.collect::<Vec<_>>().join(" ")
    }

    /// Returns an export of the whole store.
    pub(super) fn export(&self) -> String {
        let mut text = vec![];
        self.records.export(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Returns the number of entries of the log.
    pub(super) fn changes(&self) -> u64 {
        self.records.check().unwrap().changes
    }

    /// Returns the stored rows of an entity.
    pub(super) fn rows(&self, entity: &str) -> Vec<Value> {
        let lines = self.export();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let rows = lines.filter(|line| line["row"]["entity"] == entity || line["entity"] == entity);
        rows.map(|line| {
            if line["row"]["row"].is_object() { line["row"]["row"].clone() } else { line["row"].clone() }
        })
        .collect()
    }

    /// Adds a project to the default org, as its own tool would.
    pub(super) fn add_project(&self, id: &str) {
        self.add("project", json!({ "id": id, "name": id, "path": format!("/{id}") }));
    }

    /// Adds a row to the default org.
    #[track_caller]
    pub(super) fn add(&self, entity: &str, row: Value) -> Row {
        self.add_to("org_default", entity, row)
    }

    #[track_caller]
    pub(super) fn add_to(&self, org: &str, entity: &str, row: Value) -> Row {
        let (facts, row) = (Map::new(), row.as_object().unwrap().clone());
        wait(async {
            let mut session = self.records.begin(Claim::default()).await.unwrap();
            let within = Within { org: Some(org.into()), is_bound: false };
            let mut plan = Plan::new(&ROWS, session.view(), within, &facts);
            let entity = plan.entity(entity).unwrap();
            let row = plan.create(entity, row).await.unwrap();
            let change = plan.finish("create").unwrap();
            let (call, details) = (CallContext::default(), Map::new());
            let entry = Entry { tool: "test", call: &call, request: None, details: &details };
            session.prepare(&change, &entry).await.unwrap();
            session.publish().await.unwrap();
            row
        })
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().into()
    }

    /// Writes a file of the workspace, which is the bench's folder.
    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Runs git in a folder; returns its output.
#[track_caller]
pub(super) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Commits all that is in a folder, the first time to the branch `main` of a new repository.
pub(super) fn commit_all(folder: &Path, message: &str) {
    if !folder.join(".git").exists() {
        git(folder, &["init", "-q", "-b", "main"]);
    }
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", message]);
}

/// Runs a future to its end.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(future)
}
