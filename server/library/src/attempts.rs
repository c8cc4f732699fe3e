//! Background runs that ended the process: counted, and not tried again after the second time.
//!
//! A run that needs too much memory, or meets an error in a library below, ends its process; the next process would start it again
//! from the beginning. So a file records that a run has begun; it is removed at any regular end.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use tabellion_platform::{create, read_regular};

/// Number of unfinished runs after which no further one begins.
const MAX_UNFINISHED: u32 = 2;
/// Maximum bytes of the number in the file.
const MAX_BYTES: u64 = 16;

/// Counts the runs of one kind that have begun and not ended. Only one may run at a time.
#[derive(Debug)]
pub(super) struct Attempts {
    file: PathBuf,
}

impl Attempts {
    /// Returns the counter stored in `file`.
    pub(super) fn in_file(file: PathBuf) -> Self {
        Self { file }
    }

    /// Returns true if no further run may begin.
    pub(super) fn have_failed(&self) -> bool {
        self.unfinished() >= MAX_UNFINISHED
    }

    /// Begins a run; `None` if the last ones did not end.
    pub(super) fn begin(&self) -> Option<Attempt> {
        let unfinished = self.unfinished();
        if unfinished >= MAX_UNFINISHED {
            return None;
        }
        // On a full disk the run begins uncounted.
        let _ = create(&self.file).and_then(|mut file| write!(file, "{}", unfinished + 1));
        Some(Attempt { file: self.file.clone() })
    }

    /// Permits further runs.
    pub(super) fn forget(&self) {
        forget(&self.file);
    }

    fn unfinished(&self) -> u32 {
        let bytes = read_regular(&self.file, MAX_BYTES).unwrap_or_default();
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        text.parse().unwrap_or_default()
    }
}

/// A run that has begun; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Attempt {
    file: PathBuf,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        forget(&self.file);
    }
}

fn forget(file: &Path) {
    // It may be gone already.
    let _ = fs::remove_file(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_run_without_an_end_is_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let attempts = Attempts::in_file(folder.path().join("attempts"));
        for died in [false, true, false, true, true] {
            let attempt = attempts.begin().unwrap();
            if died {
                std::mem::forget(attempt);
            }
        }
        assert!(attempts.begin().is_none() && attempts.have_failed());
        attempts.forget();
        assert!(attempts.begin().is_some());
    }
}
