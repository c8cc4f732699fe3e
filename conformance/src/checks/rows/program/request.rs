//! The request that a step makes of the rows that are there.

use tabellion_runtime::{
    ToolSpec,
    spec::{Action, EntitySpec, FieldType, FilterBy},
};

use super::{
    place::NamedRows,
    step::{Beside, Call, Choice, MISSING},
};
use crate::{
    ledger::rows::Row,
    rows::{Model, Request, RowsClient, requests, requests::RequestContent},
};

impl Call {
    /// Returns the request for the rows that are there; `None` if it makes no sense with them.
    pub(in crate::checks::rows) fn request(&self, rows: &RowsClient<'_>, model: &Model) -> Option<Request> {
        let entity = rows.spec.entity(&self.entity)?;
        let orgs = requests::orgs_of(rows.subject.contract);
        let org = orgs.get(self.org % orgs.len().max(1)).cloned();
        let org = org.filter(|_| !self.names_no_org);
        let place = NamedRows { rows, model, org: org.as_deref() };
        let tool = rows.tool(entity, self.action, self.label.as_deref())?;
        let operation = tool.rows?;
        let mut said = RequestContent { org: org.clone(), ..RequestContent::default() };
        for (name, choice) in &self.set {
            let Some(field) = entity.field(name) else { continue };
            let is_taken = operation.arguments.iter().any(|(_, field)| field == name);
            if self.action == Action::List && !is_taken {
                continue;
            }
            let value = match choice {
                Choice::Same => place.row(entity, &self.row).and_then(|row| row.get(name).cloned()),
                _ => place.value(entity, field, choice, &said.data),
            };
            if let Some(value) = value {
                said.data.insert(name.clone(), value);
            }
        }
        match self.action {
            Action::Create => self.say_beside_data(&place, entity, tool, &mut said),
            Action::List => said.key = std::mem::take(&mut said.data),
            Action::Get | Action::Update | Action::Delete => {
                said.key = place.key(entity, &self.row)?;
                self.say_beside_key(&place, entity, tool, &mut said);
            }
        }
        if operation.limit.is_some() {
            said.limit = self.limit;
        }
        if operation.after.is_some() && entity.key.len() == 1 {
            let after = self.after.as_ref().and_then(|after| place.row(entity, after));
            let by = operation.after_by.unwrap_or(entity.key[0]);
            said.after = after.and_then(|row| row.get(by).cloned());
        }
        for (member, choice) in &self.filters {
            let by = operation.filters.iter().find(|filter| filter.member == member);
            let field = by.and_then(|filter| match filter.by {
                FilterBy::Value(names) => entity.field(names.first()?),
                FilterBy::Item(name) => entity.field(name),
                FilterBy::Words(names) => entity.field(names.first()?),
            });
            if let Some(value) = field.and_then(|field| place.value(entity, field, choice, &Row::new())) {
                said.filters.insert(member.clone(), value);
            }
        }
        said.caller = place.caller(self.caller.as_ref());
        rows.request_by(tool, said).ok()?
    }

    /// Adds the values next to the data of a new row.
    fn say_beside_data(
        &self,
        place: &NamedRows<'_>,
        entity: &'static EntitySpec,
        tool: &ToolSpec,
        said: &mut RequestContent,
    ) {
        let arguments = tool.rows.map_or(&[][..], |rows| rows.arguments);
        let required = requests::required(tool);
        for field in arguments.iter().filter_map(|(_, name)| entity.field(name)) {
            if let Some(copy) = field.copy.filter(|_| required.contains(&field.name)) {
                let of = entity.field(copy.reference).and_then(|of| match of.kind {
                    FieldType::Ref(reference) => place.rows.spec.entity(reference.to),
                    _ => None,
                });
                let key = said.data.get(copy.reference);
                let row = of.zip(key).and_then(|(of, key)| {
                    let mut rows = place.model.visible(of, place.org);
                    rows.find(|row| row.get(of.key[0]) == Some(key))
                });
                let value = row.and_then(|row| row.get(copy.field).cloned());
                said.data.insert(field.name.to_owned(), value.unwrap_or_else(|| MISSING.into()));
            }
            let Some(value) = said.data.get(field.name).cloned() else {
                continue;
            };
            match self.beside {
                Beside::Required => {}
                // The value is in the request twice.
                Beside::All | Beside::Alone => drop(said.key.insert(field.name.to_owned(), value)),
                Beside::Wrong => drop(said.key.insert(field.name.to_owned(), MISSING.into())),
            }
        }
    }

    /// Adds the values that the row named by a key must also have.
    fn say_beside_key(
        &self,
        place: &NamedRows<'_>,
        entity: &'static EntitySpec,
        tool: &ToolSpec,
        said: &mut RequestContent,
    ) {
        let arguments = tool.rows.map_or(&[][..], |rows| rows.arguments);
        let required = requests::required(tool);
        let key = said.key.clone();
        let is_it = |row: &&Row| key.iter().all(|(name, value)| row.get(name) == Some(value));
        let row = place.model.visible(entity, place.org).find(is_it);
        for (_, name) in arguments.iter().filter(|(_, name)| !key.contains_key(*name)) {
            if self.beside == Beside::Required && !required.contains(name) {
                continue;
            }
            let value = row.and_then(|row| row.get(*name).cloned());
            let value = value.filter(|_| self.beside != Beside::Wrong);
            said.key.insert((*name).to_owned(), value.unwrap_or_else(|| MISSING.into()));
        }
        if self.beside == Beside::Alone && !required.iter().any(|name| key.contains_key(*name)) {
            said.key.retain(|name, _| !key.contains_key(name));
        }
    }
}
