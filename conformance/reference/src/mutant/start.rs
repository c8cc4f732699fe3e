//! Defects at the start of a server.

use std::{fs, hint, path::Path, sync::OnceLock, thread, time::Duration};

use tabellion_runtime::{Failure, FailureKind};

use super::{super::library::Library, Mutant, is};

/// A file that exists while the server runs.
const RUNNING: &str = ".git/reference-runs";
/// HEAD when the process started, if there was one.
static BEGINNING: OnceLock<Option<String>> = OnceLock::new();

/// Runs after the library at `root` was opened.
pub(in super::super) fn after_open(root: &Path, library: &Library) -> Result<(), Failure> {
    if is(Mutant::RefusesLinkedRoot) && root.is_symlink() {
        let message = "the library is named by a symbolic link; name its folder";
        return Err(Failure::new(FailureKind::Refused, message));
    }
    if is(Mutant::CommitsAtStart) {
        library.git.ask(&["add", "--all"]);
        library.git.ask(&["commit", "--message", "save all"]);
    }
    if is(Mutant::StartsSlowly) || is(Mutant::Hoards) {
        let (files, _) = library.list("", true)?;
        files.iter().for_each(|_| index_one());
    }
    if is(Mutant::PidFile) && root.join(RUNNING).exists() {
        return Err(Failure::new(FailureKind::Refused, "the library is in use"));
    }
    if is(Mutant::PidFile) {
        let _ = fs::write(root.join(RUNNING), "");
    }
    if is(Mutant::UndoesAfterCrash) {
        let running = root.join(RUNNING);
        if running.exists() {
            library.git.ask(&["reset", "--quiet", "--hard", "HEAD~1"]);
        }
        // Without the file, no change is undone.
        let _ = fs::write(running, "");
    }
    if is(Mutant::LogOfAProcess) {
        BEGINNING.get_or_init(|| library.head());
    }
    Ok(())
}

/// Runs when the server ends in order.
pub(in super::super) fn after_serving(root: &Path) {
    if is(Mutant::UndoesAfterCrash) || is(Mutant::PidFile) {
        let _ = fs::remove_file(root.join(RUNNING));
    }
}

/// Adds a document to an index that takes too much time or memory.
fn index_one() {
    if is(Mutant::StartsSlowly) {
        thread::sleep(Duration::from_millis(1));
    } else {
        hint::black_box(vec![1_u8; 200 << 10].leak());
    }
}

/// Returns the range of commits whose entries the log contains.
pub(in super::super) fn logged_range() -> String {
    let beginning = BEGINNING.get().and_then(Option::as_ref);
    beginning.map_or_else(|| "HEAD".into(), |commit| format!("{commit}..HEAD"))
}
