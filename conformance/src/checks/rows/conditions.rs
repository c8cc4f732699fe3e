//! Conditions of a call: the content that a row must still have, and a name of the call that makes it happen once.

use tabellion_runtime::{
    context::{BASE, IDEMPOTENCY_KEY, IF_BASE},
    spec::{Action, EntitySpec, FieldType},
};

use super::basics::{entity, has, spec, start, unchanged};
use crate::{
    checks::prelude::*,
    crowd::at_once,
    ledger::rows::Row,
    rows::{Request, RowsClient, client, requests},
};

pub(super) const CHANGED_SINCE: Check = Check {
    id: "rows/if-base",
    guarantees: &["nothing-lost-together"],
    states: "A change with `tabellion/ifBase` is refused if the row has changed since that content, and made otherwise.",
    explains: "Reads a row, has another process change it, and updates and deletes it with the base of that reading: both are \
               refused, and nothing changes. With the base of a new reading they are made. Of several processes with the same base, \
               one succeeds.",
    cases: |bench| cases(bench, &[Action::Create, Action::Get, Action::Update]),
    ..Check::must(judge_base)
};

pub(super) const IDEMPOTENCY: Check = Check {
    id: "rows/idempotency",
    guarantees: &["nothing-lost-together"],
    states: "A call with the `tabellion/idempotencyKey` of an earlier one is not made again, and has its answer without its secrets.",
    explains: "Creates a row twice with one key, also after a restart: there is one row and one entry of the log. The same key with \
               other values is refused.",
    cases: |bench| cases(bench, &[Action::Create]),
    ..Check::must(judge_key)
};

/// Number of processes that change a row with the same base.
const RACERS: usize = 4;

/// An entity, and true if several processes race.
#[derive(Debug, Serialize, Deserialize)]
struct Of {
    entity: String,
    is_race: bool,
}

fn cases(bench: &Bench<'_>, actions: &[Action]) -> Result<Vec<Case>, Stop> {
    let can = |entity: &&EntitySpec| has(bench, entity.name, actions);
    let mut cases = Vec::new();
    for entity in spec(bench)?.entities.iter().filter(can) {
        let of = |is_race| Of { entity: entity.name.to_owned(), is_race };
        cases.push(Case::new(entity.name, of(false)));
        if actions.contains(&Action::Update) && cases.len() == 1 {
            cases.push(Case::new(format!("{}: {RACERS} processes", entity.name), of(true)));
        }
    }
    nonempty(cases, "the server lacks the operations for that")
}

/// Returns the base of a row, from the answer to a reading.
fn base(bench: &Bench<'_>, rows: &mut RowsClient<'_>, get: &Request) -> Result<Value, Stop> {
    let done = rows.must(get)?;
    done.meta.get(BASE).filter(|base| base.is_string()).cloned().ok_or_else(|| {
        if bench.subject.is_native() {
            fail(format!("the answer to `{}` has no `{BASE}`", get.tool.label()))
        } else {
            not_applicable("the server does not return the base of its answers")
        }
    })
}

/// Returns an update of a row to another value.
fn update(rows: &mut RowsClient<'_>, entity: &'static EntitySpec, row: &Row) -> Result<Request, Stop> {
    let field =
        client::settable(entity).find(|field| !matches!(field.kind, FieldType::Ref(_) | FieldType::Boolean));
    let field = field.ok_or_else(|| not_applicable("no field can be updated"))?;
    rows.update(entity, row, field)
}

fn judge_base(bench: &Bench<'_>, case: &Case) -> Judgement {
    let of: Of = case.read()?;
    let entity = entity(bench, &of.entity)?;
    let (scene, mut rows) = start(bench)?;
    let row = rows.create(entity, Row::new())?;
    let get = rows.request(entity, Action::Get, requests::key_of(entity, &row), Row::new())?;
    let stale = base(bench, &mut rows, &get)?;
    if of.is_race {
        return race(bench, &scene, (entity, &row), &stale);
    }
    let mut other = RowsClient::start(bench.subject, &scene)?;
    other.number_from(1_000);
    let request = update(&mut other, entity, &row)?;
    let fresh = |reply: Reply, what: &str| reply.must(format!("{what} with the row's base")).map(drop);
    fresh(other.send_with(&request, &[(IF_BASE, stale.clone())])?, "an update")?;
    let mut requests = vec![("an update", update(&mut rows, entity, &row)?)];
    if rows.has(entity, Action::Delete) {
        let delete = rows.request(entity, Action::Delete, requests::key_of(entity, &row), Row::new())?;
        requests.push(("a deletion", delete));
    }
    for (what, request) in requests {
        let before = client::ledger(&scene)?;
        let reply = rows.send_with(&request, &[(IF_BASE, stale.clone())])?;
        ensure(matches!(reply, Reply::Refused(_)), || {
            format!("{what} was made although another process has changed the row since its base")
        })?;
        unchanged(&before, &scene, &format!("{what} that was refused"))?;
        let now = base(bench, &mut rows, &get)?;
        fresh(rows.send_with(&request, &[(IF_BASE, now)])?, what)?;
    }
    Ok(())
}

/// Has several processes change a row with the same base.
fn race<'a>(
    bench: &Bench<'a>,
    scene: &crate::scene::Scene<'a>,
    (entity, row): (&'static EntitySpec, &Row),
    base: &Value,
) -> Judgement {
    let mut racers = Vec::new();
    for number in 1..=RACERS {
        let mut rows = RowsClient::start(bench.subject, scene)?;
        rows.number_from(number * 1_000);
        let request = update(&mut rows, entity, row)?;
        racers.push((rows, request));
    }
    let race = |(mut rows, request): (RowsClient<'a>, Request)| {
        let reply = rows.send_with(&request, &[(IF_BASE, base.clone())]);
        reply.map(|reply| (rows, matches!(reply, Reply::Done(_))))
    };
    let made = at_once(racers, race)?.iter().filter(|(_, is_made)| *is_made).count();
    ensure(made == 1, || format!("of {RACERS} updates with the same base, {made} were made"))
}

fn judge_key(bench: &Bench<'_>, case: &Case) -> Judgement {
    let of: Of = case.read()?;
    let entity = entity(bench, &of.entity)?;
    let (scene, mut rows) = start(bench)?;
    let data = rows.complete(entity, Row::new())?;
    let other = rows.complete(entity, Row::new())?;
    let request = rows.request(entity, Action::Create, Row::new(), data)?;
    let other = rows.request(entity, Action::Create, Row::new(), other)?;
    let key = [(IDEMPOTENCY_KEY, json!("one-and-the-same"))];
    let first = rows.send_with(&request, &key)?.must("a call with an idempotency key")?;
    let before = client::ledger(&scene)?;
    let secrets: Vec<_> =
        entity.fields.iter().filter(|field| matches!(field.kind, FieldType::Secret { .. })).collect();
    let again = |rows: &mut RowsClient<'_>, when: &str| -> Judgement {
        let what = format!("a call with the idempotency key of an earlier one{when}");
        let done = match rows.send_with(&request, &key)? {
            Reply::Done(done) => done,
            Reply::Refused(refusal) => return Err(fail(format!("{what} was refused: {}", refusal.message))),
        };
        unchanged(&before, &scene, &what)?;
        let plain = |response: &Value| {
            let mut row = request.row(response).cloned().unwrap_or_default();
            secrets.iter().for_each(|field| drop(row.shift_remove(field.name)));
            row
        };
        ensure(plain(&done.response) == plain(&first.response), || {
            format!("{what} was answered with another row: {}", done.response)
        })?;
        let reply = rows.send_with(&other, &key)?;
        ensure(matches!(reply, Reply::Refused(_)), || {
            format!("another call with an idempotency key that was used{when} was accepted")
        })?;
        unchanged(&before, &scene, "a call that was refused because of its idempotency key")
    };
    again(&mut rows, "")?;
    rows.close()?;
    let mut rows = RowsClient::start(bench.subject, &scene)?;
    again(&mut rows, ", after a restart,")?;
    // Without the key, it is a call of its own.
    rows.must(&other).map(drop)
}
