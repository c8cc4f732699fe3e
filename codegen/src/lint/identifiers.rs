//! Lints of names: invalid in Rust, or equal there.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    contract::{Contract, SchemaKind, Side},
    document::Document,
    keys::{provenance_names as provenance, workflow_methods, workflow_types},
    names, pointer,
    problem::Problem,
    rust, schema,
    types::Types,
};

/// Names that every generated module defines.
const OWN: &[&str] = &[
    "ToolError",
    "Service",
    "CONTRACT",
    "TOOLS",
    "RESOURCES",
    "PROMPTS",
    "ERRORS",
    "MODES",
    "PROVENANCE",
    "AUTH",
    "TEMPLATES",
];

/// Names of the prelude that generated code uses.
const PRELUDE: &[&str] = &[
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Display",
    "Eq",
    "Err",
    "From",
    "Into",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Self",
    "Send",
    "Some",
    "String",
    "Sync",
    "Vec",
];

/// Functions of `ToolError` in addition to the constructors of errors.
const ERROR_FUNCTIONS: &[&str] = &["answer", "clone", "eq", "fmt", "from", "into", "ne", "to_string", "with"];

/// Checks tools, errors, module, trait, and the fields and variants of every schema.
pub(super) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    let document = &contract.document;
    let rust = &contract.spec.rust;
    if names::is_keyword(rust.module) {
        let message = format!("`{}` is a word of Rust", rust.module);
        problems.push(document.problem("/rust/module", message, "choose another name"));
    }
    taken(rust.trait_name, document, "/rust/trait", problems);

    methods_and_roots(contract, problems);
    let mut variants = Names::new("variant", document);
    for error in contract.spec.errors.keys() {
        let at = pointer::push("/errors", error);
        let function = error.to_lowercase();
        if names::is_keyword(&function) || ERROR_FUNCTIONS.contains(&function.as_str()) {
            let message = format!("`ToolError::{function}` can't be its constructor");
            problems.push(document.problem(at.as_str(), message, "choose another name"));
        }
        variants.add(names::type_name(error), error, at, problems);
    }
    let named = contract.schemas().filter(|authored| authored.kind != SchemaKind::Derived);
    for authored in named {
        parts(authored.schema, &authored.at, authored.document, problems);
    }
}

/// Checks the names of tools, resources and prompts, as methods and as types.
fn methods_and_roots(contract: &Contract, problems: &mut Vec<Problem>) {
    let (spec, document) = (&contract.spec, &contract.document);
    let mut methods = Names::new("method", document);
    let mut types = Names::new("type", document);
    for (i, tool) in contract.tools.iter().enumerate() {
        for operation in tool.operations().iter().filter(|operation| operation.rows.is_none()) {
            let (base, label, at) = (operation.rust_base(), operation.label(), format!("/tools/{i}"));
            methods.add(names::value_name(&base), label, at.clone(), problems);
            types.add(Side::Input.type_name(&base), label, at, problems);
        }
    }
    if let Some(provenance) = &spec.provenance {
        methods.add(provenance::METHOD.into(), "provenance", "/provenance".into(), problems);
        types.add(provenance::TYPE.into(), "provenance", "/provenance".into(), problems);
        let mut fields = Names::new("field", document);
        for name in provenance.fields.keys() {
            let at = pointer::push("/provenance/fields", name);
            fields.add(names::value_name(name), name, at, problems);
        }
    }
    for (i, method) in workflow_methods(contract) {
        let at = format!("/rest/endpoints/{i}/is");
        methods.add(
            method.into(),
            &spec.rest.as_ref().map_or_else(String::new, |rest| rest.endpoints[i].is.to_string()),
            at,
            problems,
        );
    }
    for id in spec.workflows.keys() {
        for name in workflow_types(id) {
            types.add(name, id, pointer::push("/workflows", id), problems);
        }
    }
    for (i, resource) in spec.resources.iter().enumerate() {
        let (name, at) = (&resource.name, format!("/resources/{i}/name"));
        for method in names::resource_methods(name) {
            methods.add(method, name, at.clone(), problems);
        }
        types.add(names::resource(name), name, at.clone(), problems);
        if resource.uri_template.is_some() {
            types.add(names::variables(name), name, at.clone(), problems);
        }
        let mut fields = Names::new("field", document);
        for (j, variable) in resource.variables.iter().enumerate() {
            let at = format!("/resources/{i}/variables/{j}/name");
            fields.add(names::value_name(variable.name), variable.name, at.clone(), problems);
            if variable.completes {
                let method = names::completion_method(name, variable.name);
                methods.add(method, variable.name, at, problems);
            }
        }
    }
    for (i, prompt) in spec.prompts.iter().enumerate() {
        let (name, at) = (&prompt.name, format!("/prompts/{i}"));
        methods.add(names::prompt_method(name), name, format!("{at}/name"), problems);
        for root in names::prompt(name) {
            types.add(root, name, format!("{at}/name"), problems);
        }
        let mut fields = Names::new("field", document);
        for (j, argument) in prompt.arguments.iter().enumerate() {
            let at = format!("{at}/arguments/{j}/name");
            fields.add(names::value_name(argument.name), argument.name, at.clone(), problems);
            if argument.completes {
                let method = names::completion_method(name, argument.name);
                methods.add(method, argument.name, at, problems);
            }
        }
    }
}

/// Reports fields and variants with equal names, innermost last.
fn parts(schema: &Value, at: &str, document: &Document, problems: &mut Vec<Problem>) {
    if let Some(properties) = schema["properties"].as_object() {
        let mut fields = Names::new("field", document);
        for name in properties.keys() {
            let at = pointer::walk(at, &["properties", name]);
            fields.add(names::value_name(name), name, at, problems);
        }
    }
    if let Some(values) = schema.as_object().and_then(schema::string_enum) {
        let mut variants = Names::new("variant", document);
        for (i, value) in values.into_iter().enumerate() {
            let at = pointer::walk(at, &["enum", &i.to_string()]);
            variants.add(names::type_name(value), value, at, problems);
        }
    }
    for (step, part) in schema::parts(schema) {
        parts(part, &pointer::walk(at, &step), document, problems);
    }
}

/// Checks the names of types against the names that every module has.
pub(super) fn types(contract: &Contract, types: &Types, problems: &mut Vec<Problem>) {
    for authored in contract.schemas() {
        type_names(authored.schema, &authored.at, authored.document, problems);
    }
    let trait_name = contract.spec.rust.trait_name;
    let document = &contract.document;
    if types.has(trait_name) {
        let message = format!("`{trait_name}` is also a type of this contract");
        problems.push(document.problem("/rust/trait", message, "choose another name for one of them"));
    }
    if contract.spec.provenance.is_some() && types.has(provenance::TYPE) {
        let message = format!("`{}` is also a type of this contract", provenance::TYPE);
        problems.push(document.problem("/provenance", message, "choose another `x-rust-name`"));
    }
    for tool in contract.tools.iter().filter(|tool| !tool.spec.select.is_empty()) {
        let name = names::tool_trait(tool.spec.name);
        if types.has(&name) || name == trait_name {
            let message = format!("`{name}` is the trait of this tool and another part of the contract");
            problems.push(tool.document.problem("/name", message, "choose another `x-rust-name`"));
        }
    }
    for (i, prompt) in contract.spec.prompts.iter().enumerate() {
        let names = names::prompt(prompt.name).into_iter();
        for name in names.filter(|name| types.has(name) || name == trait_name) {
            let message = format!("`{name}` is a type of this prompt and of another part of the contract");
            let help = "rename the prompt, or choose another `x-rust-name`";
            problems.push(document.problem(format!("/prompts/{i}/name"), message, help));
        }
    }
    for (i, resource) in contract.spec.resources.iter().enumerate() {
        let name = names::variables(resource.name);
        if resource.uri_template.is_some() && types.has(&name) {
            let message = format!("`{name}` is a type of this resource and of another part of the contract");
            let help = "rename the resource, or choose another `x-rust-name`";
            problems.push(document.problem(format!("/resources/{i}/name"), message, help));
        }
    }
    for id in contract.spec.workflows.keys() {
        if let Some(name) = workflow_types(id).into_iter().find(|name| types.has(name)) {
            let message = format!("`{name}` is a type of this workflow and of another part of the contract");
            let help = "rename the workflow, or choose another `x-rust-name`";
            problems.push(document.problem(pointer::push("/workflows", id), message, help));
        }
    }
    for alias in types.aliases.keys().filter(|alias| types.definitions.contains_key(*alias)) {
        let message = format!("`{alias}` is a tool's request or response and also the name of another type");
        problems.push(document.problem("/tools", message, "choose another `x-rust-name`"));
    }
}

fn type_names(schema: &Value, at: &str, document: &Document, problems: &mut Vec<Problem>) {
    if let Some(name) = schema["x-rust-name"].as_str() {
        let at = pointer::push(at, "x-rust-name");
        taken(name, document, &at, problems);
        let usual = names::type_name(name);
        if usual != name && !names::is_keyword(name) {
            let message = format!("`{name}` is not in Rust's style for type names");
            problems.push(document.problem(at, message, format!("write `{usual}`")));
        }
    }
    for (step, part) in schema::parts(schema) {
        type_names(part, &pointer::walk(at, &step), document, problems);
    }
}

fn taken(name: &str, document: &Document, at: &str, problems: &mut Vec<Problem>) {
    if OWN.contains(&name) || PRELUDE.contains(&name) || names::is_keyword(name) || rust::may_import(name) {
        let message = format!("`{name}` has another meaning in generated code");
        problems.push(document.problem(at, message, "choose another name"));
    }
}

/// Reports contracts with the same module.
pub(super) fn modules(contracts: &[Contract]) -> Vec<Problem> {
    let mut problems = vec![];
    let mut modules: BTreeMap<&str, &str> = BTreeMap::new();
    for contract in contracts {
        let module = &contract.spec.rust.module;
        if let Some(first) = modules.insert(module, contract.spec.contract) {
            problems.push(contract.document.problem(
                "/rust/module",
                format!("`{module}` is also the module of contract `{first}`"),
                "give each contract a different module",
            ));
        }
    }
    problems
}

/// Identifiers of one kind in one scope, by wire name.
struct Names<'a> {
    kind: &'static str,
    document: &'a Document,
    wire: BTreeMap<String, String>,
}

impl<'a> Names<'a> {
    fn new(kind: &'static str, document: &'a Document) -> Self {
        Self { kind, document, wire: BTreeMap::new() }
    }

    fn add(&mut self, rust: String, wire: &str, at: String, problems: &mut Vec<Problem>) {
        if let Some(first) = self.wire.get(&rust) {
            problems.push(self.document.problem(
                at,
                format!("`{first}` and `{wire}` both become the {} `{rust}`", self.kind),
                "rename one of them",
            ));
        } else {
            self.wire.insert(rust, wire.into());
        }
    }
}
