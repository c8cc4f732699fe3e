//! Reading entries in the order of time, page by page, from a given position.

use std::ops::ControlFlow;

use tabellion_runtime::{
    Row,
    rows::{Filter, Order, RowError, Test},
};

use super::{
    call::Call,
    entries::{At, Entry, Selection},
    values::integer,
};

/// Maximum number of rows that are read at once.
const MAX_PAGE: u64 = 200;

/// A scan of the selected entries.
pub(super) struct Walk<'w> {
    pub(super) call: &'w Call<'w>,
    pub(super) selection: &'w Selection,
    /// The position after which it begins; without one, it begins at the end given by `order`.
    pub(super) from: Option<At>,
    /// Direction: `Up` leads to newer entries.
    pub(super) order: Order,
    /// Number of entries that are likely to be enough.
    pub(super) wanted: u64,
}

impl Walk<'_> {
    /// Passes entries to `take` until it breaks.
    pub(super) async fn run(self, mut take: impl FnMut(Entry) -> ControlFlow<()>) -> Result<(), RowError> {
        let page = self.wanted.clamp(1, MAX_PAGE);
        let mut place = self.from;
        let mut feed = |rows: &[Row]| -> ControlFlow<()> {
            let entries = rows.iter().map(|row| self.selection.kind.entry(row));
            for entry in entries.filter(|entry| self.selection.passes(entry)) {
                take(entry)?;
            }
            ControlFlow::Continue(())
        };
        loop {
            if let Some(at) = &mut place {
                // The rest of the second first: two conditions that an index serves; it would not serve one condition on both fields.
                let rest = vec![Filter::is(self.time(), at.time), self.beyond("seq", at.seq)];
                let rows = self.page(rest, page).await?;
                if feed(&rows).is_break() {
                    return Ok(());
                }
                if rows.len() as u64 == page {
                    at.seq = self.place(&rows).map_or(at.seq, |last| last.seq);
                    continue;
                }
            }
            let later = place.map(|at| self.beyond(self.time(), at.time));
            let rows = self.page(later.into_iter().collect(), page).await?;
            if feed(&rows).is_break() || (rows.len() as u64) < page {
                return Ok(());
            }
            place = self.place(&rows);
        }
    }

    fn time(&self) -> &'static str {
        self.selection.kind.time()
    }

    fn beyond(&self, field: &'static str, value: i64) -> Filter {
        Filter {
            field,
            test: if self.order == Order::Up { Test::More } else { Test::Less },
            value: value.into(),
        }
    }

    async fn page(&self, filters: Vec<Filter>, limit: u64) -> Result<Vec<Row>, RowError> {
        let mut select = self.selection.select()?;
        select.all.extend(filters);
        select.order = vec![(self.time(), self.order), ("seq", self.order)];
        select.limit = Some(limit);
        self.call.read(select).await
    }

    fn place(&self, rows: &[Row]) -> Option<At> {
        let last = rows.last()?;
        Some(At { time: integer(last, self.time())?, seq: integer(last, "seq")? })
    }
}
