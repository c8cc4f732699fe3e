//! A database, and the rows in it.

use std::sync::Arc;

use tabellion_pack::Packs;
use tabellion_records::{self as records, Address, Health, Records, SchemaDifference, Start};
use tabellion_runtime::{FailureKind, spec::RowsSpec};

use super::{finding::Finding, words};
use crate::data::{self, Data};

/// Number of connections that one server may open.
const CONNECTIONS: u64 = 32;
/// Age in seconds from which an open transaction keeps the database from cleaning up.
const LONG: u64 = 600;

/// Checks a database, and the rows of all contracts in it.
pub(super) fn of_database(address: &Address, data: &Data, packs: Packs) -> Vec<Finding> {
    let health = match records::health(address) {
        Ok(health) => health,
        Err(failure) => {
            let mend = "start the database, correct the address or the password (`~/.pgpass`), or set what the message names";
            return vec![Finding::red("database", format!("`{address}`: {failure}"), mend)];
        }
    };
    let mut findings = vec![Finding::green(
        "database",
        format!("`{address}`, PostgreSQL {}; it waits for its disk", health.version),
    )];
    findings.extend(server(&health));
    let specs = packs.over_rows().filter_map(|spec| spec.rows);
    findings.extend(specs.flat_map(|spec| rows(spec, data, packs)));
    findings
}

fn server(health: &Health) -> Vec<Finding> {
    let mut findings = vec![];
    let mut add = |is_well: bool, id, well: String, wrong: String, mend: &str| {
        findings.push(if is_well { Finding::green(id, well) } else { Finding::yellow(id, wrong, mend) });
    };
    add(
        health.can_create,
        "rights",
        "the user can make schemas".into(),
        "the user can't make schemas: a new contract's first start and migrations fail".into(),
        "`GRANT CREATE ON DATABASE … TO …`, or let the database's owner start the server once after each update",
    );
    add(
        health.is_private,
        "encryption",
        "the connection is encrypted, or does not leave this machine".into(),
        "the connection is not encrypted".into(),
        "add `?sslmode=verify-full` to the address",
    );
    let standbys = &health.synchronous_standbys;
    let copies = if standbys.is_empty() {
        "one host; what it acknowledged is on its disk".into()
    } else {
        format!("a change is acknowledged when `{standbys}` has it too")
    };
    add(
        health.hosts < 2 || !standbys.is_empty(),
        "copies",
        copies,
        "several hosts and no synchronous standby: a failover may lose acknowledged changes".into(),
        "set `synchronous_standby_names` on the primary",
    );
    let (open, all) = health.connections;
    add(
        open + CONNECTIONS <= all,
        "connections",
        format!("{open} of {all} connections are open"),
        format!("{open} of {all} connections are open, and a server may need {CONNECTIONS}"),
        "raise `max_connections`, or put a pooler in front of it (pgbouncer 1.21 or newer, pool mode `transaction`)",
    );
    add(
        health.oldest_transaction < LONG,
        "transactions",
        "no transaction is open for long".into(),
        format!(
            "a transaction is open for {} seconds, and keeps the database from cleaning up",
            health.oldest_transaction
        ),
        "find it in `pg_stat_activity`",
    );
    add(
        health.invalid_indexes.is_empty(),
        "indexes",
        "all indexes are complete".into(),
        format!("not complete: {}", health.invalid_indexes.join(", ")),
        "restart a server, or run `tabellion data migrate` as the tables' owner: both build them anew",
    );
    findings
}

fn rows(spec: &'static RowsSpec, data: &Data, packs: Packs) -> Vec<Finding> {
    let command = |name| data::command(name, Some(&data.name()), spec.contract);
    let found = match records::inspect(data.place(), spec) {
        Ok(found) => found,
        Err(failure) if failure.kind == FailureKind::NotFound => {
            let said =
                format!("there are no rows of `{}`; the first start of a server makes them", spec.contract);
            return vec![Finding::green("version", said)];
        }
        Err(failure) => {
            let mend = "look into the database's log";
            return vec![Finding::red("version", failure.to_string(), mend)];
        }
    };
    let (said, contract) = (found.describe(spec), spec.contract);
    let mend = match found.standing {
        SchemaDifference::Current | SchemaDifference::Adds => None,
        SchemaDifference::Loses(_) => {
            Some(format!("{}, which keeps the schema as it was", command("migrate")))
        }
        SchemaDifference::Newer => Some("the program that wrote the data can read it".into()),
        SchemaDifference::Impossible(_) => {
            Some(format!("{}, with the program that wrote the data", command("export")))
        }
        SchemaDifference::Foreign(_) => Some("use another database".into()),
    };
    let mut findings = vec![match mend {
        None => Finding::green("version", said),
        Some(mend) => Finding::red("version", said, mend),
    }];
    if found.standing != SchemaDifference::Current {
        return findings;
    }
    let checked = Records::open(data.place(), spec, Start::Existing).and_then(|records| {
        let checked = records.check()?;
        findings.extend(words::of_rows(spec, Arc::new(records), packs, command("reindex")));
        Ok(checked)
    });
    findings.push(match checked {
        Err(failure) => {
            Finding::red("log", failure.to_string(), format!("stop the servers, then {}", command("recover")))
        }
        Ok(checked) => Finding::green(
            "log",
            format!(
                "the {} changes in the log of `{contract}` give its {} rows",
                checked.changes, checked.rows
            ),
        ),
    });
    findings
}
