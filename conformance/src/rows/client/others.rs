//! Orgs, and rows that no operation on rows creates.

use serde_json::Value;
use tabellion_runtime::spec::{Action, EntitySpec, Scope};

use super::RowsClient;
use crate::{
    judgement::{Stop, not_applicable},
    ledger::rows::{Row, Tables},
    reply::Reply,
    request,
    rows::requests::{self, ORG_BESIDE},
};

impl RowsClient<'_> {
    /// Returns a row of an entity that only operations of other kinds create: one that is there, or one that an example of such an
    /// operation creates.
    ///
    /// # Errors
    /// If there is no answer, or no example creates one.
    pub fn by_others(&mut self, entity: &'static EntitySpec) -> Result<Row, Stop> {
        let org = self.org.clone();
        let here = |tables: &Tables| {
            let is_here = |row: &&Row| {
                let of = entity.org_field().and_then(|name| row.get(name)).and_then(Value::as_str);
                of == org.as_deref()
            };
            tables.rows(entity.name).find(is_here).cloned()
        };
        if let Some(row) = here(&self.tables()?) {
            return Ok(row);
        }
        let others = self.subject.contract.operations();
        for tool in others.filter(|tool| tool.mutating && tool.rows.is_none()) {
            if !self.subject.adapter.has(tool, None) {
                continue;
            }
            for arguments in request::examples(tool) {
                if let Reply::Done(_) = self.client.call(tool, &arguments)?
                    && let Some(row) = here(&self.tables()?)
                {
                    return Ok(row);
                }
            }
        }
        Err(not_applicable(format!(
            "no operation that the suite can call creates a row of `{}` there",
            entity.name
        )))
    }

    /// Creates the second org, if checks need it, and returns the keys of all.
    pub fn orgs(&mut self) -> Result<Vec<String>, Stop> {
        let orgs = requests::orgs_of(self.subject.contract);
        if let Some(of) = self.spec.org.filter(|_| orgs.iter().any(|org| org == ORG_BESIDE)) {
            let entity = self.entity(of.entity)?;
            let key = Row::from_iter([(entity.key[0].to_owned(), ORG_BESIDE.into())]);
            if self.row_of(entity, &key)?.is_none() {
                self.create(entity, key)?;
            }
        }
        Ok(orgs)
    }

    /// Makes rows that rows of `entities` can refer to and that no operation on rows creates, as far as the suite can.
    pub fn make_others(&mut self, entities: &[&str]) -> Result<(), Stop> {
        let contract = self.subject.contract;
        for entity in self.spec.entities {
            let creates = |name: &str| requests::find(contract, name, Action::Create).is_some();
            let is_needed = self
                .spec
                .referring(entity)
                .any(|(other, ..)| entities.contains(&other.name) && creates(other.name));
            if entity.scope != Scope::Root && is_needed && !creates(entity.name) {
                match self.by_others(entity) {
                    Ok(_) | Err(Stop::NotApplicable(_)) => {}
                    Err(stop) => return Err(stop),
                }
            }
        }
        Ok(())
    }
}
