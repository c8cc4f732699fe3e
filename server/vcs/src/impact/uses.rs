//! Uses of symbols: names in a tree's source files.

use std::collections::{BTreeSet, HashMap, HashSet};

use tabellion_syntax::{Language, Symbol, SymbolKind, may_be_program};

use super::dependent::{Dependent, MAX_DEPENDENTS};
use super::{
    mentions::{Mention, Owner, mentions, words},
    touched::{Family, MAX_PARSED_BYTES, Source, Touched, is_code},
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

/// The uses of the names that changes of some files touched.
pub(super) struct Uses {
    wanted: HashMap<Family, HashMap<String, Wanted>>,
    /// A word of each name, by which files are chosen.
    words: HashMap<Family, HashSet<Vec<u8>>>,
    /// Paths of the files.
    files: Vec<String>,
    pub(super) skipped: u64,
}

/// A name to look for.
#[derive(Debug, Default)]
struct Wanted {
    /// The files whose change touched it.
    files: Vec<usize>,
    /// True if it is the name of a method.
    is_method: bool,
    /// True if it is the name of a field, to which labels can refer.
    is_field: bool,
    /// True unless the changes touched only aliases.
    is_defined: bool,
    /// Paths of the symbols that have it.
    paths: HashSet<String>,
    /// The types that declare it without a body, for others to define.
    declared_in: HashSet<String>,
    /// The files that define it.
    defining: HashSet<String>,
    /// Its uses.
    found: BTreeSet<Dependent>,
}

impl Wanted {
    /// Returns true if so many files define the name that its uses could be of any of them.
    fn is_ambiguous(&self) -> bool {
        self.defining.len() > MAX_DEFINING_FILES
    }
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
        let mut wanted: HashMap<Family, HashMap<String, Wanted>> = HashMap::new();
        let mut chosen: HashMap<Family, HashSet<Vec<u8>>> = HashMap::new();
        for (file, touched) in touched.iter().enumerate() {
            for (family, path, symbol) in touched.names() {
                let name = wanted.entry(family).or_default().entry(symbol.name.clone()).or_default();
                let is_field = symbol.kind == SymbolKind::Constant;
                name.is_method |= symbol.is_member && !is_field;
                // A key of a literal in Go can be a constant.
                name.is_field |= is_field && (symbol.is_member || family == Family::from(Language::Go));
                name.is_defined |= !symbol.is_alias;
                name.paths.insert(path.to_owned());
                name.declared_in.extend(symbol.declared_in.clone());
                if name.files.last() != Some(&file) {
                    name.files.push(file);
                }
                // An attribute of C# is named without this ending.
                let names = [Some(&*symbol.name), symbol.name.strip_suffix("Attribute")];
                let words = names.iter().flatten().filter_map(|name| {
                    words(name.as_bytes()).map(|(_, word)| word.to_owned()).max_by_key(Vec::len)
                });
                chosen.entry(family).or_default().extend(words);
            }
        }
        Self {
            wanted,
            words: chosen,
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
            let family = Family::of_path(&blob.path);
            if !may_be_program(&blob.path) || family.is_some_and(|family| !self.words.contains_key(&family)) {
                continue;
            }
            if blob.size > MAX_PARSED_BYTES || scanned > MAX_SCANNED_BYTES || parsed > MAX_PARSED_FILES {
                self.skipped += u64::from(family.is_some());
                continue;
            }
            scanned += blob.size;
            let bytes = blobs.read(&blob)?;
            let family = family.or_else(|| Family::of_script(&blob.path, &bytes));
            let chosen = family.and_then(|family| Some((family, self.words.get(&family)?)));
            if let Some((family, chosen)) = chosen
                && words(&bytes).any(|(_, word)| chosen.contains(word))
            {
                parsed += 1;
                self.file(&blob.path, family, bytes);
            }
        }
        Ok(())
    }

    /// Records the uses and definitions in a file.
    fn file(&mut self, path: &str, family: Family, bytes: Vec<u8>) {
        let Some((source, wanted)) = Source::parse(path, bytes).zip(self.wanted.get_mut(&family)) else {
            return;
        };
        let mentions = mentions(&source, |name| wanted.get(name).map(|name| name.is_field));
        // The definitions of the names here, and those among them that refer to the wanted ones.
        let mut definitions = vec![];
        let mut referring = HashSet::new();
        let files = &self.files;
        let is_changed = |name: &Wanted| name.files.iter().any(|file| files[*file] == path);
        for (index, symbol) in source.symbols.iter().enumerate() {
            let Some(name) = wanted.get_mut(&symbol.name) else { continue };
            let has_change = name.paths.iter().any(|path| path.starts_with(&symbol.path));
            let refers = match symbol.kind {
                SymbolKind::Impl => !has_change,
                SymbolKind::Class if has_change && !is_changed(name) => is_reopened(&source, symbol),
                _ if source.is_alias(index) || is_wrapped(&source, index, &mentions) => name.is_defined,
                _ => implements(&source, index, &name.declared_in, is_changed(name)),
            };
            if refers {
                referring.insert(index);
                continue;
            }
            // Many types have fields of one name.
            if symbol.has_body || symbol.kind != SymbolKind::Constant {
                name.defining.insert(path.to_owned());
            }
            // A prototype is defined elsewhere, a field without a value here.
            if symbol.has_body || symbol.kind == SymbolKind::Constant {
                definitions.push(index);
            }
        }
        let imported = mentions.iter().filter(|mention| mention.owner == Owner::Import);
        let imported: HashSet<String> = imported.map(|mention| mention.name.clone()).collect();
        let mut last: HashSet<(Option<usize>, String)> = HashSet::new();
        for mention in mentions {
            let Mention { name, line, owner, defines, .. } = &mention;
            let Some(wanted) = wanted.get_mut(name) else { continue };
            let inside = source.innermost.get(line - 1).copied().flatten();
            let symbol = inside.map(|index| &source.symbols[index]);
            let is_changed = is_changed(wanted);
            // A symbol's use of itself is not a dependent.
            let is_itself = symbol.is_some_and(|symbol| symbol.name == *name)
                && !inside.is_some_and(|index| referring.contains(&index))
                && (is_changed || matches!(owner, Owner::Scope | Owner::Itself));
            // In a file that defines the name, it refers to that definition.
            let is_own = || {
                let mut own = definitions.iter().filter(|index| source.symbols[**index].name == *name);
                own.any(|index| owns(&source, *index, &mention, wanted.is_method, imported.contains(name)))
            };
            let is_definition = defines.is_some_and(|index| !referring.contains(&index));
            if is_definition || is_itself || (!is_changed && is_own()) || !last.insert((inside, name.clone()))
            {
                continue;
            }
            wanted.found.insert(Dependent {
                path: path.to_owned(),
                line: *line,
                symbol: symbol.map_or(String::new(), |symbol| symbol.path.clone()),
            });
        }
    }

    /// Returns the names that have uses, but too many definitions, in order.
    pub(super) fn ambiguous(&self) -> Vec<String> {
        let names = self.wanted.values().flatten();
        let names = names.filter(|(_, name)| name.is_ambiguous() && !name.found.is_empty());
        names.map(|(name, _)| name.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the dependents of each file.
    pub(super) fn into_dependents(self) -> Vec<Dependents> {
        let mut of_files: Vec<BTreeSet<&Dependent>> = vec![BTreeSet::new(); self.files.len()];
        let wanted = self.wanted.values().flat_map(HashMap::values);
        for name in wanted.filter(|name| !name.is_ambiguous()) {
            for file in &name.files {
                of_files[*file].extend(&name.found);
            }
        }
        let dependents = of_files.into_iter().map(|all| Dependents {
            total: all.len() as u64,
            first: all.into_iter().take(MAX_DEPENDENTS).cloned().collect(),
        });
        dependents.collect()
    }
}

/// Returns true if a mention of a symbol's name in its file refers to the symbol, rather than to a changed one of another file.
fn owns(source: &Source, index: usize, mention: &Mention, is_method: bool, is_imported: bool) -> bool {
    let (symbol, is_member) = (&source.symbols[index], source.is_member(index));
    match mention.owner {
        Owner::Itself => true,
        Owner::Import => false,
        // A method of a value is one of the file's rather than a function of another file, and a field is not called.
        Owner::Other => is_member && if is_code(symbol) { !is_method } else { !mention.is_called },
        Owner::Scope => {
            let has_implicit_self = ["java", "kotlin", "csharp", "cpp", "swift", "ruby"];
            let scope = source.outer[index].map(|outer| &source.symbols[outer].bytes);
            (if is_member { has_implicit_self.contains(&source.language.name()) } else { !is_imported })
                && scope.is_none_or(|scope| scope.contains(&mention.at))
        }
    }
}

/// Returns true if an item of Python has its own name in its value: `total = cached(total)`.
fn is_wrapped(source: &Source, index: usize, mentions: &[Mention]) -> bool {
    let symbol = &source.symbols[index];
    let mut inside = mentions.iter().filter(|mention| symbol.bytes.contains(&mention.at));
    let is_item = !is_code(symbol) && !source.is_member(index) && source.language == Language::Python;
    is_item
        && inside.any(|inside| {
            inside.name == symbol.name && inside.owner == Owner::Scope && inside.defines.is_none()
        })
}

/// Returns true if a class adds to a class of the same name elsewhere.
fn is_reopened(source: &Source, class: &Symbol) -> bool {
    let mut heading = words(heading(source, class).as_bytes());
    source.language.name() == "ruby" || heading.any(|(_, word)| word == b"partial")
}

/// Returns the text of a type before its body.
fn heading<'s>(source: &'s Source, symbol: &Symbol) -> &'s str {
    let ends = if source.language.name() == "ruby" { '\n' } else { '{' };
    source.text[symbol.bytes.clone()].split(ends).next().unwrap_or_default()
}

/// Returns true if a symbol implements a member of one of these types, by the heading of the enclosing type: `impl Shape for Square`.
fn implements(source: &Source, index: usize, types: &HashSet<String>, is_changed: bool) -> bool {
    let Some(outer) = source.outer[index].map(|outer| &source.symbols[outer]) else {
        return false;
    };
    let mut named = words(heading(source, outer).as_bytes());
    // A type of the file itself with such a name is a different one, unless it has changed.
    let is_own = |name: &str| {
        let is_type = |symbol: &Symbol| symbol.name == name && symbol.kind != SymbolKind::Impl;
        !is_changed && source.symbols.iter().any(is_type)
    };
    let is_named = |word: &[u8]| types.iter().any(|of| of.as_bytes() == word && !is_own(of));
    !types.contains(&outer.name) && named.any(|(_, word)| is_named(word))
}
