//! Following the library: finds the files that differ from the catalogue, by their stat fields, and reads them.

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroUsize,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sha1::{Digest as _, Sha1};
use tabellion_library::{
    Library, is_conflict,
    path::{LibraryDir, LibraryPath},
    root::FileError,
    walk::FolderError,
};
use tabellion_platform::{FileStat, Timestamp};
use uuid::Uuid;

use super::{
    CatalogueError,
    instance::{ContentHash, Instance, ParseInstance},
};
use crate::{
    Note, Problem,
    identity::{WORKFLOWS, claim, derived_id, is_note},
    search::chunks,
};

/// Resolution of the clock of file systems that keep fractions of a second, which may lag by as much.
const CLOCK_RESOLUTION: Duration = Duration::from_millis(50);
/// Resolution of the clock of other file systems.
const COARSE_RESOLUTION: Duration = Duration::from_secs(3);
/// Nanoseconds of a second.
pub(super) const NANOS: i64 = 1_000_000_000;
/// Minimum number of files for each thread; fewer are not worth its start.
const FILES_PER_THREAD: usize = 32;
/// Maximum number of threads: more would only contend.
const MAX_THREADS: usize = 8;

/// The part of the files to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All files.
    All,
    /// Those in `workflows/`.
    Instances,
}

/// The files that a catalogue follows.
pub trait Files: Sync {
    /// Returns all Markdown files of a part, with their stat fields.
    ///
    /// # Errors
    /// If they can't be listed.
    fn stats(&self, part: Part) -> Result<Vec<(LibraryPath, FileStat)>, FolderError>;

    /// Returns the bytes of a file; `None` if it is gone.
    ///
    /// # Errors
    /// If it can't be read.
    fn read(&self, path: &LibraryPath) -> Result<Option<Vec<u8>>, FileError>;
}

impl Files for Library {
    fn stats(&self, part: Part) -> Result<Vec<(LibraryPath, FileStat)>, FolderError> {
        let mut stats = all(self, part)?;
        // Another machine's version of a note contains the note's id.
        stats.retain(|(path, _)| !is_conflict(path.as_str()));
        Ok(stats)
    }

    fn read(&self, path: &LibraryPath) -> Result<Option<Vec<u8>>, FileError> {
        Ok(self.read_now(path)?.map(|file| file.bytes))
    }
}

/// Returns all Markdown files of a part, with their stat fields.
fn all(library: &Library, part: Part) -> Result<Vec<(LibraryPath, FileStat)>, FolderError> {
    if part == Part::All {
        return Library::stats(library, &LibraryDir::ROOT);
    }
    let Ok(folder) = LibraryDir::parse(WORKFLOWS) else {
        return Ok(vec![]);
    };
    match Library::stats(library, &folder) {
        // A listing of all files finds none there either.
        Err(
            FolderError::NotFound { .. }
            | FolderError::NotAFolder { .. }
            | FolderError::Symlink { .. }
            | FolderError::Excluded { .. },
        ) => Ok(vec![]),
        stats => stats,
    }
}

/// Bytes of stat fields; a file with the same bytes has not changed since it was read.
pub(super) type StatKey = [u8; 36];

/// The stat fields of each file in the catalogue, unless they must not be trusted.
pub(super) type StatKeys = HashMap<String, Option<StatKey>>;

/// Differences between the files and the catalogue.
#[derive(Default)]
pub(super) struct Difference {
    /// Files to read, with their stat fields from before.
    pub(super) changed: Vec<(LibraryPath, FileStat)>,
    /// Paths of files that no longer exist.
    pub(super) removed: Vec<String>,
}

impl Difference {
    pub(super) fn between(known: &StatKeys, files: &[(LibraryPath, FileStat)]) -> Self {
        let mut kept = 0;
        let is_changed = |(path, stat): &&(LibraryPath, FileStat)| {
            let before = known.get(path.as_str());
            kept += usize::from(before.is_some());
            before != Some(&Some(stat_key(stat)))
        };
        let mut changed: Vec<_> = files.iter().filter(is_changed).cloned().collect();
        let mut removed = vec![];
        if kept < known.len() {
            let all: HashSet<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            let gone = known.keys().filter(|path| !all.contains(path.as_str()));
            removed.extend(gone.cloned());
        }
        // Sorted, so that equal files result in equal catalogues.
        removed.sort_unstable();
        changed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Self { changed, removed }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

/// A file that was read.
pub(super) struct Read {
    pub(super) path: String,
    /// `None` if a later change may leave the same stat fields.
    pub(super) stat: Option<StatKey>,
    /// In nanoseconds since 1970.
    pub(super) modified: i64,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// The file is missing or can't be read, with the reason in the second case.
    None(Option<String>),
    Note(Box<Parsed>),
    /// A document in `workflows/`, and its instance if it is valid.
    Instance(ContentHash, Option<Box<Instance>>),
}

/// The stored parts of a note.
pub(super) struct Parsed {
    pub(super) bytes: Vec<u8>,
    pub(super) hash: ContentHash,
    pub(super) note: Note,
    pub(super) chunks: u32,
}

/// Reads files on several threads, keeping their order.
pub(super) fn read(
    files: &dyn Files,
    parse: ParseInstance,
    changed: &[(LibraryPath, FileStat)],
) -> Vec<Read> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    let share = changed.len().div_ceil(threads).max(FILES_PER_THREAD);
    let read_all = |part: &[(LibraryPath, FileStat)]| -> Vec<Read> {
        part.iter().map(|(path, stat)| read_one(files, parse, path, stat)).collect()
    };
    if changed.len() <= share {
        return read_all(changed);
    }
    thread::scope(|scope| {
        let parts = changed.chunks(share).map(|part| scope.spawn(move || read_all(part)));
        let parts: Vec<_> = parts.collect();
        let joined = parts
            .into_iter()
            .map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.flatten().collect()
    })
}

fn read_one(files: &dyn Files, parse: ParseInstance, path: &LibraryPath, stat: &FileStat) -> Read {
    let is_settled = is_settled(stat, SystemTime::now());
    let content = match files.read(path) {
        Ok(Some(bytes)) if !is_note(path.as_str()) => {
            let instance = parse(path.as_str(), &bytes).map(Box::new);
            Content::Instance(content_hash(&bytes), instance)
        }
        Ok(Some(bytes)) => {
            let note = Note::parse(path.as_str(), &bytes);
            Content::Note(Box::new(Parsed {
                hash: content_hash(&bytes),
                chunks: u32::try_from(chunks(&note).len()).unwrap_or(u32::MAX),
                note,
                bytes,
            }))
        }
        Ok(None) => Content::None(None),
        Err(error) => Content::None(Some(error.to_string())),
    };
    Read {
        path: path.as_str().into(),
        stat: is_settled.then(|| stat_key(stat)),
        modified: i64::try_from(stat.mtime.as_nanos()).unwrap_or(i64::MAX),
        content,
    }
}

fn content_hash(bytes: &[u8]) -> ContentHash {
    let begin = format!("blob {}\0", bytes.len());
    Sha1::new().chain_update(begin).chain_update(bytes).finalize().into()
}

/// Returns true if a change after `now` shows in the stat fields.
fn is_settled(stat: &FileStat, now: SystemTime) -> bool {
    // Windows does not keep the time of the last change of any kind.
    let last = if cfg!(windows) { stat.mtime } else { stat.ctime };
    let resolution = if last.nanoseconds == 0 { COARSE_RESOLUTION } else { CLOCK_RESOLUTION };
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.checked_sub(resolution).is_some_and(|limit| u128::from(last.as_nanos()) < limit.as_nanos())
}

fn stat_key(stat: &FileStat) -> StatKey {
    let Timestamp { seconds, nanoseconds } = stat.ctime;
    let fields = [
        seconds,
        nanoseconds,
        stat.mtime.seconds,
        stat.mtime.nanoseconds,
        stat.device,
        stat.inode,
        stat.user,
        stat.group,
        stat.size,
    ];
    let mut key: StatKey = [0; 36];
    for (place, field) in key.chunks_exact_mut(4).zip(fields) {
        place.copy_from_slice(&field.to_le_bytes());
    }
    key
}

/// Reads all notes, and returns their problems by path, without writing a catalogue.
///
/// # Errors
/// If the files can't be listed.
pub fn problems(files: &dyn Files) -> Result<Vec<(String, Vec<Problem>)>, CatalogueError> {
    let mut found = vec![];
    let mut claims: HashMap<Uuid, Vec<String>> = HashMap::new();
    let (mut ids, mut links) = (HashSet::new(), vec![]);
    for (path, _) in files.stats(Part::All)? {
        let name = path.as_str().to_owned();
        if !is_note(&name) {
            continue;
        }
        let problems = match files.read(&path) {
            Ok(None) => continue,
            Ok(Some(bytes)) => {
                let note = Note::parse(&name, &bytes);
                ids.extend([note.id(), derived_id(&name)]);
                links.extend(note.metadata.links.iter().map(|link| (name.clone(), link.to)));
                if let Some(id) = note.metadata.id {
                    claims.entry(id).or_default().push(name.clone());
                }
                note.problems
            }
            Err(error) => vec![Problem::Unreadable { reason: error.to_string() }],
        };
        found.extend((!problems.is_empty()).then_some((name, problems)));
    }
    links.retain(|(_, to)| !ids.contains(to));
    found.extend(links.into_iter().map(|(path, to)| (path, vec![Problem::Link { to }])));
    for (id, mut paths) in claims {
        paths.sort_by_key(|path| claim(path, id));
        let mut paths = paths.into_iter();
        let Some(kept_by) = paths.next() else { continue };
        found.extend(paths.map(|path| {
            let kept_by = kept_by.clone();
            (path, vec![Problem::DuplicateId { id, kept_by }])
        }));
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found.dedup_by(|(path, more), (kept, problems)| {
        let is_same = path == kept;
        if is_same {
            problems.append(more);
        }
        is_same
    });
    Ok(found)
}
