//! An update changes the fields that it names, and no others.

use std::collections::BTreeSet;

use tabellion_runtime::spec::{Action, EntitySpec, FieldSpec, FieldType, Moment};

use super::basics::{entity, has, must_be_refused, spec, start};
use crate::{
    checks::prelude::*,
    ledger::rows::{Row, RowLedger, canonical, shown},
    rows::{Model, client, model::Outcome, requests},
};

pub(super) const CHECK: Check = Check {
    id: "rows/patch",
    guarantees: &["rows-are-what-was-said"],
    states: "An update sets the fields that it names to these values, and leaves all others as they are.",
    explains: "Creates a row with values of all fields, and updates one field after the other, then sets each that may be null to \
               null. The row on the disk must have the new value, and its other values as before, except for times of changes and \
               what hooks of the contract set. What a rule over several fields forbids must be refused.",
    cases,
    ..Check::must(judge)
};

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let can = |entity: &&EntitySpec| has(bench, entity.name, &[Action::Create, Action::Update]);
    let entities = spec(bench)?.entities.iter().filter(can);
    let cases = entities.map(|entity| Case::new(entity.name, entity.name));
    nonempty(cases.collect(), "the server has no operation that updates a row")
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let entity = entity(bench, &case.read::<String>()?)?;
    let contract = bench.subject.contract;
    let (scene, mut rows) = start(bench)?;
    let data = rows.full(entity, Row::new())?;
    let request = rows.request(entity, Action::Create, Row::new(), data)?;
    let done = rows.must(&request)?;
    let row = request.row(&done.response).cloned().unwrap_or_default();
    let key = requests::key_of(entity, &row);
    let fields: Vec<_> = client::settable(entity).collect();
    let nullable = fields.iter().filter(|field| field.optional).map(|field| (*field, true));
    let all: Vec<_> = fields.iter().map(|field| (*field, false)).chain(nullable).collect();
    for (field, is_null) in all {
        let before = found(entity, &key, &client::ledger(&scene)?)?;
        let value = if is_null { Value::Null } else { rows.other_value(field, &before)? };
        let set = Row::from_iter([(field.name.to_owned(), value.clone())]);
        let request = rows.request(entity, Action::Update, key.clone(), set)?;
        let model = Model::new(rows.spec, &client::ledger(&scene)?.tables);
        if let Outcome::Refused(_) = model.outcome(contract, &request) {
            let what = format!("`{}` of {} as {}", field.name, entity.name, shown(&value));
            must_be_refused(bench, &scene, &mut rows, &request, (&what, &[]))?;
            continue;
        }
        rows.must(&request)?;
        let after = found(entity, &key, &client::ledger(&scene)?)?;
        let expected = canonical(field, value);
        ensure(after.get(field.name) == Some(&expected), || {
            let now = after.get(field.name).cloned().unwrap_or_default();
            format!("`{}` was set to {}, but is {}", field.name, shown(&expected), shown(&now))
        })?;
        let others = follow(entity, field);
        for other in entity.fields.iter().filter(|other| !others.contains(other.name)) {
            ensure(before.get(other.name) == after.get(other.name), || {
                let [old, new] =
                    [&before, &after].map(|row| shown(row.get(other.name).unwrap_or(&Value::Null)));
                format!("an update of `{}` alone changed `{}` from {old} to {new}", field.name, other.name)
            })?;
        }
    }
    Ok(())
}

/// Returns the names of the fields that may change with a field, and its own.
fn follow(entity: &'static EntitySpec, field: &'static FieldSpec) -> BTreeSet<&'static str> {
    let times = entity.fields.iter();
    let times = times.filter(|field| matches!(field.kind, FieldType::Now(Moment::Change)));
    let mut names: BTreeSet<_> = times.map(|field| field.name).chain([field.name]).collect();
    // A hook may set a field that triggers another hook.
    for _ in entity.on {
        for hook in entity.on {
            if names.contains(hook.field) {
                names.extend(hook.set.iter().chain(hook.otherwise).map(|it| it.field));
            }
        }
    }
    names
}

fn found(entity: &'static EntitySpec, key: &Row, ledger: &RowLedger) -> Result<Row, Stop> {
    let found = ledger.tables.find(entity.name, key).cloned();
    found.ok_or_else(|| fail(format!("a row of `{}` was answered, but it is not on the disk", entity.name)))
}
