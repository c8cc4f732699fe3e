//! Roles of the kinds of nodes for metrics and contexts, for each language, as data.
//!
//! A kind that a grammar does not have fails a test: grammars rename them.

use std::{collections::HashMap, sync::LazyLock};

use tabellion_syntax::{Language, tree_sitter};

/// The roles of a node: a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Roles(u16);

impl Roles {
    /// A function, or a construct that works like one.
    pub(crate) const FUNCTION: Self = Self(1);
    /// A function without a name of its own: a closure, a lambda.
    pub(crate) const LAMBDA: Self = Self(1 << 1);
    /// A control structure, in which others are nested.
    pub(crate) const STRUCTURE: Self = Self(1 << 2);
    /// An `if` with alternatives.
    pub(crate) const IF: Self = Self(1 << 3);
    /// An `else` or `elif` that is a node of its own.
    pub(crate) const ELSE: Self = Self(1 << 4);
    /// An additional path through a function.
    pub(crate) const DECISION: Self = Self(1 << 5);
    /// A control structure that is an additional path, too.
    pub(crate) const BRANCHING: Self = Self::STRUCTURE.with(Self::DECISION);
    /// A branch of a choice that has no default: all but the first are decisions.
    pub(crate) const ARM: Self = Self(1 << 6);
    /// An expression whose operator can be `&&` or the like.
    pub(crate) const LOGICAL: Self = Self(1 << 7);
    /// Parentheses around an expression.
    pub(crate) const PARENTHESES: Self = Self(1 << 8);
    /// A jump that may name a label.
    pub(crate) const JUMP: Self = Self(1 << 9);
    /// A jump to a label.
    pub(crate) const GOTO: Self = Self(1 << 10);
    /// A call.
    pub(crate) const CALL: Self = Self(1 << 11);
    /// A comment.
    pub(crate) const COMMENT: Self = Self(1 << 12);
    /// A string, which counts as one operand, whatever its parts.
    pub(crate) const STRING: Self = Self(1 << 13);
    /// The name of a label.
    pub(crate) const LABEL: Self = Self(1 << 14);
    /// The head of a loop, which is not nested in it.
    pub(crate) const HEAD: Self = Self(1 << 15);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The roles of a language's nodes and tokens.
pub(crate) struct Kinds {
    language: Language,
    roles: &'static [(Roles, &'static [&'static str])],
    /// Tokens that are decisions where their parent is of this kind.
    pub(crate) decision_tokens: &'static [(&'static str, &'static str)],
    /// Operators whose sequences count.
    pub(crate) logical: &'static [&'static str],
    /// The functions that count on their own inside a function without a control structure.
    pub(crate) declared: Declared,
}

/// The functions that a function without a control structure only declares: SonarSource's exception for JavaScript and Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    /// None: the language has other ways to group functions.
    None,
    /// Those that have names.
    Named,
    /// Those without names, too.
    All,
}

/// A language's table, indexed by the numbers of kinds.
pub(crate) struct Grammar {
    pub(crate) kinds: &'static Kinds,
    grammar: tree_sitter::Language,
    by_id: Vec<Roles>,
}

impl Grammar {
    /// Returns the table of a language; `None` for a language without one.
    pub(crate) fn for_language(language: Language) -> Option<&'static Self> {
        static GRAMMARS: LazyLock<HashMap<Language, Grammar>> =
            LazyLock::new(|| ALL.iter().map(|kinds| (kinds.language, Grammar::new(kinds))).collect());
        GRAMMARS.get(&language)
    }

    fn new(kinds: &'static Kinds) -> Self {
        let grammar = kinds.language.grammar();
        let roles_of = |kind: &str| {
            let roles = kinds.roles.iter().filter(|(_, names)| names.contains(&kind));
            roles.fold(Roles::default(), |all, (role, _)| all.with(*role))
        };
        let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
        let named = |id: u16| grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id));
        let by_id = (0..count).map(|id| named(id).map(roles_of).unwrap_or_default()).collect();
        Self { kinds, grammar, by_id }
    }

    /// Returns the name of a kind.
    pub(crate) fn kind(&'static self, kind: u16) -> &'static str {
        self.grammar.node_kind_for_id(kind).unwrap_or_default()
    }

    /// Returns the name of a field.
    pub(crate) fn field(&'static self, field: std::num::NonZeroU16) -> Option<&'static str> {
        self.grammar.field_name_for_id(field.get())
    }

    pub(crate) fn roles(&self, kind: u16) -> Roles {
        self.by_id.get(usize::from(kind)).copied().unwrap_or_default()
    }
}

/// Fields of a control structure that precede its body.
pub(crate) const HEAD_FIELDS: &[&str] = &[
    "condition",
    "value",
    "initializer",
    "init",
    "initialize",
    "update",
    "left",
    "right",
    "pattern",
    "subject",
];

const ALL: &[Kinds] = &[RUST, PYTHON, JAVASCRIPT, TYPESCRIPT, TSX, GO, JAVA, C, CPP];

const RUST: Kinds = Kinds {
    language: Language::Rust,
    roles: &[
        (Roles::FUNCTION, &["function_item", "closure_expression"]),
        (Roles::LAMBDA, &["closure_expression"]),
        (Roles::BRANCHING, &["if_expression", "while_expression", "for_expression"]),
        (Roles::STRUCTURE, &["match_expression", "loop_expression"]),
        (Roles::IF, &["if_expression"]),
        (Roles::ELSE, &["else_clause"]),
        (Roles::DECISION, &["try_expression"]),
        (Roles::ARM, &["match_arm"]),
        (Roles::LOGICAL, &["binary_expression", "let_chain"]),
        (Roles::PARENTHESES, &["parenthesized_expression"]),
        (Roles::JUMP, &["break_expression", "continue_expression"]),
        (Roles::LABEL, &["label"]),
        (Roles::CALL, &["call_expression"]),
        (Roles::COMMENT, &["line_comment", "block_comment"]),
        (Roles::STRING, &["string_literal", "raw_string_literal", "char_literal"]),
    ],
    decision_tokens: &[("match_pattern", "if"), ("let_declaration", "else")],
    logical: &["&&", "||"],
    declared: Declared::None,
};

const PYTHON: Kinds = Kinds {
    language: Language::Python,
    roles: &[
        (Roles::FUNCTION, &["function_definition", "lambda"]),
        (Roles::LAMBDA, &["lambda"]),
        (
            Roles::BRANCHING,
            &["if_statement", "for_statement", "while_statement", "except_clause", "conditional_expression"],
        ),
        (Roles::STRUCTURE, &["match_statement"]),
        (Roles::IF, &["if_statement"]),
        (Roles::ELSE, &["elif_clause", "else_clause"]),
        (Roles::DECISION, &["elif_clause", "for_in_clause", "if_clause"]),
        (Roles::LOGICAL, &["boolean_operator"]),
        (Roles::PARENTHESES, &["parenthesized_expression"]),
        (Roles::CALL, &["call"]),
        (Roles::COMMENT, &["comment"]),
        (Roles::STRING, &["string"]),
    ],
    decision_tokens: &[("case_clause", "case")],
    logical: &["and", "or"],
    declared: Declared::Named,
};

const SCRIPT_ROLES: &[(Roles, &[&str])] = &[
    (
        Roles::FUNCTION,
        &[
            "function_declaration",
            "generator_function_declaration",
            "function_expression",
            "generator_function",
            "arrow_function",
            "method_definition",
        ],
    ),
    (Roles::LAMBDA, &["function_expression", "generator_function", "arrow_function"]),
    (
        Roles::BRANCHING,
        &[
            "if_statement",
            "for_statement",
            "for_in_statement",
            "while_statement",
            "do_statement",
            "catch_clause",
            "ternary_expression",
        ],
    ),
    (Roles::STRUCTURE, &["switch_statement"]),
    (Roles::IF, &["if_statement"]),
    (Roles::ELSE, &["else_clause"]),
    (Roles::LOGICAL, &["binary_expression"]),
    (Roles::PARENTHESES, &["parenthesized_expression"]),
    (Roles::JUMP, &["break_statement", "continue_statement"]),
    (Roles::LABEL, &["statement_identifier"]),
    (Roles::CALL, &["call_expression"]),
    (Roles::COMMENT, &["comment"]),
    (Roles::STRING, &["string", "regex"]),
];

const JAVASCRIPT: Kinds = Kinds {
    language: Language::JavaScript,
    roles: SCRIPT_ROLES,
    decision_tokens: &[("switch_case", "case")],
    logical: &["&&", "||", "??"],
    declared: Declared::All,
};

const TYPESCRIPT: Kinds = Kinds { language: Language::TypeScript, ..JAVASCRIPT };

const TSX: Kinds = Kinds { language: Language::Tsx, ..JAVASCRIPT };

const GO: Kinds = Kinds {
    language: Language::Go,
    roles: &[
        (Roles::FUNCTION, &["function_declaration", "method_declaration", "func_literal"]),
        (Roles::LAMBDA, &["func_literal"]),
        (Roles::BRANCHING, &["if_statement", "for_statement"]),
        (Roles::STRUCTURE, &["expression_switch_statement", "type_switch_statement", "select_statement"]),
        (Roles::IF, &["if_statement"]),
        (Roles::HEAD, &["for_clause", "range_clause"]),
        (Roles::LOGICAL, &["binary_expression"]),
        (Roles::PARENTHESES, &["parenthesized_expression"]),
        (Roles::JUMP, &["break_statement", "continue_statement"]),
        (Roles::GOTO, &["goto_statement"]),
        (Roles::LABEL, &["label_name"]),
        (Roles::CALL, &["call_expression"]),
        (Roles::COMMENT, &["comment"]),
        (Roles::STRING, &["interpreted_string_literal", "raw_string_literal", "rune_literal"]),
    ],
    decision_tokens: &[("expression_case", "case"), ("type_case", "case"), ("communication_case", "case")],
    logical: &["&&", "||"],
    declared: Declared::None,
};

const JAVA: Kinds = Kinds {
    language: Language::Java,
    roles: &[
        (
            Roles::FUNCTION,
            &[
                "method_declaration",
                "constructor_declaration",
                "compact_constructor_declaration",
                "lambda_expression",
            ],
        ),
        (Roles::LAMBDA, &["lambda_expression"]),
        (
            Roles::BRANCHING,
            &[
                "if_statement",
                "for_statement",
                "enhanced_for_statement",
                "while_statement",
                "do_statement",
                "catch_clause",
                "ternary_expression",
            ],
        ),
        (Roles::STRUCTURE, &["switch_expression"]),
        (Roles::IF, &["if_statement"]),
        (Roles::LOGICAL, &["binary_expression"]),
        (Roles::PARENTHESES, &["parenthesized_expression"]),
        (Roles::JUMP, &["break_statement", "continue_statement"]),
        (Roles::LABEL, &["identifier"]),
        (Roles::CALL, &["method_invocation"]),
        (Roles::COMMENT, &["line_comment", "block_comment"]),
        (Roles::STRING, &["string_literal", "character_literal"]),
    ],
    decision_tokens: &[("switch_label", "case")],
    logical: &["&&", "||"],
    declared: Declared::None,
};

const C: Kinds = Kinds {
    language: Language::C,
    roles: &[
        (Roles::FUNCTION, &["function_definition"]),
        (
            Roles::BRANCHING,
            &["if_statement", "for_statement", "while_statement", "do_statement", "conditional_expression"],
        ),
        (Roles::STRUCTURE, &["switch_statement"]),
        (Roles::IF, &["if_statement"]),
        (Roles::ELSE, &["else_clause"]),
        (Roles::LOGICAL, &["binary_expression"]),
        (Roles::PARENTHESES, &["parenthesized_expression"]),
        (Roles::GOTO, &["goto_statement"]),
        (Roles::CALL, &["call_expression"]),
        (Roles::COMMENT, &["comment"]),
        (Roles::STRING, &["string_literal", "char_literal", "system_lib_string"]),
    ],
    decision_tokens: &[("case_statement", "case")],
    logical: &["&&", "||"],
    declared: Declared::None,
};

const CPP: Kinds = Kinds {
    language: Language::Cpp,
    roles: &[
        (Roles::FUNCTION, &["function_definition", "lambda_expression"]),
        (Roles::LAMBDA, &["lambda_expression"]),
        (
            Roles::BRANCHING,
            &[
                "if_statement",
                "for_statement",
                "for_range_loop",
                "while_statement",
                "do_statement",
                "conditional_expression",
                "catch_clause",
            ],
        ),
        (Roles::STRUCTURE, &["switch_statement"]),
        (Roles::IF, &["if_statement"]),
        (Roles::ELSE, &["else_clause"]),
        (Roles::LOGICAL, &["binary_expression"]),
        (Roles::PARENTHESES, &["parenthesized_expression"]),
        (Roles::GOTO, &["goto_statement"]),
        (Roles::CALL, &["call_expression"]),
        (Roles::COMMENT, &["comment"]),
        (Roles::STRING, &["string_literal", "raw_string_literal", "char_literal", "system_lib_string"]),
    ],
    decision_tokens: &[("case_statement", "case")],
    logical: &["&&", "||", "and", "or"],
    declared: Declared::None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_one_of_its_grammar() {
        for kinds in ALL {
            let grammar = kinds.language.grammar();
            let named = kinds.roles.iter().flat_map(|(_, names)| *names);
            let parents = kinds.decision_tokens.iter().map(|(parent, _)| parent);
            for kind in named.chain(parents) {
                assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{}: {kind}", kinds.language.name());
            }
            let tokens = kinds.decision_tokens.iter().map(|(_, token)| token);
            for token in tokens.chain(kinds.logical) {
                assert_ne!(grammar.id_for_node_kind(token, false), 0, "{}: {token}", kinds.language.name());
            }
        }
    }
}
