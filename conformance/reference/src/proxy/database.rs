//! Defects of rows in PostgreSQL: another connection changes the tables after the server has written them.

use std::io;

use postgres::{Client, NoTls};

use super::{
    message::{Call, Reply},
    server::{Proxy, folder},
};
use crate::mutant::Mutant;

/// Fact of this process: it has seen a call.
const HAS_BEGUN: &str = "begun";

/// Deletes the newest row of the entity that the last entry of the log changed first, unless others refer to it.
const DELETE_ROW: &str = "DO $$ DECLARE entity text; BEGIN
    SELECT rows::jsonb -> 0 ->> 'entity' INTO entity FROM change ORDER BY seq DESC LIMIT 1;
    EXECUTE format('DELETE FROM %1$I WHERE ctid = (SELECT ctid FROM %1$I ORDER BY xmin::text::bigint DESC LIMIT 1)', entity);
    EXCEPTION WHEN foreign_key_violation THEN NULL; END $$";
/// Adds the last entry of the log once more, under another id.
const REPEAT_ENTRY: &str = "INSERT INTO change SELECT again.* FROM (SELECT * FROM change ORDER BY seq DESC LIMIT 1) AS entry,
    jsonb_populate_record(entry, jsonb_build_object('seq', nextval('change_seq'), 'id', 'again-' || id, 'key', null)) AS again";
const DELETE_ENTRY: &str = "DELETE FROM change WHERE seq = (SELECT max(seq) FROM change)";
/// Takes the rows from the entry before the last.
const EMPTY_OLDER_ENTRY: &str =
    "UPDATE change SET rows = '[]' WHERE seq = (SELECT seq FROM change ORDER BY seq DESC OFFSET 1 LIMIT 1)";
const DELETE_KEYS: &str = "UPDATE change SET key = NULL";

/// Time at which a defect shows.
#[derive(PartialEq, Eq)]
enum When {
    /// The first call of a process.
    Begin,
    /// An answered change.
    Changed,
    /// A refusal.
    Refused,
}

/// Returns the time at which a mutant runs a statement, and the statement; `None` if it is not a mutant of a database.
fn statement(mutant: Mutant) -> Option<(When, &'static str)> {
    Some(match mutant {
        Mutant::RowVanishes => (When::Changed, DELETE_ROW),
        Mutant::EntryVanishes => (When::Changed, DELETE_ENTRY),
        Mutant::EntryTwice => (When::Changed, REPEAT_ENTRY),
        Mutant::EntryIsEmptied => (When::Changed, EMPTY_OLDER_ENTRY),
        Mutant::RefusalIsLogged => (When::Refused, REPEAT_ENTRY),
        Mutant::KeysVanish => (When::Begin, DELETE_KEYS),
        _ => return None,
    })
}

/// Answers a call as a mutant of a database; `None` if the mutant is not one.
pub(super) fn answer(mutant: Mutant, call: &Call, proxy: &mut Proxy) -> io::Result<Option<Reply>> {
    let Some((when, statement)) = statement(mutant) else {
        return Ok(None);
    };
    let mut tables = connect(proxy)?;
    if proxy.record.here(HAS_BEGUN).is_none() {
        proxy.record.set_here(HAS_BEGUN, true.into());
        if when == When::Begin {
            tables.batch_execute(statement).map_err(io::Error::other)?;
        }
    }
    let before = end(&mut tables)?;
    let mut reply = proxy.forward(call)?;
    let is_made = reply.response().is_some();
    let is_due = match when {
        When::Begin => false,
        When::Changed => is_made && end(&mut tables)? != before,
        When::Refused => !is_made,
    };
    if is_due {
        tables.batch_execute(statement).map_err(io::Error::other)?;
    }
    Ok(Some(reply))
}

/// Connects to the database that the server's command names, and selects the schema of its rows.
fn connect(proxy: &Proxy) -> io::Result<Client> {
    let address = folder(&proxy.command, "--data");
    let mut client = Client::connect(&address.to_string_lossy(), NoTls).map_err(io::Error::other)?;
    let schema = "SELECT set_config('search_path', quote_ident(schemaname), false) FROM pg_tables WHERE tablename = 'change'";
    client.batch_execute(schema).map_err(io::Error::other)?;
    Ok(client)
}

/// Returns the last place in the log.
fn end(tables: &mut Client) -> io::Result<Option<i64>> {
    let last = tables.query_one("SELECT max(seq) FROM change", &[]);
    Ok(last.map_err(io::Error::other)?.get(0))
}
