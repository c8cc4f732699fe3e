//! A contract with orgs, projects, issues, comments and access keys, and calls of its operations.

use std::path::Path;

use serde_json::{Value, json};
use tabellion_runtime::{
    Answer, CallContext, ContractError, ErrorAnswer, Failure, IdempotencyKey, Rejection, Schema, Store,
    ToolSpec, dispatch,
    rows::{Rows, Table, table},
    spec::{
        Action, Also, Assigned, Assignment, Copied, Edges, EntitySpec, FieldSpec, FieldType, Hook, Moment,
        Next, OnDelete, OrgSpec, Reference, RowOperation, RowRule, RowsSpec, Scope, Seed, TextRule, Unique,
    },
};
use tempfile::TempDir;

use crate::{Location, Records, Start};

const ID: FieldSpec = FieldSpec::new("id", FieldType::Id);
const SEQ: FieldSpec = FieldSpec::new("seq", FieldType::Seq);
const ORG: FieldSpec = FieldSpec { hidden: true, ..reference("org_id", "org", OnDelete::Restrict, &[]) };
const CREATED: FieldSpec = FieldSpec::new("created_at", FieldType::Now(Moment::Create));
const UPDATED: FieldSpec = FieldSpec::new("updated_at", FieldType::Now(Moment::Change));

const fn reference(
    name: &'static str,
    to: &'static str,
    on_delete: OnDelete,
    same: &'static [&'static str],
) -> FieldSpec {
    let kind = FieldType::Ref(Reference { to, on_delete, same, acyclic: false });
    FieldSpec::new(name, kind)
}

const fn text(name: &'static str, min: usize, max: usize) -> FieldSpec {
    FieldSpec::new(name, FieldType::Text { min, max })
}

/// A field with a default in JSON.
const fn defaulting(default: &'static str, field: FieldSpec) -> FieldSpec {
    FieldSpec { default: Some(default), ..field }
}

/// A flag that is not set at first.
const fn flag(name: &'static str) -> FieldSpec {
    defaulting("false", FieldSpec::new(name, FieldType::Boolean))
}

/// A hidden copy of the `project_id` of a referenced issue.
const fn project_of(reference: &'static str) -> FieldSpec {
    FieldSpec {
        hidden: true,
        copy: Some(Copied { reference, field: "project_id" }),
        ..FieldSpec::new("project_id", FieldType::Id)
    }
}

const ORGS: EntitySpec = EntitySpec {
    name: "org",
    table: "orgs",
    scope: Scope::Root,
    fields: &[ID, text("name", 1, 50)],
    ..EntitySpec::EMPTY
};
const PROJECTS: EntitySpec = EntitySpec {
    name: "project",
    table: "projects",
    scope: Scope::Org("org_id"),
    fields: &[
        ID,
        ORG,
        text("name", 1, 50),
        flag("archived"),
        defaulting("0", FieldSpec::new("open", FieldType::Integer { min: 0, max: 1 << 40 })),
        SEQ,
        CREATED,
    ],
    uniques: &[Unique { fields: &["name"], folded: &["name"], while_null: None }],
    order: &["seq"],
    ..EntitySpec::EMPTY
};
const ISSUES: EntitySpec = EntitySpec {
    name: "issue",
    table: "issues",
    scope: Scope::Org("org_id"),
    fields: &[
        ID,
        ORG,
        FieldSpec { fixed: true, ..reference("project_id", "project", OnDelete::Restrict, &[]) },
        FieldSpec {
            fixed: true,
            ..FieldSpec::new("number", FieldType::Next(Next { within: &["project_id"], strict: true }))
        },
        text("title", 1, 9_000_000),
        FieldSpec {
            default: Some("\"open\""),
            pascal_case: true,
            ..FieldSpec::new("status", FieldType::Enum(&["open", "closed"]))
        },
        FieldSpec {
            optional: true,
            kind: FieldType::Ref(Reference {
                to: "issue",
                on_delete: OnDelete::Clear,
                same: &["project_id"],
                acyclic: true,
            }),
            ..FieldSpec::new("parent_id", FieldType::Boolean)
        },
        FieldSpec { one_true_in: &["project_id"], ..flag("pinned") },
        // Held within the children of a parent, which they can leave.
        FieldSpec { one_true_in: &["parent_id"], ..flag("leads") },
        FieldSpec { optional: true, ..FieldSpec::new("estimate", FieldType::Number) },
        defaulting("0", FieldSpec::new("priority", FieldType::Integer { min: i64::MIN, max: i64::MAX })),
        defaulting("[]", FieldSpec::new("labels", FieldType::List { max: 5, max_chars: 20 })),
        FieldSpec { optional: true, ..FieldSpec::new("extra", FieldType::Json) },
        FieldSpec { optional: true, of_store: true, ..FieldSpec::new("closed_at", FieldType::Time) },
        SEQ,
        CREATED,
        UPDATED,
    ],
    uniques: &[Unique { fields: &["project_id", "number"], folded: &[], while_null: None }],
    order: &["seq"],
    on: &[Hook {
        field: "status",
        is: "\"closed\"",
        set: &[Assignment { field: "closed_at", value: Assigned::Now, if_null: false }],
        otherwise: &[Assignment { field: "closed_at", value: Assigned::Json("null"), if_null: false }],
    }],
    ..EntitySpec::EMPTY
};
const COMMENTS: EntitySpec = EntitySpec {
    name: "comment",
    table: "comments",
    scope: Scope::Org("org_id"),
    fields: &[
        ID,
        ORG,
        FieldSpec { fixed: true, ..reference("issue_id", "issue", OnDelete::Cascade, &[]) },
        FieldSpec { text: &[TextRule::NotBlank, TextRule::MaxBytes(12)], ..text("body", 1, 1_000) },
        project_of("issue_id"),
        SEQ,
        CREATED,
    ],
    order: &["seq"],
    also: &[Also {
        on: Action::Create,
        when: &[("body", "\"close it\"")],
        unless: &[],
        entity: "issue",
        key: "issue_id",
        set: &[Assignment { field: "status", value: Assigned::Json("\"closed\""), if_null: false }],
    }],
    ..EntitySpec::EMPTY
};
const LINKS: EntitySpec = EntitySpec {
    name: "link",
    table: "links",
    scope: Scope::Org("org_id"),
    fields: &[
        ID,
        ORG,
        FieldSpec { fixed: true, ..reference("from_id", "issue", OnDelete::Cascade, &[]) },
        reference("to_id", "issue", OnDelete::Cascade, &["project_id"]),
        defaulting("\"needs\"", FieldSpec::new("kind", FieldType::Enum(&["needs", "like"]))),
        FieldSpec { optional: true, ..FieldSpec::new("begun_at", FieldType::Time) },
        FieldSpec { optional: true, ..FieldSpec::new("ended_at", FieldType::Time) },
        project_of("from_id"),
        SEQ,
    ],
    uniques: &[Unique { fields: &["from_id", "to_id", "kind"], folded: &[], while_null: None }],
    acyclic: &[Edges { from: "from_id", to: "to_id", by: Some("kind"), among: &["\"needs\""] }],
    rules: &[RowRule::Differ(&["from_id", "to_id"]), RowRule::Ordered(&["begun_at", "ended_at"])],
    order: &["seq"],
    ..EntitySpec::EMPTY
};
const KEYS: EntitySpec = EntitySpec {
    name: "access_key",
    table: "access_keys",
    scope: Scope::Org("org_id"),
    fields: &[
        ID,
        ORG,
        text("name", 1, 50),
        FieldSpec::new("secret", FieldType::Secret { prefix: "trk_" }),
        CREATED,
    ],
    ..EntitySpec::EMPTY
};

/// The contract's rows.
pub(crate) static TRACKER: RowsSpec = RowsSpec {
    contract: "tracker",
    version: "1.0.0",
    org: Some(OrgSpec { entity: "org", argument: Some("org"), default: "org_default" }),
    caller: None,
    entities: &[ORGS, PROJECTS, ISSUES, COMMENTS, LINKS, KEYS],
    seeds: &[
        Seed { entity: "org", org: None, row: r#"{"id":"org_default","name":"Default"}"# },
        Seed { entity: "org", org: None, row: r#"{"id":"org_b","name":"B"}"# },
    ],
};

pub(crate) fn operation(entity: &'static str, action: Action) -> &'static RowOperation {
    let arguments: &[(&str, &str)] = match (entity, action) {
        (_, Action::Create) => &[],
        ("issue", Action::List) => &[("project_id", "project_id")],
        ("comment", Action::List) => &[("issue_id", "issue_id")],
        (_, Action::List) => &[],
        _ => &[("id", "id")],
    };
    Box::leak(Box::new(RowOperation {
        data: Some("data"),
        arguments,
        limit: Some("limit"),
        after: Some("after"),
        limits: (10, 100),
        resource: None,
        ..RowOperation::new(entity, action)
    }))
}

static ANY: Schema = Schema::plain("{}");

fn tool(operation: &'static RowOperation) -> &'static ToolSpec {
    Box::leak(Box::new(ToolSpec {
        name: "entity",
        mutating: true,
        errors: &["FAILED"],
        rows: Some(*operation),
        ..ToolSpec::new(&ANY, &ANY)
    }))
}

/// The contract's only error.
pub(crate) struct Failed(Failure);

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl ContractError for Failed {
    fn answer(self) -> ErrorAnswer {
        let failure = self.0.clone().with("kind", self.0.kind.to_string());
        ErrorAnswer { name: "FAILED", code: -1, message: failure.message, data: failure.data }
    }
}

/// A data folder with the tracker.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) records: Records,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let records = open(folder.path());
        Self { folder, records }
    }

    /// As [`new`](Self::new), always in a file, even with a test server.
    pub(crate) fn in_file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let records = open_file(folder.path());
        Self { folder, records }
    }

    /// Closes the file; its folder stays until the returned value is dropped.
    pub(crate) fn closed(self) -> TempDir {
        self.folder
    }

    /// Calls an operation as a caller that is not bound to an org.
    #[track_caller]
    pub(crate) fn call(&self, entity: &'static str, action: Action, request: Value) -> Result<Value, Value> {
        let answer = call(&self.records, &CallContext::default(), entity, action, request);
        answer.map(|answer| answer.response)
    }

    #[track_caller]
    pub(crate) fn create(&self, entity: &'static str, data: Value) -> Value {
        self.call(entity, Action::Create, json!({ "data": data })).unwrap()
    }

    /// Returns the rule of an error.
    #[track_caller]
    pub(crate) fn refusal(&self, entity: &'static str, action: Action, request: Value) -> String {
        let error = self.call(entity, action, request).unwrap_err();
        error["rule"].as_str().unwrap_or_else(|| panic!("{error}")).to_owned()
    }

    pub(crate) fn export(&self) -> String {
        export(&self.records)
    }
}

/// Returns the export, which contains everything in the store.
pub(crate) fn export(records: &Records) -> String {
    let mut text = vec![];
    records.export(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Opens the tracker in a folder, or in the database for it.
pub(crate) fn open(folder: &Path) -> Records {
    Records::open(place(folder), &TRACKER, Start::Serve).unwrap()
}

/// Opens the tracker in a folder.
pub(crate) fn open_file(folder: &Path) -> Records {
    Records::open(&folder.join("data"), &TRACKER, Start::Serve).unwrap()
}

/// Returns the place of a folder's rows: in it, or in a separate database on the test server.
pub(crate) fn place(folder: &Path) -> Location {
    #[cfg(feature = "postgres")]
    if let Some(place) = super::database::place(folder) {
        return place;
    }
    Location::Folder(folder.join("data"))
}

/// A call with an idempotency key.
pub(crate) fn keyed(key: &str) -> CallContext {
    CallContext { idempotency_key: Some(IdempotencyKey::parse(key).unwrap()), ..CallContext::default() }
}

/// Calls an operation, and waits for it. See [`called`].
#[track_caller]
pub(crate) fn call(
    records: &Records,
    call: &CallContext,
    entity: &'static str,
    action: Action,
    request: Value,
) -> Result<Answer, Value> {
    wait(called(records, call, entity, action, request))
}

/// Calls an operation; its errors are made by [`declared`].
pub(crate) async fn called(
    records: &Records,
    call: &CallContext,
    entity: &'static str,
    action: Action,
    request: Value,
) -> Result<Answer, Value> {
    let operation = operation(entity, action);
    let (table, tool) = (Table::new(records.spec(), operation), tool(operation));
    let store: &dyn Store<Rows> = records;
    let outcome = match action {
        Action::Get | Action::List => {
            dispatch::read(tool, &table, store, call, request, table::read::<Failed>).await
        }
        _ => dispatch::mutate(tool, &table, store, call, request, table::mutate::<Failed>).await,
    };
    declared(outcome)
}

/// Returns an outcome whose error is the data of the contract's error, with its message and its code.
pub(crate) fn declared(outcome: Result<Answer, Rejection>) -> Result<Answer, Value> {
    outcome.map_err(|rejection| match rejection {
        Rejection::Declared(error) => {
            let mut data = Value::Object(error.data);
            data["message"] = error.message.into();
            data["code"] = error.code.into();
            data
        }
        other => panic!("{other:?}"),
    })
}

/// Runs a future to its end.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// As [`wait`], for futures that need threads.
#[cfg(feature = "postgres")]
pub(crate) fn wait_on_threads<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(future)
}
