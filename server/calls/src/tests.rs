//! The store compared with models of it; several stores on one folder simulate several servers.

use std::{collections::BTreeMap, num::NonZeroU32, sync::Mutex, time::Duration};

use proptest::prelude::*;
use serde_json::json;
use tabellion_runtime::{
    ContractSpec, Identity, KnownCaller, RateLimit, Schema, ToolSpec,
    calls::SessionOf,
    spec::{CallerKind, ExecutionsSpec},
};

use super::*;

static ANY: Schema = Schema::plain("{}");

static READ: ToolSpec = ToolSpec { name: "read", rate_limit: Some("reads"), ..ToolSpec::new(&ANY, &ANY) };

static CHANGE: ToolSpec = ToolSpec { name: "change", mutating: true, ..ToolSpec::new(&ANY, &ANY) };

static LIMITS: [RateLimit; 1] = [RateLimit {
    name: "reads",
    calls: NonZeroU32::new(3).unwrap(),
    seconds: 3600,
    per: RateLimitPer::Session,
}];

const MAX_SESSIONS: u32 = 3;

static CONTRACT: ContractSpec = ContractSpec {
    id: "shop",
    rate_limits: &LIMITS,
    executions: Some(&ExecutionsSpec { keep_seconds: 3600, result_seconds: 60 }),
    sessions: Some(&SessionsSpec {
        most: MAX_SESSIONS,
        seconds: 86400,
        idle_seconds: 3600,
        expired: "EXPIRED",
    }),
    ..ContractSpec::EMPTY
};

/// The existing commits, by execution.
#[derive(Default)]
struct Made(Mutex<BTreeMap<String, String>>);

impl Commits for Made {
    fn find<'a>(
        &'a self,
        executions: &'a [String],
        _: DateTime<Utc>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>, Failure>> {
        let made = self.0.lock().unwrap();
        let found = executions.iter().filter_map(|id| Some((id.clone(), made.get(id)?.clone())));
        let found = found.collect();
        Box::pin(async move { Ok(found) })
    }
}

fn caller(name: &str) -> KnownCaller {
    KnownCaller {
        kind: CallerKind::Human,
        identity: Identity::local(name),
        name: name.into(),
        own_name: None,
        agent: None,
        roles: vec![],
        scopes: vec![],
    }
}

struct Folder {
    folder: tempfile::TempDir,
    made: Arc<Made>,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), made: Arc::default() }
    }

    fn open(&self) -> Calls {
        Calls::open(self.folder.path(), self.made.clone()).unwrap()
    }
}

fn done<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn admit(
    calls: &Calls,
    tool: &'static ToolSpec,
    who: &str,
    session: SessionOf<'_>,
) -> Result<Admitted, NotAdmitted> {
    let (caller, arguments) = (caller(who), json!({ "text": "t".repeat(300), "n": 1 }));
    done(calls.admit(&NewExecution {
        contract: &CONTRACT,
        tool,
        caller: Some(&caller),
        client: Some("test/1"),
        session,
        arguments: &arguments,
        is_pending: false,
        keeps_result: false,
    }))
}

fn success(commit: Option<&str>) -> Ended {
    Ended {
        status: ExecutionStatus::Success,
        result: Some(json!({ "done": true })),
        commit: commit.map(str::to_owned),
        ..interrupted()
    }
}

fn found(calls: &Calls, id: &str) -> Execution {
    done(calls.execution(id)).unwrap().expect("it is kept")
}

#[test]
fn an_execution_is_kept_from_its_beginning_to_its_end() {
    let folder = Folder::new();
    let calls = folder.open();
    for (tool, keeps) in [(&READ, false), (&CHANGE, true)] {
        let admitted = admit(&calls, tool, "ann", SessionOf::Caller).unwrap();
        let id = &admitted.execution;
        let running = found(&calls, id);
        assert_eq!(running.end.status, ExecutionStatus::Running);
        assert_eq!(running.caller.as_deref(), Some("local:ann"));
        assert_eq!(running.session, admitted.session);
        assert_eq!(running.input["n"], 1);
        assert_eq!(running.input["text"]["characters"], 300, "a long text is not kept");
        done(calls.finish(id, &success(Some("c1"))));
        let ended = found(&calls, id);
        assert_eq!(ended.end.status, ExecutionStatus::Success);
        assert_eq!(ended.end.commit.as_deref(), Some("c1"));
        assert_eq!(ended.end.result.is_some(), keeps, "{}", tool.name);
        // An ended execution never changes.
        done(calls.finish(id, &interrupted()));
        assert_eq!(found(&calls, id), ended);
    }
    assert_eq!(done(calls.execution("nothing")).unwrap(), None);
}

#[test]
fn executions_of_a_server_that_ended_are_decided_by_the_commits() {
    let folder = Folder::new();
    let (first, other) = (folder.open(), folder.open());
    let begun: Vec<_> =
        (0..4).map(|_| admit(&first, &CHANGE, "ann", SessionOf::Caller).unwrap().execution).collect();
    done(first.finish(&begun[0], &success(Some("c0"))));
    folder.made.0.lock().unwrap().insert(begun[1].clone(), "c1".into());
    // Its executions run as long as it lives.
    assert_eq!(found(&other, &begun[1]).end.status, ExecutionStatus::Running);
    drop(first);
    let expected = [
        (ExecutionStatus::Success, Some("c0")),
        (ExecutionStatus::Success, Some("c1")),
        (ExecutionStatus::Failed, None),
        (ExecutionStatus::Failed, None),
    ];
    // Decided by a running server, and by one that starts.
    for calls in [other, folder.open()] {
        for (id, (status, commit)) in begun.iter().zip(expected) {
            let end = found(&calls, id).end;
            assert_eq!((end.status, end.commit.as_deref()), (status, commit));
        }
    }
}

#[test]
fn a_limit_holds_over_all_servers_and_for_each_session() {
    let folder = Folder::new();
    let servers = [folder.open(), folder.open()];
    let opened = |who: &str| {
        done(servers[0].open_session(CONTRACT.sessions.unwrap(), &Identity::local(who), &Value::Null))
            .unwrap()
            .id
    };
    let sessions = [opened("ann"), opened("ann"), opened("bob")];
    for (session, who) in sessions.iter().zip(["ann", "ann", "bob"]) {
        for at in 0..5 {
            let admitted = admit(&servers[at % 2], &READ, who, SessionOf::Named(session)).unwrap();
            match admitted.limit {
                Some(Ok(())) => assert!(at < 3, "{who}"),
                Some(Err(wait)) => {
                    assert!(at >= 3, "{who}");
                    assert!(wait <= Duration::from_secs(1200) && wait > Duration::from_secs(1190));
                }
                None => panic!("the tool has a limit"),
            }
        }
        let free = admit(&servers[0], &CHANGE, who, SessionOf::Named(session)).unwrap();
        assert_eq!(free.limit, None);
    }
    // With more sessions, a caller is limited to the calls of five.
    let mut made = 6;
    for session in [&sessions[0], &sessions[1]] {
        done(servers[0].end_session(CONTRACT.sessions.unwrap(), &Identity::local("ann"), session)).unwrap();
    }
    for _ in 0..4 {
        let session = opened("ann");
        let admitted = || admit(&servers[0], &READ, "ann", SessionOf::Named(&session)).unwrap();
        made += (0..3).filter(|_| admitted().limit == Some(Ok(()))).count();
        done(servers[0].end_session(CONTRACT.sessions.unwrap(), &Identity::local("ann"), &session)).unwrap();
    }
    assert_eq!(made, 15);
}

#[test]
fn sessions_are_their_holders_alone() {
    let folder = Folder::new();
    let calls = folder.open();
    let spec = CONTRACT.sessions.unwrap();
    let mine = done(calls.open_session(spec, &Identity::local("ann"), &json!({ "agent": {} }))).unwrap();
    assert_eq!(mine.max_expires_at - mine.created_at, chrono::TimeDelta::days(1));
    assert_eq!(mine.expires_at - mine.created_at, chrono::TimeDelta::hours(1));
    for who in ["bob", ""] {
        let foreign = || Err(NotAdmitted::NoSession(mine.id.clone()));
        assert_eq!(admit(&calls, &CHANGE, who, SessionOf::Named(&mine.id)).map(drop), foreign());
        assert_eq!(done(calls.renew_session(spec, &Identity::local(who), &mine.id)).map(drop), foreign());
        assert_eq!(done(calls.end_session(spec, &Identity::local(who), &mine.id)).map(drop), foreign());
    }
    let ended = done(calls.end_session(spec, &Identity::local("ann"), &mine.id)).unwrap();
    assert!(ended.terminated_at.is_some());
    assert_eq!(
        admit(&calls, &CHANGE, "ann", SessionOf::Named(&mine.id)).map(drop),
        Err(NotAdmitted::NoSession(mine.id))
    );
}

#[test]
fn ending_a_session_cancels_what_runs_in_it() {
    let folder = Folder::new();
    let calls = folder.open();
    let spec = CONTRACT.sessions.unwrap();
    let session = done(calls.open_session(spec, &Identity::local("ann"), &Value::Null)).unwrap().id;
    let running = admit(&calls, &CHANGE, "ann", SessionOf::Named(&session)).unwrap();
    let elsewhere = admit(&calls, &CHANGE, "ann", SessionOf::Caller).unwrap();
    done(calls.end_session(spec, &Identity::local("ann"), &session)).unwrap();
    assert!(calls.is_cancelled(&running.execution));
    assert!(!calls.is_cancelled(&elsewhere.execution));
}

#[test]
fn what_a_clock_that_was_ahead_kept_does_not_outlast_it() {
    let folder = Folder::new();
    let calls = folder.open();
    let spec = CONTRACT.sessions.unwrap();
    let ann = Identity::local("ann");
    let session = done(calls.open_session(spec, &ann, &Value::Null)).unwrap().id;
    let call = || admit(&calls, &READ, "ann", SessionOf::Named(&session));
    call().unwrap();
    let file = Connection::open(folder.folder.path().join(FILE)).unwrap();
    file.execute_batch("UPDATE session SET created_at = created_at + 1e17, last_at = last_at + 1e17; UPDATE bucket SET full_at = full_at + 1e17")
        .unwrap();
    assert_eq!(call(), Err(NotAdmitted::NoSession(session.clone())));
    let new = done(calls.open_session(spec, &ann, &Value::Null)).unwrap().id;
    let of_new = "UPDATE bucket SET name = replace(name, ?1, ?2), full_at = full_at + 1e17";
    file.execute(of_new, [&session, &new]).unwrap();
    let admitted = admit(&calls, &READ, "ann", SessionOf::Named(&new)).unwrap();
    let wait = admitted.limit.expect("a limit").expect_err("the bucket is empty, and no more than that");
    assert!(wait <= Duration::from_secs(LIMITS[0].seconds.into()), "{wait:?}");
}

#[test]
fn a_file_of_the_version_before_is_taken_over() {
    let folder = Folder::new();
    let before = admit(&folder.open(), &CHANGE, "ann", SessionOf::Caller).unwrap().execution;
    let file = Connection::open(folder.folder.path().join(FILE)).unwrap();
    file.execute_batch("ALTER TABLE execution DROP COLUMN caller_name; PRAGMA user_version = 1").unwrap();
    drop(file);
    let calls = folder.open();
    let now = admit(&calls, &CHANGE, "ann", SessionOf::Caller).unwrap().execution;
    for (id, name) in [(&before, None), (&now, Some("ann"))] {
        let found = found(&calls, id);
        assert_eq!((found.caller.as_deref(), found.caller_name.as_deref()), (Some("local:ann"), name));
    }
    for caller in ["ann", "local:ann", "bob"] {
        let filter = ExecutionFilter { caller: Some(caller.into()), ..ExecutionFilter::default() };
        let mut count = 0;
        let mut each = |_| {
            count += 1;
            true
        };
        done(calls.each(&filter, &mut each)).unwrap();
        let expected = match caller {
            "ann" => 1,
            "local:ann" => 2,
            _ => 0,
        };
        assert_eq!(count, expected, "{caller}");
    }
}

#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    let folder = Folder::new();
    drop(folder.open());
    let file = folder.folder.path().join(FILE);
    let connection = Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = std::fs::read(&file).unwrap();
    let refused = Calls::open(folder.folder.path(), folder.made.clone()).unwrap_err();
    assert_eq!(refused.kind, FailureKind::Refused, "{refused}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_damaged_file_is_put_aside() {
    let folder = Folder::new();
    drop(folder.open());
    let file = folder.folder.path().join(FILE);
    std::fs::write(
        &file,
        b"no database, but long enough that it can't be taken for an empty one".repeat(100),
    )
    .unwrap();
    let calls = folder.open();
    admit(&calls, &CHANGE, "ann", SessionOf::Caller).unwrap();
    let names = std::fs::read_dir(folder.folder.path()).unwrap();
    let aside = names.filter(|name| {
        let name = name.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("calls.damaged-")
    });
    assert_eq!(aside.count(), 1);
}

/// An action of a caller on sessions.
#[derive(Debug, Clone, Copy)]
enum Step {
    Open(u8),
    Call(u8, usize),
    Connect(u8, u8),
    Hang(u8),
    End(u8, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..2_u8).prop_map(Step::Open),
        (0..2_u8, 0..8_usize).prop_map(|(who, nth)| Step::Call(who, nth)),
        (0..2_u8, 0..4_u8).prop_map(|(who, connection)| Step::Connect(who, connection)),
        (0..4_u8).prop_map(Step::Hang),
        (0..2_u8, 0..8_usize).prop_map(|(who, nth)| Step::End(who, nth)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Random programs compared with a model of each caller's sessions.
    #[test]
    fn no_caller_has_more_sessions_than_the_contract_permits(steps in proptest::collection::vec(step(), 1..40)) {
        let folder = Folder::new();
        let servers = [folder.open(), folder.open()];
        let spec = CONTRACT.sessions.unwrap();
        // All opened sessions, with their holder and a flag that is set while they are active.
        let mut named: Vec<(String, u8, bool)> = vec![];
        // Connections with a session, the longest idle first: it gives way.
        let mut connected: Vec<(u8, u8)> = vec![];
        for (at, step) in steps.into_iter().enumerate() {
            let calls = &servers[at % 2];
            let make_room = |named: &[(String, u8, bool)], connected: &mut Vec<(u8, u8)>, who: u8| {
                let named = named.iter().filter(|(_, holder, is_active)| *holder == who && *is_active).count();
                let of_who = connected.iter().filter(|(holder, _)| *holder == who).count();
                if named + of_who < MAX_SESSIONS as usize {
                    return true;
                }
                let idle = connected.iter().position(|(holder, _)| *holder == who);
                idle.map(|idle| connected.remove(idle)).is_some()
            };
            match step {
                Step::Open(who) => {
                    let has_room = make_room(&named, &mut connected, who);
                    let opened = done(calls.open_session(spec, &Identity::local(&who.to_string()), &Value::Null));
                    prop_assert_eq!(opened.is_ok(), has_room);
                    named.extend(opened.ok().map(|opened| (opened.id, who, true)));
                }
                Step::Connect(who, connection) => {
                    let id = format!("connection {connection}");
                    let is_open = connected.contains(&(who, connection));
                    let has_room = is_open || make_room(&named, &mut connected, who);
                    let called = admit(calls, &CHANGE, &who.to_string(), SessionOf::Connection(&id));
                    prop_assert_eq!(called.is_ok(), has_room);
                    connected.retain(|known| *known != (who, connection));
                    if has_room {
                        connected.push((who, connection));
                    }
                }
                Step::Hang(connection) => {
                    calls.end_connection(&format!("connection {connection}"));
                    connected.retain(|(_, other)| *other != connection);
                }
                Step::Call(who, nth) => {
                    let Some((id, holder, is_active)) = named.get(nth) else { continue };
                    let called = admit(calls, &CHANGE, &who.to_string(), SessionOf::Named(id));
                    prop_assert_eq!(called.is_ok(), *is_active && *holder == who);
                }
                Step::End(who, nth) => {
                    let Some((id, holder, is_active)) = named.get_mut(nth) else { continue };
                    let ended = done(calls.end_session(spec, &Identity::local(&who.to_string()), id));
                    prop_assert_eq!(ended.is_ok(), *is_active && *holder == who);
                    *is_active &= ended.is_err();
                }
            }
        }
    }
}
