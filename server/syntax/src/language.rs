//! The languages: the extensions of their files, and the nodes of their trees that are definitions.

use std::{path::Path, sync::OnceLock};

use tree_sitter::Language as Grammar;

use crate::symbol_kind::SymbolKind::{self, *};

/// Defines the languages, each with its facts, as `pub enum Language`.
macro_rules! languages {
    ($($(#[doc = $doc:literal])* $(#[cfg($feature:meta)])? $name:ident = $facts:path,)*) => {
        /// A programming language whose files are parsed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Language {
            $($(#[doc = $doc])* $(#[cfg($feature)])? $name,)*
        }

        impl Language {
            /// All languages of this build.
            pub const ALL: &[Self] = &[$($(#[cfg($feature)])? Self::$name,)*];

            pub(crate) fn facts(self) -> &'static Facts {
                match self {
                    $($(#[cfg($feature)])? Self::$name => &$facts,)*
                }
            }
        }
    };
}

languages! {
    /// Rust.
    Rust = RUST,
    /// Python, with its stubs.
    Python = PYTHON,
    /// JavaScript, with JSX.
    JavaScript = JAVASCRIPT,
    /// TypeScript.
    TypeScript = TYPESCRIPT,
    /// TypeScript with JSX.
    Tsx = TSX,
    /// Go.
    Go = GO,
    /// Java.
    Java = JAVA,
    /// C. Headers named `.h` are read as C++, which has nearly all of C.
    C = C,
    /// C++.
    Cpp = CPP,
    /// C#.
    #[cfg(feature = "more-languages")]
    CSharp = more::CSHARP,
    /// Ruby.
    #[cfg(feature = "more-languages")]
    Ruby = more::RUBY,
    /// PHP.
    #[cfg(feature = "more-languages")]
    Php = more::PHP,
    /// Swift.
    #[cfg(feature = "more-languages")]
    Swift = more::SWIFT,
    /// Kotlin.
    #[cfg(feature = "more-languages")]
    Kotlin = more::KOTLIN,
    /// Scripts of Bash and other shells.
    #[cfg(feature = "more-languages")]
    Shell = more::SHELL,
}

/// A node that is a definition: its kind in the grammar, the kind of its symbol, and the word that the symbol begins with; empty if the
/// language has none.
pub(crate) type Definition = (&'static str, SymbolKind, &'static str);

/// The role of nodes of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    /// They define a symbol, which begins with the word.
    Defines(SymbolKind, &'static str),
    /// They precede an item and belong to it.
    Leads,
}

/// The parameters of a C++ template, between `template` and the item.
pub(crate) const TEMPLATE: &str = "template_parameter_list";

/// A member of a TypeScript enumeration that has no value. Elsewhere such a node is a part of a definition, or a use.
pub(crate) const MEMBER: &str = "property_identifier";

/// Names and nodes of a language.
pub(crate) struct Facts {
    name: &'static str,
    extensions: &'static [&'static str],
    grammar: fn() -> Grammar,
    definitions: &'static [Definition],
    /// Nodes that precede an item and belong to it.
    pub(crate) leading: &'static [&'static str],
}

/// Names of files that show their language.
const NAMES: &[(&str, &[&str])] = &[
    (
        "ruby",
        &["Rakefile", "Gemfile", "Guardfile", "Podfile", "Fastfile", "Vagrantfile", "Brewfile", "Capfile"],
    ),
    ("python", &["SConstruct", "SConscript", "wscript"]),
    ("shell", &[".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zshenv", "PKGBUILD"]),
];

impl Language {
    /// Returns the language of a file by its name, or the name's extension, in any case; `None` for files that are read as text.
    pub fn of_path(path: impl AsRef<Path>) -> Option<Self> {
        let name = path.as_ref().file_name()?.to_str()?;
        if let Some((language, _)) = NAMES.iter().find(|(_, names)| names.contains(&name)) {
            return Self::of_name(language);
        }
        let extension = path.as_ref().extension()?.to_str()?;
        // `.C` is C++ by an old custom, `.c` is C.
        if extension == "C" {
            return Some(Self::Cpp);
        }
        let extension = extension.to_ascii_lowercase();
        Self::ALL.iter().copied().find(|language| language.facts().extensions.contains(&extension.as_str()))
    }

    /// Returns the language with this [`name`](Self::name).
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| language.name() == name)
    }

    /// Returns the name, in lower case: `rust`, `cpp`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the extensions of its files, in lower case and without a dot.
    pub fn extensions(self) -> &'static [&'static str] {
        self.facts().extensions
    }

    /// Returns the grammar, for parsers and queries.
    pub fn grammar(self) -> Grammar {
        (self.facts().grammar)()
    }

    /// Returns the role of nodes of a kind, if any. Files have many nodes, so kinds are looked up by number.
    pub(crate) fn role(self, kind: u16) -> Option<Role> {
        static TABLES: [OnceLock<Box<[Option<Role>]>>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        let table = TABLES[self as usize].get_or_init(|| {
            let (grammar, facts) = (self.grammar(), self.facts());
            let of_kind = |kind| {
                let name = grammar.node_kind_for_id(kind)?;
                let definition = facts.definitions.iter().find(|(of, ..)| *of == name);
                let leads = facts.leading.contains(&name) || name == TEMPLATE;
                definition.map(|(_, kind, word)| Role::Defines(*kind, word)).or(leads.then_some(Role::Leads))
            };
            (0..=u16::MAX).take(grammar.node_kind_count()).map(of_kind).collect()
        });
        *table.get(usize::from(kind))?
    }
}

/// Returns true if a definition in these languages begins with the word.
pub(crate) fn is_definition_word(word: &str) -> bool {
    let mut definitions = Language::ALL.iter().flat_map(|language| language.facts().definitions);
    definitions.any(|(.., known)| *known == word)
}

const RUST: Facts = Facts {
    name: "rust",
    extensions: &["rs"],
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    definitions: &[
        ("function_item", Function, "fn"),
        ("function_signature_item", Function, "fn"),
        ("struct_item", Struct, "struct"),
        ("enum_item", Enum, "enum"),
        ("enum_variant", Constant, ""),
        ("union_item", Struct, "union"),
        ("field_declaration", Constant, "field"),
        ("trait_item", Interface, "trait"),
        ("impl_item", Impl, "impl"),
        ("mod_item", Module, "mod"),
        ("type_item", Type, "type"),
        ("associated_type", Type, "type"),
        ("const_item", Constant, "const"),
        ("static_item", Constant, "static"),
        ("macro_definition", Macro, "macro"),
    ],
    leading: &["line_comment", "block_comment", "attribute_item"],
};

const PYTHON: Facts = Facts {
    name: "python",
    extensions: &["py", "pyi", "pyw", "bzl"],
    grammar: || tree_sitter_python::LANGUAGE.into(),
    definitions: &[
        ("function_definition", Function, "def"),
        ("class_definition", Class, "class"),
        ("type_alias_statement", Type, "type"),
        ("assignment", Constant, ""),
    ],
    leading: &["comment", "decorator"],
};

const SCRIPT_DEFINITIONS: &[Definition] = &[
    ("function_declaration", Function, "function"),
    ("generator_function_declaration", Function, "function"),
    ("function_signature", Function, "function"),
    ("function_expression", Function, "function"),
    ("generator_function", Function, "function"),
    ("class", Class, "class"),
    ("class_declaration", Class, "class"),
    ("abstract_class_declaration", Class, "class"),
    ("method_definition", Method, "method"),
    ("method_signature", Method, "method"),
    ("abstract_method_signature", Method, "method"),
    ("export_statement", Constant, "const"),
    ("variable_declarator", Constant, "const"),
    ("field_definition", Constant, "field"),
    ("public_field_definition", Constant, "field"),
    ("property_signature", Constant, "field"),
    ("required_parameter", Constant, "field"),
    ("optional_parameter", Constant, "field"),
    ("assignment_expression", Constant, ""),
    ("pair", Constant, ""),
    ("interface_declaration", Interface, "interface"),
    ("type_alias_declaration", Type, "type"),
    ("enum_declaration", Enum, "enum"),
    ("enum_assignment", Constant, ""),
    (MEMBER, Constant, ""),
    ("internal_module", Module, "namespace"),
    ("module", Module, "module"),
];

const JAVASCRIPT: Facts = Facts {
    name: "javascript",
    extensions: &["js", "jsx", "mjs", "cjs"],
    grammar: || tree_sitter_javascript::LANGUAGE.into(),
    definitions: SCRIPT_DEFINITIONS,
    leading: &["comment", "decorator"],
};

const TYPESCRIPT: Facts = Facts {
    name: "typescript",
    extensions: &["ts", "mts", "cts"],
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    definitions: SCRIPT_DEFINITIONS,
    leading: &["comment", "decorator"],
};

const TSX: Facts = Facts {
    name: "tsx",
    extensions: &["tsx"],
    grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    definitions: SCRIPT_DEFINITIONS,
    leading: &["comment", "decorator"],
};

const GO: Facts = Facts {
    name: "go",
    extensions: &["go"],
    grammar: || tree_sitter_go::LANGUAGE.into(),
    definitions: &[
        ("package_clause", Module, "package"),
        ("function_declaration", Function, "func"),
        ("method_declaration", Method, "func"),
        ("method_elem", Method, "func"),
        ("type_spec", Type, "type"),
        ("type_alias", Type, "type"),
        ("field_declaration", Constant, "field"),
        ("const_spec", Constant, "const"),
        ("var_spec", Constant, "var"),
    ],
    leading: &["comment"],
};

const JAVA: Facts = Facts {
    name: "java",
    extensions: &["java"],
    grammar: || tree_sitter_java::LANGUAGE.into(),
    definitions: &[
        ("package_declaration", Module, "package"),
        ("class_declaration", Class, "class"),
        ("interface_declaration", Interface, "interface"),
        ("annotation_type_declaration", Interface, "@interface"),
        ("enum_declaration", Enum, "enum"),
        ("record_declaration", Class, "record"),
        ("method_declaration", Method, "method"),
        ("constructor_declaration", Method, "constructor"),
        ("compact_constructor_declaration", Method, "constructor"),
        ("annotation_type_element_declaration", Method, "method"),
        ("variable_declarator", Constant, "field"),
        ("formal_parameter", Constant, "field"),
        ("enum_constant", Constant, ""),
    ],
    leading: &["line_comment", "block_comment"],
};

const C: Facts = Facts {
    name: "c",
    extensions: &["c"],
    grammar: || tree_sitter_c::LANGUAGE.into(),
    definitions: C_DEFINITIONS,
    leading: &["comment"],
};

const CPP: Facts = Facts {
    name: "cpp",
    extensions: &[
        "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "h++", "ipp", "inl", "tpp", "txx", "cu", "cuh",
        "ino",
    ],
    grammar: || tree_sitter_cpp::LANGUAGE.into(),
    definitions: C_DEFINITIONS,
    leading: &["comment"],
};

/// C++ has C's definitions, and some more.
const C_DEFINITIONS: &[Definition] = &[
    ("function_definition", Function, "function"),
    ("declaration", Function, "function"),
    ("field_declaration", Method, "method"),
    ("struct_specifier", Struct, "struct"),
    ("union_specifier", Struct, "union"),
    ("enum_specifier", Enum, "enum"),
    ("enumerator", Constant, ""),
    ("type_definition", Type, "typedef"),
    ("preproc_def", Macro, "#define"),
    ("preproc_function_def", Macro, "#define"),
    ("class_specifier", Class, "class"),
    ("namespace_definition", Module, "namespace"),
    ("alias_declaration", Type, "using"),
    ("concept_definition", Interface, "concept"),
];

#[cfg(feature = "more-languages")]
mod more {
    use super::*;

    pub(super) const CSHARP: Facts = Facts {
        name: "csharp",
        extensions: &["cs"],
        grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
        definitions: &[
            ("class_declaration", Class, "class"),
            ("struct_declaration", Struct, "struct"),
            ("record_declaration", Class, "record"),
            ("interface_declaration", Interface, "interface"),
            ("enum_declaration", Enum, "enum"),
            ("delegate_declaration", Type, "delegate"),
            ("method_declaration", Method, "method"),
            ("constructor_declaration", Method, "constructor"),
            ("destructor_declaration", Method, "destructor"),
            ("property_declaration", Constant, "property"),
            ("event_declaration", Constant, "event"),
            ("indexer_declaration", Constant, "property"),
            ("operator_declaration", Method, ""),
            ("conversion_operator_declaration", Method, ""),
            ("variable_declarator", Constant, "field"),
            ("parameter", Constant, "property"),
            ("enum_member_declaration", Constant, ""),
            ("namespace_declaration", Module, "namespace"),
            ("file_scoped_namespace_declaration", Module, "namespace"),
            ("local_function_statement", Function, "function"),
        ],
        leading: &["comment", "attribute_list"],
    };

    pub(super) const RUBY: Facts = Facts {
        name: "ruby",
        extensions: &["rb", "rake", "gemspec", "podspec", "ru"],
        grammar: || tree_sitter_ruby::LANGUAGE.into(),
        definitions: &[
            ("method", Method, "def"),
            ("singleton_method", Method, "def"),
            ("class", Class, "class"),
            ("module", Module, "module"),
            ("assignment", Constant, ""),
            ("call", Method, ""),
            ("alias", Method, "alias"),
        ],
        leading: &["comment"],
    };

    pub(super) const PHP: Facts = Facts {
        name: "php",
        extensions: &["php", "phtml"],
        grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
        definitions: &[
            ("function_definition", Function, "function"),
            ("method_declaration", Method, "function"),
            ("class_declaration", Class, "class"),
            ("interface_declaration", Interface, "interface"),
            ("trait_declaration", Class, "trait"),
            ("enum_declaration", Enum, "enum"),
            ("enum_case", Constant, "case"),
            ("const_element", Constant, "const"),
            ("property_element", Constant, ""),
            ("property_promotion_parameter", Constant, ""),
            ("function_call_expression", Constant, "define"),
            ("assignment_expression", Constant, ""),
            ("namespace_definition", Module, "namespace"),
        ],
        leading: &["comment", "attribute_list"],
    };

    pub(super) const SWIFT: Facts = Facts {
        name: "swift",
        extensions: &["swift"],
        grammar: || tree_sitter_swift::LANGUAGE.into(),
        definitions: &[
            ("function_declaration", Function, "func"),
            ("protocol_function_declaration", Method, "func"),
            ("init_declaration", Method, ""),
            ("deinit_declaration", Method, ""),
            ("subscript_declaration", Method, ""),
            ("associatedtype_declaration", Type, "associatedtype"),
            ("macro_declaration", Macro, "macro"),
            ("property_declaration", Constant, ""),
            ("protocol_property_declaration", Constant, ""),
            ("enum_entry", Constant, "case"),
            ("class_declaration", Class, "class"),
            ("protocol_declaration", Interface, "protocol"),
            ("typealias_declaration", Type, "typealias"),
        ],
        leading: &["comment", "multiline_comment"],
    };

    pub(super) const KOTLIN: Facts = Facts {
        name: "kotlin",
        extensions: &["kt", "kts"],
        grammar: || tree_sitter_kotlin_ng::LANGUAGE.into(),
        definitions: &[
            ("package_header", Module, "package"),
            ("function_declaration", Function, "fun"),
            ("secondary_constructor", Method, ""),
            ("property_declaration", Constant, "val"),
            ("class_parameter", Constant, "val"),
            ("enum_entry", Constant, ""),
            ("class_declaration", Class, "class"),
            ("object_declaration", Class, "object"),
            ("companion_object", Class, "object"),
            ("type_alias", Type, "typealias"),
        ],
        leading: &["line_comment", "block_comment"],
    };

    pub(super) const SHELL: Facts = Facts {
        name: "shell",
        extensions: &["sh", "bash", "zsh", "ksh", "bats"],
        grammar: || tree_sitter_bash::LANGUAGE.into(),
        definitions: &[
            ("function_definition", Function, "function"),
            ("variable_assignment", Constant, ""),
            ("command", Function, "alias"),
        ],
        leading: &["comment"],
    };
}
