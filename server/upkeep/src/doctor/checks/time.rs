//! Clocks: git detects unchanged files by their times, and the log is ordered by commits' times.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use tabellion_library::{Library, path::LibraryDir};

use super::{
    super::{finding::Finding, subject::Subject},
    log::{self, SKEW},
};

/// Looks for files from the future: the file system's clock is ahead, or this machine's is behind.
pub(super) fn files(subject: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "file-times";
    let limit = SystemTime::now() + Duration::from_secs(SKEW.unsigned_abs());
    let facts = library.repository_facts();
    let own = [facts.git_dir.join("index"), facts.git_dir.join("HEAD"), facts.own.join("intent")];
    let documents = library.list(&LibraryDir::ROOT, true).map(|listing| listing.files).unwrap_or_default();
    let documents = documents.iter().map(|file| subject.folder.join(file.as_path()));
    let is_ahead = |path: &std::path::PathBuf| {
        let modified = fs::metadata(path).and_then(|found| found.modified());
        modified.is_ok_and(|modified| modified > limit)
    };
    let mut ahead = own.into_iter().chain(documents).filter(is_ahead);
    vec![match ahead.next() {
        None => Finding::green(ID, "no file is from the future"),
        Some(first) => Finding::yellow(
            ID,
            format!("`{}` is from the future (and {} more)", first.display(), ahead.count()),
            "set this machine's clock, and that of the file server; git may miss edits to such files (`touch` corrects one)",
        ),
    }]
}

/// Looks for commits from the future.
pub(super) fn commits(subject: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "commit-times";
    // A failure is reported by the check of the log.
    let Ok(found) = log::compared(subject, library) else {
        return vec![];
    };
    vec![match found.from_the_future.first() {
        None => Finding::green(ID, "no commit is from the future"),
        Some(commit) => Finding::yellow(
            ID,
            format!(
                "{} from the future, such as {commit}",
                crate::console::counted(found.from_the_future.len(), "commit")
            ),
            "set this machine's clock, or that of the machine that made it; the order of the log may look wrong until then",
        ),
    }]
}
