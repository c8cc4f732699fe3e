//! Contexts of a place: a test, an asynchronous function, an item with documentation.

use tabellion_syntax::Language;

use crate::{
    flat::{FlatTree, Index},
    grammar::Roles,
    rule::Context,
    rust_tests,
};

/// Nodes around an item before which its documentation can stand.
const WRAPPERS: [&str; 7] = [
    "export_statement",
    "template_declaration",
    "type_declaration",
    "lexical_declaration",
    "const_declaration",
    "var_declaration",
    "var_spec_list",
];

/// A file whose nodes are looked up.
pub(crate) struct Surroundings<'tree> {
    pub(crate) tree: &'tree FlatTree<'tree>,
    pub(crate) language: Language,
    /// True if all of the file is tests, by its path or by the module that declares it.
    pub(crate) is_test_file: bool,
}

impl Surroundings<'_> {
    /// Returns true if the node at `index` is in the context.
    pub(crate) fn is_in(&self, context: Context, index: Index) -> bool {
        match context {
            Context::Test => {
                self.is_test_file
                    || (self.language == Language::Rust && rust_tests::is_test(self.tree, index))
            }
            Context::Async => self.is_async(index),
            Context::Documented => self.is_documented(index),
            Context::Comment => {
                self.is_below(index, |around| self.tree.nodes[around].roles.has(Roles::COMMENT))
            }
            Context::Function => {
                self.is_below(index, |around| self.tree.nodes[around].roles.has(Roles::FUNCTION))
            }
            Context::Constant => self.is_below(index, |around| self.is_constant(around)),
        }
    }

    /// Returns true if `is_such` holds for a node or one of its ancestors.
    fn is_below(&self, index: Index, is_such: impl Fn(Index) -> bool) -> bool {
        is_such(index) || self.tree.ancestors(index).any(is_such)
    }

    /// Returns true if a node declares a constant. In languages without constants, a name in capitals marks one.
    fn is_constant(&self, index: Index) -> bool {
        let text = self.tree.text(index);
        let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
        let is_capital =
            |name: &str| !name.is_empty() && !name.contains(|letter: char| letter.is_lowercase());
        let is_named_so =
            |field| self.tree.field(index, field).is_some_and(|name| is_capital(self.tree.text(name)));
        match self.tree.nodes[index].kind {
            "const_item" | "static_item" | "const_declaration" | "enumerator" | "enum_variant" => true,
            "local_variable_declaration" => begins(&["final "]),
            "declaration" => begins(&["const ", "constexpr ", "static const"]),
            "variable_declarator" => is_named_so("name"),
            "assignment" => is_named_so("left"),
            _ => false,
        }
    }

    /// Returns true if the innermost function around a node is asynchronous. A closure in it may run anywhere, so it does not count.
    fn is_async(&self, index: Index) -> bool {
        for around in self.tree.ancestors(index) {
            let node = &self.tree.nodes[around];
            if node.kind == "async_block" {
                return true;
            }
            if node.roles.has(Roles::FUNCTION) {
                let mut head = self.tree.children(around).flat_map(|child| {
                    let modifiers =
                        Some(child).filter(|&child| self.tree.nodes[child].kind == "function_modifiers");
                    std::iter::once(child)
                        .chain(modifiers.into_iter().flat_map(|modifiers| self.tree.children(modifiers)))
                });
                return head.any(|token| self.tree.nodes[token].kind == "async");
            }
        }
        false
    }

    /// Returns true if a documentation comment belongs to an item.
    fn is_documented(&self, index: Index) -> bool {
        if self.language == Language::Python {
            return self.has_docstring(index) || self.completes_other(index);
        }
        // `export class` and `template<…> class` are documented before the outer node, as groups of Go can be.
        let wrapper = |&item: &Index| {
            self.tree.parent(item).filter(|&parent| {
                let kind = self.tree.nodes[parent].kind;
                WRAPPERS.contains(&kind)
                    || self.tree.nodes[parent].bytes.start == self.tree.nodes[item].bytes.start
                        && kind == "declaration"
            })
        };
        std::iter::successors(Some(index), wrapper).any(|item| self.follows_documentation(item))
    }

    /// Returns true if a documentation comment is right before a node.
    fn follows_documentation(&self, item: Index) -> bool {
        let mut next_line = self.tree.nodes[item].lines.0;
        for sibling in self.tree.named_before(item) {
            let node = &self.tree.nodes[sibling];
            let text = self.tree.text(sibling);
            if node.roles.has(Roles::COMMENT) {
                if node.lines.1 + 1 < next_line {
                    return false;
                }
                if self.is_documentation(text) {
                    return true;
                }
            } else if node.kind == "attribute_item" {
                let inner = text.trim_start_matches(['#', '[', ' ']);
                if inner.starts_with("doc") {
                    return true;
                }
            } else if node.kind != "decorator" {
                return false;
            }
            next_line = node.lines.0;
        }
        false
    }

    fn is_documentation(&self, comment: &str) -> bool {
        match self.language {
            Language::Go => !comment.starts_with("//go:"),
            Language::Rust | Language::C | Language::Cpp => {
                ["///", "/**", "//!", "/*!"].iter().any(|mark| comment.starts_with(mark))
            }
            _ => comment.starts_with("/**"),
        }
    }

    /// Returns true for a definition in Python that is documented at a different one: a signature beside others, or the setter of a property.
    fn completes_other(&self, index: Index) -> bool {
        let decorated =
            self.tree.parent(index).filter(|&around| self.tree.nodes[around].kind == "decorated_definition");
        let mut decorators = decorated.into_iter().flat_map(|around| self.tree.children(around));
        decorators.any(|child| {
            let name = self.tree.text(child).trim();
            let last = name.rsplit(['.', '@']).next().unwrap_or_default();
            self.tree.nodes[child].kind == "decorator"
                && (last == "overload"
                    || name.contains('.') && ["setter", "deleter", "getter"].contains(&last))
        })
    }

    fn has_docstring(&self, index: Index) -> bool {
        let Some(body) = self.tree.field(index, "body") else {
            return false;
        };
        let is_comment = |&child: &Index| self.tree.nodes[child].roles.has(Roles::COMMENT);
        let first = self.tree.named_children(body).find(|child| !is_comment(child));
        let expression = first.and_then(|first| self.tree.children(first).next());
        expression.is_some_and(|expression| self.tree.nodes[expression].roles.has(Roles::STRING))
    }
}
