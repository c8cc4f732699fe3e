//! The git attributes of a file that affect the bytes git stores.

use std::{
    env, io,
    path::{Path, PathBuf},
};

use gix::{
    attrs::{
        Search, Source, State,
        search::{MetadataCollection, Outcome},
    },
    config::Snapshot,
    glob::pattern::Case,
};
use tabellion_platform::{Dir, OpenError, read_regular};
use tabellion_runtime::Failure;

use super::{
    failures::{InRepository as _, IoContext as _, refused},
    ignore::MAX_RULES_BYTES,
};

const WHAT: &str = "the attributes";
const FILE: &str = ".gitattributes";
const NAMES: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

/// The attributes of a file.
#[derive(Debug)]
pub(super) struct Attributes {
    pub(super) text: State,
    pub(super) crlf: State,
    pub(super) eol: State,
    pub(super) ident: State,
    filter: State,
    encoding: State,
}

impl Attributes {
    /// Returns the attributes of the file at `path`, relative to the top of the repository.
    ///
    /// # Errors
    /// If an attributes file can't be read, or is a pipe or device. As for git, a link in the working tree has none.
    pub(super) fn for_path(git: &gix::Repository, path: &str) -> Result<Self, Failure> {
        let mut names = MetadataCollection::default();
        // Without files it has git's own macros, which can't fail.
        let search = Search::new_globals(None::<PathBuf>, &mut Vec::new(), &mut names);
        let mut search = search.reading(WHAT)?;
        let mut add = |text: Option<Vec<u8>>, folder: Option<&str>| {
            let Some(text) = text else { return Ok(()) };
            let source = Path::new(folder.unwrap_or_default()).join(FILE);
            let base = folder.map(|_| Path::new(""));
            let has_macros = folder.is_none_or(str::is_empty);
            search.add_patterns_buffer(&text, source, base, &mut names, has_macros).map(drop).reading(WHAT)
        };
        // From the weakest to the strongest.
        for file in of_host(git) {
            add(present(read_regular(&file, MAX_RULES_BYTES), &file.to_string_lossy())?, None)?;
        }
        let open = |folder: &Path| Dir::open(folder).context("open the folder", folder);
        let top = open(git.workdir().unwrap_or(git.git_dir()))?;
        for (end, _) in path.match_indices('/') {
            let folder = path[..end].rsplit_once('/').map_or("", |(above, _)| above);
            add(in_folder(&top, folder)?, Some(folder))?;
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        add(in_folder(&top, folder)?, Some(folder))?;
        let common = open(git.common_dir())?;
        add(present(common.read("info/attributes", MAX_RULES_BYTES), "info/attributes")?, None)?;
        let case = match git.config_snapshot().boolean("core.ignoreCase") {
            Some(true) => Case::Fold,
            _ => Case::Sensitive,
        };
        let mut found = Outcome::default();
        found.initialize_with_selection(&names, NAMES);
        search.pattern_matching_relative_path(path.into(), case, Some(false), &mut found);
        let mut states = found.iter_selected().map(|found| found.assignment.state.to_owned());
        let mut next = || states.next().unwrap_or(State::Unspecified);
        Ok(Self { text: next(), crlf: next(), eol: next(), ident: next(), filter: next(), encoding: next() })
    }

    /// Returns the attribute for which git would store bytes that this program can't produce: a filter's output, or another encoding.
    pub(super) fn out_of_reach(&self, config: &Snapshot<'_>) -> Option<String> {
        match &self.encoding {
            State::Set => return Some("working-tree-encoding".to_owned()),
            State::Value(name) if !is_utf8(name.as_ref().as_bstr()) => {
                return Some(format!("working-tree-encoding={}", name.as_ref().as_bstr()));
            }
            _ => {}
        }
        let State::Value(name) = &self.filter else {
            return None;
        };
        let name = name.as_ref().as_bstr();
        let value = |key: &str| config.plumbing().string_by("filter", Some(name), key);
        let runs = |key: &str| value(key).is_some_and(|program| !program.is_empty());
        let is_required = config
            .plumbing()
            .boolean_by("filter", Some(name), "required")
            .is_ok_and(|required| required == Some(true));
        (runs("clean") || runs("process") || is_required).then(|| format!("filter={name}"))
    }
}

/// Returns the attributes files of the host: of the system and the user. The file of git's installation is left out: only the git
/// program knows it, and it is not run.
fn of_host(git: &gix::Repository) -> Vec<PathBuf> {
    let mut variable = |name: &str| (!name.starts_with("GIT_")).then(|| env::var_os(name)).flatten();
    let mut files = Vec::from_iter(Source::System.storage_location(&mut variable));
    let configured = git.config_snapshot().trusted_path("core.attributesFile");
    files.extend(configured.ok().flatten().or_else(|| Source::Git.storage_location(&mut variable)));
    files
}

fn in_folder(top: &Dir, folder: &str) -> Result<Option<Vec<u8>>, Failure> {
    let file = if folder.is_empty() { FILE.to_owned() } else { format!("{folder}/{FILE}") };
    present(top.read(&file, MAX_RULES_BYTES), &file)
}

/// Returns the content of the file called `name`, or `None` if it does not exist.
fn present(read: Result<Vec<u8>, OpenError>, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    match read {
        Ok(text) => Ok(Some(text)),
        Err(OpenError::Symlink) => Ok(None),
        Err(OpenError::Io(error))
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(OpenError::Io(error)) => Err(error).context("read the attributes file", name),
        Err(error) => Err(refused(format!(
            "the attributes file `{name}`, which decides how git stores the files beside it, can't be read: {error}; remove or replace it"
        ))),
    }
}

fn is_utf8(encoding: &[u8]) -> bool {
    encoding.is_empty() || encoding.eq_ignore_ascii_case(b"utf-8") || encoding.eq_ignore_ascii_case(b"utf8")
}

/// Returns true if an attribute has the value `value`.
pub(super) fn is(state: &State, value: &str) -> bool {
    matches!(state, State::Value(found) if found.as_ref().as_bstr() == value)
}
