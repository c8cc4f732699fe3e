//! A tracker whose rows are in one JSON document under a lock. The fields of its entities are the contract's; the engine is separate.

mod fields;
mod rules;
mod store;

use std::{collections::BTreeMap, fs::File, path::Path, thread, time::Duration};

use serde_json::{Value, json};
use tabellion_runtime::{
    ContractSpec,
    context::{BASE, CHANGE, IDEMPOTENCY_KEY, IF_BASE},
};

use super::{Answer, Call, ContractServer, Refusal, rows::Row};
use crate::mutant::{Mutant, is};
use fields::generated::ROWS;
use rules::{Changed, Request};
use store::{State, Store, digest, random};

pub(super) use store::FILE;

pub(crate) static CONTRACT: &ContractSpec = &fields::generated::CONTRACT;

/// The number of listed rows if none is named, and the maximum.
const LIMITS: (u64, u64) = (100, 1_000);

pub(super) struct Tracker {
    store: Store,
    /// The state that a mutant writes once it has answered, and the lock for that.
    left: Option<(State, Option<File>)>,
    /// Secrets by the ids of their rows, which a mutant remembers.
    secrets: BTreeMap<String, String>,
    /// Idempotency keys of this process, for a mutant that has no others.
    keys: serde_json::Map<String, Value>,
}

/// Returns the names of the entities.
pub(super) fn entities() -> impl Iterator<Item = &'static str> {
    ROWS.entities.iter().map(|entity| entity.name)
}

impl Tracker {
    pub(super) fn new(folder: &Path) -> Self {
        Self { store: Store::new(folder), left: None, secrets: BTreeMap::new(), keys: serde_json::Map::new() }
    }

    fn get(&self, state: &State, request: &Request<'_>) -> Result<Answer, Refusal> {
        let row = rules::find(state, request, is(Mutant::GetsAcrossOrgs))?;
        let base = digest(&Value::Object(row.clone()));
        Ok(Answer::Noted { response: self.shown(&row), meta: json!({ BASE: base }) })
    }

    /// Returns a row in the form of answers.
    fn shown(&self, row: &Row) -> Value {
        let mut row = row.clone();
        row.shift_remove("secret");
        let id = row.get("id").and_then(Value::as_str).unwrap_or_default();
        if let Some(secret) = self.secrets.get(id) {
            row.insert("secret".into(), secret.as_str().into());
        }
        row.into()
    }

    fn list(&self, state: &State, request: &Request<'_>) -> Result<Answer, Refusal> {
        let arguments = request.arguments;
        let mut rows = state.rows(request.entity.name);
        if !is(Mutant::ListsAcrossOrgs) {
            rows.retain(|row| rules::is_of_org(row, request));
        }
        for (field, entity) in [("project_id", "project"), ("issue_id", "issue")] {
            if let Some(id) = arguments.get(field) {
                let mut all = state.rows(entity).into_iter();
                if !all.any(|row| row["org_id"] == request.org && row["id"] == *id) {
                    return Err((-32602, format!("`{field}` names no {entity}")));
                }
                rows.retain(|row| row[field] == *id);
            }
        }
        if let Some(query) = arguments["query"].as_str() {
            if query.trim().is_empty() {
                return Err((-32602, "`query` has no word".into()));
            }
            rows.retain(|row| rules::has_words(row, query));
        }
        let order = |row: &Row| {
            let values = request.entity.order.iter().chain(&["id"]);
            let values = values.map(|name| match &row[*name] {
                Value::Number(number) => (number.as_i64(), String::new()),
                value => (None, value.as_str().unwrap_or_default().to_owned()),
            });
            values.collect::<Vec<_>>()
        };
        rows.sort_by_key(order);
        let total = rows.len();
        let limit = arguments["limit"].as_u64().unwrap_or(LIMITS.0);
        if limit > LIMITS.1 {
            return Err((-32602, "`limit` is too large".into()));
        }
        if let Some(after) = arguments.get("after") {
            let last = rows.iter().position(|row| row["id"] == *after);
            let gone = || (-32001, "there is no row to continue after".to_owned());
            let last = match last {
                Some(last) => last,
                // It may be there without being in this list.
                None => {
                    let id = after.as_str().unwrap_or_default();
                    let row = rules::find(state, &Request { id, data: Row::new(), ..*request }, false);
                    let row = row.map_err(|_| gone())?;
                    rows.retain(|other| order(other) > order(&row));
                    rows.insert(0, row);
                    0
                }
            };
            rows.drain(..=last);
        }
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let items: Vec<_> = rows.iter().map(|row| self.shown(row)).collect();
        let count = items.len();
        Ok(Answer::Response(json!({ "count": count, "total": total, "items": items })))
    }

    /// Makes a change, once.
    fn change(&mut self, action: &str, request: &Request<'_>, meta: &Value) -> Result<Answer, Refusal> {
        let lock = self.store.lock()?;
        let state = self.store.read()?;
        if is(Mutant::RowsWithoutLock) {
            thread::sleep(Duration::from_millis(2));
        }
        let name = meta[IDEMPOTENCY_KEY].as_str().filter(|_| !is(Mutant::IgnoresKeys));
        let asked = digest(request.arguments);
        let known = if is(Mutant::KeysOfAProcess) { &self.keys } else { &state.keys };
        if let Some(before) = name.and_then(|name| known.get(name)) {
            if before["request"] != asked {
                return Err((-32002, "the idempotency key was used for another request".into()));
            }
            return Ok(Answer::Noted {
                response: before["response"].clone(),
                meta: json!({ CHANGE: before["change"] }),
            });
        }
        if action == "delete" && is(Mutant::DeletesNothing) && rules::find(&state, request, false).is_err() {
            return Ok(Answer::Response(json!({ "deleted": true, "id": request.id })));
        }
        if let Some(base) = meta.get(IF_BASE).filter(|_| !is(Mutant::IgnoresRowBase)) {
            let row = rules::find(&state, request, false).ok();
            let found = row.map_or(Value::Null, |row| digest(&Value::Object(row)).into());
            if *base != found {
                return Err((-32002, "the row has changed".into()));
            }
        }
        let mut next = state.clone();
        let Changed { response, secret } = match action {
            "create" => rules::create(&mut next, request)?,
            "update" => rules::update(&mut next, request)?,
            _ => rules::delete(&mut next, request)?,
        };
        let id = random(32)?;
        let mut entry = next.entry(&state, &id);
        if is(Mutant::SecretInLog) {
            entry["response"] = response.clone();
        }
        match () {
            () if is(Mutant::LogsNoRows) => {}
            () if is(Mutant::LogsRowsTwice) => {
                next.log.extend([entry.clone(), json!({ "id": "again", "rows": [] })])
            }
            () if is(Mutant::LogsOneRow) => {
                if let Some(rows) = entry["rows"].as_array_mut() {
                    rows.truncate(1);
                }
                next.log.push(entry.clone());
            }
            () => next.log.push(entry.clone()),
        }
        if let Some(name) = name {
            let mut kept = response.clone();
            if secret.is_some() && !is(Mutant::SecretReplayed) {
                kept["secret"] = Value::Null;
            }
            let call = json!({ "request": asked, "response": kept, "change": id });
            if is(Mutant::KeysOfAProcess) {
                self.keys.insert(name.to_owned(), call);
            } else {
                next.keys.insert(name.to_owned(), call);
            }
        }
        if let Some((id, secret)) = secret {
            if is(Mutant::SecretListed) {
                self.secrets.insert(id, secret);
            } else if is(Mutant::SecretOnStderr) {
                eprintln!("created a key: {secret}");
            }
        }
        if is(Mutant::LogsBeforeRows) {
            let mut first = state.clone();
            first.log.clone_from(&next.log);
            self.store.write(&first)?;
        }
        if is(Mutant::AnswersBeforeRows) {
            self.left = Some((next, lock));
        } else {
            self.store.write(&next)?;
        }
        Ok(Answer::Noted { response, meta: json!({ CHANGE: id }) })
    }
}

impl ContractServer for Tracker {
    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Refusal> {
        let arguments = call.arguments;
        let text = |name: &str| arguments[name].as_str();
        let (action, resource) = (text("action").unwrap_or_default(), text("resource"));
        let entity = resource.and_then(|resource| ROWS.entity(resource));
        let request = Request {
            entity: entity.ok_or_else(|| (-32602, "unknown resource".to_owned()))?,
            org: text("org_id").unwrap_or("home"),
            id: text("id").unwrap_or_default(),
            data: arguments["data"].as_object().cloned().unwrap_or_default(),
            arguments,
        };
        if !matches!(action, "get" | "list") {
            return self.change(action, &request, call.meta);
        }
        let state = {
            let _lock = self.store.lock()?;
            self.store.read()?
        };
        if action == "get" { self.get(&state, &request) } else { self.list(&state, &request) }
    }

    fn answered(&mut self) {
        if let Some((state, lock)) = self.left.take() {
            thread::sleep(Duration::from_millis(20));
            // The answer is sent already.
            let _ = self.store.write(&state);
            drop(lock);
        }
    }
}
