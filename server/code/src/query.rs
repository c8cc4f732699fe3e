//! Queries and their parts.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobMatcher};
use tabellion_retrieval::{query_terms, words};
use tabellion_syntax::is_definition_word;

use crate::{
    CodeError,
    columns::FileColumns,
    content::composed,
    facts::SymbolFacts,
    names::SymbolName,
    terms::{Kind, identifiers, whole},
    values::{self, Extensions, segments, with_slashes},
};

/// Number of different words that are searched for; further words of a query are ignored.
const MAX_WORDS: usize = 64;

/// Marks around a name that are not part of it.
const AROUND_NAMES: &[char] =
    &['"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', '@', '$', '&', '*', ',', ';', ':', '?', '!'];

/// Words that ask for tests.
const TEST_WORDS: [&str; 2] = ["test", "spec"];

/// A query. Any text is valid; text in double quotes or backticks is matched literally, and a call `name()` in backticks as the name.
#[derive(Debug, Clone, Default)]
pub struct CodeQuery {
    /// The text.
    pub text: String,
    /// Keys of the collections that are searched.
    pub collections: Vec<String>,
    /// Conditions for all hits.
    pub filters: CodeFilters,
    /// The largest number of hits to return.
    pub limit: usize,
    /// Hits below this score are left out, and not counted.
    pub min_score: f64,
}

/// Conditions that all hold for every hit.
#[derive(Debug, Clone, Default)]
pub struct CodeFilters {
    languages: Vec<&'static str>,
    extensions: Extensions,
    paths: Vec<PathFilter>,
    branches: Vec<String>,
    kinds: Vec<&'static str>,
    symbols: Vec<SymbolName>,
}

impl CodeFilters {
    /// Adds the condition that the file has one of these extensions, as in `py`, `.PY` or `*.py`, or is in the language of this name.
    pub fn extensions(&mut self, extensions: &[String]) {
        self.extensions.add(extensions);
    }

    /// Adds a condition: `language` (its name, an extension or a usual name), `path` (a file or a folder below the collection's folder, or a
    /// glob; without a slash, it is of the file's name), `kind` (of symbol), `symbol` (its name, alone, qualified, or as a hit shows it),
    /// `branch`.
    ///
    /// # Errors
    /// [`CodeError::Filter`] if there is no such field, language or kind, or the value is not a valid glob, or leads out of the
    /// collection's folder.
    pub fn add(&mut self, field: &str, value: &str) -> Result<(), CodeError> {
        match field {
            "language" => self.languages.push(values::language(value)?),
            "kind" => self.kinds.push(values::kind(value)?),
            "symbol" => self.symbols.push(SymbolName::parse(value)),
            "branch" => self.branches.push(value.to_owned()),
            "path" => {
                let value = with_slashes(&composed(value));
                let path = segments(&value).collect::<Vec<_>>().join("/");
                if value.starts_with('/') || path.split('/').any(|segment| segment == "..") {
                    let why = format!("`{value}` is no path below a collection's folder");
                    return Err(CodeError::Filter(why));
                }
                if !path.is_empty() {
                    self.paths.push(PathFilter::parse(path)?);
                }
            }
            _ => return Err(CodeError::Filter(format!("`{field}` is no field to filter by"))),
        }
        Ok(())
    }

    /// Checks that the branches of the conditions are among those of the files that are searched.
    ///
    /// # Errors
    /// [`CodeError::Filter`] if one is not.
    pub(crate) fn check_branches<'f>(
        &self,
        of_files: impl Iterator<Item = &'f str>,
    ) -> Result<(), CodeError> {
        if self.branches.is_empty() {
            return Ok(());
        }
        let indexed: BTreeSet<&str> = of_files.filter(|branch| !branch.is_empty()).collect();
        match self.branches.iter().find(|wanted| !indexed.contains(wanted.as_str())) {
            Some(wanted) => Err(values::no_such("branch", wanted, indexed.into_iter())),
            None => Ok(()),
        }
    }

    /// Returns true if any condition is on files.
    pub(crate) fn is_on_files(&self) -> bool {
        !(self.languages.is_empty()
            && self.extensions.is_empty()
            && self.paths.is_empty()
            && self.branches.is_empty())
    }

    /// Returns true if a file may have hits.
    pub(crate) fn file(&self, file: &FileColumns) -> bool {
        let (path, branch) = (&*file.path, &*file.branch);
        self.languages.iter().all(|wanted| values::is_in(wanted, path, &file.language))
            && self.extensions.has(path)
            && (self.paths.is_empty() || self.paths.iter().all(|filter| filter.has(&composed(path))))
            && self.branches.iter().all(|wanted| wanted == branch)
    }

    /// Returns true if any condition is on chunks.
    pub(crate) fn is_on_chunks(&self) -> bool {
        !(self.kinds.is_empty() && self.symbols.is_empty())
    }

    /// Returns the terms that a chunk must have: one of each list.
    pub(crate) fn chunk_terms(&self) -> impl Iterator<Item = Vec<(Kind, String)>> {
        let kinds = self.kinds.iter().map(|kind| vec![(Kind::About, String::from(*kind))]);
        let keys = |name: &SymbolName| {
            name.keys()
                .into_iter()
                .flat_map(|key| [(Kind::Symbol, key.clone()), (Kind::Member, key)])
                .collect()
        };
        kinds.chain(self.symbols.iter().map(keys))
    }

    /// Returns true if conditions must hold for the same symbol, which the terms of a chunk can't show.
    pub(crate) fn is_on_symbols(&self) -> bool {
        !self.symbols.is_empty() || self.kinds.iter().any(|kind| *kind != self.kinds[0])
    }

    /// Returns true if a symbol may be a hit.
    pub(crate) fn symbol(&self, symbol: &SymbolFacts, modules: &[String]) -> bool {
        self.kinds.iter().all(|kind| *kind == symbol.kind)
            && self.symbols.iter().all(|name| name.fits(symbol, modules))
    }
}

/// A condition on paths. It holds for the file or folder with this path, and for paths that match it as a glob. A glob without a slash is
/// compared with names of files in any folder. Paths can contain a glob's marks: `app/[id]/page.tsx`.
#[derive(Debug, Clone)]
struct PathFilter {
    path: String,
    glob: Option<GlobMatcher>,
}

impl PathFilter {
    fn parse(path: String) -> Result<Self, CodeError> {
        if !path.contains(['*', '?', '[', '{']) {
            return Ok(Self { path, glob: None });
        }
        let anywhere = if path.contains('/') { "" } else { "**/" };
        let glob = GlobBuilder::new(&format!("{anywhere}{path}")).literal_separator(true).build();
        let glob =
            glob.map_err(|error| CodeError::Filter(format!("`{path}` is no glob: {}", error.kind())))?;
        Ok(Self { path, glob: Some(glob.compile_matcher()) })
    }

    fn has(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.path.as_str());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            || self.glob.as_ref().is_some_and(|glob| glob.is_match(path))
    }
}

/// The parts of a query, composed.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    /// Words, each once.
    pub(crate) words: Vec<String>,
    /// Possible whole names, in the form that is compared: identifiers, and adjacent words, joined.
    pub(crate) names: Vec<String>,
    /// Identifiers as they are spelled, if they can only be identifiers.
    pub(crate) spelled: Vec<String>,
    /// Texts that a chunk must contain literally.
    pub(crate) exact: Vec<String>,
    /// Words with marks, which rank higher if found literally: `C++`, `node.js`; and the whole query, if it has marks and no
    /// blanks.
    pub(crate) literals: Vec<String>,
    /// True if the query is one identifier.
    pub(crate) is_name: bool,
    /// The symbol that it names, if it can only be a name: `Cart.total`, `class Cart > def total`.
    pub(crate) symbol: Option<SymbolName>,
    /// The word of an identifier of several parts, if the query is one; every text with that identifier has it.
    pub(crate) compound: Option<String>,
    /// The word that asks for tests, if there is one.
    pub(crate) test_word: Option<String>,
}

pub(crate) fn cut(text: &str) -> Cut {
    let text = &*composed(text);
    let quoted = Quotations::parse(text).quoted.into_iter();
    let exact = quoted.filter(|text| !text.trim().is_empty()).map(String::from).collect();
    let mut cut = Cut { exact, ..Cut::default() };
    let runs: Vec<&str> = identifiers(text).collect();
    let text = text.trim();
    cut.is_name = runs.len() == 1 && text.trim_matches(AROUND_NAMES) == runs[0];
    let all: Vec<_> = runs.iter().flat_map(|run| words(run)).collect();
    let is_compound = cut.is_name && all.len() > 1 && !all[0].is_part;
    cut.compound = is_compound.then(|| all[0].term.clone());
    let begins_as_shown = || runs.len() > 1 && is_definition_word(runs[0]);
    let is_alone = !text.contains(char::is_whitespace);
    let is_symbol = is_alone || text.contains(" > ") || begins_as_shown();
    cut.symbol = (is_symbol && !runs.is_empty()).then(|| SymbolName::parse(text));
    let has_others = all.iter().any(|word| !word.is_stop_word);
    cut.words = query_terms(&all, MAX_WORDS);
    let is_identifier = |run: &&&str| cut.is_name || words(run).iter().any(|word| word.is_part);
    let spelled: BTreeSet<&str> = runs.iter().filter(is_identifier).take(MAX_WORDS).copied().collect();
    cut.spelled = spelled.into_iter().map(String::from).collect();
    // Marks can be part of a name: `empty?`, `users$`.
    let marked_name = text.trim_matches(&['"', '\'', '`', '(', ')', ';', ','][..]);
    if cut.is_name && marked_name != runs[0] {
        cut.spelled.push(marked_name.to_owned());
    }
    let telling: Vec<String> = runs
        .iter()
        .filter(|run| !has_others || words(run).iter().any(|word| !word.is_stop_word))
        .map(|run| whole(run))
        .take(MAX_WORDS)
        .collect();
    let mut names: BTreeSet<String> = telling.iter().cloned().collect();
    for length in 2..=3 {
        names.extend(telling.windows(length).map(|side_by_side| side_by_side.concat()));
    }
    cut.names = names.into_iter().filter(|name| name.len() > 1).collect();
    if runs.is_empty() && cut.exact.is_empty() {
        // Marks alone are searched for literally.
        cut.exact = text.split_whitespace().map(String::from).collect();
    } else if is_alone && !cut.is_name && cut.exact.is_empty() {
        cut.literals.push(text.to_owned());
    } else {
        cut.literals.extend(marked(text).map(String::from).take(MAX_WORDS));
    }
    let asks = |word: &&String| TEST_WORDS.contains(&word.as_str());
    cut.test_word = cut.words.iter().find(asks).cloned();
    cut
}

/// Returns the words of a query that have marks as a part: `C++`, `F#`, `.NET`, `node.js`.
fn marked(text: &str) -> impl Iterator<Item = &str> {
    let plain = text.split_whitespace().map(|word| {
        let word = word.trim_matches(AROUND_NAMES);
        word.strip_suffix('.').unwrap_or(word)
    });
    plain.filter(|word| {
        let inner = word.trim_matches(|char: char| !char.is_alphanumeric());
        let has_end = word.ends_with(['+', '#']) || word.starts_with('.');
        !inner.is_empty() && (has_end || inner.contains('.'))
    })
}

/// A query's parts: the texts in double quotes or backticks, and the others.
#[derive(Default)]
struct Quotations<'q> {
    quoted: Vec<&'q str>,
    others: Vec<&'q str>,
}

impl<'q> Quotations<'q> {
    fn parse(text: &'q str) -> Self {
        let mut found = Self::default();
        let mut rest = text;
        while let Some(open) = rest.find(['"', '`']) {
            let mark = &rest[open..=open];
            // A fence is around a block of code, which no text has as it stands there.
            let fence = rest[open..].len() - rest[open..].trim_start_matches('`').len();
            let marks = if fence > 2 { fence } else { 1 };
            let inside = &rest[open + marks..];
            let Some(length) = inside.find(&mark.repeat(marks)) else {
                break;
            };
            found.others.push(&rest[..open]);
            match (&inside[..length], mark) {
                (block, _) if fence > 2 => found.others.push(block),
                (code, "`") => found.quoted.push(called_name(code)),
                (text, _) => found.quoted.push(text),
            }
            rest = &inside[length + marks..];
        }
        found.others.push(rest);
        found
    }
}

/// Returns the name of a call without arguments, `Type.name()`: its definition has parameters, and no receiver. Other code is returned.
fn called_name(code: &str) -> &str {
    let call = code.trim().strip_suffix("()").filter(|call| !call.contains(char::is_whitespace));
    call.and_then(|call| identifiers(call).last()).unwrap_or(code)
}

/// Returns a query with its quotations as plain words, if it has other words too; `None` if it has no quotation, or nothing else.
pub fn unquoted(text: &str) -> Option<String> {
    let found = Quotations::parse(text);
    let has_words = |texts: &[&str]| texts.iter().any(|text| text.contains(char::is_alphanumeric));
    let is_mixed = has_words(&found.quoted) && has_words(&found.others);
    is_mixed.then(|| text.replace(['"', '`'], " "))
}
