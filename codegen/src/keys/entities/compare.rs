//! Classifies changes of entities: additions fit an existing store as it is, all else needs a migration.

use tabellion_runtime::spec::{ListFilter, RowOperation};

use super::{
    EntityFile,
    read::{Field, UniqueFields},
};
use crate::{changes::Changes, contract::Contract};

pub(super) fn contracts(changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
    match (&old.spec.rows, &new.spec.rows) {
        (None, None) => return,
        (None, Some(_)) => return changes.breaking("it keeps rows and not documents"),
        (Some(_), None) => return changes.breaking("it keeps documents and not rows"),
        (Some(before), Some(after)) if before.caller != after.caller => {
            changes.breaking("another row is the caller's");
        }
        (Some(before), Some(after)) if before.org != after.org => {
            changes.breaking("the rows are divided into orgs in another way");
        }
        _ => {}
    }
    let entities = [old, new].map(|of| of.entities.iter().map(|it| (it.file.name, &it.file)));
    changes.by_name("entity", entities, entity);
}

/// Compares the layout of an operation's request and answer.
pub(super) fn operations(changes: &mut Changes<'_>, old: RowOperation, new: RowOperation) {
    let ((_, before), (_, after)) = (old.limits, new.limits);
    if before > after {
        changes.breaking(format!("it lists at most {after} rows and no longer {before}"));
    } else if old.limits != new.limits {
        changes.compatible("it lists another number of rows");
    }
    let layout = |operation: RowOperation| RowOperation { limits: (0, 0), filters: &[], ..operation };
    let is_kept = |filter: &ListFilter| new.filters.contains(filter);
    if !old.filters.iter().all(is_kept) {
        changes.breaking("what it lists is selected in another way");
    } else if old.filters.len() < new.filters.len() {
        changes.compatible("what it lists can be selected in more ways");
    }
    if layout(old) != layout(new) {
        changes.breaking("its request or its answer is laid out in another way");
    }
}

fn entity(changes: &mut Changes<'_>, name: &str, before: &EntityFile, after: &EntityFile) {
    for (what, is_same) in [
        ("table", before.table == after.table),
        ("key", before.key == after.key),
        ("org", (&before.scope, before.global) == (&after.scope, after.global)),
    ] {
        if !is_same {
            changes.breaking(format!("entity `{name}` has another {what}"));
        }
    }
    for (field, before) in &before.fields {
        match after.fields.get(field) {
            None => changes.breaking(format!("field `{name}.{field}` was removed")),
            Some(after) => self::field(changes, &format!("{name}.{field}"), before, after),
        }
    }
    for (field, after) in &after.fields {
        if before.fields.contains_key(field) {
            continue;
        }
        let what = format!("field `{name}.{field}` was added");
        if after.optional || after.default.is_some() {
            changes.compatible(what);
        } else {
            changes.breaking(what + ", and rows that are there have no value for it");
        }
    }
    let added = |unique: &&UniqueFields| !before.unique.contains(unique);
    for unique in after.unique.iter().filter(added) {
        changes.breaking(format!("`{name}` is unique by {}", unique.fields().join(" and ")));
    }
    for unique in before.unique.iter().filter(|unique| !after.unique.contains(unique)) {
        changes.compatible(format!("`{name}` is no longer unique by {}", unique.fields().join(" and ")));
    }
    for rule in after.rules.iter().filter(|rule| !before.rules.contains(rule)) {
        changes.breaking(format!("`{name}` has a rule for {}", rule.fields().join(" and ")));
    }
    for rule in before.rules.iter().filter(|rule| !after.rules.contains(rule)) {
        changes.compatible(format!("`{name}` has no rule for {}", rule.fields().join(" and ")));
    }
    if !before.adds.iter().all(|added| after.adds.iter().any(|it| it == added)) {
        changes.breaking(format!("answers with `{name}` no longer have what they added"));
    } else if before.adds.len() < after.adds.len() {
        changes.compatible(format!("answers with `{name}` add more"));
    }
    for (what, is_same) in [
        ("what follows from a field", before.on == after.on),
        ("what else changes", before.also == after.also),
        ("what has no circles", before.acyclic == after.acyclic),
    ] {
        if !is_same {
            changes.breaking(format!("entity `{name}` changed {what}"));
        }
    }
    if before.index != after.index {
        changes.compatible(format!("entity `{name}` has other indexes"));
    }
    if before.order != after.order {
        changes.compatible(format!("entity `{name}` is listed in another order"));
    }
}

fn field(changes: &mut Changes<'_>, name: &str, old: &Field, new: &Field) {
    if old == new {
        return;
    }
    if old.description != new.description {
        changes.compatible(format!("the description of field `{name}` changed"));
    }
    let wider =
        |old: Option<usize>, new: Option<usize>| new.is_none_or(|new| old.is_some_and(|old| old <= new));
    let lower = |old: Option<i64>, new: Option<i64>| new.is_none_or(|new| old.is_some_and(|old| new <= old));
    let higher = |old: Option<i64>, new: Option<i64>| new.is_none_or(|new| old.is_some_and(|old| old <= new));
    let is_wider = wider(old.max_length, new.max_length)
        && new.min_length.unwrap_or(0) <= old.min_length.unwrap_or(0)
        && wider(old.max_bytes, new.max_bytes)
        && wider(old.max_items, new.max_items)
        && lower(old.minimum, new.minimum)
        && higher(old.maximum, new.maximum)
        && (new.pattern.is_none() || new.pattern == old.pattern)
        && (new.range.is_none() || new.range == old.range)
        && (new.format.is_none() || new.format == old.format)
        && (!new.not_blank || old.not_blank)
        && (new.pascal_case || !old.pascal_case)
        && (new.alias == old.alias || old.alias.is_none())
        && old.values.iter().all(|value| new.values.contains(value))
        && (new.optional || !old.optional);
    let is_answered = old.values.len() < new.values.len() || (new.optional && !old.optional);
    // The attributes in which the wider field may differ.
    let rest = |field: &Field| Field {
        description: None,
        max_length: None,
        min_length: None,
        max_items: None,
        max_bytes: None,
        pattern: None,
        range: None,
        format: None,
        not_blank: false,
        pascal_case: false,
        alias: None,
        minimum: None,
        maximum: None,
        values: vec![],
        optional: false,
        default: None,
        ..field.clone()
    };
    if rest(old) != rest(new) {
        changes.breaking(format!("field `{name}` has another type or other rules"));
    } else if !is_wider {
        changes.breaking(format!("field `{name}` takes fewer values"));
    } else if old.default != new.default {
        changes.breaking(format!("the default of field `{name}` changed"));
    } else if is_answered {
        changes.breaking(format!("answers can have values of field `{name}` that they never had"));
    } else if old.description == new.description {
        changes.compatible(format!("field `{name}` takes more values"));
    }
}
