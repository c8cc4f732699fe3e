//! Definitions found by keywords at the beginnings of lines: in languages without a grammar here, and those that the grammars of Kotlin and
//! Swift lose.
//!
//! Lines tell less than a tree. A definition begins a line, contains the lines that are indented more, and ends before the next line with
//! its own indentation, unless that line closes it. Comments and string literals, also those of several lines, are passed over.

use std::{cmp::Reverse, collections::BTreeMap, path::Path, sync::OnceLock};

use regex::Regex;

use crate::{
    Language, Symbol, language,
    lines::Lines,
    pages::{interpreted, is_notebook, page_language},
    symbol_kind::SymbolKind::{self, *},
    symbols::{is_code, own},
};

/// Maximum length of a line with a definition. Longer ones are data.
const MAX_LINE: usize = 1000;
/// Maximum nesting of symbols, as in files with a grammar.
const DEEPEST: usize = 16;

/// A definition: the kind of its symbol, the word that its path shows, and a pattern for its line without the indentation, whose first group
/// is the name. A pattern that begins with a blank follows the word. A function without a word is none inside of another.
type Definition = (SymbolKind, &'static str, &'static str);

/// The beginning and the end of a comment or text. An opener that begins with a line break is one at the first column only.
type Block = (&'static str, &'static str, Extent);

/// The end of a comment or text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Extent {
    /// A comment, at the first closer.
    Comment,
    /// A comment, at the closer of its own opener.
    Nested,
    /// A text, at the first closer.
    First,
    /// A text, at the first closer without a backslash before it.
    Escaped,
    /// The same, or where the line ends.
    Line,
}
use Extent::{Comment, Escaped, First, Line, Nested};

/// The members of definitions, of which a line can have several.
#[derive(Debug)]
struct Members {
    /// The words of the definitions that have them.
    of: &'static [&'static str],
    /// The mark before the first, if it is on the definition's line.
    open: char,
    /// The mark behind each.
    close: char,
    /// Words that begin other parts of such a definition.
    others: &'static [&'static str],
    /// The patterns of the members, for the text between the marks instead of a line.
    definitions: &'static [Definition],
}

#[derive(Debug)]
struct Keywords {
    name: &'static str,
    extensions: &'static [&'static str],
    /// A pattern for the words before a definition in its line.
    before: &'static str,
    /// The beginnings of comments that end with the line.
    comments: &'static [&'static str],
    blocks: &'static [Block],
    /// The beginnings of lines that belong to the definition below them.
    attributes: &'static [&'static str],
    /// The end of a definition's last line, if indentation does not tell.
    end: Option<&'static str>,
    definitions: &'static [Definition],
    members: Option<Members>,
}

/// A name.
const NAME: &str = r" (\w+)";
/// A name, perhaps in backquotes.
const BACKQUOTED: &str = r" (`[^`]+`|\w+)";
/// A name with those around it.
const DOTTED: &str = r" ([\w.]+)";
/// A name in Lisp.
const ATOM: &str = r#" '?\(*(?:setf )?([^\s()\[\]{}"';`]+)"#;
/// A name in Clojure, after its metadata.
const VAR: &str = r#" (?:\^(?:\{[^}]*\}|[^\s{]\S*) )*([^\s()\[\]{}"^]+)"#;
/// A name in SQL.
const TABLE: &str = r#" (?:concurrently )?(?:if not exists )?((?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\w$]+)(?:\.(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\w$]+))*)"#;
/// The word of a member without a value.
const FIELD: &str = "field";
/// A case of a type with several, on a line of its own.
const CASE: &str = r"[=|] ?([A-Z][\w']*)";
const QUOTED: Block = ("\"", "\"", Line);
const QUOTES: Block = ("\"\"\"", "\"\"\"", First);
const MARKS: Block = ("'''", "'''", First);
const C_COMMENT: Block = ("/*", "*/", Comment);
const ML_COMMENT: Block = ("(*", "*)", Nested);

const LANGUAGES: &[Keywords] = &[
    Keywords {
        name: "elixir",
        extensions: &["ex", "exs"],
        comments: &["#"],
        blocks: &[QUOTES, MARKS, QUOTED],
        attributes: &["@"],
        definitions: &[
            (Module, "defmodule", DOTTED),
            (Interface, "defprotocol", DOTTED),
            (Impl, "defimpl", DOTTED),
            (Macro, "defmacro", r" ([\w?!]+)"),
            (Macro, "defmacrop", r" ([\w?!]+)"),
            (Function, "def", r" ([\w?!]+)"),
            (Function, "defp", r" ([\w?!]+)"),
            (Function, "defguard", r" ([\w?!]+)"),
            (Function, "defguardp", r" ([\w?!]+)"),
            (Function, "defdelegate", r" ([\w?!]+)"),
            (Type, "@type", r"@(?:type|typep|opaque) (\w+)"),
            (Function, "@callback", r" ([\w?!]+)"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "erlang",
        extensions: &["erl", "hrl"],
        comments: &["%"],
        blocks: &[("\"", "\"", Escaped)],
        attributes: &["-spec"],
        end: Some("."),
        definitions: &[
            (Module, "module", r"-module\((\w+)"),
            (Struct, "record", r"-record\((\w+)"),
            (Macro, "define", r"-define\((\w+)"),
            (Type, "type", r"-(?:type|opaque) (\w+)"),
            (Function, "callback", r"-callback (\w+)"),
            (Function, "", r"([a-z]\w*)\("),
        ],
        ..PLAIN
    },
    Keywords {
        name: "haskell",
        extensions: &["hs"],
        comments: &["--"],
        blocks: &[("{-", "-}", Nested), QUOTED],
        definitions: &[
            (Module, "module", DOTTED),
            (Type, "data", r" (?:(?:family|instance) )?(?:.*=> )?([A-Z][\w']*)"),
            (Type, "newtype", r" (?:instance )?(?:.*=> )?([A-Z][\w']*)"),
            (Type, "type", r" (?:(?:family|instance) )?([A-Z][\w']*)"),
            (Interface, "class", r" (?:.*=> )?([A-Z][\w']*)"),
            (Function, "", r"([a-z_][\w']*)(?: ?, ?[a-z_][\w']*)* ::"),
            (Constant, "", CASE),
        ],
        ..PLAIN
    },
    Keywords {
        name: "scala",
        extensions: &["scala", "sc"],
        before: r"(?:@[\w.]+(?:\([^)]*\))?\s+|(?:private|protected)(?:\[\w+\])?\s+|(?:abstract|case|final|implicit|inline|lazy|opaque|open|override|package|sealed|transparent)\s+)*",
        comments: &["//"],
        blocks: &[("/*", "*/", Nested), QUOTES, QUOTED],
        attributes: &["@"],
        definitions: &[
            (Class, "class", NAME),
            (Interface, "trait", NAME),
            (Module, "object", NAME),
            (Enum, "enum", NAME),
            (Type, "type", NAME),
            (Function, "def", r" (\w*_[?!+*/<>=-]+|\w+)"),
            (Constant, "val", NAME),
            (Constant, "var", NAME),
            (Constant, "given", r" (\w+) ?(?:\[.*\])?:"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "lua",
        extensions: &["lua"],
        before: r"(?:local\s+)?",
        comments: &["--"],
        blocks: &[
            ("--[[", "]]", Comment),
            ("--[=[", "]=]", Comment),
            ("--[==[", "]==]", Comment),
            ("[[", "]]", First),
            ("[=[", "]=]", First),
            ("[==[", "]==]", First),
            QUOTED,
            ("'", "'", Line),
        ],
        definitions: &[
            (Function, "function", r" ([\w.:]+)"),
            (Function, "function", r"([\w.]+) ?= ?function\b"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "zig",
        extensions: &["zig"],
        before: r#"(?:(?:pub|export|inline|noinline|threadlocal|comptime|extern(?:\s+"\w+")?)\s+)*"#,
        comments: &["//"],
        blocks: &[QUOTED],
        definitions: &[
            (Function, "fn", NAME),
            (Struct, "struct", r"const (\w+) ?= ?(?:(?:extern|packed) )?struct\b"),
            (Struct, "union", r"const (\w+) ?= ?(?:(?:extern|packed) )?union\b"),
            (Enum, "enum", r"const (\w+) ?= ?(?:enum|error)\b"),
            // Without `@import`, whose name is defined elsewhere.
            (Constant, "const", r" (\w+) ?(?::.*)?=(?: ?$| ?[^@\s]| ?@[^i])"),
            (Constant, "var", NAME),
        ],
        ..PLAIN
    },
    Keywords {
        name: "dart",
        extensions: &["dart"],
        before: r"(?:@[\w.]+(?:\([^)]*\))?\s+|(?:abstract|base|external|factory|final|interface|mixin|sealed|static)\s+)*",
        comments: &["//"],
        blocks: &[C_COMMENT, QUOTES, MARKS, QUOTED, ("'", "'", Line)],
        attributes: &["@"],
        definitions: &[
            (Class, "class", NAME),
            (Class, "mixin", NAME),
            (Enum, "enum", NAME),
            (Impl, "extension", r" (?:type )?(\w+)"),
            (Type, "typedef", NAME),
            (Function, "get", r"(?:[\w.]+(?:<.*>)?\?? )?get (\w+) ?(?:\{|=>)"),
            (Function, "", r"(?:[\w.]+(?:<.*>)?\?? )?([\w.]+)(?:<.*>)?\(.*(?:\{|=>)"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "julia",
        extensions: &["jl"],
        before: r"(?:@[\w.]+\s+|Base\.@\w+\s+)*",
        comments: &["#"],
        blocks: &[("#=", "=#", Nested), QUOTES, QUOTED],
        attributes: &["@"],
        definitions: &[
            (Module, "module", NAME),
            (Struct, "struct", NAME),
            (Struct, "struct", r"mutable struct (\w+)"),
            (Type, "type", r"(?:abstract|primitive) type (\w+)"),
            (Enum, "@enum", NAME),
            (Macro, "macro", NAME),
            (Function, "function", r" ([\w.!]+)"),
            (Constant, "const", NAME),
            (Function, "", r"([\w.!]+)\(.*\)(?:::[\w.{}, ]+)?(?: where .*)? ?=(?:[^=>]|$)"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "r",
        extensions: &["r"],
        comments: &["#"],
        blocks: &[QUOTED, ("'", "'", Line)],
        definitions: &[
            (Function, "function", r#"["'`]?([\w.]+)["'`]? ?(?:<<?-|=) ?function\b"#),
            (Class, "class", r#"(?:[\w.]+ ?<- ?)?(?:setClass|setRefClass|R6Class|R6::R6Class)\( ?["'](\w+)"#),
            (Function, "generic", r#"(?:setGeneric|setMethod)\( ?["'](\w+)"#),
        ],
        ..PLAIN
    },
    Keywords {
        name: "ocaml",
        extensions: &["ml", "mli"],
        blocks: &[ML_COMMENT, ("{|", "|}", First), ("\"", "\"", Escaped)],
        definitions: &[
            (Module, "module", r" (?:type |rec )?(\w+)"),
            (Type, "type", r" (?:nonrec |rec )?(?:\([^)]*\) ?|[+-]?'\w+ )?(\w+)"),
            (Type, "exception", NAME),
            (Class, "class", r" (?:virtual )?(\w+)"),
            (Constant, "", CASE),
            (Function, "val", r" (?:mutable )?(\w+)"),
            (Function, "external", NAME),
            (Function, "let", r"let(?:\[@\w+\])? (?:rec )?([a-z][\w']*)"),
            (Function, "and", r" (?:\([^)]*\) ?|'\w+ )?([a-z][\w']*)"),
            (Function, "method", r"method!? (?:private |virtual )?(\w+)"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "fsharp",
        extensions: &["fs", "fsi", "fsx"],
        before: r"(?:\[<.*?>\]\s*)*",
        comments: &["//"],
        blocks: &[ML_COMMENT, QUOTES, ("\"", "\"", Escaped)],
        attributes: &["[<"],
        definitions: &[
            (Module, "module", r" (?:rec |private |internal )*([\w.]+)"),
            (Module, "namespace", DOTTED),
            (Type, "type", r" (?:private |internal )?(\w+)"),
            (Type, "exception", NAME),
            (Constant, "", CASE),
            (Function, "let", r" (?:rec |inline |private |mutable )*([a-zA-Z]\w*)"),
            (Function, "and", r" (?:inline )?([a-zA-Z]\w*)"),
            (
                Function,
                "member",
                r"(?:static )?(?:member|override|abstract|default)(?: inline| member| val)? (?:\w+\.)?(\w+)",
            ),
        ],
        ..PLAIN
    },
    Keywords {
        name: "clojure",
        extensions: &["clj", "cljs", "cljc"],
        before: r"\((?:[\w.-]+/)?",
        comments: &[";"],
        blocks: &[("\"", "\"", Escaped)],
        definitions: &[
            (Module, "ns", VAR),
            (Interface, "defprotocol", VAR),
            (Class, "defrecord", VAR),
            (Class, "deftype", VAR),
            (Macro, "defmacro", VAR),
            (Function, "defn", VAR),
            (Function, "defn-", VAR),
            (Function, "defmulti", VAR),
            (Function, "defmethod", VAR),
            (Function, "deftest", VAR),
            (Constant, "def", VAR),
            (Constant, "defonce", VAR),
        ],
        ..PLAIN
    },
    Keywords {
        name: "lisp",
        extensions: &["lisp", "el", "scm", "ss", "rkt"],
        before: r"\(",
        comments: &[";"],
        blocks: &[("#|", "|#", Nested), ("\"", "\"", Escaped)],
        definitions: &[
            (Module, "defpackage", r" #?:?([^\s()]+)"),
            (Class, "defclass", ATOM),
            (Class, "define-condition", ATOM),
            (Type, "deftype", ATOM),
            (Struct, "defstruct", ATOM),
            (Struct, "cl-defstruct", ATOM),
            (Struct, "define-record-type", ATOM),
            (Struct, "struct", ATOM),
            (Macro, "defmacro", ATOM),
            (Macro, "define-syntax", ATOM),
            (Macro, "define-syntax-rule", ATOM),
            (Function, "defun", ATOM),
            (Function, "cl-defun", ATOM),
            (Function, "defsubst", ATOM),
            (Function, "defalias", ATOM),
            (Function, "defmethod", ATOM),
            (Function, "cl-defmethod", ATOM),
            (Function, "defgeneric", ATOM),
            (Function, "cl-defgeneric", ATOM),
            (Function, "define-minor-mode", ATOM),
            (Constant, "defvar", ATOM),
            (Constant, "defvar-local", ATOM),
            (Constant, "defconst", ATOM),
            (Constant, "defconstant", ATOM),
            (Constant, "defcustom", ATOM),
            (Constant, "defface", ATOM),
            (Constant, "defparameter", ATOM),
            (Function, "define", r" \(+([^\s()]+)"),
            (Constant, "define", r" ([^\s()]+)"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "perl",
        extensions: &["pl", "pm"],
        comments: &["#"],
        blocks: &[
            ("\n=pod", "=cut", Comment),
            ("\n=head", "=cut", Comment),
            ("\n=over", "=cut", Comment),
            ("\n=item", "=cut", Comment),
            ("\n=begin", "=cut", Comment),
            ("\n=for", "=cut", Comment),
            ("\n=encoding", "=cut", Comment),
            QUOTED,
            ("'", "'", Line),
        ],
        definitions: &[(Module, "package", r" ([\w:]+)"), (Function, "sub", r" ([\w:]+)")],
        ..PLAIN
    },
    Keywords {
        name: "nim",
        extensions: &["nim"],
        comments: &["#"],
        blocks: &[("#[", "]#", Nested), QUOTES, QUOTED],
        definitions: &[
            (Function, "proc", NAME),
            (Function, "func", NAME),
            (Function, "method", NAME),
            (Function, "iterator", NAME),
            (Function, "converter", NAME),
            (Macro, "template", NAME),
            (Macro, "macro", NAME),
            (Constant, "const", NAME),
            (
                Type,
                "type",
                r"(?:type )?(\w+)\*?(?:\[.*\])? ?(?:\{\..*\.\})? ?= ?(?:ref |ptr )?(?:object|enum|tuple|distinct|concept)\b",
            ),
        ],
        ..PLAIN
    },
    Keywords {
        name: "objective-c",
        extensions: &["m", "mm"],
        comments: &["//"],
        blocks: &[C_COMMENT, QUOTED],
        definitions: &[
            (Interface, "@protocol", r" (\w+) ?(?:<.*>)? ?$"),
            (Class, "@interface", NAME),
            (Class, "@implementation", NAME),
            (Method, "", r"[-+] ?\([^)]*\) ?(\w+)"),
            (Macro, "#define", NAME),
        ],
        ..PLAIN
    },
    Keywords {
        name: "groovy",
        extensions: &["groovy"],
        before: r"(?:@[\w.]+(?:\([^)]*\))?\s+|(?:public|private|protected|static|final|abstract)\s+)*",
        comments: &["//"],
        blocks: &[C_COMMENT, QUOTES, MARKS, QUOTED, ("'", "'", Line)],
        attributes: &["@"],
        definitions: &[
            (Class, "class", NAME),
            (Interface, "interface", NAME),
            (Interface, "trait", NAME),
            (Enum, "enum", NAME),
            (Function, "def", r#" ["']?(\w+)[^(]*\("#),
            (Function, "", r"[\w.]+(?:<.*>)?(?:\[\])? (\w+)\(.*\) ?(?:throws .*)?\{"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "powershell",
        extensions: &["ps1", "psm1"],
        before: "(?i)",
        comments: &["#"],
        blocks: &[
            ("<#", "#>", Comment),
            ("@\"", "\"@", First),
            ("@'", "'@", First),
            QUOTED,
            ("'", "'", Line),
        ],
        definitions: &[
            (Function, "function", r" (?:\w+:)?([\w-]+)"),
            (Function, "filter", r" ([\w-]+)"),
            (Class, "class", NAME),
            (Enum, "enum", NAME),
            (Method, "", r"(?:static )?(?:\[[\w.\[\]]+\] ?)(\w+)\(.*\) ?\{"),
        ],
        ..PLAIN
    },
    Keywords {
        name: "protobuf",
        extensions: &["proto"],
        comments: &["//"],
        blocks: &[C_COMMENT, QUOTED],
        definitions: &[
            (Struct, "message", NAME),
            (Enum, "enum", NAME),
            (Interface, "service", NAME),
            (Method, "rpc", NAME),
            (Struct, "oneof", NAME),
            (Impl, "extend", DOTTED),
            (Module, "package", DOTTED),
        ],
        members: Some(Members {
            of: &["message", "enum", "oneof", "extend"],
            open: '{',
            close: ';',
            others: &[],
            definitions: &[
                (
                    Constant,
                    FIELD,
                    r"(?:(?:optional|repeated|required) )?(?:map ?<[^>]*>|[\w.]+) (\w+) ?= ?\d",
                ),
                (Constant, "", r"(\w+) ?= ?-?\d"),
            ],
        }),
        ..PLAIN
    },
    Keywords {
        name: "graphql",
        extensions: &["graphql", "gql"],
        before: r"(?:extend\s+)?",
        comments: &["#"],
        blocks: &[QUOTES, QUOTED],
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
            (Function, "subscription", NAME),
        ],
        members: Some(Members {
            of: &["type", "interface", "input", "enum"],
            open: '{',
            close: ',',
            others: &[],
            definitions: &[(Constant, FIELD, r"(\w+) ?[(:]"), (Constant, "", r"(\w+) ?(?:@.*)?$")],
        }),
        ..PLAIN
    },
    Keywords {
        name: "sql",
        extensions: &["sql"],
        before: r"(?i)create\s+(?:or\s+(?:replace|alter)\s+)?(?:(?:temp|temporary|unique|materialized|recursive|virtual|external|unlogged|foreign|global|local|constraint|clustered|nonclustered|algorithm=\w+|definer=\S+|sql\s+security\s+\w+)\s+)*",
        comments: &["--"],
        blocks: &[C_COMMENT, ("$$", "$$", First), ("'", "'", First)],
        end: Some(";"),
        definitions: &[
            (Struct, "table", TABLE),
            (Struct, "view", TABLE),
            (Module, "schema", TABLE),
            (Type, "type", TABLE),
            (Type, "domain", TABLE),
            (Function, "function", TABLE),
            (Function, "procedure", TABLE),
            (Function, "proc", TABLE),
            (Function, "trigger", TABLE),
            (Constant, "sequence", TABLE),
            (
                Constant,
                "index",
                r#" (?:concurrently )?(?:if not exists )?["`\[]?([\w$.]+)["`\]]?(?: on\b| ?$)"#,
            ),
        ],
        members: Some(Members {
            of: &["table", "type"],
            open: '(',
            close: ',',
            others: &[
                "and",
                "as",
                "check",
                "collate",
                "constraint",
                "default",
                "exclude",
                "foreign",
                "from",
                "fulltext",
                "generated",
                "index",
                "key",
                "like",
                "not",
                "on",
                "or",
                "partition",
                "period",
                "primary",
                "references",
                "select",
                "spatial",
                "unique",
                "where",
                "with",
            ],
            definitions: &[(Constant, FIELD, r#"("[^"]+"|`[^`]+`|\[[^\]]+\]|[\w$]+) ["`\[a-zA-Z]"#)],
        }),
        ..PLAIN
    },
    // Words are the beginnings of addresses: `var.region`.
    Keywords {
        name: "hcl",
        extensions: &["tf", "hcl", "tofu"],
        comments: &["#", "//"],
        blocks: &[
            C_COMMENT,
            QUOTED,
            ("<<EOF", "EOF", First),
            ("<<-EOF", "EOF", First),
            ("<<EOT", "EOT", First),
            ("<<-EOT", "EOT", First),
        ],
        definitions: &[
            (Constant, "", r#"(?:resource|source) ("[^"]+" "[^"]+")"#),
            (Constant, "data.", r#"data ("[^"]+" "[^"]+")"#),
            (Constant, "var.", r#"variable ("[^"]+")"#),
            (Constant, "output.", r#"output ("[^"]+")"#),
            (Module, "module.", r#"module ("[^"]+")"#),
            (Module, "", r"(locals) ?\{"),
        ],
        members: Some(Members {
            of: &["locals"],
            open: '{',
            close: ',',
            others: &[],
            definitions: &[(Constant, "local.", r"([\w-]+) ?=(?:[^=]|$)")],
        }),
        ..PLAIN
    },
    // Without extensions: these have grammars, which lose definitions.
    Keywords {
        name: "kotlin",
        before: r"(?:@[\w.:]+(?:\([^)]*\))?\s+|(?:abstract|actual|annotation|companion|const|data|enum|expect|external|final|fun|infix|inline|inner|internal|lateinit|open|operator|override|private|protected|public|sealed|suspend|tailrec|value)\s+)*",
        comments: &["//"],
        blocks: &[("/*", "*/", Nested), QUOTES, QUOTED],
        attributes: &["@"],
        definitions: &[
            (Class, "class", BACKQUOTED),
            (Interface, "interface", BACKQUOTED),
            (Class, "object", BACKQUOTED),
            (Function, "fun", r" (?:<.*?> )?(?:[\w.]+(?:<.*?>)?\??\.)?(`[^`]+`|\w+) ?\("),
            (Type, "typealias", BACKQUOTED),
        ],
        ..PLAIN
    },
    Keywords {
        name: "swift",
        before: r"(?:@[\w.]+(?:\([^)]*\))?\s+|(?:class|final|fileprivate|indirect|internal|mutating|nonisolated|open|override|package|private|public|static)(?:\(\w+\))?\s+)*",
        comments: &["//"],
        blocks: &[("/*", "*/", Nested), QUOTES, QUOTED],
        attributes: &["@"],
        definitions: &[
            // Before classes: `class func make()`.
            (Function, "func", r" (`[^`]+`|\w+) ?[(<]"),
            (Class, "class", BACKQUOTED),
            (Struct, "struct", BACKQUOTED),
            (Enum, "enum", BACKQUOTED),
            (Interface, "protocol", BACKQUOTED),
            (Class, "actor", BACKQUOTED),
            (Type, "typealias", BACKQUOTED),
        ],
        ..PLAIN
    },
];

/// A language without anything.
const PLAIN: Keywords = Keywords {
    name: "",
    extensions: &[],
    before: "",
    comments: &[],
    blocks: &[],
    attributes: &[],
    end: None,
    definitions: &[],
    members: None,
};

/// Quotes that begin no text: a character of C, Emacs Lisp or Elixir, Common Lisp, Clojure, and Erlang.
const CHARACTERS: &[&str] = &["'\"'", "'\\\"'", "?\"", "?\\\"", "#\\\"", "\\\"", "$\"", "$\\\""];
/// Words that a definition without a word does not begin with, nor have as a name.
const CONTROL: &[&str] = &[
    "assert", "await", "case", "catch", "const", "else", "for", "if", "in", "new", "return", "super",
    "switch", "throw", "while", "yield",
];
/// Words that continue a definition in a line that is indented as it is.
const CONTINUING: &[&str] = &["begin", "do", "else", "end", "in", "then", "where", "with"];

impl Keywords {
    fn of_path(path: &str) -> Option<(usize, &'static Self)> {
        let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        LANGUAGES.iter().enumerate().find(|(_, language)| language.extensions.contains(&extension.as_str()))
    }

    /// Returns the language of a file by its path or its first line.
    fn of_file(path: &str, source: &str) -> Option<(usize, &'static Self)> {
        let named = |name| LANGUAGES.iter().enumerate().find(|(_, language)| language.name == name);
        Self::of_path(path).or_else(|| named(interpreted(path, source)?))
    }

    fn patterns(&self, number: usize) -> &'static [Regex] {
        static PATTERNS: [OnceLock<Vec<Regex>>; LANGUAGES.len()] =
            [const { OnceLock::new() }; LANGUAGES.len()];
        PATTERNS[number].get_or_init(|| {
            let pattern = |before, (_, word, rest): &Definition| {
                let word = if rest.starts_with(' ') { regex::escape(word) } else { String::new() };
                let rest = rest.replace(" ?", r"\s*").replace(' ', r"\s+");
                Regex::new(&format!("^{before}{word}{rest}")).expect("the patterns are valid")
            };
            let members = self.members.iter().flat_map(|members| members.definitions);
            let definitions = self.definitions.iter().map(|definition| pattern(self.before, definition));
            definitions.chain(members.map(|member| pattern("", member))).collect()
        })
    }

    /// Returns the definition that a line begins, and its name.
    fn definition<'l>(
        &self,
        patterns: &[Regex],
        line: &'l str,
    ) -> Option<(SymbolKind, &'static str, &'l str)> {
        let is_control = |word: &str| CONTROL.iter().any(|control| word.eq_ignore_ascii_case(control));
        let first = line.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default();
        patterns.iter().zip(self.definitions).find_map(|(pattern, (kind, word, _))| {
            let name = pattern.captures(line)?.get(1)?.as_str();
            let is_call = word.is_empty() && is_code(*kind) && (is_control(name) || is_control(first));
            (!is_call).then_some((*kind, *word, name))
        })
    }

    /// Returns true if definitions with a symbol's word have members.
    fn has_members(&self, symbol: &Symbol) -> bool {
        let word = symbol.path.rsplit(" > ").next().and_then(|own| own.split(' ').next());
        self.members.as_ref().zip(word).is_some_and(|(members, word)| members.of.contains(&word))
    }

    /// Returns the members in code of one line: the kind, the word and the name of each.
    fn members_in<'l>(&self, patterns: &[Regex], code: &'l str) -> Vec<(SymbolKind, &'static str, &'l str)> {
        let Some(members) = &self.members else { return vec![] };
        let patterns = &patterns[self.definitions.len()..];
        let member = |part: &'l str| {
            let part = part.trim_start();
            let first = part.split(|char: char| !char.is_alphanumeric() && char != '_').next();
            let first = first.unwrap_or_default();
            let is_other = members.others.iter().any(|other| first.eq_ignore_ascii_case(other));
            let mut all = patterns.iter().zip(members.definitions).filter(|_| !is_other);
            all.find_map(|(pattern, (kind, word, _))| {
                Some((*kind, *word, pattern.captures(part)?.get(1)?.as_str()))
            })
        };
        let (mut found, mut start, mut end) = (vec![], 0, code.len());
        let (mut depth, mut quote) = (0, None);
        for (at, char) in code.char_indices() {
            match char {
                _ if quote.is_some() => quote = quote.filter(|mark| *mark != char),
                '"' | '\'' => quote = Some(char),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth > 0 => depth -= 1,
                _ if char == members.close && depth == 0 => {
                    found.extend(member(&code[start..at]));
                    start = at + 1;
                }
                _ if ")]}".contains(char)
                    || self.comments.iter().any(|mark| code[at..].starts_with(mark)) =>
                {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        found.extend(member(&code[start..end]));
        found
    }

    /// Returns true if a line without a definition belongs to the symbol that is indented as it is.
    fn continues(&self, line: &str, symbol: &Symbol) -> bool {
        let word = line.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap_or_default();
        line.starts_with([')', ']', '}', '{', '|', '=', ';'])
            || CONTINUING.contains(&word.to_ascii_lowercase().as_str())
            || word == symbol.name
            || (self.end.is_some() && symbol.has_body)
    }
}

/// Returns the name of a file's language, in lower case; `None` for files whose definitions are not found.
pub fn language_name(path: &str) -> Option<&'static str> {
    let language = Language::of_path(path).map(Language::name);
    language
        .or_else(|| Keywords::of_path(path).map(|(_, language)| language.name))
        .or_else(|| page_language(path))
        .or(is_notebook(path).then_some("python"))
}

/// Returns the name of a file's language, which a script without an extension names in its first line.
pub fn source_language(path: &str, source: &str) -> Option<&'static str> {
    let interpreted = || interpreted(path, source).and_then(|of| language_names().find(|name| *name == of));
    language_name(path).or_else(interpreted)
}

/// Returns the names of all languages whose definitions are found.
pub fn language_names() -> impl Iterator<Item = &'static str> {
    let parsed = Language::ALL.iter().map(|language| language.name());
    let others = LANGUAGES.iter().filter(|language| !language.extensions.is_empty());
    parsed.chain(others.map(|language| language.name)).chain(["vue", "svelte", "html"])
}

/// Returns true if paths of symbols can have this word before a name: `fn`, `class`.
pub fn is_definition_word(word: &str) -> bool {
    let mut definitions = LANGUAGES.iter().flat_map(|language| language.definitions);
    let is_known = language::is_definition_word(word) || definitions.any(|(_, known, _)| *known == word);
    !word.is_empty() && is_known
}

/// Finds the code in lines, between comments and texts.
struct Scanner<'t> {
    language: &'static Keywords,
    source: &'t str,
    /// The comment or text around the current place, and how many of its kind are open.
    inside: Option<(&'static Block, usize)>,
    /// Blocks that are not closed in the rest of the source; their openers have a different meaning there.
    unclosed: Vec<&'static str>,
}

impl Scanner<'_> {
    /// Passes over a line that begins at the byte `start`; returns where code begins in it: at its end if it is blank, a comment or a
    /// part of a text.
    fn code(&mut self, line: &str, start: usize) -> usize {
        let mut code = None;
        let mut at = 0;
        while let Some(char) = line[at..].chars().next() {
            let rest = &line[at..];
            if let Some((block, depth)) = self.inside {
                let (open, close, extent) = *block;
                let (step, depth) = match rest {
                    _ if rest.starts_with(close) => (close.len(), depth - 1),
                    _ if extent == Nested && rest.starts_with(open) => (open.len(), depth + 1),
                    _ if char == '\\' && matches!(extent, Escaped | Line) => {
                        (1 + rest[1..].chars().next().map_or(0, char::len_utf8), depth)
                    }
                    _ => (char.len_utf8(), depth),
                };
                at += step;
                self.inside = (depth > 0).then_some((block, depth));
                continue;
            }
            if let Some(block) = self.opened(rest, at, start) {
                self.inside = Some((block, 1));
                at += block.0.trim_start().len();
                continue;
            }
            if self.language.comments.iter().any(|mark| rest.starts_with(mark)) {
                break;
            }
            if !char.is_whitespace() {
                code = code.or(Some(at));
            }
            let literal = CHARACTERS.iter().find(|literal| rest.starts_with(**literal));
            at += literal.map_or(char.len_utf8(), |literal| literal.len());
        }
        self.inside = self.inside.filter(|(block, _)| block.2 != Line);
        code.unwrap_or(line.len())
    }

    /// Returns true inside of a text.
    fn is_in_text(&self) -> bool {
        self.inside.is_some_and(|((.., extent), _)| !matches!(extent, Comment | Nested))
    }

    /// Returns the comment or text that begins here, unless the source does not close it.
    fn opened(&mut self, rest: &str, at: usize, start: usize) -> Option<&'static Block> {
        let begins = |(open, ..): &&'static Block| match open.strip_prefix('\n') {
            Some(open) => at == 0 && rest.starts_with(open),
            None => rest.starts_with(open),
        };
        let block = self.language.blocks.iter().find(begins)?;
        let (open, close, extent) = *block;
        if extent == Line {
            return Some(block);
        }
        if self.unclosed.contains(&open) {
            return None;
        }
        let behind = start + at + open.trim_start().len();
        if !self.source[behind..].contains(close) {
            self.unclosed.push(open);
            return None;
        }
        Some(block)
    }
}

/// Returns the symbols of a file, in order; none if its language is not known.
pub(crate) fn symbols(path: &str, source: &str, lines: &Lines<'_>) -> Vec<Symbol> {
    Keywords::of_file(path, source).map_or(vec![], |(number, _)| find(number, source, lines))
}

/// Adds definitions that keywords find and the grammar of the language has missed.
pub(crate) fn add_lost(language: Language, source: &str, lines: &Lines<'_>, symbols: &mut Vec<Symbol>) {
    let Some(number) = LANGUAGES.iter().position(|keywords| keywords.name == language.name()) else {
        return;
    };
    let starts: BTreeMap<_, _> =
        symbols.iter().map(|symbol| ((&*symbol.name, *symbol.lines.start()), *symbol.lines.end())).collect();
    let is_lost = |symbol: &Symbol| {
        let line = *symbol.lines.start();
        let before = starts.range(..=(&*symbol.name, line)).next_back();
        !before.is_some_and(|((name, _), end)| *name == symbol.name && *end >= line)
    };
    let mut lost = find(number, source, lines);
    lost.retain(is_lost);
    if lost.is_empty() {
        return;
    }
    symbols.append(&mut lost);
    symbols.sort_by_key(|symbol| (symbol.bytes.start, Reverse(symbol.bytes.end)));
    // Symbols inside of a recovered definition get its name in their paths.
    let mut around: Vec<usize> = vec![];
    for at in 0..symbols.len() {
        let (before, rest) = symbols.split_at_mut(at);
        let symbol = &mut rest[0];
        around.retain(|outer| before[*outer].bytes.end >= symbol.bytes.end);
        let own = symbol.path.rsplit(" > ").next().unwrap_or_default();
        if let Some(outer) = around.last().map(|outer| &before[*outer]) {
            symbol.path = format!("{} > {own}", outer.path);
            if symbol.kind == Function && outer.kind.has_methods() {
                symbol.kind = Method;
            }
        }
        if around.len() < DEEPEST && symbol.kind != Constant {
            around.push(at);
        }
    }
}

/// Finds definitions by the keywords of the language with this number.
fn find(number: usize, source: &str, lines: &Lines<'_>) -> Vec<Symbol> {
    let language = &LANGUAGES[number];
    let patterns = language.patterns(number);
    let mut scanner = Scanner { language, source, inside: None, unclosed: vec![] };
    let mut found: Vec<Symbol> = vec![];
    // Symbols that have not ended, outermost first, each with its indentation.
    let mut open: Vec<(usize, usize)> = vec![];
    // First line of the comments and attributes right above.
    let mut leading: Option<usize> = None;
    // The symbol whose members were read last, and the indentation of the first of them; deeper lines are parts of them.
    let mut level = (usize::MAX, 0);
    // Number of the last line with code or a text, from 1.
    let mut last = 0;
    for line in 0..lines.count() {
        let text = lines.text(line).trim_end();
        let (is_inside, is_in_text) = (scanner.inside.is_some(), scanner.is_in_text());
        let code = &text[scanner.code(text, lines.start(line))..];
        if code.is_empty() {
            // A comment above a blank line belongs to no definition; a text belongs to the one around it.
            match leading {
                _ if text.is_empty() && !is_inside => leading = None,
                None if is_in_text => last = line + 1,
                _ => leading = leading.or(Some(line)),
            }
            continue;
        }
        let mut definition = if text.len() <= MAX_LINE { language.definition(patterns, code) } else { None };
        if definition.is_none() && is_inside {
            last = line + 1;
            continue;
        }
        if definition.is_none() && language.attributes.iter().any(|mark| code.starts_with(mark)) {
            leading = leading.or(Some(line));
            continue;
        }
        let begins = leading.take().unwrap_or(line);
        // A case may stand as far left as its type.
        let indentation = text.len() - text.trim_start().len() + usize::from(code.starts_with(['|', '=']));
        let (mut members, is_member) = (vec![], definition.is_none());
        let outer = open.iter().rfind(|(_, own)| *own < indentation).map(|(outer, _)| *outer);
        if is_member && let Some(outer) = outer.filter(|outer| language.has_members(&found[*outer])) {
            level = if level.0 == outer { level } else { (outer, indentation) };
            if indentation <= level.1 && text.len() <= MAX_LINE {
                members = language.members_in(patterns, code);
                definition = (!members.is_empty()).then(|| members.remove(0));
            }
        } else if let Some(at) = definition.and(language.members.as_ref()).and_then(|all| code.find(all.open))
        {
            members = language.members_in(patterns, &code[at + 1..]);
        }
        let is_new = definition.is_some_and(|(kind, word, name)| {
            let again = |(symbol, own): &(usize, usize)| {
                let symbol = &found[*symbol];
                *own == indentation && word.is_empty() && symbol.kind == kind && symbol.name == name
            };
            !open.last().is_some_and(again)
        });
        let ends = |(symbol, own): &mut (usize, usize)| {
            *own > indentation
                || (*own == indentation && (is_new || !language.continues(code, &found[*symbol])))
        };
        for (symbol, _) in open.extract_if(.., ends).collect::<Vec<_>>() {
            found[symbol].end(last, lines);
        }
        last = line + 1;
        if let Some((kind, word, name)) = definition.filter(|_| is_new && open.len() < DEEPEST) {
            let outer = open.last().map(|(outer, _)| &found[*outer]);
            let is_local = outer.is_some_and(|outer| is_code(outer.kind))
                && (kind == Constant || word == "let" || (word.is_empty() && is_code(kind)));
            if !is_local {
                let symbol = Symbol::begun(kind, word, name, outer, (line, begins), lines);
                let around = open.last().filter(|_| is_member).map_or(found.len(), |(outer, _)| *outer);
                open.push((found.len(), indentation));
                found.push(symbol);
                let has_members = language.has_members(&found[around]);
                for (kind, word, name) in members.into_iter().filter(|_| has_members) {
                    let symbol = Symbol::begun(kind, word, name, Some(&found[around]), (line, line), lines);
                    found.push(symbol);
                }
            }
        }
        if language.end.is_some_and(|end| code.ends_with(end)) {
            for (symbol, _) in open.drain(..) {
                found[symbol].end(last, lines);
            }
        }
    }
    for (symbol, _) in open {
        found[symbol].end(last, lines);
    }
    found
}

impl Symbol {
    /// Makes a symbol of one line, from 0, whose comments begin at another.
    fn begun(
        kind: SymbolKind,
        word: &str,
        name: &str,
        outer: Option<&Self>,
        (line, begins): (usize, usize),
        lines: &Lines<'_>,
    ) -> Self {
        // A name in one pair of backquotes has no parts.
        let is_one = name.starts_with('`') && name.matches('`').count() == 2;
        // Labels of HCL: `"aws_instance" "web"`.
        let name = name.replace("\" \"", ".");
        let name: String = name.chars().filter(|char| !"\"`[]".contains(*char)).collect();
        let is_method = kind == Function && outer.is_some_and(|outer| outer.kind.has_methods());
        let around = outer.map_or(String::new(), |outer| format!("{} > ", outer.path));
        let gap = if word.is_empty() || word.ends_with('.') { "" } else { " " };
        Self {
            path: format!("{around}{word}{gap}{name}"),
            name: if is_one { name } else { own(&name) },
            kind: if is_method { Method } else { kind },
            lines: line + 1..=line + 1,
            begins: begins + 1,
            bytes: lines.bytes(line..line + 1),
            has_body: word != FIELD,
        }
    }

    /// Sets the last line.
    fn end(&mut self, last: usize, lines: &Lines<'_>) {
        let first = *self.lines.start();
        self.lines = first..=last.max(first);
        self.bytes = lines.bytes(first - 1..*self.lines.end());
    }
}
