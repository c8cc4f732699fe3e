//! Programs aimed at single rules: an engine that is wrong about one rule, and right otherwise, differs from the model in them.
//!
//! Random programs rarely meet such a rule in the state in which it alone decides.

use serde_json::Value;
use tabellion_runtime::spec::{
    Action, Also, Assigned, EntitySpec, FieldSpec, FieldType, FilterBy, Hook, RowRule, RowsSpec, Scope,
};

use super::{
    begin,
    operation::{self, Operation},
    step::{Call, Choice, Step},
};
use crate::rows::values;

/// Texts of rows that are searched for by words.
const TEXTS: [&str; 3] = ["red pear", "green pear", "red fig"];
/// Words that are searched for: both of one text, in any order, parts of them, and words that no text has together.
const QUERIES: [&str; 6] = ["red pear", "PEAR Red", "green fig", "ear", "fig lime", "pear"];

/// Returns a program for each rule, with its name.
pub(super) fn programs(spec: &RowsSpec, operations: &[Operation]) -> Vec<(String, Vec<Step>)> {
    let aim = Aim { spec, operations, created: operation::created(operations) };
    let mut all: Vec<_> = aim.default_org().into_iter().collect();
    for entity in aim.created.iter().copied() {
        let rules = entity.rules.iter().filter_map(|rule| match rule {
            RowRule::Differ(names) => Some(aim.equal(entity, names)),
            _ => None,
        });
        all.extend(rules);
        let repeated = entity.also.iter().filter(|also| also.on == Action::Update);
        all.extend(repeated.filter_map(|also| aim.repeated(entity, also)));
        all.extend(entity.on.iter().filter_map(|hook| aim.hooked(entity, hook)));
        all.extend(aim.searched(entity));
        let circles = entity.references().filter(|(_, reference)| reference.acyclic);
        all.extend(circles.filter_map(|(field, _)| aim.circle(entity, field)));
    }
    all.extend(aim.created.iter().find_map(|entity| aim.elsewhere(entity)));
    all
}

/// The entities and operations that programs are made of.
struct Aim<'a> {
    spec: &'a RowsSpec,
    operations: &'a [Operation],
    created: Vec<&'static EntitySpec>,
}

impl Aim<'_> {
    /// Deletes the default org, once no row refers to it.
    fn default_org(&self) -> Option<(String, Vec<Step>)> {
        let org = self.spec.org?;
        let key = |row: &str, entity: &EntitySpec| {
            let row: Value = serde_json::from_str(row).unwrap_or_default();
            Choice::Value(row[entity.key[0]].clone())
        };
        let delete = |name: &str, row: Choice| {
            let of = self.find(name, Action::Delete)?;
            let mut call = Call::new(Action::Delete, of.entity);
            (call.row, call.names_no_org) = (row, of.entity.scope == Scope::Root);
            Some(step(call))
        };
        let last = delete(org.entity, Choice::Value(org.default.into()))?;
        let seeds = self.spec.seeds.iter().filter(|seed| seed.entity != org.entity);
        let seeds =
            seeds.filter_map(|seed| delete(seed.entity, key(seed.row, self.spec.entity(seed.entity)?)));
        Some(("the default org".into(), seeds.chain([last]).collect()))
    }

    /// Creates rows with the same value in fields that must differ, with each word of an enumeration, which other rules may tell apart.
    fn equal(&self, entity: &'static EntitySpec, names: &[&str]) -> (String, Vec<Step>) {
        let mut steps = self.rows_before(entity);
        let first = entity.field(names[0]);
        let value = |field: &FieldSpec| match field.kind {
            FieldType::Ref(_) => Choice::Row(0),
            _ => Choice::Value(first.map_or(Value::Null, |first| values::plain(first, begin::FIRST))),
        };
        let words = entity.fields.iter().find_map(|field| match field.kind {
            FieldType::Enum(words) => Some((field.name, words)),
            _ => None,
        });
        let (name, words) = words.map_or((None, &[""][..]), |(name, words)| (Some(name), words));
        for (number, word) in words.iter().enumerate() {
            let mut call = begin::row(entity, number);
            for field in names.iter().filter_map(|name| entity.field(name)) {
                call.give(field.name, value(field));
            }
            if let Some(name) = name {
                call.give(name, Choice::Value((*word).into()));
            }
            steps.push(step(call));
        }
        (format!("{} that must differ", names.join(" and ")), steps)
    }

    /// Makes an update twice, and changes the other row in between, which the second update must leave as it is.
    fn repeated(&self, entity: &'static EntitySpec, also: &Also) -> Option<(String, Vec<Step>)> {
        let mut steps = self.rows_with(entity);
        let constant = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let mut between = self.update(also.entity)?;
        let other = self.spec.entity(also.entity)?;
        for assignment in also.set {
            let field = other.field(assignment.field);
            let (Some(field), Assigned::Json(text)) = (field, assignment.value) else {
                continue;
            };
            let is_other = |value: &Value| *value != constant(text);
            if !field.is_fixed()
                && !matches!(field.kind, FieldType::Ref(_))
                && let Some(value) = (0..4).map(|number| values::plain(field, number)).find(is_other)
            {
                between.give(field.name, Choice::Value(value));
            }
        }
        let updates =
            self.operations.iter().filter(|it| it.entity.name == entity.name && it.action == Action::Update);
        for update in updates {
            let is_own = update.tool.rows.is_some_and(|rows| !rows.set.is_empty());
            let mut call = first_row_call(update);
            if !is_own {
                let when = also.when.iter();
                let when = when.map(|(name, text)| ((*name).to_owned(), Choice::Value(constant(text))));
                call.set = when.collect();
                if call.set.is_empty() {
                    let field = entity.fields.iter().find(|field| is_plain(field))?;
                    call.give(field.name, Choice::Value(values::plain(field, 1)));
                }
            }
            steps.extend([call.clone(), between.clone(), call].map(step));
        }
        Some((format!("{} that also changes {}", entity.name, also.entity), steps))
    }

    /// Gives a field the value of a hook, again, a different value, and the first one once more.
    fn hooked(&self, entity: &'static EntitySpec, hook: &Hook) -> Option<(String, Vec<Step>)> {
        let mut steps = self.rows_with(entity);
        let field = entity.field(hook.field).filter(|field| !field.is_fixed())?;
        let is = serde_json::from_str::<Value>(hook.is).unwrap_or_default();
        let mut values = (0..8).map(|number| values::plain(field, number));
        let other = values.find(|value| *value != is)?;
        for value in [&is, &is, &other, &is] {
            let mut update = self.update(entity.name)?;
            update.give(field.name, Choice::Value(value.clone()));
            steps.push(step(update));
        }
        Some((format!("{} of {} that is {}", hook.field, entity.name, hook.is), steps))
    }

    /// Makes a row refer to one that refers to it.
    fn circle(&self, entity: &'static EntitySpec, field: &FieldSpec) -> Option<(String, Vec<Step>)> {
        let mut steps = self.rows_with(entity);
        let mut child = begin::row(entity, 1);
        child.give(field.name, Choice::Row(0));
        steps.push(step(child));
        for parent in [1, 0] {
            let mut update = self.update(entity.name)?;
            update.give(field.name, Choice::Row(parent));
            steps.push(step(update));
        }
        Some((format!("{} of {} in a circle", field.name, entity.name), steps))
    }

    /// Gets, changes and deletes a row from another org.
    fn elsewhere(&self, entity: &'static EntitySpec) -> Option<(String, Vec<Step>)> {
        entity.org_field()?;
        let mut steps = self.rows_with(entity);
        for action in [Action::Get, Action::Update, Action::Delete] {
            let mut call = first_row_call(self.find(entity.name, action)?);
            (call.org, call.row) = (1, Choice::Elsewhere(0));
            if action == Action::Update {
                let field = entity.fields.iter().find(|field| is_plain(field))?;
                call.give(field.name, Choice::Value(values::plain(field, 1)));
            }
            steps.push(step(call));
        }
        Some((format!("{} of another org", entity.name), steps))
    }

    /// Searches rows for several words.
    fn searched(&self, entity: &'static EntitySpec) -> Option<(String, Vec<Step>)> {
        let lists =
            self.operations.iter().filter(|it| it.entity.name == entity.name && it.action == Action::List);
        let mut by = lists.flat_map(|list| {
            let filters = list.tool.rows.map_or(&[][..], |rows| rows.filters).iter();
            filters.map(move |filter| (list, filter))
        });
        let (list, member, names) = by.find_map(|(list, filter)| match filter.by {
            FilterBy::Words(names) => Some((list, filter.member, names)),
            _ => None,
        })?;
        let mut steps = self.rows_before(entity);
        for (number, text) in TEXTS.into_iter().enumerate() {
            let mut call = begin::row(entity, number);
            // The words are in any of the fields.
            let name = names[number % names.len()];
            call.give(names[0], Choice::Value(format!("lime {number}").into()));
            call.give(name, Choice::Value(text.into()));
            steps.push(step(call));
        }
        for query in QUERIES {
            let mut call = first_row_call(list);
            let named = list.tool.rows.map_or(&[][..], |rows| rows.arguments).iter();
            call.set = named.map(|(_, field)| ((*field).to_owned(), Choice::Row(0))).collect();
            call.filters = vec![(member.to_owned(), Choice::Value(query.into()))];
            steps.push(step(call));
        }
        Some((format!("words in {} of {}", names.join(" or "), entity.name), steps))
    }

    /// Returns the steps that create the rows that a row of the entity needs.
    fn rows_before(&self, entity: &'static EntitySpec) -> Vec<Step> {
        let mut chosen = Vec::new();
        begin::with_needed(entity, &self.created, &mut chosen);
        chosen.retain(|it| it.name != entity.name);
        chosen.into_iter().map(begin::needed).collect()
    }

    fn rows_with(&self, entity: &'static EntitySpec) -> Vec<Step> {
        let mut steps = self.rows_before(entity);
        steps.push(begin::needed(entity));
        steps
    }

    /// Returns the first operation that does this with an entity.
    fn find(&self, entity: &str, action: Action) -> Option<&Operation> {
        let does = |it: &&Operation| it.entity.name == entity && it.action == action && it.is_first;
        self.operations.iter().find(does)
    }

    /// Returns an update of the first row of an entity.
    fn update(&self, entity: &str) -> Option<Call> {
        self.find(entity, Action::Update).map(first_row_call)
    }
}

/// Returns a call of an operation, about the first row.
fn first_row_call(operation: &Operation) -> Call {
    Call {
        row: Choice::Row(0),
        label: (!operation.is_first).then(|| operation.tool.label().to_owned()),
        ..Call::new(operation.action, operation.entity)
    }
}

/// Returns true if an update can set the field to any plain value.
fn is_plain(field: &FieldSpec) -> bool {
    !field.is_fixed() && !field.hidden && matches!(field.kind, FieldType::Text { .. } | FieldType::Boolean)
}

fn step(call: Call) -> Step {
    Step::Call(Box::new(call))
}

impl Call {
    /// Gives a field a value, instead of any other.
    fn give(&mut self, field: &str, value: Choice) {
        self.set.retain(|(name, _)| name != field);
        self.set.push((field.to_owned(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_of_a_contract_has_a_program() {
        let contract = &tabellion_contracts::mcb::CONTRACT;
        let spec = contract.rows.expect("it has rows");
        let programs = programs(spec, &operation::select(contract, |_| true));
        let calls = |name: &str| {
            let found = programs.iter().find(|(known, _)| known == name);
            found.map_or(0, |(_, steps)| steps.len())
        };
        for (name, expected) in [
            // The only user, then the org.
            ("the default org", 2),
            // A project, a user, an issue, and each of four words.
            ("from_issue_id and to_issue_id that must differ", 7),
            ("words in title or description of issue", 2 + TEXTS.len() + QUERIES.len()),
            ("status of issue that is \"closed\"", 7),
        ] {
            assert_eq!(calls(name), expected, "{name}");
        }
        assert!(calls("assignment that also changes worktree") > 3);
    }
}
