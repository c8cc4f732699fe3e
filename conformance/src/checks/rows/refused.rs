//! Values that a field can't have are refused by its name.

use tabellion_runtime::spec::{Action, EntitySpec, FieldSpec};

use super::basics::{entity, has, must_be_refused, spec, start};
use crate::{
    check::each_alone,
    checks::prelude::*,
    ledger::rows::Row,
    rows::{requests, values},
};

pub(super) const CHECK: Check = Check {
    id: "rows/refused",
    guarantees: &["rows-are-what-was-said", "errors-change-nothing"],
    states: "A value that a field can't have is refused with an error of the contract that names the field, and nothing changes.",
    explains: "Creates and updates rows of each entity with one wrong value: of another type, too short or long, beyond 2^53, with a \
               NUL, 8 MiB of text where less is allowed, an unknown field, a field that the server sets or that can't change. Each \
               call must be refused, and the rows and the log on the disk must be as before.",
    cases,
    shrink,
    ..Check::must(judge)
};

/// Wrong values that are tried with an entity.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Attempts {
    entity: String,
    /// True if a row is updated instead of created.
    updates: bool,
    /// Names of the fields, and of their wrong values.
    wrong: Vec<(String, String)>,
}

/// Name of a field that no entity has.
const UNKNOWN: &str = "no_such_field";
const UNKNOWN_FIELD: &str = "an unknown field";
const FIXED: &str = "another value of a field that can't change";
const OF_SERVER: &str = "a field that the server sets";

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for entity in spec(bench)?.entities {
        for updates in [false, true] {
            let actions = if updates { &[Action::Create, Action::Update][..] } else { &[Action::Create] };
            if has(bench, entity.name, actions) {
                let action = if updates { Action::Update } else { Action::Create };
                let tool = requests::find(bench.subject.contract, entity.name, action);
                let mut wrong = wrong(entity, updates);
                // Another key in the data names another row.
                let names_row = updates && tool.and_then(|it| it.rows).is_some_and(|it| it.key_in_data);
                wrong.retain(|(name, _)| !(names_row && entity.key.contains(&name.as_str())));
                if !bench.pick(false, true) {
                    // One of the huge texts is enough.
                    let mut huge = 0;
                    wrong.retain(|(_, what)| {
                        *what != values::HUGE_TEXT || {
                            huge += 1;
                            huge == 1 && !updates
                        }
                    });
                }
                let verb = if updates { "update" } else { "create" };
                let name = format!("{verb} {}", entity.name);
                let entity = entity.name.to_owned();
                cases.push(Case::new(name, Attempts { entity, updates, wrong }));
            }
        }
    }
    nonempty(cases, "the server has no operation that creates a row")
}

/// Returns the wrong values to try with an entity.
fn wrong(entity: &'static EntitySpec, updates: bool) -> Vec<(String, String)> {
    let mut all = vec![(UNKNOWN.to_owned(), UNKNOWN_FIELD.to_owned())];
    for field in entity.fields {
        if entity.org_field() == Some(field.name) {
            continue;
        }
        if field.is_of_store() {
            all.push((field.name.to_owned(), OF_SERVER.to_owned()));
        } else if updates && (field.is_fixed() || entity.key.contains(&field.name)) {
            all.push((field.name.to_owned(), FIXED.to_owned()));
        } else {
            let values = values::wrong(field).into_iter();
            all.extend(values.map(|(what, _)| (field.name.to_owned(), what.to_owned())));
        }
    }
    all
}

/// Returns each attempt as a case of its own.
fn shrink(case: &Case) -> Vec<Case> {
    let name = |_, wrong: &(String, String)| format!("{}: {} with {}", case.name, wrong.0, wrong.1);
    each_alone(case, |attempts: &mut Attempts| &mut attempts.wrong, name)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let attempts: Attempts = case.read()?;
    let entity = entity(bench, &attempts.entity)?;
    let (scene, mut rows) = start(bench)?;
    let valid = rows.complete(entity, Row::new())?;
    let key = if attempts.updates {
        let row = rows.create(entity, Row::new())?;
        Some(requests::key_of(entity, &row))
    } else {
        None
    };
    for (name, what) in &attempts.wrong {
        let value = value(entity, name, what)?;
        let set = Row::from_iter([(name.clone(), value)]);
        let request = match &key {
            Some(key) => rows.request(entity, Action::Update, key.clone(), set)?,
            None => {
                let data = valid.clone().into_iter().chain(set).collect();
                rows.request(entity, Action::Create, Row::new(), data)?
            }
        };
        let what = format!("`{name}` of {} with {what}", entity.name);
        must_be_refused(bench, &scene, &mut rows, &request, (&what, &[name]))?;
    }
    Ok(())
}

/// Returns the wrong value of that name.
fn value(entity: &'static EntitySpec, name: &str, what: &str) -> Result<Value, Stop> {
    let field: Option<&'static FieldSpec> = entity.field(name);
    let Some(field) = field else {
        return Ok(json!("x"));
    };
    if what == FIXED || what == OF_SERVER {
        return Ok(match values::plain(field, 77_777) {
            Value::Null => json!("x"),
            value => value,
        });
    }
    let found = values::wrong(field).into_iter().find(|(known, _)| *known == what);
    let unknown = || not_applicable(format!("`{name}` has no wrong value `{what}`"));
    Ok(found.ok_or_else(unknown)?.1)
}
