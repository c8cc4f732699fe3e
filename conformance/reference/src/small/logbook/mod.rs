//! The log of a ship, which accepts calls according to its mode and records the origin of each change.

mod contract;
mod origin;
mod store;

use std::path::Path;

use serde_json::{Value, json};
use tabellion_runtime::{ToolSpec, context::CHANGE};

pub(crate) use self::contract::CONTRACT;
pub(super) use self::store::FILE;
use self::{
    contract::{CONFLICT, INVALID, NOT_FOUND, UNDECLARED},
    origin::{Fields, Mode},
    store::{Store, random},
};
use super::{Answer, Call, ContractServer, Refusal};
use crate::mutant::{Mutant, is};

/// The entities, with the name of each one's tool.
const TOOLS: [(&str, &str); 2] = [("log", "entry"), ("crew", "sailor")];

pub(super) struct Logbook {
    store: Store,
    mode: Mode,
    /// The provenance of the call at hand.
    said: Fields,
}

/// Returns the names of the entities.
pub(super) fn entities() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(_, entity)| *entity)
}

impl Logbook {
    pub(super) fn new(folder: &Path, mode: Option<&str>) -> Self {
        Self { store: Store::new(folder), mode: Mode::of_process(mode), said: Fields::new() }
    }

    fn read(&self, action: &str, entity: &str, id: Option<&str>) -> Result<Answer, Refusal> {
        let state = self.store.read()?;
        let mut rows = state.rows(entity);
        if is(Mutant::SeesItsWatch) {
            let mine = self.said.get("watch");
            rows.retain(|row| state.made_by(row, "watch") == mine);
        }
        if action == "list" {
            let (count, total) = (rows.len(), rows.len());
            return Ok(Answer::Response(json!({ "count": count, "total": total, "items": rows })));
        }
        let found = rows.into_iter().find(|row| row.get("id").and_then(Value::as_str) == id);
        let row = found.ok_or_else(|| gone(entity))?;
        Ok(Answer::Response(row.into()))
    }

    fn change(
        &mut self,
        tool: &ToolSpec,
        action: &str,
        entity: &'static str,
        arguments: &Value,
    ) -> Result<Answer, Refusal> {
        let _lock = self.store.lock()?;
        let mut state = self.store.read()?;
        let mut rows = state.rows(entity);
        let (before, after, response);
        if action == "create" {
            let row = state.complete(arguments["data"].as_object().cloned().unwrap_or_default())?;
            if rows.iter().any(|other| other["id"] == row["id"]) {
                return Err((CONFLICT, format!("there is a {entity} of that id already")));
            }
            rows.push(row.clone());
            response = Value::Object(row.clone());
            (before, after) = (Value::Null, Value::Object(row));
        } else {
            let at = rows.iter().position(|row| row["id"] == arguments["id"]);
            let row = rows.remove(at.ok_or_else(|| gone(entity))?);
            response = json!({ "deleted": true, "id": row["id"] });
            (before, after) = (Value::Object(row), Value::Null);
        }
        let row = if after.is_null() { &before } else { &after };
        let id = random()?;
        let mut entry = json!({
            "id": id,
            "rows": [{ "entity": entity, "key": { "id": row["id"] }, "before": before, "after": after }],
        });
        let is_required = origin::is_required(tool);
        if is_required || !is(Mutant::KeepsWhatItNeeds) {
            entry["provenance"] = self.said.clone().into();
        }
        state.set_rows(entity, rows);
        state.log.push(entry);
        self.store.write(&state)?;
        Ok(Answer::Noted { response, meta: json!({ CHANGE: id }) })
    }
}

impl ContractServer for Logbook {
    fn lists(&self, tool: &ToolSpec) -> bool {
        !is(Mutant::HidesTools) || self.mode.allows(tool).is_ok()
    }

    fn admit(&mut self, tool: &ToolSpec, meta: &Value) -> Result<(), Refusal> {
        self.mode.allows(tool)?;
        self.said = origin::said(tool, meta)?;
        Ok(())
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Refusal> {
        let arguments = call.arguments;
        let tool = CONTRACT.operation(call.operation).map_or("", |tool| tool.name);
        let entity = TOOLS.iter().find(|(name, _)| *name == tool).map(|(_, entity)| *entity);
        let (Some(tool), Some(entity)) = (CONTRACT.tool(tool), entity) else {
            return Err((INVALID, "unknown operation".to_owned()));
        };
        let action = call.text("action");
        match action {
            "create" | "delete" => self.change(tool, action, entity, arguments),
            _ => self.read(action, entity, arguments["id"].as_str()),
        }
    }
}

fn gone(entity: &str) -> Refusal {
    let code = if is(Mutant::CodeOfItsOwn) { UNDECLARED } else { NOT_FOUND };
    (code, format!("there is no such {entity}"))
}
