//! The model on the contract `mcb`, by the cases for its server.
//!
//! Each case is `[call, arguments, outcome]`; `server/records/src/tests/mcb.rs` describes them.

use std::fs;

use serde_json::{Map, Value, json};
use tabellion_contracts::mcb::{CONTRACT, ROWS};
use tabellion_runtime::{
    ToolSpec,
    spec::{Action, Scope},
};

use super::super::{Model, Outcome, Refused};
use crate::{
    ledger::rows::{Row, Tables},
    rows::{Request, client, made::Made, requests::RequestContent},
};

/// The cases of the server, in the same workspace.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/records/tests/mcb/cases.json");

fn cases() -> Map<String, Value> {
    let text = fs::read_to_string(CASES).expect("the server's cases");
    serde_json::from_str(&text).expect("cases")
}

/// The model, and the number of values that it has made so far.
struct Bench {
    model: Model,
    made: i64,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { model: Model::new(&ROWS, &Tables::default()), made: 0 };
        for seed in ROWS.seeds {
            let row = serde_json::from_str(seed.row).expect("a row");
            bench.create(seed.entity, seed.org, &row);
        }
        bench
    }

    /// Creates a row without a request.
    fn create(&mut self, entity: &str, org: Option<&str>, row: &Row) {
        let entity = ROWS.entity(entity).expect("an entity");
        let created = self.model.create(entity, org, None, row);
        created.unwrap_or_else(|why| panic!("{} {row:?}: {why}", entity.name));
        self.settle();
    }

    /// Replaces the placeholders for values that a server makes.
    fn settle(&mut self) {
        for entity in ROWS.entities {
            let rows = self.model.rows.entry(entity.name).or_default();
            for value in rows.iter_mut().flat_map(|row| row.iter_mut().map(|(_, value)| value)) {
                let Some(made) = Made::from_value(value) else {
                    continue;
                };
                self.made += 1;
                *value = match made {
                    Made::Seq => self.made.into(),
                    Made::Now => client::now().into(),
                    Made::Id | Made::Any | Made::Secret => format!("{:036}", self.made).into(),
                };
            }
        }
    }

    /// Makes a call; returns the answer, or the reason why there is none.
    fn call(&mut self, tool: &'static ToolSpec, arguments: &Value) -> Result<Value, Refused> {
        let request = request(tool, arguments);
        match self.model.outcome(&CONTRACT, &request) {
            Outcome::Refused(refused) => Err(refused),
            Outcome::NothingOrRefused => Err(Refused::Field(String::new())),
            Outcome::Row(row) => Ok(row.into()),
            Outcome::Page(page) => Ok(json!({
                "resource": request.entity.name,
                "count": page.items.len(),
                "total": page.total,
                "items": page.items,
            })),
            Outcome::Changed(later) => {
                let mut answer = Map::from_iter([("deleted".to_owned(), true.into())]);
                answer.insert("resource".to_owned(), request.entity.name.into());
                let at = self.model.find(request.entity, &request);
                let deleted = at.map(|at| self.model.all(request.entity)[at].clone());
                let key = request.entity.key.iter();
                let value = |name: &&str| Some(((*name).to_owned(), deleted.as_ref()?.get(*name)?.clone()));
                answer.extend(key.filter_map(value));
                self.model = *later;
                self.settle();
                let rows = self.model.all(request.entity);
                Ok(match request.operation.action {
                    Action::Delete => answer.into(),
                    Action::Update => self.model.answer(request.entity, &rows[at.expect("a row")]).into(),
                    _ => self.model.answer(request.entity, rows.last().expect("a row")).into(),
                })
            }
        }
    }
}

/// Takes the arguments of a call apart.
fn request(tool: &'static ToolSpec, arguments: &Value) -> Request {
    let operation = tool.rows.expect("an operation on rows");
    let entity = ROWS.entity(operation.entity).expect("an entity");
    let mut members = arguments.as_object().cloned().unwrap_or_default();
    for selector in ["action", "resource"] {
        members.shift_remove(selector);
    }
    let org = members.shift_remove("org_id").and_then(|org| org.as_str().map(str::to_owned));
    let default = (entity.scope != Scope::Root).then(|| "org_default".to_owned());
    let mut key = Row::new();
    for (member, field) in operation.arguments {
        key.extend(members.shift_remove(*member).map(|value| ((*field).to_owned(), value)));
    }
    let object = |value: Option<Value>| match value {
        Some(Value::Object(members)) => members,
        _ => Row::new(),
    };
    let mut filters = match operation.filters_in {
        Some(member) => object(members.shift_remove(member)),
        None if operation.action == Action::List => std::mem::take(&mut members),
        None => Row::new(),
    };
    let mut take = |member: Option<&str>| filters.shift_remove(member?);
    let (limit, after) = (take(operation.limit), take(operation.after));
    Request {
        tool,
        operation,
        entity,
        content: RequestContent {
            org: org.or(default),
            key,
            data: object(operation.data.and_then(|member| members.shift_remove(member))),
            limit: limit.and_then(|limit| limit.as_u64()),
            after,
            filters,
            caller: None,
        },
        arguments: arguments.clone(),
    }
}

/// Returns the first difference of an answer from the expected one.
fn difference(found: &Value, expected: &Value) -> Option<String> {
    let fits = match expected {
        Value::Object(members) => {
            let of = |(name, expected): (&String, &Value)| {
                difference(&found[name], expected).map(|why| format!("{name}: {why}"))
            };
            return members.iter().find_map(of);
        }
        Value::Array(items) => {
            let all = found.as_array().cloned().unwrap_or_default();
            if all.len() != items.len() {
                return Some(format!("{found} has not {} items", items.len()));
            }
            return all.iter().zip(items).find_map(|(found, expected)| difference(found, expected));
        }
        _ => match expected.as_str() {
            Some("<time>" | "<number>") => found.is_i64(),
            Some("<id>") => found.is_string(),
            // Answers to creations contain it in addition to the row.
            Some("<secret>") => true,
            Some("<none>") => found.is_null(),
            _ => found == expected,
        },
    };
    (!fits).then(|| format!("{found} and not {expected}"))
}

/// Returns the rule that is broken according to a case.
fn rule(expected: &Value) -> Option<&str> {
    let rule = match expected {
        Value::Object(members) => members.get("rule")?,
        Value::Array(both) => &both[0],
        rule => rule,
    };
    rule.as_str()?.split(' ').next()
}

/// Makes the call of a case; returns the first difference from the expected outcome.
fn judge(bench: &mut Bench, case: &Value) -> Option<String> {
    let (call, expected) = (case[0].as_str().expect("a call"), &case[2]);
    let words: Vec<_> = call.split(' ').collect();
    let [tool, action, resource] = words[..] else {
        let mut row = json!({ "agent_type": "claude-code", "model": "m", "project_id": "p" });
        row["id"] = case[1]["id"].clone();
        bench.create("agent_session", Some("org_default"), row.as_object().expect("a row"));
        return None;
    };
    let mut arguments = json!({ "action": action, "resource": resource });
    for (name, value) in case[1].as_object().expect("arguments") {
        arguments[name] = value.clone();
    }
    let answer = match CONTRACT.taker(tool, &arguments) {
        Some(tool) => bench.call(tool, &arguments),
        None => Err(Refused::Schema(String::new())),
    };
    match (answer, rule(expected)) {
        (Ok(answer), None) => difference(&answer, expected),
        (Ok(answer), Some(rule)) => Some(format!("{answer} and not {rule}")),
        (Err(why), None) => Some(format!("refused: {why}")),
        (Err(why), Some(rule)) => {
            let fits = match why {
                Refused::NotThere => rule == "not_found",
                Refused::InUse(_) => rule == "in_use",
                Refused::Field(_) | Refused::Schema(_) => !["not_found", "in_use"].contains(&rule),
            };
            (!fits).then(|| format!("{why} and not {rule}"))
        }
    }
}

#[test]
fn the_model_makes_of_each_call_what_its_case_says() {
    let all = cases();
    let (mut problems, mut judged) = (Vec::new(), 0);
    for (scene, steps) in all.iter().filter(|(scene, _)| *scene != "setup") {
        let mut bench = Bench::new();
        let of = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for case in of(&all["setup"]).iter().chain(&of(steps)) {
            let words = case[0].as_str().unwrap_or_default().split(' ').count();
            // The suite's callers are bound to no org.
            if words == 4 {
                continue;
            }
            judged += 1;
            problems.extend(judge(&mut bench, case).map(|why| format!("{scene}: {case}\n    {why}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(judged > 300, "{judged}");
}

#[test]
fn a_request_says_what_it_was_made_of() {
    let all = cases();
    let mut said = 0;
    for case in all.values().filter_map(Value::as_array).flatten() {
        let words: Vec<_> = case[0].as_str().unwrap_or_default().split(' ').collect();
        let [tool, action, resource] = words[..] else {
            continue;
        };
        let mut arguments = case[1].clone();
        arguments["action"] = action.into();
        arguments["resource"] = resource.into();
        let Some(tool) = CONTRACT.taker(tool, &arguments) else {
            continue;
        };
        if rule(&case[2]).is_some() || arguments.get("org_id").is_none() {
            continue;
        }
        let again = request(tool, &arguments).content;
        let made = Request::new(&CONTRACT, tool, again).expect("a request");
        // Data that may be left out can be empty.
        let mut made = made.arguments;
        if arguments.get("data").is_none() && made["data"] == json!({}) {
            made.as_object_mut().expect("arguments").shift_remove("data");
        }
        assert_eq!(made, arguments, "{case}");
        said += 1;
    }
    assert!(said > 5, "{said}");
}
