//! The log: each change is one entry, which records it exactly; all entries together give the tables.

use tabellion_runtime::spec::{Action, OnDelete};

use super::{
    basics::{entity, entry_leads, has, spec, start, unchanged},
    play, program, written,
};
use crate::{
    checks::prelude::*,
    ledger::rows::Row,
    rows::{
        Request, RowsClient, client,
        requests::{self, RequestContent},
    },
};

pub(super) const ONE_CHANGE: Check = Check {
    id: "rows/one-change",
    guarantees: &["one-change-per-mutation"],
    states: "Each mutation adds exactly one entry to the log, which has exactly the rows that changed; nothing else adds one.",
    explains: "Creates, updates and deletes a row of each entity, also rows that others refer to, and reads the tables and the \
               log from the disk before and after each call. The entry's rows must lead from the one to the other, and the \
               answer must name it. Reading and refused calls add no entry. Operations that change rows by a method of the \
               server are called as their examples call them; there, the file must also show one transaction.",
    cases,
    ..Check::must(judge)
};

pub(super) const LOG_REPLAYS: Check = Check {
    id: "rows/log-replays",
    guarantees: &["one-change-per-mutation"],
    states: "Replaying the log on an empty store gives the tables, row for row.",
    explains: "Runs random programs of all operations, with restarts in between. After each call, the log has its earlier entries \
               as they were, and the one that the answer names. At the end it is replayed on an empty store: each entry must fit the rows so far, and the rows must \
               be those of the tables. Where a command exports rows too, it must say the same as the file.",
    cases: |bench| program::cases(bench, "log", bench.pick(4, 30)),
    shrink: program::shrink,
    ..Check::must(judge_replay)
};

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let entities = spec(bench)?.entities.iter();
    let created = entities.filter(|entity| has(bench, entity.name, &[Action::Create]));
    let cases = created.map(|entity| Case::new(entity.name, entity.name));
    let all = cases.chain(written::cases(bench)).collect();
    nonempty(all, "the server has no operation that creates a row")
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let name = case.read::<String>()?;
    if let Some(judgement) = written::judge(bench, &name) {
        return judgement;
    }
    let entity = entity(bench, &name)?;
    let (scene, mut rows) = start(bench)?;
    let data = rows.complete(entity, Row::new())?;
    let request = rows.request(entity, Action::Create, Row::new(), data)?;
    let done = one_change(&scene, &mut rows, &request)?;
    let row = request.row(&done).cloned().unwrap_or_default();
    let key = requests::key_of(entity, &row);
    let settable = client::settable(entity).next();
    if let Some(field) = settable.filter(|_| rows.has(entity, Action::Update)) {
        let request = rows.update(entity, &row, field)?;
        one_change(&scene, &mut rows, &request)?;
    }
    for tool in requests::own(bench.subject.contract, entity.name) {
        let content = RequestContent { org: rows.org.clone(), key: key.clone(), ..RequestContent::default() };
        if let Some(request) = rows.request_by(tool, content)? {
            one_change(&scene, &mut rows, &request)?;
        }
    }
    nothing(bench, &scene, &mut rows, &key, entity.name)?;
    if !rows.has(entity, Action::Delete) {
        return Ok(());
    }
    for (other, field, reference) in rows.spec.referring(entity) {
        // Copied fields go with the row that they are copied from.
        let is_given = field.copy.is_none() && rows.has(other, Action::Create);
        if reference.on_delete != OnDelete::Restrict && is_given {
            let mut given = Row::from_iter([(field.name.to_owned(), key[entity.key[0]].clone())]);
            given.extend(requests::part_of(&row, reference.same));
            rows.create(other, given)?;
        }
    }
    let request = rows.request(entity, Action::Delete, key, Row::new())?;
    one_change(&scene, &mut rows, &request).map(drop)
}

/// Makes a mutation, and compares its entry with the changed rows; returns the response.
pub(super) fn one_change(
    scene: &Scene<'_>,
    rows: &mut RowsClient<'_>,
    request: &Request,
) -> Result<Value, Stop> {
    let what = request.tool.label();
    let before = client::ledger(scene)?;
    let done = rows.must(request)?;
    let after = client::ledger(scene)?;
    entry_leads(rows.spec, (&before, &after), what, &done)?;
    ensure(!before.tables.changed(&after.tables).is_empty(), || {
        format!("`{what}` was answered, but it changed no row")
    })?;
    Ok(done.response)
}

/// Makes calls without an effect.
fn nothing(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    rows: &mut RowsClient<'_>,
    key: &Row,
    name: &str,
) -> Judgement {
    let entity = entity(bench, name)?;
    let before = client::ledger(scene)?;
    for action in [Action::Get, Action::List] {
        let by = if action == Action::Get { key.clone() } else { Row::new() };
        if let Ok(request) = rows.request(entity, action, by, Row::new()) {
            rows.send(&request)?;
            unchanged(&before, scene, &format!("`{}`", request.tool.label()))?;
        }
    }
    let missing = key.keys().map(|name| (name.clone(), "no-such-row".into())).collect();
    if let Ok(request) = rows.request(entity, Action::Delete, missing, Row::new()) {
        let what = format!("`{}` of a row that is not there", request.tool.label());
        ensure(matches!(rows.send(&request)?, Reply::Refused(_)), || format!("{what} was accepted"))?;
        unchanged(&before, scene, &what)?;
    }
    Ok(())
}

fn judge_replay(bench: &Bench<'_>, case: &Case) -> Judgement {
    let steps: Vec<program::Step> = case.read()?;
    let scene = play::run(bench, &steps, play::Judges::Log)?;
    let ledger = client::ledger(&scene)?;
    if ledger.log.is_none() {
        return Err(not_shown("there is no way to read the server's log"));
    }
    ensure_none(ledger.replay_differs(spec(bench)?), |differs| differs)?;
    let source = &bench.subject.ledger;
    let exported = source.exported(&scene.data(), spec(bench)?).map_err(Stop::Harness)?;
    match exported.filter(|exported| *exported != ledger) {
        None => Ok(()),
        Some(exported) => {
            let difference = ledger.tables.difference(&exported.tables);
            let difference = difference.unwrap_or_else(|| "the log differs".to_owned());
            Err(fail(format!("the export is not what the file has: {difference}")))
        }
    }
}
