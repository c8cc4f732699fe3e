//! Lost updates: a write with a precondition is refused if another client has changed the document since the read.

use crate::{checks::prelude::*, crowd::at_once, settled};

const NOTE: &str = "note.md";
const NEW: &str = "notes/new.md";

/// Writes with a precondition.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ConditionalWrite {
    /// A write whose base another client has overwritten.
    Stale,
    /// Concurrent writes with the same base by this number of servers.
    Race(usize),
    /// Concurrent creations of one document by this number of servers.
    Creation(usize),
}

pub(super) fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(vec![
        Case::new("a stale base", ConditionalWrite::Stale),
        Case::new("4 servers with the same base", ConditionalWrite::Race(4)),
        Case::new("4 servers create the same document", ConditionalWrite::Creation(4)),
    ])
}

/// Returns cases with fewer servers.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    match case.read() {
        Ok(ConditionalWrite::Race(servers @ 3..)) => {
            let name = "2 servers with the same base";
            vec![Case::new(name, ConditionalWrite::Race(2)); servers]
        }
        Ok(ConditionalWrite::Creation(servers @ 3..)) => {
            let name = "2 servers create the same document";
            vec![Case::new(name, ConditionalWrite::Creation(2)); servers]
        }
        _ => Vec::new(),
    }
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let scene = bench.scene(&[(&bench.subject.place(EffectKind::Write, NOTE), "# Note\n\nfirst\n")])?;
    let mut client = scene.start()?;
    let base = base(bench, &mut client)?;
    match case.read()? {
        ConditionalWrite::Stale => judge_stale(bench, &scene, &mut client, &base),
        ConditionalWrite::Race(servers) => judge_race(bench, &scene, NOTE, &base, servers),
        ConditionalWrite::Creation(servers) => judge_race(bench, &scene, NEW, &Value::Null, servers),
    }
}

/// Returns the base of the note's content, from the answer to a read.
fn base(bench: &Bench<'_>, client: &mut Client<'_>) -> Result<Value, Stop> {
    let done = client.make(&request(bench, EffectKind::Read, NOTE, "")?)?.must("a read")?;
    let base = done.meta.get("tabellion/base").cloned();
    base.ok_or_else(|| not_applicable("the server does not return the base of its answers"))
}

fn request(bench: &Bench<'_>, kind: EffectKind, path: &str, content: &str) -> Result<Call, Stop> {
    let with = With { path, content, target: "" };
    let call = bench.subject.placed(kind, with);
    call.ok_or_else(|| not_applicable("the server can't both read and write"))
}

/// Writes with `base` as the precondition.
fn write(client: &mut Client<'_>, call: &Call, base: &Value) -> Result<Reply, Stop> {
    let meta = Map::from_iter([("tabellion/ifBase".to_owned(), base.clone())]);
    client.call_with(call.tool, &call.arguments, meta)
}

fn judge_stale(bench: &Bench<'_>, scene: &Scene<'_>, client: &mut Client<'_>, stale: &Value) -> Judgement {
    let second = request(bench, EffectKind::Write, NOTE, "# Note\n\nsecond\n")?;
    let third = request(bench, EffectKind::Write, NOTE, "# Note\n\nthird\n")?;
    let mut other = scene.start()?;
    ensure(write(&mut other, &second, stale)?.done().is_some(), || {
        "a write was refused although its base is the document's content".into()
    })?;
    let before = settled::view(scene)?;
    ensure(write(client, &third, stale)?.done().is_none(), || {
        "a write was accepted although another client has changed the document since its base".into()
    })?;
    before.same(&settled::view(scene)?, "a refused write")?;
    let fresh = base(bench, client)?;
    ensure(write(client, &third, &fresh)?.done().is_some(), || {
        "a write was refused although its base is the document's content".into()
    })
}

fn judge_race(bench: &Bench<'_>, scene: &Scene<'_>, path: &str, base: &Value, servers: usize) -> Judgement {
    let before = settled::view(scene)?;
    let content = |server: usize| format!("# Note\n\nof server {server}\n");
    let calls: Result<Vec<_>, _> =
        (0..servers).map(|server| request(bench, EffectKind::Write, path, &content(server))).collect();
    let clients: Result<Vec<_>, _> = (0..servers).map(|_| scene.start()).collect();
    // A server is ready once it has answered a call.
    let mut clients = clients?;
    for client in &mut clients {
        self::base(bench, client)?;
    }
    let work = |(mut client, call): (Client<'_>, Call)| write(&mut client, &call, base);
    let replies = at_once(clients.into_iter().zip(calls?).collect(), work)?;
    let done: Vec<_> = (0..servers).filter(|server| replies[*server].done().is_some()).collect();
    let path = &*bench.subject.place(EffectKind::Write, path);
    let found = scene.read(path).unwrap_or_default();
    ensure(done.len() == 1, || {
        format!("of {servers} writes with the same base {} were accepted instead of one", done.len())
    })?;
    ensure(found == content(done[0]).as_bytes(), || {
        "the document does not contain the text of the only accepted write".into()
    })
    .map_err(|stop| stop.showing(path, Some(content(done[0]).as_bytes()), Some(&found)))?;
    let commits = settled::view(scene)?.library.commits_since(&before.library).len();
    ensure(commits == 1 || !bench.subject.should_commit(), || {
        format!("one write was accepted, but {commits} commits were made")
    })
}
