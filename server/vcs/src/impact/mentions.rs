//! Mentions of names in a source: the names in its tree, without comments and texts, and without variables of functions.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    iter,
    ops::Range,
};

use tabellion_syntax::tree_sitter::{Node, Tree};

use super::touched::Source;

/// A mention of a name in a source.
pub(super) struct Mention {
    pub(super) name: String,
    /// The byte at which it begins.
    pub(super) at: usize,
    /// Its line, from 1.
    pub(super) line: usize,
    pub(super) owner: Owner,
    /// True if it is followed by arguments.
    pub(super) is_called: bool,
    /// The symbol that it is the name of, by its index.
    pub(super) defines: Option<usize>,
}

/// The owner that is written before a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// None: the name is in scope.
    Scope,
    /// The value or type around it: `self.name`.
    Itself,
    /// Another value, type or module: `a.name`. Labels have this owner, too.
    Other,
    /// The module that an import names.
    Import,
}

/// Nodes that bind names, each with the field that contains these; any field if it is empty.
const BINDINGS: &[(&str, &str)] = &[
    // Python, Ruby
    ("assignment", "left"),
    ("augmented_assignment", "left"),
    ("named_expression", "name"),
    ("for_statement", "left"),
    ("for_in_clause", "left"),
    ("as_pattern", "alias"),
    ("parameters", ""),
    ("lambda_parameters", ""),
    ("method_parameters", ""),
    ("block_parameters", ""),
    ("keyword_parameter", "name"),
    ("optional_parameter", "name"),
    ("splat_parameter", "name"),
    ("exception_variable", ""),
    ("for", "pattern"),
    ("hash_splat_parameter", "name"),
    // JavaScript, Java, C#
    ("variable_declarator", "name"),
    ("formal_parameters", ""),
    ("formal_parameter", "name"),
    ("required_parameter", "pattern"),
    ("optional_parameter", "pattern"),
    ("arrow_function", "parameter"),
    ("for_in_statement", "left"),
    ("enhanced_for_statement", "name"),
    ("catch_clause", "parameter"),
    ("catch_formal_parameter", "name"),
    ("lambda_expression", "parameters"),
    ("inferred_parameters", ""),
    ("implicit_parameter", ""),
    ("resource", "name"),
    ("instanceof_expression", "name"),
    ("declaration_pattern", "name"),
    ("declaration_expression", "name"),
    ("catch_declaration", "name"),
    ("foreach_statement", "left"),
    // Rust, Kotlin
    ("let_declaration", "pattern"),
    ("field_pattern", ""),
    ("parameter", ""),
    ("tuple_struct_pattern", ""),
    ("for_expression", "pattern"),
    ("closure_parameters", ""),
    // Go, C
    ("short_var_declaration", "left"),
    ("range_clause", "left"),
    ("var_spec", "name"),
    ("const_spec", "name"),
    ("parameter_declaration", "name"),
    ("parameter_declaration", "declarator"),
    ("optional_parameter_declaration", "declarator"),
    ("variadic_parameter_declaration", "declarator"),
    ("variadic_parameter_declaration", "name"),
    ("type_switch_statement", "alias"),
    ("receive_statement", "left"),
    ("init_declarator", "declarator"),
    ("declaration", "declarator"),
    ("for_range_loop", "declarator"),
    // PHP, Kotlin, Swift, shells
    ("simple_parameter", "name"),
    ("variable_declaration", ""),
    ("pattern", "bound_identifier"),
    ("if_statement", "bound_identifier"),
    ("guard_statement", "bound_identifier"),
    ("while_statement", "bound_identifier"),
    ("lambda_parameter", "name"),
    ("catch_block", ""),
    ("variable_assignment", "name"),
];

/// Nodes between a name and the node that binds it.
const PATTERNS: &[&str] = &[
    "pattern_list",
    "tuple_pattern",
    "list_pattern",
    "expression_list",
    "left_assignment_list",
    "object_pattern",
    "object_assignment_pattern",
    "assignment_pattern",
    "rest_pattern",
    "destructured_parameter",
    "structured_binding_declarator",
    "array_pattern",
    "ref_pattern",
    "mut_pattern",
    "reference_pattern",
    "typed_parameter",
    "default_parameter",
    "typed_default_parameter",
    "list_splat_pattern",
    "dictionary_splat_pattern",
    "as_pattern_target",
    "pointer_declarator",
    "reference_declarator",
    "array_declarator",
    "variadic_declarator",
    "variable_name",
];

/// Nodes in which a name is that of an argument or of a field, each with the field that contains it.
const LABELS: &[(&str, &str)] = &[
    ("keyword_argument", "name"),
    ("keyword_pattern", ""),
    ("pair", "key"),
    ("field_initializer", "field"),
    ("field_declaration", "name"),
    ("field_declaration", "declarator"),
    ("field_designator", ""),
    ("property_signature", "name"),
    ("jsx_attribute", ""),
    ("argument", "name"),
    ("attribute_argument", "name"),
    ("value_argument_label", ""),
    ("keyed_element", "key"),
];

/// Nodes whose name is a label and its value at once.
const SHORTHANDS: &[&str] =
    &["shorthand_property_identifier", "shorthand_property_identifier_pattern", "shorthand_field_identifier"];

/// Nodes whose names are those of methods, never of local variables.
const CALLED: &[(&str, &str)] = &[("method_invocation", "name"), ("call", "method")];

/// Ruby's methods that take a name of a method, wherever they are called.
const SENDERS: &[&str] =
    &["send", "public_send", "__send__", "try", "method", "instance_method", "respond_to?", "receive"];

/// Nodes whose names are those of Python's modules, which are files.
const MODULES: &[Step<'_>] =
    &[("import_statement", Some("name")), ("import_from_statement", Some("module_name"))];

/// Nodes outside of which names that they bind are not known.
const SCOPES: &[&str] = &[
    // Python
    "lambda",
    "list_comprehension",
    "set_comprehension",
    "dictionary_comprehension",
    "generator_expression",
    // JavaScript, Rust, Go, Ruby, and others
    "arrow_function",
    "function_expression",
    "for_in_statement",
    "closure_expression",
    "func_literal",
    "lambda_expression",
    "lambda_literal",
    "do_block",
];

/// Declarations whose variables come into scope after the declared value.
const DECLARATIONS: &[&str] = &[
    "let_declaration",
    "let_condition",
    "short_var_declaration",
    "var_declaration",
    "const_declaration",
    "property_declaration",
];

/// Nodes with another name for an imported item, each with the field that contains it. It is one of the file, or of the function around it.
const ALIASES: &[(&str, &str)] = &[
    ("import_specifier", "alias"),
    ("namespace_import", ""),
    ("pair_pattern", "value"),
    ("aliased_import", "alias"),
    ("use_as_clause", "alias"),
    ("namespace_use_clause", "alias"),
    ("using_directive", "name"),
    ("import_spec", "name"),
    ("import", ""),
];

/// Nodes that are scopes as well in the languages [`WITH_BLOCKS`].
const BLOCKS: &[&str] = &[
    "block",
    "compound_statement",
    "statements",
    "if_statement",
    "if_expression",
    "match_arm",
    "while_statement",
    "while_expression",
    "for_statement",
    "for_expression",
    "expression_switch_statement",
    "type_switch_statement",
    "expression_case",
    "type_case",
    "default_case",
    "communication_case",
    "when_entry",
    "switch_entry",
];

/// Languages in which a block is the scope of its variables.
const WITH_BLOCKS: &[&str] = &["rust", "go", "java", "c", "cpp", "csharp", "swift", "kotlin"];

/// Nodes whose names are the file's own if they are in no function: loops and contexts of Python. Other names of a file are symbols.
const OF_FILE: &[&str] = &["for_statement", "as_pattern"];

/// The kind of a node, and the field of it that the walk is in.
type Step<'t> = (&'t str, Option<&'t str>);

/// A name, and its role in the tree.
struct Leaf {
    mention: Mention,
    /// The innermost function around it, as a number of its symbol.
    function: Option<usize>,
    /// The innermost scope around it, in bytes, if it is in the function. Of a variable: the part in which it is known.
    scope: Option<Range<usize>>,
    role: Role,
    is_label: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Use,
    /// The name of a method, a member or an item of a module, never of a local variable.
    Called,
    /// A local variable or parameter begins here.
    Binding,
    /// As a binding, and one of the file if it is in no function.
    FileBinding,
    /// The function declares the name as one of the file: `global name`.
    Global,
    /// A label, or a name of something that is never a symbol.
    None,
}

/// Returns the mentions of the names that `is_field` knows, without variables of functions; labels only if the name is that of a field.
pub(super) fn mentions(source: &Source, is_field: impl Fn(&str) -> Option<bool>) -> Vec<Mention> {
    let mut leaves = vec![];
    let text = source.text.as_str();
    let has_blocks = WITH_BLOCKS.contains(&source.language.name());
    // In other languages than PHP, `$` is a letter.
    let marks = if source.language.name() == "php" { &['$', ':', '`'][..] } else { &[':', '`'] };
    let scopes = [SCOPES, BLOCKS].concat();
    let scopes = if has_blocks { &scopes[..] } else { SCOPES };
    walk(&source.tree, scopes, |node, path, scope| {
        let own = &text[node.byte_range()];
        // A macro of C is a line that is not parsed.
        let names = match node.kind() {
            "preproc_arg" => {
                words(own.as_bytes()).map(|(at, word)| (at, &own[at..at + word.len()])).collect()
            }
            _ => vec![(0, own.trim_start_matches(marks).trim_end_matches('`'))],
        };
        for (at, name) in names {
            let at = node.start_byte() + at;
            for name in spellings(name, path).filter(|name| is_field(name).is_some()) {
                let owner = owner(text, at..node.end_byte(), path);
                let function = source.function(source.around(at));
                let begin = function.map_or(0, |function| source.symbols[function].bytes.start);
                let (role, is_label) = (role(node, path, owner, text), is_label(node, path));
                let mut scope = scope.filter(|scope| scope.start >= begin).cloned();
                if let Some(scope) = scope.as_mut().filter(|_| has_blocks && role == Role::Binding) {
                    scope.start = declared(node, scope).unwrap_or(scope.start);
                }
                leaves.push(Leaf {
                    mention: Mention {
                        name,
                        at,
                        line: node.start_position().row + 1,
                        owner,
                        is_called: text[node.end_byte()..].trim_start().starts_with('('),
                        defines: None,
                    },
                    function,
                    scope,
                    role,
                    is_label,
                });
            }
        }
    });
    // A name's first place in its definition.
    let symbols = source.symbols.iter().enumerate();
    for (index, symbol) in symbols.filter(|(_, symbol)| is_field(&symbol.name).is_some()) {
        let first = leaves.partition_point(|leaf| leaf.mention.at < symbol.bytes.start);
        let inside = leaves[first..].iter_mut().take_while(|leaf| leaf.mention.at < symbol.bytes.end);
        if let Some(leaf) = inside.into_iter().find(|leaf| leaf.mention.name == symbol.name) {
            leaf.mention.defines = Some(index);
        }
    }
    let is_binding = |leaf: &&Leaf| matches!(leaf.role, Role::Binding | Role::FileBinding);
    let bindings = || leaves.iter().filter(is_binding);
    let in_functions = bindings().filter(|leaf| leaf.scope.is_none());
    let in_functions = in_functions.filter(|leaf| leaf.function.is_some() || leaf.role == Role::FileBinding);
    let bound: HashSet<_> = in_functions.map(|leaf| (leaf.function, leaf.mention.name.as_str())).collect();
    let in_scopes =
        by_name(bindings().filter_map(|leaf| Some((leaf.mention.name.as_str(), leaf.scope.as_ref()?))));
    let globals = leaves.iter().filter(|leaf| leaf.role == Role::Global);
    let global: HashSet<_> = globals.map(|leaf| (leaf.function, leaf.mention.name.as_str())).collect();
    let is_local = |leaf: &Leaf| {
        let name = leaf.mention.name.as_str();
        let scopes = in_scopes.get(name).map_or(&[][..], Vec::as_slice);
        let before = scopes.partition_point(|scope| scope.start <= leaf.mention.at);
        if before > 0 && scopes[before - 1].contains(&leaf.mention.at) {
            return true;
        }
        let mut function = leaf.function;
        loop {
            let key = (function, name);
            if bound.contains(&key) && !global.contains(&key) {
                return true;
            }
            let Some(at) = function else { return false };
            function = source.function(source.outer[at]);
        }
    };
    let is_use = |leaf: &Leaf| match leaf.role {
        Role::Called => true,
        Role::None | Role::Global => false,
        Role::Binding if leaf.scope.is_some() => false,
        Role::Use | Role::Binding | Role::FileBinding => !is_local(leaf),
    };
    let uses: Vec<bool> = leaves.iter().map(is_use).collect();
    let mentions = leaves.into_iter().zip(uses).filter_map(|(mut leaf, is_use)| {
        let is_label = leaf.is_label && is_field(&leaf.mention.name) == Some(true);
        if is_label && !is_use {
            leaf.mention.owner = Owner::Other;
        }
        (is_use || is_label || leaf.mention.defines.is_some()).then_some(leaf.mention)
    });
    mentions.collect()
}

/// Returns the end of the declaration of a variable, from which on it is in scope.
fn declared(variable: Node<'_>, scope: &Range<usize>) -> Option<usize> {
    let around = iter::successors(variable.parent(), Node::parent);
    let inside = around.take_while(|node| node.byte_range() != *scope);
    inside.filter(|node| DECLARATIONS.contains(&node.kind())).last().map(|declaration| declaration.end_byte())
}

/// Returns the names that a name in a source can stand for.
fn spellings(name: &str, path: &[Step<'_>]) -> impl Iterator<Item = String> {
    let ending = match path {
        // C#: `[Total]` is the class `TotalAttribute`.
        [.., ("attribute", Some("name"))]
        | [.., ("attribute", Some("name")), ("qualified_name", Some("name"))] => Some("Attribute"),
        // Ruby: `a.total = 1` calls `total=`.
        [
            ..,
            ("assignment" | "operator_assignment", Some("left")) | ("left_assignment_list", _),
            ("call", Some("method")),
        ] => Some("="),
        _ => None,
    };
    [Some(name.to_owned()), ending.map(|ending| format!("{name}{ending}"))].into_iter().flatten()
}

/// Returns the owner that is written before a name.
fn owner(text: &str, name: Range<usize>, path: &[Step<'_>]) -> Owner {
    if path.iter().any(|(kind, _)| kind.contains("import") || kind.contains("use_declaration")) {
        let is_module = text[name.end..].trim_start().starts_with(['.', ':', '\\']);
        return if is_module { Owner::Other } else { Owner::Import };
    }
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let before = text[..name.start].trim_end_matches('$').trim_end();
    let owner = match before.strip_suffix('.') {
        // `0..total`, `...total`
        Some(owner) => Some(owner).filter(|owner| !owner.ends_with('.')),
        // `::total` alone is a name in scope.
        None => ["->", "::", "\\"]
            .iter()
            .find_map(|mark| before.strip_suffix(mark))
            .filter(|owner| owner.ends_with(|char| is_part(char) || ">)]?".contains(char))),
    };
    let Some(owner) = owner else { return Owner::Scope };
    let owner = owner.trim_end_matches(['?', '!']).trim_end();
    match owner.rsplit(|char| !is_part(char)).next() {
        Some("self" | "this" | "cls" | "Self" | "static") => Owner::Itself,
        _ => Owner::Other,
    }
}

/// Returns true if a name is that of an argument or of a field of another definition.
fn is_label(node: Node<'_>, path: &[Step<'_>]) -> bool {
    let around = path.iter().rev().find(|(kind, _)| *kind != "literal_element");
    SHORTHANDS.contains(&node.kind())
        || around.is_some_and(|(kind, field)| match *kind {
            "shorthand_field_initializer" => true,
            // Kotlin has no field for it.
            "value_argument" => node.next_sibling().is_some_and(|next| next.kind() == "="),
            kind => LABELS.contains(&(kind, field.unwrap_or_default())),
        })
}

/// Returns true if a symbol of Ruby is the name of a method: `before_action :total`, `a.send(:total)`, `a.map(&:total)`.
fn is_sent(symbol: Node<'_>, text: &str) -> bool {
    let mut around = iter::successors(symbol.parent(), Node::parent);
    let parts = ["argument_list", "pair", "array", "symbol_array", "bare_symbol"];
    let Some(call) = around.find(|node| !parts.contains(&node.kind())) else {
        return false;
    };
    let method = |call: Node<'_>| call.child_by_field_name("method").map(|name| &text[name.byte_range()]);
    match (call.kind(), method(call)) {
        ("block_argument", _) => true,
        ("call", Some(name)) if SENDERS.contains(&name) => true,
        // A directive of a class, unless it names something new.
        ("call", Some(name)) if call.child_by_field_name("receiver").is_none() => {
            let defines = name.starts_with("has_") || ["belongs_to", "scope", "attribute"].contains(&name);
            let outer = around.find(|node| match node.kind() {
                "body_statement" => false,
                "do_block" | "block" => node.parent().and_then(method) != Some("included"),
                kind => kind != "call",
            });
            !defines && outer.is_some_and(|outer| ["class", "module"].contains(&outer.kind()))
        }
        _ => false,
    }
}

/// Returns the scopes that bind each name, in order and without those inside of others: scopes of a tree are nested or apart.
fn by_name<'l>(
    scopes: impl Iterator<Item = (&'l str, &'l Range<usize>)>,
) -> HashMap<&'l str, Vec<&'l Range<usize>>> {
    let mut by_name: HashMap<_, Vec<&Range<usize>>> = HashMap::new();
    for (name, scope) in scopes {
        by_name.entry(name).or_default().push(scope);
    }
    for scopes in by_name.values_mut() {
        scopes.sort_unstable_by_key(|scope| (scope.start, Reverse(scope.end)));
        scopes.dedup_by(|inner, outer| inner.end <= outer.end);
    }
    by_name
}

/// Returns the role of a name by its owner and the nodes around it, outermost first, each with the field that contains the next one.
fn role(node: Node<'_>, path: &[Step<'_>], owner: Owner, text: &str) -> Role {
    let Some((kind, field)) = path.last() else {
        return Role::Use;
    };
    let field = field.unwrap_or_default();
    if kind.contains("global_statement") || kind.contains("nonlocal_statement") {
        return Role::Global;
    }
    if MODULES.iter().any(|module| path.contains(module)) {
        return Role::None;
    }
    // `export { default as total } from "./total"`
    let renamed = node.parent().and_then(|parent| parent.child_by_field_name("name"));
    let is_default = renamed.is_some_and(|renamed| &text[renamed.byte_range()] == "default");
    if ALIASES.contains(&(*kind, field)) && !is_default {
        return Role::FileBinding;
    }
    let is_label = is_label(node, path);
    match (*kind, node.kind()) {
        // PHP's variables have a mark that tells them from everything else.
        ("variable_name", _) if owner == Owner::Scope => return Role::None,
        ("lifetime" | "label", _) => return Role::None,
        ("export_specifier", _) if field == "alias" && !is_default => return Role::None,
        (_, "simple_symbol" | "string_content") if is_label || !is_sent(node, text) => return Role::None,
        (_, "simple_symbol" | "string_content" | "private_property_identifier") => return Role::Called,
        ("shorthand_field_initializer", _) => {}
        (_, kind) if SHORTHANDS.contains(&kind) => {}
        _ if is_label => return Role::None,
        (_, "field_identifier" | "property_identifier") => return Role::Called,
        _ if CALLED.contains(&(*kind, field)) || owner != Owner::Scope => return Role::Called,
        _ => {}
    }
    let binding = path.iter().rev().enumerate().find(|(_, (kind, _))| !PATTERNS.contains(kind));
    let binding = binding.filter(|(_, (kind, field))| {
        let field = field.unwrap_or_default();
        BINDINGS.iter().any(|(of, within)| of == kind && (within.is_empty() || *within == field))
    });
    match binding {
        // The default of a parameter is a use.
        Some(_) if matches!(field, "value" | "right" | "type") => Role::Use,
        Some((_, (kind, _))) if OF_FILE.contains(kind) => Role::FileBinding,
        Some(_) => Role::Binding,
        None => Role::Use,
    }
}

/// Calls `each` with each name of a tree, the nodes around it, and the bytes of the innermost scope among these, a node of one of the kinds.
fn walk<'t>(
    tree: &'t Tree,
    kinds: &[&str],
    mut each: impl FnMut(Node<'t>, &[Step<'t>], Option<&Range<usize>>),
) {
    let mut cursor = tree.walk();
    let mut path: Vec<Step<'t>> = vec![];
    // The scopes around the node, outermost first, each with the length of the path to it.
    let mut scopes: Vec<(usize, Range<usize>)> = vec![];
    loop {
        let node = cursor.node();
        let kind = node.kind();
        if !kind.contains("comment") && cursor.goto_first_child() {
            if kinds.contains(&kind) {
                scopes.push((path.len(), node.byte_range()));
            }
            path.push((kind, cursor.field_name()));
            continue;
        }
        let around = path.last().map_or("", |(kind, _)| *kind);
        if node.is_named() && is_name(kind, around) {
            each(node, &path, scopes.last().map(|(_, scope)| scope));
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            path.pop();
            scopes.pop_if(|(depth, _)| *depth == path.len());
        }
        if let Some(last) = path.last_mut() {
            last.1 = cursor.field_name();
        }
    }
}

/// Returns true if leaves of this kind contain names: not comments, nor parts of texts, nor arguments of commands.
fn is_name(kind: &str, around: &str) -> bool {
    (kind.contains("identifier") && kind != "statement_identifier")
        || matches!(kind, "name" | "constant" | "variable_name" | "preproc_arg" | "simple_symbol")
        || matches!((around, kind), ("command_name", "word") | ("bare_symbol", "string_content"))
}

/// Returns the words of a text that can be names or parts of them, each with its position.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    // Letters beyond ASCII are parts of names in most languages.
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let mut at = 0;
    iter::from_fn(move || {
        at += text[at..].iter().position(is_part)?;
        let length = text[at..].iter().take_while(|byte| is_part(byte)).count();
        let word = (at, &text[at..at + length]);
        at += length;
        Some(word)
    })
}
