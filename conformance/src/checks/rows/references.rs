//! References: the rows that they may name, and the effect of deleting the named row.

use tabellion_runtime::spec::{Action, EntitySpec, FieldSpec, OnDelete, Reference, Scope};

use super::basics::{entity, has, must_be_refused, spec, start};
use crate::{
    checks::prelude::*,
    ledger::rows::Row,
    rows::{Model, RowsClient, client, model::Outcome, requests},
};

pub(super) const CHECK: Check = Check {
    id: "rows/references",
    guarantees: &["rows-are-what-was-said"],
    states: "A reference names a row that is there; deleting that row is refused, deletes the other too, or clears the reference, as \
             the contract says.",
    explains: "For each reference of each entity: rows that are not there, rows that differ where both must agree, and circles are \
               refused, on creation and update. Then the row that it names is deleted, beside one that something else names.",
    cases,
    ..Check::must(judge)
};

named! {
    /// The trial that is made with a reference.
    enum Trial {
        /// It names no existing row.
        Missing = "a row that is not there",
        /// It names a row that differs where both must agree.
        Elsewhere = "a row elsewhere",
        /// It leads back to the row.
        Circle = "a circle",
        /// The row that it names is deleted.
        Deleted = "its row is deleted",
    }
}

/// A reference, and the trial that is made with it.
#[derive(Debug, Serialize, Deserialize)]
struct Of {
    entity: String,
    field: String,
    trial: Trial,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for entity in spec(bench)?.entities {
        if !has(bench, entity.name, &[Action::Create]) {
            continue;
        }
        for (field, reference) in given(entity) {
            let is_own = reference.to == entity.name;
            let can_delete = has(bench, reference.to, &[Action::Create, Action::Delete]);
            let applies = |trial: &Trial| match trial {
                Trial::Missing => true,
                Trial::Elsewhere => !reference.same.is_empty(),
                Trial::Circle => is_own && reference.acyclic && !field.fixed,
                Trial::Deleted => can_delete,
            };
            for trial in Trial::ALL.into_iter().filter(applies) {
                let name = format!("{}.{}: {}", entity.name, field.name, trial.name());
                let (entity, field) = (entity.name.to_owned(), field.name.to_owned());
                cases.push(Case::new(name, Of { entity, field, trial }));
            }
        }
    }
    nonempty(cases, "no operation creates a row that refers to another")
}

/// Returns the references that requests give: not those to the org.
fn given(entity: &'static EntitySpec) -> impl Iterator<Item = (&'static FieldSpec, Reference)> {
    let is_given = |field: &FieldSpec| !field.is_of_store() && entity.org_field() != Some(field.name);
    entity.references().filter(move |(field, _)| is_given(field))
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let of: Of = case.read()?;
    let entity = entity(bench, &of.entity)?;
    let (scene, mut rows) = start(bench)?;
    let (field, reference) = given(entity)
        .find(|(field, _)| field.name == of.field)
        .ok_or_else(|| not_applicable(format!("there is no reference `{}`", of.field)))?;
    let trial = References { bench, scene: &scene, entity, field, reference };
    match of.trial {
        Trial::Missing => trial.missing(&mut rows),
        Trial::Elsewhere => trial.elsewhere(&mut rows),
        Trial::Circle => trial.circle(&mut rows),
        Trial::Deleted => trial.deleted(&mut rows),
    }
}

/// One reference under test.
struct References<'b, 'a> {
    bench: &'b Bench<'a>,
    scene: &'b Scene<'a>,
    entity: &'static EntitySpec,
    field: &'static FieldSpec,
    reference: Reference,
}

impl References<'_, '_> {
    /// Creates or, with a row, updates so that the reference is `key`, which must be refused.
    fn refused(&self, rows: &mut RowsClient<'_>, row: Option<&Row>, given: Row, what: &str) -> Judgement {
        let request = match row {
            None => rows.request(self.entity, Action::Create, Row::new(), given)?,
            Some(row) => {
                let key = requests::key_of(self.entity, row);
                rows.request(self.entity, Action::Update, key, given)?
            }
        };
        let what = format!("`{}` of {} with {what}", self.field.name, self.entity.name);
        must_be_refused(self.bench, self.scene, rows, &request, (&what, &[self.field.name])).map(drop)
    }

    fn set(&self, key: Value) -> Row {
        Row::from_iter([(self.field.name.to_owned(), key)])
    }

    fn can_update(&self) -> bool {
        let is_settable = client::settable(self.entity).any(|field| field.name == self.field.name);
        is_settable && has(self.bench, self.entity.name, &[Action::Update])
    }

    /// Returns a new row that can be referred to by `row`.
    fn target(&self, rows: &mut RowsClient<'_>, row: &Row) -> Result<Row, Stop> {
        let key = rows.other_value(self.field, row)?;
        Ok(Row::from_iter([(self.target_key(rows)?.to_owned(), key)]))
    }

    fn target_key(&self, rows: &RowsClient<'_>) -> Result<&'static str, Stop> {
        Ok(rows.entity(self.reference.to)?.key[0])
    }

    fn missing(&self, rows: &mut RowsClient<'_>) -> Judgement {
        let mut data = rows.complete(self.entity, Row::new())?;
        let row = rows.create(self.entity, Row::new())?;
        data.extend(self.set("no-such-row".into()));
        self.refused(rows, None, data, "a row that is not there")?;
        if self.can_update() {
            self.refused(rows, Some(&row), self.set("no-such-row".into()), "a row that is not there")?;
        }
        Ok(())
    }

    fn elsewhere(&self, rows: &mut RowsClient<'_>) -> Judgement {
        let row = rows.create(self.entity, Row::new())?;
        let to = rows.entity(self.reference.to)?;
        let other = rows.create(to, Row::new())?;
        let agrees = self.reference.same.iter().all(|name| row.get(*name) == other.get(*name));
        if agrees {
            return Err(not_applicable("no two rows differ where both must agree"));
        }
        let key = other.get(to.key[0]).cloned().unwrap_or_default();
        let mut data = rows.complete(self.entity, requests::part_of(&row, self.reference.same))?;
        data.extend(self.set(key.clone()));
        self.refused(rows, None, data, "a row elsewhere")?;
        if self.can_update() {
            self.refused(rows, Some(&row), self.set(key), "a row elsewhere")?;
        }
        Ok(())
    }

    fn circle(&self, rows: &mut RowsClient<'_>) -> Judgement {
        if !self.can_update() {
            return Err(not_applicable("no operation changes the reference"));
        }
        let name = self.target_key(rows)?;
        let first = rows.create(self.entity, Row::new())?;
        let mut last = first.clone();
        for _ in 0..3 {
            let mut given = requests::part_of(&last, self.reference.same);
            given.extend(self.set(last[name].clone()));
            last = rows.create(self.entity, given)?;
            self.refused(rows, Some(&first), self.set(last[name].clone()), "a row that leads back to it")?;
        }
        self.refused(rows, Some(&first), self.set(first[name].clone()), "the row itself")
    }

    fn deleted(&self, rows: &mut RowsClient<'_>) -> Judgement {
        let to = rows.entity(self.reference.to)?;
        if to.scope == Scope::Root {
            return Err(not_applicable("the row is the org"));
        }
        // Each with a row of its own that it names.
        let mut created = Vec::new();
        for _ in 0..2 {
            let plain = rows.complete(self.entity, Row::new())?;
            let target = match plain.get(self.field.name) {
                Some(key) => Row::from_iter([(to.key[0].to_owned(), key.clone())]),
                None => self.target(rows, &plain)?,
            };
            let mut data = plain;
            data.extend(self.set(target[to.key[0]].clone()));
            created.push((rows.create(self.entity, data)?, target));
        }
        let [(row, target), (beside, _)] = &created[..] else {
            return Err(Stop::Harness("two rows were created".into()));
        };
        let delete = rows.request(to, Action::Delete, target.clone(), Row::new())?;
        let before = client::ledger(self.scene)?;
        let of = |row: &Row, ledger: &crate::ledger::rows::RowLedger| {
            ledger.tables.find(self.entity.name, &requests::key_of(self.entity, row)).cloned()
        };
        let what = format!(
            "the deletion of a {} that `{}` of a {} names",
            to.name, self.field.name, self.entity.name
        );
        match self.reference.on_delete {
            OnDelete::Restrict => {
                must_be_refused(self.bench, self.scene, rows, &delete, (&what, &[]))?;
                if has(self.bench, self.entity.name, &[Action::Delete]) {
                    let key = requests::key_of(self.entity, row);
                    let first = rows.request(self.entity, Action::Delete, key, Row::new())?;
                    rows.must(&first)?;
                    // Others may still refer to it.
                    let tables = client::ledger(self.scene)?.tables;
                    let outcome =
                        Model::new(rows.spec, &tables).outcome(self.bench.subject.contract, &delete);
                    if matches!(outcome, Outcome::Refused(_)) {
                        must_be_refused(self.bench, self.scene, rows, &delete, (&what, &[]))?;
                    } else {
                        rows.must(&delete)?;
                    }
                }
            }
            OnDelete::Cascade => {
                rows.must(&delete)?;
                let after = client::ledger(self.scene)?;
                ensure(of(row, &after).is_none(), || format!("{what} left the {} behind", self.entity.name))?;
            }
            OnDelete::Clear => {
                rows.must(&delete)?;
                let after = client::ledger(self.scene)?;
                let Some(left) = of(row, &after) else {
                    return Err(fail(format!("{what} deleted the {} too", self.entity.name)));
                };
                let value = left.get(self.field.name).cloned().unwrap_or_default();
                ensure(value.is_null(), || format!("{what} left `{}` as it was: {value}", self.field.name))?;
            }
        }
        let after = client::ledger(self.scene)?;
        let is_gone = after.tables.rows(to.name).all(|row| row.get(to.key[0]) != target.get(to.key[0]));
        ensure(is_gone || self.reference.on_delete == OnDelete::Restrict, || {
            format!("{what} was answered, but it is there")
        })?;
        ensure(of(beside, &after) == of(beside, &before), || {
            format!("{what} changed a {} that names another", self.entity.name)
        })
    }
}
