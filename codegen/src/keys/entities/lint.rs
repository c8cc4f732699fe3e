//! What must hold of entities: names lead somewhere, rows belong to an org or to none, and what refers can be created.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde_json::Value;

use super::{
    Entity,
    read::{EntityFile, Field, action},
};
use crate::{
    contract::{Contract, Side, Tool},
    pointer,
    problem::Problem,
};

/// Checks all entities. The operations that follow from them are checked afterwards, as others are.
pub(crate) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    let Some(rows) = &contract.spec.rows else { return };
    let spec = &contract.spec;
    for (key, is_given) in [
        ("resources", !spec.resources.is_empty()),
        ("prompts", !spec.prompts.is_empty()),
        ("previews", !spec.previews.is_empty()),
    ] {
        if is_given {
            let message = format!("`{key}` need a contract of documents");
            problems.push(
                contract
                    .document
                    .problem(format!("/{key}"), message, "remove it, or `rows`"),
            );
        }
    }
    let mut tables = BTreeMap::new();
    for entity in &contract.entities {
        let mut lint = Lint {
            contract,
            entity,
            problems: &mut *problems,
        };
        lint.whole();
        let (name, table) = (&entity.file.name, &entity.file.table);
        if let Some(first) = tables.insert(table, name) {
            let message = format!("`{first}` has the table `{table}` too");
            problems.push(entity.document.problem("/table", message, "choose another name"));
        }
    }
    if let Some(org) = &rows.org {
        let found = contract.entity(&org.entity);
        if found.is_none_or(|entity| entity.file.key.len() != 1) {
            let message = format!("there is no entity `{}` with a key of one field", org.entity);
            problems.push(
                contract
                    .document
                    .problem("/rows/org/entity", message, "name one of `entities`"),
            );
        }
    }
    for (i, seed) in rows.seeds.iter().enumerate() {
        self::seed(
            contract,
            seed.entity.as_str(),
            &seed.row,
            &format!("/rows/seeds/{i}"),
            problems,
        );
    }
    circles(contract, problems);
}

fn seed(contract: &Contract, name: &str, row: &Value, at: &str, problems: &mut Vec<Problem>) {
    let Some(entity) = contract.entity(name) else {
        let message = format!("there is no entity `{name}`");
        problems.push(
            contract
                .document
                .problem(format!("{at}/entity"), message, "name one of `entities`"),
        );
        return;
    };
    for field in row.as_object().into_iter().flatten().map(|(field, _)| field) {
        if !entity.file.fields.contains_key(field) {
            let at = pointer::push(&format!("{at}/row"), field);
            let message = format!("`{name}` has no field `{field}`");
            problems.push(
                contract
                    .document
                    .problem(at, message, "give it one of its fields"),
            );
        }
    }
}

/// Rows that need each other can't be created.
fn circles(contract: &Contract, problems: &mut Vec<Problem>) {
    let needed = |entity: &EntityFile| {
        let required = entity
            .fields
            .values()
            .filter(|field| field.kind == "ref" && !field.optional);
        required.filter_map(|field| field.to.clone()).collect::<Vec<_>>()
    };
    for entity in &contract.entities {
        let (mut seen, mut open) = (BTreeSet::new(), needed(&entity.file));
        while let Some(name) = open.pop() {
            if name == entity.file.name {
                problems.push(entity.document.problem(
                    "/fields",
                    format!("the first `{name}` can't be created, since it needs one"),
                    "make a reference of the circle `optional`",
                ));
                break;
            }
            if seen.insert(name.clone()) {
                open.extend(
                    contract
                        .entity(&name)
                        .map(|entity| needed(&entity.file))
                        .unwrap_or_default(),
                );
            }
        }
    }
}

/// Returns whether a tool's request has this member.
fn takes(tool: &Tool, member: &str) -> bool {
    tool.schema(Side::Input)["properties"].get(member).is_some()
}

struct Lint<'a> {
    contract: &'a Contract,
    entity: &'a Entity,
    problems: &'a mut Vec<Problem>,
}

impl Lint<'_> {
    fn problem(&mut self, at: impl Into<String>, message: impl Into<String>, help: impl Into<String>) {
        self.problems
            .push(self.entity.document.problem(at, message, help));
    }

    fn whole(&mut self) {
        let file = &self.entity.file;
        self.scope();
        self.names("/key", &file.key);
        self.names("/order", &file.order);
        for name in &file.key {
            if file.fields.get(name).is_some_and(|field| field.optional) {
                self.problem(
                    "/key",
                    format!("`{name}` may be null"),
                    "a key has a value: remove `optional`",
                );
            }
        }
        for (i, unique) in file.unique.iter().enumerate() {
            self.names(&format!("/unique/{i}"), unique.fields());
        }
        for (name, field) in &file.fields {
            self.field(&pointer::push("/fields", name), field);
        }
        for (i, hook) in file.on.iter().enumerate() {
            let fields = [&hook.when, &hook.set, &hook.otherwise]
                .into_iter()
                .flat_map(IndexMap::keys);
            self.names(&format!("/on/{i}"), &fields.cloned().collect::<Vec<_>>());
        }
        for (on, others) in &file.also {
            for (i, other) in others.iter().enumerate() {
                let at = format!("/also/{on}/{i}");
                self.names(&at, std::slice::from_ref(&other.key));
                match self.contract.entity(&other.entity) {
                    None => self.problem(
                        &at,
                        format!("there is no entity `{}`", other.entity),
                        "name one of `rows.entities`",
                    ),
                    Some(to) => {
                        let unknown: Vec<_> = other
                            .set
                            .keys()
                            .filter(|name| !to.file.fields.contains_key(*name))
                            .cloned()
                            .collect();
                        for name in unknown {
                            let message = format!("`{}` has no field `{name}`", other.entity);
                            self.problem(&at, message, "set one of its fields");
                        }
                    }
                }
            }
        }
        for (i, edges) in file.acyclic.iter().enumerate() {
            let names = [Some(&edges.from), Some(&edges.to), edges.by.as_ref()];
            self.names(
                &format!("/acyclic/{i}"),
                &names.into_iter().flatten().cloned().collect::<Vec<_>>(),
            );
        }
        self.operations();
    }

    /// Each name must be a field's.
    fn names(&mut self, at: &str, names: &[String]) {
        for name in names {
            if !self.entity.file.fields.contains_key(name) {
                let message = format!("there is no field `{name}`");
                self.problem(at, message, "name one of `fields`");
            }
        }
    }

    fn scope(&mut self) {
        let file = &self.entity.file;
        let org = self
            .contract
            .spec
            .rows
            .as_ref()
            .and_then(|rows| rows.org.as_ref());
        let is_org = org.is_some_and(|org| org.entity == file.name);
        match (&file.scope, org) {
            (Some(field), Some(org)) => {
                let refers = file.fields.get(field).is_some_and(|field| {
                    field.kind == "ref" && field.to.as_ref() == Some(&org.entity) && !field.optional
                });
                if !refers || file.global || is_org {
                    let help = format!(
                        "name a required `ref` to `{}`, and leave `global` out",
                        org.entity
                    );
                    self.problem("/scope", format!("`{field}` is not the org of each row"), help);
                }
            }
            (Some(_), None) => self.problem(
                "/scope",
                "the contract has no orgs",
                "remove it, or add `rows.org` in contract.json",
            ),
            (None, Some(_)) if !file.global && !is_org => self.problem(
                "",
                "rows belong neither to an org nor to none",
                "add `\"scope\"`, the field with the org, or `\"global\": true`",
            ),
            _ => {}
        }
    }

    fn field(&mut self, at: &str, field: &Field) {
        self.names(at, &field.one_true_in);
        self.names(at, &field.within);
        self.names(at, &field.same);
        if let (Some(default), schema) = (&field.default, super::expand::value(field))
            && !tabellion_runtime::schema::compile(&schema).is_ok_and(|schema| schema.is_valid(default))
        {
            let message = format!("{default} is no value of the field");
            self.problem(
                format!("{at}/default"),
                message,
                "write one that requests could give",
            );
        }
        let Some(to) = &field.to else { return };
        let Some(target) = self.contract.entity(to) else {
            self.problem(
                format!("{at}/to"),
                format!("there is no entity `{to}`"),
                "name one of `rows.entities`",
            );
            return;
        };
        if target.file.key.len() != 1 {
            let help = "refer to an entity with a key of one field";
            self.problem(
                format!("{at}/to"),
                format!("`{to}` has a key of several fields"),
                help,
            );
        }
        if target.file.scope.is_some() && self.entity.file.scope.is_none() {
            let message = format!("a row of no org refers to `{to}`, whose rows belong to orgs");
            self.problem(format!("{at}/to"), message, "add `scope` to this entity");
        }
        if field.on_delete.as_deref() == Some("clear") && !field.optional {
            let help = "add `\"optional\": true`, or choose `restrict` or `cascade`";
            self.problem(format!("{at}/onDelete"), "the reference can't become null", help);
        }
        if field.acyclic && *to != self.entity.file.name {
            let help = "remove it: it is for references to the same entity";
            self.problem(
                format!("{at}/acyclic"),
                "a reference to another entity leads nowhere back",
                help,
            );
        }
    }

    fn operations(&mut self) {
        let Some(operations) = &self.entity.file.operations else {
            return;
        };
        let Some(tool) = self.contract.tool(&operations.tool) else {
            let message = format!("there is no tool `{}`", operations.tool);
            self.problem("/operations/tool", message, "name one of `tools`");
            return;
        };
        if tool.spec.select.len() != 2 {
            let message = format!("`{}` has not two selectors", tool.spec.name);
            self.problem(
                "/operations/tool",
                message,
                "name a tool with `\"select\": [action, resource]`",
            );
        }
        for (word, of) in &operations.actions {
            let at = pointer::push("/operations", word);
            if action(word).is_none() {
                self.problem(
                    &at,
                    format!("`{word}` is no operation on rows"),
                    "it is create, get, update, list or delete",
                );
            }
            self.names(&at, &of.by.keys().cloned().collect::<Vec<_>>());
            self.names(&at, &of.required);
            let members = of.by.values().chain(&of.limit).chain(&of.after);
            let unknown = members
                .filter(|member| !takes(tool, member))
                .cloned()
                .collect::<Vec<_>>();
            for member in unknown {
                let message = format!("the request of `{}` has no `{member}`", tool.spec.name);
                self.problem(&at, message, "name one of its members, or add it there");
            }
        }
    }
}
