//! Operations, one rule at a time.

use std::fs;

use serde_json::{Value, json};
use tabellion_runtime::{
    CallContext, Identity,
    spec::Action::{Create, Delete, Get, List, Update},
};

use super::tracker::{Bench, call, keyed, open_file, wait};

fn project(bench: &Bench) -> Value {
    bench.create("project", json!({"id": "p", "name": "One"}))
}

#[test]
fn a_file_that_is_gone_is_neither_read_nor_changed_until_it_is_back() {
    let bench = Bench::in_file();
    project(&bench);
    let data = bench.folder.path().join("data");
    let [file, away, folder_away] =
        ["data/tracker.db", "away", "data-away"].map(|name| bench.folder.path().join(name));
    for (place, away) in [(&file, &away), (&data, &folder_away)] {
        let before = bench.export();
        fs::rename(place, away).unwrap();
        assert!(!bench.records.is_reachable());
        for (action, request) in [
            (Create, json!({"data": {"id": "q", "name": "Two"}})),
            (List, json!({})),
            (Get, json!({"id": "p"})),
        ] {
            let error =
                call(&bench.records, &CallContext::default(), "project", action, request).unwrap_err();
            assert!(error["message"].as_str().unwrap().contains("move it or its folder back"), "{error}");
        }
        assert!(!place.exists());
        fs::rename(away, place).unwrap();
        assert!(bench.records.is_reachable());
        assert_eq!(bench.export(), before);
    }
    // A different file in its place is not taken for it.
    fs::rename(&file, &away).unwrap();
    fs::copy(&away, &file).unwrap();
    assert!(!bench.records.is_reachable());
}

#[test]
fn wrong_data_is_refused_by_field_and_changes_nothing() {
    let bench = Bench::new();
    project(&bench);
    bench.create("issue", json!({"id": "i", "project_id": "p", "title": "First"}));
    let before = bench.export();
    let long = "x".repeat(9_000_001);
    let cases = [
        (json!({"nonsense": 1}), "unknown_field", "nonsense"),
        (json!({"org_id": "org_b"}), "unknown_field", "org_id"),
        (json!({"project_id": "nothing"}), "no_such", "project_id"),
        (json!({"project_id": 7}), "value", "project_id"),
        (json!({"project_id": "a b"}), "value", "project_id"),
        (json!({"parent_id": "nothing"}), "no_such", "parent_id"),
        (json!({"title": ""}), "value", "title"),
        (json!({"title": null}), "value", "title"),
        (json!({"title": "a\u{0}b"}), "value", "title"),
        (json!({"title": long}), "value", "title"),
        (json!({"status": "done"}), "value", "status"),
        (json!({"priority": 9_007_199_254_740_992_i64}), "value", "priority"),
        (json!({"priority": -9_007_199_254_740_992_i64}), "value", "priority"),
        (json!({"priority": u64::MAX}), "value", "priority"),
        (json!({"priority": 1.5}), "value", "priority"),
        (json!({"priority": "1"}), "value", "priority"),
        (json!({"estimate": u64::MAX}), "value", "estimate"),
        (json!({"pinned": 1}), "value", "pinned"),
        (json!({"labels": ["a", "b", "c", "d", "e", "f"]}), "value", "labels"),
        (json!({"labels": ["a\u{0}"]}), "value", "labels"),
        (json!({"labels": [1]}), "value", "labels"),
        (json!({"extra": {"a\u{0}": 1}}), "value", "extra"),
        (json!({"closed_at": 1}), "immutable", "closed_at"),
        (json!({"created_at": 1}), "immutable", "created_at"),
        (json!({"seq": 1}), "immutable", "seq"),
        (json!({"number": 7}), "stale", "number"),
        (json!({"id": "i"}), "taken", "id"),
    ];
    for (change, rule, field) in cases {
        let mut data = json!({"project_id": "p", "title": "Second"});
        for (name, value) in change.as_object().unwrap() {
            data[name] = value.clone();
        }
        let error = bench.call("issue", Create, json!({ "data": data })).unwrap_err();
        assert_eq!(error["rule"], rule, "{change}: {error}");
        assert_eq!(error["field"], field, "{change}: {error}");
        let pointer = format!("/data/{field}");
        assert_eq!(error["violations"][0]["pointer"], pointer, "{change}: {error}");
    }
    let error = bench.call("issue", Create, json!({"data": {"project_id": "p"}}));
    assert_eq!(error.unwrap_err()["rule"], "missing");
    assert_eq!(bench.export(), before);
}

#[test]
fn any_text_and_number_within_the_limits_comes_back() {
    let bench = Bench::new();
    project(&bench);
    let texts =
        ["\u{1}\u{7f}\u{feff}\u{202e}", "𝕏😀é\u{301}", "'\"; DROP TABLE issues; --", "\u{10ffff}\u{e000}"];
    let long = "é".repeat(4 * 1024 * 1024);
    for text in texts.into_iter().chain([long.as_str()]) {
        let data = json!({
            "project_id": "p", "title": text, "priority": -9_007_199_254_740_991_i64, "estimate": 0.1,
            "extra": {"b": [1, null, text], "a": {}}, "labels": ["", "ß"],
        });
        let created = bench.create("issue", data.clone());
        let read = bench.call("issue", Get, json!({"id": created["id"]})).unwrap();
        assert_eq!(read, created);
        for (name, value) in data.as_object().unwrap() {
            assert_eq!(&read[name], value, "{name}");
        }
    }
    bench.records.check().unwrap();
}

#[test]
fn updates_change_only_what_they_name() {
    let bench = Bench::new();
    project(&bench);
    let data = json!({"id": "i", "project_id": "p", "title": "First", "estimate": 2, "extra": 1});
    let first = bench.create("issue", data);
    let update = |data: Value| bench.call("issue", Update, json!({"id": "i", "data": data}));
    let second = update(json!({"title": "Second"})).unwrap();
    assert_eq!((&second["title"], &second["estimate"]), (&json!("Second"), &json!(2.0)));
    let third = update(json!({"estimate": null, "status": "closed"})).unwrap();
    assert_eq!((&third["estimate"], &third["extra"]), (&Value::Null, &json!(1)));
    assert!(third["closed_at"].is_i64());
    assert_eq!(update(json!({"status": "open"})).unwrap()["closed_at"], Value::Null);
    // A row may be sent back as it was read.
    let read = bench.call("issue", Get, json!({"id": "i"})).unwrap();
    assert_eq!(update(read.clone()).unwrap(), read);
    for (data, rule) in [
        (json!({"created_at": 1}), "immutable"),
        (json!({"number": 2}), "immutable"),
        (json!({"id": "j"}), "immutable"),
        (json!({"title": null}), "value"),
        (json!({"nonsense": 1}), "unknown_field"),
    ] {
        assert_eq!(update(data.clone()).unwrap_err()["rule"], rule, "{data}");
    }
    assert_eq!(first["seq"], read["seq"]);
}

/// The id of a row that was deleted itself, with another row, or with its org; and in a file of an older program.
#[test]
fn the_id_of_a_removed_row_is_never_used_again() {
    let bench = Bench::in_file();
    project(&bench);
    let issue = |id: &str| json!({"id": id, "project_id": "p", "title": "One"});
    let taken = |bench: &Bench, entity, data: Value| {
        let error = bench.call(entity, Create, json!({ "data": data })).unwrap_err();
        assert_eq!((&error["rule"], &error["field"]), (&json!("taken"), &json!("id")));
        assert!(error["message"].as_str().unwrap().contains("ids are not used again"), "{error}");
    };
    for id in ["i", "j"] {
        bench.create("issue", issue(id));
        bench.create("comment", json!({"id": format!("c{id}"), "issue_id": id, "body": "note"}));
        bench.call("issue", Delete, json!({ "id": id })).unwrap();
    }
    bench.create("issue", issue("k"));
    let refuses = |bench: &Bench| {
        for id in ["i", "j"] {
            taken(bench, "issue", issue(id));
            taken(bench, "comment", json!({"id": format!("c{id}"), "issue_id": "k", "body": "note"}));
        }
    };
    refuses(&bench);
    // Orgs and entities have separate ids.
    bench.create("comment", json!({"id": "i", "issue_id": "k", "body": "note"}));
    let before = bench.export();
    let older = "DROP TABLE removed; PRAGMA user_version = 1";
    bench.records.settle().unwrap();
    let path = bench.records.file().path.clone();
    let folder = bench.closed();
    rusqlite::Connection::open(path).unwrap().execute_batch(older).unwrap();
    let records = open_file(folder.path());
    let bench = Bench { folder, records };
    refuses(&bench);
    assert_eq!(bench.export(), before);
    let imported = tempfile::tempdir().unwrap();
    crate::import(&imported.path().join("data"), &super::tracker::TRACKER, &mut before.as_bytes()).unwrap();
    let records = open_file(imported.path());
    refuses(&Bench { folder: imported, records });
}

#[test]
fn references_unique_values_and_chains_hold() {
    let bench = Bench::new();
    project(&bench);
    bench.create("project", json!({"id": "q", "name": "Two"}));
    assert_eq!(bench.refusal("project", Create, json!({"data": {"name": "oNE"}})), "taken");
    for (id, parent) in [("a", Value::Null), ("b", json!("a")), ("c", json!("b"))] {
        bench.create("issue", json!({"id": id, "project_id": "p", "title": id, "parent_id": parent}));
    }
    let parent = |id: &str, parent: &str| {
        let request = json!({"id": id, "data": {"parent_id": parent}});
        bench.call("issue", Update, request).map_err(|error| error["rule"].clone())
    };
    assert_eq!(parent("a", "c").unwrap_err(), "circular");
    assert_eq!(parent("a", "a").unwrap_err(), "circular");
    parent("c", "a").unwrap();
    let data = json!({"project_id": "q", "title": "x", "parent_id": "a"});
    assert_eq!(bench.refusal("issue", Create, json!({ "data": data })), "no_such");
    let in_use = bench.call("project", Delete, json!({"id": "p"})).unwrap_err();
    assert_eq!((&in_use["rule"], &in_use["by"]["issue"]), (&json!("in_use"), &json!(3)));
    for _ in 0..3 {
        bench.create("comment", json!({"issue_id": "a", "body": "note"}));
    }
    assert_eq!(bench.call("issue", Delete, json!({"id": "a"})).unwrap(), json!({"deleted": true, "id": "a"}));
    assert_eq!(bench.refusal("comment", List, json!({"issue_id": "a"})), "no_such");
    assert_eq!(bench.call("comment", List, json!({})).unwrap()["total"], 0);
    assert_eq!(bench.call("issue", Get, json!({"id": "b"})).unwrap()["parent_id"], Value::Null);
    bench.create("comment", json!({"issue_id": "b", "body": "close it"}));
    assert_eq!(bench.call("issue", Get, json!({"id": "b"})).unwrap()["status"], "closed");
    bench.records.check().unwrap();
}

#[test]
fn lists_are_ordered_limited_and_continued() {
    let bench = Bench::new();
    project(&bench);
    let created: Vec<_> = (0..25)
        .map(|at| bench.create("issue", json!({"project_id": "p", "title": format!("{at}")})))
        .collect();
    assert_eq!(created[24]["number"], 25);
    let list = |request: Value| bench.call("issue", List, request).unwrap();
    let mut seen = vec![];
    let mut page = list(json!({"project_id": "p", "limit": 7}));
    while page["count"] != 0 {
        assert_eq!(page["total"], 25);
        seen.extend(page["items"].as_array().unwrap().clone());
        page = list(json!({"project_id": "p", "limit": 7, "after": seen.last().unwrap()["id"]}));
    }
    assert_eq!(seen, created);
    assert_eq!(list(json!({}))["count"], 10);
    for limit in [json!(0), json!(101), json!(-1), json!("1")] {
        assert_eq!(bench.refusal("issue", List, json!({ "limit": limit })), "value", "{limit}");
    }
    // The mark is taken from the other.
    for issue in [&created[3], &created[7]] {
        let request = json!({"id": issue["id"], "data": {"pinned": true}});
        bench.call("issue", Update, request).unwrap();
    }
    let all = list(json!({"limit": 100}));
    let pinned = all["items"].as_array().unwrap().iter().filter(|item| item["pinned"] == true);
    assert_eq!(pinned.map(|item| &item["id"]).collect::<Vec<_>>(), [&created[7]["id"]]);
}

#[test]
fn what_is_in_another_org_is_not_there() {
    let bench = Bench::new();
    project(&bench);
    bench.create("issue", json!({"id": "i", "project_id": "p", "title": "First"}));
    let other = |request: Value| {
        let mut request = request;
        request["org"] = json!("org_b");
        request
    };
    let before = bench.export();
    for (entity, action, request, rule) in [
        ("project", Get, json!({"id": "p"}), "not_found"),
        ("project", Update, json!({"id": "p", "data": {"name": "x"}}), "not_found"),
        ("issue", Delete, json!({"id": "i"}), "not_found"),
        ("issue", List, json!({"project_id": "p"}), "no_such"),
        ("issue", Create, json!({"data": {"project_id": "p", "title": "x"}}), "no_such"),
        ("comment", Create, json!({"data": {"issue_id": "i", "body": "x"}}), "no_such"),
    ] {
        assert_eq!(bench.refusal(entity, action, other(request)), rule, "{entity}");
    }
    assert_eq!(bench.export(), before);
    assert_eq!(bench.call("project", List, other(json!({}))).unwrap()["total"], 0);
    // Neither ids nor unique values clash.
    let twin = other(json!({"data": {"id": "p", "name": "One"}}));
    bench.call("project", Create, twin).unwrap();
    assert_eq!(bench.refusal("project", Get, json!({"id": "p", "org": "nothing"})), "not_found");
    let bound = CallContext { org: Some("org_b".into()), ..CallContext::default() };
    let as_bound = |entity, action, request| {
        call(&bench.records, &bound, entity, action, request).map(|answer| answer.response)
    };
    assert_eq!(as_bound("project", List, json!({})).unwrap()["total"], 1);
    assert_eq!(as_bound("org", List, json!({})).unwrap()["total"], 1);
    for request in [json!({"id": "org_default"}), json!({"id": "org_b", "org": "org_default"})] {
        assert_eq!(as_bound("org", Get, request).unwrap_err()["rule"], "not_found");
    }
    as_bound("project", Delete, json!({"id": "p"})).unwrap();
    bench.call("project", Get, json!({"id": "p"})).unwrap();
    bench.records.check().unwrap();
}

#[test]
fn a_secret_is_answered_once_and_its_bytes_are_nowhere() {
    let bench = Bench::in_file();
    let request = json!({"data": {"name": "ci"}});
    let create = |key| call(&bench.records, &keyed(key), "access_key", Create, request.clone()).unwrap();
    let first = create("k");
    let secret = first.response["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("trk_") && secret.len() == 68, "{secret}");
    let again = create("k");
    assert_eq!(again.meta["tabellion/replayed"], true);
    assert_eq!(again.meta["tabellion/change"], first.meta["tabellion/change"]);
    let mut expected = first.response.clone();
    expected["secret"] = Value::Null;
    assert_eq!(again.response, expected);
    assert_eq!(again.meta["tabellion/base"], first.meta["tabellion/base"]);
    let read = bench.call("access_key", Get, json!({"id": expected["id"]})).unwrap();
    assert!(read.get("secret").is_none());
    assert_eq!(
        bench.refusal("access_key", Create, json!({"data": {"name": "x", "secret": "mine"}})),
        "immutable"
    );
    assert!(!bench.export().contains(&secret[4..]));
    let mut files = 0;
    for entry in std::fs::read_dir(bench.folder.path().join("data")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(!has(&secret.as_bytes()[4..]));
        files += usize::from(has(b"access_keys"));
    }
    assert!(files > 0, "the data is in the folder");
}

#[test]
fn conditions_and_keys_hold() {
    let bench = Bench::new();
    let create = |key: &str, name: &str| {
        call(&bench.records, &keyed(key), "project", Create, json!({"data": {"name": name}}))
    };
    let first = create("k", "One").unwrap();
    assert_eq!(create("k", "One").unwrap().response, first.response);
    assert_eq!(create("k", "Two").unwrap_err()["rule"], "key_reused");
    // The order of members makes no other request.
    let orders =
        [r#"{"data": {"id": "p", "name": "Ordered"}}"#, r#"{"data": {"name": "Ordered", "id": "p"}}"#];
    let [given, reordered] = orders.map(|text| {
        let request = serde_json::from_str(text).unwrap();
        call(&bench.records, &keyed("order"), "project", Create, request).unwrap().response
    });
    assert_eq!(given, reordered);
    // A key of another org is a different key.
    let other = CallContext { org: Some("org_b".into()), ..keyed("k") };
    let request = json!({"data": {"name": "One"}});
    let other = call(&bench.records, &other, "project", Create, request).unwrap();
    assert_ne!(other.response, first.response);
    // As is that of another caller.
    let other = CallContext { identity: Some(Identity::key("another")), ..keyed("k") };
    let request = json!({"data": {"name": "Two"}});
    let other = call(&bench.records, &other, "project", Create, request).unwrap();
    assert_ne!(other.response, first.response);
    let id = first.response["id"].clone();
    let base = first.meta["tabellion/base"].as_str().unwrap().to_owned();
    let update = |base: &str, name: &str| {
        let meta = json!({"tabellion/ifBase": base});
        let context = CallContext::from_meta(None, meta.as_object().unwrap()).unwrap();
        call(&bench.records, &context, "project", Update, json!({"id": id, "data": {"name": name}}))
    };
    let read = call(&bench.records, &CallContext::default(), "project", Get, json!({ "id": id })).unwrap();
    assert_eq!(read.meta["tabellion/base"], base.as_str());
    let second = update(&base, "Three").unwrap();
    assert_eq!(update(&base, "Four").unwrap_err()["kind"], "conflict");
    update(second.meta["tabellion/base"].as_str().unwrap(), "Four").unwrap();
    assert_eq!(bench.records.check().unwrap().changes, 7, "seeds, four creates, two updates");
}

/// Approves all proposals, and records them.
#[derive(Debug, Default)]
struct Granting(std::sync::Mutex<Vec<String>>);

impl tabellion_runtime::Approver for Granting {
    fn insists_on(&self, _: &tabellion_runtime::ToolSpec) -> bool {
        true
    }

    fn decide<'a>(
        &'a self,
        proposal: &'a tabellion_runtime::Proposal,
    ) -> tabellion_runtime::BoxFuture<'a, tabellion_runtime::Decision> {
        self.0.lock().unwrap().push(proposal.shown.clone());
        Box::pin(async { tabellion_runtime::Decision::Granted })
    }
}

#[test]
fn an_approval_holds_although_ids_times_and_secrets_are_made_anew() {
    let bench = Bench::new();
    let approver = std::sync::Arc::new(Granting::default());
    let context = || CallContext::default().with_approver(approver.clone());
    for (entity, action, request) in [
        ("project", Create, json!({"data": {"name": "One"}})),
        ("access_key", Create, json!({"data": {"id": "k", "name": "ci"}})),
        ("access_key", Update, json!({"id": "k", "data": {"name": "cd"}})),
        ("access_key", Delete, json!({"id": "k"})),
    ] {
        call(&bench.records, &context(), entity, action, request).unwrap();
    }
    let shown = approver.0.lock().unwrap().join("");
    assert!(shown.contains("- name: \"ci\"\n+ name: \"cd\""), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn a_dropped_session_leaves_no_trace_and_readers_keep_their_snapshot() {
    use tabellion_runtime::{
        Claim, Store,
        rows::{Rows, Select},
    };
    let bench = Bench::new();
    let entity = bench.records.spec().entity("project").unwrap();
    let before = bench.export();
    wait(async {
        let store: &dyn Store<Rows> = &bench.records;
        let snapshot = store.snapshot().await.unwrap().unwrap();
        let select = Select::new(entity, vec![]);
        assert_eq!(snapshot.view().count(&select).await.unwrap(), 0);
        drop(store.begin(Claim::default()).await.unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| project(&bench));
        });
        assert_eq!(snapshot.view().count(&select).await.unwrap(), 0);
        assert_eq!(store.view().count(&select).await.unwrap(), 1);
    });
    assert_ne!(bench.export(), before);
}

#[test]
fn a_mark_is_taken_where_its_row_moves_to() {
    let bench = Bench::new();
    project(&bench);
    let issue = |id: &str, data: Value| {
        let mut data = data;
        data["id"] = id.into();
        data["project_id"] = "p".into();
        data["title"] = id.into();
        bench.create("issue", data)
    };
    issue("one", json!({}));
    issue("two", json!({}));
    issue("a", json!({"parent_id": "one", "leads": true}));
    issue("b", json!({"parent_id": "two", "leads": true}));
    let leading = || {
        let all = bench.call("issue", List, json!({"project_id": "p"})).unwrap();
        let leading = all["items"].as_array().unwrap().iter().filter(|it| it["leads"] == true);
        leading.map(|it| it["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(leading(), ["a", "b"]);
    // By a change, and by a deletion that clears the reference.
    bench.call("issue", Update, json!({"id": "a", "data": {"parent_id": "two"}})).unwrap();
    assert_eq!(leading(), ["a"]);
    issue("c", json!({"leads": true}));
    assert_eq!(leading(), ["a", "c"]);
    bench.call("issue", Delete, json!({"id": "two"})).unwrap();
    assert_eq!(leading().len(), 1, "{:?}", leading());
    bench.records.check().unwrap();
}

#[test]
fn a_full_disk_changes_nothing() {
    let bench = Bench::in_file();
    project(&bench);
    let limit = |pages: u32| {
        wait(async {
            let writer = bench.records.file().writer.lock().await;
            let sql = format!("PRAGMA max_page_count = {pages}");
            writer.lock().connection.query_row(&sql, [], |row| row.get::<_, u32>(0)).unwrap()
        })
    };
    let before = bench.export();
    let pages = limit(1);
    let data = json!({"project_id": "p", "title": "x".repeat(100_000)});
    let error = bench.call("issue", Create, json!({"data": data.clone()})).unwrap_err();
    assert_eq!(error["kind"], "io");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("the disk is full; free some space; nothing has changed"), "{message}");
    assert_eq!(bench.export(), before);
    limit(pages + 1_000);
    bench.create("issue", data);
    bench.records.check().unwrap();
}

#[test]
fn stores_on_one_folder_race_for_unique_values() {
    let bench = Bench::new();
    let stores: Vec<_> = (0..4).map(|_| super::tracker::open(bench.folder.path())).collect();
    let made = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for store in &stores {
            scope.spawn(|| {
                for at in 0..25 {
                    let request = json!({"data": {"name": format!("n{at}")}});
                    match call(store, &CallContext::default(), "project", Create, request) {
                        Ok(_) => drop(made.fetch_add(1, std::sync::atomic::Ordering::SeqCst)),
                        Err(error) => assert_eq!(error["rule"], "taken"),
                    }
                }
            });
        }
    });
    assert_eq!(made.into_inner(), 25);
    assert_eq!(bench.call("project", List, json!({})).unwrap()["total"], 25);
    assert_eq!(bench.records.check().unwrap().changes, 26);
}
