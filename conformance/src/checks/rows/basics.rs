//! Servers, entities, refusals and entries of the log, for all checks of rows.

use tabellion_runtime::{
    context::CHANGE,
    spec::{Action, EntitySpec, RowsSpec},
};

use crate::{
    checks::prelude::*,
    ledger::{replay, rows::RowLedger},
    reply::Success,
    rows::{Request, RowsClient, client, requests},
};

/// JSON-RPC's error code for a failure of the server itself.
pub(super) const INTERNAL_ERROR: i64 = -32603;

/// Starts a server over a new folder.
pub(in crate::checks) fn start<'a>(bench: &Bench<'a>) -> Result<(Scene<'a>, RowsClient<'a>), Stop> {
    let scene = Scene::of_rows(bench.subject, &bench.trace)?;
    let rows = RowsClient::start(bench.subject, &scene)?;
    Ok((scene, rows))
}

/// Returns the contract's rows.
pub(in crate::checks) fn spec(bench: &Bench<'_>) -> Result<&'static RowsSpec, Stop> {
    let spec = bench.subject.contract.rows;
    spec.ok_or_else(|| not_applicable("the contract has no rows"))
}

pub(in crate::checks) fn entity(bench: &Bench<'_>, name: &str) -> Result<&'static EntitySpec, Stop> {
    let entity = spec(bench)?.entity(name);
    entity.ok_or_else(|| not_applicable(format!("the contract has no entity `{name}`")))
}

/// Returns true if the server has these operations of an entity.
pub(in crate::checks) fn has(bench: &Bench<'_>, entity: &str, actions: &[Action]) -> bool {
    actions.iter().all(|action| {
        let tool = requests::find(bench.subject.contract, entity, *action);
        tool.is_some_and(|tool| bench.subject.adapter.has(tool, None))
    })
}

/// Sends a request that must be refused with an error of the contract, and must change nothing. The refusal must name one of
/// `fields`, if there are any.
pub(in crate::checks) fn must_be_refused(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    rows: &mut RowsClient<'_>,
    request: &Request,
    (what, fields): (&str, &[&str]),
) -> Result<Refusal, Stop> {
    let before = client::ledger(scene)?;
    let refusal = match rows.send(request)? {
        Reply::Refused(refusal) => refusal,
        Reply::Done(_) => return Err(fail(format!("{what} was accepted"))),
    };
    unchanged(&before, scene, &format!("{what}, which was refused,"))?;
    let message = &refusal.message;
    let mut errors = bench.subject.contract.errors.iter();
    let is_declared = refusal
        .code
        .is_none_or(|code| code != INTERNAL_ERROR && errors.any(|error| i64::from(error.code) == code));
    ensure(is_declared, || {
        let code = refusal.code.unwrap_or_default();
        format!("{what} was refused with {code}, which is no error of the contract for that: {message}")
    })?;
    ensure(fields.is_empty() || fields.iter().any(|field| message.contains(field)), || {
        format!("{what} was refused without naming `{}`: {message}", fields.join("` or `"))
    })?;
    Ok(refusal)
}

/// Fails unless the rows and the log are still `before`.
pub(in crate::checks) fn unchanged(before: &RowLedger, scene: &Scene<'_>, what: &str) -> Judgement {
    let after = client::ledger(scene)?;
    ensure_none(before.tables.difference(&after.tables), |difference| {
        format!("{what} changed rows: {difference}")
    })?;
    ensure(before.log == after.log, || format!("{what} changed the log"))
}

/// Fails unless the log has exactly one entry more, which leads from the rows before to those after, and the answer names it.
pub(super) fn entry_leads(
    spec: &RowsSpec,
    (before, after): (&RowLedger, &RowLedger),
    what: &str,
    done: &Success,
) -> Judgement {
    let entries = after.entries_since(before).map_err(|why| fail(format!("after `{what}`, {why}")))?;
    let entries = entries.ok_or_else(|| not_shown("there is no way to read the server's log"))?;
    let [entry] = entries else {
        let many = entries.len();
        return Err(fail(format!("`{what}` added {many} entries to the log instead of one")));
    };
    let mut tables = before.tables.clone();
    replay::apply(spec, &mut tables, entry)
        .map_err(|why| fail(format!("the entry of `{what}` is wrong: {why}")))?;
    ensure_none(tables.difference(&after.tables), |difference| {
        format!("the entry of `{what}` is not what changed: by the entry, {difference}")
    })?;
    let changed = before.tables.changed(&after.tables);
    let of_entry = entry.rows.iter().filter(|row| row.before != row.after);
    let said = of_entry.filter_map(|row| Some(row.place(spec.entity(&row.entity)?)));
    let too_much = said.filter(|place| !changed.contains(place)).count();
    ensure(too_much == 0, || format!("the entry of `{what}` has {too_much} rows that did not change"))?;
    let named = done.meta.get(CHANGE).and_then(Value::as_str);
    ensure(named == Some(&entry.id), || {
        format!("the answer to `{what}` names the change {named:?} instead of `{}`", entry.id)
    })
}
