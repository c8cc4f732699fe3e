//! Rows in memory, with any times: a store sets the times of its rows itself.

use serde_json::Value;
use tabellion_runtime::{
    BoxFuture, Failure, Row, RowView,
    rows::{Fresh, Order, Select, identity},
    spec::EntitySpec,
};

pub(super) struct Memory {
    pub(super) rows: Vec<(&'static str, Row)>,
    pub(super) now: i64,
}

impl RowView for Memory {
    fn get<'a>(
        &'a self,
        entity: &'static EntitySpec,
        key: &'a [Value],
    ) -> BoxFuture<'a, Result<Option<Row>, Failure>> {
        let found = self.rows.iter().find(|(name, row)| *name == entity.name && identity(entity, row) == key);
        let found = found.map(|(_, row)| row.clone());
        Box::pin(async { Ok(found) })
    }

    fn was_removed<'a>(
        &'a self,
        _: &'static EntitySpec,
        _: &'a [Value],
    ) -> BoxFuture<'a, Result<bool, Failure>> {
        Box::pin(async { Ok(false) })
    }

    fn select<'a>(&'a self, select: &'a Select) -> BoxFuture<'a, Result<Vec<Row>, Failure>> {
        let mut rows = self.passing(select);
        rows.sort_by(|one, other| {
            let compared = select.order.iter().map(|(field, order)| {
                let [one, other] = [one, other].map(|row| row[*field].as_i64());
                match order {
                    Order::Up => one.cmp(&other),
                    Order::Down => other.cmp(&one),
                }
            });
            compared.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        rows.truncate(select.limit.unwrap_or(u64::MAX) as usize);
        Box::pin(async { Ok(rows) })
    }

    fn count<'a>(&'a self, select: &'a Select) -> BoxFuture<'a, Result<u64, Failure>> {
        let count = self.passing(select).len() as u64;
        Box::pin(async move { Ok(count) })
    }

    fn fresh(&self) -> &dyn Fresh {
        self
    }
}

impl Memory {
    fn passing(&self, select: &Select) -> Vec<Row> {
        let rows = self.rows.iter().filter(|(name, _)| *name == select.entity.name);
        let passes = |row: &&Row| select.passes(row);
        rows.map(|(_, row)| row).filter(passes).cloned().collect()
    }
}

impl Fresh for Memory {
    fn now(&self) -> i64 {
        self.now
    }

    fn id(&self) -> String {
        "new".into()
    }

    fn secret(&self, _: &str) -> Result<String, Failure> {
        unreachable!("no row here has a secret")
    }

    fn seq(&self) -> Result<i64, Failure> {
        unreachable!("no row is added here")
    }
}
