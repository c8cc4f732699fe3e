//! A run: brings a collection up to date with a tree.
//!
//! Threads read, cut and count; one writes. A transaction has whole files: each with its hash, chunks and words, or not at all. So each
//! file of a killed run is either old or new, and the next run does the rest.

use std::{
    collections::HashSet,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
};

use sha1::{Digest, Sha1};
use tabellion_syntax::readable;

use crate::{
    Choice, CodeError, Entry, Stop, Tree,
    segment::{Builder, Segment, Source},
    tree::is_minified,
    write::Name,
};

/// Bytes of texts, and number of files, after which a thread hands over its segment. The words of all threads' segments are in memory.
const SEGMENT_BYTES: usize = 4 << 20;
const SEGMENT_FILES: usize = 1000;

/// A file that could not be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The branch, or empty.
    pub branch: String,
    /// The path in the tree.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// A message from a thread to the writer.
pub(crate) enum Step {
    /// Files that changed, with their data to store; `unchanged` others were looked at meanwhile.
    Changed {
        segment: Segment,
        unchanged: usize,
    },
    /// Number of files without a change.
    Unchanged(usize),
    /// By branch and path.
    LeftOut(Name),
    Failed(Failed),
}

/// Reads and cuts the files of `entries` that differ from `known`, and calls `each` with the results, on this thread.
pub(crate) fn cut(
    tree: &dyn Tree,
    entries: &[Entry],
    known: &std::collections::HashMap<Name, Vec<u8>>,
    stop: &Stop,
    mut each: impl FnMut(Step) -> Result<(), CodeError>,
) -> Result<(), CodeError> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(2, usize::from).min(8);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel(threads);
        for _ in 0..threads {
            let send = send.clone();
            let (next, ended) = (&next, &ended);
            scope.spawn(move || {
                work(tree, entries, known, next, &|| stop.is_asked() || ended.load(Relaxed), &send)
            });
        }
        drop(send);
        let result = receive.iter().try_for_each(&mut each);
        ended.store(true, Relaxed);
        // Threads that wait to hand over continue once the channel is closed.
        drop(receive);
        result
    })?;
    if stop.is_asked() { Err(CodeError::Ended) } else { Ok(()) }
}

fn work(
    tree: &dyn Tree,
    entries: &[Entry],
    known: &std::collections::HashMap<Name, Vec<u8>>,
    next: &AtomicUsize,
    ended: &dyn Fn() -> bool,
    send: &mpsc::SyncSender<Step>,
) {
    let mut builder = Builder::default();
    let mut count = 0;
    let mut unchanged = 0;
    while !ended() {
        let Some(entry) = entries.get(next.fetch_add(1, Relaxed)) else {
            break;
        };
        match source(tree, entry, known) {
            Ok(Read::Known) => unchanged += 1,
            Ok(Read::Source(source)) => {
                builder.add(source);
                count += 1;
            }
            Ok(Read::LeftOut) => {
                let name = (entry.branch.clone(), entry.path.clone());
                if send.send(Step::LeftOut(name)).is_err() {
                    return;
                }
            }
            Err(reason) => {
                let failed = Failed { branch: entry.branch.clone(), path: entry.path.clone(), reason };
                if send.send(Step::Failed(failed)).is_err() {
                    return;
                }
            }
        }
        if builder.bytes() >= SEGMENT_BYTES || count >= SEGMENT_FILES {
            let segment = std::mem::take(&mut builder).build();
            if send.send(Step::Changed { segment, unchanged }).is_err() {
                return;
            }
            (count, unchanged) = (0, 0);
        }
    }
    let last = if builder.is_empty() {
        Step::Unchanged(unchanged)
    } else {
        let segment = builder.build();
        Step::Changed { segment, unchanged }
    };
    // A receiver that has stopped reports its own error.
    let _ = send.send(last);
}

/// Result of reading a file.
enum Read {
    /// The index has this version.
    Known,
    Source(Source),
    LeftOut,
}

/// Returns the file if its version is not known; or the reason why it can't be indexed.
fn source(
    tree: &dyn Tree,
    entry: &Entry,
    known: &std::collections::HashMap<Name, Vec<u8>>,
) -> Result<Read, String> {
    if entry.choice == Choice::LeftOut {
        return Ok(Read::LeftOut);
    }
    if entry.choice == Choice::NotUtf8 {
        return Err("its name is not UTF-8".to_owned());
    }
    let known = known.get(&(entry.branch.clone(), entry.path.clone()));
    let is_known = |blob: &[u8; 20]| known.is_some_and(|known| known == blob);
    if entry.blob.as_ref().is_some_and(is_known) {
        return Ok(Read::Known);
    }
    let bytes = tree.read(entry).map_err(|error| error.to_string())?;
    let blob = entry.blob.unwrap_or_else(|| blob_id(&bytes));
    if is_known(&blob) {
        return Ok(Read::Known);
    }
    if bytes.contains(&0) {
        return Err("it is no text: it has a NUL".to_owned());
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| format!("it is no UTF-8 at byte {}", error.utf8_error().valid_up_to()))?;
    let text = readable(&entry.path, text);
    if entry.choice != Choice::Always && is_minified(&entry.path, &text) {
        return Ok(Read::LeftOut);
    }
    Ok(Read::Source(Source { path: entry.path.clone(), branch: entry.branch.clone(), blob, text }))
}

/// Returns the SHA-1 of a blob as git computes it.
pub fn blob_id(bytes: &[u8]) -> [u8; 20] {
    let mut sha = Sha1::new();
    sha.update(format!("blob {}\0", bytes.len()));
    sha.update(bytes);
    sha.finalize().into()
}

/// Returns the known files that are absent from `entries`, failed, or were left out.
pub(crate) fn gone<'k>(
    entries: &[Entry],
    known: &'k std::collections::HashMap<Name, Vec<u8>>,
    not_taken: &HashSet<Name>,
) -> Vec<&'k Name> {
    let there: HashSet<(&str, &str)> =
        entries.iter().map(|entry| (entry.branch.as_str(), entry.path.as_str())).collect();
    let mut gone: Vec<&Name> = known
        .keys()
        .filter(|name| !there.contains(&(name.0.as_str(), name.1.as_str())) || not_taken.contains(*name))
        .collect();
    gone.sort_unstable();
    gone
}
