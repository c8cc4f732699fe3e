//! The place of rows: a data folder, with one file per contract, or a database, with one schema per contract.

mod folder;
#[cfg(all(test, unix))]
mod folder_tests;
mod upkeep;

use std::{
    env,
    path::{Path, PathBuf},
};

use tabellion_library::CreateFolders;
#[cfg(feature = "postgres")]
use tabellion_records::Address;
use tabellion_records::Location;
use tabellion_runtime::{ContractSpec, FailureKind};

#[cfg(feature = "postgres")]
pub use self::upkeep::print_roles;
pub(crate) use self::upkeep::{reason, restore};
pub use self::{folder::DataFolder, upkeep::Upkeep};

/// Environment variable with the data folder or the database, if the command line names none.
const VARIABLE: &str = "TABELLION_DATA";

/// The place of the rows.
#[derive(Debug, Clone)]
pub enum Data {
    /// In a folder.
    Folder(DataFolder),
    /// In a database.
    #[cfg(feature = "postgres")]
    Database {
        /// Its address.
        address: Address,
        /// The folder on this machine for data that is derived from its rows.
        derived: PathBuf,
    },
}

impl Data {
    /// Returns the given place, else that of the environment, else the system's place.
    ///
    /// # Errors
    /// If no place is given and the user has no home folder, or an address can't be read or has a password that others can see.
    pub fn choose(given: Option<&Path>) -> Result<Self, String> {
        if let Some(text) = given.and_then(Path::to_str).filter(|text| is_address(text)) {
            return database(text, true);
        }
        let named = env::var(VARIABLE).ok().filter(|text| given.is_none() && is_address(text));
        match named {
            Some(text) => database(&text, false),
            None => DataFolder::choose(given).map(Self::Folder),
        }
    }

    /// Checks that the place can be used, or created. See [`DataFolder::check`]; a database is checked when it is opened.
    ///
    /// # Errors
    /// The problem, and its remedy.
    pub fn check(&self, create: CreateFolders) -> Result<(), String> {
        match self {
            Self::Folder(folder) => folder.check(create),
            #[cfg(feature = "postgres")]
            Self::Database { .. } => Ok(()),
        }
    }

    /// Returns the place for the rows.
    pub fn place(&self) -> Location {
        match self {
            Self::Folder(folder) => Location::Folder(folder.path.clone()),
            #[cfg(feature = "postgres")]
            Self::Database { address, derived } => {
                Location::Postgres { address: address.clone(), derived: derived.clone() }
            }
        }
    }

    /// Returns the value of `--data` for this place: an absolute path, or an address without a password.
    pub fn name(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.absolute(),
            #[cfg(feature = "postgres")]
            Self::Database { address, .. } => address.to_string().into(),
        }
    }

    /// Returns the folder, if it is one.
    pub fn folder(&self) -> Option<&DataFolder> {
        match self {
            Self::Folder(folder) => Some(folder),
            #[cfg(feature = "postgres")]
            Self::Database { .. } => None,
        }
    }

    /// Returns true if there are rows of this contract, or were some, or if that is unknown, because they are in a database.
    pub fn may_have_rows_of(&self, contract: &ContractSpec) -> bool {
        let Some(folder) = self.folder() else { return true };
        let is_missing = |rows| {
            let inspected = tabellion_records::inspect(&folder.path, rows);
            inspected.is_err_and(|failure| failure.kind == FailureKind::NotFound)
        };
        contract.rows.is_some_and(|rows| !is_missing(rows))
    }
}

/// Returns a `tabellion data` command for the rows of a contract, in the place that `--data` has to name.
pub(crate) fn command(name: &str, place: Option<&Path>, contract: &str) -> String {
    let place = place.map(|place| place.display().to_string()).map_or_else(String::new, |place| {
        let quote = if place.contains(' ') { "\"" } else { "" };
        format!("--data {quote}{place}{quote} ")
    });
    format!("`tabellion data {name} {place}--contract {contract}`")
}

fn is_address(text: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
}

#[cfg(feature = "postgres")]
fn database(text: &str, is_seen: bool) -> Result<Data, String> {
    let address = Address::parse(text)?;
    if is_seen && address.has_password() {
        return Err(format!(
            "other users of this machine can see a password in the command line: put it into `~/.pgpass`, `PGPASSWORD` or `{VARIABLE}`"
        ));
    }
    let derived = DataFolder::of_system()?;
    Ok(Data::Database { address, derived })
}

#[cfg(not(feature = "postgres"))]
fn database(_: &str, _: bool) -> Result<Data, String> {
    Err("this program was built without databases: build it with the feature `postgres`, or name a folder with `--data DIR`".into())
}
