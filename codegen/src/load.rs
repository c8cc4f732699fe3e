//! First pass: reads files, validates them against the meta-schemas, and inserts named rules where they are used.

use std::collections::BTreeSet;

use data_encoding::HEXLOWER;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    contract::{Contract, ContractSpec, NamedRule, OperationSpec, Tool, ToolSpec},
    document::Document,
    keys::{Entity, EntityFile, resolve_gates, row_operations, unite},
    meta::Meta,
    pointer,
    problem::Problem,
    schema,
    sources::Sources,
};

/// Returns the contracts that can be read, sorted by folder, and the problems of the others.
pub(crate) fn contracts(sources: &Sources) -> (Vec<Contract>, Vec<Problem>) {
    let mut problems = vec![];
    let contracts = sources
        .folders()
        .filter_map(|folder| match contract(sources, folder) {
            Ok(contract) => Some(contract),
            Err(found) => {
                problems.extend(found);
                None
            }
        })
        .collect();
    (contracts, problems)
}

fn contract(sources: &Sources, folder: &str) -> Result<Contract, Vec<Problem>> {
    let (document, mut spec): (_, ContractSpec) =
        read(sources, &format!("{folder}/contract.json"), Meta::Contract)?;
    let mut problems = vec![];
    for (i, resource) in spec.resources.iter_mut().enumerate() {
        let at = format!("/resources/{i}/schema");
        use_rules(&mut resource.schema, &at, &spec.rules, &document, &mut problems);
    }
    if spec.contract != folder {
        problems.push(document.problem(
            "/contract",
            format!("the id is `{}`, but the folder is `{folder}`", spec.contract),
            "give both the same name",
        ));
    }
    let mut unlisted: BTreeSet<&str> = sources.tools(folder).collect();
    let mut tools = vec![];
    for (i, name) in spec.tools.iter().enumerate() {
        if !unlisted.remove(name) {
            problems.push(document.problem(
                format!("/tools/{i}"),
                format!("there is no `tools/{name}.json`"),
                "create that file, or remove the name from the list",
            ));
            continue;
        }
        match tool(sources, folder, name, &spec.rules) {
            Ok(tool) => tools.push(tool),
            Err(found) => problems.extend(found),
        }
    }
    problems.extend(without_tool(sources, folder, &spec.tools));
    for name in unlisted {
        problems.push(document.problem(
            "/tools",
            format!("`tools/{name}.json` is not listed"),
            "add its name at the position where clients should see it, or remove the file",
        ));
    }
    let entities = entities(sources, folder, &spec, &document, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    for tool in tools.iter_mut().filter(|tool| !tool.spec.select.is_empty()) {
        tool.parts.extend(row_operations(&spec, &entities, &tool.spec));
        tool.parts.sort_by(|a, b| a.label().cmp(b.label()));
        unite(tool);
    }
    resolve_gates(&spec.gates, &mut tools);
    let digest = digest(sources, folder, &tools, &entities);
    Ok(Contract { folder: folder.into(), document, spec, tools, entities, digest })
}

fn tool(
    sources: &Sources,
    folder: &str,
    name: &str,
    rules: &IndexMap<&'static str, NamedRule>,
) -> Result<Tool, Vec<Problem>> {
    let (document, mut spec): (Document, ToolSpec) =
        read(sources, &format!("{folder}/tools/{name}.json"), Meta::Tool)?;
    let mut problems = vec![];
    if spec.name != name {
        problems.push(document.problem(
            "/name",
            format!("the tool is `{}`, but the file is `{name}.json`", spec.name),
            "give both the same name",
        ));
    }
    for (at, root) in [("/inputSchema", &mut spec.input_schema), ("/outputSchema", &mut spec.output_schema)] {
        use_rules(root, at, rules, &document, &mut problems);
    }
    let mut tool = Tool { document, spec, operation: None, parts: vec![], rows: None };
    for (_, name) in sources.operations(folder).filter(|(of, _)| *of == tool.spec.name) {
        match operation(sources, folder, &tool, name, rules) {
            Ok(part) => tool.parts.push(part),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(tool) } else { Err(problems) }
}

/// Returns the entities that `rows` lists.
fn entities(
    sources: &Sources,
    folder: &str,
    spec: &ContractSpec,
    document: &Document,
    problems: &mut Vec<Problem>,
) -> Vec<Entity> {
    let mut unlisted: BTreeSet<&str> = sources.entities(folder).collect();
    let mut entities = vec![];
    let listed = spec.rows.iter().flat_map(|rows| &rows.entities).enumerate();
    for (i, name) in listed {
        if !unlisted.remove(name) {
            problems.push(document.problem(
                format!("/rows/entities/{i}"),
                format!("there is no `entities/{name}.json`"),
                "create that file, or remove the name from the list",
            ));
            continue;
        }
        match read::<EntityFile>(sources, &format!("{folder}/entities/{name}.json"), Meta::Entity) {
            Ok((document, file)) if file.name != *name => problems.push(document.problem(
                "/name",
                format!("the entity is `{}`, but the file is `{name}.json`", file.name),
                "give both the same name",
            )),
            Ok((document, file)) => entities.push(Entity { document, file }),
            Err(found) => problems.extend(found),
        }
    }
    for name in unlisted {
        problems.push(document.problem(
            "/rows",
            format!("`entities/{name}.json` is not listed"),
            "add its name to `rows.entities`, or remove the file",
        ));
    }
    entities
}

fn operation(
    sources: &Sources,
    folder: &str,
    tool: &Tool,
    name: &str,
    rules: &IndexMap<&'static str, NamedRule>,
) -> Result<Tool, Vec<Problem>> {
    let file = format!("{folder}/operations/{}/{name}.json", tool.spec.name);
    let (document, mut spec): (Document, OperationSpec) = read(sources, &file, Meta::Operation)?;
    let mut problems = vec![];
    if tool.spec.select.is_empty() {
        problems.push(document.problem(
            "",
            format!("`{}` is a tool without operations", tool.spec.name),
            "add `\"select\"` to the tool, or remove this file",
        ));
    }
    for (at, root) in [("/request", &mut spec.request), ("/response", &mut spec.response)] {
        use_rules(root, at, rules, &document, &mut problems);
    }
    if problems.is_empty() { Ok(spec.into_tool(name, document, &tool.spec)) } else { Err(problems) }
}

/// Returns the problems of operation files that belong to no tool.
fn without_tool(sources: &Sources, folder: &str, tools: &[&str]) -> Vec<Problem> {
    let unlisted = sources.operations(folder).filter(|(tool, _)| !tools.iter().any(|it| it == tool));
    unlisted
        .map(|(tool, name)| Problem {
            file: sources.label(&format!("{folder}/operations/{tool}/{name}.json")),
            place: None,
            pointer: String::new(),
            message: format!("the contract has no tool `{tool}`"),
            help: "name the folder as the tool that has the operation, or remove the file".into(),
        })
        .collect()
}

/// Reads one file and decodes it, which its meta-schema guarantees to work.
fn read<T: Deserialize<'static>>(
    sources: &Sources,
    file: &str,
    meta: Meta,
) -> Result<(Document, T), Vec<Problem>> {
    let text = sources.text(file).unwrap_or_default();
    let document = Document::parse(&sources.label(file), text)?;
    let problems = meta.problems(&document);
    if !problems.is_empty() {
        return Err(problems);
    }
    match T::deserialize(document.value) {
        Ok(decoded) => Ok((document, decoded)),
        Err(error) => Err(vec![document.problem(
            "",
            format!("can't be decoded: {error}"),
            "see the descriptions in the meta-schema",
        )]),
    }
}

/// Replaces each `{"$use": id}` below `schema` by the rule that `contract.json` has under that id.
fn use_rules(
    schema: &mut Value,
    at: &str,
    rules: &IndexMap<&'static str, NamedRule>,
    document: &Document,
    problems: &mut Vec<Problem>,
) {
    let enforced = schema.get_mut("x-enforce").and_then(Value::as_array_mut);
    for (i, clause) in enforced.into_iter().flatten().enumerate() {
        let Some(id) = clause.get("$use").and_then(Value::as_str) else {
            continue;
        };
        match rules.get(id) {
            Some(rule) => {
                *clause = serde_json::json!({ "id": id, "message": rule.message, "schema": rule.schema });
            }
            None => problems.push(document.problem(
                format!("{at}/x-enforce/{i}/$use"),
                format!("contract.json has no rule `{id}`"),
                "declare it under `rules`, or write the rule out here",
            )),
        }
    }
    for (step, part) in schema::parts_mut(schema) {
        use_rules(part, &pointer::walk(at, &step), rules, document, problems);
    }
}

/// Hashes the texts, not the values, so that the head line of a module identifies its exact sources.
fn digest(sources: &Sources, folder: &str, tools: &[Tool], entities: &[Entity]) -> String {
    let mut hash = Sha256::new();
    hash.update(sources.text(&format!("{folder}/contract.json")).unwrap_or_default());
    for Tool { spec, parts, .. } in tools {
        let name = &spec.name;
        let of_file = parts.iter().filter(|part| part.rows.is_none());
        let operations = of_file.filter_map(|part| part.operation);
        let operations = operations.map(|part| format!("{folder}/operations/{}.json", part.label));
        for file in std::iter::once(format!("{folder}/tools/{name}.json")).chain(operations) {
            hash.update(sources.text(&file).unwrap_or_default());
        }
    }
    for Entity { file, .. } in entities {
        let file = format!("{folder}/entities/{}.json", file.name);
        hash.update(sources.text(&file).unwrap_or_default());
    }
    HEXLOWER.encode(&hash.finalize())
}
