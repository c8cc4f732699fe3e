//! A client of a server of rows: creates rows with all that they refer to, and reads the tables beside the server.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tabellion_runtime::spec::{Action, EntitySpec, FieldSpec, FieldType, RowsSpec, Scope};

use super::{
    Request,
    requests::{self, Said},
    values,
};
use crate::{
    Subject,
    client::Client,
    judgement::{Stop, fail, not_shown, refused},
    ledger::rows::{Row, RowLedger},
    reply::{Reply, Success},
    scene::Scene,
};

/// Tolerance of clocks, in seconds: a server may round.
const CLOCK_TOLERANCE: i64 = 2;
/// How deep required references may go.
const MAX_DEPTH: usize = 8;

/// A client, and what it needs to create rows.
#[derive(Debug)]
pub struct RowsClient<'a> {
    subject: &'a Subject,
    /// The contract's rows.
    pub spec: &'static RowsSpec,
    /// The plain client.
    pub client: Client<'a>,
    /// Key of the org of the requests, if there are orgs.
    pub org: Option<String>,
    /// Number of rows that were created, so that each has values of its own.
    created: usize,
}

/// Which fields of a new row get values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    Required,
    All,
}

impl<'a> RowsClient<'a> {
    /// Starts a server and opens a client of it, which is in the default org.
    ///
    /// # Errors
    /// If the contract has no rows, or the server does not start.
    pub fn start(subject: &'a Subject, scene: &Scene<'a>) -> Result<Self, Stop> {
        let client = scene.start()?;
        let mut rows = Self::over(subject, client)?;
        rows.wake()?;
        Ok(rows)
    }

    /// Makes a call that reads, because a server may create or recover its store on the first call only.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn wake(&mut self) -> Result<(), Stop> {
        for entity in self.spec.entities {
            if let Ok(request) = self.request(entity, Action::List, Row::new(), Row::new()) {
                return self.send(&request).map(drop);
            }
        }
        Ok(())
    }

    /// As [`start`](Self::start), with a client that is open already.
    ///
    /// # Errors
    /// If the contract has no rows.
    pub fn over(subject: &'a Subject, client: Client<'a>) -> Result<Self, Stop> {
        let spec = subject.contract.rows;
        let spec = spec.ok_or_else(|| Stop::NotApplicable("the contract has no rows".into()))?;
        Ok(Self {
            subject,
            spec,
            client,
            org: requests::orgs(spec).into_iter().next(),
            created: 0,
        })
    }

    /// Makes the rows that it creates differ from those of other clients of the same number.
    pub fn number_from(&mut self, number: usize) {
        self.created = number;
    }

    /// Returns true if the server has the operation.
    pub fn has(&self, entity: &EntitySpec, action: Action) -> bool {
        let tool = requests::find(self.subject.contract, entity.name, action);
        tool.is_some_and(|tool| self.subject.adapter.has(tool, None))
    }

    /// Returns a request of the org.
    ///
    /// # Errors
    /// If the server has no such operation, or it can't say that.
    pub fn request(
        &self,
        entity: &'static EntitySpec,
        action: Action,
        key: Row,
        data: Row,
    ) -> Result<Request, Stop> {
        let said = Said {
            org: self.org.clone(),
            key,
            data,
            ..Said::default()
        };
        self.request_of(entity, action, said)
    }

    /// Returns a request that says this.
    ///
    /// # Errors
    /// If the server has no such operation, or it can't say that.
    pub fn request_of(
        &self,
        entity: &'static EntitySpec,
        action: Action,
        said: Said,
    ) -> Result<Request, Stop> {
        let contract = self.subject.contract;
        let none = || {
            let action = format!("{action:?}").to_lowercase();
            Stop::NotApplicable(format!(
                "no operation can {action} the entity `{}` so",
                entity.name
            ))
        };
        let tool = requests::find(contract, entity.name, action).ok_or_else(none)?;
        if !self.subject.adapter.has(tool, None) {
            return Err(none());
        }
        Request::new(contract, tool, said).ok_or_else(none)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn send(&mut self, request: &Request) -> Result<Reply, Stop> {
        self.client.call(request.tool, &request.arguments)
    }

    /// As [`send`](Self::send), with conditions in the request's `_meta`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_with(&mut self, request: &Request, meta: &[(&str, Value)]) -> Result<Reply, Stop> {
        let meta = meta
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        self.client
            .call_with(request.tool, &request.arguments, meta.collect::<Map<_, _>>())
    }

    /// Sends a valid request.
    ///
    /// # Errors
    /// If there is no answer, or the server refuses it.
    pub fn must(&mut self, request: &Request) -> Result<Success, Stop> {
        match self.send(request)? {
            Reply::Done(done) => Ok(done),
            Reply::Refused(refusal) => Err(refused(
                format!("the valid call `{}`", request.arguments),
                &refusal,
            )),
        }
    }

    /// Returns the fields of a new row of the org: those that are given, and plain values of the others that are required. Rows that
    /// it must refer to are created.
    ///
    /// # Errors
    /// If such a row can't be created.
    pub fn complete(&mut self, entity: &'static EntitySpec, given: Row) -> Result<Row, Stop> {
        self.complete_to(entity, given, Fields::Required, 0)
    }

    /// As [`complete`](Self::complete), with values of all fields that can be given.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    pub fn full(&mut self, entity: &'static EntitySpec, given: Row) -> Result<Row, Stop> {
        self.complete_to(entity, given, Fields::All, 0)
    }

    /// Returns another value for a field of a row that is there.
    ///
    /// # Errors
    /// If a row to refer to can't be created.
    pub fn other_value(&mut self, field: &'static FieldSpec, row: &Row) -> Result<Value, Stop> {
        if let FieldType::Ref(reference) = field.kind {
            let same = |name: &&str| Some(((*name).to_owned(), row.get(*name)?.clone()));
            let wanted = reference.same.iter().filter_map(same).collect();
            let to = self.entity(reference.to)?;
            let target = self.target(to, wanted, 0)?;
            return Ok(target.get(to.key[0]).cloned().unwrap_or_default());
        }
        let old = row.get(field.name).cloned().unwrap_or_default();
        let other = (0..4).map(|number| {
            self.created += 1;
            values::plain(field, self.created + number)
        });
        let other: Vec<_> = other.collect();
        let different = other.iter().find(|value| **value != old);
        Ok(different.or(other.first()).cloned().unwrap_or_default())
    }

    fn complete_to(
        &mut self,
        entity: &'static EntitySpec,
        mut given: Row,
        fields: Fields,
        depth: usize,
    ) -> Result<Row, Stop> {
        self.created += 1;
        let number = self.created;
        for field in entity.fields {
            let is_left = given.contains_key(field.name)
                || field.is_of_store()
                || fields == Fields::Required && field.optional
                || entity.org_field() == Some(field.name)
                || matches!(field.kind, FieldType::Next(_));
            let is_made = field.default.is_some() || field.from.is_some();
            let is_unique = entity.uniques.iter().any(|it| it.fields.contains(&field.name));
            if is_left || fields == Fields::Required && is_made && !is_unique {
                continue;
            }
            let value = match field.kind {
                FieldType::Id if !entity.key.contains(&field.name) || entity.key.len() == 1 => continue,
                FieldType::Ref(reference) => {
                    let to = self.entity(reference.to)?;
                    let mut wanted = Row::new();
                    for name in reference.same {
                        wanted.extend(given.get(*name).map(|value| ((*name).to_owned(), value.clone())));
                    }
                    let target = self.target(to, wanted, depth)?;
                    for name in reference.same {
                        let value = target.get(*name).cloned().unwrap_or_default();
                        given.entry(*name).or_insert(value);
                    }
                    target.get(to.key[0]).cloned().unwrap_or_default()
                }
                _ => values::plain(field, number),
            };
            given.insert(field.name.to_owned(), value);
        }
        Ok(given)
    }

    /// Returns a row to refer to: the org itself, or a new row.
    fn target(&mut self, to: &'static EntitySpec, wanted: Row, depth: usize) -> Result<Row, Stop> {
        if to.scope == Scope::Root
            && let Some(org) = &self.org
        {
            return Ok(Row::from_iter([(to.key[0].to_owned(), org.as_str().into())]));
        }
        if depth > MAX_DEPTH {
            let message = format!("references to `{}` are required without end", to.name);
            return Err(Stop::Harness(message));
        }
        let data = self.complete_to(to, wanted, Fields::Required, depth + 1)?;
        self.create_of(to, data)
    }

    /// Creates a row of the org with these fields and whatever else it needs; returns it as the server answers.
    ///
    /// # Errors
    /// If there is no answer, or the server refuses it.
    pub fn create(&mut self, entity: &'static EntitySpec, given: Row) -> Result<Row, Stop> {
        let data = self.complete(entity, given)?;
        self.create_of(entity, data)
    }

    fn create_of(&mut self, entity: &'static EntitySpec, data: Row) -> Result<Row, Stop> {
        let request = self.request(entity, Action::Create, Row::new(), data)?;
        let done = self.must(&request)?;
        let row = request.row(&done.response).cloned();
        row.ok_or_else(|| fail(format!("the answer has no row of `{}`", entity.name)))
    }

    /// Returns the entity of that name.
    ///
    /// # Errors
    /// If the contract has none.
    pub fn entity(&self, name: &str) -> Result<&'static EntitySpec, Stop> {
        let entity = self.spec.entity(name);
        entity.ok_or_else(|| Stop::NotApplicable(format!("the contract has no entity `{name}`")))
    }

    /// Closes the session, and waits for the server's exit.
    ///
    /// # Errors
    /// If the server does not exit.
    pub fn close(self) -> Result<(), Stop> {
        Ok(self.client.close()?)
    }
}

/// Reads the rows and their log.
///
/// # Errors
/// If there are none, or they can't be read.
pub fn ledger(scene: &Scene<'_>) -> Result<RowLedger, Stop> {
    scene.rows()?.ok_or_else(|| {
        not_shown(
            "the server keeps no rows where the suite looks for them; say where they are in `[ledger]` of an adapter",
        )
    })
}

/// Returns the fields that updates can set.
pub fn settable(entity: &'static EntitySpec) -> impl Iterator<Item = &'static FieldSpec> {
    entity.fields.iter().filter(|field| {
        !field.is_fixed() && !entity.key.contains(&field.name) && entity.org_field() != Some(field.name)
    })
}

/// Returns the time in seconds of Unix time, a little earlier.
pub fn earlier() -> i64 {
    now() - CLOCK_TOLERANCE
}

/// Returns the time in seconds of Unix time, a little later.
pub fn later() -> i64 {
    now() + CLOCK_TOLERANCE
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
