//! Version of the stored data, and its differences from the program's contract.

use tabellion_runtime::{Failure, spec::RowsSpec};

use crate::{
    engine::Start,
    failures::{damaged, refused},
    layout::Layout,
    sql::Dialect,
};

/// Findings about the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Version of the contract that the data is of; empty if unknown.
    pub version: String,
    /// Difference from the program's version.
    pub standing: SchemaDifference,
}

/// Difference between data and the program's contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaDifference {
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
            SchemaDifference::Current => format!("the data is of version {version} of `{contract}`"),
            SchemaDifference::Adds => format!(
                "the data is of version {version} of `{contract}`; a server of version {} adds to its tables when it starts",
                spec.version
            ),
            SchemaDifference::Loses(what) => {
                format!("the data is of version {version} and must be migrated: {}", what.join("; "))
            }
            SchemaDifference::Impossible(why) => {
                format!("the data can't be migrated from version {version}: {}", why.join("; "))
            }
            SchemaDifference::Newer => format!(
                "the data is of version {version} of `{contract}`, and this program has version {}; update the program",
                spec.version
            ),
            SchemaDifference::Foreign(what) => what.clone(),
        }
    }
}

/// A database's own description of itself.
pub(crate) struct Described {
    pub(crate) contract: Option<String>,
    pub(crate) version: String,
    pub(crate) layout: String,
    /// True if the store's own tables have a newer format than this program's.
    pub(crate) is_newer: bool,
}

/// Compares a database's description with the contract.
pub(crate) fn standing(
    described: Described,
    spec: &RowsSpec,
    dialect: Dialect,
) -> Result<Inspection, Failure> {
    if described.contract.as_deref() != Some(spec.contract) {
        let what = format!("the data is not of the contract `{}`", spec.contract);
        return Ok(Inspection::foreign(what));
    }
    let version = described.version;
    let standing = if described.is_newer || parts(&version) > parts(spec.version) {
        SchemaDifference::Newer
    } else {
        let found: Layout = serde_json::from_str(&described.layout).map_err(damaged)?;
        let steps = found.to(spec, dialect);
        if found == Layout::from_spec(spec, dialect) {
            SchemaDifference::Current
        } else if !steps.impossible.is_empty() {
            SchemaDifference::Impossible(steps.impossible)
        } else if !steps.lossy.is_empty() {
            SchemaDifference::Loses(steps.lossy)
        } else {
            SchemaDifference::Adds
        }
    };
    Ok(Inspection { version, standing })
}

impl Inspection {
    /// Returns the inspection of data of another program or contract.
    pub(crate) fn foreign(what: String) -> Self {
        Self { version: String::new(), standing: SchemaDifference::Foreign(what) }
    }

    /// Checks that the data can be used, or made usable by a start of this kind.
    ///
    /// # Errors
    /// If it can't.
    pub(crate) fn check(&self, spec: &RowsSpec, start: Start) -> Result<(), Failure> {
        let what = match &self.standing {
            SchemaDifference::Adds if start == Start::Existing => "tables are added to".to_owned(),
            SchemaDifference::Loses(what) if start != Start::Migrate => what.join("; "),
            SchemaDifference::Current | SchemaDifference::Adds | SchemaDifference::Loses(_) => return Ok(()),
            SchemaDifference::Foreign(_) | SchemaDifference::Newer | SchemaDifference::Impossible(_) => {
                return Err(refused(self.describe(spec)));
            }
        };
        Err(refused(format!(
            "the data is of version {} and must be migrated: {what}; run `tabellion data migrate`, which makes a backup first",
            self.version
        )))
    }
}

/// Returns the numbers of a semantic version.
fn parts(version: &str) -> Vec<u64> {
    let numbers = version.split(['-', '+']).next().unwrap_or_default().split('.');
    numbers.map(|number| number.parse().unwrap_or(0)).collect()
}
