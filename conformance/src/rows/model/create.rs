//! The values of new rows: given, made, copied or by default.

use serde_json::Value;
use tabellion_runtime::spec::{Action, CALLER, CallerSpec, Copied, EntitySpec, FieldSpec, FieldType};

use super::{
    Model, Refused,
    change::{check_fields, hooks},
    constant, has, now, stored_form,
};
use crate::{
    ledger::rows::Row,
    rows::{made::Made, values},
};

/// The org and the caller of a new row, and its given values.
#[derive(Debug, Clone, Copy)]
struct Creation<'a> {
    org: Option<&'a str>,
    /// The name that the call gives its caller.
    caller: Option<&'a str>,
    given: &'a Row,
}

impl Model {
    pub(super) fn create(
        &mut self,
        entity: &'static EntitySpec,
        org: Option<&str>,
        caller: Option<&str>,
        given: &Row,
    ) -> Result<(), Refused> {
        check_fields(entity, given, true)?;
        if entity.org_field().is_some()
            && let Some(of) = self.spec.org
        {
            let orgs = self.entity(of.entity).ok_or(Refused::NotThere)?;
            let key = Value::from(org.unwrap_or_default());
            self.by_key(orgs, None, &key).ok_or(Refused::NotThere)?;
        }
        let creation = Creation { org, caller, given };
        let mut row = Row::new();
        // Fields that follow from others come after them.
        let rank = |field: &&'static FieldSpec| match field.kind {
            _ if field.copy.is_some() => 1,
            FieldType::Next(_) => 2,
            _ if field.slug_of.is_some() => 2,
            _ => 0,
        };
        let mut fields: Vec<_> = entity.fields.iter().collect();
        fields.sort_by_key(rank);
        for field in fields {
            let value = match field.copy {
                Some(copy) => self.copy(entity, field, copy, given, &row)?,
                None => self.first_value(entity, creation, field, &row)?,
            };
            row.insert(field.name.to_owned(), value);
        }
        let is_same = |other: &Row| entity.identity().all(|name| other.get(name) == row.get(name));
        let removed = self.removed.iter().filter(|(name, _)| *name == entity.name);
        let mut removed = removed.map(|(_, row)| row);
        if self.all(entity).iter().any(is_same) || (entity.has_id() && removed.any(is_same)) {
            return Err(Refused::Field(entity.key[0].to_owned()));
        }
        hooks(entity, None, given, &mut row);
        self.check(entity, None, &row)?;
        let at = self.push(entity, row);
        self.take_marks(entity, None, at)?;
        self.also(entity, Action::Create, at)
    }

    /// Returns the value of a field of a new row.
    fn first_value(
        &self,
        entity: &'static EntitySpec,
        creation: Creation<'_>,
        field: &'static FieldSpec,
        row: &Row,
    ) -> Result<Value, Refused> {
        let wrong = || Refused::Field(field.name.to_owned());
        let given = creation.given.get(field.name);
        if entity.org_field() == Some(field.name) {
            let org = Value::from(creation.org.unwrap_or_default());
            return match given {
                Some(given) if *given != org => Err(wrong()),
                _ => Ok(org),
            };
        }
        if let Some(given) = given {
            if field.is_of_store() || !values::is_valid(field, given) {
                return Err(wrong());
            }
            let given = stored_form(field, given.clone());
            if let FieldType::Next(next) = field.kind
                && next.strict
                && given != self.next(entity, field, next.within, row)
            {
                return Err(wrong());
            }
            return Ok(given);
        }
        Ok(match (field.kind, field.from, self.spec.caller) {
            (FieldType::Now(_), ..) => now(),
            (FieldType::Seq, ..) => Made::Seq.value(),
            (FieldType::Secret { .. }, ..) => Made::Secret.value(),
            (FieldType::Next(next), ..) => {
                let number = self.next(entity, field, next.within, row);
                if !values::is_valid(field, &number) {
                    return Err(wrong());
                }
                number
            }
            (_, Some(CALLER), Some(caller)) => self.caller(caller, creation).ok_or_else(wrong)?,
            (_, Some(_), _) => Made::Any.value(),
            (kind, ..) => match (field.default, field.slug_of) {
                (Some(default), _) => stored_form(field, constant(default)),
                (None, Some(of)) => {
                    let text = row.get(of).and_then(Value::as_str).unwrap_or_default();
                    let slug = Value::from(values::slug(text));
                    if !values::is_valid(field, &slug) {
                        return Err(wrong());
                    }
                    slug
                }
                (None, None) if field.optional => Value::Null,
                (None, None) if matches!(kind, FieldType::Id) => Made::Id.value(),
                (None, None) => return Err(wrong()),
            },
        })
    }

    /// Returns the key of the caller's row: the one that the call names, else the default.
    fn caller(&self, caller: CallerSpec, creation: Creation<'_>) -> Option<Value> {
        let entity = self.entity(caller.entity)?;
        let key = |row: &Row| row.get(*entity.key.first()?).cloned();
        if let Some(named) = creation.caller.map(Value::from) {
            for name in caller.by {
                let fits = |field: &FieldSpec| values::is_valid(field, &named);
                let mut rows = self.visible(entity, creation.org);
                if entity.field(name).is_some_and(fits)
                    && let Some(row) = rows.find(|row| has(entity, row, name, &named))
                {
                    return key(row);
                }
            }
        }
        key(self.by_key(entity, creation.org, &caller.default.into())?)
    }

    /// Returns the value of a new row's field that is copied. One that is given must be the same.
    fn copy(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        copy: Copied,
        given: &Row,
        row: &Row,
    ) -> Result<Value, Refused> {
        let value = self.copied(entity, copy, row)?;
        match given.get(field.name) {
            Some(given) if *given != value => Err(Refused::Field(field.name.to_owned())),
            _ => Ok(value),
        }
    }

    /// Copies fields anew whose reference has changed to another row.
    pub(super) fn copy_again(
        &self,
        entity: &'static EntitySpec,
        old: &Row,
        row: &mut Row,
    ) -> Result<(), Refused> {
        for field in entity.fields {
            if let Some(copy) = field.copy
                && old.get(copy.reference) != row.get(copy.reference)
            {
                let value = self.copied(entity, copy, row)?;
                row.insert(field.name.to_owned(), value);
            }
        }
        Ok(())
    }

    fn copied(&self, entity: &'static EntitySpec, copy: Copied, row: &Row) -> Result<Value, Refused> {
        let wrong = || Refused::Field(copy.reference.to_owned());
        let key = row.get(copy.reference).filter(|key| !key.is_null());
        let Some(key) = key else { return Ok(Value::Null) };
        let org = entity.org_field().and_then(|name| row.get(name));
        let to = self.target(entity, copy.reference).ok_or_else(wrong)?;
        let target = self.by_key(to, org.and_then(Value::as_str), key);
        let target = target.ok_or_else(wrong)?;
        Ok(target.get(copy.field).cloned().unwrap_or_default())
    }

    /// Returns the number that follows the largest one among the rows with the same values.
    fn next(&self, entity: &'static EntitySpec, field: &FieldSpec, within: &[&str], row: &Row) -> Value {
        let is_same = |other: &&Row| {
            let names = within.iter().copied().chain(entity.org_field());
            let mut names = names.filter(|name| *name != field.name);
            names.all(|name| other.get(name) == row.get(name))
        };
        let same = self.all(entity).iter().filter(is_same);
        let numbers = same.filter_map(|other| other.get(field.name)?.as_i64());
        (numbers.max().unwrap_or(0) + 1).into()
    }
}
