//! A client of a server of rows: creates rows with all that they refer to, and reads the tables from the disk.
//!
//! | module | is for |
//! |---|---|
//! | `complete` | the fields of a new row, and the rows that it must refer to |
//! | `others` | orgs, and rows that no operation on rows creates |

mod complete;
mod others;

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tabellion_runtime::{
    ToolSpec,
    spec::{Action, EntitySpec, FieldSpec, RowsSpec, Scope},
};

use super::{
    Request,
    requests::{self, RequestContent},
};
use crate::{
    Subject,
    client::Client,
    judgement::{Stop, fail, not_applicable, not_shown},
    layout::DATA,
    ledger::rows::{Row, RowLedger, Tables},
    reply::{Reply, Success},
    scene::Scene,
};

/// Tolerance of clocks, in seconds: a server may round.
const CLOCK_TOLERANCE: i64 = 2;

/// A client with the state that it needs to create rows.
#[derive(Debug)]
pub struct RowsClient<'a> {
    pub(crate) subject: &'a Subject,
    /// The contract's rows.
    pub spec: &'static RowsSpec,
    /// The plain client.
    pub client: Client<'a>,
    /// Key of the org of the requests, if there are orgs.
    pub org: Option<String>,
    /// Number of rows that were created, so that each has values of its own.
    created: usize,
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
        let spec = spec.ok_or_else(|| not_applicable("the contract has no rows"))?;
        Ok(Self { subject, spec, client, org: requests::orgs(spec).into_iter().next(), created: 0 })
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
    /// If the server has no such operation, or the operation can't express it.
    pub fn request(
        &self,
        entity: &'static EntitySpec,
        action: Action,
        key: Row,
        data: Row,
    ) -> Result<Request, Stop> {
        let content = RequestContent {
            // Orgs are not in an org themselves.
            org: self.org.clone().filter(|_| entity.scope != Scope::Root),
            key,
            data,
            ..RequestContent::default()
        };
        let none = || {
            let action = format!("{action:?}").to_lowercase();
            not_applicable(format!("no operation can {action} the entity `{}` so", entity.name))
        };
        let tool = requests::find(self.subject.contract, entity.name, action).ok_or_else(none)?;
        self.request_by(tool, content)?.ok_or_else(none)
    }

    /// Returns an update that gives one field of a row another value.
    ///
    /// # Errors
    /// As [`request`](Self::request); also if a row that the field refers to can't be created.
    pub fn update(
        &mut self,
        entity: &'static EntitySpec,
        row: &Row,
        field: &'static FieldSpec,
    ) -> Result<Request, Stop> {
        let set = Row::from_iter([(field.name.to_owned(), self.other_value(field, row)?)]);
        self.request(entity, Action::Update, requests::key_of(entity, row), set)
    }

    /// Returns a request of one of the operations on rows; `None` if it can't express the content, or the server does not
    /// have it.
    ///
    /// # Errors
    /// If the rows can't be read.
    pub fn request_by(
        &self,
        tool: &'static ToolSpec,
        mut content: RequestContent,
    ) -> Result<Option<Request>, Stop> {
        let contract = self.subject.contract;
        if !self.subject.adapter.has(tool, None) {
            return Ok(None);
        }
        if let Some(rows) = tool.rows
            && let Some(entity) = self.spec.entity(rows.entity)
            && matches!(rows.action, Action::Get | Action::Update | Action::Delete)
        {
            for name in requests::required(tool) {
                if !content.key.contains_key(name) {
                    let row = self.row_of(entity, &content.key)?;
                    let value = row.and_then(|row| row.get(name).cloned());
                    content.key.insert(name.to_owned(), value.unwrap_or_else(|| "no-such-row".into()));
                }
            }
        }
        Ok(Request::new(contract, tool, content))
    }

    /// Returns the row with this key from the disk: that of the org, else one of another.
    fn row_of(&self, entity: &'static EntitySpec, key: &Row) -> Result<Option<Row>, Stop> {
        let tables = self.tables()?;
        let is_it = |row: &&Row| entity.key.iter().all(|name| row.get(*name) == key.get(*name));
        let is_here = |row: &&Row| {
            let org = entity.org_field().and_then(|name| row.get(name)).and_then(Value::as_str);
            org == self.org.as_deref()
        };
        let all = || tables.rows(entity.name).filter(is_it);
        Ok(all().find(is_here).or_else(|| all().next()).cloned())
    }

    /// Reads the rows from the disk.
    fn tables(&self) -> Result<Tables, Stop> {
        let data = self.client.root().with_file_name(DATA);
        let ledger = self.subject.ledger.read(&data, self.spec).map_err(Stop::Harness)?;
        Ok(ledger.map(|ledger| ledger.tables).unwrap_or_default())
    }

    /// Sends a request.
    pub fn send(&mut self, request: &Request) -> Result<Reply, Stop> {
        self.send_with(request, &[])
    }

    /// As [`send`](Self::send), with conditions in the request's `_meta`.
    pub fn send_with(&mut self, request: &Request, meta: &[(&str, Value)]) -> Result<Reply, Stop> {
        let meta = meta.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let meta: Map<_, _> = request.meta(self.subject.contract).into_iter().chain(meta).collect();
        self.client.call_with(request.tool, &request.arguments, meta)
    }

    /// Sends a valid request.
    pub fn must(&mut self, request: &Request) -> Result<Success, Stop> {
        self.send(request)?.must(format!("the valid call `{}`", request.arguments))
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

    /// Creates a row of the org with these fields and all others that it needs; returns it as the server answers.
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
        entity.ok_or_else(|| not_applicable(format!("the contract has no entity `{name}`")))
    }

    /// Closes the session, and waits for the server's exit.
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

/// Returns the time in seconds of Unix time.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
