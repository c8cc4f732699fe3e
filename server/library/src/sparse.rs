//! Files that a sparse checkout excludes from the working tree.

use std::path::Path;

use gix_ignore::{
    glob::{
        pattern::Case,
        search::{Pattern, pattern::List},
    },
    search::Ignore,
};

use tabellion_platform::{MAX_OWN_BYTES, read_regular};

use super::repository::Repository;

/// Returns true if the working tree has a sparse checkout.
pub(super) fn is_on(git: &gix::Repository) -> bool {
    git.config_snapshot().boolean("core.sparseCheckout") == Some(true)
}

/// Returns true if a sparse checkout excludes the file at `path` of the repository.
///
/// Its patterns have the syntax of `.gitignore`, and list the included files. Patterns of cone mode are such patterns too.
pub(super) fn excludes(repository: &Repository, git: &gix::Repository, path: &str) -> bool {
    if !is_on(git) {
        return false;
    }
    // Without the file, git excludes nothing.
    let Ok(text) = read_regular(&repository.git_dir().join("info/sparse-checkout"), MAX_OWN_BYTES) else {
        return false;
    };
    let mut patterns = gix_ignore::Search::default();
    patterns.patterns.push(List {
        patterns: Ignore::default().bytes_to_patterns(&text, Path::new("")),
        source: None,
        base: None,
    });
    // The innermost folder that a pattern matches decides.
    let mut at = Some((path, false));
    while let Some((path, is_folder)) = at {
        if let Some(found) =
            patterns.pattern_matching_relative_path(path.into(), Some(is_folder), Case::Sensitive)
        {
            return found.pattern.is_negative();
        }
        at = path.rsplit_once('/').map(|(above, _)| (above, true));
    }
    true
}
