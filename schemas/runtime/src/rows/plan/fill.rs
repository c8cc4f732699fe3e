//! The values of a new row: given, generated, copied or default.

use std::collections::BTreeSet;

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Draft, Filter, Plan, Row, RowError, Select, constant, immutable, no_such};
use crate::{
    rows::{
        PROVENANCE, USER,
        error::shown,
        value::{checked, slug},
        view::{Order, Test},
    },
    spec::{CALLER, CallerSpec, Copied, EntitySpec, FieldSpec, FieldType, Next, Range},
};

impl Plan<'_> {
    /// Returns a new row with the given values, and with the values derived from them.
    pub(super) async fn draft(&self, entity: &'static EntitySpec, given: &Row) -> Result<Draft, RowError> {
        let mut draft = Draft { row: Row::new(), made: BTreeSet::new() };
        // Copies follow from references, and numbers and slugs from any field.
        let rank = |field: &&FieldSpec| match (field.copy, field.kind) {
            (Some(_), _) => 1,
            (None, FieldType::Next(_)) => 2,
            (None, _) if field.slug_of.is_some() => 2,
            (None, _) => 0,
        };
        let mut fields: Vec<_> = entity.fields.iter().collect();
        fields.sort_by_key(rank);
        let mut missing = vec![];
        for field in fields {
            let filled = match field.copy {
                Some(copy) => self.copy(entity, field, copy, given, &mut draft).await,
                None => self.fill(entity, field, given, &mut draft).await,
            };
            match filled {
                Err(RowError::Missing { fields }) => missing.extend(fields),
                filled => filled?,
            }
        }
        if !missing.is_empty() {
            return Err(RowError::Missing { fields: missing });
        }
        let value = |field: &FieldSpec| (field.name.to_owned(), draft.get(field.name).clone());
        draft.row = entity.fields.iter().map(value).collect();
        Ok(draft)
    }

    /// Returns a value of a request, in the stored form of the field.
    pub(super) fn given(&self, field: &'static FieldSpec, value: Value) -> Result<Value, RowError> {
        let value = checked(field, value)?;
        let now = self.view.fresh().now();
        let problem = match (field.range, value.as_i64()) {
            (Some(Range::AfterNow), Some(time)) if time <= now => "must be later than now",
            (Some(Range::UntilNow), Some(time)) if time > now => "can't be later than now",
            _ => return Ok(value),
        };
        Err(RowError::Value { field: field.name.into(), problem: problem.into() })
    }

    /// Sets a field of a new row to the value of a row that it refers to. A given value must be the same.
    async fn copy(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        copy: Copied,
        given: &Row,
        draft: &mut Draft,
    ) -> Result<(), RowError> {
        let value = self.copied(entity, copy, draft).await?;
        if let Some(given) = given.get(field.name).filter(|given| **given != value) {
            if let FieldType::Ref(reference) = field.kind {
                let to = self.entity(reference.to)?;
                if self.get(to, std::slice::from_ref(given)).await?.is_none() {
                    return Err(no_such(field.name, to, given));
                }
            }
            return Err(RowError::Elsewhere { field: copy.reference, same: field.name });
        }
        draft.set(field.name, value);
        Ok(())
    }

    /// Updates the copied values of a row whose reference has changed.
    pub(super) async fn copy_again(
        &self,
        entity: &'static EntitySpec,
        old: &Row,
        draft: &mut Draft,
    ) -> Result<(), RowError> {
        for field in entity.fields {
            if let Some(copy) = field.copy
                && old.get(copy.reference) != draft.row.get(copy.reference)
            {
                let value = self.copied(entity, copy, draft).await?;
                draft.set(field.name, value);
            }
        }
        Ok(())
    }

    async fn copied(
        &self,
        entity: &'static EntitySpec,
        copy: Copied,
        draft: &Draft,
    ) -> Result<Value, RowError> {
        let key = draft.get(copy.reference);
        let referring = entity.field(copy.reference);
        let Some((referring, FieldType::Ref(reference))) = referring.map(|field| (field, field.kind)) else {
            return Ok(Value::Null);
        };
        if key.is_null() {
            return Ok(Value::Null);
        }
        let to = self.entity(reference.to)?;
        let row = self.get(to, std::slice::from_ref(key)).await?;
        let row = row.ok_or_else(|| no_such(referring.name, to, key))?;
        Ok(row.get(copy.field).cloned().unwrap_or_default())
    }

    /// Returns the key of the caller's row: the user of its key, else the row that the call names, else the default.
    async fn caller(&self, caller: CallerSpec, field: &'static FieldSpec) -> Result<Value, RowError> {
        let entity = self.entity(caller.entity)?;
        let key = |row: Row| {
            let name = entity.key.first().copied().unwrap_or_default();
            row.get(name).cloned().unwrap_or_default()
        };
        let fact = |name: &str| self.facts.get(name).filter(|fact| !fact.is_null()).cloned();
        let provenance = fact(PROVENANCE).unwrap_or_default();
        let said = caller.provenance.and_then(|field| provenance.get(field));
        if fact(USER).is_none()
            && let Some(said) = said
        {
            for name in caller.by {
                let Some(by) = entity.field(name) else { continue };
                let Ok(value) = checked(by, said.clone()) else {
                    continue;
                };
                let mut filter = Filter::is(by.name, value);
                if entity.is_folded(by.name) {
                    filter.test = Test::IsFolded;
                }
                let found = self.select(Select::new(entity, vec![filter])).await?;
                if let Some(row) = found.into_iter().next() {
                    return Ok(key(row));
                }
            }
        }
        let named = fact(USER).unwrap_or_else(|| caller.default.into());
        let row = self.get(entity, std::slice::from_ref(&named)).await?;
        row.map(key).ok_or_else(|| RowError::NoCaller {
            field: field.name,
            entity: entity.name,
            key: shown(&named),
        })
    }

    /// Sets one field of a new row.
    async fn fill(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        given: &Row,
        draft: &mut Draft,
    ) -> Result<(), RowError> {
        let name = field.name;
        if entity.org_field() == Some(name) {
            let org = self.org().unwrap_or_default();
            if given.get(name).is_some_and(|given| *given != org) {
                return Err(immutable(name, true));
            }
            draft.set(name, org);
            return Ok(());
        }
        let given = given.get(name);
        if given.is_some() && field.is_of_store() {
            return Err(immutable(name, true));
        }
        let given = given.map(|value| self.given(field, value.clone())).transpose()?;
        if field.from == Some(CALLER)
            && let (Some(given), Some(user)) = (&given, self.facts.get(USER).filter(|user| !user.is_null()))
            && given != user
        {
            let problem = format!("must be {}, the user of the caller's key; leave it out", shown(user));
            return Err(RowError::Value { field: name.into(), problem });
        }
        match (field.kind, given) {
            (FieldType::Now(_), _) => draft.make(name, self.view.fresh().now().into()),
            (FieldType::Seq, _) => draft.make(name, self.view.fresh().seq()?.into()),
            (FieldType::Secret { .. }, _) => draft.set(name, Value::Null),
            (FieldType::Next(next), given) => {
                let number = self.next(entity, field, next, draft).await?;
                match given {
                    Some(given) if next.strict && given != number => {
                        return Err(RowError::NotNext { field: name, next: number });
                    }
                    Some(given) => draft.set(name, given),
                    None => draft.make(
                        name,
                        checked(field, number.into()).map_err(|_| RowError::Value {
                            field: name.into(),
                            problem: format!("can't follow {}; give one", number - 1),
                        })?,
                    ),
                }
            }
            (_, Some(given)) => draft.set(name, given),
            (kind, None) => match (self.fact(field).await?, field.default) {
                (Some(fact), _) => draft.set(name, checked(field, fact)?),
                (None, Some(default)) => draft.set(name, checked(field, constant(default)?)?),
                (None, None) if field.slug_of.is_some() => draft.set(name, slug_of(field, draft)?),
                (None, None) if field.optional => draft.set(name, Value::Null),
                (None, None) if matches!(kind, FieldType::Id) => {
                    draft.make(name, self.view.fresh().id().into());
                }
                (None, None) => return Err(RowError::Missing { fields: vec![name] }),
            },
        }
        Ok(())
    }

    /// Returns the fact of the call that is the field's default.
    async fn fact(&self, field: &'static FieldSpec) -> Result<Option<Value>, RowError> {
        let Some(name) = field.from else { return Ok(None) };
        match (self.facts.get(name), self.spec.caller) {
            (Some(fact), _) => Ok(Some(fact.clone())),
            (None, Some(caller)) if name == CALLER => Ok(Some(self.caller(caller, field).await?)),
            (None, _) => Ok(None),
        }
    }

    /// Returns the number that follows the largest one.
    async fn next(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        next: Next,
        draft: &Draft,
    ) -> Result<i64, RowError> {
        let filters = next.within.iter().map(|name| Filter::is(name, draft.get(name).clone()));
        let mut select = Select::new(entity, filters.collect());
        select.order = vec![(field.name, Order::Down)];
        select.limit = Some(1);
        let rows = self.select(select).await?;
        let numbers = rows.iter().filter_map(|row| row.get(field.name)?.as_i64());
        Ok(numbers.max().unwrap_or(0) + 1)
    }

    pub(super) fn make_secrets(
        &mut self,
        entity: &'static EntitySpec,
        draft: &mut Draft,
    ) -> Result<(), RowError> {
        for field in entity.fields {
            if let FieldType::Secret { prefix } = field.kind {
                let secret = self.view.fresh().secret(prefix)?;
                draft.make(field.name, HEXLOWER.encode(&Sha256::digest(&secret)).into());
                self.secrets.push((field.name, secret));
            }
        }
        Ok(())
    }
}

/// Returns the slug of the field that `field` is derived from.
fn slug_of(field: &FieldSpec, draft: &Draft) -> Result<Value, RowError> {
    let of = field.slug_of.unwrap_or_default();
    let text = draft.get(of).as_str().unwrap_or_default();
    checked(field, slug(text).into()).map_err(|_| RowError::Value {
        field: field.name.into(),
        problem: format!("can't be made from `{of}`; give one"),
    })
}
