//! A server's own state in the library, such as an index or a journal: files that the suite disregards.

use std::path::{Component, Path};

use glob::{MatchOptions, Pattern};

/// Documents that no glob may cover, because they are tested.
const DOCUMENTS: [&str; 3] = ["note.md", "notes/plan.md", "a/b/c.md"];

/// `*` and `?` match no `/`, as in git's `glob` pathspecs.
const LIKE_GIT: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Globs of paths in the library that are the server's own. Empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    globs: Vec<String>,
    patterns: Vec<Pattern>,
    /// Arguments of git: everything except these paths.
    pathspecs: Vec<String>,
}

impl Own {
    /// Parses globs, relative to the library: `*` is any part of a name, `**` any number of folders. `folder/**` covers
    /// the folder itself too.
    ///
    /// # Errors
    /// If a glob is invalid, leaves the library, or covers ordinary documents.
    pub fn parse(globs: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, String> {
        let mut own = Self::default();
        for glob in globs {
            own.add(glob.into())?;
        }
        Ok(own)
    }

    fn add(&mut self, glob: String) -> Result<(), String> {
        let is_inside = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        if glob.is_empty() || !is_inside(Path::new(&glob)) {
            return Err(format!("`{glob}` is not a path in the library; an example is `.index/**`"));
        }
        if Path::new(&glob).starts_with(".git") {
            return Err(format!(
                "`{glob}` is in git's folder, where files that are not git's are disregarded anyway"
            ));
        }
        if let Some(other) = glob.chars().find(|c| "{}\\".contains(*c)) {
            return Err(format!("`{glob}` has a `{other}`; a glob has `*`, `**`, `?` and `[…]` only"));
        }
        let mut all = vec![glob.trim_end_matches('/').to_owned()];
        match glob.strip_suffix("/**").or(glob.strip_suffix('/')) {
            Some(folder) if glob.ends_with('/') => all.push(format!("{folder}/**")),
            Some(folder) => all.push(folder.to_owned()),
            None => {}
        }
        for glob in &all {
            let pattern =
                Pattern::new(glob).map_err(|error| format!("`{glob}` is not a glob: {}", error.msg))?;
            let document = DOCUMENTS.iter().find(|path| pattern.matches_with(path, LIKE_GIT));
            if let Some(document) = document {
                return Err(format!(
                    "`{glob}` covers documents such as `{document}`, so that nothing would be tested; name the server's own \
                     folder"
                ));
            }
            self.patterns.push(pattern);
            self.pathspecs.push(format!(":(exclude,glob){glob}"));
        }
        self.globs.push(glob);
        Ok(())
    }

    /// Adds the globs of `other`.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.globs.extend_from_slice(&other.globs);
        self.patterns.extend_from_slice(&other.patterns);
        self.pathspecs.extend_from_slice(&other.pathspecs);
        self
    }

    /// Adds the same globs below a folder of the library, for a server whose root is that folder.
    #[must_use]
    pub fn and_below(mut self, folder: &str) -> Self {
        for glob in self.globs.clone() {
            self.add(format!("{folder}/{glob}")).expect("a valid glob below a folder is valid");
        }
        self
    }

    /// Returns the globs as given.
    pub fn globs(&self) -> &[String] {
        &self.globs
    }

    /// Returns true if a path, relative to the library, is the server's own.
    pub fn covers(&self, path: &Path) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches_path_with(path, LIKE_GIT))
    }

    /// Returns git's arguments, followed by pathspecs for everything except the server's own paths.
    pub fn except<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let mut all = arguments.to_vec();
        if !self.pathspecs.is_empty() {
            all.extend(["--", "."]);
            all.extend(self.pathspecs.iter().map(String::as_str));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ledger::git;

    /// Globs, each with paths that it covers, and paths that it does not.
    const CASES: &[(&str, &[&str], &[&str])] = &[
        (".state/**", &[".state", ".state/a", ".state/a/b.md"], &[".states/a", "x/.state/a", "a.md"]),
        (".state/", &[".state", ".state/a/b"], &["a.md"]),
        (".state", &[".state"], &["a/.state"]),
        ("**/.lock", &[".lock", "a/.lock", "a/b/.lock"], &["a/b.lock"]),
        ("*.db", &["x.db"], &["a/x.db", "x.db.md"]),
        ("a/[xy]?.json", &["a/x1.json"], &["a/z1.json", "a/x12.json"]),
    ];

    #[test]
    fn git_and_the_disk_agree_on_what_is_the_servers() {
        for (glob, covered, others) in CASES {
            let own = Own::parse([*glob]).unwrap();
            for path in *covered {
                assert!(own.covers(Path::new(path)), "{glob} {path}");
            }
            for path in *others {
                assert!(!own.covers(Path::new(path)), "{glob} {path}");
            }
            let dir = tempfile::tempdir().unwrap();
            git(dir.path(), &["init", "--quiet"]).unwrap();
            let files: Vec<_> = covered.iter().chain(*others).collect();
            // A path that is the folder of a listed path can't be a file.
            let is_file = |path: &&&&str| !files.iter().any(|it| it.starts_with(&format!("{path}/")));
            let mut expected = Vec::new();
            for path in files.iter().filter(is_file) {
                let file = dir.path().join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "x").unwrap();
                expected.extend(others.contains(path).then(|| format!("?? {path}")));
            }
            expected.sort();
            let status = own.except(&["status", "--porcelain", "--untracked-files=all"]);
            let status = git(dir.path(), &status).unwrap();
            let mut found: Vec<_> = status.lines().collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{glob}");
        }
    }

    #[test]
    fn a_glob_below_a_folder_covers_there_too() {
        let own = Own::parse([".state/**"]).unwrap().and_below("docs/library");
        assert!(own.covers(Path::new("docs/library/.state/a")));
        assert!(own.covers(Path::new(".state/a")));
        assert!(!own.covers(Path::new("docs/.state/a")));
    }

    #[test]
    fn a_glob_of_documents_or_of_other_places_is_refused() {
        for (glob, why) in [
            ("", "is not a path in the library"),
            ("/etc/**", "is not a path in the library"),
            ("../x", "is not a path in the library"),
            (".git/mine.lock", "is in git's folder"),
            ("**", "covers documents"),
            ("**/*.md", "covers documents"),
            ("notes/**", "covers documents"),
            ("*", "covers documents"),
            ("{a,b}/**", "has a `{`"),
            ("a**", "is not a glob"),
        ] {
            let error = Own::parse([glob]).unwrap_err();
            assert!(error.contains(why), "{glob}: {error}");
        }
    }
}
