//! Orgs: rows of other orgs are reported as not found.

use tabellion_runtime::spec::{Action, CALLER, EntitySpec, FieldSpec, FieldType, Scope};

use super::rows::basics::{entity, has, must_be_refused, spec, start, unchanged};
use crate::{
    checks::prelude::*,
    ledger::rows::Row,
    rows::{RowsClient, client, requests},
};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "orgs/apart",
    guarantees: &["orgs-apart"],
    states: "What is in another org is not there: for get, list, update, delete, references and uniques alike.",
    explains: "Creates rows in one org and calls from another: with their keys, lists by what they refer to, references to them, and \
               rows with the same key and unique values. A row of another org must be refused as one that does not exist, must be in \
               no list and no count, and must not be in the way of anything.",
    cases,
    ..Check::must(judge)
}];

/// The operation that is tried from another org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Trial {
    Get,
    Update,
    Delete,
    List,
    Refer,
    Unique,
}

const TRIALS: [(Trial, &str, &[Action]); 6] = [
    (Trial::Get, "get", &[Action::Create, Action::Get]),
    (Trial::Update, "update", &[Action::Create, Action::Update]),
    (Trial::Delete, "delete", &[Action::Create, Action::Delete]),
    (Trial::List, "list", &[Action::Create, Action::List]),
    (Trial::Refer, "refer to it", &[Action::Create]),
    (Trial::Unique, "the same values", &[Action::Create]),
];

/// Maximum depth of required references.
const MAX_DEPTH: usize = 8;

/// An entity, and the operation that is tried with it.
#[derive(Debug, Serialize, Deserialize)]
struct Of {
    entity: String,
    trial: Trial,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let spec = spec(bench)?;
    if spec.org.is_none() {
        return Err(not_applicable("the contract has no orgs"));
    }
    if requests::orgs_of(bench.subject.contract).len() < 2 {
        return Err(not_applicable("there is one org, or calls can't name theirs"));
    }
    let mut cases = Vec::new();
    for entity in spec.entities.iter().filter(|entity| matches!(entity.scope, Scope::Org(_))) {
        let is_referred = spec.referring(entity).any(|(other, ..)| can_name(bench, other, Action::Create));
        for (trial, name, actions) in TRIALS {
            let can_try = match trial {
                Trial::Refer => is_referred,
                Trial::Unique => can_be_elsewhere(bench, entity, 0),
                _ => actions.last().is_some_and(|action| can_name(bench, entity, *action)),
            };
            if has(bench, entity.name, actions) && can_try {
                let of = Of { entity: entity.name.to_owned(), trial };
                cases.push(Case::new(format!("{}: {name}", entity.name), of));
            }
        }
    }
    nonempty(cases, "the server has no operation that creates a row of an org")
}

/// Returns true if the server has the operation, and requests of it can name the org.
fn can_name(bench: &Bench<'_>, entity: &EntitySpec, action: Action) -> bool {
    let contract = bench.subject.contract;
    let argument = contract.rows.and_then(|rows| rows.org?.argument);
    let tool = requests::find(contract, entity.name, action).filter(|_| has(bench, entity.name, &[action]));
    let wire = tool.map(|tool| tool.input.wire());
    wire.zip(argument).is_some_and(|(wire, argument)| wire["properties"].get(argument).is_some())
}

/// Returns true if a row can be created in another org, with all that it must refer to.
fn can_be_elsewhere(bench: &Bench<'_>, entity: &'static EntitySpec, depth: usize) -> bool {
    let is_needed = |field: &FieldSpec| !field.optional && field.from.is_none() && field.copy.is_none();
    let mut needed = entity.references().filter(|(field, _)| is_needed(field));
    depth < MAX_DEPTH
        && can_name(bench, entity, Action::Create)
        && needed.all(|(_, reference)| {
            let to = bench.subject.contract.rows.and_then(|rows| rows.entity(reference.to));
            to.is_some_and(|to| to.scope == Scope::Root || can_be_elsewhere(bench, to, depth + 1))
        })
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let of: Of = case.read()?;
    let entity = entity(bench, &of.entity)?;
    let (scene, mut rows) = start(bench)?;
    let orgs = rows.orgs()?;
    let row = rows.create(entity, Row::new())?;
    let mut apart = Apart {
        bench,
        scene: &scene,
        entity,
        key: requests::key_of(entity, &row),
        row,
        home: rows.org.clone(),
        other: orgs.get(1).cloned(),
    };
    rows.org.clone_from(&apart.other);
    match of.trial {
        Trial::Get => apart.hidden(&mut rows, Action::Get, Row::new()),
        Trial::Update => {
            let field = client::settable(entity).find(|field| !matches!(field.kind, FieldType::Ref(_)));
            let field = field.ok_or_else(|| not_applicable("no field can be updated"))?;
            let set = Row::from_iter([(field.name.to_owned(), rows.other_value(field, &apart.row)?)]);
            apart.hidden(&mut rows, Action::Update, set)
        }
        Trial::Delete => apart.hidden(&mut rows, Action::Delete, Row::new()),
        Trial::List => apart.lists(&mut rows),
        Trial::Refer => apart.refers(&mut rows),
        Trial::Unique => apart.same(&mut rows),
    }
}

/// A row of the default org, seen from another.
struct Apart<'b, 'a> {
    bench: &'b Bench<'a>,
    scene: &'b Scene<'a>,
    entity: &'static EntitySpec,
    row: Row,
    key: Row,
    home: Option<String>,
    other: Option<String>,
}

impl Apart<'_, '_> {
    /// Fails unless the row is refused just like one that does not exist.
    fn hidden(&self, rows: &mut RowsClient<'_>, action: Action, data: Row) -> Judgement {
        let verb = format!("{action:?}").to_lowercase();
        let what = format!("`{verb}` of a {} of another org", self.entity.name);
        let request = rows.request(self.entity, action, self.key.clone(), data.clone())?;
        let found = must_be_refused(self.bench, self.scene, rows, &request, (&what, &[]))?;
        let missing = |(name, value): (&String, &Value)| {
            let missing = if value.is_string() { "no-such-row".into() } else { Value::from(987_654) };
            (name.clone(), missing)
        };
        let missing: Row = self.key.iter().map(missing).collect();
        let nothing = rows.request(self.entity, action, missing, data)?;
        let Reply::Refused(none) = rows.send(&nothing)? else {
            return Err(fail(format!("`{verb}` of a {} that is not there was accepted", self.entity.name)));
        };
        ensure(found.code == none.code, || {
            format!("{what} is refused otherwise than one that is not there: {}", found.message)
        })
    }

    /// Fails if a list has the row, or counts it.
    fn lists(&self, rows: &mut RowsClient<'_>) -> Judgement {
        let list = requests::find(self.bench.subject.contract, self.entity.name, Action::List);
        let list = list.ok_or_else(|| not_applicable("no operation lists the rows"))?;
        let (required, arguments) = (requests::required(list), list.rows.map_or(&[][..], |it| it.arguments));
        let references =
            self.entity.references().filter(|(field, _)| arguments.iter().any(|(_, by)| *by == field.name));
        let by = references.filter_map(|(field, _)| {
            let key = self.row.get(field.name).filter(|key| !key.is_null())?;
            Some(Row::from_iter([(field.name.to_owned(), key.clone())]))
        });
        let all = required.is_empty().then(Row::new);
        for by in all.into_iter().chain(by) {
            let before = client::ledger(self.scene)?;
            let what = format!("a list of {} in another org", self.entity.name);
            let request = rows.request(self.entity, Action::List, by, Row::new())?;
            // The row that the list is for may be refused, since it is in another org.
            if let Reply::Done(done) = rows.send(&request)? {
                let items = done.response.get("items").and_then(Value::as_array);
                let is_empty = items.is_some_and(Vec::is_empty);
                ensure(is_empty, || format!("{what} is {}", done.response))?;
                let total = done.response.get("total").and_then(Value::as_u64);
                ensure(total.is_none_or(|total| total == 0), || format!("{what} counts its rows"))?;
            }
            unchanged(&before, self.scene, &what)?;
        }
        Ok(())
    }

    /// Fails if a row of another org can refer to the row.
    fn refers(&self, rows: &mut RowsClient<'_>) -> Judgement {
        let mut tried = 0;
        for (other, field, reference) in rows.spec.referring(self.entity) {
            if !can_name(self.bench, other, Action::Create) || other.org_field().is_none() {
                continue;
            }
            let set = Row::from_iter([(field.name.to_owned(), self.key[self.entity.key[0]].clone())]);
            let what = format!("`{}` of a {} with a row of another org", field.name, other.name);
            let mut given = self.with_callers(rows, other)?;
            given.extend(set.clone());
            for name in reference.same {
                given.insert((*name).to_owned(), self.row.get(*name).cloned().unwrap_or_default());
            }
            let data = match rows.complete(other, given) {
                // The other rows that it must refer to can't be there.
                Err(Stop::NotApplicable(_) | Stop::NotShown(_)) => continue,
                data => data?,
            };
            tried += 1;
            // If both must agree in a reference to yet another row, that row is missing, too.
            let names: Vec<_> = reference.same.iter().copied().chain([field.name]).collect();
            let request = rows.request(other, Action::Create, Row::new(), data)?;
            must_be_refused(self.bench, self.scene, rows, &request, (&what, &names))?;
            let can_update = rows.has(other, Action::Update)
                && client::settable(other).any(|settable| settable.name == field.name);
            if can_update {
                let given = self.with_callers(rows, other)?;
                let row = match rows.create(other, given) {
                    Err(Stop::NotApplicable(_)) => continue,
                    row => row?,
                };
                let request = rows.request(other, Action::Update, requests::key_of(other, &row), set)?;
                must_be_refused(self.bench, self.scene, rows, &request, (&what, &[field.name]))?;
            }
        }
        if tried == 0 {
            return Err(not_applicable("nothing that could refer to it can be created in another org"));
        }
        Ok(())
    }

    /// Returns fields of a new row that would be the caller's row, with one of this org.
    fn with_callers(&self, rows: &mut RowsClient<'_>, entity: &'static EntitySpec) -> Result<Row, Stop> {
        let mut given = Row::new();
        for field in entity.fields.iter().filter(|field| field.from == Some(CALLER)) {
            if let FieldType::Ref(reference) = field.kind {
                let to = rows.entity(reference.to)?;
                let row = rows.create(to, Row::new())?;
                given.insert(field.name.to_owned(), row.get(to.key[0]).cloned().unwrap_or_default());
            }
        }
        Ok(given)
    }

    /// Fails if the row conflicts with one of another org that has the same key and unique values.
    fn same(&mut self, rows: &mut RowsClient<'_>) -> Judgement {
        let is_plain = |name: &&&str| {
            let field = self.entity.field(name);
            field.is_some_and(|field| {
                !field.is_of_store() && !matches!(field.kind, FieldType::Ref(_) | FieldType::Next(_))
            })
        };
        let uniques = self.entity.uniques.iter().flat_map(|unique| unique.fields);
        let names = uniques.chain(self.entity.key).filter(is_plain);
        let values: Row =
            names.filter_map(|name| Some(((*name).to_owned(), self.row.get(*name)?.clone()))).collect();
        let data = rows.complete(self.entity, values)?;
        let request = rows.request(self.entity, Action::Create, Row::new(), data)?;
        match rows.send(&request)? {
            Reply::Done(_) => {}
            Reply::Refused(refusal) => {
                return Err(fail(format!(
                    "a row of another org is in the way of a {} with its values: {}",
                    self.entity.name, refusal.message
                )));
            }
        }
        // The one goes, the other stays.
        if rows.has(self.entity, Action::Delete) && rows.has(self.entity, Action::Get) {
            let made = client::ledger(self.scene)?;
            let own = self.entity.org_field().unwrap_or_default();
            let of = |row: &&Row| row.get(own).and_then(Value::as_str) == self.other.as_deref();
            let Some(row) = made.tables.rows(self.entity.name).find(of) else {
                return Err(fail("a row that was created is not in its org"));
            };
            let request =
                rows.request(self.entity, Action::Delete, requests::key_of(self.entity, row), Row::new())?;
            rows.must(&request)?;
            rows.org.clone_from(&self.home);
            let request = rows.request(self.entity, Action::Get, self.key.clone(), Row::new())?;
            ensure(matches!(rows.send(&request)?, Reply::Done(_)), || {
                format!("the deletion of a {} of another org deleted that of this one", self.entity.name)
            })?;
        }
        Ok(())
    }
}
