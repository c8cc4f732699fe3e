//! Random programs compared with a model made from the entities alone, which knows neither the table engine nor SQL.
//!
//! The model predicts the rules that a call breaks. The values that only the store knows (ids, times, numbers of rows) are learned
//! from answers and checked against rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    CallContext,
    spec::{Action, EntitySpec, FieldSpec, FieldType, OnDelete, RowRule, Scope, TextRule},
};

use super::tracker::{Bench, TRACKER, call, open};

type Row = Map<String, Value>;
/// The rows of each entity, by org and id.
type Tables = BTreeMap<&'static str, BTreeMap<(String, String), Row>>;
type Rules = BTreeSet<&'static str>;

#[derive(Default)]
struct Model {
    tables: Tables,
    last: i64,
    /// Entity, org and id of removed rows.
    removed: BTreeSet<(&'static str, String, String)>,
}

/// One call of a random program.
#[derive(Debug, Clone)]
struct Step {
    entity: &'static str,
    action: Action,
    org: &'static str,
    id: String,
    data: Row,
}

fn org_of(entity: &EntitySpec, org: &str) -> String {
    if matches!(entity.scope, Scope::Org(_)) { org.into() } else { String::new() }
}

fn entity(name: &str) -> &'static EntitySpec {
    TRACKER.entity(name).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Model {
    fn rows(&self, entity: &str) -> impl Iterator<Item = (&(String, String), &Row)> {
        self.tables.get(entity).into_iter().flatten()
    }

    fn get(&self, name: &str, org: &str, id: &str) -> Option<&Row> {
        let key = (org_of(entity(name), org), id.to_owned());
        self.tables.get(name)?.get(&key)
    }

    /// Returns the rules that a row with these values breaks.
    fn broken(&self, entity: &'static EntitySpec, org: &str, old: Option<&Row>, row: &Row) -> Rules {
        let mut rules = Rules::new();
        let id = text(&row["id"]);
        for field in entity.fields {
            let value = &row[field.name];
            if let FieldType::Ref(reference) = field.kind
                && field.name != "org_id"
                && !value.is_null()
            {
                match self.get(reference.to, org, text(value)) {
                    None => {
                        rules.insert("no_such");
                    }
                    Some(target) => {
                        if reference.same.iter().any(|name| target[*name] != row[*name]) {
                            rules.insert("no_such");
                        }
                    }
                }
                if reference.to == entity.name && old.is_some() {
                    let next = |at: &&str| Some(text(&self.get(entity.name, org, at)?[field.name]));
                    let mut chain = iter::successors(Some(text(value)), next).take(100);
                    if chain.any(|at| at == id) {
                        rules.insert("circular");
                    }
                }
            }
        }
        for rule in entity.rules {
            let pairs = rule.fields().windows(2).map(|pair| (&row[pair[0]], &row[pair[1]]));
            let is_broken = |(one, other): (&Value, &Value)| match rule {
                RowRule::AnyOf(_) => one.is_null() && other.is_null(),
                RowRule::Differ(_) => one == other && !one.is_null(),
                RowRule::Ordered(_) => {
                    one.as_i64().zip(other.as_i64()).is_some_and(|(one, other)| other < one)
                }
            };
            if pairs.into_iter().any(is_broken) {
                rules.insert("value");
            }
        }
        for edges in entity.acyclic {
            let kind = &row[edges.by.unwrap()];
            let is_free = |among: &&str| serde_json::from_str::<Value>(among).unwrap() != *kind;
            if edges.among.iter().all(is_free) {
                continue;
            }
            let others = self.rows(entity.name).filter(|((of, other), it)| {
                *of == org_of(entity, org) && other != id && it[edges.by.unwrap()] == *kind
            });
            let others: Vec<_> = others.map(|(_, it)| (text(&it[edges.from]), text(&it[edges.to]))).collect();
            // All rows reachable from its end.
            let mut reached = BTreeSet::from([text(&row[edges.to])]);
            loop {
                let further = others.iter().filter(|(from, _)| reached.contains(from));
                let further: Vec<_> = further.map(|(_, to)| *to).collect();
                let before = reached.len();
                reached.extend(further);
                if reached.len() == before {
                    break;
                }
            }
            if reached.contains(text(&row[edges.from])) {
                rules.insert("circular");
            }
        }
        for unique in entity.uniques {
            let key = |row: &Row| {
                let values = unique.fields.iter().map(|name| row[*name].to_string());
                values.collect::<Vec<_>>().join(" ").to_lowercase()
            };
            let is_twin = |((of, other), twin): (&(String, String), &Row)| {
                *of == org_of(entity, org) && other != id && key(twin) == key(row)
            };
            if self.rows(entity.name).any(is_twin) {
                rules.insert("taken");
            }
        }
        rules
    }

    fn create(&self, step: &Step) -> (Rules, Row) {
        let (entity, org) = (entity(step.entity), step.org);
        let (mut rules, mut row) = (Rules::new(), Row::new());
        let is_known = |name: &String| entity.field(name).is_some_and(|field| !field.hidden);
        if !step.data.keys().all(is_known) {
            rules.insert("unknown_field");
        }
        for field in entity.fields {
            let given = step.data.get(field.name);
            let value = match given {
                Some(_) if is_made(field) => {
                    rules.insert("immutable");
                    Value::Null
                }
                Some(value) if fits(field, value) => in_form(field, value),
                Some(_) => {
                    rules.insert("value");
                    Value::Null
                }
                None if field.name == "org_id" => org.into(),
                None => match field.default {
                    Some(default) => in_form(field, &serde_json::from_str(default).unwrap()),
                    None => {
                        let is_filled =
                            is_made(field) || matches!(field.kind, FieldType::Id | FieldType::Next(_));
                        if !field.optional && !is_filled {
                            rules.insert("missing");
                        }
                        Value::Null
                    }
                },
            };
            row.insert(field.name.into(), value);
        }
        for field in entity.fields {
            if let FieldType::Next(next) = field.kind {
                let same = self.rows(entity.name).filter(|((of, _), other)| {
                    of == org && next.within.iter().all(|name| other[*name] == row[*name])
                });
                let next: Value =
                    (same.filter_map(|(_, row)| row[field.name].as_i64()).max().unwrap_or(0) + 1).into();
                if step.data.get(field.name).is_some_and(|given| *given != next) {
                    rules.insert("stale");
                }
                row.insert(field.name.into(), next);
            }
        }
        for field in entity.fields {
            if let Some(copy) = field.copy
                && let Some(FieldType::Ref(reference)) = entity.field(copy.reference).map(|field| field.kind)
            {
                let target = self.get(reference.to, org, text(&row[copy.reference]));
                row[field.name] = target.map_or(Value::Null, |target| target[copy.field].clone());
            }
        }
        if self.get("org", "", org).is_none() {
            rules.insert("not_found");
        }
        let id = text(&row["id"]);
        let removed = (entity.name, org_of(entity, org), id.to_owned());
        if self.get(entity.name, org, id).is_some() || self.removed.contains(&removed) {
            rules.insert("taken");
        }
        rules.extend(self.broken(entity, org, None, &row));
        (rules, row)
    }

    fn update(&self, step: &Step) -> (Rules, Row) {
        let (entity, org) = (entity(step.entity), step.org);
        let Some(old) = self.get(entity.name, org, &step.id) else {
            return (Rules::from(["not_found"]), Row::new());
        };
        let (mut rules, mut row) = (Rules::new(), old.clone());
        for (name, value) in &step.data {
            match entity.field(name).filter(|field| !field.hidden) {
                None => {
                    rules.insert("unknown_field");
                }
                Some(field) if in_form(field, value) == old[name] => {}
                Some(field) if field.fixed || is_made(field) || name == "id" => {
                    rules.insert("immutable");
                }
                Some(field) if fits(field, value) => drop(row.insert(name.clone(), in_form(field, value))),
                Some(_) => {
                    rules.insert("value");
                }
            }
        }
        rules.extend(self.broken(entity, org, Some(old), &row));
        (rules, row)
    }

    /// Puts a row into its table, with the consequences for other rows. Returns true if the times of the row are the store's.
    fn put(&mut self, name: &'static str, org: &str, row: Row) {
        let entity = entity(name);
        let key = (org_of(entity, org), text(&row["id"]).to_owned());
        for field in entity.fields.iter().filter(|field| !field.one_true_in.is_empty()) {
            if row[field.name] == true {
                for ((of, id), other) in self.tables.entry(name).or_default() {
                    let is_same = field.one_true_in.iter().all(|within| other[*within] == row[*within]);
                    if *of == key.0 && *id != key.1 && is_same {
                        other[field.name] = false.into();
                    }
                }
            }
        }
        self.tables.entry(name).or_default().insert(key, row);
    }

    /// Returns the rows that are deleted with a row, by entity and id, and the rules that prevent the deletion.
    fn delete(&self, step: &Step) -> (Rules, BTreeSet<(&'static str, String)>) {
        if self.get(step.entity, step.org, &step.id).is_none() {
            return (Rules::from(["not_found"]), BTreeSet::new());
        }
        let mut gone = BTreeSet::from([(step.entity, step.id.clone())]);
        loop {
            let more: BTreeSet<_> =
                self.referring(step, &gone, OnDelete::Cascade).map(|(name, id, _)| (name, id)).collect();
            if more.is_subset(&gone) {
                break;
            }
            gone.extend(more);
        }
        let kept = self.referring(step, &gone, OnDelete::Restrict);
        let is_kept = kept.filter(|(name, id, _)| !gone.contains(&(*name, id.clone()))).count() > 0;
        let rules = is_kept.then_some("in_use").into_iter().collect();
        (rules, gone)
    }

    fn referring<'m>(
        &'m self,
        step: &'m Step,
        gone: &'m BTreeSet<(&'static str, String)>,
        on_delete: OnDelete,
    ) -> impl Iterator<Item = (&'static str, String, &'static str)> + 'm {
        TRACKER.entities.iter().flat_map(move |entity| {
            entity.references().filter(move |(_, reference)| reference.on_delete == on_delete).flat_map(
                move |(field, reference)| {
                    let refers = move |((of, _), row): &(&(String, String), &Row)| {
                        let is_of_org = step.entity == "org" || of == step.org;
                        is_of_org && gone.contains(&(reference.to, text(&row[field.name]).to_owned()))
                    };
                    let rows = self.rows(entity.name).filter(refers);
                    rows.map(move |((_, id), _)| (entity.name, id.clone(), field.name))
                },
            )
        })
    }

    /// Applies a step whose answer was `answer`.
    fn make(&mut self, step: &Step, row: Row, answer: &Value) -> Result<(), TestCaseError> {
        let entity = entity(step.entity);
        if step.action == Action::Delete {
            let (_, gone) = self.delete(step);
            let cleared: Vec<_> = self.referring(step, &gone, OnDelete::Clear).collect();
            for (name, id, field) in cleared {
                let key = (step.org.to_owned(), id);
                if let Some(mut row) = self.tables.entry(name).or_default().get(&key).cloned() {
                    row[field] = Value::Null;
                    self.put(name, step.org, row);
                }
            }
            for (name, id) in gone {
                let org = org_of(super::model::entity(name), step.org);
                self.removed.insert((name, org.clone(), id.clone()));
                self.tables.entry(name).or_default().remove(&(org, id));
            }
            return Ok(());
        }
        let mut row = row;
        for field in entity.fields.iter().filter(|field| !field.hidden) {
            let answered = answer.get(field.name).unwrap_or(&Value::Null);
            match field.kind {
                FieldType::Id if row[field.name].is_null() => {
                    prop_assert!(text(answered).len() == 36, "{answer}");
                    row[field.name] = answered.clone();
                }
                FieldType::Seq if step.action == Action::Create => {
                    prop_assert!(answered.as_i64() > Some(self.last), "{answer}");
                    self.last = answered.as_i64().unwrap_or_default();
                    row[field.name] = answered.clone();
                }
                FieldType::Secret { prefix } => {
                    prop_assert_eq!(step.action == Action::Create, text(answered).starts_with(prefix));
                    continue;
                }
                FieldType::Now(_) => {
                    prop_assert!(answered.as_i64() > Some(1_700_000_000), "{answer}");
                    continue;
                }
                _ if field.of_store => {
                    prop_assert_eq!(answered.is_null(), row["status"] != "closed");
                    continue;
                }
                _ => {}
            }
            prop_assert_eq!(answered, &row[field.name], "{}", field.name);
        }
        if step.entity == "comment" && step.action == Action::Create && row["body"] == "close it" {
            let mut issue = self.get("issue", step.org, text(&row["issue_id"])).cloned().unwrap_or_default();
            issue["status"] = "closed".into();
            self.put("issue", step.org, issue);
        }
        self.put(step.entity, step.org, row);
        Ok(())
    }
}

fn is_made(field: &FieldSpec) -> bool {
    field.of_store
        || field.copy.is_some()
        || matches!(field.kind, FieldType::Seq | FieldType::Now(_) | FieldType::Secret { .. })
}

/// Returns true if a field can have the value, as far as these programs go.
fn fits(field: &FieldSpec, value: &Value) -> bool {
    match (field.kind, value) {
        (_, Value::Null) => field.optional,
        (FieldType::Id | FieldType::Ref(_), Value::String(id)) => !id.is_empty(),
        (FieldType::Text { min, max }, Value::String(text)) => {
            let keeps = |rule: &TextRule| match rule {
                TextRule::NotBlank => text.chars().any(|char| !char.is_whitespace()),
                TextRule::MaxBytes(max) => text.len() <= *max,
                _ => true,
            };
            (min..=max).contains(&text.chars().count()) && field.text.iter().all(keeps)
        }
        (FieldType::Time, Value::Number(number)) => number.is_i64(),
        (FieldType::Integer { min, max }, Value::Number(number)) => {
            number.as_i64().is_some_and(|number| number >= min && number <= max && number.abs() < 1 << 53)
        }
        (FieldType::Next(_), Value::Number(number)) => {
            number.as_i64().is_some_and(|number| (0..1 << 53).contains(&number))
        }
        (FieldType::Number, Value::Number(_))
        | (FieldType::Boolean, Value::Bool(_))
        | (FieldType::Json, _) => true,
        (FieldType::Enum(words), Value::String(_)) => {
            let word = in_form(field, value);
            words.iter().any(|it| word == *it)
        }
        (FieldType::List { max, .. }, Value::Array(items)) => {
            items.len() <= max && items.iter().all(Value::is_string)
        }
        _ => false,
    }
}

/// Returns the value in its stored form: numbers as floats in number fields, and words as the entity spells them.
fn in_form(field: &FieldSpec, value: &Value) -> Value {
    match (field.kind, value.as_f64(), value.as_str()) {
        (FieldType::Number, Some(number), _) => json!(number),
        (FieldType::Enum(_), _, Some("Open" | "Closed")) if field.pascal_case => {
            text(value).to_lowercase().into()
        }
        _ => value.clone(),
    }
}

/// Returns values for a field, mostly valid ones.
fn value_of(field: &'static str) -> BoxedStrategy<Value> {
    let one_of = |good: Vec<Value>, bad: Vec<Value>| {
        prop_oneof![30 => prop::sample::select(good), 1 => prop::sample::select(bad)].boxed()
    };
    let ids = || ["a", "a", "b", "c", "d", "e"].map(Value::from).to_vec();
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>();
    match field {
        "id" => one_of(texts(&["a", "b", "c", "d", "e", "f", "g", "h"]), vec![json!(""), json!(1)]),
        "project_id" => one_of(texts(&["a", "a", "b"]), vec![json!("x"), Value::Null]),
        "issue_id" => one_of(ids(), vec![json!(""), json!(7)]),
        "parent_id" => one_of([ids(), vec![Value::Null]].concat(), vec![json!("x")]),
        "name" => one_of(texts(&["one", "ONE", "two", "three", "é\u{301}"]), vec![json!(""), Value::Null]),
        "title" => one_of(texts(&["one", "𝕏'\""]), vec![json!("")]),
        "body" => one_of(texts(&["note", "close it", "éééééé"]), texts(&["", " \u{2003}", "ééééééé"])),
        "status" => one_of(texts(&["open", "closed", "Open", "Closed"]), texts(&["done", "OPEN"])),
        "from_id" | "to_id" => one_of(ids(), vec![json!("x"), Value::Null]),
        "kind" => one_of(texts(&["needs", "needs", "like"]), texts(&["Needs"])),
        "begun_at" | "ended_at" => one_of(vec![json!(1), json!(2), json!(3), Value::Null], vec![json!("1")]),
        "pinned" | "leads" | "archived" => one_of(vec![json!(true), json!(false)], vec![json!(1)]),
        "estimate" => one_of(vec![json!(7), json!(0.25), Value::Null], vec![json!("7")]),
        "labels" => {
            one_of(vec![json!([]), json!(["b", "a"])], vec![json!([1]), json!(["", "", "", "", "", ""])])
        }
        "extra" => one_of(vec![json!({"z": [1, {"a": null}]}), json!("text"), Value::Null], vec![json!(1)]),
        _ => one_of((1..4).map(Value::from).collect(), vec![json!(1_i64 << 53), json!("x")]),
    }
}

/// Generates data with fields that are nearly always, often, and hardly ever present.
fn data(
    required: &'static [&'static str],
    optional: &'static [&'static str],
    odd: &'static [&'static str],
) -> BoxedStrategy<Row> {
    let named = |names: &'static [&'static str], likely: f64| {
        let field = move |name: &&'static str| {
            let name = *name;
            prop::option::weighted(likely, value_of(name).prop_map(move |value| (name.to_owned(), value)))
        };
        names.iter().map(field).collect::<Vec<_>>()
    };
    let all = (named(required, 0.99), named(optional, 0.3), named(odd, 0.02));
    all.prop_map(|(required, optional, odd)| {
        [required, optional, odd].concat().into_iter().flatten().collect()
    })
    .boxed()
}

fn step() -> impl Strategy<Value = Step> {
    let create = prop_oneof![
        1 => data(&["id", "name"], &["archived", "open"], &["seq", "nonsense", "org_id"]).prop_map(|data| ("project", data)),
        5 => data(&["id", "project_id", "title"],
            &["status", "parent_id", "pinned", "leads", "estimate", "priority", "labels", "extra"],
            &["number", "closed_at", "seq", "nonsense"])
            .prop_map(|data| ("issue", data)),
        3 => data(&["issue_id", "body"], &["id"], &["created_at"]).prop_map(|data| ("comment", data)),
        4 => data(&["from_id", "to_id", "begun_at", "ended_at"], &["id", "kind"], &["seq"])
            .prop_map(|data| ("link", data)),
        1 => data(&["name"], &["id"], &["secret"]).prop_map(|data| ("access_key", data)),
    ];
    let create = create.prop_map(|(entity, data)| (entity, Action::Create, data));
    let update = prop_oneof![
        1 => data(&[], &["name", "archived", "open"], &["id", "seq"]).prop_map(|data| ("project", data)),
        6 => data(&[], &["title", "status", "parent_id", "pinned", "leads", "estimate", "labels", "extra"],
            &["project_id", "number", "nonsense", "org_id"])
            .prop_map(|data| ("issue", data)),
        1 => data(&[], &["body"], &["issue_id", "project_id"]).prop_map(|data| ("comment", data)),
        2 => data(&[], &["to_id", "kind", "begun_at", "ended_at"], &["from_id", "project_id"])
            .prop_map(|data| ("link", data)),
    ];
    let update = update.prop_map(|(entity, data)| (entity, Action::Update, data));
    let others = prop::sample::select(vec![
        ("project", Action::Delete),
        ("issue", Action::Delete),
        ("issue", Action::Delete),
        ("comment", Action::Delete),
        ("link", Action::Delete),
        ("issue", Action::Get),
        ("project", Action::Get),
    ]);
    let others = others.prop_map(|(entity, action)| (entity, action, Row::new()));
    let org = prop::sample::select(vec!["org_default", "org_b"]);
    let org = prop_oneof![40 => org, 1 => Just("nothing")];
    let id = prop::sample::select(vec!["a", "b", "c", "d", "e", "f"]).prop_map(String::from);
    let what = prop_oneof![6 => create, 6 => update, 2 => others];
    (what, org, id).prop_map(|((entity, action, data), org, id)| Step { entity, action, org, id, data })
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let bench = Bench::new();
    let mut model = Model::default();
    for (id, name) in [("org_default", "Default"), ("org_b", "B")] {
        let row = json!({"id": id, "name": name}).as_object().cloned().unwrap_or_default();
        model.put("org", "", row);
    }
    let mut changes = 1_u64;
    // Most calls would have no effect without projects and issues.
    let first = ["org_default", "org_b"].map(|org| {
        let step = |entity: &'static str, data: Value| Step {
            entity,
            action: Action::Create,
            org,
            id: String::new(),
            data: data.as_object().cloned().unwrap_or_default(),
        };
        let issue = |id| step("issue", json!({"id": id, "project_id": "a", "title": "one"}));
        [
            step("project", json!({"id": "a", "name": "a"})),
            step("project", json!({"id": "b", "name": "b"})),
            issue("a"),
            issue("b"),
            issue("c"),
        ]
    });
    for step in first.as_flattened().iter().chain(steps) {
        let mut request = json!({"org": step.org});
        if step.action != Action::Create {
            request["id"] = step.id.as_str().into();
        }
        if matches!(step.action, Action::Create | Action::Update) {
            request["data"] = step.data.clone().into();
        }
        let answer = call(&bench.records, &CallContext::default(), step.entity, step.action, request);
        let (rules, row) = match step.action {
            Action::Create => model.create(step),
            Action::Update => model.update(step),
            Action::Delete => (model.delete(step).0, Row::new()),
            Action::Get | Action::List => {
                let found = model.get(step.entity, step.org, &step.id).cloned();
                (found.is_none().then_some("not_found").into_iter().collect(), found.unwrap_or_default())
            }
        };
        match answer {
            Err(error) => {
                let rule = text(&error["rule"]);
                prop_assert!(rules.contains(rule), "{step:?}: {error}, expected {rules:?}");
            }
            Ok(answer) => {
                prop_assert!(rules.is_empty(), "{step:?} breaks {rules:?} and was answered");
                changes += u64::from(step.action != Action::Get);
                if step.action != Action::Get {
                    model.make(step, row, &answer.response)?;
                }
            }
        }
    }
    compare(&bench, &model)?;
    let checked = bench.records.check().map_err(|failure| TestCaseError::fail(failure.message))?;
    prop_assert_eq!(checked.changes, changes);
    Ok(())
}

/// Compares the rows that a new process reads with the model's.
fn compare(bench: &Bench, model: &Model) -> Result<(), TestCaseError> {
    let reopened = open(bench.folder.path());
    let mut export = vec![];
    reopened.export(&mut export).map_err(|failure| TestCaseError::fail(failure.message))?;
    let mut found = Tables::new();
    for line in String::from_utf8_lossy(&export).lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        if let Some(row) = line["row"]["row"].as_object() {
            let entity = entity(text(&line["row"]["entity"]));
            let org = row.get("org_id").map_or("", text).to_owned();
            let key = (org, text(&row["id"]).to_owned());
            found.entry(entity.name).or_default().insert(key, learned(entity, row));
        }
    }
    let mut expected = Tables::new();
    for (name, rows) in &model.tables {
        for (key, row) in rows {
            expected.entry(name).or_default().insert(key.clone(), learned(entity(name), row));
        }
    }
    prop_assert_eq!(found, expected);
    Ok(())
}

/// Returns a row without the values that the model does not know.
fn learned(entity: &EntitySpec, row: &Row) -> Row {
    let is_known = |name: &str| {
        entity.field(name).is_some_and(|field| {
            !field.of_store && !matches!(field.kind, FieldType::Now(_) | FieldType::Secret { .. })
        })
    };
    let known = row.iter().filter(|(name, _)| is_known(name));
    known.map(|(name, value)| (name.clone(), value.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_agree_with_a_model(steps in prop::collection::vec(step(), 20..80)) {
        run(&steps)?;
    }
}
