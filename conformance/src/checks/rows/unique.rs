//! Values that only one row can have.

use tabellion_runtime::spec::{Action, EntitySpec, FieldType, Unique};

use super::basics::{entity, has, must_be_refused, spec, start};
use crate::{
    checks::prelude::*,
    ledger::rows::Row,
    rows::{RowsClient, client, requests},
};

pub(super) const CHECK: Check = Check {
    id: "rows/unique",
    guarantees: &["rows-are-what-was-said"],
    states: "Only one row of an org has the values that the contract says are unique, and the key.",
    explains: "For the key and each unique of each entity: a second row with the same values is refused, on creation and update, also \
               with letters of the other case where the contract ignores case. A row keeps its own values, and takes those of a row \
               that was deleted, but never its id. A mark that only one row can have goes from one to the other.",
    cases,
    ..Check::must(judge)
};

/// A unique of an entity; without a number, its key.
#[derive(Debug, Serialize, Deserialize)]
struct Of {
    entity: String,
    unique: Option<usize>,
    /// Name of a mark that only one row can have.
    #[serde(default)]
    mark: Option<String>,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for entity in spec(bench)?.entities {
        if !has(bench, entity.name, &[Action::Create]) {
            continue;
        }
        let all = (0..entity.uniques.len()).map(Some).chain([None]);
        for unique in all.filter(|unique| can_be_given(entity, fields(entity, *unique))) {
            let name = format!("{}: {}", entity.name, fields(entity, unique).join(" and "));
            let entity = entity.name.to_owned();
            cases.push(Case::new(name, Of { entity, unique, mark: None }));
        }
        let marks =
            entity.fields.iter().filter(|field| !field.one_true_in.is_empty() && !field.is_of_store());
        for mark in marks {
            let name = format!("{}: one with {}", entity.name, mark.name);
            let of = Of { entity: entity.name.to_owned(), unique: None, mark: Some(mark.name.to_owned()) };
            cases.push(Case::new(name, of));
        }
    }
    nonempty(cases, "no operation creates a row with a unique value")
}

fn fields(entity: &'static EntitySpec, unique: Option<usize>) -> &'static [&'static str] {
    unique.map_or(entity.key, |at| entity.uniques[at].fields)
}

/// Returns true if requests give all values of these fields.
fn can_be_given(entity: &EntitySpec, names: &[&str]) -> bool {
    let mut fields = names.iter().filter_map(|name| entity.field(name));
    fields.all(|field| !field.is_of_store())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let of: Of = case.read()?;
    let entity = entity(bench, &of.entity)?;
    let (scene, mut rows) = start(bench)?;
    if let Some(mark) = &of.mark {
        return judge_mark(&scene, &mut rows, entity, mark);
    }
    let names = fields(entity, of.unique);
    let unique = of.unique.map(|at| &entity.uniques[at]);
    let first = with_all(&mut rows, entity, names, unique)?;
    let taken = requests::part_of(&first, names);
    let folded: Vec<_> = unique.map_or(&[][..], |unique| unique.folded).to_vec();
    for values in [taken.clone(), swapped(&taken, &folded)] {
        let data = rows.complete(entity, values)?;
        let request = rows.request(entity, Action::Create, Row::new(), data)?;
        let what = format!("a second {} with the same {}", entity.name, names.join(" and "));
        must_be_refused(bench, &scene, &mut rows, &request, (&what, names))?;
    }
    let second = with_all(&mut rows, entity, names, unique)?;
    let settable: Vec<_> = client::settable(entity).map(|field| field.name).collect();
    let is_settable = !names.is_empty() && names.iter().all(|name| settable.contains(name));
    if is_settable && rows.has(entity, Action::Update) {
        let key = requests::key_of(entity, &second);
        for values in [taken.clone(), swapped(&taken, &folded)] {
            let request = rows.request(entity, Action::Update, key.clone(), values)?;
            let what = format!("an update of a {} to the {} of another", entity.name, names.join(" and "));
            must_be_refused(bench, &scene, &mut rows, &request, (&what, names))?;
        }
        let own = requests::key_of(entity, &first);
        let request = rows.request(entity, Action::Update, own, swapped(&taken, &folded))?;
        rows.must(&request)?;
    }
    if rows.has(entity, Action::Delete) {
        let request = rows.request(entity, Action::Delete, requests::key_of(entity, &first), Row::new())?;
        rows.must(&request)?;
        let mut given = taken;
        // The next number after the largest one is another, if it was not that of the deleted row.
        given.retain(|name, _| !entity.field(name).is_some_and(|it| matches!(it.kind, FieldType::Next(_))));
        if unique.is_none() && entity.has_id() {
            let data = rows.complete(entity, given)?;
            let request = rows.request(entity, Action::Create, Row::new(), data)?;
            let what = format!("a {} with the id of one that was deleted", entity.name);
            must_be_refused(bench, &scene, &mut rows, &request, (&what, names))?;
        } else {
            rows.create(entity, given)?;
        }
    }
    Ok(())
}

/// Fails unless a mark that only one row can have goes from one to the other.
fn judge_mark(
    scene: &Scene<'_>,
    rows: &mut RowsClient<'_>,
    entity: &'static EntitySpec,
    mark: &str,
) -> Judgement {
    let beside = entity.field(mark).map_or(&[][..], |field| field.one_true_in);
    let mut given = Row::from_iter([(mark.to_owned(), true.into())]);
    let first = rows.create(entity, given.clone())?;
    given.extend(requests::part_of(&first, beside));
    let second = rows.create(entity, given)?;
    let found = client::ledger(scene)?;
    for (row, expected) in [(&first, false), (&second, true)] {
        let row = found.tables.find(entity.name, &requests::key_of(entity, row));
        let value = row.and_then(|row| row.get(mark));
        ensure(value == Some(&expected.into()), || {
            let value = value.cloned().unwrap_or_default();
            format!(
                "of two {} that were created with `{mark}`, one has {value} instead of {expected}",
                entity.name
            )
        })?;
    }
    Ok(())
}

/// Creates a row in which none of the unique's fields is null.
fn with_all(
    rows: &mut RowsClient<'_>,
    entity: &'static EntitySpec,
    names: &[&str],
    unique: Option<&Unique>,
) -> Result<Row, Stop> {
    let mut given = Row::new();
    for field in names.iter().filter_map(|name| entity.field(name)) {
        if field.optional && unique.and_then(|it| it.while_null) != Some(field.name) {
            let value = rows.other_value(field, &given)?;
            given.insert(field.name.to_owned(), value);
        }
    }
    rows.create(entity, given)
}

/// Returns the values with letters of the other case, in the fields where that makes no difference.
fn swapped(values: &Row, folded: &[&str]) -> Row {
    let swap = |letter: char| {
        if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
    };
    let value = |(name, value): (&String, &Value)| {
        let text = value.as_str().filter(|_| folded.contains(&name.as_str()));
        let value =
            text.map_or_else(|| value.clone(), |text| text.chars().map(swap).collect::<String>().into());
        (name.clone(), value)
    };
    values.iter().map(value).collect()
}
