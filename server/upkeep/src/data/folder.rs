//! The choice of the data folder, and the refusal of folders that can only be a mistake.

use std::{
    env,
    path::{Path, PathBuf},
};

use tabellion_clients::{Machine, System};
use tabellion_library::{CreateFolders, OpenError, folder};
use tabellion_platform::home;

use super::{VARIABLE, command};
use crate::folder as own_folder;

/// Name of the folder within that of all programs' data.
const NAME: &str = "tabellion";
/// Advice for a refused folder.
const ADVICE: &str = "choose another data folder with `--data DIR`";

/// A data folder, which need not exist.
#[derive(Debug, Clone)]
pub struct DataFolder {
    /// Its path.
    pub path: PathBuf,
    /// True if it was named; otherwise it is the system's place for data.
    is_named: bool,
}

impl DataFolder {
    /// Returns the folder that was given, else that of the environment, else the system's place for it.
    ///
    /// # Errors
    /// If the user has no home folder and none is given, or it begins with that of another account.
    pub fn choose(given: Option<&Path>) -> Result<Self, String> {
        let of_environment = || env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        if let Some(path) = given.map(Path::to_owned).or_else(of_environment) {
            return Ok(Self { path: home::expanded(path)?, is_named: true });
        }
        Ok(Self { path: Self::of_system()?, is_named: false })
    }

    /// Returns the system's place for this program's data.
    ///
    /// # Errors
    /// If the user has no home folder.
    pub fn of_system() -> Result<PathBuf, String> {
        let machine = Machine::current()
            .ok_or_else(|| "you have no home folder; name the data folder with `--data DIR`".to_owned())?;
        Ok(of_user(&machine))
    }

    /// Returns the absolute path.
    pub fn absolute(&self) -> PathBuf {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    /// Returns a `tabellion data` command for the rows of a contract in this folder.
    pub(crate) fn command(&self, name: &str, contract: &str) -> String {
        command(name, self.is_named.then(|| self.absolute()).as_deref(), contract)
    }

    fn above(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Checks that the folder can be used, or created. For a folder that was named, `create` determines which
    /// folders may be missing; the system's place is created with all missing folders above it.
    ///
    /// # Errors
    /// The problem, and its remedy.
    pub fn check(&self, create: CreateFolders) -> Result<(), String> {
        if self.path.as_os_str().is_empty() {
            return Err("the data folder has no name; name it with `--data DIR`".into());
        }
        if let Some(wrong) = own_folder::mistake(&self.path) {
            return Err(format!("`{}` {wrong}; {ADVICE}", self.path.display()));
        }
        let create = match create {
            CreateFolders::Last if !self.is_named => CreateFolders::All,
            create => create,
        };
        folder::check(&self.path, create).map_err(|error| match error {
            OpenError::Missing { .. } if create == CreateFolders::Last => {
                format!("{error}; create the folders above it first: `mkdir -p {}`", self.above().display())
            }
            OpenError::Missing { .. } => format!("{error}; name the data folder with `--data DIR`"),
            OpenError::NotAFolder(path) => format!("`{}` is not a folder; {ADVICE}", path.display()),
            OpenError::Folder { path, source } => {
                format!("can't open the data folder `{}`: {source}", path.display())
            }
            error => error.to_string(),
        })
    }
}

/// Returns the place for this program's data on a machine: in the folder of the XDG base directory variables,
/// Application Support, or the local application data.
pub(super) fn of_user(machine: &Machine) -> PathBuf {
    let variable = |name: &str| {
        let path = machine.variables.get(name).map(PathBuf::from);
        // The XDG specification requires that relative paths are ignored.
        path.filter(|path| path.is_absolute())
    };
    let home = |below: &[&str]| below.iter().fold(machine.home.clone(), |path, name| path.join(name));
    let of_programs = match machine.system {
        System::Linux => variable("XDG_DATA_HOME").unwrap_or_else(|| home(&[".local", "share"])),
        System::MacOs => home(&["Library", "Application Support"]),
        System::Windows => variable("LOCALAPPDATA").unwrap_or_else(|| home(&["AppData", "Local"])),
    };
    of_programs.join(NAME)
}
