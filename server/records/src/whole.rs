//! The whole content of a database: exported as lines of JSON, read back, and compared with the replayed log.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use tabellion_runtime::{
    Failure, FailureKind, Row,
    rows::{Order, Select},
    spec::{EntitySpec, RowsSpec},
};

use crate::{entry::LogEntry, failures::damaged};

/// Number of rows that are read at a time.
const PAGE: u64 = 1_000;

/// Summary of a successful check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Number of entries of the log.
    pub changes: u64,
    /// Number of rows of all entities.
    pub rows: u64,
    /// SHA-256 of the entries and rows, in hexadecimal digits: equal for equal data in either database.
    pub digest: String,
}

/// One line of an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first line.
    Tabellion {
        contract: String,
        version: String,
    },
    Change(Box<LogEntry>),
    /// A row in its current state.
    Row {
        entity: String,
        row: Row,
    },
    /// The last line: the numbers of those before it, since an export that was cut off is one, too, but for its end.
    End {
        changes: u64,
        rows: u64,
    },
}

/// One consistent state of all tables.
pub(crate) trait Whole {
    /// Calls `each` with every entry of the log, in order.
    fn for_each_entry(&self, each: &mut dyn FnMut(LogEntry) -> Result<(), Failure>) -> Result<(), Failure>;

    /// Returns the selected rows.
    fn rows(&self, select: &Select) -> Result<Vec<Row>, Failure>;
}

impl dyn Whole + '_ {
    /// Writes the log and the rows as lines of JSON.
    pub(crate) fn export(&self, spec: &'static RowsSpec, to: &mut dyn Write) -> Result<(), Failure> {
        let (contract, version) = (spec.contract.into(), spec.version.into());
        let mut write = |line: &Line| {
            to.write_all(text(line)?.as_bytes()).map_err(|error| {
                Failure::new(FailureKind::Io, format!("the export can't be written: {error}"))
            })
        };
        let (mut changes, mut rows) = (0, 0);
        write(&Line::Tabellion { contract, version })?;
        self.for_each_entry(&mut |entry| {
            changes += 1;
            write(&Line::Change(Box::new(entry)))
        })?;
        for entity in spec.entities {
            self.for_each_row(entity, |row| {
                rows += 1;
                let entity = entity.name.into();
                write(&Line::Row { entity, row })
            })?;
        }
        write(&Line::End { changes, rows })
    }

    /// Calls `each` with every row of an entity, ordered by identity.
    pub(crate) fn for_each_row(
        &self,
        entity: &'static EntitySpec,
        mut each: impl FnMut(Row) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut select = Select::new(entity, vec![]);
        select.limit = Some(PAGE);
        select.order = entity.identity().map(|name| (name, Order::Up)).collect();
        loop {
            let rows = self.rows(&select)?;
            let Some(last) = rows.last().cloned() else {
                return Ok(());
            };
            select.after = Some(last);
            rows.into_iter().try_for_each(&mut each)?;
        }
    }
}

impl Checked {
    pub(crate) const NOTHING: Self = Self { changes: 0, rows: 0, digest: String::new() };
}

/// Returns the lines of an export between the first and the last one.
///
/// # Errors
/// If it is not an export of the contract. A line is an error if it is not one of an export, or the export ends before its last line.
pub(crate) fn lines<'f>(
    from: &'f mut dyn BufRead,
    spec: &RowsSpec,
) -> Result<impl Iterator<Item = Result<Line, Failure>> + use<'f>, Failure> {
    let invalid = |message| Failure::new(FailureKind::Invalid, message);
    let (mut count, mut ended, mut read) = (0, false, (0, 0));
    let mut next = move || {
        count += 1;
        let mut line = String::new();
        let io = |error| Failure::new(FailureKind::Io, format!("the export can't be read: {error}"));
        if from.read_line(&mut line).map_err(io)? == 0 {
            let whole = "the export is cut off: its last line, `{\"end\": …}`, is missing; make it anew";
            return if ended { Ok(None) } else { Err(invalid(whole.to_owned())) };
        }
        let parsed = serde_json::from_str::<Line>(&line);
        let parsed =
            parsed.map_err(|error| invalid(format!("line {count} is not one of an export: {error}")));
        match parsed? {
            _ if ended => Err(invalid(format!("line {count} is behind the export's end"))),
            Line::End { changes, rows } if (changes, rows) != read => Err(invalid(format!(
                "the export has {} changes and {} rows, and had {changes} and {rows} when it was made; make it anew",
                read.0, read.1
            ))),
            line => {
                match &line {
                    Line::Tabellion { .. } => {}
                    Line::Change(_) => read.0 += 1,
                    Line::Row { .. } => read.1 += 1,
                    Line::End { .. } => ended = true,
                }
                Ok(Some(line))
            }
        }
    };
    match next()? {
        Some(Line::Tabellion { contract, .. }) if contract == spec.contract => {
            let all = std::iter::from_fn(move || next().transpose());
            Ok(all.filter(|line| !matches!(line, Ok(Line::End { .. }))))
        }
        _ => Err(invalid(format!("this is no export of the contract `{}`", spec.contract))),
    }
}

pub(crate) fn text(line: &Line) -> Result<String, Failure> {
    let mut text = serde_json::to_string(line).map_err(damaged)?;
    text.push('\n');
    Ok(text)
}
