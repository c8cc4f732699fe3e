//! Lints of entities: names exist, each row belongs to an org or to none, and referring rows can be created.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde_json::Value;
use tabellion_runtime::{
    rows::{checked, is_table},
    spec::{Copied, OnDelete, RowRule},
};

use super::{
    expand::is_made,
    read::{Entity, EntityFile, Field, Rows, SeedRow, UniqueFields},
    table,
};
use crate::{contract::Contract, pointer, problem::Problem};

/// Checks the entities, without their operations.
pub(super) fn contract(contract: &Contract, rows: &Rows, problems: &mut Vec<Problem>) {
    let spec = &contract.spec;
    for (key, is_given) in [
        ("resources", !spec.resources.is_empty()),
        ("prompts", !spec.prompts.is_empty()),
        ("previews", !spec.previews.is_empty()),
    ] {
        if is_given {
            let message = format!("`{key}` need a contract of documents");
            problems.push(contract.document.problem(format!("/{key}"), message, "remove it, or `rows`"));
        }
    }
    let mut tables = BTreeMap::new();
    for entity in &contract.entities {
        let mut lint = Lint { contract, entity, problems: &mut *problems };
        lint.whole();
        let (name, table) = (entity.file.name, entity.file.table);
        if !is_table(table) {
            let message = format!("`{table}` is a table that stores have for themselves");
            problems.push(entity.document.problem("/table", message, "choose another name"));
        }
        if let Some(first) = tables.insert(table, name) {
            let message = format!("`{first}` has the table `{table}` too");
            problems.push(entity.document.problem("/table", message, "choose another name"));
        }
    }
    if let Some(org) = rows.org {
        let found = contract.entity(org.entity);
        if found.is_none_or(|entity| entity.file.key.len() != 1) {
            let message = format!("there is no entity `{}` with a key of one field", org.entity);
            problems.push(contract.document.problem("/rows/org/entity", message, "name one of `entities`"));
        }
        default(contract, rows, org.entity, org.default, "/rows/org/default", problems);
    }
    if let Some(caller) = rows.caller {
        let found = contract.entity(caller.entity).filter(|entity| entity.file.key.len() == 1);
        let has = |name: &&str| found.is_some_and(|entity| entity.file.fields.contains_key(*name));
        let message = match (found, caller.by.iter().find(|name| !has(name))) {
            (None, _) => Some(format!("there is no entity `{}` with a key of one field", caller.entity)),
            (_, Some(name)) => Some(format!("`{}` has no field `{name}`", caller.entity)),
            (_, None) => None,
        };
        if let Some(message) = message {
            let help = "name one of `entities`, and its fields";
            problems.push(contract.document.problem("/rows/caller", message, help));
        }
        default(contract, rows, caller.entity, caller.default, "/rows/caller/default", problems);
        let fields = contract.spec.provenance.as_ref().map(|provenance| &provenance.fields);
        if let (Some(name), Some(fields)) = (caller.provenance, fields)
            && !fields.contains_key(name)
        {
            let at = "/rows/caller/provenance";
            let message = format!("there is no field `{name}` of provenance");
            problems.push(contract.document.problem(at, message, "name one of `provenance.fields`"));
        }
    }
    for (i, seed) in rows.seeds.iter().enumerate() {
        self::seed(contract, seed, &rows.seeds[..i], &format!("/rows/seeds/{i}"), problems);
    }
    circles(contract, problems);
}

/// Checks that a row of the entity `name`, which calls mean by default, is there from the beginning.
fn default(contract: &Contract, rows: &Rows, name: &str, key: &str, at: &str, problems: &mut Vec<Problem>) {
    let Some(field) = contract.entity(name).and_then(|entity| entity.file.key.first()) else { return };
    let mut seeds = rows.seeds.iter().filter(|seed| seed.entity == name);
    if !seeds.any(|seed| seed.row[field] == key) {
        let message = format!("no seed is the `{name}` `{key}`");
        problems.push(contract.document.problem(at, message, "add it to `rows.seeds`"));
    }
}

fn seed(contract: &Contract, seed: &SeedRow, before: &[SeedRow], at: &str, problems: &mut Vec<Problem>) {
    let (name, row) = (seed.entity, &seed.row);
    let Some(entity) = contract.entity(name) else {
        let message = format!("there is no entity `{name}`");
        problems.push(contract.document.problem(format!("{at}/entity"), message, "name one of `entities`"));
        return;
    };
    for field in row.as_object().into_iter().flatten().map(|(field, _)| field) {
        if !entity.file.fields.contains_key(field.as_str()) {
            let at = pointer::push(&format!("{at}/row"), field);
            let message = format!("`{name}` has no field `{field}`");
            problems.push(contract.document.problem(at, message, "give it one of its fields"));
        }
    }
    let mut problem = |message| {
        problems.push(contract.document.problem(
            format!("{at}/row"),
            message,
            "give it what a request must give",
        ));
    };
    for (field, spec) in &entity.file.fields {
        let is_value = |value: &Value| checked(&table::field(field, spec), value.clone()).is_ok();
        match row.get(field) {
            Some(value) if !is_value(value) => problem(format!("{value} is no value of `{field}`")),
            None if !is_made(spec) && !spec.is_of_store() && entity.file.scope != Some(field) => {
                problem(format!("`{field}` is missing"))
            }
            _ => {}
        }
    }
    let is_same = |fields: &[&str]| {
        let is_given = |field: &&str| row.get(*field).is_some_and(|value| !value.is_null());
        let is_equal = |other: &SeedRow| fields.iter().all(|field| other.row.get(field) == row.get(field));
        let is_like = |other: &&SeedRow| (other.entity, other.org) == (name, seed.org);
        fields.iter().all(is_given) && before.iter().filter(is_like).any(is_equal)
    };
    if is_same(&entity.file.key) {
        problem(format!("another seed is the same `{name}`"));
    }
    for unique in &entity.file.unique {
        if !matches!(unique, UniqueFields::Conditional { while_null: Some(_), .. })
            && is_same(unique.fields())
        {
            problem(format!("another seed has the same `{}`", unique.fields().join("` and `")));
        }
    }
    for (field, spec) in &entity.file.fields {
        let (Some(to), Some(key @ Value::String(_))) =
            (spec.to.filter(|_| spec.kind == "ref"), row.get(field))
        else {
            continue;
        };
        let Some([target]) = contract.entity(to).map(|entity| &*entity.file.key) else { continue };
        if !before.iter().any(|other| other.entity == to && other.row.get(target) == Some(key)) {
            problem(format!("`{field}` refers to {key}, and no seed before this one is that `{to}`"));
        }
    }
}

/// Rows that need each other can't be created.
fn circles(contract: &Contract, problems: &mut Vec<Problem>) {
    let needed = |entity: &EntityFile| {
        let required = entity.fields.values().filter(|field| field.kind == "ref" && !field.optional);
        required.filter_map(|field| field.to).collect::<Vec<_>>()
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
            if seen.insert(name) {
                open.extend(contract.entity(name).map(|entity| needed(&entity.file)).unwrap_or_default());
            }
        }
    }
}

pub(super) struct Lint<'a> {
    pub(super) contract: &'a Contract,
    pub(super) entity: &'a Entity,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl Lint<'_> {
    pub(super) fn problem(
        &mut self,
        at: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.push(self.entity.document.problem(at, message, help));
    }

    fn whole(&mut self) {
        let file = &self.entity.file;
        self.scope();
        self.names("/key", &file.key);
        self.names("/order", &file.order);
        for name in &file.key {
            if file.fields.get(name).is_some_and(|field| field.optional) {
                self.problem("/key", format!("`{name}` may be null"), "a key has a value: remove `optional`");
            }
        }
        for (i, unique) in file.unique.iter().enumerate() {
            self.names(&format!("/unique/{i}"), unique.fields());
        }
        for (i, index) in file.index.iter().enumerate() {
            self.names(&format!("/index/{i}"), index);
        }
        for (name, field) in &file.fields {
            self.field(&pointer::push("/fields", name), name, field);
        }
        for (i, hook) in file.on.iter().enumerate() {
            let fields = [&hook.when, &hook.set, &hook.otherwise].into_iter().flat_map(IndexMap::keys);
            self.names(&format!("/on/{i}"), &fields.copied().collect::<Vec<_>>());
            for values in [&hook.when, &hook.set, &hook.otherwise] {
                self.constants(&format!("/on/{i}"), file, values);
            }
        }
        for (on, others) in &file.also {
            for (i, other) in others.iter().enumerate() {
                let at = format!("/also/{on}/{i}");
                self.names(&at, &[other.key]);
                self.names(&at, &other.when.keys().copied().collect::<Vec<_>>());
                self.constants(&at, file, &other.when);
                match self.contract.entity(other.entity) {
                    None => self.problem(
                        &at,
                        format!("there is no entity `{}`", other.entity),
                        "name one of `rows.entities`",
                    ),
                    Some(to) => {
                        self.constants(&at, &to.file, &other.set);
                        self.constants(&at, &to.file, &other.unless);
                        let unknown: Vec<_> = other
                            .set
                            .keys()
                            .chain(other.unless.keys())
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
        self.names("/retired", &file.retired.keys().copied().collect::<Vec<_>>());
        self.constants("/retired", file, &file.retired);
        for (i, edges) in file.acyclic.iter().enumerate() {
            let names = [Some(edges.from), Some(edges.to), edges.by];
            self.names(&format!("/acyclic/{i}"), &names.into_iter().flatten().collect::<Vec<_>>());
        }
        self.rules();
        self.adds();
    }

    fn rules(&mut self) {
        let file = &self.entity.file;
        for (i, rule) in file.rules.iter().enumerate() {
            let at = format!("/rules/{i}");
            self.names(&at, rule.fields());
            let is_time = |name: &&str| {
                let field = file.fields.get(*name);
                field.is_none_or(|field| matches!(field.kind, "time" | "now"))
            };
            if let RowRule::Ordered(fields) = rule
                && let Some(name) = fields.iter().find(|name| !is_time(name))
            {
                self.problem(at, format!("`{name}` is no time"), "order fields of the type `time` or `now`");
            }
        }
    }

    fn adds(&mut self) {
        for (name, of) in &self.entity.file.adds {
            let at = pointer::push("/adds", name);
            if self.entity.file.fields.contains_key(name) {
                let message = format!("`{name}` is a field of its own");
                self.problem(&at, message, "choose another name");
            }
            if let Some(field) = self.field_of(&at, of)
                && (field.hidden || field.kind == "secret")
            {
                let message = format!("no answer can have `{}`", of.field);
                self.problem(&at, message, "add a field that answers have");
            }
        }
    }

    /// Returns a field of a row to which this entity refers.
    fn field_of(&mut self, at: &str, of: &Copied) -> Option<&Field> {
        let referring = self.entity.file.fields.get(of.reference);
        let to = referring.filter(|field| !field.loose).and_then(|field| field.to);
        let Some(to) = to else {
            let message = format!("`{}` refers to no row", of.reference);
            self.problem(at, message, "name a field of the type `ref` that is not `loose`");
            return None;
        };
        let found = self.contract.entity(to)?.file.fields.get(of.field);
        if found.is_none() {
            self.problem(at, format!("`{to}` has no field `{}`", of.field), "name one of its fields");
        }
        found
    }

    /// Checks that each name is a field's.
    pub(super) fn names(&mut self, at: &str, names: &[&str]) {
        for name in names {
            if !self.entity.file.fields.contains_key(name) {
                let message = format!("there is no field `{name}`");
                self.problem(at, message, "name one of `fields`");
            }
        }
    }

    /// Checks that each field of `of` can have its value. A value that is an object says where the value comes from.
    fn constants(&mut self, at: &str, of: &EntityFile, values: &IndexMap<&'static str, Value>) {
        for (name, value) in values.iter().filter(|(_, value)| !value.is_object()) {
            let field = of.fields.get(name);
            if field.is_some_and(|field| checked(&table::field(name, field), value.clone()).is_err()) {
                let message = format!("{value} is no value of `{name}`");
                self.problem(at, message, "write one that the field can have");
            }
        }
    }

    fn scope(&mut self) {
        let file = &self.entity.file;
        let org = self.contract.spec.rows.as_ref().and_then(|rows| rows.org);
        let is_org = org.is_some_and(|org| org.entity == file.name);
        match (file.scope, org) {
            (Some(field), Some(org)) => {
                let refers = file.fields.get(field).is_some_and(|field| {
                    field.kind == "ref" && field.to == Some(org.entity) && !field.optional
                });
                if !refers || file.global || is_org {
                    let help = format!("name a required `ref` to `{}`, and leave `global` out", org.entity);
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

    fn field(&mut self, at: &str, name: &'static str, field: &Field) {
        self.names(at, &field.one_true_in);
        self.names(at, &field.within);
        self.names(at, &field.same);
        if let Some(default) = &field.default
            && checked(&table::field(name, field), default.clone()).is_err()
        {
            let message = format!("{default} is no value of the field");
            self.problem(format!("{at}/default"), message, "write one that requests could give");
        }
        self.follows(at, name, field);
        let Some(to) = field.to else { return };
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
            self.problem(format!("{at}/to"), format!("`{to}` has a key of several fields"), help);
        }
        if target.file.scope.is_some() && self.entity.file.scope.is_none() {
            let message = format!("a row of no org refers to `{to}`, whose rows belong to orgs");
            self.problem(format!("{at}/to"), message, "add `scope` to this entity");
        }
        if field.on_delete == Some(OnDelete::Clear) && !field.optional {
            let help = "add `\"optional\": true`, or choose `restrict` or `cascade`";
            self.problem(format!("{at}/onDelete"), "the reference can't become null", help);
        }
        if field.acyclic && to != self.entity.file.name {
            let help = "remove it: it is for references to the same entity";
            self.problem(format!("{at}/acyclic"), "a reference to another entity leads nowhere back", help);
        }
    }

    /// Checks the sources of a field's default value.
    fn follows(&mut self, at: &str, name: &'static str, field: &Field) {
        let file = &self.entity.file;
        if field.from.is_some() && self.contract.spec.rows.as_ref().is_none_or(|rows| rows.caller.is_none()) {
            let help = "add `rows.caller` in contract.json, or remove it";
            self.problem(format!("{at}/from"), "the contract does not say which row is the caller's", help);
        }
        if let Some(of) = field.slug_of
            && (of == name || file.fields.get(of).is_none_or(|field| field.kind != "string"))
        {
            let message = format!("`{of}` is no other field with a text");
            self.problem(format!("{at}/slugOf"), message, "name a field of the type `string`");
        }
        if let Some(of) = &field.copy_of {
            let at = format!("{at}/copyOf");
            let scope = self.contract.entities.iter().filter_map(|entity| entity.file.scope);
            let is_scope = scope.into_iter().any(|scope| scope == of.field);
            if let Some(copied) = self.field_of(&at, of)
                && !copied.is_fixed()
                && !is_scope
            {
                let message = format!("`{}` can change, and the copy would not", of.field);
                self.problem(at, message, "copy a field that is `fixed`");
            }
        }
        if let Some(alias) = field.alias.filter(|alias| file.fields.contains_key(alias)) {
            let message = format!("`{alias}` is a field of its own");
            self.problem(format!("{at}/alias"), message, "choose another name");
        }
    }
}
