//! `tabellion data` and `tabellion doctor --data`: messages and repairs for data that is whole, damaged, older or newer.

use std::{
    fs,
    io::Read as _,
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{Data, create_team};
use crate::support::{TABELLION, ended};

/// Data with three teams.
fn filled() -> Data {
    let data = Data::new();
    let mut server = data.serve();
    for name in ["a", "b", "c"] {
        create_team(&mut server, name).expect("made");
    }
    server.close();
    data
}

/// Makes the data look as if an older contract, with a field more, had written it.
const OLDER: &str = "UPDATE meta SET value = '0.0.1' WHERE name = 'version';
    UPDATE meta SET value = json_set(value, '$.team.columns.motto', json('{\"kind\":\"text\",\"required\":false}'))
    WHERE name = 'layout';
    ALTER TABLE teams ADD COLUMN motto TEXT";
const NEWER: &str = "UPDATE meta SET value = '99.0.0' WHERE name = 'version'";
const FOREIGN: &str = "PRAGMA application_id = 7";
/// A row that the log does not have.
const UNLOGGED: &str =
    "INSERT INTO teams (id, org_id, name, seq, created_at) VALUES ('x', 'org_default', 'x', 99, 1)";

/// A change of the data, arguments, the exit code, and a part of the output.
#[test]
fn each_command_says_what_it_did_or_what_to_do() {
    for (tampered, arguments, code, expected) in [
        (
            "",
            &["check"][..],
            0,
            "gives the tables, row for row\n4 changes, 5 rows\nSHA-256 of all entries and rows: ",
        ),
        ("", &["check", "--json"], 0, r#""changes":4,"rows":5,"digest":""#),
        ("", &["migrate"], 0, "nothing to migrate"),
        ("", &["backup", "/proc/no/file"], 1, "can't create"),
        ("", &["import"], 1, "is there already; name an empty folder"),
        ("", &["import", "/no/such/export"], 1, "can't read `/no/such/export`"),
        ("", &["check", "--contract", "learning-os"], 2, "possible values: mcb"),
        (UNLOGGED, &["check"], 1, "is not what the log gives; `tabellion data recover --data DIR`"),
        (NEWER, &["check"], 1, "is of version 99.0.0 of `mcb`, and this program has version"),
        (NEWER, &["migrate"], 1, "update the program"),
        (NEWER, &["export"], 1, "update the program"),
        (FOREIGN, &["check"], 1, "is of another program"),
        (FOREIGN, &["migrate"], 1, "is of another program"),
        (OLDER, &["check"], 1, "run `tabellion data migrate`, which makes a backup first"),
    ] {
        let data = filled();
        data.tamper(tampered);
        let (exit, out, said) = data.upkeep(arguments);
        assert_eq!(exit, Some(code), "{arguments:?}: {out}{said}");
        assert!([out.as_str(), &said].concat().contains(expected), "{arguments:?}: {out}{said}");
    }
    let lost = filled();
    fs::remove_file(lost.file()).expect("removed");
    for command in ["check", "export", "backup"] {
        let (exit, _, said) = lost.upkeep(&[command, "copy"][..1 + usize::from(command == "backup")]);
        assert!(
            exit == Some(1) && said.contains("is gone, and change 4 was acknowledged"),
            "{command}: {said}"
        );
    }
    let missing = Data::new();
    for command in ["check", "export", "migrate", "recover"] {
        let (exit, _, said) = missing.upkeep(&[command]);
        assert!(exit == Some(1) && said.contains("name the data folder with `--data DIR`"), "{said}");
        assert!(!missing.folder().exists(), "{command}");
    }
}

#[test]
fn a_server_refuses_data_that_it_can_not_serve() {
    for (tampered, expected) in [
        (NEWER, "this program has version"),
        (FOREIGN, "is of another program"),
        (OLDER, "the field `motto` of `team` is dropped; run `tabellion data migrate`"),
    ] {
        let data = filled();
        data.tamper(tampered);
        let (code, _, said) = ended(&mut data.command());
        assert_eq!(code, Some(1));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn an_export_is_the_data_and_a_backup_too() {
    let data = filled();
    let server = data.serve();
    let before = data.checked();
    let (_, lines, _) = data.upkeep(&["export"]);
    fs::write(data.beside("export.jsonl"), &lines).expect("written");
    let backup = data.beside("backup.db");
    let (code, said, _) = data.upkeep(&["backup", &backup.to_string_lossy()]);
    assert!(code == Some(0) && said.contains("is a copy of"), "{said}");
    let (code, _, said) = data.upkeep(&["backup", &backup.to_string_lossy()]);
    assert!(code == Some(1) && said.contains("is there already; name a new file"), "{said}");
    server.close();

    let imported = Data::new();
    let (code, said, _) = imported.upkeep(&["import", &data.beside("export.jsonl").to_string_lossy()]);
    assert!(code == Some(0) && said.contains("4 changes, 5 rows"), "{said}");
    assert_eq!(imported.checked(), before);
    let copied = Data::new();
    fs::create_dir(copied.folder()).expect("a folder");
    fs::copy(&backup, copied.file()).expect("copied");
    assert_eq!(copied.checked(), before);

    let broken = Data::new();
    fs::write(broken.beside("cut"), &lines[..lines.len() - 20]).expect("written");
    let (code, _, said) = broken.upkeep(&["import", &broken.beside("cut").to_string_lossy()]);
    assert!(code == Some(1) && said.contains("is not one of an export"), "{said}");
    assert!(!broken.folder().exists(), "what can't be imported leaves nothing");
}

/// A reader that ends early, such as `head`, does not cause an error.
#[test]
fn the_reader_of_an_export_may_leave() {
    let data = filled();
    let mut server = data.serve();
    for name in 0..200 {
        create_team(&mut server, &format!("{name:0>190}")).expect("made");
    }
    server.close();
    let mut command = Command::new(TABELLION);
    command.args(["data", "export", "--data"]).arg(data.folder());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut first = [0; 10];
    let mut out = child.stdout.take().expect("its output");
    out.read_exact(&mut first).expect("a beginning");
    drop(out);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_migration_that_loses_something_keeps_a_backup_of_it() {
    let data = filled();
    data.tamper(OLDER);
    data.tamper("UPDATE teams SET motto = 'onwards' WHERE name = 'a'");
    let (code, said, error) = data.upkeep(&["migrate", "--json"]);
    assert_eq!(code, Some(0), "{error}");
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said["from"], "0.0.1");
    assert_eq!(said["lost"][0], "the field `motto` of `team` is dropped");
    let backup = said["backup"].as_str().expect("a path").replace('~', &data.beside("").to_string_lossy());
    let kept = rusqlite::Connection::open(backup).expect("a database");
    let motto: String =
        kept.query_row("SELECT motto FROM teams WHERE name = 'a'", [], |row| row.get(0)).expect("the field");
    assert_eq!(motto, "onwards");
    data.serve().close();
    assert_eq!(data.checked().teams(), ["a", "b", "c"].into());
}

#[test]
fn a_damaged_file_comes_back_from_its_log() {
    let data = filled();
    let before = data.checked();
    data.damage("teams");
    let (code, _, said) = data.upkeep(&["check"]);
    assert!(code == Some(1) && said.contains("`tabellion data recover --data DIR`"), "{said}");
    let mut server = data.serve();
    let refused = create_team(&mut server, "d").expect_err("the table is damaged");
    // The cause is for the operator, not for the client.
    assert_eq!(refused.code, -32603, "{refused:?}");
    let (code, _, said) = data.upkeep(&["recover"]);
    assert!(code == Some(1) && said.contains("is in use; stop the servers"), "{said}");
    server.close();
    let (code, said, error) = data.upkeep(&["recover"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(
        said.contains("from its log: 4 changes, 5 rows") && said.contains("`~/data/mcb.damaged`"),
        "{said}"
    );
    assert_eq!(data.checked(), before);
    let mut server = data.serve();
    create_team(&mut server, "d").expect("made");
    server.close();

    // Without a beginning of the log there is no way back, and nothing changes.
    data.damage("change");
    let bytes = fs::read(data.file()).expect("a file");
    let (code, _, said) = data.upkeep(&["recover"]);
    assert!(
        code == Some(1) && said.contains("away") && !said.contains("run `tabellion data recover"),
        "{said}"
    );
    assert_eq!(fs::read(data.file()).expect("a file"), bytes);
}

/// Runs `doctor --data --json`; returns the exit code and each line's id, status and text.
pub(super) fn doctor(data: &Data) -> (Option<i32>, Vec<(String, String, String)>) {
    let mut command = Command::new(TABELLION);
    command.args(["doctor", "--json", "--data"]).arg(data.folder()).env("HOME", data.beside(""));
    let output = command.output().expect("it runs");
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = shown["findings"].as_array().expect("findings").iter();
    let findings = findings.map(|finding| {
        let said = format!("{} {}", text(&finding["message"]), text(&finding["mend"]));
        let said = said.replace(&*data.beside("").to_string_lossy(), "~/");
        (text(&finding["id"]), text(&finding["status"]), said)
    });
    (output.status.code(), findings.collect())
}

/// The damage to the data, and the finding: its id, its status and a part of its text.
#[test]
fn doctor_tells_what_is_wrong_with_data() {
    let damaged = |data: &Data| data.damage("teams");
    let kept = |data: &Data| {
        assert_eq!(data.upkeep(&["recover"]).0, Some(0));
    };
    let open = |data: &Data| {
        #[cfg(unix)]
        fs::set_permissions(data.folder(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("chmod");
        let _ = data;
    };
    let gone = |data: &Data| fs::remove_dir_all(data.folder()).expect("removed");
    type Case<'a> = (&'a dyn Fn(&Data), &'a str, &'a str, &'a str);
    let lost = |data: &Data| fs::remove_file(data.file()).expect("removed");
    let cases: [Case<'_>; 11] = [
        (&lost, "data", "red", "is gone, and change 4 was acknowledged"),
        (&|_| {}, "log", "green", "the 4 changes in the log of `mcb` give its 5 rows"),
        (&|_| {}, "version", "green", "of `mcb`"),
        (&|data| data.tamper(NEWER), "version", "red", "update the program"),
        (
            &|data| data.tamper(OLDER),
            "version",
            "red",
            "`tabellion data migrate --data ~/data --contract mcb`",
        ),
        (&|data| data.tamper(FOREIGN), "version", "red", "another program"),
        (
            &|data| data.tamper(UNLOGGED),
            "log",
            "red",
            "`tabellion data recover --data ~/data --contract mcb`",
        ),
        (&damaged, "log", "red", "`tabellion data recover --data ~/data --contract mcb`"),
        (&kept, "leftovers", "yellow", "mcb.damaged`"),
        (&open, "permissions", "yellow", "`chmod go= "),
        (&gone, "data", "red", "does not exist"),
    ];
    for (tamper, id, status, expected) in cases {
        if cfg!(not(unix)) && id == "permissions" {
            continue;
        }
        let data = filled();
        tamper(&data);
        let (code, findings) = doctor(&data);
        let found = findings.iter().find(|(found, _, _)| found == id);
        let (_, found, said) = found.unwrap_or_else(|| panic!("{id}: {findings:?}"));
        assert!(found == status && said.contains(expected), "{id}: {found} {said}");
        assert_eq!(code, Some(i32::from(status == "red")), "{id}: {findings:?}");
    }
}
