//! What mutants do when they start, and what they remember of it.

use std::{hint, path::Path, sync::OnceLock, thread, time::Duration};

use tabellion_runtime::{Failure, FailureKind};

use super::{super::library::Library, Mutant, is};

/// The last commit when the process began, if there was one.
static BEGINNING: OnceLock<Option<String>> = OnceLock::new();

/// The library that `root` named has been opened.
pub(in super::super) fn opens(root: &Path, library: &Library) -> Result<(), Failure> {
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
    if is(Mutant::LogOfAProcess) {
        BEGINNING.get_or_init(|| library.head());
    }
    Ok(())
}

/// Puts a document into an index that takes too long, or too much room.
fn index_one() {
    if is(Mutant::StartsSlowly) {
        thread::sleep(Duration::from_millis(1));
    } else {
        hint::black_box(vec![1_u8; 200 << 10].leak());
    }
}

/// The commits whose entries the log has.
pub(in super::super) fn logged() -> String {
    let beginning = BEGINNING.get().and_then(Option::as_ref);
    beginning.map_or_else(|| "HEAD".into(), |commit| format!("{commit}..HEAD"))
}
