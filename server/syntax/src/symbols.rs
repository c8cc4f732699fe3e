//! The symbols that a file defines.

use std::ops::{Range, RangeInclusive};

use tree_sitter::{Node, Tree};

use crate::{
    Language,
    language::{MEMBER, Role, TEMPLATE},
    symbol_kind::SymbolKind,
};

/// A definition in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its own name: `bar`.
    pub name: String,
    /// Its name after those of the symbols around it, outermost first, each with the language's word: `impl Foo > fn bar`.
    pub path: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// The lines of its definition, from 1, without the comments before it.
    pub lines: RangeInclusive<usize>,
    /// The line of the first comment or attribute that precedes it and belongs to it; else its own first line.
    pub begins: usize,
    /// The bytes of its definition.
    pub bytes: Range<usize>,
    /// True unless it is a function or module without a body, which is defined elsewhere: a prototype, a file's package; a constant that is
    /// of the same name elsewhere (`exports.total = total`), or a module; or a member of a type that has no value: a part of that type, with a name that
    /// other types have too.
    pub has_body: bool,
}

/// Maximum nesting of symbols. A deeper one is part of the symbol around it.
const DEEPEST: usize = 16;

/// Returns the symbols of a file in the order of the text, each before those inside of it. Variables of functions are left out.
pub fn symbols(language: Language, tree: &Tree, source: &str) -> Vec<Symbol> {
    let mut collector = Collector { language, source, found: vec![], around: vec![], leading: None };
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        match language.role(node.kind_id()) {
            Some(Role::Leads) => collector.lead(node),
            Some(Role::Defines(kind, word)) => collector.define(node, kind, word),
            None => {}
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return collector.found;
            }
        }
    }
}

/// Collects symbols on a walk through a tree.
struct Collector<'s> {
    language: Language,
    source: &'s str,
    found: Vec<Symbol>,
    /// Symbols around the current node, outermost first.
    around: Vec<usize>,
    /// First and last row of the latest comments and attributes without a gap between them.
    leading: Option<(usize, usize)>,
}

impl Collector<'_> {
    fn lead(&mut self, node: Node<'_>) {
        let start = node.start_position();
        let line = node.start_byte() - start.column;
        let before = self.source.get(line..node.start_byte()).unwrap_or_default();
        // A comment behind an item does not belong to the next one.
        if node.kind() == TEMPLATE || before.trim_start().is_empty() {
            let joined = self.leading.filter(|(_, last)| start.row <= last + 1);
            self.leading = Some((joined.map_or(start.row, |(first, _)| first), last_line(node) - 1));
        }
    }

    fn define(&mut self, node: Node<'_>, kind: SymbolKind, word: &str) {
        let found = &mut self.found;
        self.around.retain(|at| found[*at].bytes.end > node.start_byte());
        if self.around.len() == DEEPEST {
            return;
        }
        // A field that is a parameter of a constructor belongs to the type around it.
        let outside = self.around.len().saturating_sub(usize::from(is_promoted(node)));
        let around = &self.around[..outside];
        let local = around.iter().any(|at| is_code(found[*at].kind));
        let inside = around.last().map(|at| &found[*at]);
        if node.kind() == MEMBER && inside.is_none_or(|outer| outer.kind != SymbolKind::Enum) {
            return;
        }
        let (kind, word) = settled(self.language, kind, word, node, inside.map(|outer| outer.kind));
        if local && kind == SymbolKind::Constant {
            return;
        }
        let is_constant_of_enum = node.kind() == MEMBER || node.kind().starts_with("enum");
        let is_member = inside.is_some_and(|outer| outer.kind != SymbolKind::Module) && !is_constant_of_enum;
        let outer = inside.map_or(String::new(), |outer| format!("{} > ", outer.path));
        let row = node.start_position().row;
        let leading = self.leading.filter(|(_, last)| row <= last + 1);
        let first = found.len();
        let has_body = has_body(self.language, kind, node, is_member) && !is_import(node, self.source);
        let other = (kind == SymbolKind::Constant).then(|| other_name(node, self.source)).flatten();
        // `exports.total = function total() {}` is one definition.
        let is_value = node.parent().and_then(value) == Some(node);
        let mut names = names(self.language, node, self.source);
        names.retain(|(_, name)| !is_value || inside.is_none_or(|outer| outer.name != *name));
        for (shown, name) in names {
            let gap = if word.is_empty() { "" } else { " " };
            let has_body = has_body && other.as_deref() != Some(&name);
            found.push(Symbol {
                name,
                path: format!("{outer}{word}{gap}{shown}"),
                kind,
                lines: row + 1..=last_line(node),
                begins: leading.map_or(row, |(first, _)| first) + 1,
                bytes: node.byte_range(),
                has_body,
            });
        }
        if first < found.len() {
            self.around.push(first);
            self.leading = None;
        }
    }
}

/// Returns true if a parameter of a constructor is a field too: `constructor(private rate: number)`.
fn is_promoted(node: Node<'_>) -> bool {
    match node.kind() {
        "property_promotion_parameter" => true,
        "required_parameter" | "optional_parameter" => {
            ["accessibility_modifier", "override_modifier", "readonly"]
                .iter()
                .any(|word| has_child(node, word))
        }
        _ => false,
    }
}

pub(crate) fn is_code(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Function | SymbolKind::Method)
}

/// Returns the final kind and word of a definition, which depend on the symbol around it and on its parts.
fn settled<'w>(
    language: Language,
    kind: SymbolKind,
    word: &'w str,
    node: Node<'_>,
    inside: Option<SymbolKind>,
) -> (SymbolKind, &'w str) {
    use SymbolKind::{Class, Constant, Enum, Function, Interface, Method, Struct, Type};
    let field = |name: &str| node.child_by_field_name(name);
    let is_variable = matches!(node.kind(), "declaration" | "field_declaration")
        && declared(node).is_some_and(|of| function_in(of).is_none());
    let (kind, word) = if is_variable { (Constant, "") } else { (kind, word) };
    match kind {
        Function if inside.is_some_and(SymbolKind::has_methods) => (Method, word),
        Constant if value(node).is_some_and(is_function) => (Function, word),
        Constant if value(node).is_some_and(|value| value.kind() == "class") => (Class, word),
        Class => match (language.name(), field("declaration_kind").map(|of| of.kind())) {
            ("swift", Some("struct")) => (Struct, "struct"),
            ("swift", Some("enum")) => (Enum, "enum"),
            ("swift", Some("extension")) => (SymbolKind::Impl, "extension"),
            ("swift", Some("actor")) => (Class, "actor"),
            ("kotlin", _) if has_child(node, "interface") => (Interface, "interface"),
            ("kotlin", _) if has_child(node, "enum_class_body") => (Enum, "enum"),
            _ => (kind, word),
        },
        Type => match field("type").map(|of| of.kind()) {
            Some("struct_type" | "struct_specifier") => (Struct, word),
            Some("interface_type") => (Interface, word),
            Some("enum_specifier") => (Enum, word),
            _ => (kind, word),
        },
        _ => (kind, word),
    }
}

/// Returns the value that a definition assigns to its name.
fn value(node: Node<'_>) -> Option<Node<'_>> {
    let field = |name: &str| node.child_by_field_name(name);
    let value = match node.kind() {
        "declaration" => field("declarator")?.child_by_field_name("value"),
        // Kotlin has no field for it.
        "property_declaration" if field("name").is_none() => last_child(node),
        _ => field("value").or_else(|| field("right")),
    }?;
    // Go has lists of values.
    match value.kind() {
        "expression_list" => value.named_child(0),
        _ => Some(value),
    }
}

/// Returns the own name of the value of a definition that gives another name to something: `total` of `b = a.total`.
fn other_name(node: Node<'_>, source: &str) -> Option<String> {
    let value = value(node)?;
    let is_name = ["identifier", "member", "attribute", "selector", "navigation", "field", "scope"];
    let text =
        source.get(value.byte_range()).filter(|_| is_name.iter().any(|part| value.kind().contains(part)))?;
    Some(own(&one_line(text)))
}

/// Returns true if a variable is an imported module: `const total = require("./total")`.
fn is_import(node: Node<'_>, source: &str) -> bool {
    let call =
        value(node).and_then(|of| if of.kind() == "await_expression" { of.named_child(0) } else { Some(of) });
    let function = call.and_then(|call| call.child_by_field_name("function"));
    function.is_some_and(|of| matches!(source.get(of.byte_range()), Some("require" | "import")))
}

fn last_child(node: Node<'_>) -> Option<Node<'_>> {
    node.named_child(u32::try_from(node.named_child_count()).ok()?.checked_sub(1)?)
}

fn is_function(node: Node<'_>) -> bool {
    let kind = node.kind();
    kind.contains("function") || kind.contains("lambda") || kind == "func_literal"
}

fn has_child(node: Node<'_>, kind: &str) -> bool {
    child(node, kind).is_some()
}

/// Returns the first child of this kind.
fn child<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    node.children(&mut node.walk()).find(|child| child.kind() == kind)
}

/// Returns the last line of a node, from 1. A node that ends behind a line break ends on the line that it breaks.
fn last_line(node: Node<'_>) -> usize {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    last + 1
}

/// Parts of a field or property that give it its value.
const VALUES: &[&str] = &["=", "arrow_expression_clause", "computed_property", "getter", "property_delegate"];

/// Returns true if a symbol is defined here, not only declared.
fn has_body(language: Language, kind: SymbolKind, node: Node<'_>, is_member: bool) -> bool {
    let field = |name: &str| node.child_by_field_name(name).is_some();
    // Ruby has no prototypes, and its empty methods no bodies.
    let always = || {
        language.name() == "ruby"
            || matches!(node.kind(), "secondary_constructor" | "subscript_declaration" | "command")
    };
    if kind == SymbolKind::Module {
        // `mod a;` makes a module of another file.
        field("body") || node.kind() == "mod_item"
    } else if is_code(kind) {
        field("body") || value(node).is_some() || has_child(node, "function_body") || always()
    } else {
        let has_value =
            || field("value") || field("default_value") || VALUES.iter().any(|part| has_child(node, part));
        kind != SymbolKind::Constant || !is_member || has_value() || has_accessor(node)
    }
}

/// Returns true if a property of C# has an accessor with a body.
fn has_accessor(node: Node<'_>) -> bool {
    let Some(all) = node.child_by_field_name("accessors") else {
        return false;
    };
    all.children(&mut all.walk()).any(|accessor| accessor.child_by_field_name("body").is_some())
}

/// Returns the last part of a qualified name, without arguments of types: `Foo<T>` is `Foo`, `a::b` is `b`, `T for Foo` is `Foo`,
/// `"a b"` is `a b`.
pub(crate) fn own(name: &str) -> String {
    // A quoted name has no parts.
    if let Some(quoted) =
        ['"', '\'', '`'].iter().find_map(|quote| name.strip_prefix(*quote)?.strip_suffix(*quote))
    {
        return quoted.to_owned();
    }
    let of = name.rsplit(" for ").next().unwrap_or(name);
    // An operator's name includes its punctuation.
    let operator = of.rfind("operator").filter(|at| {
        let (before, after) = (&of[..*at], &of[at + "operator".len()..]);
        !before.ends_with(is_part_of_name) && !after.starts_with(is_part_of_name) && !after.is_empty()
    });
    if let Some(at) = operator {
        return of[at..].trim().to_owned();
    }
    let mut depth = 0_usize;
    let mut last = String::new();
    for char in of.chars() {
        match char {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            ':' | '.' | '\\' => last.clear(),
            _ => last.push(char),
        }
    }
    // `dyn Shape`
    last.split_whitespace().last().unwrap_or(of).to_owned()
}

fn is_part_of_name(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Returns the names that a definition introduces, if any: each as its symbol's path shows it, and alone.
fn names(language: Language, node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let text = |node: Node<'_>| source.get(node.byte_range()).map(one_line);
    let bound_names = |pattern| bound(pattern).into_iter().filter_map(text).collect::<Vec<String>>();
    let shown: Vec<String> = match (language.name(), node.kind()) {
        // `const A, B = 1, 2`, `case hearts, spades`, `x, y int`.
        (_, "const_spec" | "var_spec" | "enum_entry" | "field_declaration")
            if node.child_by_field_name("name").is_some() =>
        {
            let mut cursor = node.walk();
            let all = node.children_by_field_name("name", &mut cursor);
            all.filter(|name| name.is_named()).filter_map(text).collect()
        }
        // `static int a, b;`
        ("c" | "cpp", "declaration" | "field_declaration") => {
            let mut cursor = node.walk();
            let all = node.children_by_field_name("declarator", &mut cursor);
            all.filter_map(|declarator| declared_name(declarator, source)).collect()
        }
        // `attr_reader :total, :tax`, `Struct.new(:total)`
        ("ruby", "call") => {
            let part = |name| node.child_by_field_name(name).and_then(text).unwrap_or_default();
            let (receiver, method) = (part("receiver"), part("method"));
            let defines = method.starts_with("attr_")
                || matches!(&*method, "define_method" | "alias_method")
                || matches!((&*receiver, &*method), ("Struct", "new") | ("Data", "define"));
            let Some(all) = node.child_by_field_name("arguments").filter(|_| defines) else {
                return vec![];
            };
            let mut cursor = all.walk();
            let all = all.named_children(&mut cursor);
            let names = all.filter(|one| matches!(one.kind(), "simple_symbol" | "string")).filter_map(text);
            // `alias_method :new, :old`
            let count = if method == "alias_method" { 1 } else { usize::MAX };
            names.map(|name| name.trim_matches([':', '"', '\'']).to_owned()).take(count).collect()
        }
        // `A, B = 1, 2`
        ("python", "assignment") => node.child_by_field_name("left").map_or(vec![], bound_names),
        // `let a = 1, b = 2`
        ("swift", "property_declaration" | "protocol_property_declaration") => {
            let mut cursor = node.walk();
            node.children_by_field_name("name", &mut cursor).flat_map(bound_names).collect()
        }
        // `export const { a, b } = c`; without `export`, the names are those of an import or local.
        (_, "export_statement") => {
            let Some(declaration) = node.child_by_field_name("declaration") else {
                return vec![];
            };
            let mut cursor = declaration.walk();
            let all = declaration.children(&mut cursor).filter_map(|one| one.child_by_field_name("name"));
            all.filter(|name| name.kind().ends_with("pattern")).flat_map(bound_names).collect()
        }
        _ => named(language, node, source).into_iter().collect(),
    };
    let with_own = |shown: String| {
        let name = match invoked(&shown) {
            Some(name) if node.kind() == "function_definition" => name.to_owned(),
            // A shell's names have no parts.
            _ if language.name() == "shell" => shown.clone(),
            // In other languages, `$` is a letter.
            _ if language.name() == "php" => own(&shown).trim_start_matches('$').to_owned(),
            _ => own(&shown),
        };
        (shown, name)
    };
    let shown = shown.into_iter().filter(|shown| !matches!(&**shown, "" | "_"));
    shown.map(with_own).collect()
}

/// Returns the names that a pattern binds, in their order: `a`, `(a, b)`, `{ a, b: c, d = 1, ...rest }`.
fn bound(pattern: Node<'_>) -> Vec<Node<'_>> {
    let (mut names, mut open) = (vec![], vec![pattern]);
    while let Some(node) = open.pop() {
        match node.kind() {
            "identifier" | "simple_identifier" | "shorthand_property_identifier_pattern" => names.push(node),
            kind if kind.ends_with("pattern") || kind == "pattern_list" => {
                // Keys select members, and right sides are defaults: neither binds a name.
                let others = ["key", "right"].map(|field| node.child_by_field_name(field));
                let parts: Vec<_> = node.children(&mut node.walk()).collect();
                open.extend(parts.into_iter().rev().filter(|part| !others.contains(&Some(*part))));
            }
            _ => {}
        }
    }
    names
}

/// Returns the name that a macro defines: the second of two arguments, as in `TEST(Suite, Name)`, else the first.
fn invoked(shown: &str) -> Option<&str> {
    let (_, arguments) = shown.strip_suffix(')')?.split_once('(')?;
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    arguments.get(usize::from(arguments.len() == 2)).copied()
}

/// Returns the name that a definition introduces, as its symbol's path shows it; `None` if there is none.
fn named(language: Language, node: Node<'_>, source: &str) -> Option<String> {
    let text = |node: Node<'_>| source.get(node.byte_range()).map(one_line);
    let field = |name: &str| node.child_by_field_name(name);
    match (language.name(), node.kind()) {
        ("rust", "impl_item") => {
            let of = text(field("type")?)?;
            Some(match field("trait").and_then(text) {
                Some(interface) => format!("{interface} for {of}"),
                None => of,
            })
        }
        ("go", "method_declaration") => {
            let receiver = field("receiver").and_then(text).unwrap_or_default();
            let (of, _) = receiver.split_once(['[', ')']).unwrap_or((&receiver, ""));
            let of = of.split([' ', '(', '*']).next_back().filter(|of| !of.is_empty());
            let name = text(field("name")?)?;
            Some(match of {
                Some(of) => format!("{of}::{name}"),
                None => name,
            })
        }
        ("c" | "cpp", kind) => match kind {
            // Without a body it is a use, not a definition: `struct stat buffer;`.
            "struct_specifier" | "union_specifier" | "class_specifier" | "enum_specifier" => {
                field("body")?;
                text(field("name")?)
            }
            "function_definition" => {
                let declarator = declared(node)?;
                match function_in(declarator) {
                    Some(of) if is_macro(node, of, source) => text(of),
                    _ => declared_name(declarator, source),
                }
            }
            "type_definition" => declared_name(declared(node)?, source),
            _ => text(field("name")?),
        },
        ("java" | "csharp", "variable_declarator")
        | ("javascript" | "typescript" | "tsx", "enum_assignment") => text(field("name")?),
        // A destructuring pattern has several names: `const { a, b } = c`.
        (_, "variable_declarator") => field("name").filter(|name| name.kind() == "identifier").and_then(text),
        (_, "pair") => is_function(field("value")?).then(|| text(field("key")?))?,
        (_, "assignment_expression") => {
            let (left, right) = (field("left")?, field("right")?);
            if language.name() == "php" {
                return is_function(right).then(|| text(left))?;
            }
            let name = text(left).filter(|_| left.kind() == "member_expression")?;
            let is_plain = name.chars().all(|char| is_part_of_name(char) || ".$#".contains(char));
            let exported = name.starts_with("exports.") || name.starts_with("module.exports.");
            let defines =
                is_function(right) || right.kind() == "class" || exported || name.contains(".prototype.");
            match &*name {
                "module.exports" => right.child_by_field_name("name").filter(|_| defines).and_then(text),
                _ => (is_plain && defines).then_some(name),
            }
        }
        ("ruby", "assignment") => field("left").filter(|left| left.kind() == "constant").and_then(text),
        (_, MEMBER) => text(node),
        ("typescript" | "tsx", "required_parameter" | "optional_parameter") => {
            is_promoted(node).then(|| text(field("pattern")?))?
        }
        // Parameters of a record are its fields.
        ("java", "formal_parameter") | ("csharp", "parameter") => {
            let around = node.parent()?.parent()?;
            (around.kind() == "record_declaration").then(|| text(field("name")?))?
        }
        (_, "package_clause" | "package_declaration" | "package_header") => text(last_child(node)?),
        ("csharp", "indexer_declaration") => Some("this".into()),
        ("csharp", "operator_declaration") => Some(format!("operator{}", text(field("operator")?)?)),
        ("csharp", "conversion_operator_declaration") => Some(format!("operator {}", text(field("type")?)?)),
        ("csharp", "destructor_declaration") => Some(format!("~{}", text(field("name")?)?)),
        // `define('A', 3)`
        ("php", "function_call_expression") => {
            let function = text(field("function")?)?.to_ascii_lowercase();
            let name = field("arguments")?.named_child(0)?.named_child(0)?;
            let defines = function.trim_start_matches('\\') == "define" && name.kind().contains("string");
            defines.then(|| text(name.named_child(0)?))?
        }
        ("python", "type_alias_statement") => text(field("left")?),
        // `alias ll='ls -l'`
        ("shell", "command") => {
            let (name, argument) = (text(field("name")?)?, text(field("argument")?)?);
            argument.split_once('=').filter(|_| name == "alias").map(|(name, _)| name.to_owned())
        }
        ("php", "const_element") => text(child(node, "name")?),
        ("swift", "init_declaration") => Some("init".into()),
        ("swift", "deinit_declaration") => Some("deinit".into()),
        ("swift", "subscript_declaration") => Some("subscript".into()),
        ("kotlin", "secondary_constructor") => Some("constructor".into()),
        ("kotlin", "property_declaration") => {
            text(child(child(node, "variable_declaration")?, "identifier")?)
        }
        ("kotlin", "class_parameter") => {
            (has_child(node, "val") || has_child(node, "var")).then(|| text(child(node, "identifier")?))?
        }
        ("kotlin", "enum_entry") => text(child(node, "identifier")?),
        ("kotlin", "type_alias") => text(field("type")?),
        _ => text(field("name").or_else(|| field("property"))?),
    }
}

/// Returns a text on one line, cut at 200 characters.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(200) {
        line.truncate(end);
    }
    line
}

/// Returns the declarator of a C declaration.
fn declared(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("declarator")
}

/// Returns true if a macro defines a C function, as in `TEST(Suite, Name) { … }`: it has no type, and its parameters no names.
fn is_macro(node: Node<'_>, function: Node<'_>, source: &str) -> bool {
    let name = function.child_by_field_name("declarator");
    let name = name.and_then(|name| source.get(name.byte_range())).unwrap_or_default();
    let parameters = function.child_by_field_name("parameters");
    let has_names = parameters.is_some_and(|all| {
        let mut cursor = all.walk();
        all.named_children(&mut cursor).any(|one| declared(one).is_some())
    });
    let is_upper = name.chars().all(|char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_');
    let has_any = parameters.is_some_and(|all| all.named_child_count() > 0);
    node.child_by_field_name("type").is_none() && is_upper && has_any && !has_names
}

/// Returns the function among the declarators of a C declaration.
fn function_in(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    loop {
        let within = inner(node);
        // `int (*callback)(int)` is a variable.
        let is_pointer = within.is_some_and(|within| within.kind() == "parenthesized_declarator");
        if node.kind() == "operator_cast" || (node.kind() == "function_declarator" && !is_pointer) {
            return Some(node);
        }
        node = within?;
    }
}

/// Returns the name in the middle of C's declarators.
fn declared_name(declarator: Node<'_>, source: &str) -> Option<String> {
    let text = |node: Node<'_>| source.get(node.byte_range()).map(one_line);
    let mut node = declarator;
    while node.kind() != "operator_cast"
        && let Some(within) = inner(node)
    {
        node = within;
    }
    match node.child_by_field_name("type") {
        Some(of) if node.kind() == "operator_cast" => Some(format!("operator {}", text(of)?)),
        _ => text(node),
    }
}

fn inner(declarator: Node<'_>) -> Option<Node<'_>> {
    declarator.child_by_field_name("declarator").or_else(|| {
        let wraps = matches!(declarator.kind(), "parenthesized_declarator" | "reference_declarator");
        wraps.then(|| declarator.named_child(0)).flatten()
    })
}
