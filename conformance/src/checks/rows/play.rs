//! Runs a program of calls, and compares the server with the model.

use tabellion_runtime::{
    context::CHANGE,
    spec::{Action, FieldType},
};

use super::{
    basics::{spec, start},
    program::{self, Call, Step},
};
use crate::{
    checks::prelude::*,
    ledger::rows::{Row, RowLedger, canonical_row, shown},
    reply::Success,
    rows::{
        Model, Request, RowsClient, client,
        model::{Outcome, Page},
    },
};

pub(super) const CHECK: Check = Check {
    id: "rows/model",
    guarantees: &["rows-are-what-was-said", "errors-change-nothing"],
    states: "In any order of calls, the rows, and what is answered of them, are what the entities' rules make of the calls.",
    explains: "Runs random programs of all operations on entities, valid and invalid, in several orgs and with restarts, and programs \
               that are aimed at single rules, beside a \
               model that is made of the contract's entities alone. After each call the tables on the disk must be the model's, and \
               the answer too; what the model refuses must be refused. Ids, times and numbers that the server makes are learned \
               and held to rules: new, the time of the call, growing. A failing program is shrunk.",
    cases: |bench| {
        let random = program::cases(bench, "model", bench.pick(10, 150))?;
        Ok(program::aimed(bench)?.into_iter().chain(random).collect())
    },
    shrink: program::shrink,
    ..Check::must(judge)
};

/// The subject of judgement while a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judges {
    /// The rows and the answers.
    Rows,
    /// That the log keeps its entries.
    Log,
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let steps: Vec<Step> = case.read()?;
    run(bench, &steps, Judges::Rows).map(drop)
}

/// Runs a program; returns its scene, with no server.
pub(super) fn run<'a>(bench: &Bench<'a>, steps: &[Step], judges: Judges) -> Result<Scene<'a>, Stop> {
    let (scene, mut rows) = start(bench)?;
    rows.orgs()?;
    rows.make_others(&program::entities(steps))?;
    let mut played = Played {
        bench,
        judges,
        ledger: client::ledger(&scene)?,
        model: Model::new(spec(bench)?, &client::ledger(&scene)?.tables),
    };
    for step in steps {
        match step {
            Step::Restart => {
                rows.close()?;
                rows = RowsClient::start(bench.subject, &scene)?;
                // A server may read its rows on its first call only.
                played.after(&scene, "a restart")?;
            }
            Step::Call(call) => played.call(&scene, &mut rows, call)?,
        }
    }
    rows.close()?;
    played.after(&scene, "the end")?;
    Ok(scene)
}

/// A program that runs.
struct Played<'b, 'a> {
    bench: &'b Bench<'a>,
    judges: Judges,
    ledger: RowLedger,
    model: Model,
}

impl Played<'_, '_> {
    /// Judges the rows after an event that must change none.
    fn after(&mut self, scene: &Scene<'_>, what: &str) -> Judgement {
        let ledger = client::ledger(scene)?;
        ensure_none(self.ledger.tables.difference(&ledger.tables), |difference| {
            format!("{what} changed rows: {difference}")
        })?;
        self.take(ledger, what).map(drop)
    }

    /// Judges the log, and returns the ledger before.
    fn take(&mut self, ledger: RowLedger, what: &str) -> Result<RowLedger, Stop> {
        let before = std::mem::replace(&mut self.ledger, ledger);
        if self.judges == Judges::Log {
            let entries = self.ledger.entries_since(&before);
            entries.map_err(|why| fail(format!("after {what}, {why}")))?;
        }
        Ok(before)
    }

    fn call(&mut self, scene: &Scene<'_>, rows: &mut RowsClient<'_>, call: &Call) -> Judgement {
        let Some(request) = call.request(rows, &self.model) else {
            return Ok(());
        };
        let since = client::earlier();
        let reply = rows.send(&request)?;
        let within = (since, client::later());
        let what = format!("`{}`", shown(&request.arguments));
        let before = self.take(client::ledger(scene)?, &what)?;
        if self.judges == Judges::Log {
            self.model = Model::new(spec(self.bench)?, &self.ledger.tables);
            return self.logged(&reply, &what);
        }
        let unchanged = || {
            ensure_none(before.tables.difference(&self.ledger.tables), |difference| {
                format!("{what} changed rows: {difference}")
            })
        };
        match (self.model.outcome(self.bench.subject.contract, &request), reply) {
            (Outcome::Refused(why), Reply::Done(_)) => {
                Err(fail(format!("{what} was accepted, although {why}")))
            }
            (Outcome::Refused(_) | Outcome::NothingOrRefused, Reply::Refused(_)) => unchanged(),
            (_, Reply::Refused(refusal)) => {
                Err(fail(format!("{what}, which is valid, was refused: {}", refusal.message)))
            }
            (Outcome::Changed(mut later), Reply::Done(done)) => {
                let learned = later.learn(&self.ledger.tables, within);
                learned.map_err(|why| fail(format!("after {what}, {why}")))?;
                self.model = *later;
                self.answered(&request, &done, &what)
            }
            (Outcome::Row(row), Reply::Done(done)) => {
                unchanged()?;
                let found = request.row(&done.response).cloned().unwrap_or_default();
                let found = canonical_row(request.entity, found);
                ensure(found == row, || {
                    let [found, row] = [found, row].map(|row| shown(&Value::Object(row)));
                    format!("{what} was answered with {found} instead of {row}")
                })
            }
            (Outcome::Page(page), Reply::Done(done)) => {
                unchanged()?;
                listed(&request, &page, &done, &what)
            }
            (Outcome::NothingOrRefused, Reply::Done(done)) => {
                unchanged()?;
                let none = Page { items: Vec::new(), total: 0 };
                listed(&request, &none, &done, &what)
            }
        }
    }

    /// Judges the log after a call: it has the entry that the answer names.
    fn logged(&self, reply: &Reply, what: &str) -> Judgement {
        let (Reply::Done(done), Some(log)) = (reply, &self.ledger.log) else {
            return Ok(());
        };
        let named = done.meta.get(CHANGE).and_then(Value::as_str);
        let lost = named.filter(|id| !log.iter().any(|entry| entry.id == **id));
        ensure_none(lost, |id| {
            format!("{what} was answered with the change `{id}`, which the log does not have")
        })
    }

    /// Judges the answer to a change: it has the row as it is now.
    fn answered(&self, request: &Request, done: &Success, what: &str) -> Judgement {
        let entity = request.entity;
        if request.operation.action == Action::Delete {
            let wrong = entity.key.iter().find(|name| {
                let (named, answered) = (request.content.key.get(**name), done.response.get(**name));
                named.is_some() && answered.is_some() && named != answered
            });
            return ensure(wrong.is_none(), || {
                format!("{what} was answered with another key: {}", shown(&done.response))
            });
        }
        let mut found = request.row(&done.response).cloned().unwrap_or_default();
        for field in entity.fields {
            if matches!(field.kind, FieldType::Secret { .. }) {
                found.shift_remove(field.name);
            }
        }
        let found = canonical_row(entity, found);
        let is_it = |row: &&Row| entity.key.iter().all(|name| row.get(*name) == found.get(*name));
        let mut rows = self.model.visible(entity, request.content.org.as_deref());
        let Some(row) = rows.find(is_it).map(|row| self.model.answer(entity, row)) else {
            return Err(fail(format!(
                "{what} was answered with the key of no row: {}",
                shown(&done.response)
            )));
        };
        ensure(found == row, || {
            let [found, row] = [found, row].map(|row| shown(&Value::Object(row)));
            format!("{what} was answered with {found}, but the row is {row}")
        })
    }
}

/// Judges the answer to a list.
fn listed(request: &Request, page: &Page, done: &Success, what: &str) -> Judgement {
    let items = done.response.get("items").and_then(Value::as_array);
    let items = items.ok_or_else(|| fail(format!("{what} was answered without `items`")))?;
    let row = |item: &Value| canonical_row(request.entity, item.as_object().cloned().unwrap_or_default());
    let found: Vec<_> = items.iter().map(row).collect();
    ensure(found == page.items, || {
        let keys = |rows: &[Row]| {
            let key = |row: &Row| row.get(request.entity.key[0]).map(Value::to_string).unwrap_or_default();
            rows.iter().map(key).collect::<Vec<_>>().join(", ")
        };
        let (found_keys, expected) = (keys(&found), keys(&page.items));
        if found_keys == expected {
            format!("{what} was answered with other values than the rows have")
        } else {
            format!("{what} was answered with [{found_keys}] instead of [{expected}]")
        }
    })?;
    for (name, expected) in [("count", page.items.len()), ("total", page.total)] {
        if let Some(number) = done.response.get(name) {
            ensure(*number == expected, || {
                format!("{what} was answered with `{name}` {number} instead of {expected}")
            })?;
        }
    }
    Ok(())
}
