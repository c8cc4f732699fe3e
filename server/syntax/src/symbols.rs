//! What a file defines.

use std::ops::{Range, RangeInclusive};

use tree_sitter::{Node, Tree};

use crate::Language;

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A function of its own.
    Function,
    /// A function of a type.
    Method,
    /// A class or record.
    Class,
    /// A structure or union.
    Struct,
    /// An enumeration.
    Enum,
    /// An interface, trait or protocol.
    Interface,
    /// What a type implements, in Rust.
    Impl,
    /// A named type that is none of the others.
    Type,
    /// A module or namespace.
    Module,
    /// A constant, variable, field or property.
    Constant,
    /// A macro.
    Macro,
    /// A section of a Markdown file.
    Section,
}

impl SymbolKind {
    /// Returns its word, in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Interface => "interface",
            Self::Impl => "impl",
            Self::Type => "type",
            Self::Module => "module",
            Self::Constant => "constant",
            Self::Macro => "macro",
            Self::Section => "section",
        }
    }

    /// Returns whether functions in it are methods.
    fn has_methods(self) -> bool {
        matches!(
            self,
            Self::Class | Self::Struct | Self::Enum | Self::Interface | Self::Impl
        )
    }
}

/// Something that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its own name: `bar`.
    pub name: String,
    /// It and what it is in, from the outside, each with the language's word: `impl Foo > fn bar`.
    pub path: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The lines of its definition, from 1, without the comments before it.
    pub lines: RangeInclusive<usize>,
    /// The bytes of its definition.
    pub bytes: Range<usize>,
    /// Whether it has a body, or is no function: a prototype has none, and is defined elsewhere.
    pub has_body: bool,
}

/// How deep symbols nest. What is deeper is part of what it is in.
const DEEPEST: usize = 16;

/// Returns what a file defines, in the order of the text; what is in something follows it. Variables of functions are left out.
pub fn symbols(language: Language, tree: &Tree, source: &str) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = vec![];
    // Those around the current node, outermost first.
    let mut around: Vec<usize> = vec![];
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if let Some(&(_, kind, word)) = language.definition(node.kind_id()) {
            around.retain(|at| found[*at].bytes.end > node.start_byte());
            let local = around.iter().any(|at| is_code(found[*at].kind));
            if around.len() < DEEPEST
                && !(local && kind == SymbolKind::Constant)
                && let Some(name) = named(language, node, source)
            {
                let inside = around.last().map(|at| &found[*at]);
                let kind = settled(kind, node, inside.map(|outer| outer.kind));
                let path = match inside {
                    Some(outer) => format!("{} > {word} {name}", outer.path),
                    None => format!("{word} {name}"),
                };
                around.push(found.len());
                found.push(Symbol {
                    name: own(&name),
                    path,
                    kind,
                    lines: node.start_position().row + 1..=last_line(node),
                    bytes: node.byte_range(),
                    has_body: !is_code(kind) || body(node).is_some(),
                });
            }
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

fn is_code(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Function | SymbolKind::Method)
}

/// Returns what a definition is, seen with what it stands in and what it has.
fn settled(kind: SymbolKind, node: Node<'_>, inside: Option<SymbolKind>) -> SymbolKind {
    let value = node.child_by_field_name("value").map(|value| value.kind());
    match kind {
        SymbolKind::Function if inside.is_some_and(SymbolKind::has_methods) => SymbolKind::Method,
        SymbolKind::Constant if value.is_some_and(|value| value.contains("function")) => SymbolKind::Function,
        SymbolKind::Type => match node.child_by_field_name("type").map(|of| of.kind()) {
            Some("struct_type" | "struct_specifier") => SymbolKind::Struct,
            Some("interface_type") => SymbolKind::Interface,
            Some("enum_specifier") => SymbolKind::Enum,
            _ => kind,
        },
        _ => kind,
    }
}

/// Returns the last line of a node, from 1. A node that ends behind a line break ends on the line that it breaks.
fn last_line(node: Node<'_>) -> usize {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row {
        end.row - 1
    } else {
        end.row
    };
    last + 1
}

fn body(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("body")
        .or_else(|| node.child_by_field_name("value"))
}

/// Returns the last part of a qualified name, without arguments of types: `Foo<T>` is `Foo`, `a::b` is `b`, `T for Foo` is `Foo`.
fn own(name: &str) -> String {
    let of = name.rsplit(" for ").next().unwrap_or(name);
    let plain = of.split(['<', '(', '[']).next().unwrap_or(of);
    let last = plain.rsplit("::").next().unwrap_or(plain);
    let last = if last.is_empty() { of } else { last };
    last.trim().to_owned()
}

/// Returns the name that a definition gives, as its symbol says it; `None` if it gives none.
fn named(language: Language, node: Node<'_>, source: &str) -> Option<String> {
    let text = |node: Node<'_>| source.get(node.byte_range()).map(one_line);
    let field = |name: &str| node.child_by_field_name(name);
    match (language, node.kind()) {
        (Language::Rust, "impl_item") => {
            let of = text(field("type")?)?;
            Some(match field("trait").and_then(text) {
                Some(interface) => format!("{interface} for {of}"),
                None => of,
            })
        }
        (Language::Go, "method_declaration") => {
            let receiver = field("receiver").and_then(text).unwrap_or_default();
            let of = receiver
                .trim_matches(['(', ')'])
                .split_whitespace()
                .last()
                .map(|of| {
                    of.trim_start_matches('*')
                        .split('[')
                        .next()
                        .unwrap_or(of)
                        .to_owned()
                });
            let name = text(field("name")?)?;
            Some(match of {
                Some(of) => format!("{of}::{name}"),
                None => name,
            })
        }
        (Language::C | Language::Cpp, kind) => match kind {
            // Without a body it is no definition but a use: `struct stat buffer;`.
            "struct_specifier" | "union_specifier" | "class_specifier" | "enum_specifier" => {
                field("body")?;
                text(field("name")?)
            }
            "declaration" | "field_declaration" => {
                let declarator = field("declarator")?;
                function_in(declarator)?;
                text(innermost(declarator)?)
            }
            "function_definition" | "type_definition" => text(innermost(field("declarator")?)?),
            _ => text(field("name")?),
        },
        (Language::Java, "field_declaration") => text(field("declarator")?.child_by_field_name("name")?),
        // What is taken apart has several names: `const { a, b } = c`.
        (_, "variable_declarator") => field("name")
            .filter(|name| name.kind() == "identifier")
            .and_then(text),
        _ => text(field("name")?),
    }
    .filter(|name| !name.is_empty())
}

/// Returns a text without line breaks, and not longer than a name is.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(200) {
        line.truncate(end);
    }
    line
}

/// Returns the function among the declarators of a C declaration.
fn function_in(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    loop {
        if node.kind() == "function_declarator" {
            return Some(node);
        }
        node = inner(node)?;
    }
}

/// Returns the name in the middle of C's declarators.
fn innermost(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    while let Some(within) = inner(node) {
        node = within;
    }
    Some(node)
}

fn inner(declarator: Node<'_>) -> Option<Node<'_>> {
    declarator.child_by_field_name("declarator").or_else(|| {
        let wraps = matches!(
            declarator.kind(),
            "parenthesized_declarator" | "reference_declarator"
        );
        wraps.then(|| declarator.named_child(0)).flatten()
    })
}
