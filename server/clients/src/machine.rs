//! The machine on which the paths of clients are resolved.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

/// A kind of operating system, as far as clients distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// macOS.
    MacOs,
    /// Linux, and all others.
    Linux,
    /// Windows.
    Windows,
}

/// System, home folder and environment variables.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The system.
    pub system: System,
    /// The home folder.
    pub home: PathBuf,
    /// Environment variables that are UTF-8.
    pub variables: BTreeMap<String, String>,
}

impl Machine {
    /// Returns this process's machine; `None` if the user has no home folder.
    pub fn current() -> Option<Self> {
        let variables = env::vars_os().filter_map(|(name, value)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            Some((name, value))
        });
        Some(Self {
            system: if cfg!(windows) {
                System::Windows
            } else if cfg!(target_os = "macos") {
                System::MacOs
            } else {
                System::Linux
            },
            home: env::home_dir().filter(|home| home.is_absolute())?,
            variables: variables.collect(),
        })
    }

    /// Resolves a path of `clients.toml` on this machine; `None` if it names a variable that is not set.
    pub(crate) fn path(&self, pattern: &str) -> Option<PathBuf> {
        if let Some(rest) = pattern.strip_prefix("${") {
            let (variable, rest) = rest.split_once('}')?;
            let (name, default) = match variable.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (variable, None),
            };
            let value = self.variables.get(name).filter(|value| !value.is_empty());
            // The XDG specification requires that relative paths are ignored.
            let value = value.map(PathBuf::from).filter(|path| path.is_absolute());
            let base = value.or_else(|| self.path(default?))?;
            return Some(below(&base, rest));
        }
        match pattern.strip_prefix('~') {
            Some(rest) => Some(below(&self.home, rest)),
            None => Some(PathBuf::from(pattern)),
        }
    }
}

/// Returns `base` with the parts of `rest`, which are separated by `/`.
pub(crate) fn below(base: &Path, rest: &str) -> PathBuf {
    let mut path = base.to_owned();
    path.extend(rest.split('/').filter(|part| !part.is_empty()));
    path
}
