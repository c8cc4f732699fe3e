//! Check, export, import and backup of files of other versions and of damaged files.

use std::{fs, path::Path};

use rusqlite::Connection;
use serde_json::json;
use tabellion_runtime::{
    FailureKind,
    spec::{
        Action::{Create, Delete, Get, List, Update},
        EntitySpec, FieldSpec, FieldType, RowsSpec, Unique,
    },
};

use super::tracker::{self, Bench, TRACKER};
use crate::{Checked, Records, Start, backup, import, recover};

/// A tracker with a few rows, in a file.
fn filled() -> Bench {
    fill(Bench::in_file())
}

/// Adds a few rows.
pub(super) fn fill(bench: Bench) -> Bench {
    bench.create("project", json!({"id": "p", "name": "One"}));
    for id in ["a", "b", "c"] {
        bench.create(
            "issue",
            json!({"id": id, "project_id": "p", "title": id, "estimate": 0.5, "extra": {"z": 1}}),
        );
        bench.create("comment", json!({"issue_id": id, "body": "close it"}));
    }
    bench.create("access_key", json!({"name": "ci"}));
    bench.call("issue", Update, json!({"id": "a", "data": {"parent_id": "b", "pinned": true}})).unwrap();
    bench.call("issue", Delete, json!({"id": "b"})).unwrap();
    bench
}

fn data(bench: &Bench) -> std::path::PathBuf {
    bench.folder.path().join("data")
}

/// Changes the file as another program might.
fn tamper(bench: &Bench, sql: &str) {
    let connection = Connection::open(&bench.records.file().path).unwrap();
    connection.execute_batch(sql).unwrap();
}

const LABELS: EntitySpec = EntitySpec {
    name: "label",
    table: "labels",
    fields: &[FieldSpec::new("id", FieldType::Id)],
    ..EntitySpec::EMPTY
};

fn leak(entities: Vec<EntitySpec>, version: &'static str) -> &'static RowsSpec {
    Box::leak(Box::new(RowsSpec { version, entities: entities.leak(), ..TRACKER }))
}

/// The tracker with one changed entity.
pub(super) fn with(
    name: &str,
    version: &'static str,
    change: impl FnOnce(&mut EntitySpec),
) -> &'static RowsSpec {
    let mut entities = TRACKER.entities.to_vec();
    change(entities.iter_mut().find(|entity| entity.name == name).unwrap());
    leak(entities, version)
}

/// Returns the numbers of changes and rows in a successful check.
fn counts(records: &Records) -> (u64, u64) {
    let Checked { changes, rows, .. } = records.check().unwrap();
    (changes, rows)
}

pub(super) fn fields(entity: &mut EntitySpec, change: impl FnOnce(&mut Vec<FieldSpec>)) {
    let mut fields = entity.fields.to_vec();
    change(&mut fields);
    entity.fields = fields.leak();
}

#[test]
fn a_check_finds_each_difference_between_log_and_tables() {
    assert_eq!(counts(&filled().records), (11, 8));
    for (sql, expected) in [
        ("UPDATE issues SET title = 'changed' WHERE id = 'a'", "is not what the log gives"),
        ("DELETE FROM comments WHERE issue_id = 'c'", "the log gives 2"),
        ("INSERT INTO orgs VALUES ('x', 'X')", "is not what the log gives"),
        ("DELETE FROM change WHERE seq = 3", "which is not as it was"),
        ("UPDATE change SET rows = '[' WHERE seq = 3", "entry 3"),
        ("DELETE FROM change WHERE seq = 11", "is not what the log gives"),
        ("UPDATE access_keys SET secret = 'ff'", "is not what the log gives"),
    ] {
        let bench = filled();
        tamper(&bench, sql);
        let failure = bench.records.check().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Io, "{sql}");
        let found = failure.to_string().contains(expected) || sql.contains("seq = 11");
        assert!(found, "{sql}: {failure}");
    }
}

/// Returns an export without the first line that begins so.
fn without(export: &str, begin: &str) -> String {
    let (before, after) = export.split_once(&format!("\n{begin}")).expect("such a line");
    let (_, rest) = after.split_once('\n').expect("its end");
    format!("{before}\n{rest}")
}

#[test]
fn an_export_imports_to_the_same_store() {
    let bench = filled();
    let export = bench.export();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new");
    let checked = import(&target, &TRACKER, &mut export.as_bytes()).unwrap();
    assert_eq!(checked, bench.records.check().unwrap());
    let imported = Records::open(&target, &TRACKER, Start::Existing).unwrap();
    assert_eq!(imported.check().unwrap(), checked);
    assert_eq!(tracker::export(&imported), export);
    assert_eq!(import(&target, &TRACKER, &mut export.as_bytes()).unwrap_err().kind, FailureKind::Refused);
    for broken in [
        export.replace("\"title\":\"c\"", "\"title\":\"d\"").replacen(
            "\"title\":\"d\"",
            "\"title\":\"c\"",
            1,
        ),
        export.replace("tracker", "other"),
        format!("{export}nonsense\n"),
        format!("{export}{}\n", export.lines().last().unwrap()),
        String::new(),
        export.lines().take(1).map(|line| format!("{line}\n")).collect(),
        export.lines().take(4).map(|line| format!("{line}\n")).collect(),
        without(&export, "{\"row\""),
        without(&export, "{\"end\""),
    ] {
        let target = folder.path().join("broken");
        import(&target, &TRACKER, &mut broken.as_bytes()).unwrap_err();
        assert!(!target.join("tracker.db").exists());
    }
}

#[test]
fn a_backup_is_a_whole_store() {
    let bench = filled();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tracker.db");
    // As while a server moves its write-ahead log into the file.
    tamper(&bench, "INSERT OR REPLACE INTO meta (name, value) VALUES ('newest', 'in_log')");
    backup(&data(&bench), &TRACKER, &path).unwrap();
    assert_eq!(backup(&data(&bench), &TRACKER, &path).unwrap_err().kind, FailureKind::Refused);
    bench.call("issue", Delete, json!({"id": "a"})).unwrap();
    let copy = Records::open(folder.path(), &TRACKER, Start::Existing).unwrap();
    assert_eq!(copy.check().unwrap().changes, 11);
}

#[test]
fn a_backup_ends_while_changes_are_made() {
    const MAX_CHANGES: usize = 3_000;
    let bench = filled();
    tamper(&bench, "CREATE TABLE ballast AS SELECT zeroblob(120000000)");
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (data(&bench), folder.path().join("tracker.db"));
    let backup = std::thread::spawn(move || backup(&data, &TRACKER, &path));
    let made = (0..MAX_CHANGES).take_while(|id| {
        bench.create("issue", json!({"id": format!("i{id}"), "project_id": "p", "title": "One"}));
        !backup.is_finished()
    });
    assert!(made.count() < MAX_CHANGES, "the backup has waited for the last change");
    backup.join().unwrap().unwrap();
}

#[test]
fn files_of_other_programs_and_versions_are_refused() {
    for (sql, expected) in [
        ("PRAGMA application_id = 7", "of another program"),
        ("PRAGMA user_version = 3", "update the program"),
        ("UPDATE meta SET value = '1.0.1' WHERE name = 'version'", "update the program"),
        ("UPDATE meta SET value = '10.0.0' WHERE name = 'version'", "update the program"),
        ("UPDATE meta SET value = 'other' WHERE name = 'contract'", "not of the contract"),
    ] {
        let bench = filled();
        tamper(&bench, sql);
        let failure = Records::open(&data(&bench), &TRACKER, Start::Serve).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Refused, "{sql}");
        assert!(failure.message.contains(expected), "{sql}: {}", failure.message);
    }
    let missing = tempfile::tempdir().unwrap();
    let failure = Records::open(missing.path(), &TRACKER, Start::Existing).unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotFound);
    assert_eq!(fs::read_dir(missing.path()).unwrap().count(), 0);
}

#[test]
fn what_only_adds_is_migrated_at_the_start() {
    let bench = fill(Bench::new());
    let place = || super::tracker::place(bench.folder.path());
    let default = |name, kind, default| FieldSpec { default: Some(default), ..FieldSpec::new(name, kind) };
    let text = FieldType::Text { min: 0, max: 10 };
    let mut entities = TRACKER.entities.to_vec();
    entities.push(LABELS);
    fields(&mut entities[2], |fields| {
        fields.push(default("kind", text, "\"it's\""));
        fields.push(default("flag", FieldType::Boolean, "true"));
        fields.push(default("tags", FieldType::List { max: 3, max_chars: 3 }, "[\"x\"]"));
        fields.insert(2, FieldSpec { optional: true, ..FieldSpec::new("due", FieldType::Time) });
    });
    entities[5].uniques = &[Unique { fields: &["name"], folded: &[], while_null: None }];
    let next = leak(entities, "1.1.0");
    let records = Records::open(place(), next, Start::Serve).unwrap();
    assert_eq!(counts(&records), (11, 8));
    let issue = next.entity("issue").unwrap();
    let rows = super::tracker::wait(async {
        use tabellion_runtime::{ground::HasView as _, rows::Select};
        records.view().select(&Select::new(issue, vec![])).await.unwrap()
    });
    for row in &rows {
        let found = (&row["kind"], &row["flag"], &row["tags"], &row["due"]);
        assert_eq!(found, (&json!("it's"), &json!(true), &json!(["x"]), &json!(null)));
    }
    assert_eq!(rows.len(), 2);
    // An older program that runs already continues alongside.
    bench.create("issue", json!({"id": "late", "project_id": "p", "title": "late"}));
    assert_eq!(counts(&records), (12, 9));
    // When it starts again, it is refused, and changes nothing.
    let older = Records::open(place(), &TRACKER, Start::Serve).unwrap_err();
    assert!(older.message.contains("update the program"), "{}", older.message);
}

#[test]
fn what_loses_data_needs_a_command_and_the_rest_is_refused() {
    let dropped = || {
        with("issue", "2.0.0", |issue| fields(issue, |fields| fields.retain(|field| field.name != "extra")))
    };
    let gone = || leak(TRACKER.entities[..4].to_vec(), "2.0.0");
    for spec in [dropped(), gone()] {
        let bench = filled();
        let before = bench.export();
        let failure = Records::open(&data(&bench), spec, Start::Serve).unwrap_err();
        assert!(failure.message.contains("tabellion data migrate"), "{}", failure.message);
        assert_eq!(bench.export(), before);
        let folder = tempfile::tempdir().unwrap();
        backup(&data(&bench), spec, &folder.path().join("tracker.db")).unwrap();
        let place = data(&bench);
        for used in [Records::open(&place, spec, Start::Migrate).map(drop), recover(&place, spec).map(drop)] {
            assert_eq!(used.unwrap_err().kind, FailureKind::Busy);
        }
        let _folder = bench.closed();
        let migrated = Records::open(&place, spec, Start::Migrate).unwrap();
        let failure = Records::open(&place, spec, Start::Existing).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Busy, "a migration is alone");
        migrated.check().unwrap();
        let kept = Records::open(folder.path(), &TRACKER, Start::Existing).unwrap();
        assert_eq!(kept.check().unwrap().changes, 11);
    }
    let required = FieldSpec::new("needed", FieldType::Boolean);
    for spec in [
        with("issue", "2.0.0", |issue| fields(issue, |fields| fields.push(required))),
        with("issue", "2.0.0", |issue| {
            fields(issue, |fields| {
                let title = fields.iter_mut().find(|field| field.name == "title").unwrap();
                title.kind = FieldType::Boolean;
            })
        }),
        with("issue", "2.0.0", |issue| issue.table = "tickets"),
    ] {
        let bench = filled();
        let place = data(&bench);
        let _folder = bench.closed();
        let failure = Records::open(&place, spec, Start::Migrate).unwrap_err();
        assert!(failure.message.contains("can't be migrated"), "{}", failure.message);
        Records::open(&place, &TRACKER, Start::Serve).unwrap().check().unwrap();
    }
    // Rows that break a new unique value prevent the migration.
    let bench = filled();
    let unique = with("comment", "1.1.0", |comment| {
        comment.uniques = &[Unique { fields: &["body"], folded: &[], while_null: None }];
    });
    let failure = Records::open(&data(&bench), unique, Start::Serve).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Conflict);
    Records::open(&data(&bench), &TRACKER, Start::Serve).unwrap().check().unwrap();
}

#[test]
fn a_damaged_file_is_reported_and_recovered_from_its_log() {
    let bench = filled();
    let before = bench.export();
    tamper(&bench, "PRAGMA wal_checkpoint(TRUNCATE)");
    let folder = data(&bench);
    let page = {
        let connection = Connection::open(&bench.records.file().path).unwrap();
        let page: i64 = connection
            .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'issues'", [], |row| row.get(0))
            .unwrap();
        usize::try_from(page).unwrap()
    };
    let path = &bench.records.file().path.to_owned();
    let Bench { folder: kept, records } = bench;
    drop(records);
    let mut bytes = fs::read(path).unwrap();
    bytes[(page - 1) * 4096..page * 4096].fill(0x5a);
    fs::write(path, bytes).unwrap();
    let damaged = Bench { folder: kept, records: Records::open(&folder, &TRACKER, Start::Serve).unwrap() };
    let error = damaged.call("issue", List, json!({})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("tabellion data recover"), "{error}");
    let error =
        damaged.call("issue", Create, json!({"data": {"project_id": "p", "title": "x"}})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("damaged"), "{error}");
    damaged.call("project", Get, json!({"id": "p"})).unwrap();
    damaged.records.check().unwrap_err();
    let Bench { folder: kept, records } = damaged;
    drop(records);
    let recovered = recover(&folder, &TRACKER).unwrap();
    assert!(recovered.kept.exists() && recovered.cut_off.is_none());
    let checked = recovered.checked;
    let recovered =
        Bench { folder: kept, records: Records::open(&folder, &TRACKER, Start::Existing).unwrap() };
    assert_eq!(recovered.records.check().unwrap(), checked);
    assert_eq!(recovered.export(), before);
    let nonsense = tempfile::tempdir().unwrap();
    fs::write(nonsense.path().join("tracker.db"), "nonsense".repeat(1000)).unwrap();
    let failure = Records::open(nonsense.path(), &TRACKER, Start::Serve).unwrap_err();
    assert!(failure.message.contains("damaged"), "{}", failure.message);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_enter_the_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = filled();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data(&bench)), 0o700);
    let mut files = 0;
    for entry in fs::read_dir(data(&bench)).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    assert_eq!(
        files, 6,
        "the file, its log of writes, that log's index, the mark, and the locks of setting up and of use"
    );
}
