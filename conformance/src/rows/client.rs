//! A client of a server of rows: creates rows with all that they refer to, and reads the tables beside the server.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tabellion_runtime::{
    ToolSpec,
    spec::{Action, Copied, EntitySpec, FieldSpec, FieldType, RowRule, RowsSpec, Scope},
};

use super::{
    Request,
    requests::{self, ORG_BESIDE, Said},
    values,
};
use crate::{
    Subject,
    client::Client,
    judgement::{Stop, fail, not_shown, refused},
    layout::DATA,
    ledger::rows::{Row, RowLedger, Tables},
    reply::{Reply, Success},
    request,
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
            // Orgs are not in an org themselves.
            org: self.org.clone().filter(|_| entity.scope != Scope::Root),
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
        self.request_by(tool, said)?.ok_or_else(none)
    }

    /// Returns a request of one of the operations on rows; `None` if it can't say that, or the server does not have it.
    ///
    /// # Errors
    /// If the rows can't be read.
    pub fn request_by(&self, tool: &'static ToolSpec, mut said: Said) -> Result<Option<Request>, Stop> {
        let contract = self.subject.contract;
        if !self.subject.adapter.has(tool, None) {
            return Ok(None);
        }
        if let Some(rows) = tool.rows
            && let Some(entity) = self.spec.entity(rows.entity)
            && matches!(rows.action, Action::Get | Action::Update | Action::Delete)
        {
            for name in requests::required(tool) {
                if !said.key.contains_key(name) {
                    let row = self.row_of(entity, &said.key)?;
                    let value = row.and_then(|row| row.get(name).cloned());
                    said.key
                        .insert(name.to_owned(), value.unwrap_or_else(|| "no-such-row".into()));
                }
            }
        }
        Ok(Request::new(contract, tool, said))
    }

    /// Returns the row with this key from the disk: that of the org, else one of another.
    fn row_of(&self, entity: &'static EntitySpec, key: &Row) -> Result<Option<Row>, Stop> {
        let tables = self.tables()?;
        let is_it = |row: &&Row| entity.key.iter().all(|name| row.get(*name) == key.get(*name));
        let is_here = |row: &&Row| {
            let org = entity
                .org_field()
                .and_then(|name| row.get(name))
                .and_then(Value::as_str);
            org == self.org.as_deref()
        };
        let all = || tables.of(entity.name).filter(is_it);
        Ok(all().find(is_here).or_else(|| all().next()).cloned())
    }

    /// Reads the rows from the disk.
    fn tables(&self) -> Result<Tables, Stop> {
        let data = self.client.root().with_file_name(DATA);
        let ledger = self
            .subject
            .ledger
            .read(&data, self.spec)
            .map_err(Stop::Harness)?;
        Ok(ledger.map(|ledger| ledger.tables).unwrap_or_default())
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn send(&mut self, request: &Request) -> Result<Reply, Stop> {
        self.send_with(request, &[])
    }

    /// As [`send`](Self::send), with conditions in the request's `_meta`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_with(&mut self, request: &Request, meta: &[(&str, Value)]) -> Result<Reply, Stop> {
        let meta = meta
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        let meta: Map<_, _> = request
            .meta(self.subject.contract)
            .into_iter()
            .chain(meta)
            .collect();
        self.client.call_with(request.tool, &request.arguments, meta)
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
        // Every other number gives the same of two words.
        let next = values::plain(field, self.created);
        let different = other.iter().chain([&next]).find(|value| **value != old);
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
        let tool = requests::find(self.subject.contract, entity.name, Action::Create);
        let required = tool.map(requests::required).unwrap_or_default();
        // What the row will have without being given it.
        let mut copied = Row::new();
        for field in entity.fields.iter().filter(|field| field.copy.is_some()) {
            copied.extend(given.shift_remove_entry(field.name));
        }
        for field in entity.fields {
            if given.contains_key(field.name) {
                self.copy(entity, field, &given, &mut copied)?;
                continue;
            }
            let is_left = field.is_of_store()
                || fields == Fields::Required && field.optional
                || entity.org_field() == Some(field.name)
                || matches!(field.kind, FieldType::Next(_))
                || tool.is_some_and(|tool| !requests::takes(tool, field));
            let is_made = field.default.is_some() || field.from.is_some();
            let is_unique = entity.uniques.iter().any(|it| it.fields.contains(&field.name));
            if is_left || fields == Fields::Required && is_made && !is_unique {
                continue;
            }
            let value = match field.kind {
                FieldType::Id
                    if !required.contains(&field.name)
                        && (!entity.key.contains(&field.name) || entity.key.len() == 1) =>
                {
                    continue;
                }
                FieldType::Ref(reference) => {
                    let to = self.entity(reference.to)?;
                    let mut wanted = Row::new();
                    for name in reference.same {
                        let value = given.get(*name).or_else(|| copied.get(*name));
                        wanted.extend(value.map(|value| ((*name).to_owned(), value.clone())));
                    }
                    for (name, copy) in copies(entity, field) {
                        let value = copied.get(name);
                        wanted.extend(value.map(|value| (copy.field.to_owned(), value.clone())));
                    }
                    let target = self.target(to, wanted, depth)?;
                    for name in reference.same {
                        let value = target.get(*name).cloned().unwrap_or_default();
                        if !copied.contains_key(*name) {
                            given.entry(*name).or_insert(value);
                        }
                    }
                    target.get(to.key[0]).cloned().unwrap_or_default()
                }
                _ => values::plain(field, number),
            };
            given.insert(field.name.to_owned(), value);
            self.copy(entity, field, &given, &mut copied)?;
        }
        for rule in entity.rules {
            if let RowRule::AnyOf(names) = rule
                && names
                    .iter()
                    .all(|name| given.get(*name).is_none_or(Value::is_null))
                && let Some(field) = entity.field(names[0])
            {
                given.insert(field.name.to_owned(), values::plain(field, number));
            }
        }
        for name in required {
            if let Some(value) = copied.get(name) {
                given.entry(name).or_insert_with(|| value.clone());
            }
        }
        Ok(given)
    }

    /// Learns what a row has of the one that `field` refers to.
    fn copy(
        &self,
        entity: &'static EntitySpec,
        field: &'static FieldSpec,
        given: &Row,
        copied: &mut Row,
    ) -> Result<(), Stop> {
        let FieldType::Ref(reference) = field.kind else {
            return Ok(());
        };
        if copies(entity, field).next().is_none() {
            return Ok(());
        }
        let to = self.entity(reference.to)?;
        let key = given.get(field.name).cloned().unwrap_or_default();
        if let Some(row) = self.row_of(to, &Row::from_iter([(to.key[0].to_owned(), key)]))? {
            let value = |field: &str| row.get(field).cloned().unwrap_or_default();
            copied.extend(copies(entity, field).map(|(name, copy)| (name.to_owned(), value(copy.field))));
        }
        Ok(())
    }

    /// Returns a row to refer to: the org itself, a new row, or one that no operation on rows creates.
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
        if requests::find(self.subject.contract, to.name, Action::Create).is_none() {
            return self.by_others(to);
        }
        let data = self.complete_to(to, wanted, Fields::Required, depth + 1)?;
        self.create_of(to, data)
    }

    /// Returns a row of an entity that only operations of other kinds create: one that is there, or one that an example of such an
    /// operation creates.
    ///
    /// # Errors
    /// If there is no answer, or no example creates one.
    pub fn by_others(&mut self, entity: &'static EntitySpec) -> Result<Row, Stop> {
        let org = self.org.clone();
        let here = |tables: &Tables| {
            let is_here = |row: &&Row| {
                let of = entity
                    .org_field()
                    .and_then(|name| row.get(name))
                    .and_then(Value::as_str);
                of == org.as_deref()
            };
            tables.of(entity.name).find(is_here).cloned()
        };
        if let Some(row) = here(&self.tables()?) {
            return Ok(row);
        }
        let others = self.subject.contract.operations();
        for tool in others.filter(|tool| tool.mutating && tool.rows.is_none()) {
            if !self.subject.adapter.has(tool, None) {
                continue;
            }
            for arguments in request::examples(tool) {
                if let Reply::Done(_) = self.client.call(tool, &arguments)?
                    && let Some(row) = here(&self.tables()?)
                {
                    return Ok(row);
                }
            }
        }
        Err(Stop::NotApplicable(format!(
            "no operation that the suite can call creates a row of `{}` there",
            entity.name
        )))
    }

    /// Creates the second org, if checks need it, and returns the keys of all.
    ///
    /// # Errors
    /// If there is no answer, or the server refuses it.
    pub fn orgs(&mut self) -> Result<Vec<String>, Stop> {
        let orgs = requests::orgs_of(self.subject.contract);
        if let Some(of) = self.spec.org.filter(|_| orgs.iter().any(|org| org == ORG_BESIDE)) {
            let entity = self.entity(of.entity)?;
            let key = Row::from_iter([(entity.key[0].to_owned(), ORG_BESIDE.into())]);
            if self.row_of(entity, &key)?.is_none() {
                self.create(entity, key)?;
            }
        }
        Ok(orgs)
    }

    /// Makes rows that others can refer to and that no operation on rows creates, as far as the suite can.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn make_others(&mut self) -> Result<(), Stop> {
        let contract = self.subject.contract;
        for entity in self.spec.entities {
            let creates = |name: &str| requests::find(contract, name, Action::Create).is_some();
            let is_needed = self.spec.referring(entity).any(|(other, ..)| creates(other.name));
            if entity.scope != Scope::Root && is_needed && !creates(entity.name) {
                match self.by_others(entity) {
                    Ok(_) | Err(Stop::NotApplicable(_)) => {}
                    Err(stop) => return Err(stop),
                }
            }
        }
        Ok(())
    }

    /// Returns the keys of the orgs that checks use.
    pub fn org_keys(&self) -> Vec<String> {
        requests::orgs_of(self.subject.contract)
    }

    /// Returns the operation with this label, or else the one that does this with an entity.
    pub fn tool(
        &self,
        entity: &EntitySpec,
        action: Action,
        label: Option<&str>,
    ) -> Option<&'static ToolSpec> {
        let contract = self.subject.contract;
        match label {
            Some(label) => contract.operation(label),
            None => requests::find(contract, entity.name, action),
        }
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

/// Returns the names of the fields that are copied from the row that `field` refers to.
fn copies(
    entity: &'static EntitySpec,
    field: &'static FieldSpec,
) -> impl Iterator<Item = (&'static str, Copied)> {
    let fields = entity.fields.iter();
    fields.filter_map(|it| Some((it.name, it.copy.filter(|copy| copy.reference == field.name)?)))
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

/// Returns the time in seconds of Unix time.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
