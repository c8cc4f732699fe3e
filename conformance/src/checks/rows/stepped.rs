//! Crashes and faults of the disk in the middle of a change of rows.

use tabellion_runtime::spec::{Action, EntitySpec, FieldType, OnDelete};

use super::{
    basics::{entity, has, spec},
    entries::one_change,
};
use crate::{
    checks::{
        atomic::{
            fault::reply_after_fault,
            points::{FaultKind, possible, spread, without_ids},
        },
        prelude::*,
    },
    ledger::rows::{Row, RowLedger},
    rows::{Model, Request, RowsClient, client, model::Outcome, requests},
    stepper::{Call, Counting, Effect, Fault, Stepper},
};

pub(super) const KILLED: Check = Check {
    id: "rows/killed",
    guarantees: &["acknowledged-is-durable"],
    states: "If the server is killed during a change, then after a restart the rows are those before or after it, and the log agrees.",
    explains: "Kills the server with `ptrace` before each system call that changes the data folder, during a creation, an update and \
               a deletion with all that goes with it; also while it recovers from such a kill. After a restart the tables must be \
               those before or those after, the log must give them, what was acknowledged must be there, and a further change must \
               succeed.",
    cases: |bench| cases(bench, &[FaultKind::Killed]),
    ..Check::must(judge)
};

pub(super) const FAULTS: Check = Check {
    id: "rows/faults",
    guarantees: &["acknowledged-is-durable", "errors-change-nothing"],
    states: "If the disk is full or fails during a change, the change is refused and nothing changes, or it is made as a whole.",
    explains: "As rows/killed, but the system call fails with ENOSPC or EIO, once or from then on. What was refused must not be there, \
               unless every later write failed too, so that the server could not take back what it had written.",
    cases: |bench| {
        let kinds = [
            FaultKind::FullOnce,
            FaultKind::FullFromThenOn,
            FaultKind::BrokenOnce,
            FaultKind::BrokenFromThenOn,
        ];
        cases(bench, &kinds)
    },
    ..Check::must(judge)
};

/// Maximum number of points of one mutation, in the quick and in the full profile.
const MAX_POINTS: [usize; 2] = [7, 400];
/// Maximum number of points of a recovery.
const MAX_RECOVERIES: [usize; 2] = [3, 60];

/// A change of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mutation {
    Create(String),
    Update(String),
    Delete(String),
}

/// A fault at a system call of a change.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Point {
    mutation: Mutation,
    /// Number of the system call, counted from 1.
    at: usize,
    kind: FaultKind,
    /// Number of the system call of the next start at which the server is killed again.
    again: Option<usize>,
}

impl Mutation {
    /// Returns the changes that are tried: of the entity with the most rules, and of that with the most that goes with it.
    pub(super) fn all(bench: &Bench<'_>) -> Result<Vec<Self>, Stop> {
        if bench.subject.ledger.database.is_some() {
            return Err(not_applicable("rows are in a database, whose own processes write and sync them"));
        }
        let spec = spec(bench)?;
        let with = |actions: &'static [Action]| {
            let entities = spec.entities.iter();
            entities.filter(move |entity| has(bench, entity.name, actions))
        };
        let rules =
            |entity: &&EntitySpec| entity.references().count() + entity.uniques.len() + entity.on.len();
        let follows = |entity: &&EntitySpec| {
            let referring = spec.referring(entity);
            referring.filter(|(.., it)| it.on_delete != OnDelete::Restrict).count()
        };
        let name = |entity: &EntitySpec| entity.name.to_owned();
        let create = with(&[Action::Create]).max_by_key(rules);
        let update = with(&[Action::Create, Action::Update]).max_by_key(rules);
        let delete = with(&[Action::Create, Action::Delete]).max_by_key(follows);
        let all = [
            create.map(|it| Self::Create(name(it))),
            update.map(|it| Self::Update(name(it))),
            delete.map(|it| Self::Delete(name(it))),
        ];
        let all: Vec<_> = all.into_iter().flatten().collect();
        nonempty(all, "the server has no operation that creates a row")
    }

    /// Returns the request, after it has created the rows that the request needs.
    pub(super) fn prepare(&self, bench: &Bench<'_>, rows: &mut RowsClient<'_>) -> Result<Request, Stop> {
        let (Self::Create(name) | Self::Update(name) | Self::Delete(name)) = self;
        let entity = entity(bench, name)?;
        if let Self::Create(_) = self {
            rows.create(entity, Row::new())?;
            let data = rows.full(entity, Row::new())?;
            return rows.request(entity, Action::Create, Row::new(), data);
        }
        let row = rows.create(entity, Row::new())?;
        let key = requests::key_of(entity, &row);
        if let Self::Update(_) = self {
            let fields = client::settable(entity).filter(|field| !matches!(field.kind, FieldType::Ref(_)));
            let mut set = Row::new();
            for field in fields {
                set.insert(field.name.to_owned(), rows.other_value(field, &row)?);
            }
            return rows.request(entity, Action::Update, key, set);
        }
        for (other, field, reference) in rows.spec.referring(entity) {
            let is_given = field.copy.is_none() && rows.has(other, Action::Create);
            if reference.on_delete != OnDelete::Restrict && is_given {
                let mut given = requests::part_of(&row, reference.same);
                given.insert(field.name.to_owned(), key[entity.key[0]].clone());
                for _ in 0..2 {
                    rows.create(other, given.clone())?;
                }
            }
        }
        rows.request(entity, Action::Delete, key, Row::new())
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Create(entity) => format!("create {entity}"),
            Self::Update(entity) => format!("update {entity}"),
            Self::Delete(entity) => format!("delete {entity}"),
        }
    }
}

/// Starts a server step by step.
pub(super) fn start<'a>(
    bench: &Bench<'a>,
    scene: &Scene<'a>,
    counting: Counting,
) -> Result<(RowsClient<'a>, Stepper), Stop> {
    let (client, stepper) = scene.start_stepped(counting)?;
    Ok((RowsClient::over(bench.subject, client)?, stepper))
}

fn cases(bench: &Bench<'_>, kinds: &[FaultKind]) -> Result<Vec<Case>, Stop> {
    let mut dice = bench.dice(&format!("rows {kinds:?}"));
    let mut cases = Vec::new();
    let max = bench.pick(MAX_POINTS[0], MAX_POINTS[1]);
    let mut last = None;
    for mutation in Mutation::all(bench)? {
        let calls = record(bench, &mutation)?;
        let able: Vec<_> = (0..calls.len()).filter(|at| !possible(kinds, &calls[*at]).is_empty()).collect();
        for index in spread(able.len(), max, &mut dice) {
            let at = able[index];
            let kinds = possible(kinds, &calls[at]);
            let one = [kinds[dice.usize(..kinds.len())]];
            for kind in bench.pick(&one[..], &kinds) {
                let point = Point { mutation: mutation.clone(), at: at + 1, kind: *kind, again: None };
                cases.push(point.case(&calls[at]));
            }
        }
        if let (Some(at), [FaultKind::Killed]) = (able.last(), kinds) {
            last = Some((mutation, *at));
        }
    }
    if let Some((mutation, at)) = last {
        let point = Point { mutation, at: at + 1, kind: FaultKind::Killed, again: Some(usize::MAX) };
        let calls = recovery(bench, &point)?;
        for again in spread(calls.len(), bench.pick(MAX_RECOVERIES[0], MAX_RECOVERIES[1]), &mut dice) {
            let point = Point { again: Some(again + 1), ..point.clone() };
            cases.push(point.case(&calls[again]));
        }
    }
    if cases.is_empty() {
        return Err(not_shown("no system call of the server's changes of rows can be observed"));
    }
    Ok(cases)
}

/// Returns the system calls of a change without faults.
fn record(bench: &Bench<'_>, mutation: &Mutation) -> Result<Vec<Call>, Stop> {
    let scene = Scene::of_rows(bench.subject, &bench.trace)?;
    let (mut rows, stepper) = start(bench, &scene, Counting::WhenArmed)?;
    let request = mutation.prepare(bench, &mut rows)?;
    stepper.arm(None);
    rows.send(&request)?.must("a valid call")?;
    Ok(stepper.disarm())
}

/// Returns the system calls of a start after a kill.
fn recovery(bench: &Bench<'_>, point: &Point) -> Result<Vec<Call>, Stop> {
    let scene = Scene::of_rows(bench.subject, &bench.trace)?;
    let (mut rows, stepper) = start(bench, &scene, Counting::WhenArmed)?;
    let request = point.mutation.prepare(bench, &mut rows)?;
    stepper.arm(Some(point.fault()));
    // There may be an answer nevertheless.
    let _ = rows.send(&request);
    stepper.kill();
    stepper.wait(bench.subject.launch.patience);
    let (mut rows, stepper) = start(bench, &scene, Counting::FromStart(None))?;
    rows.wake()?;
    Ok(stepper.disarm())
}

impl Point {
    fn fault(&self) -> Fault {
        Fault { at: self.at, effect: self.kind.effect() }
    }

    fn case(self, call: &Call) -> Case {
        let paths: Vec<_> = call.paths.iter().map(|path| without_ids(path)).collect();
        let (name, at, effect) = (self.mutation.name(), self.at, self.kind.effect());
        let recovery =
            self.again.map_or_else(String::new, |again| format!(", and again at {again} of the next start"));
        Case::new(format!("{name}, {effect} at {at}{recovery}: {} {}", call.name, paths.join(" -> ")), self)
    }
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let point: Point = case.read()?;
    let scene = Scene::of_rows(bench.subject, &bench.trace)?;
    let (mut rows, stepper) = start(bench, &scene, Counting::WhenArmed)?;
    let request = point.mutation.prepare(bench, &mut rows)?;
    let before = client::ledger(&scene)?;
    let model = Model::new(spec(bench)?, &before.tables);
    let Outcome::Changed(after) = model.outcome(bench.subject.contract, &request) else {
        return Err(Stop::Harness(format!("`{}` should be possible", request.arguments)));
    };
    let since = client::earlier();
    stepper.arm(Some(point.fault()));
    let answer = rows.send(&request);
    let reply = reply_after_fault(bench, &stepper, answer, point.kind)?;
    let judged = Judged {
        before,
        after: *after,
        since,
        reply,
        could_undo: !matches!(point.kind.effect(), Effect::FailOn(_)),
    };
    if stepper.status().is_none() {
        judged.judge(bench, &scene, "after the fault")?;
    }
    // Not closed: a server may write its remaining data only when it is asked to end.
    stepper.kill();
    stepper.wait(bench.subject.launch.patience);
    drop(rows);
    if let Some(again) = point.again {
        bench.trace.did("the server starts again, and is killed again");
        let fault = Fault { at: again, effect: Effect::Kill };
        match start(bench, &scene, Counting::FromStart(Some(fault))) {
            Ok((mut rows, stepper)) => {
                // It may end before it answers.
                let _ = rows.wake();
                stepper.kill();
                stepper.wait(bench.subject.launch.patience);
            }
            Err(stop) if stop.is_of_server() => {}
            Err(stop) => return Err(stop),
        }
    }
    let mut rows = RowsClient::start(bench.subject, &scene)?;
    rows.number_from(500);
    judged.judge(bench, &scene, "after a restart")?;
    let next = point.mutation.prepare(bench, &mut rows)?;
    one_change(&scene, &mut rows, &next).map(drop)
}

/// A change that was interrupted, and its possible results.
struct Judged {
    before: RowLedger,
    after: Model,
    since: i64,
    reply: Option<Reply>,
    /// True if the server was able to take back its writes.
    could_undo: bool,
}

impl Judged {
    /// Judges the rows and the log as they are now.
    fn judge(&self, bench: &Bench<'_>, scene: &Scene<'_>, when: &str) -> Judgement {
        // Rows that can't be read are not there.
        let found = client::ledger(scene).map_err(|stop| match stop {
            Stop::Harness(why) => fail(format!("{when}, the rows can't be read: {why}")),
            stop => stop,
        })?;
        let learned = self.after.clone().learn(&found.tables, (self.since, client::later()));
        let difference = self.before.tables.difference(&found.tables);
        let is_before = difference.is_none();
        if let (Some(old), Err(new)) = (&difference, &learned) {
            return Err(fail(format!(
                "{when}, the rows are neither those before nor those after the change: before, {old}; after, {new}"
            )));
        }
        match &self.reply {
            Some(Reply::Done(_)) => {
                ensure(!is_before, || format!("the change was acknowledged, but {when} it is not there"))?
            }
            Some(Reply::Refused(refusal)) if self.could_undo => ensure(is_before, || {
                format!("the change was refused (`{}`), but {when} it is there", refusal.message)
            })?,
            _ => {}
        }
        let entries = found.entries_since(&self.before).map_err(|why| fail(format!("{when}, {why}")))?;
        let added = entries.map(<[_]>::len);
        ensure(added.is_none_or(|added| added == usize::from(!is_before)), || {
            let (rows, added) = (
                if is_before { "the rows are as before" } else { "the change is there" },
                added.unwrap_or_default(),
            );
            format!("{when}, {rows}, and the log has {added} new entries")
        })?;
        ensure_none(found.replay_differs(spec(bench)?), |differs| format!("{when}, {differs}"))
    }
}
