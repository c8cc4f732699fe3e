//! Refuses folders that are libraries only by mistake, such as `/` or the home folder: every edit would be a commit there.

use std::path::Path;

use tabellion_platform as platform;
pub use tabellion_platform::mistakes::mistake;

/// Refuses `library` if it can only be a mistake. The folder need not exist.
///
/// # Errors
/// The problem, and advice for a better choice.
pub fn check(library: &Path) -> Result<(), String> {
    mistake(library).map_or(Ok(()), |wrong| {
        let folder = platform::canonicalize(library).unwrap_or_else(|_| library.to_path_buf());
        Err(format!("`{}` {wrong}; choose a folder of notes", folder.display()))
    })
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn root_and_home_are_refused() {
        let home = env::home_dir().expect("a home");
        for (folder, expected) in [(Path::new("/"), "`/` is"), (&home, "is your home folder")] {
            let error = check(folder).expect_err("refused");
            assert!(error.contains(expected) && error.contains("choose a folder of notes"), "{error}");
        }
    }
}
