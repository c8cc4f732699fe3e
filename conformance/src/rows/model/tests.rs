//! The model on a small contract: each request with its required outcome.

mod mcb;

use serde_json::{Value, json};
use tabellion_runtime::{
    ContractSpec, Schema, ToolSpec,
    spec::{
        Action, Assigned, Assignment, EntitySpec, FieldSpec, FieldType, Hook, Moment, Next, OnDelete,
        OrgSpec, Reference, RowOperation, RowsSpec, Scope, Unique,
    },
};

use super::*;
use crate::rows::requests::RequestContent;

static ANY: Schema = Schema::plain("{}");

const fn reference(to: &'static str, on_delete: OnDelete, acyclic: bool) -> FieldType {
    FieldType::Ref(Reference { to, on_delete, same: &[], acyclic })
}

static SPEC: RowsSpec = RowsSpec {
    contract: "tree",
    version: "1.0.0",
    org: Some(OrgSpec { entity: "org", argument: Some("org"), default: "one" }),
    entities: &[
        EntitySpec {
            name: "org",
            table: "orgs",
            scope: Scope::Root,
            fields: &[FieldSpec::new("id", FieldType::Id)],
            ..EntitySpec::EMPTY
        },
        EntitySpec {
            name: "node",
            table: "nodes",
            scope: Scope::Org("org"),
            fields: &[
                FieldSpec::new("id", FieldType::Id),
                FieldSpec::new("org", reference("org", OnDelete::Restrict, false)),
                FieldSpec::new("name", FieldType::Text { min: 1, max: 5 }),
                FieldSpec { default: Some("1"), ..FieldSpec::new("weight", FieldType::Number) },
                FieldSpec {
                    optional: true,
                    ..FieldSpec::new("parent", reference("node", OnDelete::Clear, true))
                },
                FieldSpec {
                    default: Some("false"),
                    one_true_in: &["parent"],
                    ..FieldSpec::new("first", FieldType::Boolean)
                },
                FieldSpec { optional: true, of_store: true, ..FieldSpec::new("at", FieldType::Time) },
                FieldSpec::new("changed", FieldType::Now(Moment::Change)),
            ],
            uniques: &[Unique { fields: &["name"], folded: &["name"], while_null: None }],
            order: &["name"],
            on: &[Hook {
                field: "first",
                is: "true",
                set: &[Assignment { field: "at", value: Assigned::Now, if_null: false }],
                otherwise: &[Assignment { field: "at", value: Assigned::Json("null"), if_null: false }],
            }],
            ..EntitySpec::EMPTY
        },
        EntitySpec {
            name: "leaf",
            table: "leaves",
            scope: Scope::Org("org"),
            key: &["node", "number"],
            fields: &[
                FieldSpec::new("org", reference("org", OnDelete::Restrict, false)),
                FieldSpec {
                    fixed: true,
                    ..FieldSpec::new("node", reference("node", OnDelete::Cascade, false))
                },
                FieldSpec {
                    fixed: true,
                    ..FieldSpec::new("number", FieldType::Next(Next { within: &["node"], strict: true }))
                },
            ],
            ..EntitySpec::EMPTY
        },
    ],
    seeds: &[],
    ..RowsSpec::EMPTY
};

const fn tool(entity: &'static str, action: Action) -> ToolSpec {
    ToolSpec {
        name: "x",
        rows: Some(RowOperation {
            data: Some("data"),
            arguments: match action {
                Action::Create => &[],
                _ => &[("id", "id"), ("parent", "parent")],
            },
            limit: Some("limit"),
            after: Some("after"),
            ..RowOperation::new(entity, action)
        }),
        ..ToolSpec::new(&ANY, &ANY)
    }
}

static TOOLS: [ToolSpec; 6] = [
    tool("node", Action::Create),
    tool("node", Action::Update),
    tool("node", Action::Delete),
    tool("node", Action::Get),
    tool("node", Action::List),
    tool("leaf", Action::Create),
];

static CONTRACT: ContractSpec = ContractSpec { rows: Some(&SPEC), tools: &TOOLS, ..ContractSpec::EMPTY };

fn request(action: Action, entity: &str, org: &str, key: &Value, data: &Value) -> Request {
    let tool = TOOLS
        .iter()
        .find(|tool| tool.rows.is_some_and(|it| it.action == action && it.entity == entity))
        .expect("an operation");
    let row = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let content =
        RequestContent { org: Some(org.into()), key: row(key), data: row(data), ..RequestContent::default() };
    // The schemas of these tools have no org.
    let mut request =
        Request::new(&CONTRACT, tool, RequestContent { org: Some("one".into()), ..content.clone() })
            .expect("a request");
    request.content.org = content.org;
    request
}

fn create(data: &Value) -> Request {
    request(Action::Create, "node", "one", &json!({}), data)
}

fn model() -> Model {
    let mut tables = Tables::default();
    for id in ["one", "two"] {
        let org = SPEC.entity("org").expect("an entity");
        tables.put(org, json!({ "id": id }).as_object().expect("a row").clone());
    }
    let node = SPEC.entity("node").expect("an entity");
    for (id, org, name, parent, first) in [
        ("a", "one", "A", json!(null), true),
        ("b", "one", "B", json!("a"), true),
        ("c", "one", "C", json!("b"), false),
        ("d", "two", "D", json!(null), false),
    ] {
        let row = json!({
            "id": id, "org": org, "name": name, "weight": 1.0, "parent": parent, "first": first, "at": null, "changed": 5,
        });
        tables.put(node, row.as_object().expect("a row").clone());
    }
    let leaf = SPEC.entity("leaf").expect("an entity");
    let row = json!({ "org": "one", "node": "a", "number": 3 });
    tables.put(leaf, row.as_object().expect("a row").clone());
    Model::new(&SPEC, &tables)
}

#[test]
fn what_breaks_a_rule_is_refused() {
    let update = |id: &str, data: Value| request(Action::Update, "node", "one", &json!({ "id": id }), &data);
    let leaf = |data: Value| request(Action::Create, "leaf", "one", &json!({}), &data);
    let field = |name: &str| Refused::Field(name.into());
    for (request, expected) in [
        (create(&json!({})), field("name")),
        (create(&json!({ "name": "" })), field("name")),
        (create(&json!({ "name": "sixsix" })), field("name")),
        (create(&json!({ "name": "x", "nmae": "x" })), field("nmae")),
        (create(&json!({ "name": "x", "at": 1 })), field("at")),
        (create(&json!({ "name": "x", "id": "a" })), field("id")),
        (create(&json!({ "name": "a" })), field("name")),
        (create(&json!({ "name": "x", "parent": "no" })), field("parent")),
        (create(&json!({ "name": "x", "parent": "d" })), field("parent")),
        (create(&json!({ "name": "x", "id": "x", "parent": "x" })), field("parent")),
        (request(Action::Create, "node", "no", &json!({}), &json!({ "name": "x" })), Refused::NotThere),
        (update("no", json!({ "name": "x" })), Refused::NotThere),
        (update("d", json!({ "name": "x" })), Refused::NotThere),
        (update("a", json!({ "name": "b" })), field("name")),
        (update("a", json!({ "id": "x" })), field("id")),
        (update("a", json!({ "name": null })), field("name")),
        (update("a", json!({ "parent": "c" })), field("parent")),
        (update("a", json!({ "parent": "a" })), field("parent")),
        (leaf(json!({ "node": "a", "number": 5 })), field("number")),
        (leaf(json!({ "node": "d" })), field("node")),
    ] {
        match model().outcome(&CONTRACT, &request) {
            Outcome::Refused(refused) => assert_eq!(refused, expected, "{}", request.arguments),
            other => panic!("{}: {other:?}", request.arguments),
        }
    }
}

/// Returns the rows after a request, as `[id, name, parent, first, is changed]`.
fn after(request: &Request) -> Vec<Value> {
    let outcome = model().outcome(&CONTRACT, request);
    let Outcome::Changed(later) = outcome else { panic!("{}: {outcome:?}", request.arguments) };
    let rows = later.all(SPEC.entity("node").expect("an entity")).iter();
    rows.map(|row| {
        let is_new = |name: &str| Made::from_value(&row[name]).is_some();
        json!([row["id"], row["name"], row["parent"], row["first"], is_new("changed"), is_new("at")])
    })
    .collect()
}

#[test]
fn a_change_has_its_consequences() {
    let [a, b, c, d] = [
        json!(["a", "A", null, true, false, false]),
        json!(["b", "B", "a", true, false, false]),
        json!(["c", "C", "b", false, false, false]),
        json!(["d", "D", null, false, false, false]),
    ];
    let update = |data: Value| request(Action::Update, "node", "one", &json!({ "id": "c" }), &data);
    let delete = |id: &str| request(Action::Delete, "node", "one", &json!({ "id": id }), &json!({}));
    let all = |third: Value| vec![a.clone(), b.clone(), third, d.clone()];
    // The name of the other case is its own.
    assert_eq!(after(&update(json!({ "name": "c" }))), all(json!(["c", "c", "b", false, true, false])));
    assert_eq!(after(&update(json!({ "name": "C", "weight": 1 }))), all(c.clone()));
    assert_eq!(after(&update(json!({ "first": true }))), all(json!(["c", "C", "b", true, true, true])));
    // The mark goes from one to the other.
    assert_eq!(
        after(&update(json!({ "first": true, "parent": "a" }))),
        [
            a.clone(),
            json!(["b", "B", "a", false, true, false]),
            json!(["c", "C", "a", true, true, true]),
            d.clone()
        ]
    );
    assert_eq!(
        after(&create(&json!({ "id": "e", "name": "D", "first": true, "parent": "a" }))),
        [
            a.clone(),
            json!(["b", "B", "a", false, true, false]),
            c.clone(),
            d.clone(),
            json!(["e", "D", "a", true, true, true])
        ]
    );
    assert_eq!(after(&delete("b")), [a.clone(), json!(["c", "C", null, false, true, false]), d.clone()]);
    let Outcome::Changed(later) = model().outcome(&CONTRACT, &delete("a")) else {
        panic!("it can be deleted")
    };
    assert!(later.all(SPEC.entity("leaf").expect("an entity")).is_empty());
}

#[test]
fn rows_are_read_in_their_order_and_within_an_org() {
    let list = |org: &str, limit: Option<u64>, after: Option<&str>, key: Value| {
        let mut request = request(Action::List, "node", org, &key, &json!({}));
        request.content.limit = limit;
        request.content.after = after.map(Value::from);
        match model().outcome(&CONTRACT, &request) {
            Outcome::Page(page) => {
                let ids = page.items.iter().map(|row| row["id"].clone());
                json!([ids.collect::<Vec<_>>(), page.total])
            }
            other => json!(format!("{other:?}")),
        }
    };
    for (found, expected) in [
        (list("one", None, None, json!({})), json!([["a", "b", "c"], 3])),
        (list("one", Some(2), None, json!({})), json!([["a", "b"], 3])),
        (list("one", None, Some("a"), json!({})), json!([["b", "c"], 3])),
        (list("two", None, None, json!({})), json!([["d"], 1])),
        (list("one", None, None, json!({ "parent": "a" })), json!([["b"], 1])),
        (list("one", None, Some("d"), json!({})), json!("Refused(Field(\"after\"))")),
        (list("one", None, None, json!({ "parent": "d" })), json!("NothingOrRefused")),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn what_the_server_makes_is_held_to_rules() {
    let node = SPEC.entity("node").expect("an entity");
    let made = |id: &str, changed: i64| {
        let mut tables = Tables::default();
        for entity in SPEC.entities {
            model().all(entity).iter().for_each(|row| tables.put(entity, row.clone()));
        }
        let row = json!({
            "id": id, "org": "one", "name": "new", "weight": 1.0, "parent": null, "first": false, "at": null,
            "changed": changed,
        });
        tables.put(node, row.as_object().expect("a row").clone());
        let Outcome::Changed(mut later) = model().outcome(&CONTRACT, &create(&json!({ "name": "new" })))
        else {
            panic!("it can be created")
        };
        later.learn(&tables, (90, 100)).err()
    };
    assert_eq!(made("x", 95), None);
    for (id, changed, expected) in [
        ("x y", 95, "instead of a new id"),
        ("x", 101, "instead of the time of the call"),
        ("a", 95, "`name` of node"),
    ] {
        let why = made(id, changed).expect("it is wrong");
        assert!(why.contains(expected), "{why}");
    }
}
