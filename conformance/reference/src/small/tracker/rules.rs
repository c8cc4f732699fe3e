//! The effects of a change on the tracker's rows, or the reason of its refusal.

use serde_json::{Value, json};
use tabellion_runtime::spec::{EntitySpec, FieldSpec, FieldType, OnDelete};

use super::{
    fields::{checked, default, generated::ROWS, is_fixed},
    store::{State, digest, name, random},
};
use crate::{
    mutant::{Mutant, is},
    small::{Refusal, now, rows::Row},
};

/// A request taken apart.
pub(super) struct Request<'a> {
    pub(super) entity: &'static EntitySpec,
    pub(super) org: &'a str,
    pub(super) id: &'a str,
    pub(super) data: Row,
    pub(super) arguments: &'a Value,
}

/// Result of a change.
pub(super) struct Changed {
    pub(super) response: Value,
    /// The new secret, and the id of its row.
    pub(super) secret: Option<(String, String)>,
}

/// Returns true if the row is of the request's org, or is the org; if a request for orgs names none, every org counts.
pub(super) fn is_of_org(row: &Row, request: &Request<'_>) -> bool {
    if request.entity.name == "org" {
        request.arguments["org_id"].is_null() || row["id"] == request.org
    } else {
        row["org_id"] == request.org
    }
}

/// Returns the row that a request names.
pub(super) fn find(state: &State, request: &Request<'_>, in_any_org: bool) -> Result<Row, Refusal> {
    let is_it = |row: &Row| row["id"] == request.id && (in_any_org || is_of_org(row, request));
    let found = state.rows(request.entity.name).into_iter().find(is_it);
    found.ok_or_else(|| (-32001, format!("there is no {} `{}`", request.entity.name, request.id)))
}

pub(super) fn create(state: &mut State, request: &Request<'_>) -> Result<Changed, Refusal> {
    let (entity, org) = (request.entity, request.org);
    if !state.rows("org").iter().any(|row| row["id"] == org) {
        return Err((-32001, format!("there is no org `{org}`")));
    }
    let (mut row, mut secret) = (Row::new(), None);
    for field in entity.fields {
        let given = request.data.get(field.name);
        let given = given.map(|value| checked(field, value)).transpose()?;
        let value = match field.kind {
            FieldType::Id => match given {
                Some(id) => id,
                None => random(24)?.into(),
            },
            _ if entity.org_field() == Some(field.name) => org.into(),
            FieldType::Now(_) => now().into(),
            FieldType::Seq => {
                state.last += 1;
                state.last.into()
            }
            FieldType::Next(_) => count(state, &row, given)?,
            FieldType::Secret { prefix } => {
                let made = format!("{prefix}{}", random(64)?);
                let kept = digest(&json!(made));
                secret = Some(made);
                kept.into()
            }
            _ => first(field, given)?,
        };
        row.insert(field.name.to_owned(), value);
    }
    let is_same = |other: &Row| other["id"] == row["id"] && other["org_id"] == org;
    let was_removed = state.removed.contains(&name(entity.name, &row)) && !is(Mutant::UsesIdsAgain);
    if was_removed || state.rows(entity.name).iter().any(is_same) {
        return Err((-32002, format!("there is a {} with this `id` already", entity.name)));
    }
    follow(None, &mut row);
    check(state, entity, None, &row)?;
    let mut rows = state.rows(entity.name);
    rows.push(row.clone());
    state.set_rows(entity.name, rows);
    take_mark(state, None, &row);
    also(state, entity, "create", None, &row)?;
    let id = row["id"].as_str().unwrap_or_default().to_owned();
    let mut response = row;
    if let Some(secret) = &secret {
        response.insert("secret".into(), secret.as_str().into());
    }
    Ok(Changed { response: response.into(), secret: secret.map(|secret| (id, secret)) })
}

/// Returns the first value of a field.
fn first(field: &FieldSpec, given: Option<Value>) -> Result<Value, Refusal> {
    match (given, default(field)) {
        (Some(given), _) => Ok(given),
        (None, Some(default)) => checked(field, &serde_json::from_str(default).unwrap_or_default()),
        (None, None) => Err((-32602, format!("`{}` is missing", field.name))),
    }
}

/// Returns the number of a new issue in its project.
fn count(state: &State, row: &Row, given: Option<Value>) -> Result<Value, Refusal> {
    let issues = state.rows("issue").into_iter();
    let same = issues.filter(|it| it["org_id"] == row["org_id"] && it["project_id"] == row["project_id"]);
    let next = same.filter_map(|it| it["number"].as_i64()).max().unwrap_or(0) + 1;
    match given {
        Some(given) if given != next && !is(Mutant::AnyNumber) => {
            Err((-32002, format!("`number` must be {next}")))
        }
        Some(given) => Ok(given),
        None => Ok(next.into()),
    }
}

pub(super) fn update(state: &mut State, request: &Request<'_>) -> Result<Changed, Refusal> {
    let entity = request.entity;
    let old = find(state, request, false)?;
    let mut row = old.clone();
    for field in entity.fields {
        match request.data.get(field.name) {
            Some(value) if is_fixed(entity, field) && old.get(field.name) == Some(value) => {}
            Some(_) if is_fixed(entity, field) => {
                return Err((-32602, format!("`{}` can't be changed", field.name)));
            }
            Some(value) => drop(row.insert(field.name.to_owned(), checked(field, value)?)),
            None if is(Mutant::PatchResets) && default(field).is_some() && !is_fixed(entity, field) => {
                row.insert(field.name.to_owned(), first(field, None)?);
            }
            None => {}
        }
    }
    let row = put(state, entity, &old, row)?;
    also(state, entity, "update", Some(&old), &row)?;
    let mut response = row;
    response.shift_remove("secret");
    Ok(Changed { response: response.into(), secret: None })
}

/// Replaces a row, with all consequences.
fn put(state: &mut State, entity: &'static EntitySpec, old: &Row, mut row: Row) -> Result<Row, Refusal> {
    follow(Some(old), &mut row);
    if row != *old && row.contains_key("updated_at") {
        row.insert("updated_at".into(), now().into());
    }
    check(state, entity, Some(old), &row)?;
    let mut rows = state.rows(entity.name);
    rows.iter_mut().filter(|it| *it == old).for_each(|it| it.clone_from(&row));
    state.set_rows(entity.name, rows);
    take_mark(state, Some(old), &row);
    Ok(row)
}

/// Sets the fields that follow from the state of an issue.
fn follow(old: Option<&Row>, row: &mut Row) {
    let is_closed = |row: &Row| row.get("state").is_some_and(|state| state == "closed");
    match (old.is_some_and(is_closed), is_closed(row)) {
        _ if is(Mutant::ForgetsHook) => {}
        (false, true) => drop(row.insert("closed_at".into(), now().into())),
        (true, false) if !is(Mutant::HookStays) => drop(row.insert("closed_at".into(), Value::Null)),
        _ => {}
    }
}

/// Changes the state of an issue with a claim of it.
fn also(
    state: &mut State,
    entity: &'static EntitySpec,
    action: &str,
    old: Option<&Row>,
    row: &Row,
) -> Result<(), Refusal> {
    let is_same = action == "update" && old == Some(row) && !is(Mutant::AlsoAgain);
    if entity.name != "claim" || is_same || is(Mutant::ForgetsAlso) {
        return Ok(());
    }
    let (becomes, when) = match action {
        "create" => ("started", None),
        "update" => ("closed", Some(true)),
        _ => ("open", Some(false)),
    };
    if when.is_some_and(|when| row["done"] != when) && !is(Mutant::AlsoRegardless) {
        return Ok(());
    }
    let is_its = |issue: &Row| issue["id"] == row["issue_id"] && issue["org_id"] == row["org_id"];
    if let Some(entity) = ROWS.entity("issue") {
        for issue in state.rows(entity.name).into_iter().filter(is_its) {
            let mut changed = issue.clone();
            changed.insert("state".into(), becomes.into());
            put(state, entity, &issue, changed)?;
        }
    }
    Ok(())
}

/// Returns true if each word of the query is in the title or the body of an issue.
pub(super) fn has_words(issue: &Row, query: &str) -> bool {
    let lower = |text: &str| {
        if is(Mutant::WordsHaveCase) { text.to_owned() } else { text.to_ascii_lowercase() }
    };
    let fields: &[&str] = if is(Mutant::WordsOfTitle) { &["title"] } else { &["title", "body"] };
    let texts: Vec<_> = fields.iter().filter_map(|name| Some(lower(issue[*name].as_str()?))).collect();
    let query = lower(query);
    let has = |word: &str| texts.iter().any(|text| text.contains(word));
    if is(Mutant::WordsArePhrases) {
        return has(query.trim());
    }
    query.split_whitespace().all(has)
}

/// Takes the pin from the other issues of the project.
fn take_mark(state: &mut State, old: Option<&Row>, row: &Row) {
    let is_pinned = |row: &Row| row.get("pinned") == Some(&Value::Bool(true));
    if !is_pinned(row) || old.is_some_and(is_pinned) || is(Mutant::PinsStay) {
        return;
    }
    let mut rows = state.rows("issue");
    for other in &mut rows {
        let is_beside = other["org_id"] == row["org_id"] && other["project_id"] == row["project_id"];
        if is_beside && is_pinned(other) && other["id"] != row["id"] {
            other.insert("pinned".into(), false.into());
            other.insert("updated_at".into(), now().into());
        }
    }
    state.set_rows("issue", rows);
}

/// Checks the rules for `row`, the new version of `old`.
fn check(state: &State, entity: &'static EntitySpec, old: Option<&Row>, row: &Row) -> Result<(), Refusal> {
    let differs = |name: &str| old.is_none_or(|old| old.get(name) != row.get(name));
    for (field, reference) in entity.references() {
        if entity.org_field() == Some(field.name) {
            continue;
        }
        if row[field.name].is_null() || !differs(field.name) || is(Mutant::IgnoresReferences) {
            continue;
        }
        let wrong = |why: &str| (-32602, format!("`{}` {why}", field.name));
        let is_it = |it: &Row| {
            it["id"] == row[field.name] && (it["org_id"] == row["org_id"] || is(Mutant::RefersAcrossOrgs))
        };
        let target = state.rows(reference.to).into_iter().find(is_it);
        let target = target.ok_or_else(|| wrong("names no row"))?;
        if reference.acyclic {
            if target["project_id"] != row["project_id"] {
                return Err(wrong("must name an issue with the same `project_id`"));
            }
            circle(state, row, target).map_err(|()| wrong("would make a circle"))?;
        }
    }
    if entity.name == "claim" && row["worker"] == row["reviewer"] && !is(Mutant::ReviewsOwnWork) {
        return Err((-32602, "`reviewer` must differ from `worker`".into()));
    }
    unique(state, entity, old, row)
}

/// Fails if following the parents from `at` leads to `row`.
fn circle(state: &State, row: &Row, mut at: Row) -> Result<(), ()> {
    let issues = state.rows("issue");
    for _ in 0..=issues.len() {
        if at["id"] == row["id"] && at["org_id"] == row["org_id"] {
            return if is(Mutant::GoesInCircles) { Ok(()) } else { Err(()) };
        }
        let is_parent = |it: &&Row| it["id"] == at["parent_id"] && it["org_id"] == at["org_id"];
        match issues.iter().find(is_parent) {
            Some(parent) => at = parent.clone(),
            None => break,
        }
    }
    Ok(())
}

fn unique(state: &State, entity: &'static EntitySpec, old: Option<&Row>, row: &Row) -> Result<(), Refusal> {
    for unique in entity.uniques {
        let form = |row: &Row, name: &str| match &row[name] {
            Value::String(text) if unique.folded.contains(&name) && !is(Mutant::CaseMatters) => {
                text.to_ascii_lowercase().into()
            }
            value => value.clone(),
        };
        let is_same = |other: &Row| {
            let own = old.is_some_and(|old| old["id"] == other["id"]);
            let same = other["org_id"] == row["org_id"] || is(Mutant::UniqueAcrossOrgs);
            !(own && other["org_id"] == row["org_id"])
                && same
                && unique.fields.iter().all(|name| form(other, name) == form(row, name))
        };
        if state.rows(entity.name).iter().any(is_same) && !is(Mutant::IgnoresUnique) {
            let names = unique.fields.join("` and `");
            return Err((-32002, format!("there is a {} with this `{names}` already", entity.name)));
        }
    }
    Ok(())
}

pub(super) fn delete(state: &mut State, request: &Request<'_>) -> Result<Changed, Refusal> {
    let first = find(state, request, false)?;
    if request.entity.name == "org" && request.id == "home" && !is(Mutant::DeletesDefaultOrg) {
        return Err((-32002, "the default org can't be deleted".into()));
    }
    also(state, request.entity, "delete", None, &first)?;
    let mut gone = vec![(request.entity, first)];
    let mut next = 0;
    while next < gone.len() {
        let (entity, row) = (gone[next].0, gone[next].1.clone());
        next += 1;
        for (other, field, reference) in ROWS.referring(entity) {
            if reference.on_delete == OnDelete::Cascade && !is(Mutant::ForgetsCascade) {
                let rows = state.rows(other.name).into_iter();
                gone.extend(rows.filter(|it| names(it, field.name, &row)).map(|it| (other, it)));
            }
        }
    }
    for (entity, row) in &gone {
        let mut rows = state.rows(entity.name);
        rows.retain(|it| it != row);
        state.set_rows(entity.name, rows);
    }
    for (entity, row) in &gone {
        for (other, field, reference) in ROWS.referring(entity) {
            for it in state.rows(other.name) {
                if !names(&it, field.name, row) {
                    continue;
                }
                match reference.on_delete {
                    OnDelete::Restrict if !is(Mutant::DeletesWhatIsUsed) => {
                        return Err((-32002, format!("the {} is in use by a {}", entity.name, other.name)));
                    }
                    OnDelete::Clear if !is(Mutant::ForgetsClear) => {
                        let mut cleared = it.clone();
                        cleared.insert(field.name.to_owned(), Value::Null);
                        put(state, other, &it, cleared)?;
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(Changed { response: json!({ "deleted": true, "id": request.id }), secret: None })
}

/// Returns true if the field of `it` names `row`.
fn names(it: &Row, field: &str, row: &Row) -> bool {
    // An org is not in an org itself.
    it[field] == row["id"] && row.get("org_id").is_none_or(|org| it["org_id"] == *org)
}
