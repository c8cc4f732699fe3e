//! Which version of the contract a data file is of, and how it differs from the program's.

use std::path::Path;

use rusqlite::Connection;
use tabellion_runtime::{Failure, spec::RowsSpec};
use tabellion_sqlite::{Format, ROWS};

use crate::{
    connection,
    failures::{Doing, damaged},
    layout::Layout,
    meta::meta,
};

/// What is known of a data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The version of the contract that it is of; empty if that is unknown.
    pub version: String,
    /// How it differs from the program's.
    pub standing: Standing,
}

/// How a data file differs from the contract of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Its tables are those of the contract.
    Current,
    /// Tables must be added to, which a server does when it starts.
    Adds,
    /// Entities or fields must be dropped, which only a migration does.
    Loses(Vec<String>),
    /// It can't be migrated, for these reasons.
    Impossible(Vec<String>),
    /// It is of a newer version than the program.
    Newer,
    /// It is of another program or contract.
    Foreign(String),
}

impl Inspection {
    /// Returns a sentence about the difference.
    pub fn describe(&self, spec: &RowsSpec) -> String {
        let (version, contract) = (&self.version, spec.contract);
        match &self.standing {
            Standing::Current => format!("the data is of version {version} of `{contract}`"),
            Standing::Adds => format!(
                "the data is of version {version} of `{contract}`; a server of version {} adds to its tables when it starts",
                spec.version
            ),
            Standing::Loses(what) => format!(
                "the data is of version {version} and must be migrated: {}",
                what.join("; ")
            ),
            Standing::Impossible(why) => format!(
                "the data can't be migrated from version {version}: {}",
                why.join("; ")
            ),
            Standing::Newer => format!(
                "the data is of version {version} of `{contract}`, and this program has version {}; update the program",
                spec.version
            ),
            Standing::Foreign(what) => what.clone(),
        }
    }
}

/// Inspects the data file of a contract in `folder`, and changes nothing.
///
/// # Errors
/// If there is none, or it can't be read.
pub fn inspect(folder: &Path, spec: &RowsSpec) -> Result<Inspection, Failure> {
    let path = connection::path(folder, spec);
    if !path.exists() {
        return Err(connection::missing(&path));
    }
    standing(&connection::connect(&path)?, spec)
}

/// Compares an open file with the contract.
pub(crate) fn standing(connection: &Connection, spec: &RowsSpec) -> Result<Inspection, Failure> {
    let foreign = |what: String| Inspection {
        version: String::new(),
        standing: Standing::Foreign(what),
    };
    let format = ROWS.format(connection).doing("read the data file")?;
    if matches!(format, Format::Empty | Format::Foreign) {
        return Ok(foreign(
            "the data file is of another program; choose another folder with `--data`".into(),
        ));
    }
    let contract = meta(connection, "contract")?;
    if contract.as_deref() != Some(spec.contract) {
        return Ok(foreign(format!(
            "the data file is not of the contract `{}`",
            spec.contract
        )));
    }
    let version = meta(connection, "version")?.unwrap_or_default();
    let found = meta(connection, "layout")?.unwrap_or_default();
    let standing = if matches!(format, Format::Newer(_)) || parts(&version) > parts(spec.version) {
        Standing::Newer
    } else {
        let found: Layout = serde_json::from_str(&found).map_err(damaged)?;
        let steps = found.to(spec);
        if found == Layout::of(spec) {
            Standing::Current
        } else if !steps.impossible.is_empty() {
            Standing::Impossible(steps.impossible)
        } else if !steps.lossy.is_empty() {
            Standing::Loses(steps.lossy)
        } else {
            Standing::Adds
        }
    };
    Ok(Inspection { version, standing })
}

/// Returns the numbers of a semantic version.
fn parts(version: &str) -> Vec<u64> {
    let numbers = version.split(['-', '+']).next().unwrap_or_default().split('.');
    numbers.map(|number| number.parse().unwrap_or(0)).collect()
}
