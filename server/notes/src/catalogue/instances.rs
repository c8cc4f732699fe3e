//! Documents in `workflows/`, which are not notes: the catalogue stores the fields that its owner reads from them.

use std::fmt::Write as _;

use rusqlite::{Connection, Row, params, params_from_iter, types::Value as Sql};
use uuid::Uuid;

use super::{
    follow::StatKey,
    instance::{ContentHash, FoundInstance, Instance},
    read::{Snapshot, blob},
};
use crate::CatalogueError;

/// Conditions for instances, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstanceFilter {
    /// Beginning of the id, in lower case.
    pub id: Option<String>,
    /// Id of the workflow.
    pub workflow: Option<String>,
    /// State.
    pub state: Option<String>,
    /// True for open instances only, false for closed ones.
    pub is_open: Option<bool>,
    /// The note that the instance is about.
    pub note: Option<Uuid>,
    /// Name of the agent that started it.
    pub agent: Option<String>,
    /// Only those after this start and id.
    pub after: Option<(String, Uuid)>,
}

impl InstanceFilter {
    /// Returns the conditions in SQL, and their values.
    fn to_sql(&self) -> (String, Vec<Sql>) {
        let mut sql = String::from("id IS NOT NULL");
        let mut values: Vec<Sql> = vec![];
        let conditions = [
            ("workflow = ?", self.workflow.clone().map(Sql::from)),
            ("state = ?", self.state.clone().map(Sql::from)),
            ("is_open = ?", self.is_open.map(Sql::from)),
            ("note = ?", self.note.map(|id| blob(id).to_vec().into())),
            ("agent = ?", self.agent.clone().map(Sql::from)),
        ];
        for (condition, value) in conditions {
            if let Some(value) = value {
                let _ = write!(sql, " AND {condition}");
                values.push(value);
            }
        }
        if let Some(begin) = &self.id {
            // `g` is after all digits.
            sql.push_str(" AND id >= ? AND id < ?");
            values.extend([begin.clone().into(), format!("{begin}g").into()]);
        }
        if let Some((started_at, id)) = &self.after {
            sql.push_str(" AND (started, id) > (?, ?)");
            values.extend([started_at.clone().into(), id.to_string().into()]);
        }
        (sql, values)
    }
}

impl Snapshot<'_> {
    /// Returns at most `limit` instances from the one with the number `offset` on, ordered by their starts and, if these are equal, by
    /// their ids.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn instances(
        &self,
        filter: &InstanceFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<FoundInstance>, CatalogueError> {
        let (sql, mut values) = filter.to_sql();
        let number = |number: usize| Sql::from(i64::try_from(number).unwrap_or(i64::MAX));
        values.extend([number(limit), number(offset)]);
        let sql = format!(
            "SELECT path, content, id, workflow, state, is_open, started, note, agent, fields FROM instance
             WHERE {sql} ORDER BY started, id LIMIT ? OFFSET ?"
        );
        let mut select = self.0.prepare_cached(&sql)?;
        let found = select.query_map(params_from_iter(values), instance)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Returns the number of instances that pass the filter.
    ///
    /// # Errors
    /// As for [`Snapshot::get`].
    pub fn count_instances(&self, filter: &InstanceFilter) -> Result<usize, CatalogueError> {
        let (sql, values) = filter.to_sql();
        let sql = format!("SELECT count(*) FROM instance WHERE {sql}");
        let mut select = self.0.prepare_cached(&sql)?;
        let count: u32 = select.query_row(params_from_iter(values), |row| row.get(0))?;
        Ok(count as usize)
    }
}

fn instance(row: &Row<'_>) -> rusqlite::Result<FoundInstance> {
    let id: String = row.get(2)?;
    let id = Uuid::try_parse(&id).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, Box::new(error))
    })?;
    Ok(FoundInstance {
        path: row.get(0)?,
        content: row.get(1)?,
        instance: Instance {
            id,
            workflow: row.get(3)?,
            state: row.get(4)?,
            is_open: row.get(5)?,
            started_at: row.get(6)?,
            note: row.get::<_, Option<[u8; 16]>>(7)?.map(Uuid::from_bytes),
            agent: row.get(8)?,
            fields: row.get(9)?,
        },
    })
}

/// Stores the current state of the document at `path`.
pub(super) fn put(
    connection: &Connection,
    path: &str,
    stat: Option<StatKey>,
    content: ContentHash,
    instance: Option<Instance>,
) -> Result<(), CatalogueError> {
    let sql = "UPDATE instance SET stat = ? WHERE path = ? AND content = ?";
    if connection.prepare_cached(sql)?.execute(params![stat, path, content])? > 0 {
        return Ok(());
    }
    let sql = "INSERT OR REPLACE INTO instance VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let mut insert = connection.prepare_cached(sql)?;
    let it = instance.as_ref();
    insert.execute(params![
        path,
        stat,
        content,
        it.map(|it| it.id.to_string()),
        it.map(|it| &it.workflow),
        it.map(|it| &it.state),
        it.map(|it| it.is_open),
        it.map(|it| &it.started_at),
        it.and_then(|it| it.note).map(blob),
        it.and_then(|it| it.agent.as_ref()),
        it.map(|it| &it.fields),
    ])?;
    Ok(())
}

pub(super) fn remove(connection: &Connection, path: &str) -> Result<(), CatalogueError> {
    let mut delete = connection.prepare_cached("DELETE FROM instance WHERE path = ?")?;
    delete.execute([path])?;
    Ok(())
}
