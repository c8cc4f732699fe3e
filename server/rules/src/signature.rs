//! A function's name, its parameters, and calls of itself.

use crate::{
    flat::{FlatTree, Index},
    grammar::Roles,
};

/// The name for a function without one.
const ANONYMOUS: &str = "<anonymous>";
/// Nodes that make a function in them a method.
const CLASSES: [&str; 6] =
    ["impl_item", "trait_item", "class_definition", "class_body", "class_specifier", "struct_specifier"];
/// Nodes in a list of parameters that are not parameters.
const NO_PARAMETERS: [&str; 6] = [
    "attribute_item",
    "keyword_separator",
    "positional_separator",
    "variadic_parameter",
    "receiver_parameter",
    "ERROR",
];

/// Returns the function's name, or that of the variable it is assigned to.
pub(crate) fn name(tree: &FlatTree<'_>, function: Index) -> String {
    let named = tree.field(function, "name").or_else(|| declared_name(tree, function));
    let assigned = || {
        let holder = tree.parent(function)?;
        let field = ["name", "left", "key", "property", "pattern"]
            .into_iter()
            .find_map(|field| tree.field(holder, field))?;
        Some(field).filter(|&field| field != function && tree.nodes[field].end as usize - field < 8)
    };
    let found = named.or_else(assigned).map(|index| tree.text(index).trim());
    found
        .filter(|text| !text.is_empty() && text.len() <= 200 && !text.contains('\n'))
        .unwrap_or(ANONYMOUS)
        .to_owned()
}

/// In C, a function's name is the innermost of its declarators.
fn declared_name(tree: &FlatTree<'_>, function: Index) -> Option<Index> {
    let declarator = function_declarator(tree, function)?;
    tree.field(declarator, "declarator")
}

fn function_declarator(tree: &FlatTree<'_>, function: Index) -> Option<Index> {
    let mut declarator = tree.field(function, "declarator")?;
    while tree.nodes[declarator].kind != "function_declarator" {
        let inner = |index: Index| {
            let mut children = tree.named_children(index);
            children.find(|&child| tree.nodes[child].kind.ends_with("declarator"))
        };
        declarator = tree.field(declarator, "declarator").or_else(|| inner(declarator))?;
    }
    Some(declarator)
}

/// Returns the number of a function's parameters.
pub(crate) fn parameters(tree: &FlatTree<'_>, function: Index) -> usize {
    let declarator = function_declarator(tree, function);
    let holder = declarator.unwrap_or(function);
    if tree.field(holder, "parameter").is_some() {
        return 1;
    }
    let Some(list) = tree.field(holder, "parameters") else {
        return 0;
    };
    if tree.nodes[list].end as usize == list + 1 {
        return 1;
    }
    tree.named_children(list).map(|child| count(tree, child)).sum()
}

fn count(tree: &FlatTree<'_>, child: Index) -> usize {
    let node = &tree.nodes[child];
    if node.roles.has(Roles::COMMENT) || NO_PARAMETERS.contains(&node.kind) || tree.text(child) == "void" {
        return 0;
    }
    // Go writes several names before one type.
    let names = tree.children(child).filter(|&index| tree.nodes[index].field == Some("name")).count();
    names.max(1)
}

/// Returns true if a function is a method.
pub(crate) fn is_method(tree: &FlatTree<'_>, function: Index) -> bool {
    let functions = |&index: &Index| !tree.nodes[index].roles.has(Roles::FUNCTION);
    tree.ancestors(function).take_while(functions).any(|index| CLASSES.contains(&tree.nodes[index].kind))
}

/// Returns true if a call is one of the function with this name.
pub(crate) fn calls(tree: &FlatTree<'_>, call: Index, name: &str, is_method: bool) -> bool {
    let callee = tree.field(call, "function");
    let text = match callee {
        Some(callee) => tree.text(callee),
        None if tree.field(call, "object").is_none_or(|object| tree.text(object) == "this") => {
            let method = tree.field(call, "name");
            return method.is_some_and(|method| tree.text(method) == name);
        }
        None => return false,
    };
    let of_receiver = ["self.", "Self::", "this.", "this->", "cls."]
        .into_iter()
        .find_map(|prefix| text.strip_prefix(prefix));
    match of_receiver {
        Some(method) => is_method && method == name,
        // In the languages whose methods can be called by their name alone, calls of functions have no `self`.
        None => text == name && (!is_method || tree.nodes[0].kind == "translation_unit"),
    }
}

/// Returns true if a node is Python's documentation of a module, class or function.
pub(crate) fn is_docstring(tree: &FlatTree<'_>, index: Index) -> bool {
    if tree.nodes[index].kind != "expression_statement" || tree.nodes[0].kind != "module" {
        return false;
    }
    let Some(block) = tree.parent(index) else {
        return false;
    };
    let mut statements =
        tree.named_children(block).filter(|&child| !tree.nodes[child].roles.has(Roles::COMMENT));
    let mut parts = tree.children(index);
    let holder = tree.parent(block).map(|holder| tree.nodes[holder].kind);
    statements.next() == Some(index)
        && parts.next().is_some_and(|part| tree.nodes[part].roles.has(Roles::STRING))
        && matches!(holder, None | Some("function_definition" | "class_definition"))
}
