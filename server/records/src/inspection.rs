//! Which version of the contract data is of, and how it differs from the program's.

use tabellion_runtime::{Failure, spec::RowsSpec};

use crate::{
    engine::Start,
    failures::{damaged, refused},
    layout::Layout,
    sql::Dialect,
};

/// What is known of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The version of the contract that it is of; empty if that is unknown.
    pub version: String,
    /// How it differs from the program's.
    pub standing: Standing,
}

/// How data differs from the contract of the program.
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

/// What a database says of itself.
pub(crate) struct Described {
    pub(crate) contract: Option<String>,
    pub(crate) version: String,
    pub(crate) layout: String,
    /// Whether its own tables are of a newer format than this program's.
    pub(crate) is_newer: bool,
}

/// Compares what a database says with the contract.
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
        Standing::Newer
    } else {
        let found: Layout = serde_json::from_str(&described.layout).map_err(damaged)?;
        let steps = found.to(spec, dialect);
        if found == Layout::of(spec, dialect) {
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

impl Inspection {
    /// Returns what is known of data of another program or contract.
    pub(crate) fn foreign(what: String) -> Self {
        Self {
            version: String::new(),
            standing: Standing::Foreign(what),
        }
    }

    /// Checks that the data can be used, or made so by a start of this kind.
    ///
    /// # Errors
    /// If it can't.
    pub(crate) fn check(&self, spec: &RowsSpec, start: Start) -> Result<(), Failure> {
        let what = match &self.standing {
            Standing::Adds if start == Start::Existing => "tables are added to".to_owned(),
            Standing::Loses(what) if start != Start::Migrate => what.join("; "),
            Standing::Current | Standing::Adds | Standing::Loses(_) => return Ok(()),
            Standing::Foreign(_) | Standing::Newer | Standing::Impossible(_) => {
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
