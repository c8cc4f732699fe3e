//! All keys, and `tools`: the tools in wire order and their operations, to each of which every key is applied.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use serde_json::json;
use tabellion_runtime::spec;

use super::{
    Emitted, EmittedTool, Key, ToolOf, about, annotations, approval, auth, commit, document, effects,
    entities, error_body, errors, examples, executions, gates, guarantees, log, modes, operations, paths,
    previews, prompts, provenance, rate_limits, resource_templates, resources, rest, schemas, tags,
    workflows,
};
use crate::{
    changes::Changes,
    contract::{Contract, Side, Tool},
    leak::{list, schema, texts},
    names,
    rust::text::{self, Texts},
};

/// The keys, in the order in which changes are listed and fields are written.
pub(crate) static KEYS: &[&dyn Key] = &[
    &about::About,
    &annotations::Annotated,
    &document::OneDocument,
    &errors::Errors,
    &error_body::ErrorBodies,
    &guarantees::Guarantees,
    &previews::Previews,
    &log::Logs,
    &auth::Callers,
    &gates::Gates,
    &Tools,
    &operations::Operations,
    &entities::Entities,
    &effects::Effects,
    &schemas::Schemas,
    &paths::Paths,
    &approval::Approvals,
    &commit::Commit,
    &tags::Tags,
    &modes::OperationModes,
    &provenance::CallProvenance,
    &rate_limits::RateLimits,
    &executions::Calls,
    &rest::RestFace,
    &workflows::Workflows,
    &resources::Resources,
    &resource_templates::ResourceTemplates,
    &prompts::Prompts,
    &examples::Examples,
];

struct Tools;

impl Key for Tools {
    /// Lists the changes tool by tool, and calls every other key for each.
    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        if !same_order(&old.spec.tools, &new.spec.tools) {
            changes.compatible("the order of the tools changed");
        }
        for before in &old.tools {
            let mut changes = changes.of_tool(before.spec.name);
            let Some(after) = new.tool(before.spec.name) else {
                changes.breaking("the tool was removed");
                continue;
            };
            let before = ToolOf { contract: old, tool: before };
            let after = ToolOf { contract: new, tool: after };
            match [before, after].map(|it| it.tool.spec.select.is_empty()) {
                [true, true] => compare_all(&mut changes, before, after),
                [false, false] => {
                    for key in KEYS {
                        key.compare_any_tool(&mut changes, before, after);
                    }
                    compare_operations(&mut changes, before, after);
                }
                [true, false] => changes.breaking("it has become a tool with operations"),
                [false, true] => changes.breaking("it is no longer a tool with operations"),
            }
        }
        for after in &new.tools {
            if old.tool(after.spec.name).is_none() {
                changes.of_tool(after.spec.name).compatible("the tool was added");
            }
        }
    }

    fn emit(&self, _: &Contract) -> Emitted {
        Emitted { fields: quote!(tools: &TOOLS,), ..Emitted::default() }
    }

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        if tool.spec.select.is_empty() {
            return EmittedTool::default();
        }
        let select = &tool.spec.select;
        let refused = tool.spec.refused.iter().map(|(is, why)| {
            let is = is.split(' ');
            quote!(spec::RefusedValues { is: &[#(#is),*], why: #why })
        });
        let mut texts = Texts::default();
        let parts = parts_name(tool);
        let shared = shared(tool);
        let all = tool.parts.iter().map(|part| {
            let (label, is) = (part.label(), part.operation.iter().flat_map(|operation| operation.is));
            let constructor = format_ident!("{}", if part.spec.mutating { "changing" } else { "reading" });
            let base = quote!(#parts.#constructor(#label, &[#(#is),*]));
            emitted(part, base, &shared.clone().map(|it| it.to_string()), &mut texts)
        });
        let all: Vec<TokenStream> = all.collect();
        EmittedTool {
            fields: quote! {
                operations: Some(spec::Operations {
                    select: &[#(#select),*],
                    refused: &[#(#refused),*],
                    all: &[#(#all),*],
                }),
            },
            texts,
        }
    }

    /// Calls every other key for each tool.
    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.tools = list(contract.tools.iter().map(entry));
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        if tool.spec.select.is_empty() {
            return;
        }
        entry.operations = Some(spec::Operations {
            select: texts(&tool.spec.select),
            refused: list(
                tool.spec
                    .refused
                    .iter()
                    .map(|(is, why)| spec::RefusedValues { is: list(is.split(' ')), why }),
            ),
            all: list(tool.parts.iter().map(self::entry)),
        });
    }
}

/// Returns the Rust of a tool's entry.
pub(crate) fn emitted_entry(tool: &Tool, texts: &mut Texts) -> TokenStream {
    let name = &tool.spec.name;
    emitted(tool, quote!(ToolSpec::of_file(&TEXTS, #name)), &[], texts)
}

/// Returns the Rust of the fields shared by a tool's operations; `None` if it has no operations.
pub(crate) fn emitted_parts(tool: &Tool) -> Option<TokenStream> {
    let (name, tool_name, select) = (parts_name(tool), &tool.spec.name, &tool.spec.select);
    let annotations = annotations::emitted(tool.spec.annotations);
    let shared = shared(tool);
    let docs = text::docs(&format!("Fields that the operations of `{tool_name}` share."));
    (!select.is_empty()).then(|| {
        quote! {
            #docs
            static #name: spec::Parts = spec::Parts {
                tool: #tool_name,
                texts: &TEXTS,
                select: &[#(#select),*],
                annotations: #annotations,
                #(#shared)*
            };
        }
    })
}

fn parts_name(tool: &Tool) -> Ident {
    format_ident!("{}_PARTS", names::constant(tool.spec.name))
}

/// Returns the most frequent values of fields among a tool's operations.
fn shared(tool: &Tool) -> [TokenStream; 2] {
    let usual = |list: fn(&Tool) -> &Vec<&'static str>| {
        let lists = || tool.parts.iter().map(list);
        let count = |wanted: &&Vec<&'static str>| lists().filter(|list| list == wanted).count();
        lists().rev().max_by_key(count).cloned().unwrap_or_default()
    };
    let (errors, roles) = (usual(|part| &part.spec.errors), usual(|part| &part.spec.roles));
    [quote!(errors: &[#(#errors),*],), quote!(roles: &[#(#roles),*],)]
}

/// Returns the Rust of an entry that differs from `base`, which has the `given` fields.
fn emitted(tool: &Tool, base: TokenStream, given: &[String], texts: &mut Texts) -> TokenStream {
    let fields = KEYS.iter().map(|key| {
        let emitted = key.emit_tool(tool);
        texts.extend(emitted.texts);
        emitted.fields
    });
    let fields: Vec<_> = fields.filter(|fields| !given.contains(&fields.to_string())).collect();
    let [input, output] = Side::ALL.map(|side| tool.authored(side).text());
    let mut of_tool = json!({ "input": input, "output": output });
    let examples: Vec<_> = examples::requests(tool).collect();
    if !examples.is_empty() {
        of_tool["examples"] = json!(examples);
    }
    texts.tools.insert(tool.label().into(), of_tool);
    quote!(ToolSpec { #(#fields)* ..#base })
}

/// Returns the entry of a tool, or of an operation.
fn entry(tool: &Tool) -> spec::ToolSpec {
    let [input, output] = Side::ALL.map(|side| schema(&tool.authored(side)));
    let mut entry = spec::ToolSpec::new(input, output);
    for key in KEYS {
        key.fill_tool(tool, &mut entry);
    }
    entry
}

/// Asks all keys for the changes of a tool without operations, or of an operation.
fn compare_all(changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
    for key in KEYS {
        key.compare_any_tool(changes, old, new);
        key.compare_tool(changes, old, new);
    }
}

/// Lists the changes operation by operation. Operations are identified by the requests that select them, not by their names.
fn compare_operations(changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
    if old.tool.spec.select != new.tool.spec.select {
        return changes.breaking("its operations are chosen by other members");
    }
    if old.tool.spec.refused != new.tool.spec.refused {
        changes.compatible("it says something else of what has no operation");
    }
    if old.tool.schema(Side::Input) != new.tool.schema(Side::Input) {
        changes.compatible("the schema of requests that clients see changed");
    }
    let requests = |tool: &Tool| tool.operation.map(|it| (it.is, it.has));
    for before in &old.tool.parts {
        let mut changes = changes.of_tool(before.label());
        let after = new.tool.parts.iter().find(|part| requests(part) == requests(before));
        let Some(after) = after else {
            changes.breaking("the operation was removed");
            continue;
        };
        let [before, after] = [(old, before), (new, after)].map(|(of, tool)| ToolOf { tool, ..of });
        compare_all(&mut changes, before, after);
    }
    for after in &new.tool.parts {
        if !old.tool.parts.iter().any(|part| requests(part) == requests(after)) {
            changes.of_tool(after.label()).compatible("the operation was added");
        }
    }
}

/// Returns true if the names in both lists are in the same order.
fn same_order(before: &[&str], after: &[&str]) -> bool {
    let kept = before.iter().filter(|name| after.contains(name));
    kept.eq(after.iter().filter(|name| before.contains(name)))
}
