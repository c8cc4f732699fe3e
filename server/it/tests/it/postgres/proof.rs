//! Conflicting changes of several servers: the log gives the tables, and in the log's order each change keeps the rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use serde_json::{Map, Value, json};
use tabellion_contracts::mcb::ROWS;
use tabellion_records::Records;
use tabellion_runtime::spec::{EntitySpec, FieldType};
use xtask::foreign::postgres::Cluster;

use super::{Random, Rows, call, cluster};

/// Number of changes that are tried. `TABELLION_TEST_CHANGES` has another.
const CHANGES: u64 = 3_000;
/// Maximum number of changes of a database: the time to judge them grows with its square.
const MAX_CHANGES: u64 = 40_000;
const CALLERS: u64 = 12;

type Row = Map<String, Value>;

/// The rows of an org, as entries of the log give them.
#[derive(Default)]
pub(super) struct State(BTreeMap<(String, String), Row>);

impl State {
    /// Replays an export, and returns the problems: entries whose `before` rows differ from the state, or that break a rule.
    pub(super) fn replay(export: &str) -> (Self, Vec<String>) {
        let (mut state, mut wrong, mut tables) = (Self::default(), vec![], BTreeMap::new());
        for line in export.lines() {
            let line: Value = serde_json::from_str(line).expect("a line");
            if let Some(entry) = line.get("change") {
                wrong.extend(state.take(entry));
            }
            if let Some(row) = line.get("row") {
                let entity = ROWS.entity(text(&row["entity"])).expect("an entity");
                let row = row["row"].as_object().expect("a row").clone();
                tables.insert(place(entity, &row), row);
            }
        }
        if tables != state.0 {
            wrong.push("the tables are not what the log gives".into());
        }
        (state, wrong)
    }

    fn take(&mut self, entry: &Value) -> Vec<String> {
        let mut wrong = vec![];
        let rows = entry["rows"].as_array().expect("rows");
        let of = |row: &Value| ROWS.entity(text(&row["entity"])).expect("an entity");
        for row in rows {
            let (entity, key) = (of(row), row["key"].as_object().expect("a key"));
            let place = place(entity, key);
            let found = self.0.get(&place);
            let is_as_before = match (found, row["before"].as_object()) {
                (None, None) => true,
                (Some(found), Some(before)) => {
                    before.iter().all(|(name, value)| found.get(name) == Some(value))
                }
                _ => false,
            };
            if !is_as_before {
                wrong.push(format!("entry {}: {place:?} is not as it was before", entry["seq"]));
            }
            match row["after"].as_object() {
                None => drop(self.0.remove(&place)),
                Some(after) => self.0.entry(place).or_default().extend(after.clone()),
            }
        }
        for row in rows {
            let (entity, key) = (of(row), row["key"].as_object().expect("a key"));
            if let Some(row) = self.0.get(&place(entity, key)) {
                let broken = self.broken(entity, row);
                wrong.extend(
                    broken.map(|rule| format!("entry {}: {} breaks {rule}", entry["seq"], entity.name)),
                );
            }
            // References to the removed row.
            if row["after"].is_null() {
                let left = self.0.iter().filter(|((name, _), _)| {
                    let other = ROWS.entity(name);
                    other.is_some_and(|other| {
                        other.references().any(|(field, it)| it.to == entity.name && !field.loose)
                    })
                });
                for ((name, _), other) in left {
                    let broken = ROWS.entity(name).and_then(|it| self.broken(it, other));
                    wrong.extend(broken.map(|rule| format!("entry {}: {name} breaks {rule}", entry["seq"])));
                }
            }
        }
        wrong
    }

    fn get(&self, entity: &EntitySpec, org: &Value, id: &Value) -> Option<&Row> {
        let org = entity.org_field().map_or("", |_| text(org));
        self.0.get(&(entity.name.into(), format!("{org}/{}", text(id))))
    }

    /// Returns a rule that a row breaks.
    fn broken(&self, entity: &'static EntitySpec, row: &Row) -> Option<&'static str> {
        let value = |row: &Row, name: &str| row.get(name).cloned().unwrap_or_default();
        let org = entity.org_field().map(|field| value(row, field)).unwrap_or_default();
        let own = place(entity, row);
        let is_other = |at: &(String, String), other: &Row| {
            at.0 == entity.name
                && *at != own
                && entity.org_field().is_none_or(|field| value(other, field) == org)
        };
        let others = || self.0.iter().filter(|(at, other)| is_other(at, other)).map(|(_, other)| other);
        for (field, reference) in entity.references().filter(|(field, _)| !field.loose) {
            let id = value(row, field.name);
            if id.is_null() {
                continue;
            }
            let to = ROWS.entity(reference.to)?;
            let Some(target) = self.get(to, &org, &id) else {
                return Some("a reference");
            };
            if reference.same.iter().any(|name| value(target, name) != value(row, name)) {
                return Some("what both rows must have in common");
            }
            let (mut at, mut steps) = (id, 0);
            while reference.acyclic && !at.is_null() {
                if at == value(row, "id") || steps > 1_000 {
                    return Some("a chain without circles");
                }
                steps += 1;
                at = self.get(entity, &org, &at).map(|row| value(row, field.name)).unwrap_or_default();
            }
        }
        for unique in entity.uniques {
            let key = |row: &Row| {
                let values = unique.fields.iter().map(|name| value(row, name));
                let values: Vec<_> = values.collect();
                let counts = unique.while_null.is_none_or(|name| value(row, name).is_null());
                (counts && !values.iter().any(Value::is_null)).then(|| {
                    let folded = |(name, value): (&&str, &Value)| {
                        let text = value.to_string();
                        if unique.folded.contains(name) { text.to_ascii_lowercase() } else { text }
                    };
                    unique.fields.iter().zip(&values).map(folded).collect::<Vec<_>>()
                })
            };
            if let Some(mine) = key(row)
                && others().any(|other| key(other).as_ref() == Some(&mine))
            {
                return Some("a unique value");
            }
        }
        for field in entity.fields {
            let is_marked = |row: &Row| row.get(field.name) == Some(&Value::Bool(true));
            let is_with =
                |other: &Row| field.one_true_in.iter().all(|name| value(other, name) == value(row, name));
            if !field.one_true_in.is_empty()
                && is_marked(row)
                && others().any(|other| is_marked(other) && is_with(other))
            {
                return Some("one mark");
            }
            if let FieldType::Next(next) = field.kind {
                let is_with =
                    |other: &Row| next.within.iter().all(|name| value(other, name) == value(row, name));
                if others().any(|other| is_with(other) && value(other, field.name) == value(row, field.name))
                {
                    return Some("a number that is counted");
                }
            }
        }
        for edges in entity.acyclic {
            let by = edges.by.map(|by| value(row, by));
            let is_free = |among: &&str| serde_json::from_str::<Value>(among).ok() != by;
            if !edges.among.is_empty() && edges.among.iter().all(is_free) {
                continue;
            }
            let (start, mut waiting, mut passed) =
                (value(row, edges.from), vec![value(row, edges.to)], BTreeSet::new());
            while let Some(at) = waiting.pop() {
                if at == start {
                    return Some("a graph without circles");
                }
                if passed.insert(at.to_string()) {
                    let further = others().filter(|other| value(other, edges.from) == at);
                    let further = further.filter(|other| edges.by.map(|by| value(other, by)) == by);
                    waiting.extend(further.map(|other| value(other, edges.to)));
                }
            }
        }
        None
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn place(entity: &EntitySpec, row: &Row) -> (String, String) {
    let org = entity.org_field().map_or("", |field| text(&row[field]));
    let key = entity.key.iter().map(|name| text(&row[*name]));
    (entity.name.into(), format!("{org}/{}", key.collect::<Vec<_>>().join("/")))
}

/// Makes a random change that mostly conflicts with others. Returns true if it was made.
async fn change(records: &Records, random: &Random, number: u64) -> bool {
    let pick =
        |names: &[&str]| names[usize::try_from(random.below(names.len() as u64)).expect("small")].to_owned();
    let project = || pick(&["p1", "p2", "p3"]);
    let issue = || pick(&["i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8"]);
    let branch = || pick(&["b1", "b2", "b3", "b4"]);
    let (tool, action, resource, rest) = match random.below(100) {
        0..9 => (
            "project",
            "create",
            "project",
            json!({"project_id": project(), "data": {"name": project(), "path": "p"}}),
        ),
        9..11 => ("project", "delete", "project", json!({"project_id": project()})),
        11..30 => {
            let data = json!({"id": issue(), "title": "t"});
            ("entity", "create", "issue", json!({"project_id": project(), "data": data}))
        }
        30..38 => ("entity", "delete", "issue", json!({"id": issue()})),
        38..50 => ("entity", "update", "issue", json!({"id": issue(), "data": {"parent_issue_id": issue()}})),
        50..58 => {
            ("entity", "update", "issue", json!({"id": issue(), "data": {"title": pick(&["a", "b", "c"])}}))
        }
        58..70 => {
            let data = json!({"from_issue_id": issue(), "to_issue_id": issue()});
            ("project", "create", "dependency", json!({"project_id": project(), "data": data}))
        }
        70..74 => {
            let data = json!({"id": pick(&["r1", "r2"]), "name": pick(&["one", "two"]), "url": "https://example.org/r"});
            ("entity", "create", "repository", json!({"project_id": project(), "data": data}))
        }
        74..76 => ("entity", "delete", "repository", json!({"id": pick(&["r1", "r2"])})),
        76..86 => {
            let is_default = random.below(2) == 0;
            let data = json!({"id": branch(), "name": pick(&["main", "next"]), "is_default": is_default, "head_commit": "0123abc"});
            ("entity", "create", "branch", json!({"repository_id": pick(&["r1", "r2"]), "data": data}))
        }
        86..96 => (
            "entity",
            "update",
            "branch",
            json!({"id": branch(), "data": {"is_default": random.below(2) == 0}}),
        ),
        _ => ("entity", "delete", "branch", json!({"id": branch()})),
    };
    let mut arguments = json!({"action": action, "resource": resource});
    let rest = rest.as_object().expect("members").clone();
    arguments.as_object_mut().expect("members").extend(rest);
    // Removed ids are not reused: a new set of them begins with every 60th change, and the one before is still used.
    let round = (number / 60 + random.below(2)).to_string();
    let arguments: Value = serde_json::from_str(&renamed(&arguments.to_string(), &round)).expect("arguments");
    match call(records, tool, arguments.clone(), None).await {
        Ok(_) => true,
        Err(error) => {
            let rule = text(&error["rule"]);
            let expected = ["taken", "no_such", "not_found", "in_use", "circular", "value", "elsewhere"];
            let is_full = text(&error["message"]).contains("kept changing");
            assert!(expected.contains(&rule) || is_full, "{arguments}: {error}");
            false
        }
    }
}

/// Appends a number to the ids.
fn renamed(arguments: &str, round: &str) -> String {
    let mut renamed = arguments.to_owned();
    for letter in ["p", "i", "r", "b"] {
        for number in 1..9 {
            renamed =
                renamed.replace(&format!("\"{letter}{number}\""), &format!("\"{letter}{number}.{round}\""));
        }
    }
    renamed
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn conflicting_changes_keep_the_rules_in_the_order_of_the_log() {
    let cluster = cluster(&[]);
    let changes = std::env::var("TABELLION_TEST_CHANGES").ok().and_then(|it| it.parse().ok());
    let mut left = changes.unwrap_or(CHANGES);
    for part in 0.. {
        let name = format!("part_{part}");
        cluster.create(&name).expect("a database");
        let rows = Rows::new(format!("{}/{name}", cluster.address()));
        prove(&cluster, &rows, left.min(MAX_CHANGES), part * CALLERS);
        left = left.saturating_sub(MAX_CHANGES);
        if left == 0 {
            break;
        }
    }
}

/// Has two servers of these rows make changes at once, and checks log and tables. The callers' random numbers follow from `seed`.
pub(super) fn prove(cluster: &Cluster, rows: &Rows, changes: u64, seed: u64) {
    // The rows as two servers have them.
    let servers = [Arc::new(rows.open()), Arc::new(rows.open())];
    let (tried, made, is_over) =
        (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let is_all = Arc::new(AtomicBool::new(false));
    let follower = {
        let (records, is_all) = (rows.open(), Arc::clone(&is_all));
        thread::spawn(move || follow(&records, &is_all))
    };
    // Numbers of changes that fail late stay empty, and others are filled late.
    let late = ["ROLLBACK", "COMMIT"].map(|end| {
        let late = cluster.psql(&rows.name(), &format!("{LATE} {end}"));
        let (is_over, late) = (Arc::clone(&is_over), late.expect("psql"));
        thread::spawn(move || repeat(late, &is_over))
    });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let callers = (0..CALLERS).map(|caller| {
            let records = Arc::clone(&servers[usize::try_from(caller % 2).expect("small")]);
            let (tried, made, random) =
                (Arc::clone(&tried), Arc::clone(&made), Random::new(seed + caller + 1));
            tokio::spawn(async move {
                loop {
                    let number = tried.fetch_add(1, Ordering::Relaxed);
                    if number >= changes {
                        return;
                    }
                    made.fetch_add(u64::from(change(&records, &random, number).await), Ordering::Relaxed);
                }
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller.await.expect("no caller fails");
        }
    });
    is_over.store(true, Ordering::Release);
    let [gaps, late] = late.map(|late| late.join().expect("late changes"));
    is_all.store(true, Ordering::Release);
    let followed = follower.join().expect("the follower");
    let mut export = vec![];
    servers[0].export(&mut export).expect("an export");
    let export = String::from_utf8(export).expect("text");
    let (_, wrong) = State::replay(&export);
    assert_eq!(wrong, Vec::<String>::new());
    let entries = entries(&export);
    let made = made.load(Ordering::Relaxed);
    // The seed is one more.
    assert_eq!(entries.len() as u64, made + late + 1);
    assert!(made > changes / 10, "{made} changes of {changes}");
    let checked = servers[1].check().expect("the log gives the tables");
    assert_eq!(checked.changes, made + late + 1);
    assert_eq!(followed, entries);
    let end = servers[0].end().expect("the end");
    // The last number may be one that stays empty.
    assert!(end.cast_unsigned() + 1 >= checked.changes + gaps, "{end}");
    eprintln!("{made} changes of {changes}; the log ends at {end}");
}

/// Returns the places of an export's entries.
fn entries(export: &str) -> Vec<i64> {
    let lines = export.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line"));
    lines.filter_map(|line| line["change"]["seq"].as_i64()).collect()
}

/// Draws a place in the log, and holds it for a while.
const LATE: &str = "BEGIN; INSERT INTO tabellion_mcb.change SELECT nextval('tabellion_mcb.change_seq'), gen_random_uuid(), 0, '', '', '[]', 0, '';
    SELECT pg_sleep(0.03);";

/// Runs a command until the end. Returns the number of runs.
fn repeat(mut command: std::process::Command, is_over: &AtomicBool) -> u64 {
    let mut count = 0;
    while !is_over.load(Ordering::Acquire) {
        assert!(command.status().expect("psql").success());
        count += 1;
    }
    count
}

/// Follows the log one entry at a time. Returns their places.
fn follow(records: &Records, is_all: &AtomicBool) -> Vec<i64> {
    let (mut seen, mut at) = (vec![], 0);
    loop {
        let is_last = is_all.load(Ordering::Acquire) && records.end().expect("the end") == at;
        if is_last {
            return seen;
        }
        let followed = records.follow(at, 1, &["issue"]).expect("the log");
        if followed.to > at {
            at = followed.to;
            seen.push(at);
        }
    }
}
