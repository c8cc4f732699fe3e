//! Paths that escape the library or do not name a document, read from `attacks/paths.toml`.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    sync::LazyLock,
};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Deserialize;

use crate::{
    documents::filled,
    judgement::{Stop, not_shown},
    ledger::git,
    scene::Scene,
};

/// An attack. The head of `attacks/paths.toml` describes the fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// Unique id.
    pub id: String,
    /// Number of the class of attacks.
    pub number: u8,
    /// Name of the check that runs the attack, without the family.
    pub check: String,
    /// Path that is given as the document's.
    pub path: String,
    /// Folder that is listed and searched.
    pub folder: Option<String>,
    /// Expected outcome.
    pub expected: Expected,
    /// Further documents that may change.
    #[serde(default)]
    pub also: Vec<String>,
    /// True if a server may read the document.
    #[serde(default)]
    pub tells: bool,
    /// True if a server may list and search the path as a folder.
    #[serde(default)]
    pub lists: bool,
    /// True if it tests contracts only, not promises of a server's author.
    #[serde(default)]
    pub contracts_only: bool,
    /// Reason for the attack, for people.
    pub why: String,
    /// Files to create before the attack.
    #[serde(default)]
    pub setup: Vec<Setup>,
}

/// Expected outcome of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// The server refuses the call.
    Refused,
    /// Anything, as long as only the document changes.
    Contained,
    /// As `Contained`, and no file with a new name appears.
    NoNewFile,
    /// The call succeeds.
    Ordinary,
}

/// A file, link or folder to create.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "make")]
pub enum Setup {
    /// A symbolic link.
    Link {
        /// Path.
        at: String,
        /// Target of the link.
        to: String,
    },
    /// A hard link.
    HardLink {
        /// Path of the new link.
        at: String,
        /// Path of the existing file.
        to: String,
    },
    /// A named pipe.
    Pipe {
        /// Path.
        at: String,
    },
    /// A socket.
    Socket {
        /// Path.
        at: String,
    },
    /// An empty folder.
    Folder {
        /// Path.
        at: String,
    },
    /// A file.
    File {
        /// Path.
        at: String,
        /// Content.
        content: String,
    },
    /// A git repository with a commit.
    Repository {
        /// Path.
        at: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    attack: Vec<Attack>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../attacks/paths.toml")).expect("`attacks/paths.toml` is valid")
});

/// Returns all attacks.
pub fn all() -> &'static [Attack] {
    &TABLE.attack
}

/// Returns the attack with this id, after adding its files to the scene.
///
/// # Errors
/// If a saved case names another attack, or the disk or git fails.
pub fn set_up(id: &str, scene: &Scene<'_>) -> Result<&'static Attack, Stop> {
    let attack = all().iter().find(|attack| attack.id == id);
    let attack = attack.ok_or_else(|| Stop::Harness(format!("unknown attack `{id}`")))?;
    for setup in &attack.setup {
        setup.put(scene)?;
    }
    let can_be_stored =
        |setup: &Setup| matches!(setup, Setup::Link { .. } | Setup::HardLink { .. } | Setup::File { .. });
    if attack.setup.iter().all(can_be_stored) {
        scene.commit_all("what an attack needs")?;
    }
    Ok(attack)
}

/// Returns `text` with the scene's folders and all repetitions filled in.
pub fn placed(text: &str, scene: &Scene<'_>) -> String {
    let library = scene.library();
    let outside = library.with_file_name("outside");
    let text = text.replace("{outside}", &outside.to_string_lossy());
    filled(&text.replace("{library}", &library.to_string_lossy()))
}

impl Setup {
    /// Creates the file, link or folder in the scene's library.
    ///
    /// # Errors
    /// [`Stop::NotShown`] if the file system does not support it.
    fn put(&self, scene: &Scene<'_>) -> Result<(), Stop> {
        let place = |at: &str| {
            let path = scene.path(at);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            Ok::<_, Stop>(path)
        };
        let cannot = |what: &str, why: &dyn std::fmt::Display| {
            not_shown(format!("{what} cannot be created on this file system: {why}"))
        };
        match self {
            Self::Link { at, to } => {
                scene.trace(format!("a symbolic link `{at}` to `{to}`"));
                symlink(placed(to, scene), place(at)?)?;
            }
            Self::HardLink { at, to } => {
                scene.trace(format!("a hard link `{at}` to `{to}`"));
                fs::hard_link(scene.path(to), place(at)?).map_err(|why| cannot("a hard link", &why))?;
            }
            Self::Pipe { at } => {
                scene.trace(format!("a named pipe `{at}`"));
                let mode = Mode::RUSR | Mode::WUSR;
                let made = mknodat(CWD, place(at)?, FileType::Fifo, mode, 0);
                made.map_err(|why| cannot("a named pipe", &why))?;
            }
            Self::Socket { at } => {
                scene.trace(format!("a socket `{at}`"));
                UnixListener::bind(place(at)?).map_err(|why| cannot("a socket", &why))?;
            }
            Self::Folder { at } => {
                scene.trace(format!("an empty folder `{at}`"));
                fs::create_dir_all(scene.path(at))?;
            }
            Self::File { at, content } => scene.put(at, content)?,
            Self::Repository { at } => {
                scene.trace(format!("a repository in `{at}`"));
                fs::write(place(&format!("{at}/inner.md"))?, "# Inner\n")?;
                let root = scene.path(at);
                git(&root, &["init", "--quiet"])?;
                git(&root, &["add", "inner.md"])?;
                git(&root, &["commit", "--quiet", "-m", "inner"])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn attacks_have_unique_ids_and_reasons() {
        let ids: HashSet<_> = all().iter().map(|attack| &attack.id).collect();
        assert_eq!(ids.len(), all().len());
        for attack in all() {
            assert!(!attack.why.is_empty(), "{}", attack.id);
        }
    }
}
