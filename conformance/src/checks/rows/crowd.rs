//! Many clients at once, through several processes over one data folder, or one process over HTTP.

use std::collections::BTreeSet;

use tabellion_runtime::spec::{Action, EntitySpec, FieldType, Scope};

use super::basics::{entity, has, spec, start};
use crate::{
    check::counted,
    checks::prelude::*,
    crowd::at_once,
    ledger::rows::Row,
    rows::{RowsClient, client, requests},
};

pub(super) const CHECK: Check = Check {
    id: "rows/crowd",
    guarantees: &["nothing-lost-together"],
    states: "With many clients at once, each acknowledged change is there once, and no other.",
    explains: "Several processes over one data folder (over HTTP, several clients of one) create rows beside the same rows, so that \
               they compete for numbers, and update and delete their own. Afterwards each acknowledged row is on the disk once, \
               with its last value, what was refused is not, numbers that count on are all different, and the log has one entry for \
               each acknowledged change and gives the tables.",
    cases,
    shrink,
    ..Check::must(judge)
};

/// Clients, and the number of rows that each creates.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Crowd {
    entity: String,
    clients: usize,
    /// Number of rows that each creates.
    rows: usize,
}

impl Crowd {
    fn case(self) -> Case {
        let [clients, rows] = [counted(self.clients, "client"), counted(self.rows, "row")];
        Case::new(format!("{}: {clients}, {rows} each", self.entity), self)
    }
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let can = |entity: &&EntitySpec| has(bench, entity.name, &[Action::Create]);
    let counts = |entity: &EntitySpec| {
        let counting = |kind| matches!(kind, FieldType::Next(_) | FieldType::Seq);
        entity.fields.iter().filter(|field| counting(field.kind)).count()
    };
    let mut entities: Vec<_> = spec(bench)?.entities.iter().filter(can).collect();
    // Those with numbers that count on have most to lose.
    entities.sort_by_key(|entity| std::cmp::Reverse(counts(entity)));
    entities.truncate(bench.pick(2, usize::MAX));
    let (clients, rows) = bench.pick((4, 8), (8, 30));
    let crowd = |entity: &EntitySpec| Crowd { entity: entity.name.to_owned(), clients, rows };
    nonempty(
        entities.into_iter().map(|entity| crowd(entity).case()).collect(),
        "the server has no operation that creates a row",
    )
}

/// Returns smaller crowds, several times each because the failure depends on timing.
fn shrink(case: &Case) -> Vec<Case> {
    const ATTEMPTS: usize = 3;
    let Ok(crowd) = case.read::<Crowd>() else {
        return Vec::new();
    };
    let smaller = [(2, 1), (2, 3), (3, 4)].into_iter();
    let smaller = smaller.filter(|(clients, rows)| clients * rows < crowd.clients * crowd.rows);
    smaller
        .flat_map(|(clients, rows)| {
            let case = Crowd { clients, rows, ..crowd.clone() }.case();
            vec![case; ATTEMPTS]
        })
        .collect()
}

/// A client's knowledge from its answers.
struct Told<'a> {
    rows: RowsClient<'a>,
    /// The rows that it created, as it knows them now.
    kept: Vec<Row>,
    /// Keys of the rows that it deleted.
    deleted: Vec<Row>,
    /// Number of acknowledged changes.
    changes: usize,
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let crowd: Crowd = case.read()?;
    let entity = entity(bench, &crowd.entity)?;
    let (scene, mut first) = start(bench)?;
    // All rows refer to the same ones.
    let shared = first.complete(entity, Row::new())?;
    let is_shared = |field: &&str| {
        let field = entity.field(field);
        field.is_some_and(|field| matches!(field.kind, FieldType::Ref(_)))
    };
    let names = shared.keys().map(String::as_str).filter(is_shared).map(str::to_owned);
    let names: BTreeSet<_> = names.collect();
    let shared: Row = shared.into_iter().filter(|(name, _)| names.contains(name)).collect();
    let mut clients = Vec::new();
    for number in 1..=crowd.clients {
        let client = if bench.subject.launch.is_http() { first.client.beside()? } else { scene.start()? };
        let mut rows = RowsClient::over(bench.subject, client)?;
        rows.number_from(number * 10_000);
        clients.push(rows);
    }
    let before = client::ledger(&scene)?;
    let told = at_once(clients, |rows| work(rows, entity, &shared, crowd.rows))?;
    judge_all(&scene, entity, &before, &told)?;
    told.into_iter().try_for_each(|told| told.rows.close())
}

/// Creates rows, and updates and deletes some of them.
fn work<'a>(
    mut rows: RowsClient<'a>,
    entity: &'static EntitySpec,
    shared: &Row,
    many: usize,
) -> Result<Told<'a>, Stop> {
    let (mut kept, mut deleted, mut changes) = (Vec::new(), Vec::new(), 0);
    let field =
        client::settable(entity).find(|field| !matches!(field.kind, FieldType::Ref(_) | FieldType::Boolean));
    for number in 0..many {
        let data = rows.complete(entity, shared.clone())?;
        let request = rows.request(entity, Action::Create, Row::new(), data)?;
        let Reply::Done(done) = rows.send(&request)? else {
            continue;
        };
        changes += 1;
        let mut row = request.row(&done.response).cloned().unwrap_or_default();
        let key = requests::key_of(entity, &row);
        if number % 3 == 1
            && let Some(field) = field.filter(|_| rows.has(entity, Action::Update))
        {
            let request = rows.update(entity, &row, field)?;
            if let Reply::Done(done) = rows.send(&request)? {
                changes += 1;
                row = request.row(&done.response).cloned().unwrap_or_default();
            }
        }
        if number % 4 == 3 && rows.has(entity, Action::Delete) {
            let request = rows.request(entity, Action::Delete, key.clone(), Row::new())?;
            if let Reply::Done(_) = rows.send(&request)? {
                changes += 1;
                deleted.push(key);
                continue;
            }
        }
        kept.push(row);
    }
    Ok(Told { rows, kept, deleted, changes })
}

fn judge_all(
    scene: &Scene<'_>,
    entity: &'static EntitySpec,
    before: &crate::ledger::rows::RowLedger,
    told: &[Told<'_>],
) -> Judgement {
    let after = client::ledger(scene)?;
    let all: Vec<_> = after.tables.rows(entity.name).collect();
    let with = |key: &Row| after.tables.find(entity.name, key);
    for told in told {
        for row in &told.kept {
            let key = requests::key_of(entity, row);
            let shown = Value::Object(key.clone());
            let Some(found) = with(&key) else {
                return Err(fail(format!("{} {shown} was acknowledged, but it is missing", entity.name)));
            };
            // Marks that only one row can have go from one client's to another's.
            let is_plain = |name: &str| {
                let field = entity.field(name);
                field.is_some_and(|it| {
                    it.one_true_in.is_empty()
                        && !matches!(it.kind, FieldType::Secret { .. } | FieldType::Now(_))
                })
            };
            let lost = row.iter().find(|(name, value)| is_plain(name) && found.get(*name) != Some(value));
            ensure_none(lost, |(name, value)| {
                format!("`{name}` of {} {shown} was acknowledged as {value}, but it is not", entity.name)
            })?;
        }
        for key in &told.deleted {
            let shown = Value::Object(key.clone());
            ensure(with(key).is_none(), || {
                format!("the deletion of {} {shown} was acknowledged, but it is there", entity.name)
            })?;
        }
    }
    let kept: usize = told.iter().map(|told| told.kept.len()).sum();
    let was = before.tables.rows(entity.name).count();
    ensure(all.len() == was + kept, || {
        let extra = (all.len() - was).saturating_sub(kept);
        format!("{extra} rows are there that no client was told of")
    })?;
    numbers(entity, &all)?;
    let changes: usize = told.iter().map(|told| told.changes).sum();
    let entries = after.entries_since(before).map_err(fail)?;
    if let Some(entries) = entries {
        ensure(entries.len() == changes, || {
            format!("{changes} changes were acknowledged, and the log has {} new entries", entries.len())
        })?;
    }
    let differs = told.first().and_then(|told| after.replay_differs(told.rows.spec));
    ensure_none(differs, |differs| differs)
}

/// Fails unless numbers that count on are all different.
fn numbers(entity: &'static EntitySpec, all: &[&Row]) -> Judgement {
    for field in entity.fields {
        let within = match field.kind {
            FieldType::Next(next) if next.strict => next.within,
            FieldType::Seq => &[],
            _ => continue,
        };
        let org = match entity.scope {
            Scope::Org(org) => Some(org),
            Scope::Global | Scope::Root => None,
        };
        let mut found = BTreeSet::new();
        for row in all {
            let names = within.iter().copied().chain(org).chain([field.name]);
            let number: Vec<_> = names.map(|name| row.get(name).cloned().unwrap_or_default()).collect();
            let shown = Value::Array(number).to_string();
            ensure(found.insert(shown.clone()), || {
                format!("two rows of {} have the same `{}`: {shown}", entity.name, field.name)
            })?;
        }
    }
    Ok(())
}
