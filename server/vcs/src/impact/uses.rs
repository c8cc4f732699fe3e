//! What uses symbols: the words of a tree's source files.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::Path,
};

use tabellion_syntax::Language;

use super::{
    Dependent, MAX_DEPENDENTS,
    touched::{MAX_PARSED_BYTES, Touched, source_of},
};
use crate::{blobs::Submodules, error::VcsError, repository::GitRepository, revision::Revision};

/// Files that may define a name for its uses to be followed.
const MAX_DEFINING_FILES: usize = 3;

/// Upper bound of the bytes of a tree that are looked at.
const MAX_SCANNED_BYTES: u64 = 1024 * 1024 * 1024;

/// Upper bound of the files that are parsed, to know what a use is in.
const MAX_PARSED_FILES: usize = 5000;

/// The uses of the names that some files define.
pub(super) struct Uses {
    /// For each name, the files whose change touched it.
    wanted: HashMap<String, Vec<usize>>,
    /// For each name, the files that define it.
    defining: HashMap<String, HashSet<String>>,
    /// The uses of each name.
    found: HashMap<String, BTreeSet<Dependent>>,
    files: usize,
    pub(super) skipped: u64,
}

/// The dependents of a file.
#[derive(Debug, Default)]
pub(super) struct Dependents {
    /// The first of them.
    pub(super) first: Vec<Dependent>,
    /// Number of all.
    pub(super) total: u64,
}

impl Uses {
    /// Prepares the search for the users of what each file has touched.
    pub(super) fn of(touched: &[Touched]) -> Self {
        let mut wanted: HashMap<String, Vec<usize>> = HashMap::new();
        for (file, touched) in touched.iter().enumerate() {
            for name in touched.names() {
                let files = wanted.entry(name.to_owned()).or_default();
                if files.last() != Some(&file) {
                    files.push(file);
                }
            }
        }
        Self {
            wanted,
            defining: HashMap::new(),
            found: HashMap::new(),
            files: touched.len(),
            skipped: 0,
        }
    }

    /// Looks through the source files of a commit.
    pub(super) fn find(
        &mut self,
        repository: &GitRepository,
        target: &Revision,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), VcsError> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        let (mut scanned, mut parsed) = (0, 0);
        let mut blobs = repository.blobs(target, Submodules::Skip, cancelled)?;
        while let Some(blob) = blobs.next() {
            let blob = blob?;
            let Some(language) = Language::of_path(Path::new(&blob.path)) else {
                continue;
            };
            if blob.size > MAX_PARSED_BYTES || scanned > MAX_SCANNED_BYTES || parsed > MAX_PARSED_FILES {
                self.skipped += 1;
                continue;
            }
            scanned += blob.size;
            let bytes = blobs.read(&blob)?;
            if words(&bytes).any(|(_, word)| self.is_wanted(word)) {
                parsed += 1;
                self.file(&blob.path, language, bytes);
            }
        }
        Ok(())
    }

    fn is_wanted(&self, word: &[u8]) -> bool {
        std::str::from_utf8(word).is_ok_and(|word| self.wanted.contains_key(word))
    }

    /// Notes what a file uses and defines.
    fn file(&mut self, path: &str, language: Language, bytes: Vec<u8>) {
        let Some(source) = source_of(language, bytes) else {
            return;
        };
        // Where a name stands first in its own definition is no use.
        let mut definitions = HashSet::new();
        for symbol in &source.symbols {
            if self.wanted.contains_key(&symbol.name) {
                let defining = self.defining.entry(symbol.name.clone()).or_default();
                defining.insert(path.to_owned());
                let text = &source.text.as_bytes()[symbol.bytes.clone()];
                let first = words(text).find(|(_, word)| *word == symbol.name.as_bytes());
                definitions.extend(first.map(|(at, _)| symbol.bytes.start + at));
            }
        }
        let mut line = 1;
        let mut counted = 0;
        let mut last: HashSet<(Option<usize>, &str)> = HashSet::new();
        for (at, word) in words(source.text.as_bytes()) {
            let Ok(word) = std::str::from_utf8(word) else {
                continue;
            };
            if !self.wanted.contains_key(word) || definitions.contains(&at) {
                continue;
            }
            line += memchr::memchr_iter(b'\n', &source.text.as_bytes()[counted..at]).count();
            counted = at;
            let inside = source.innermost.get(line - 1).copied().flatten();
            let symbol = inside.map(|index| &source.symbols[index]);
            // What uses itself depends on no other symbol.
            if symbol.is_some_and(|symbol| symbol.name == word) || !last.insert((inside, word)) {
                continue;
            }
            self.found.entry(word.to_owned()).or_default().insert(Dependent {
                path: path.to_owned(),
                line,
                symbol: symbol.map_or(String::new(), |symbol| symbol.path.clone()),
            });
        }
    }

    /// Returns the dependents of each file.
    pub(super) fn into_dependents(self) -> Vec<Dependents> {
        let mut of_files: Vec<BTreeSet<&Dependent>> = vec![BTreeSet::new(); self.files];
        for (name, files) in &self.wanted {
            let is_ambiguous = self
                .defining
                .get(name)
                .is_some_and(|defining| defining.len() > MAX_DEFINING_FILES);
            let Some(found) = self.found.get(name).filter(|_| !is_ambiguous) else {
                continue;
            };
            for file in files {
                of_files[*file].extend(found);
            }
        }
        let dependents = of_files.into_iter().map(|all| Dependents {
            total: all.len() as u64,
            first: all.into_iter().take(MAX_DEPENDENTS).cloned().collect(),
        });
        dependents.collect()
    }
}

/// Returns the words of a text that can be names, each with its place.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    // Letters beyond ASCII are parts of names in most languages.
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].iter().position(is_part)?;
        let length = text[at..].iter().take_while(|byte| is_part(byte)).count();
        let word = (at, &text[at..at + length]);
        at += length;
        Some(word)
    })
}
