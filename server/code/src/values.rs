//! Values of filters and selections as callers write them: languages, kinds of symbols, extensions of files, paths.

use tabellion_syntax::{SymbolKind, language_name, language_names};

use crate::{
    CodeError,
    facts::{COMMIT_KIND, TEXT},
};

/// Usual names of languages that are not their names here, without spaces and hyphens. Where one is an extension too, the language is
/// meant.
const LANGUAGES: [(&str, &str); 19] = [
    ("golang", "go"),
    ("c++", "cpp"),
    ("cuda", "cpp"),
    ("c#", "csharp"),
    ("f#", "fsharp"),
    ("objc", "objective-c"),
    ("objectivec++", "objective-c"),
    ("proto", "protobuf"),
    ("python3", "python"),
    ("javascriptreact", "javascript"),
    ("typescriptreact", "typescript"),
    ("shellscript", "shell"),
    ("pwsh", "powershell"),
    ("elisp", "lisp"),
    ("commonlisp", "lisp"),
    ("scheme", "lisp"),
    ("racket", "lisp"),
    ("postgresql", "sql"),
    ("terraform", "hcl"),
];

/// Languages, each with the end of the names of files that may be in it, but are parsed as files of a different one.
const SHARED: [(&str, &str); 3] = [("c", ".h"), ("objective-c", ".h"), ("typescript", ".tsx")];

/// Kinds of symbols, each with the words that languages and people use for it.
const KINDS: [(SymbolKind, &[&str]); 12] = [
    (SymbolKind::Function, &["func", "fn", "def", "fun"]),
    (SymbolKind::Method, &[]),
    (SymbolKind::Class, &[]),
    (SymbolKind::Struct, &[]),
    (SymbolKind::Enum, &[]),
    (SymbolKind::Interface, &["trait", "protocol"]),
    (SymbolKind::Impl, &[]),
    (SymbolKind::Type, &["typedef"]),
    (SymbolKind::Module, &["mod", "namespace"]),
    (SymbolKind::Constant, &["const", "variable", "field"]),
    (SymbolKind::Macro, &[]),
    (SymbolKind::Section, &["heading"]),
];

/// Returns the name of a language, given that name, an extension of its files or a usual name, in any case, with or without spaces and
/// hyphens.
///
/// # Errors
/// [`CodeError::Filter`] if there is no such language.
pub(crate) fn language(written: &str) -> Result<&'static str, CodeError> {
    let plain = |name: &str| name.to_lowercase().replace([' ', '-', '_'], "");
    let word = plain(written);
    let word = word.trim_start_matches('.');
    let known = LANGUAGES.iter().find(|(usual, _)| *usual == word).map_or(word, |(_, name)| name);
    let mut names = language_names().chain([TEXT]);
    let found =
        names.find(|name| plain(name) == plain(known)).or_else(|| language_name(&format!("x.{known}")));
    found.ok_or_else(|| no_such("language", written, language_names().chain([TEXT])))
}

/// Returns true if the file at a path may be in a language, given the language that it is read as.
pub(crate) fn is_in(language: &str, path: &str, read_as: &str) -> bool {
    let is_shared = |(of, end): &(&str, &str)| *of == language && path.to_ascii_lowercase().ends_with(end);
    read_as == language || SHARED.iter().any(is_shared)
}

/// Returns the word of a kind of symbols, given that word, its plural or a usual name, in any case.
///
/// # Errors
/// [`CodeError::Filter`] if there is no such kind.
pub(crate) fn kind(written: &str) -> Result<&'static str, CodeError> {
    let word = written.trim().to_lowercase();
    let words = || KINDS.iter().map(|(kind, _)| kind.word()).chain([TEXT, COMMIT_KIND]);
    let exact = |word: &str| {
        let usual = KINDS.iter().find(|(_, usual)| usual.contains(&word)).map(|(kind, _)| kind.word());
        words().find(|known| *known == word).or(usual)
    };
    let singular = |ending| exact(word.strip_suffix(ending)?);
    let found = exact(&word).or_else(|| singular("s")).or_else(|| singular("es"));
    found.ok_or_else(|| no_such("kind", written, words()))
}

/// Returns the error for a value that is not among the known ones.
pub(crate) fn no_such<'k>(what: &str, written: &str, known: impl Iterator<Item = &'k str>) -> CodeError {
    let known = known.collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { "there are none".into() } else { format!("those are {known}") };
    CodeError::Filter(format!("`{written}` is no {what} here; {known}"))
}

/// Extensions of files; without any, all files have them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extensions(Vec<Extension>);

#[derive(Debug, Clone)]
enum Extension {
    /// End of the file's name, in lower case and with the dot; only the dot if any name will do.
    End(String),
    /// The files of a language, whose name is no extension, or one that few of its files have: `python`, `c++`.
    Language(&'static str),
}

impl Extensions {
    /// Adds extensions, written as in `py`, `.PY`, `*.py` or `d.ts`, or as a language's name; `*` is any.
    pub(crate) fn add(&mut self, written: &[String]) {
        let extensions = written.iter().map(|written| {
            let plain = written.trim().trim_start_matches(['*', '.']).to_lowercase();
            let is_usual = LANGUAGES.iter().any(|(usual, _)| *usual == plain);
            let is_extension = !is_usual && language_name(&format!("x.{plain}")).is_some();
            match language(&plain) {
                Ok(name) if !is_extension && name != TEXT => Extension::Language(name),
                _ => Extension::End(format!(".{plain}")),
            }
        });
        self.0.extend(extensions);
    }

    /// Returns true if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the file at a path has one of them.
    pub(crate) fn has(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let fits = |extension: &Extension| match extension {
            Extension::End(end) => end == "." || name.ends_with(end.as_str()),
            Extension::Language(language) => is_in(language, path, language_name(path).unwrap_or(TEXT)),
        };
        self.0.is_empty() || self.0.iter().any(fits)
    }
}

/// Returns the segments of a path, without those that change nothing: `./src//` has `src`.
pub(crate) fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !matches!(*segment, "" | "."))
}

/// Returns a path or glob with `/` for each `\` that does not escape a mark of globs.
pub(crate) fn with_slashes(written: &str) -> String {
    let mut path = String::with_capacity(written.len());
    let mut chars = written.chars().peekable();
    while let Some(char) = chars.next() {
        let next = (char == '\\').then(|| chars.next_if(|next| "*?[]{}!\\".contains(*next)));
        match next {
            None => path.push(char),
            Some(None) => path.push('/'),
            Some(Some(mark)) => path.extend([char, mark]),
        }
    }
    path
}
