//! Provenance: the sources of each field, its missing fields, and its stored ones. The contract has the fields of a real one.

mod support;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use support::{
    memory::Memory,
    origin::{ALWAYS, CONTRACT, FIELDS, Facts, NEVER, REQUIRED, Sessions, establish, rejected, said},
};
use tabellion_runtime::{
    CallContext, CallOrigin, Connection, Provenance, Transport,
    provenance::{DISCOVERED, PROVENANCE, ProvenanceSource, RECEIVED_AT},
    spec::{Discovery, ProvenanceType},
};

/// A value of a field that is not the default.
fn value(field: &str) -> Value {
    match CONTRACT.provenance.unwrap().field(field).unwrap().kind {
        ProvenanceType::String => format!("{field} of Ada").into(),
        ProvenanceType::Integer => 1_700_000_000.into(),
        ProvenanceType::Boolean => false.into(),
    }
}

/// A `_meta` with every field but `without`, by name.
fn meta_without(without: &[&str]) -> Map<String, Value> {
    let fields = FIELDS.iter().map(|field| field.name);
    let fields = fields.filter(|name| !without.contains(name));
    fields.map(|name| (name.to_owned(), value(name))).collect()
}

fn call(meta: Map<String, Value>) -> CallContext {
    CallContext {
        origin: CallOrigin { meta: Arc::new(meta), ..CallOrigin::default() },
        ..CallContext::default()
    }
}

fn over_http(headers: &[(&str, &str)]) -> CallContext {
    let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    CallContext {
        origin: CallOrigin {
            transport: Transport::Http,
            headers: headers.collect(),
            ..CallOrigin::default()
        },
        ..CallContext::default()
    }
}

/// Makes the call in this environment and on this connection.
fn with(mut call: CallContext, facts: Option<Facts>, connection: Option<&Arc<Connection>>) -> CallContext {
    call.origin.environment = facts.map(|facts| Arc::new(facts) as _);
    call.origin.connection = connection.cloned();
    call
}

#[track_caller]
fn provenance(call: &CallContext) -> Arc<Provenance> {
    establish(&ALWAYS, call).unwrap_or_else(|rejection| panic!("{rejection:?}"))
}

#[test]
fn every_field_is_read_from_each_of_its_keys_and_headers() {
    for field in FIELDS {
        let all = meta_without(&[field.name]);
        for key in field.keys {
            for own in [false, true] {
                let mut meta = all.clone();
                let place = if own {
                    meta.entry(PROVENANCE).or_insert(json!({})).as_object_mut().unwrap()
                } else {
                    &mut meta
                };
                place.insert((*key).into(), value(field.name));
                let found = provenance(&call(meta));
                assert_eq!(found.get(field.name), Some(&value(field.name)), "{key}");
                assert_eq!(found.source(field.name), Some(ProvenanceSource::Meta), "{key}");
            }
        }
        for header in field.headers {
            let text = match value(field.name) {
                Value::String(text) => text,
                other => other.to_string(),
            };
            for header in [(*header).to_owned(), header.to_ascii_lowercase()] {
                let mut call = over_http(&[(&header, &text)]);
                call.origin.meta = Arc::new(all.clone());
                let found = provenance(&call);
                assert_eq!(found.get(field.name), Some(&value(field.name)), "{header}");
                assert_eq!(found.source(field.name), Some(ProvenanceSource::Header), "{header}");
            }
        }
    }
}

#[test]
fn the_first_key_with_a_value_counts_and_own_members_come_before_all() {
    let header = [("X-Session-Id", "h")];
    for (meta, expected) in [
        (json!({ PROVENANCE: { "sessionId": "own" }, "session_id": "a" }), "own"),
        (json!({ PROVENANCE: { "session_id": " " }, "session_id": "a" }), "a"),
        (
            json!({ PROVENANCE: {}, "x_session_id": "d", "x-session-id": "c", "sessionId": "b", "session_id": "a" }),
            "a",
        ),
        (json!({ "x_session_id": "d", "x-session-id": "c", "sessionId": "b" }), "b"),
        (json!({ "x_session_id": "d", "x-session-id": "c", "sessionId": "", "session_id": null }), "c"),
        // Keys without our prefix may be another program's.
        (json!({ "x_session_id": "d", "session_id": { "of": "another" } }), "d"),
        (json!({ "session_id": "\u{a0}" }), "h"),
        (json!({ "session_id": 7 }), "h"),
        (json!({}), "h"),
    ] {
        let mut call = over_http(&header);
        call.origin.meta = Arc::new(meta.as_object().unwrap().clone());
        let found = establish(&NEVER, &call).unwrap();
        assert_eq!(found.text("session_id"), Some(expected), "{meta}");
    }
}

#[test]
fn what_is_wrong_under_our_own_key_is_said() {
    for (own, expected) in [
        (
            json!({ "session": "s" }),
            "`session` of `tabellion/provenance` is not known; the fields are session_id, ",
        ),
        (json!({ "session_id": 7 }), "`session_id` of `tabellion/provenance` must be a text"),
        (json!({ "timestamp": "soon" }), "`timestamp` of `tabellion/provenance` must be an integer"),
        (
            json!({ "is_delegated": "maybe" }),
            "`is_delegated` of `tabellion/provenance` must be true or false",
        ),
        (json!({ "model": "x".repeat(2000) }), "`model` of `tabellion/provenance` is longer than 1024 bytes"),
        (json!(["s"]), "`tabellion/provenance` must be an object"),
    ] {
        for tool in [&ALWAYS, &NEVER] {
            let mut meta = meta_without(&[]);
            meta.insert(PROVENANCE.into(), own.clone());
            let error = rejected(establish(tool, &call(meta)));
            assert!(error.message.starts_with(expected), "{own}: {}", error.message);
            assert_eq!((error.code, &error.data["rule"]), (-32602, &json!("provenance")), "{own}");
        }
    }
}

#[test]
fn each_field_and_each_two_that_are_missing_are_said_in_order() {
    // These have a default, so that they are never missing.
    let can_be_missing: Vec<_> =
        REQUIRED.iter().copied().filter(|name| !["delegated", "timestamp"].contains(name)).collect();
    assert_eq!(can_be_missing.len(), 9);
    let mut cases: Vec<Vec<&str>> = can_be_missing.iter().map(|name| vec![*name]).collect();
    for (i, first) in can_be_missing.iter().enumerate() {
        cases.extend(can_be_missing[i + 1..].iter().map(|second| vec![*first, *second]));
    }
    cases.push(can_be_missing);
    for missing in cases {
        let blanks = [None, Some(json!("")), Some(json!(" \t")), Some(Value::Null)];
        for blank in blanks {
            let mut meta = meta_without(&missing);
            for name in missing.iter().filter(|_| blank.is_some()) {
                meta.insert((*name).into(), blank.clone().unwrap());
            }
            let error = rejected(establish(&ALWAYS, &call(meta.clone())));
            let sentence = format!("Missing execution provenance for 'always': {}", missing.join(", "));
            assert_eq!((error.code, error.message), (-32602, sentence));
            assert_eq!(Value::from(error.data), json!({ "rule": "provenance", "missing": missing }));
            // A tool that stores it accepts the available fields.
            let found = establish(&NEVER, &call(meta)).unwrap();
            assert!(missing.iter().all(|name| found.get(name).is_none()), "{missing:?}");
        }
    }
}

#[test]
fn a_delegated_call_needs_its_parent() {
    let parent = json!("session of Bert");
    for (delegated, parent, expected) in [
        (None, None, Ok(false)),
        (None, Some(parent.clone()), Ok(true)),
        (None, Some(json!(" ")), Ok(false)),
        (Some(json!(false)), None, Ok(false)),
        (Some(json!(false)), Some(parent.clone()), Ok(false)),
        (Some(json!(true)), Some(parent.clone()), Ok(true)),
        (Some(json!("true")), Some(parent), Ok(true)),
        (Some(json!(true)), None, Err(["parent_session_id"])),
        (Some(json!(true)), Some(json!("")), Err(["parent_session_id"])),
    ] {
        let mut meta = meta_without(&["delegated", "parent_session_id"]);
        meta.extend(delegated.map(|value| ("delegated".into(), value)));
        meta.extend(parent.map(|value| ("parent_session_id".into(), value)));
        let found = establish(&ALWAYS, &call(meta.clone()));
        match expected {
            Ok(delegated) => assert_eq!(found.unwrap().boolean("delegated"), Some(delegated), "{meta:?}"),
            Err(missing) => assert_eq!(rejected(found).data["missing"], json!(missing), "{meta:?}"),
        }
    }
    let mut meta = meta_without(&["model_id", "parent_session_id"]);
    meta.insert("delegated".into(), true.into());
    let error = rejected(establish(&ALWAYS, &call(meta)));
    assert_eq!(error.message, "Missing execution provenance for 'always': model_id, parent_session_id");
}

#[test]
fn the_time_is_the_callers_beside_the_servers() {
    let found = provenance(&call(meta_without(&["timestamp"])));
    assert_eq!(found.integer("timestamp"), Some(found.received_at()));
    assert_eq!(found.source("timestamp"), Some(ProvenanceSource::Default));
    assert!(found.received_at() > 1_700_000_000, "{}", found.received_at());
    let found = provenance(&call(meta_without(&[])));
    assert_eq!(found.integer("timestamp"), Some(1_700_000_000));
    assert!(found.received_at() > 1_700_000_000, "{}", found.received_at());
}

#[test]
fn the_holder_of_a_key_comes_before_headers_and_only_for_its_field() {
    let mut call = over_http(&[("X-Operator-Id", "mallory"), ("X-Machine-Id", "m")]);
    call.origin.holder = Some("ada@example.com".into());
    let found = establish(&NEVER, &call).unwrap();
    assert_eq!(
        said(&found),
        json!({
            "operator_id": ["ada@example.com", "holder"],
            "machine_id": ["m", "header"],
        })
    );
    call.origin.meta = Arc::new(json!({ "operator_id": "bert" }).as_object().unwrap().clone());
    assert_eq!(establish(&NEVER, &call).unwrap().text("operator_id"), Some("bert"));
}

#[test]
fn sources_are_asked_in_their_order() {
    let sessions = || Facts {
        config: json!({ "project_id": "config", "repo_id": "config", "model_id": "config", "session_id": "config",
            "worktree_id": "config", "delegated": true }),
        discovers: true,
        ..Facts::default()
    };
    let connection = Arc::new(Connection::new("c1"));
    let first =
        json!({ "session_id": "s1", "repo_id": "first", "worktree_id": "first", "agent_program": "first" });
    establish(&NEVER, &with(call(first.as_object().unwrap().clone()), None, Some(&connection))).unwrap();
    for (about, meta, connection, expected) in [
        (
            "the first call's session, what is bound to it, the first call, the configuration",
            json!({}),
            Some(&connection),
            json!({ "session_id": ["s1", "bound"], "project_id": ["bound to s1", "bound"],
                "worktree_id": ["bound to s1", "bound"], "repo_id": ["first", "bound"], "model_id": ["config", "config"] }),
        ),
        (
            "another session has nothing of the first call",
            json!({ "session_id": "s2" }),
            Some(&connection),
            json!({ "session_id": ["s2", "meta"], "project_id": ["bound to s2", "bound"],
                "worktree_id": ["bound to s2", "bound"], "repo_id": ["config", "config"], "model_id": ["config", "config"] }),
        ),
        (
            "what the call says comes before what is bound",
            json!({ "session_id": "s2", "project_id": "said" }),
            Some(&connection),
            json!({ "session_id": ["s2", "meta"], "project_id": ["said", "meta"],
                "worktree_id": ["bound to s2", "bound"], "repo_id": ["config", "config"], "model_id": ["config", "config"] }),
        ),
        (
            "the configured session is asked, too",
            json!({}),
            None,
            json!({ "session_id": ["config", "config"], "project_id": ["bound to config", "bound"],
                "worktree_id": ["bound to config", "bound"], "repo_id": ["config", "config"], "model_id": ["config", "config"] }),
        ),
    ] {
        let meta = meta.as_object().unwrap().clone();
        let found = establish(&NEVER, &with(call(meta), Some(sessions()), connection)).unwrap();
        let mut found = said(&found);
        found.as_object_mut().unwrap().retain(|name, _| expected.get(name).is_some());
        assert_eq!(found, expected, "{about}");
    }
}

#[test]
fn what_is_configured_for_a_field_without_configuration_is_not_taken() {
    let facts = Facts {
        config: json!({ "delegated": true, "timestamp": 5, "parent_session_id": "p", "model_id": 7, "machine_id": "m" }),
        ..Facts::default()
    };
    let found = establish(&NEVER, &with(call(Map::new()), Some(facts), None)).unwrap();
    assert_eq!(said(&found), json!({ "machine_id": ["m", "config"] }));
}

#[test]
fn only_what_no_one_says_is_discovered_and_it_is_marked() {
    let connection = Arc::new(Connection::new("c1"));
    let facts = |discovers| Facts { discovers, ..Facts::default() };
    let said_some = json!({ "project_id": "said", "operator_id": "said" }).as_object().unwrap().clone();
    let mut call = call(said_some);
    call.client = Some("an/editor/1.2".into());
    let strict = establish(&NEVER, &with(call.clone(), Some(facts(false)), Some(&connection))).unwrap();
    assert_eq!(said(&strict), json!({ "project_id": ["said", "meta"], "operator_id": ["said", "meta"] }));
    let found = establish(&ALWAYS, &with(call, Some(facts(true)), Some(&connection))).unwrap();
    let expected = json!({
        "session_id": ["c1", "discovered"],
        "project_id": ["said", "meta"],
        "repo_id": ["a repository", "discovered"],
        "repo_path": ["/a/path", "discovered"],
        "worktree_id": ["main", "discovered"],
        "operator_id": ["said", "meta"],
        "machine_id": ["a machine", "discovered"],
        "agent_program": ["an/editor", "discovered"],
        "model_id": ["unknown", "discovered"],
    });
    assert_eq!(said(&found), expected);
    let kept = found.to_value();
    let marked =
        ["session_id", "repo_id", "repo_path", "worktree_id", "machine_id", "agent_program", "model_id"];
    assert_eq!(kept[DISCOVERED], json!(marked));
    let names: Vec<_> = kept.as_object().unwrap().keys().map(String::as_str).collect();
    let fields = FIELDS.iter().map(|field| field.name).chain([RECEIVED_AT, DISCOVERED]);
    assert_eq!(names, fields.collect::<Vec<_>>());
    assert_eq!(kept["parent_session_id"], Value::Null);
}

#[test]
fn a_call_that_lacks_nothing_asks_no_one() {
    let facts = Facts { discovers: true, ..Facts::default() };
    let asked = facts.asked.clone();
    let call = with(call(meta_without(&[])), Some(facts), None);
    let sessions = Sessions::default();
    let found = support::origin::establish_with(&ALWAYS, &call, &sessions).unwrap();
    assert_eq!(found.source("session_id"), Some(ProvenanceSource::Meta));
    assert_eq!((asked.lock().unwrap().len(), sessions.asked.lock().unwrap().len()), (0, 0));
}

#[test]
fn a_session_that_cannot_be_read_is_an_error() {
    let meta = json!({ "session_id": "broken" }).as_object().unwrap().clone();
    assert_eq!(rejected(establish(&NEVER, &call(meta))).message, "the sessions can't be read");
}

#[test]
fn provenance_reaches_the_log_entry_and_not_the_request() {
    let memory = Memory::default();
    let context = call(meta_without(&["machine_id", "delegated"]));
    let answer = support::origin::put(&memory, &context, json!({ "text": "a" })).unwrap();
    assert_eq!(answer.response, json!({ "text": "a", "by": "operator_id of Ada" }));
    let details = memory.state.lock().unwrap().commits.pop().unwrap().details;
    assert_eq!(details["tool's"], json!("own"));
    let mut expected: Map<_, _> =
        FIELDS.iter().map(|field| (field.name.to_owned(), value(field.name))).collect();
    expected["machine_id"] = Value::Null;
    expected["delegated"] = true.into();
    let mut found = details["provenance"].as_object().unwrap().clone();
    assert!(found.shift_remove(RECEIVED_AT).unwrap().as_i64() > Some(1_700_000_000));
    assert_eq!(found.shift_remove(DISCOVERED), Some(json!([])));
    assert_eq!(found, expected);
}

#[test]
fn the_key_of_provenance_is_no_unknown_condition() {
    for (value, is_fine) in
        [(json!({ "session_id": "s" }), true), (json!({}), true), (json!("s"), false), (json!(null), false)]
    {
        let meta = Map::from_iter([(PROVENANCE.into(), value.clone())]);
        assert_eq!(CallContext::from_meta(None, &meta).is_ok(), is_fine, "{value}");
    }
    let discoveries: Vec<_> = FIELDS.iter().filter_map(|field| field.discover).collect();
    assert!(Discovery::ALL.iter().all(|all| discoveries.contains(all)), "every discovery is tried above");
}
