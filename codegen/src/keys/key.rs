//! A key of the contract format, and the Rust that it becomes.

use proc_macro2::{Ident, TokenStream};
use tabellion_runtime::{FailureKind, Schema, Text, spec};

use crate::{
    changes::Changes,
    contract::{Contract, Tool},
    problem::Problem,
    rust::{literal, text::Texts},
};

/// The schema of entries without one, from which only other fields are read.
pub(super) static NO_SCHEMA: Schema = Schema::exact(Text::Written("{}"));

/// Returns the Rust of each field in `written` whose value in `$table` differs from `$usual`. The fields in `others` are written by the
/// `emit` or `emit_tool` of their keys. Both lists together name every field, so that a new one is put into one of them.
macro_rules! set_fields {
    ($of:ident, $table:ident, $usual:ident, written: [$($field:ident),* $(,)?], others: [$($other:ident),* $(,)?]) => {{
        let spec::$of { $($field: _,)* $($other: _,)* } = &$table;
        let fields = [
            $(literal::set_field(concat!(stringify!($of), ".", stringify!($field)), &$table.$field, &$usual.$field)),*
        ];
        fields.into_iter().collect()
    }};
}

/// A key, or a few keys that depend on each other.
pub(crate) trait Key: Sync {
    /// Adds the key's faults that do not depend on schemas.
    fn lint(&self, _contract: &Contract, _problems: &mut Vec<Problem>) {}

    /// Adds the key's faults that depend on schemas. Called only if these are sound.
    fn lint_with_schemas(&self, _contract: &Contract, _problems: &mut Vec<Problem>) {}

    /// Returns the failures that calls of `tool` can end with because of this key.
    fn failures(&self, _tool: &Tool) -> &'static [FailureKind] {
        &[]
    }

    /// Adds the changes of the contract as a whole.
    fn compare(&self, _changes: &mut Changes<'_>, _old: &Contract, _new: &Contract) {}

    /// Adds the changes of one operation.
    fn compare_tool(&self, _changes: &mut Changes<'_>, _old: ToolOf<'_>, _new: ToolOf<'_>) {}

    /// As [`compare_tool`](Self::compare_tool), for a key that tools with operations have as a whole.
    fn compare_any_tool(&self, _changes: &mut Changes<'_>, _old: ToolOf<'_>, _new: ToolOf<'_>) {}

    /// Returns the Rust that the key becomes in the contract: by default its [`fields`](Self::fields). A key with statics, schemas, types or
    /// methods has its own.
    fn emit(&self, contract: &Contract) -> Emitted {
        Emitted { fields: self.fields(contract), ..Emitted::default() }
    }

    /// Returns the Rust that the key becomes in a tool, or in one of its operations: by default the fields in the list below that
    /// [`fill_tool`](Self::fill_tool) sets.
    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        let usual = || spec::ToolSpec::new(&NO_SCHEMA, &NO_SCHEMA);
        let (mut entry, usual) = (usual(), usual());
        self.fill_tool(tool, &mut entry);
        EmittedTool::fields(set_fields!(
            ToolSpec, entry, usual,
            written: [
                description, path, path_in, paths, commit, pending, approval, rate_limit, roles, tags, modes, provenance, effects,
            ],
            others: [
                name, annotations, operations, operation, rows, mutating, scopes, gates, errors, input, output, examples,
            ]
        ))
    }

    /// Returns the Rust of the fields of `CONTRACT` in the list below that [`fill`](Self::fill) sets. Keys write the others in
    /// [`emit`](Self::emit).
    fn fields(&self, contract: &Contract) -> TokenStream {
        let (mut table, usual) = (spec::ContractSpec::EMPTY, spec::ContractSpec::EMPTY);
        self.fill(contract, &mut table);
        set_fields!(
            ContractSpec, table, usual,
            written: [
                id, version, title, document, error_body, statuses, guarantees, previews, log, executions, sessions, rest,
            ],
            others: [
                error_channel, error_details, errors, auth, gates, gate_members, rate_limits, calls, modes, provenance, rows,
                workflows, tools, resources, templates, prompts,
            ]
        )
    }

    /// Sets the fields of the contract's table that [`emit`](Self::emit) writes as Rust.
    fn fill(&self, _contract: &Contract, _table: &mut spec::ContractSpec) {}

    /// Sets the fields of a tool's entry that [`emit_tool`](Self::emit_tool) writes as Rust.
    fn fill_tool(&self, _tool: &Tool, _entry: &mut spec::ToolSpec) {}
}

/// A tool and its contract.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolOf<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) tool: &'a Tool,
}

/// Rust for a contract. Parts without content are empty, so that a contract's module does not change when a key is added.
#[derive(Default)]
pub(crate) struct Emitted {
    /// Fields of `CONTRACT`, each with a comma.
    pub(crate) fields: TokenStream,
    /// Items next to `CONTRACT`.
    pub(crate) items: Vec<TokenStream>,
    /// Types for implementations.
    pub(crate) types: Vec<TokenStream>,
    /// Methods of the trait that implementations implement.
    pub(crate) signatures: Vec<TokenStream>,
    /// Statements of `Service::call` before the operation is chosen. `tool` is the tool's entry, and `call` the context.
    pub(crate) first: TokenStream,
    /// Statements of `Service::call` before the operation's method is called. `operation` is its entry.
    pub(crate) before: TokenStream,
    /// Arms of `Service::call` in addition to those of tools. `run` is the call.
    pub(crate) arms: Vec<TokenStream>,
    /// Methods of the `impl Contract for Service`.
    pub(crate) methods: Vec<TokenStream>,
    /// State of `Service`.
    pub(crate) state: Option<State>,
    /// The texts, for the file next to the generated module.
    pub(crate) texts: Texts,
}

/// A field of `Service`.
pub(crate) struct State {
    pub(crate) name: Ident,
    pub(crate) of_type: TokenStream,
    pub(crate) value: TokenStream,
}

/// Rust for a tool, with the same rule.
#[derive(Default)]
pub(crate) struct EmittedTool {
    /// Fields of its entry in `TOOLS`, each with a comma.
    pub(crate) fields: TokenStream,
    /// The texts, for the file next to the generated module.
    pub(crate) texts: Texts,
}

impl EmittedTool {
    /// Returns Rust that consists of fields alone.
    pub(super) fn fields(fields: TokenStream) -> Self {
        Self { fields, ..Self::default() }
    }
}
