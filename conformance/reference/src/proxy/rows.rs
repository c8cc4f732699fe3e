//! Defects of rows: answers are changed on the way, and the server's file behind its back, by a second connection.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rusqlite::{Connection, MAIN_DB, backup::Backup};
use serde_json::{Value, json};
use tabellion_runtime::{
    ContractSpec,
    context::{IDEMPOTENCY_KEY, IF_BASE},
    spec::{EntitySpec, FieldType},
};

use super::{
    message::{Call, Reply},
    server::Proxy,
};
use crate::mutant::{self, Mutant};

/// The example of `tabellion-codegen`.
#[path = "../../../../codegen/examples/tracker/generated/tracker.rs"]
#[rustfmt::skip]
#[allow(dead_code, reason = "its service is that of the product's server")]
mod generated;

pub(crate) static CONTRACT: &ContractSpec = &generated::CONTRACT;

/// Condition for the entries of the last change.
const LAST: &str = "seq > (SELECT max(seq) FROM main.change)";
/// Condition for a row before and after a change.
const SAME: &str = "old.org_id = it.org_id AND old.id = it.id";
/// Size of a page of the file.
const PAGE_BYTES: usize = 4096;
/// Upper bound of whole numbers that are exact as JSON.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Takes a file that was not written to its end for none, if the process is the mutant that writes so.
pub(super) fn drop_torn_file(folder: &Path) -> io::Result<()> {
    let file = file(folder);
    if mutant::current() != Some(Mutant::WritesInPlace) || !file.exists() {
        return Ok(());
    }
    let verdict = Connection::open(&file)
        .and_then(|rows| rows.query_row("PRAGMA quick_check", [], |row| row.get::<_, String>(0)));
    if verdict.is_ok_and(|verdict| verdict == "ok") { Ok(()) } else { fs::remove_file(file) }
}

/// Answers a call about rows as the mutant does.
pub(super) fn answer(mutant: Mutant, mut call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    if proxy.added == 0 {
        // The server has made its tables when it answers.
        proxy.ask("tools/list", json!({}))?;
    }
    let tables = Tables::open(proxy)?;
    let is_change = matches!(call.text("action"), "create" | "update" | "delete");
    change_call(mutant, &mut call, proxy);
    if mutant == Mutant::UniqueAcrossOrgs && is_change && tables.is_taken_elsewhere(&call)? {
        return Ok(proxy.refuse("another org has a row with this value"));
    }
    let reply = proxy.forward(&call)?;
    let reply = if reply.is_refused() {
        after_refusal(mutant, &call, reply, &tables, proxy)?
    } else if is_change {
        after_change(mutant, &call, &reply, tables, proxy)?;
        reply
    } else {
        after_reading(mutant, &call, reply, &tables, proxy)?
    };
    Ok(with_secrets(mutant, &call, reply, proxy))
}

/// Changes a call before it is made.
fn change_call(mutant: Mutant, call: &mut Call, proxy: &mut Proxy) {
    let meta = &mut proxy.request["params"]["_meta"];
    let mut forget = |key| drop(meta.as_object_mut().and_then(|meta| meta.shift_remove(key)));
    match mutant {
        Mutant::IgnoresRowBase => forget(IF_BASE),
        Mutant::IgnoresKeys => forget(IDEMPOTENCY_KEY),
        Mutant::KeysOfAProcess => {
            if let Some(key) = meta[IDEMPOTENCY_KEY].as_str() {
                meta[IDEMPOTENCY_KEY] = format!("{key}-{}", std::process::id()).into();
            }
        }
        Mutant::TakesNul => call.arguments.values_mut().for_each(drop_nul),
        Mutant::PatchResets if call.text("action") == "update" => {
            let settable = entity(call).fields.iter().filter(|field| !field.is_fixed());
            for field in settable.filter(|field| field.name != "org_id") {
                if let Some(default) = field.default.or(field.optional.then_some("null")) {
                    let default = serde_json::from_str(default).unwrap_or_default();
                    call.data().entry(field.name).or_insert(default);
                }
            }
        }
        _ => {}
    }
}

fn drop_nul(value: &mut Value) {
    match value {
        Value::String(text) => text.retain(|letter| letter != '\0'),
        Value::Array(all) => all.iter_mut().for_each(drop_nul),
        Value::Object(members) => members.values_mut().for_each(drop_nul),
        _ => {}
    }
}

/// Answers a call that the server refused.
fn after_refusal(
    mutant: Mutant,
    call: &Call,
    reply: Reply,
    tables: &Tables,
    proxy: &mut Proxy,
) -> io::Result<Reply> {
    let details = reply.0["result"]["_meta"]["tabellion/error"]["data"].clone();
    let (rule, field) =
        [&details["rule"], &details["field"]].map(|it| it.as_str().unwrap_or_default()).into();
    let (action, resource) = (call.text("action"), call.text("resource"));
    let value = &call.arguments.get("data").unwrap_or(&Value::Null)[field];
    let forgives = match mutant {
        Mutant::NamesNoField => return Ok(proxy.refuse("a value is wrong")),
        Mutant::GetsAcrossOrgs if (action, rule) == ("get", "not_found") => {
            for org in tables.orgs()? {
                let other = proxy.forward(&call.clone().with("org_id", org))?;
                if !other.is_refused() {
                    return Ok(other);
                }
            }
            false
        }
        Mutant::DeletesNothing => (action, rule) == ("delete", "not_found"),
        Mutant::DeletesWhatIsUsed => rule == "in_use" && resource != "org",
        Mutant::DeletesDefaultOrg => rule == "in_use" && resource == "org",
        Mutant::IgnoresUnique => rule == "taken" && field != "id",
        Mutant::CaseMatters => rule == "taken" && field == "name" && !tables.has("projects", field, value)?,
        Mutant::UsesIdsAgain => {
            rule == "taken" && field == "id" && !tables.has(entity(call).table, field, value)?
        }
        Mutant::IgnoresReferences => rule == "no_such",
        Mutant::RefersAcrossOrgs => rule == "no_such" && tables.has(target(call, field), "id", value)?,
        Mutant::GoesInCircles => rule == "circular",
        Mutant::AnyNumber => rule == "stale",
        Mutant::ReviewsOwnWork => resource == "claim" && rule == "value" && value.is_string(),
        Mutant::RoundsNumbers => value.as_f64().is_some_and(|number| number.abs() >= MAX_EXACT),
        _ => false,
    };
    if !forgives {
        return Ok(reply);
    }
    if action == "delete" {
        return Ok(proxy.respond(json!({ "deleted": true, "id": call.text("id") })));
    }
    let mut row = call.clone().data().clone();
    row.entry("id").or_insert_with(|| call.text("id").into());
    Ok(proxy.respond(row.into()))
}

/// Changes the server's file after it has made a change.
fn after_change(
    mutant: Mutant,
    call: &Call,
    reply: &Reply,
    tables: Tables,
    proxy: &mut Proxy,
) -> io::Result<()> {
    let (action, resource) = (call.text("action"), call.text("resource"));
    let restore =
        |set: &str| format!("UPDATE live.issues AS it SET {set} FROM main.issues AS old WHERE {SAME}");
    let also = |state: &str, when: &str| {
        let id = call.text("id");
        let which = "claim.org_id = it.org_id AND claim.issue_id = it.id";
        format!(
            "UPDATE live.issues AS it SET state = '{state}' FROM live.claims AS claim WHERE {which} AND claim.id = '{id}' AND {when}"
        )
    };
    let sql = match mutant {
        Mutant::LogsNoRows => format!("DELETE FROM live.change WHERE {LAST}"),
        Mutant::LogsRowsTwice => format!(
            "INSERT INTO live.change SELECT seq + 1, 'again-' || id, at, tool, operation, rows, last, org, caller, client, NULL, \
             request, response, details FROM live.change WHERE {LAST}"
        ),
        Mutant::LogsOneRow => {
            format!("UPDATE live.change SET rows = json_array(json_extract(rows, '$[0]')) WHERE {LAST}")
        }
        Mutant::SecretInLog => {
            let response = reply.0["result"]["structuredContent"].to_string().replace('\'', "''");
            format!("UPDATE live.change SET response = '{response}' WHERE {LAST}")
        }
        Mutant::ForgetsHook => "UPDATE live.issues SET closed_at = NULL".to_owned(),
        Mutant::HookStays => restore("closed_at = coalesce(it.closed_at, old.closed_at)"),
        Mutant::PinsStay => restore("pinned = max(it.pinned, old.pinned)"),
        Mutant::ForgetsClear if action == "delete" => restore("parent_id = old.parent_id"),
        Mutant::ForgetsAlso if resource == "claim" => restore("state = old.state"),
        Mutant::AlsoAgain if (action, resource) == ("update", "claim") => also("closed", "claim.done"),
        Mutant::AlsoRegardless if (action, resource) == ("update", "claim") => also("closed", "true"),
        Mutant::ForgetsCascade if action == "delete" && matches!(resource, "project" | "issue") => {
            let restored = ["comments", "claims", "access_keys"];
            restored
                .map(|table| format!("INSERT OR IGNORE INTO live.{table} SELECT * FROM main.{table};"))
                .concat()
        }
        Mutant::NeverSyncs => "PRAGMA live.synchronous = OFF; UPDATE live.change SET at = at".to_owned(),
        Mutant::WritesInPlace => {
            tables.run("PRAGMA live.wal_checkpoint(TRUNCATE)")?;
            let bytes = fs::read(&tables.file)?;
            let mut file = File::create(&tables.file)?;
            return bytes.chunks(PAGE_BYTES).try_for_each(|page| file.write_all(page));
        }
        Mutant::LogsBeforeRows => {
            let after = Snapshot::take(&tables.file)?;
            tables.run(&format!("INSERT INTO main.change SELECT * FROM live.change WHERE {LAST}"))?;
            tables.undo()?;
            return after.put_back();
        }
        Mutant::AnswersBeforeRows => {
            let after = Snapshot::take(&tables.file)?;
            proxy.after_answer = Some(Box::new(|| {
                thread::sleep(Duration::from_millis(20));
                after.put_back()
            }));
            return tables.undo();
        }
        Mutant::RowsWithoutLock => {
            let read = Snapshot::take(&tables.file)?;
            thread::sleep(Duration::from_millis(2));
            return read.put_back();
        }
        _ => return Ok(()),
    };
    tables.run(&sql)
}

/// Changes the answer of a call that reads.
fn after_reading(
    mutant: Mutant,
    call: &Call,
    reply: Reply,
    tables: &Tables,
    proxy: &mut Proxy,
) -> io::Result<Reply> {
    let query = call.text("query");
    let is_in = |issue: &Value, field: &str, words: &str| {
        issue[field].as_str().is_some_and(|text| text.to_lowercase().contains(&words.to_lowercase()))
    };
    let mut words = query.split_whitespace();
    Ok(match mutant {
        Mutant::ListsAcrossOrgs if call.text("action") == "list" => {
            let own = org(call);
            let mut all = reply;
            for org in tables.orgs()?.into_iter().filter(|org| org != own) {
                let other = proxy.forward(&call.clone().with("org_id", org))?;
                all = all.edit("items", |items| items.extend_from_slice(other.list("items")));
            }
            all
        }
        Mutant::WordsArePhrases if !query.is_empty() => {
            reply.retain("items", |issue| is_in(issue, "title", query) || is_in(issue, "body", query))
        }
        Mutant::WordsOfTitle if !query.is_empty() => {
            reply.retain("items", |issue| words.clone().all(|word| is_in(issue, "title", word)))
        }
        Mutant::WordsHaveCase if !query.is_empty() => {
            reply.retain("items", |issue| words.all(|word| issue.to_string().contains(word)))
        }
        _ => reply,
    })
}

/// Repeats a secret that an earlier answer had, or shows it elsewhere.
fn with_secrets(mutant: Mutant, call: &Call, mut reply: Reply, proxy: &mut Proxy) -> Reply {
    if call.text("resource") != "access_key" {
        return reply;
    }
    let key = proxy.request["params"]["_meta"][IDEMPOTENCY_KEY].as_str().unwrap_or_default().to_owned();
    let Some(response) = reply.response() else {
        return reply;
    };
    let id = |row: &Value| row["id"].as_str().unwrap_or_default().to_owned();
    let own = id(&Value::Object(response.clone()));
    if let Some(secret) = response.get("secret").filter(|secret| secret.is_string()) {
        if mutant == Mutant::SecretOnStderr {
            eprintln!("created a key: {secret}");
        }
        let name = if mutant == Mutant::SecretReplayed { key } else { own };
        proxy.record.set_here(&name, secret.clone());
        return reply;
    }
    let record = &proxy.record;
    match mutant {
        Mutant::SecretReplayed => match record.here(&key) {
            Some(secret) => reply.set("secret", secret.clone()),
            None => reply,
        },
        Mutant::SecretListed => {
            let show = |row: &mut Value| {
                if let Some(secret) = record.here(&id(row)) {
                    row["secret"] = secret.clone();
                }
            };
            match record.here(&own) {
                Some(secret) => reply.set("secret", secret.clone()),
                None => reply.each("items", show),
            }
        }
        _ => reply,
    }
}

/// Returns the path of the server's file.
fn file(folder: &Path) -> PathBuf {
    folder.join(format!("{}.db", CONTRACT.id))
}

fn org(call: &Call) -> &str {
    let named = call.text("org_id");
    if named.is_empty() { "home" } else { named }
}

/// Returns the entity of a call that the server knows.
fn entity(call: &Call) -> &'static EntitySpec {
    generated::ROWS.entity(call.text("resource")).unwrap_or(&generated::ROWS.entities[0])
}

/// Returns the table to which a field refers.
fn target(call: &Call, field: &str) -> &'static str {
    match entity(call).field(field).map(|field| field.kind) {
        Some(FieldType::Ref(reference)) => {
            generated::ROWS.entity(reference.to).map_or("orgs", |entity| entity.table)
        }
        _ => "orgs",
    }
}

/// The server's file, as `live`, and its rows as they were before a call, as `main`.
struct Tables {
    both: Connection,
    file: PathBuf,
}

impl Tables {
    fn open(proxy: &Proxy) -> io::Result<Self> {
        let file = file(&proxy.folder);
        // Otherwise a restarted server would lack rows that it has acknowledged.
        let _ = fs::remove_file(file.with_extension("mark"));
        let both = Snapshot::take(&file)?.rows;
        both.pragma_update(None, "foreign_keys", false).map_err(io::Error::other)?;
        let attached = both.execute("ATTACH ? AS live", [file.to_string_lossy()]);
        attached.map_err(io::Error::other)?;
        Ok(Self { both, file })
    }

    fn run(&self, sql: &str) -> io::Result<()> {
        self.both.execute_batch(sql).map_err(io::Error::other)
    }

    /// Puts the rows before the call in the place of those in the file.
    fn undo(self) -> io::Result<()> {
        Snapshot { rows: self.both, file: self.file }.put_back()
    }

    fn orgs(&self) -> io::Result<Vec<String>> {
        let read = || self.both.prepare("SELECT id FROM orgs")?.query_map([], |row| row.get(0))?.collect();
        let read: rusqlite::Result<_> = read();
        read.map_err(io::Error::other)
    }

    /// Returns true if a row of any org has this value in a field.
    fn has(&self, table: &str, field: &str, value: &Value) -> io::Result<bool> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {field} = ?)");
        let value = value.as_str().unwrap_or_default();
        self.both.query_row(&sql, [value], |row| row.get(0)).map_err(io::Error::other)
    }

    /// Returns true if a row of another org has the unique value of a call.
    fn is_taken_elsewhere(&self, call: &Call) -> io::Result<bool> {
        let (table, field) = match call.text("resource") {
            "project" => ("projects", "name"),
            "access_key" => ("access_keys", "label"),
            _ => return Ok(false),
        };
        let Some(value) = call.arguments.get("data").and_then(|data| data[field].as_str()) else {
            return Ok(false);
        };
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {field} = ? AND org_id <> ?)");
        self.both.query_row(&sql, [value, org(call)], |row| row.get(0)).map_err(io::Error::other)
    }
}

/// The rows in a server's file at one moment.
struct Snapshot {
    rows: Connection,
    file: PathBuf,
}

impl Snapshot {
    fn take(file: &Path) -> io::Result<Self> {
        let copied = || {
            let mut rows = Connection::open_in_memory()?;
            copy(&Connection::open(file)?, &mut rows)?;
            Ok(rows)
        };
        let rows: rusqlite::Result<_> = copied();
        Ok(Self { rows: rows.map_err(io::Error::other)?, file: file.to_owned() })
    }

    /// Replaces the file's content.
    fn put_back(self) -> io::Result<()> {
        let mut file = Connection::open(&self.file).map_err(io::Error::other)?;
        copy(&self.rows, &mut file).map_err(io::Error::other)
    }
}

fn copy(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    to.busy_timeout(Duration::from_secs(10))?;
    Backup::new_with_names(from, MAIN_DB, to, MAIN_DB)?.step(-1).map(drop)
}
