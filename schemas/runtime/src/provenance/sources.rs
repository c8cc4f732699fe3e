//! The sources of one call's provenance, in order of precedence: a value found earlier is not replaced.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::{
    record::{Provenance, ProvenanceSource},
    value::{SourceValue, of_text, read},
};
use crate::{
    context::CallContext,
    meta::PROVENANCE,
    origin::Discovered,
    spec::{ContractSpec, Discovery, ProvenanceDefault, ProvenanceField, ProvenancePlace, ProvenanceSpec},
};

/// The last-resort value of a field.
const UNKNOWN: &str = "unknown";

pub(super) struct Sources<'a> {
    contract: &'static ContractSpec,
    spec: &'a ProvenanceSpec,
    call: &'a CallContext,
    found: Provenance,
}

impl<'a> Sources<'a> {
    pub(super) fn new(
        contract: &'static ContractSpec,
        spec: &'a ProvenanceSpec,
        call: &'a CallContext,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs());
        let fields = spec.fields.iter().map(|field| (field, None)).collect();
        Self {
            contract,
            spec,
            call,
            found: Provenance { fields, received_at: i64::try_from(now).unwrap_or(i64::MAX) },
        }
    }

    /// Reads the request: its `_meta`, the holder of its key, its headers.
    ///
    /// # Errors
    /// A message, if a value under our own key is not of its field's type, or its name is not a field's. Other keys and headers may belong
    /// to another program; if discovery is off they are ours too, and elsewhere unfit ones are ignored.
    pub(super) fn read_request(&mut self) -> Result<(), String> {
        let origin = &self.call.origin;
        let own = match origin.meta.get(PROVENANCE) {
            None => None,
            Some(Value::Object(own)) => Some(own),
            Some(_) => {
                return Err(format!("`{PROVENANCE}` must be an object of fields of provenance"));
            }
        };
        if let Some(own) = own {
            self.check_names(own)?;
        }
        for field in self.spec.fields {
            let mut found = None;
            for key in names(field) {
                let Some(value) = own.and_then(|own| own.get(key)) else {
                    continue;
                };
                match read(field.kind, value) {
                    SourceValue::Value(value) => found = found.or(Some((value, ProvenanceSource::Meta))),
                    SourceValue::Blank => {}
                    SourceValue::Unfit(why) => {
                        return Err(format!("`{}` of `{PROVENANCE}` {why}", key.escape_debug()));
                    }
                }
            }
            let is_strict = self.is_strict();
            let first = |values: &mut dyn Iterator<Item = (&'static str, SourceValue)>| {
                for (name, found) in values {
                    match found {
                        SourceValue::Value(value) => return Ok(Some(value)),
                        SourceValue::Unfit(why) if is_strict => return Err(format!("`{name}` {why}")),
                        SourceValue::Unfit(_) | SourceValue::Blank => {}
                    }
                }
                Ok(None)
            };
            let of_meta = || {
                let keys = field.keys.iter();
                let values = keys.filter_map(|key| Some((*key, read(field.kind, origin.meta.get(*key)?))));
                first(&mut { values })
            };
            let of_holder = || {
                let holder = origin.holder.as_deref()?;
                let asks = field.from.contains(&ProvenancePlace::Holder);
                asks.then(|| fit(of_text(field.kind, holder)))?
            };
            let of_headers = || {
                let names = field.headers.iter();
                let values =
                    names.filter_map(|name| Some((*name, of_text(field.kind, origin.header(name)?))));
                first(&mut { values })
            };
            let found = match found {
                Some(found) => Some(found),
                None => match of_meta()?.map(|value| (value, ProvenanceSource::Meta)) {
                    Some(found) => Some(found),
                    None => match of_holder() {
                        Some(value) => Some((value, ProvenanceSource::Holder)),
                        None => of_headers()?.map(|value| (value, ProvenanceSource::Header)),
                    },
                },
            };
            if let Some((value, source)) = found {
                self.found.set(field.name, value, source);
            }
        }
        Ok(())
    }

    /// Returns true if discovery is off: fields that were not sent are then missing.
    pub(super) fn is_strict(&self) -> bool {
        let origin = &self.call.origin;
        let environment = origin.environment.as_ref();
        environment.is_some_and(|environment| !environment.discovers(origin.transport))
    }

    /// Reports a member of our own key that is not a field's.
    fn check_names(&self, own: &Map<String, Value>) -> Result<(), String> {
        let is_known = |name: &&String| {
            let mut fields = self.spec.fields.iter();
            fields.any(|field| names(field).any(|known| known == name.as_str()))
        };
        let Some(unknown) = own.keys().find(|name| !is_known(name)) else {
            return Ok(());
        };
        let fields: Vec<_> = self.spec.fields.iter().map(|field| field.name).collect();
        let unknown = unknown.escape_debug();
        Err(format!("`{unknown}` of `{PROVENANCE}` is not known; the fields are {}", fields.join(", ")))
    }

    /// Determines the call's session; its bound values are the next source.
    pub(super) fn find_session(&mut self) {
        let Some(session) = self.spec.session else { return };
        let first = self.call.origin.connection.as_ref();
        let first = first.and_then(|connection| connection.first(self.contract));
        if let Some(value) = first.as_ref().and_then(|first| first.get(session)) {
            self.add(session, ProvenancePlace::Bound, value, ProvenanceSource::Bound);
        }
    }

    /// Returns the id of the call's session, if a field that can be bound to it has no value yet.
    pub(super) fn session_to_ask(&self) -> Option<String> {
        let session = self.spec.session?;
        let is_open = |field: &ProvenanceField| {
            field.from.contains(&ProvenancePlace::Bound) && self.found.get(field.name).is_none()
        };
        let is_asked = self.spec.fields.iter().any(is_open);
        let configured = || {
            let value = self.call.origin.environment.as_ref()?.configured(session)?;
            Some(value.as_str()?.to_owned())
        };
        let id = self.found.text(session).map(str::to_owned).or_else(configured);
        id.filter(|_| is_asked)
    }

    /// Adds the values bound to the session.
    pub(super) fn add_bound(&mut self, values: &Map<String, Value>) {
        for (name, value) in values {
            self.add(name, ProvenancePlace::Bound, value, ProvenanceSource::Bound);
        }
    }

    /// Adds the provenance that the first call of the connection carried, unless this call belongs to a different session.
    pub(super) fn add_of_connection(&mut self) {
        let first = self.call.origin.connection.as_ref();
        let Some(first) = first.and_then(|connection| connection.first(self.contract)) else {
            return;
        };
        let is_other = self.spec.session.is_some_and(|session| {
            let sessions = self.found.get(session).zip(first.get(session));
            sessions.is_some_and(|(here, there)| here != there)
        });
        if !is_other {
            self.add_bound(&first);
        }
    }

    /// Adds the configured values.
    pub(super) fn add_configured(&mut self) {
        let Some(environment) = &self.call.origin.environment else {
            return;
        };
        for field in self.spec.fields {
            if let Some(value) = environment.configured(field.name) {
                self.add(field.name, ProvenancePlace::Config, &value, ProvenanceSource::Config);
            }
        }
    }

    /// Adds the facts that the server may discover.
    pub(super) async fn add_discovered(&mut self) {
        let origin = &self.call.origin;
        let environment = origin.environment.as_ref();
        let Some(environment) = environment.filter(|it| it.discovers(origin.transport)) else {
            return;
        };
        let is_open =
            |field: &&ProvenanceField| field.discover.is_some() && self.found.get(field.name).is_none();
        let open: Vec<_> = self.spec.fields.iter().filter(is_open).collect();
        if open.is_empty() {
            return;
        }
        let facts = environment.discover().await;
        for field in open {
            let fact = field.discover.and_then(|discovery| self.fact(discovery, &facts));
            if let Some(value) = fact.and_then(|fact| fit(of_text(field.kind, &fact))) {
                self.found.set(field.name, value, ProvenanceSource::Discovered);
            }
        }
    }

    fn fact(&self, discovery: Discovery, facts: &Discovered) -> Option<String> {
        match discovery {
            Discovery::Session => Some(self.call.origin.connection.as_ref()?.id().to_owned()),
            // The version follows.
            Discovery::Client => {
                let client = self.call.client.as_deref().unwrap_or(UNKNOWN);
                Some(client.rsplit_once('/').map_or(client, |(name, _)| name).to_owned())
            }
            Discovery::Unknown => Some(UNKNOWN.into()),
            other => facts.fact(other).map(str::to_owned),
        }
    }

    /// Adds the defaults of fields that were not sent, unless these are missing.
    pub(super) fn add_defaults(&mut self) {
        if self.is_strict() {
            return;
        }
        for field in self.spec.fields {
            let value = match field.default {
                None => continue,
                Some(ProvenanceDefault::Now) => self.found.received_at.into(),
                Some(ProvenanceDefault::Present(other)) => self.found.get(other).is_some().into(),
            };
            self.found.set(field.name, value, ProvenanceSource::Default);
        }
    }

    pub(super) fn into_provenance(self) -> Provenance {
        self.found
    }

    /// Adds a value from `place`, if the field accepts values from there.
    fn add(&mut self, name: &str, place: ProvenancePlace, value: &Value, source: ProvenanceSource) {
        let field = self.spec.field(name).filter(|field| field.from.contains(&place));
        if let Some(value) = field.and_then(|field| fit(read(field.kind, value))) {
            self.found.set(name, value, source);
        }
    }
}

/// Returns the names of a field in `tabellion/provenance`.
fn names(field: &'static ProvenanceField) -> impl Iterator<Item = &'static str> {
    let others = field.keys.iter().copied().filter(|key| *key != field.name);
    std::iter::once(field.name).chain(others)
}

fn fit(found: SourceValue) -> Option<Value> {
    match found {
        SourceValue::Value(value) => Some(value),
        SourceValue::Blank | SourceValue::Unfit(_) => None,
    }
}
