//! Paths that lead elsewhere, or to nothing that a document is: `attacks/paths.toml`.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    sync::LazyLock,
};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Deserialize;

use crate::{documents::filled, judgement::Stop, ledger::git, scene::Scene};

/// An attack. `attacks/paths.toml` says what the fields are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// Unique.
    pub id: String,
    /// The class of attacks that it is of.
    pub number: u8,
    /// Name of the check that tries it, without the family.
    pub check: String,
    /// The path of the document that is asked for.
    pub path: String,
    /// Where a listing or a search is begun.
    pub folder: Option<String>,
    /// What must come of it.
    pub expected: Expected,
    /// Other documents that may change.
    #[serde(default)]
    pub also: Vec<String>,
    /// Whether the document may well be read.
    #[serde(default)]
    pub tells: bool,
    /// Whether it may well be listed and searched, as the folder that it is.
    #[serde(default)]
    pub lists: bool,
    /// What it is about.
    pub why: String,
    /// What is put on the disk before.
    #[serde(default)]
    pub setup: Vec<Setup>,
}

/// What must come of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// A refusal, and nothing else.
    Refused,
    /// Anything that changes nothing but the document.
    Contained,
    /// As contained, and no file under a new name.
    NoNewFile,
    /// What is asked for.
    Ordinary,
}

/// Something on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "make")]
pub enum Setup {
    /// A symbolic link.
    Link {
        /// Where.
        at: String,
        /// What it says.
        to: String,
    },
    /// A second name.
    HardLink {
        /// The second one.
        at: String,
        /// The first one.
        to: String,
    },
    /// A named pipe.
    Pipe {
        /// Where.
        at: String,
    },
    /// A socket.
    Socket {
        /// Where.
        at: String,
    },
    /// An empty folder.
    Folder {
        /// Where.
        at: String,
    },
    /// A file.
    File {
        /// Where.
        at: String,
        /// What it holds.
        content: String,
    },
    /// A git repository with a commit.
    Repository {
        /// Where.
        at: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    attack: Vec<Attack>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../attacks/paths.toml")).expect("the table of attacks is sound")
});

/// All attacks.
pub fn all() -> &'static [Attack] {
    &TABLE.attack
}

/// The attack with this id.
pub fn find(id: &str) -> Option<&'static Attack> {
    all().iter().find(|attack| attack.id == id)
}

/// `text` with the scene's folders and all repetitions filled in.
pub fn placed(text: &str, scene: &Scene<'_>) -> String {
    let library = scene.library();
    let outside = library.with_file_name("outside");
    let text = text.replace("{outside}", &outside.to_string_lossy());
    filled(&text.replace("{library}", &library.to_string_lossy()))
}

impl Setup {
    /// Puts it on the scene's disk.
    ///
    /// # Errors
    /// [`Stop::NotTestable`] where the file system has no such thing.
    pub fn put(&self, scene: &Scene<'_>) -> Result<(), Stop> {
        let place = |at: &str| {
            let path = scene.path(at);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            Ok::<_, Stop>(path)
        };
        let cannot = |what: &str, why: &dyn std::fmt::Display| {
            Stop::NotTestable(format!("{what} can't be made here: {why}"))
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

    /// Whether git can hold it.
    pub fn is_for_git(&self) -> bool {
        matches!(
            self,
            Self::Link { .. } | Self::HardLink { .. } | Self::File { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn attacks_are_told_apart() {
        let ids: HashSet<_> = all().iter().map(|attack| &attack.id).collect();
        assert_eq!(ids.len(), all().len());
        for attack in all() {
            assert!(
                find(&attack.id).is_some() && !attack.why.is_empty(),
                "{}",
                attack.id
            );
        }
    }
}
