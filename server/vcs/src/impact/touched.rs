//! The symbols of a file that contain its changed lines.

use std::{collections::BTreeMap, iter, ops::Range};

use tabellion_syntax::{
    Language, Symbol, SymbolKind, is_page, may_be_program, parse, program, symbols,
    tree_sitter::{Node, Point, Tree},
};

use crate::{
    compare::{ChangedFile, FileChange, content::is_binary, line_ranges, tree::TreeFile},
    error::{VcsError, check, with_causes},
    repository::GitRepository,
};

/// Size limit of a file whose symbols are read.
pub(super) const MAX_PARSED_BYTES: u64 = 1024 * 1024;

/// The symbols of a file that contain its changed lines.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// By their path, such as `impl Foo > fn bar`.
    symbols: BTreeMap<String, TouchedSymbol>,
    /// The languages in which its symbols can be used.
    family: Option<Family>,
}

/// A symbol that contains changed lines.
#[derive(Debug)]
pub(super) struct TouchedSymbol {
    pub(super) name: String,
    pub(super) kind: SymbolKind,
    /// True if it is a part of a type.
    pub(super) is_member: bool,
    pub(super) is_alias: bool,
    /// The type that declares it without a body, for others to define.
    pub(super) declared_in: Option<String>,
}

impl Touched {
    pub(super) fn find(
        repository: &GitRepository,
        change: &FileChange,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, VcsError> {
        check(cancelled)?;
        let mut touched = Self::default();
        if change.binary {
            return Ok(touched);
        }
        let ChangedFile { old, new } = &change.change;
        let side = |side: &Option<(gix::bstr::BString, TreeFile)>| match side {
            Some((path, file)) if file.is_regular() => source(repository, &path.to_string(), file),
            _ => Ok(None),
        };
        let (old, new) = (side(old)?, side(new)?);
        let language = new.as_ref().or(old.as_ref()).map(|source| source.language);
        touched.family = language.map(Family::from);
        let text =
            |source: &Option<Source>| source.as_ref().map_or(String::new(), |source| source.text.clone());
        for range in line_ranges(text(&old).as_bytes(), text(&new).as_bytes()) {
            touched.add(old.as_ref(), range.old);
            touched.add(new.as_ref(), range.new);
        }
        Ok(touched)
    }

    /// Adds the innermost symbols that contain the lines. Blank lines are ignored.
    fn add(&mut self, source: Option<&Source>, lines: Range<usize>) {
        let Some(source) = source else { return };
        for line in lines {
            let Some(Some(symbol)) = source.innermost.get(line) else {
                continue;
            };
            self.insert(source, *symbol);
            // A parameter that is a field belongs to the constructor, too.
            if let Some(outer) = source.outer[*symbol].filter(|_| source.is_parameter(*symbol)) {
                self.insert(source, outer);
            }
        }
    }

    fn insert(&mut self, source: &Source, index: usize) {
        let symbol = &source.symbols[index];
        let types = |outer: &&Symbol| !matches!(outer.kind, SymbolKind::Module | SymbolKind::Impl);
        let outer = source.outer[index].map(|outer| &source.symbols[outer]).filter(types);
        self.symbols.entry(symbol.path.clone()).or_insert_with(|| TouchedSymbol {
            name: symbol.name.clone(),
            kind: symbol.kind,
            is_member: source.is_member(index),
            is_alias: source.is_alias(index),
            declared_in: outer.filter(|_| !symbol.has_body).map(|outer| outer.name.clone()),
        });
    }

    /// Returns the symbols to look for, with their family of languages and their paths.
    pub(super) fn names(&self) -> impl Iterator<Item = (Family, &str, &TouchedSymbol)> {
        let is_followed = |kind| !matches!(kind, SymbolKind::Impl | SymbolKind::Section);
        let followed = self.symbols.iter().filter(move |(_, symbol)| is_followed(symbol.kind));
        followed.filter_map(|(path, symbol)| Some((self.family?, path.as_str(), symbol)))
    }

    /// Returns the symbols' paths.
    pub(super) fn into_paths(self) -> Vec<String> {
        self.symbols.into_keys().collect()
    }
}

/// Languages whose programs use each other's symbols, represented by one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Family(Language);

impl From<Language> for Family {
    fn from(language: Language) -> Self {
        Self(match language.name() {
            "typescript" | "tsx" => Language::JavaScript,
            "cpp" => Language::C,
            "kotlin" => Language::Java,
            _ => language,
        })
    }
}

impl Family {
    /// Returns the family of a file by its name; `None` for files without a program, and for scripts without an extension.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        Language::of_path(path).or(is_page(path).then_some(Language::JavaScript)).map(Self::from)
    }

    /// Returns the family of a file by its first line.
    pub(super) fn of_script(path: &str, bytes: &[u8]) -> Option<Self> {
        let (language, _) = program(path, std::str::from_utf8(bytes).ok()?)?;
        Some(language.into())
    }
}

/// A source file with its symbols.
pub(super) struct Source {
    pub(super) language: Language,
    pub(super) text: String,
    pub(super) tree: Tree,
    /// Constructors have the names of their classes.
    pub(super) symbols: Vec<Symbol>,
    /// For each symbol, the index of the one around it.
    pub(super) outer: Vec<Option<usize>>,
    /// For each line, from 0, the index of the innermost symbol that contains it or an attribute of which is on it; `None` for blank lines too.
    pub(super) innermost: Vec<Option<usize>>,
}

impl Source {
    /// Parses a file and finds its symbols; `None` if it has no program, or parsing takes too long.
    pub(super) fn parse(path: &str, bytes: Vec<u8>) -> Option<Self> {
        if is_binary(&bytes) {
            return None;
        }
        let text = String::from_utf8(bytes).ok()?;
        let (language, text) = program(path, &text)?;
        let text = text.into_owned();
        let tree = parse(language, &text)?;
        let mut symbols = symbols(language, &tree, &text);
        let mut outer: Vec<Option<usize>> = vec![];
        for index in 0..symbols.len() {
            let bytes = &symbols[index].bytes;
            let mut around = iter::successors(index.checked_sub(1), |before| outer[*before]);
            let around =
                around.find(|at| symbols[*at].bytes.end >= bytes.end && symbols[*at].bytes != *bytes);
            if let Some(class) = around.filter(|_| is_constructor(language, &symbols[index].name)) {
                symbols[index].name = symbols[class].name.clone();
            }
            outer.push(around);
        }
        let lines: Vec<&str> = text.lines().collect();
        let mut innermost = vec![None; lines.len()];
        let is_comment = |line: usize| {
            let column = lines[line].len() - lines[line].trim_start().len();
            let first = Point::new(line, column)..Point::new(line, column + 1);
            let node = tree.root_node().descendant_for_point_range(first.start, first.end);
            // Marks within a comment have nodes of their own.
            iter::successors(node, Node::parent).take(3).any(|node| node.kind().contains("comment"))
        };
        // Nested symbols come after the symbols that contain them.
        for (index, symbol) in symbols.iter().enumerate() {
            // The last of many names in one declaration has its lines.
            if symbols.get(index + 1).is_some_and(|next| next.bytes == symbol.bytes) {
                continue;
            }
            let start = symbol.lines.start() - 1;
            for line in symbol.begins - 1..innermost.len().min(*symbol.lines.end()) {
                // An attribute before a symbol is a part of it, a comment is not.
                if line >= start || !is_comment(line) {
                    innermost[line] = Some(index);
                }
            }
        }
        for (line, symbol) in lines.iter().zip(&mut innermost) {
            if line.trim().is_empty() {
                *symbol = None;
            }
        }
        Some(Self { language, text, tree, symbols, outer, innermost })
    }

    /// Returns the innermost symbol that contains a byte.
    pub(super) fn around(&self, at: usize) -> Option<usize> {
        let before = self.symbols.partition_point(|symbol| symbol.bytes.start <= at);
        let mut around = iter::successors(before.checked_sub(1), |index| self.outer[*index]);
        around.find(|index| self.symbols[*index].bytes.end > at)
    }

    /// Returns the innermost function among a symbol and those around it.
    pub(super) fn function(&self, symbol: Option<usize>) -> Option<usize> {
        iter::successors(symbol, |index| self.outer[*index]).find(|index| is_code(&self.symbols[*index]))
    }

    /// Returns true if a symbol is a part of a type or value, not an item of a module.
    pub(super) fn is_member(&self, index: usize) -> bool {
        let symbol = &self.symbols[index];
        let is_constant = symbol.kind == SymbolKind::Constant;
        let is_inside = self.outer[index].is_some_and(|outer| match self.symbols[outer].kind {
            SymbolKind::Module => false,
            SymbolKind::Enum => !is_constant,
            SymbolKind::Function | SymbolKind::Method => is_constant,
            _ => true,
        });
        // `A.prototype.total = function …`, `int A::total() { … }`
        let owner = symbol.path.strip_suffix(&symbol.name).filter(|owner| owner.ends_with(['.', ':']));
        let is_qualified = owner.is_some_and(|owner| !owner.ends_with("exports."));
        symbol.kind == SymbolKind::Method || is_inside || is_qualified
    }

    /// Returns true if an item only repeats the name of a different one: `const total = require("./a").total`, `Total = a.Total`.
    pub(super) fn is_alias(&self, index: usize) -> bool {
        let symbol = &self.symbols[index];
        let Some((_, value)) = self.text[symbol.bytes.clone()].split_once('=') else {
            return false;
        };
        let value = value.trim().trim_end_matches(';');
        let is_same = value.strip_suffix(&symbol.name).is_some_and(|owner| owner.ends_with(['.', ':', '\\']));
        let is_file = || ["require('.", "require(\"."].iter().any(|begin| value.starts_with(begin));
        !is_code(symbol) && !self.is_member(index) && (is_same || is_file())
    }

    /// Returns true if a symbol is a field that is a parameter of a constructor.
    fn is_parameter(&self, index: usize) -> bool {
        let bytes = &self.symbols[index].bytes;
        let node = self.tree.root_node().descendant_for_byte_range(bytes.start, bytes.end);
        node.is_some_and(|node| node.kind().ends_with("parameter"))
    }
}

pub(super) fn is_code(symbol: &Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method)
}

/// Returns true if a method with this name is called by the name of its class.
fn is_constructor(language: Language, name: &str) -> bool {
    match language.name() {
        "python" => matches!(name, "__init__" | "__new__"),
        "javascript" | "typescript" | "tsx" | "kotlin" => name == "constructor",
        "ruby" => name == "initialize",
        "php" => name == "__construct",
        "swift" => name == "init",
        _ => false,
    }
}

/// Returns the source at `path`; `None` if it is in no known language, too large or binary.
fn source(repository: &GitRepository, path: &str, file: &TreeFile) -> Result<Option<Source>, VcsError> {
    if !may_be_program(path) {
        return Ok(None);
    }
    let damaged = |error: gix::Error| VcsError::Damaged {
        path: repository.path().to_owned(),
        what: "a file",
        message: with_causes(&error),
    };
    let header = repository.git.find_header(file.id).map_err(damaged)?;
    if header.size() > MAX_PARSED_BYTES {
        return Ok(None);
    }
    let bytes = repository.git.find_blob(file.id).map_err(damaged)?.take_data();
    Ok(Source::parse(path, bytes))
}
