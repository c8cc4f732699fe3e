//! Uses of symbols: names in a tree's source files.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::Path,
};

use tabellion_syntax::{Language, Symbol, SymbolKind};

use super::dependent::{Dependent, MAX_DEPENDENTS};
use super::{
    mentions::{Mention, mentions, words},
    touched::{Family, MAX_PARSED_BYTES, Touched, source_of},
};
use crate::{
    blobs::Submodules, compare::FileChange, error::VcsError, repository::GitRepository, revision::Revision,
};

/// Maximum number of files that define a name for its uses to be followed.
const MAX_DEFINING_FILES: usize = 3;

/// Upper bound of the scanned bytes of a tree.
const MAX_SCANNED_BYTES: u64 = 1024 * 1024 * 1024;

/// Upper bound of the files that are parsed to find the symbols around uses.
const MAX_PARSED_FILES: usize = 5000;

/// A name, and the languages in which it is a symbol.
type Name = (Family, String);

/// The uses of the names that changes of some files touched.
pub(super) struct Uses {
    /// For each name, the files whose change touched it.
    wanted: HashMap<Name, Vec<usize>>,
    /// The names of methods among them.
    methods: HashSet<Name>,
    /// For each name, the files that define it.
    defining: HashMap<Name, HashSet<String>>,
    /// The uses of each name.
    found: HashMap<Name, BTreeSet<Dependent>>,
    /// Paths of the files.
    files: Vec<String>,
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
    /// Prepares the search for uses of the symbols that each file has touched.
    pub(super) fn new(changes: &[&FileChange], touched: &[Touched]) -> Self {
        let mut wanted: HashMap<Name, Vec<usize>> = HashMap::new();
        let mut methods = HashSet::new();
        for (file, touched) in touched.iter().enumerate() {
            for (family, name, kind) in touched.names() {
                if kind == SymbolKind::Method {
                    methods.insert((family, name.to_owned()));
                }
                let files = wanted.entry((family, name.to_owned())).or_default();
                if files.last() != Some(&file) {
                    files.push(file);
                }
            }
        }
        Self {
            wanted,
            methods,
            defining: HashMap::new(),
            found: HashMap::new(),
            files: changes.iter().map(|change| change.path.clone()).collect(),
            skipped: 0,
        }
    }

    /// Searches the source files of a commit.
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
            if words(&bytes).any(|(_, word)| self.is_wanted(language.into(), word)) {
                parsed += 1;
                self.file(&blob.path, language, bytes);
            }
        }
        Ok(())
    }

    fn is_wanted(&self, family: Family, word: &[u8]) -> bool {
        std::str::from_utf8(word).is_ok_and(|word| self.wanted.contains_key(&(family, word.to_owned())))
    }

    /// Records the uses and definitions in a file.
    fn file(&mut self, path: &str, language: Language, bytes: Vec<u8>) {
        let Some(source) = source_of(language, bytes) else {
            return;
        };
        let family = Family::from(language);
        let is_wanted = |name: &str| self.wanted.contains_key(&(family, name.to_owned()));
        // The first occurrence of a name in its definition is not a use.
        let mut definitions = HashSet::new();
        for symbol in source.symbols.iter().filter(|symbol| is_wanted(&symbol.name)) {
            // Many types have fields of one name.
            if symbol.has_body || symbol.kind != SymbolKind::Constant {
                let defining = self.defining.entry((family, symbol.name.clone())).or_default();
                defining.insert(path.to_owned());
            }
            let text = &source.text.as_bytes()[symbol.bytes.clone()];
            let first = words(text).find(|(_, word)| *word == symbol.name.as_bytes());
            definitions.extend(first.map(|(at, _)| symbol.bytes.start + at));
        }
        let is_changed = |file: &usize| self.files[*file] == path;
        let owns = |name: &str, is_member: bool| {
            let wanted = (family, name.to_owned());
            // The method of a value is one of the file's rather than a function of another file.
            let takes_methods = is_member && !self.methods.contains(&wanted);
            let defines = |symbol: &Symbol| {
                // A prototype is defined elsewhere, a field without a value here.
                let is_here = symbol.has_body || symbol.kind == SymbolKind::Constant;
                let is_named = symbol.name == name && is_here;
                is_named && (takes_methods || symbol.kind != SymbolKind::Method)
            };
            let changed = self.wanted.get(&wanted);
            source.symbols.iter().any(defines) && !changed.is_some_and(|files| files.iter().any(is_changed))
        };
        let mut last: HashSet<(Option<usize>, String)> = HashSet::new();
        for Mention { name, at, line, is_member } in mentions(&source, is_wanted) {
            let inside = source.innermost.get(line - 1).copied().flatten();
            let symbol = inside.map(|index| &source.symbols[index]);
            // A symbol's use of itself is not a dependent, and in a file that defines the name, it refers to that definition.
            let is_itself = symbol.is_some_and(|symbol| symbol.name == name) || owns(&name, is_member);
            if definitions.contains(&at) || is_itself || !last.insert((inside, name.clone())) {
                continue;
            }
            self.found.entry((family, name)).or_default().insert(Dependent {
                path: path.to_owned(),
                line,
                symbol: symbol.map_or(String::new(), |symbol| symbol.path.clone()),
            });
        }
    }

    /// Returns the dependents of each file.
    pub(super) fn into_dependents(self) -> Vec<Dependents> {
        let mut of_files: Vec<BTreeSet<&Dependent>> = vec![BTreeSet::new(); self.files.len()];
        for (name, files) in &self.wanted {
            let is_ambiguous =
                self.defining.get(name).is_some_and(|defining| defining.len() > MAX_DEFINING_FILES);
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
