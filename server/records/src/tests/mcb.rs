//! The contract `mcb` over this store: every operation on rows and every refused pair, as data in `mcb/cases.json`; and the
//! original's defects, in `mcb/defects.json`, under their names in `server/docs/mcb.md`.
//!
//! A case is `[call, arguments, expectation]`. A call is a tool, an action and a resource, after the caller's org if it is bound to
//! one. The expectation is a part of the answer or of the error's data; or an error's rule, and the pointer to the violation; or
//! these and a part of its message. `<time>`, `<id>`, `<number>`, `<secret>` and `<none>` stand for any such value.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tabellion_contracts::mcb::{CONTRACT, ROWS, ToolError};
use tabellion_runtime::{
    Answer, CallContext, RowChange, RowEdit, Rows, RowsChange, Schema, Store, ToolSpec, dispatch,
    rows::{self, Table, lone_changes, table},
    spec::{Action, RowOperation},
};
use tempfile::TempDir;

use super::tracker::{TRACKER, declared, export, place, wait};
use crate::{Records, Start};

/// The store decides by the list that a contract's lint prints.
#[test]
fn the_changes_that_must_be_alone_are_those_that_are_listed() {
    for spec in [&ROWS, &TRACKER] {
        for entity in spec.entities {
            let lone = lone_changes(spec, entity);
            let is_listed =
                |action, field| lone.iter().any(|lone| lone.action == action && lone.field == field);
            let is_alone = |edit| {
                let change = RowChange::new(entity, vec![], edit, BTreeSet::new());
                !RowsChange::new(vec![change], "test").unwrap().fits_beside_others(spec)
            };
            let insert = |row| is_alone(RowEdit::Insert(row));
            assert!(is_alone(RowEdit::Remove) && is_listed(Action::Delete, None));
            assert_eq!(insert(Map::new()), is_listed(Action::Create, None), "{}", entity.name);
            for field in entity.fields.iter().filter(|field| !field.fixed) {
                let (name, place) = (Some(field.name), format!("{} {}", entity.name, field.name));
                let set = |value: Value| Map::from_iter([(field.name.to_owned(), value)]);
                let is_lone = is_listed(Action::Create, None) || is_listed(Action::Create, name);
                assert_eq!(insert(set(true.into())), is_lone, "{place}");
                assert_eq!(
                    is_alone(RowEdit::Patch(set(Value::Null))),
                    is_listed(Action::Update, name),
                    "{place}"
                );
            }
        }
    }
}

/// The tools whose operations all follow from entities.
const TOOLS: [&str; 2] = ["entity", "project"];

struct Bench {
    _folder: TempDir,
    records: Records,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(place(folder.path()), &ROWS, Start::Serve).unwrap();
        Self { _folder: folder, records }
    }

    /// Calls a tool as clients do; its errors are made by [`declared`].
    #[track_caller]
    fn call(&self, call: &CallContext, tool: &str, arguments: Value) -> Result<Answer, Value> {
        let tool = CONTRACT.tool(tool).unwrap();
        let outcome = wait(async {
            let operation = dispatch::operation::<ToolError>(tool, &arguments)?;
            let (service, store) = (&(), &self.records);
            let run = dispatch::Run { operation, service, store, call, arguments };
            rows::run::<ToolError, _>(&ROWS, run).await
        });
        declared(outcome)
    }

    /// Begins an agent's session, for which these tools have no operation.
    fn session(&self, data: Value) -> Value {
        static CREATE: RowOperation =
            RowOperation { data: None, ..RowOperation::new("agent_session", Action::Create) };
        static ANY: Schema = Schema::plain("{}");
        static TOOL: ToolSpec = ToolSpec { mutating: true, ..ToolSpec::new(&ANY, &ANY) };
        let mut session = json!({"agent_type": "claude-code", "model": "m", "project_id": "p"});
        session["id"] = data["id"].clone();
        let (table, store): (_, &dyn Store<Rows>) = (Table::new(&ROWS, &CREATE), &self.records);
        let call = CallContext::default();
        let answer = wait(dispatch::mutate(&TOOL, &table, store, &call, session, table::mutate::<ToolError>));
        answer.unwrap().response
    }
}

fn cases() -> Map<String, Value> {
    serde_json::from_str(include_str!("../../tests/mcb/cases.json")).unwrap()
}

fn defects() -> Map<String, Value> {
    serde_json::from_str(include_str!("../../tests/mcb/defects.json")).unwrap()
}

/// Returns the first difference of `found` from the expectation.
fn difference(found: &Value, expected: &Value) -> Option<String> {
    let fits = match expected.as_str() {
        Some("<time>") => found.as_i64().is_some_and(|time| time > 1_700_000_000),
        Some("<number>") => found.as_i64().is_some_and(|number| number > 0),
        Some("<id>") => found.as_str().is_some_and(|id| id.len() == 36),
        Some("<secret>") => found
            .as_str()
            .and_then(|secret| secret.strip_prefix("mcb_"))
            .is_some_and(|digits| digits.len() == 64),
        Some("<none>") => found.is_null(),
        _ => match expected {
            Value::Object(members) => {
                let of = |(name, expected): (&String, &Value)| {
                    let none = expected == "<none>" && found.get(name).is_some();
                    let found = difference(&found[name], expected);
                    found.or(none.then(|| "is there".into())).map(|found| format!("{name}: {found}"))
                };
                return members.iter().find_map(of);
            }
            Value::Array(items) => {
                let found = found.as_array().cloned().unwrap_or_default();
                if found.len() != items.len() {
                    return Some(format!("{found:?} has not {} items", items.len()));
                }
                return found.iter().zip(items).find_map(|(found, expected)| difference(found, expected));
            }
            expected => found == expected,
        },
    };
    (!fits).then(|| format!("{found} and not {expected}"))
}

/// Makes the call of a case; returns a sentence about the violation, if any. Refused calls must change nothing.
fn judge(bench: &Bench, case: &Value) -> Option<String> {
    let (words, expected) = (case[0].as_str().unwrap(), &case[2]);
    let words: Vec<_> = words.split(' ').collect();
    let mut call = CallContext::default();
    let (tool, action, resource) = match words.as_slice() {
        ["session"] => return difference(&bench.session(case[1].clone()), expected),
        [tool, action, resource] => (tool, action, resource),
        [org, tool, action, resource] => {
            call.org = Some((*org).into());
            (tool, action, resource)
        }
        _ => panic!("{case}"),
    };
    let mut arguments = json!({"action": action, "resource": resource});
    for (name, value) in case[1].as_object().unwrap() {
        arguments[name] = value.clone();
    }
    let before = export(&bench.records);
    let answer = bench.call(&call, tool, arguments);
    let is_expected = |error: &Value, rule: &str| {
        let (rule, pointer) = rule.split_once(' ').unwrap_or((rule, ""));
        let found = error["violations"][0]["pointer"].as_str().unwrap_or_default();
        let fits = error["rule"] == rule && (pointer.is_empty() || found == pointer);
        (!fits || error["code"] != -32602).then(|| format!("{error} and not {rule} at {pointer}"))
    };
    match (answer, expected) {
        (Ok(answer), Value::Object(members)) if !members.contains_key("rule") => {
            difference(&answer.response, expected)
        }
        (Ok(answer), _) => Some(format!("answered {}", answer.response)),
        (Err(_), _) if export(&bench.records) != before => Some("a refused call changed something".into()),
        (Err(error), Value::String(rule)) => is_expected(&error, rule),
        (Err(error), Value::Array(both)) => is_expected(&error, both[0].as_str()?).or_else(|| {
            let message = error["message"].as_str().unwrap_or_default();
            let part = both[1].as_str().unwrap_or_default();
            (!message.contains(part)).then(|| format!("{message:?} does not say {part:?}"))
        }),
        (Err(error), expected) => difference(&error, expected),
    }
}

#[test]
fn every_case_comes_to_what_it_says() {
    let (all, defects) = (cases(), defects());
    let mut problems = vec![];
    let scenes = all.iter().filter(|(scene, _)| *scene != "setup").chain(&defects);
    for (scene, steps) in scenes {
        let bench = Bench::new();
        let setup = all["setup"].as_array().unwrap();
        for case in setup.iter().chain(steps.as_array().unwrap()) {
            if let Some(problem) = judge(&bench, case) {
                problems.push(format!("{scene}: {case}\n    {problem}"));
            }
        }
        bench.records.check().unwrap();
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_operation_is_answered_and_every_refused_pair_is_refused() {
    let cases = cases();
    let steps = cases.values().flat_map(|steps| steps.as_array().unwrap());
    let is_answered = |case: &&Value| case[2].as_object().is_some_and(|it| !it.contains_key("rule"));
    let (answered, refused): (Vec<_>, Vec<_>) = steps.partition(is_answered);
    let words = |cases: &[&Value]| -> BTreeSet<String> {
        cases.iter().map(|case| case[0].as_str().unwrap().to_owned()).collect()
    };
    let (answered, refused) = (words(&answered), words(&refused));
    let (mut operations, mut pairs) = (0, 0);
    for tool in TOOLS {
        let tool = CONTRACT.tool(tool).unwrap().operations.unwrap();
        let label = |is: &[&str]| -> String {
            let name = tool.all[0].name;
            [&[name], is].concat().join(" ")
        };
        for operation in tool.all {
            let label = label(operation.operation.unwrap().is);
            assert!(answered.contains(&label), "no case is an answer of `{label}`");
            operations += 1;
        }
        for pair in tool.refused {
            assert!(refused.contains(&label(pair.is)), "no case is refused as {:?}", pair.is);
            pairs += 1;
        }
    }
    assert_eq!((operations, pairs), (100, 21));
}

/// Creates a plan, with a key's user and the operator in the provenance.
fn planned(bench: &Bench, org: &str, user: Option<&str>, operator: Option<&str>) -> Result<Value, Value> {
    static CREATE: RowOperation = RowOperation { data: None, ..RowOperation::new("plan", Action::Create) };
    static ANY: Schema = Schema::plain("{}");
    static TOOL: ToolSpec =
        ToolSpec { mutating: true, errors: &["INVALID_PARAMS"], ..ToolSpec::new(&ANY, &ANY) };
    let mut table = Table::new(&ROWS, &CREATE);
    let provenance = json!({ "operator_id": operator });
    table.facts.insert("provenance".into(), provenance);
    let call = CallContext { org: Some(org.into()), user: user.map(Into::into), ..CallContext::default() };
    let (store, plan): (&dyn Store<Rows>, _) = (&bench.records, json!({"project_id": "p", "title": "Plan"}));
    let method = table::mutate::<ToolError>;
    let outcome = wait(dispatch::mutate(&TOOL, &table, store, &call, plan, method));
    Ok(declared(outcome)?.response["created_by"].clone())
}

#[test]
fn the_caller_is_the_user_of_its_key_or_else_the_one_that_it_names() {
    let bench = Bench::new();
    let unbound = CallContext::default();
    let user = |id: &str, org: &str| {
        let data = json!({"id": id, "email": format!("{id}@Example.org"), "display_name": id});
        json!({"action": "create", "resource": "user", "org_id": org, "data": data})
    };
    let org = json!({"action": "create", "resource": "org", "data": {"id": "acme", "name": "Acme"}});
    for request in [org, user("ada", "org_default"), user("bob", "acme")] {
        bench.call(&unbound, "entity", request).unwrap();
    }
    for org in ["org_default", "acme"] {
        let bound = CallContext { org: Some(org.into()), ..CallContext::default() };
        let project = json!({"action": "create", "resource": "project", "project_id": "p",
            "data": {"name": "P", "path": "p"}});
        bench.call(&bound, "project", project).unwrap();
    }
    for (org, user, operator, expected) in [
        ("org_default", None, None, Ok("user_default")),
        ("org_default", None, Some("ada"), Ok("ada")),
        ("org_default", None, Some("ADA@example.org"), Ok("ada")),
        ("org_default", None, Some("a user of this machine"), Ok("user_default")),
        ("org_default", None, Some("bob"), Ok("user_default")),
        ("org_default", Some("ada"), Some("user_default"), Ok("ada")),
        ("org_default", Some("bob"), Some("ada"), Err("`bob`")),
        ("acme", None, Some("bob@example.org"), Ok("bob")),
        ("acme", None, Some("ada"), Err("`user_default`")),
        ("acme", None, None, Err("`user_default`")),
    ] {
        let case = format!("{org} {user:?} {operator:?}");
        match (planned(&bench, org, user, operator), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{case}"),
            (Err(error), Err(named)) => {
                assert_eq!((&error["rule"], &error["field"]), (&"no_such".into(), &"created_by".into()));
                let sentence = format!("the caller's user {named} is not in this org");
                assert!(error["message"].as_str().unwrap().contains(&sentence), "{case}: {error}");
            }
            (found, _) => panic!("{case}: {found:?}"),
        }
    }
    // A key's user acts for itself alone.
    let ada = CallContext { user: Some("ada".into()), ..CallContext::default() };
    for (by, expected) in [("ada", Ok("ada")), ("user_default", Err("must be `ada`"))] {
        let issue = json!({"action": "create", "resource": "issue", "project_id": "p",
            "data": {"title": "x", "created_by": by}});
        match (bench.call(&ada, "entity", issue), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.response["created_by"], expected),
            (Err(error), Err(part)) => {
                assert_eq!(error["violations"][0]["pointer"], "/data/created_by");
                assert!(error["message"].as_str().unwrap().contains(part), "{error}");
            }
            (found, _) => panic!("{by}: {found:?}"),
        }
    }
}

#[test]
fn a_list_says_what_it_leaves_out_and_continues_after_it() {
    let bench = Bench::new();
    let call = CallContext::default();
    let create = |resource: &str, data: Value| {
        let request = json!({"action": "create", "resource": resource, "project_id": "p", "data": data});
        bench.call(&call, "project", request).unwrap();
    };
    create("project", json!({"name": "P", "path": "p"}));
    for i in 0..23 {
        create("issue", json!({"id": format!("i{i}"), "title": "x", "priority": i % 2}));
        // Phases are not listed in the order of their creation.
        create("phase", json!({"id": format!("f{i}"), "name": i.to_string(), "sequence": (i * 7) % 23}));
    }
    for (resource, filters, expected) in [
        ("issue", json!({"limit": 5}), 23),
        ("issue", json!({"limit": 4, "priority": 1}), 11),
        ("phase", json!({"limit": 7}), 23),
        ("phase", json!({}), 23),
    ] {
        let limit = filters["limit"].as_u64().unwrap_or(10);
        let (mut found, mut after) = (vec![], Value::Null);
        loop {
            let mut filters = filters.clone();
            if after.is_number() {
                filters["after"] = after.clone();
            }
            let request =
                json!({"action": "list", "resource": resource, "project_id": "p", "filters": filters});
            let answer = bench.call(&call, "project", request).unwrap();
            let items = answer.response["items"].as_array().unwrap().clone();
            assert_eq!(answer.response["total"], expected, "{resource} {filters}");
            let is_last = found.len() + items.len() == expected;
            assert_eq!(answer.meta.get("tabellion/truncated").is_none(), is_last, "{filters}");
            let total = answer.meta.get("tabellion/total");
            assert_eq!(total.cloned(), (!is_last).then(|| json!(expected)), "{filters}");
            assert!(is_last || items.len() as u64 == limit, "{filters}");
            after = items.last().map(|item| item["seq"].clone()).unwrap();
            found.extend(items.iter().map(|item| item["id"].to_string()));
            if is_last {
                break;
            }
        }
        let distinct: BTreeSet<_> = found.iter().collect();
        assert_eq!(distinct.len(), expected, "{resource} {filters}");
    }
    // Rows of 4 MiB together are in one answer.
    for i in 0..6 {
        let description = "x".repeat(1_000_000);
        create(
            "issue",
            json!({"id": format!("b{i}"), "title": "x", "issue_type": "bug", "description": description}),
        );
    }
    let request = json!({"action": "list", "resource": "issue", "project_id": "p",
        "filters": {"issue_type": "bug", "limit": 1000}});
    let answer = bench.call(&call, "project", request).unwrap();
    assert_eq!((&answer.response["count"], &answer.response["total"]), (&json!(4), &json!(6)));
    assert_eq!(answer.meta.get("tabellion/truncated"), Some(&json!(true)));
}

#[test]
fn what_changes_nothing_has_an_entry_of_its_own_and_a_base_must_hold() {
    let bench = Bench::new();
    for case in cases()["setup"].as_array().unwrap() {
        assert_eq!(judge(&bench, case), None);
    }
    let mut changes = bench.records.check().unwrap().changes;
    let get = json!({"action": "get", "resource": "project", "project_id": "p"});
    let answer = bench.call(&CallContext::default(), "project", get).unwrap();
    let base = answer.meta["tabellion/base"].as_str().unwrap().to_owned();
    let update = |path: &str| json!({"action": "update", "resource": "project", "project_id": "p", "data": {"path": path}});
    let meta = json!({ "tabellion/ifBase": base });
    let meta = meta.as_object().unwrap();
    let conditional = CallContext::from_meta(None, meta).unwrap();
    for (call, path, refused) in [
        (&CallContext::default(), "/src/alpha", false),
        (&conditional, "/src/alpha", false),
        (&conditional, "/new", false),
        (&conditional, "/newer", true),
    ] {
        let answer = bench.call(call, "project", update(path));
        match answer {
            Ok(_) => changes += 1,
            Err(ref error) => {
                assert_eq!(error["rule"], "stale", "{error}");
                assert!(
                    error["message"].as_str().unwrap().starts_with("`project p` has changed since"),
                    "{error}"
                );
            }
        }
        assert_eq!(answer.is_err(), refused, "{path}: {answer:?}");
        assert_eq!(bench.records.check().unwrap().changes, changes, "{path}");
    }
}
