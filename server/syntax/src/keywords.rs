//! Definitions in languages without a grammar here, by their keywords at the beginnings of lines.
//!
//! Lines don't tell all that a tree does: a definition is found where a line begins with it, it contains the definitions that are indented
//! more than it, and ends before the next that is not. That is enough to find it by its name.

use std::{path::Path, sync::OnceLock};

use regex::Regex;

use crate::{
    Symbol,
    lines::Lines,
    symbol_kind::SymbolKind::{self, *},
    symbols::{is_code, own},
};

/// Maximum length of a line with a definition. Longer ones are data.
const MAX_LINE: usize = 1000;
/// Maximum nesting of symbols, as in files with a grammar.
const DEEPEST: usize = 16;

/// A definition: the kind of its symbol, the word that its path shows, and a pattern for its line without the indentation, whose first group
/// is the name. A pattern that begins with a blank follows the word.
type Definition = (SymbolKind, &'static str, &'static str);

struct Keywords {
    name: &'static str,
    extensions: &'static [&'static str],
    /// A pattern of what may precede a definition in its line.
    before: &'static str,
    /// What begins and ends a comment or text of several lines.
    blocks: &'static [(&'static str, &'static str)],
    /// What a line begins with that is a comment, or an attribute of the definition below it.
    leading: &'static [&'static str],
    definitions: &'static [Definition],
}

/// A name.
const NAME: &str = r" (\w+)";
/// A name with those around it.
const DOTTED: &str = r" ([\w.]+)";
/// A case of a type with several, on a line of its own.
const CASE: &str = r"[=|]\s*([A-Z][\w']*)";
/// A name in Lisp.
const ATOM: &str = r#" \(?([^\s()\[\]{}"';`]+)"#;
const LISP_BLOCKS: &[(&str, &str)] = &[("#|", "|#")];
const C_BLOCKS: &[(&str, &str)] = &[("/*", "*/")];
const ML_BLOCKS: &[(&str, &str)] = &[("(*", "*)")];
const QUOTES: (&str, &str) = ("\"\"\"", "\"\"\"");

const LANGUAGES: &[Keywords] = &[
    Keywords {
        name: "elixir",
        extensions: &["ex", "exs"],
        before: "",
        blocks: &[QUOTES],
        leading: &["#", "@"],
        definitions: &[
            (Module, "defmodule", DOTTED),
            (Interface, "defprotocol", DOTTED),
            (Impl, "defimpl", DOTTED),
            (Macro, "defmacro", r" ([\w?!]+)"),
            (Macro, "defmacrop", r" ([\w?!]+)"),
            (Function, "def", r" ([\w?!]+)"),
            (Function, "defp", r" ([\w?!]+)"),
            (Function, "defguard", r" ([\w?!]+)"),
            (Function, "defdelegate", r" ([\w?!]+)"),
        ],
    },
    Keywords {
        name: "erlang",
        extensions: &["erl", "hrl"],
        before: "",
        blocks: &[],
        leading: &["%", "-spec"],
        definitions: &[
            (Module, "module", r"-module\((\w+)"),
            (Struct, "record", r"-record\((\w+)"),
            (Macro, "define", r"-define\((\w+)"),
            (Type, "type", r"-(?:type|opaque) (\w+)"),
            (Function, "", r"([a-z]\w*)\(.*\)\s*(?:when\b.*)?->"),
        ],
    },
    Keywords {
        name: "haskell",
        extensions: &["hs"],
        before: "",
        blocks: &[("{-", "-}")],
        leading: &["--"],
        definitions: &[
            (Module, "module", DOTTED),
            (Type, "data", r" (?:(?:family|instance)\s+)?(?:.*=>\s*)?([A-Z][\w']*)"),
            (Type, "newtype", r" (?:instance\s+)?(?:.*=>\s*)?([A-Z][\w']*)"),
            (Type, "type", r" (?:(?:family|instance)\s+)?([A-Z][\w']*)"),
            (Interface, "class", r" (?:.*=>\s*)?([A-Z][\w']*)"),
            (Function, "", r"([a-z_][\w']*)(?:\s*,\s*[a-z_][\w']*)*\s+::"),
            (Constant, "", CASE),
        ],
    },
    Keywords {
        name: "scala",
        extensions: &["scala", "sc"],
        before: r"(?:(?:private|protected)(?:\[\w+\])?\s+|(?:abstract|case|final|implicit|inline|lazy|opaque|open|override|sealed|transparent)\s+)*",
        blocks: &[("/*", "*/"), QUOTES],
        leading: &["//", "/*", "*", "@"],
        definitions: &[
            (Class, "class", NAME),
            (Interface, "trait", NAME),
            (Module, "object", NAME),
            (Enum, "enum", NAME),
            (Type, "type", NAME),
            (Function, "def", NAME),
            (Constant, "val", NAME),
            (Constant, "given", r" (\w+)\s*(?:\[.*\])?:"),
        ],
    },
    Keywords {
        name: "lua",
        extensions: &["lua"],
        before: r"(?:local\s+)?",
        blocks: &[("--[[", "]]")],
        leading: &["--"],
        definitions: &[
            (Function, "function", r" ([\w.:]+)"),
            (Function, "function", r"([\w.]+)\s*=\s*function\b"),
        ],
    },
    Keywords {
        name: "zig",
        extensions: &["zig"],
        before: r#"(?:(?:pub|export|inline|noinline|threadlocal|comptime|extern(?:\s+"\w+")?)\s+)*"#,
        blocks: &[],
        leading: &["//"],
        definitions: &[
            (Function, "fn", NAME),
            (Struct, "struct", r"const (\w+)\s*=\s*(?:(?:extern|packed)\s+)?struct\b"),
            (Struct, "union", r"const (\w+)\s*=\s*(?:(?:extern|packed)\s+)?union\b"),
            (Enum, "enum", r"const (\w+)\s*=\s*(?:enum|error)\b"),
            // Without `@import`, whose name is defined elsewhere.
            (Constant, "const", r" (\w+)\s*(?::.*)?=\s*(?:[^@\s]|@[^i])"),
        ],
    },
    Keywords {
        name: "dart",
        extensions: &["dart"],
        before: r"(?:(?:abstract|base|external|factory|final|interface|mixin|sealed|static)\s+)*",
        blocks: C_BLOCKS,
        leading: &["//", "@"],
        definitions: &[
            (Class, "class", NAME),
            (Class, "mixin", NAME),
            (Enum, "enum", NAME),
            (Impl, "extension", NAME),
            (Type, "typedef", NAME),
            (Function, "", r"(?:[\w.]+(?:<.*>)?\??\s+)?(?:get\s+)?([\w.]+)(?:<.*>)?\(.*(?:\{|=>)"),
            (Function, "get", r"(?:[\w.]+(?:<.*>)?\??\s+)?get (\w+)\s*(?:\{|=>)"),
        ],
    },
    Keywords {
        name: "julia",
        extensions: &["jl"],
        before: r"(?:@\w+\s+)*",
        blocks: &[QUOTES, ("#=", "=#")],
        leading: &["#", "@"],
        definitions: &[
            (Module, "module", NAME),
            (Struct, "struct", NAME),
            (Struct, "struct", r"mutable struct (\w+)"),
            (Type, "type", r"(?:abstract|primitive) type (\w+)"),
            (Macro, "macro", NAME),
            (Function, "function", r" ([\w.!]+)"),
            (Constant, "const", NAME),
            (Function, "function", r"([\w.!]+)\([^=]*\)(?:\s+where\b[^=]*)?\s*=(?:[^=]|$)"),
        ],
    },
    Keywords {
        name: "r",
        extensions: &["r"],
        before: "",
        blocks: &[],
        leading: &["#"],
        definitions: &[(Function, "function", r"([\w.]+)\s*(?:<-|=)\s*function\b")],
    },
    Keywords {
        name: "ocaml",
        extensions: &["ml", "mli"],
        before: "",
        blocks: ML_BLOCKS,
        leading: &["(*", "*"],
        definitions: &[
            (Module, "module", r" (?:type\s+|rec\s+)?(\w+)"),
            (Type, "type", r" (?:nonrec\s+|rec\s+)?(?:\([^)]*\)\s*|[+-]?'\w+\s+)?(\w+)"),
            (Type, "exception", NAME),
            (Class, "class", r" (?:virtual\s+)?(\w+)"),
            (Constant, "", CASE),
            (Function, "val", NAME),
            (Function, "external", NAME),
            (Function, "let", r" (?:rec\s+)?([a-z][\w']*)"),
            (Function, "method", r" (?:private\s+|virtual\s+)?(\w+)"),
        ],
    },
    Keywords {
        name: "fsharp",
        extensions: &["fs", "fsi", "fsx"],
        before: "",
        blocks: &[("(*", "*)"), QUOTES],
        leading: &["//", "[<"],
        definitions: &[
            (Module, "module", r" (?:rec\s+|private\s+|internal\s+)*([\w.]+)"),
            (Module, "namespace", DOTTED),
            (Type, "type", r" (?:private\s+|internal\s+)?(\w+)"),
            (Constant, "", CASE),
            (Function, "let", r" (?:rec\s+|inline\s+|private\s+|mutable\s+)*([a-zA-Z]\w*)"),
            (
                Function,
                "member",
                r"(?:static )?(?:member|override|abstract)(?: inline| member)? (?:\w+\.)?(\w+)",
            ),
        ],
    },
    Keywords {
        name: "clojure",
        extensions: &["clj", "cljs", "cljc"],
        before: "",
        blocks: &[],
        leading: &[";"],
        definitions: &[
            (Module, "ns", r"\(ns (?:\^\S+\s+)*([\w.-]+)"),
            (Interface, "defprotocol", r"\(defprotocol (\S+)"),
            (Class, "defrecord", r"\(def(?:record|type) (\S+)"),
            (Macro, "defmacro", r"\(defmacro (?:\^\S+\s+)*([^\s()]+)"),
            (Function, "defn", r"\(def(?:n-?|multi|method) (?:\^\S+\s+)*([^\s()]+)"),
            (Constant, "def", r"\(def(?:once)? (?:\^\S+\s+)*([^\s()]+)"),
        ],
    },
    Keywords {
        name: "lisp",
        extensions: &["lisp", "cl", "el", "scm", "ss", "rkt"],
        before: r"\(",
        blocks: LISP_BLOCKS,
        leading: &[";"],
        definitions: &[
            (Module, "defpackage", r" #?:?([^\s()]+)"),
            (Class, "defclass", ATOM),
            (Struct, "defstruct", ATOM),
            (Struct, "struct", ATOM),
            (Macro, "defmacro", ATOM),
            (Macro, "define-syntax", ATOM),
            (Function, "defun", ATOM),
            (Function, "defmethod", ATOM),
            (Function, "defgeneric", ATOM),
            (Constant, "defvar", ATOM),
            (Constant, "defconst", ATOM),
            (Constant, "defcustom", ATOM),
            (Constant, "defparameter", ATOM),
            (Function, "define", r" \(+([^\s()]+)"),
            (Constant, "define", r" ([^\s()]+)"),
        ],
    },
    Keywords {
        name: "perl",
        extensions: &["pl", "pm"],
        before: "",
        blocks: &[("=pod", "=cut"), ("=head", "=cut"), ("=item", "=cut"), ("=over", "=cut")],
        leading: &["#"],
        definitions: &[(Module, "package", r" ([\w:]+)"), (Function, "sub", NAME)],
    },
    Keywords {
        name: "nim",
        extensions: &["nim"],
        before: "",
        blocks: &[("#[", "]#")],
        leading: &["#"],
        definitions: &[
            (Function, "proc", NAME),
            (Function, "func", NAME),
            (Function, "method", NAME),
            (Function, "iterator", NAME),
            (Function, "converter", NAME),
            (Macro, "template", NAME),
            (Macro, "macro", NAME),
            (
                Type,
                "type",
                r"(?:type\s+)?(\w+)\*?(?:\[.*\])?\s*(?:\{\..*\.\})?\s*=\s*(?:ref\s+|ptr\s+)?(?:object|enum|tuple|distinct|concept)\b",
            ),
        ],
    },
    Keywords {
        name: "objective-c",
        extensions: &["m", "mm"],
        before: "",
        blocks: C_BLOCKS,
        leading: &["//", "/*", "*"],
        definitions: &[
            (Interface, "@protocol", r" (\w+)\s*(?:<.*>)?\s*$"),
            (Class, "@interface", NAME),
            (Class, "@implementation", NAME),
            (Method, "", r"[-+]\s*\([^)]*\)\s*(\w+)"),
            (Macro, "#define", NAME),
        ],
    },
    Keywords {
        name: "groovy",
        extensions: &["groovy"],
        before: r"(?:(?:public|private|protected|static|final|abstract)\s+)*",
        blocks: &[("/*", "*/"), QUOTES],
        leading: &["//", "/*", "*", "@"],
        definitions: &[
            (Class, "class", NAME),
            (Interface, "interface", NAME),
            (Interface, "trait", NAME),
            (Enum, "enum", NAME),
            (Function, "def", r" (\w+)\s*\("),
        ],
    },
    Keywords {
        name: "powershell",
        extensions: &["ps1", "psm1"],
        before: "(?i)",
        blocks: &[("<#", "#>")],
        leading: &["#"],
        definitions: &[
            (Function, "function", r" (?:\w+:)?([\w-]+)"),
            (Function, "filter", r" ([\w-]+)"),
            (Class, "class", NAME),
            (Enum, "enum", NAME),
        ],
    },
    Keywords {
        name: "protobuf",
        extensions: &["proto"],
        before: "",
        blocks: C_BLOCKS,
        leading: &["//", "/*", "*"],
        definitions: &[
            (Struct, "message", NAME),
            (Enum, "enum", NAME),
            (Interface, "service", NAME),
            (Method, "rpc", NAME),
        ],
    },
    Keywords {
        name: "graphql",
        extensions: &["graphql", "gql"],
        before: r"(?:extend\s+)?",
        blocks: &[QUOTES],
        leading: &["#"],
        definitions: &[
            (Type, "type", NAME),
            (Interface, "interface", NAME),
            (Enum, "enum", NAME),
            (Struct, "input", NAME),
            (Type, "union", NAME),
            (Type, "scalar", NAME),
            (Macro, "directive", r" @(\w+)"),
            (Function, "fragment", NAME),
            (Function, "query", NAME),
            (Function, "mutation", NAME),
        ],
    },
    Keywords {
        name: "sql",
        extensions: &["sql"],
        before: r"(?i)create\s+(?:or\s+replace\s+)?(?:(?:temp|temporary|unique|materialized|recursive)\s+)*",
        blocks: C_BLOCKS,
        leading: &["--"],
        definitions: &[
            (Struct, "table", r#" (?:if\s+not\s+exists\s+)?["`\[]?([\w."]+)"#),
            (Struct, "view", r#" (?:if\s+not\s+exists\s+)?["`\[]?([\w."]+)"#),
            (Type, "type", r#" ["`\[]?([\w."]+)"#),
            (Function, "function", r#" ["`\[]?([\w."]+)"#),
            (Function, "procedure", r#" ["`\[]?([\w."]+)"#),
            (Function, "trigger", r#" (?:if\s+not\s+exists\s+)?["`\[]?([\w."]+)"#),
            (Constant, "index", r#" (?:concurrently\s+)?(?:if\s+not\s+exists\s+)?["`\[]?([\w."]+)"#),
        ],
    },
];

impl Keywords {
    fn of_path(path: &str) -> Option<(usize, &'static Self)> {
        let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        LANGUAGES.iter().enumerate().find(|(_, language)| language.extensions.contains(&extension.as_str()))
    }

    /// Returns the end of the comment or text that a line begins, if it is longer than the line.
    fn opens(&self, line: &str) -> Option<&'static str> {
        self.blocks.iter().find_map(|(begin, end)| {
            let rest = line.strip_prefix(begin).or_else(|| line.strip_suffix(begin).map(|_| ""))?;
            (!rest.contains(end)).then_some(*end)
        })
    }

    /// Returns what a line without its indentation defines, with its name.
    fn definition<'l>(
        &self,
        patterns: &[Regex],
        line: &'l str,
    ) -> Option<(SymbolKind, &'static str, &'l str)> {
        patterns.iter().zip(self.definitions).find_map(|(pattern, (kind, word, _))| {
            let name = pattern.captures(line)?.get(1)?.as_str();
            (!CONTROL.contains(&name)).then_some((*kind, *word, name))
        })
    }

    fn patterns(&self, number: usize) -> &'static [Regex] {
        static PATTERNS: [OnceLock<Vec<Regex>>; LANGUAGES.len()] =
            [const { OnceLock::new() }; LANGUAGES.len()];
        PATTERNS[number].get_or_init(|| {
            let pattern = |(_, word, rest): &Definition| {
                let word = if rest.starts_with(' ') { regex::escape(word) } else { String::new() };
                let pattern = format!("^{}{word}{}", self.before, rest.replace(' ', r"\s+"));
                Regex::new(&pattern).expect("the patterns are valid")
            };
            self.definitions.iter().map(pattern).collect()
        })
    }
}

/// Returns the name of the language that a path's extension names, if its definitions are found by keywords.
pub(crate) fn language(path: &str) -> Option<&'static str> {
    Keywords::of_path(path).map(|(_, language)| language.name)
}

/// Returns true if paths of symbols can have this word before a name.
pub(crate) fn is_definition_word(word: &str) -> bool {
    LANGUAGES.iter().flat_map(|language| language.definitions).any(|(_, known, _)| *known == word)
}

/// Words that a name in front of a parenthesis is not.
const CONTROL: &[&str] =
    &["assert", "catch", "else", "for", "if", "return", "super", "switch", "throw", "while"];

/// Returns the symbols of a file, in order; none if its language is not known.
pub(crate) fn symbols(path: &str, lines: &Lines<'_>) -> Vec<Symbol> {
    let Some((number, language)) = Keywords::of_path(path) else { return vec![] };
    let patterns = language.patterns(number);
    let mut found: Vec<Symbol> = vec![];
    // Symbols that have not ended, outermost first, each with its indentation.
    let mut open: Vec<(usize, usize)> = vec![];
    // The end of the comment or text around the line.
    let mut block: Option<&str> = None;
    // First line of the comments and attributes right above.
    let mut leading: Option<usize> = None;
    for line in 0..lines.count() {
        let text = lines.text(line).trim_end();
        let trimmed = text.trim_start();
        let indentation = text.len() - trimmed.len();
        let is_inside = block.is_some();
        block = match block {
            Some(end) => (!trimmed.contains(end)).then_some(end),
            None => language.opens(trimmed),
        };
        if is_inside || block.is_some() || language.leading.iter().any(|mark| trimmed.starts_with(mark)) {
            leading = leading.or(Some(line));
            continue;
        }
        let begins = leading.take().unwrap_or(line);
        if trimmed.is_empty() {
            continue;
        }
        let definition = if text.len() <= MAX_LINE { language.definition(patterns, trimmed) } else { None };
        // A line that is indented less ends a symbol, one that is indented equally only if it defines the next.
        let least = indentation + usize::from(definition.is_none());
        let end = if definition.is_some() { begins } else { line };
        for (symbol, _) in open.extract_if(.., |(_, own)| *own >= least) {
            found[symbol].end(end, lines);
        }
        let outer = open.last().map(|(outer, _)| &found[*outer]);
        let Some((kind, word, name)) = definition.filter(|_| open.len() < DEEPEST) else { continue };
        let is_variable = kind == Constant || word == "let";
        if is_variable && outer.is_some_and(|outer| is_code(outer.kind)) {
            continue;
        }
        let is_method = kind == Function && outer.is_some_and(|outer| outer.kind.has_methods());
        let around = outer.map_or(String::new(), |outer| format!("{} > ", outer.path));
        let gap = if word.is_empty() { "" } else { " " };
        open.push((found.len(), indentation));
        found.push(Symbol {
            name: own(name),
            path: format!("{around}{word}{gap}{name}"),
            kind: if is_method { Method } else { kind },
            lines: line + 1..=line + 1,
            begins: begins + 1,
            bytes: lines.bytes(line..line + 1),
            has_body: true,
        });
    }
    for (symbol, _) in open {
        found[symbol].end(lines.count(), lines);
    }
    found
}

impl Symbol {
    /// Sets the last line: the last before line `end`, from 0, that is not blank.
    fn end(&mut self, end: usize, lines: &Lines<'_>) {
        let first = *self.lines.start();
        let is_blank = |line: &usize| *line >= first && lines.text(*line).trim().is_empty();
        let last = (first..end).rev().find(|line| !is_blank(line)).map_or(first, |line| line + 1);
        self.lines = first..=last;
        self.bytes = lines.bytes(first - 1..last);
    }
}
