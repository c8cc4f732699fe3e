//! Notes with review (`brainforge`): searching and writing among many notes, compared with edits by `braindrive-markdown`, and many callers
//! at once.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_conformance::ledger::{fsck, git};
use ureq::Agent;

use super::{
    pipe::Pipe,
    table::{Row, Table},
    texts::Texts,
};
use xtask::{Outcome, root, run};

use crate::{call, served::Served};

/// Notes in a folder.
const IN_FOLDER: usize = 1_000;
/// Words of a paragraph, and paragraphs of a note.
const LENGTH: usize = 60;
const PARAGRAPHS: usize = 3;
/// Changes of each kind that a server makes before the next one is started: a caller has few in a minute.
const OF_A_SERVER: usize = 20;
/// The same number for searches.
const SEARCHES_OF_A_SERVER: usize = 90;
/// Concurrent callers, each with its own key.
const CALLERS: usize = 100;
/// Notes in the library of many callers.
const SHARED: usize = 1_000;
/// Ranking by words and meaning, and the interval between two checks for vectors.
const HYBRID: &str = "hybrid";
const VECTORS_INTERVAL: Duration = Duration::from_secs(2);
/// Interval between two checks if an execution has ended.
const EXECUTION_INTERVAL: Duration = Duration::from_millis(100);

/// Measures with each number of notes.
pub(super) fn all(within: &Path, sizes: &[usize], calls: usize, crowd: Duration) -> Outcome<Vec<Table>> {
    let mut tables = Vec::new();
    for size in sizes {
        let folder = tempfile::tempdir_in(root().join(within))?;
        tables.push(measure(folder.path(), *size, calls)?);
    }
    let folder = tempfile::tempdir_in(root().join(within))?;
    tables.push(together(folder.path(), crowd)?);
    Ok(tables)
}

fn note(texts: &mut Texts) -> String {
    let mut text = format!("# {}\n", texts.words(4));
    for _ in 0..PARAGRAPHS {
        let _ = write!(text, "\n{}\n", texts.words(LENGTH));
    }
    text
}

/// Creates a library of `size` notes, committed.
fn fill(library: &Path, size: usize, texts: &mut Texts) -> Outcome {
    for number in 0..size {
        let folder = library.join(format!("area-{}", number / IN_FOLDER));
        if number % IN_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        fs::write(folder.join(format!("note-{number}.md")), note(texts))?;
    }
    git(library, &["init", "--quiet", "--initial-branch=main"])?;
    git(library, &["add", "--all"])?;
    git(library, &["commit", "--quiet", "--allow-empty", "-m", "notes"])?;
    git(library, &["gc", "--quiet"])?;
    Ok(())
}

fn serve(contract: &str, library: &Path) -> Outcome<Pipe> {
    let role: &[&str] = if contract == "brainforge" { &["--as", "owner"] } else { &[] };
    let options = [&["--contract", contract][..], role, &["--library"]].concat();
    Pipe::greet(&options, library)
}

/// Returns the ranking that an answer reports.
fn ranking_of(answer: &Value) -> String {
    let ranking = answer["_meta"]["tabellion/ranking"].as_str();
    ranking.unwrap_or("unknown").to_owned()
}

/// Returns true if servers that are started here compare meanings.
fn is_model_installed() -> Outcome<bool> {
    let mut command = Command::new(run::released("tabellion"));
    Ok(command.args(["model", "status"]).output()?.status.success())
}

fn search(texts: &mut Texts) -> Value {
    json!({ "query": texts.words(3) })
}

fn creation(texts: &mut Texts) -> Value {
    json!({ "content": note(texts), "note_type": "permanent" })
}

fn measure(library: &Path, size: usize, calls: usize) -> Outcome<Table> {
    let mut table = Table::new(format!("{size} notes"));
    let mut texts = Texts::from_seed(1);
    fill(library, size, &mut texts)?;
    let mut server = serve("brainforge", library)?;
    let (first, found) = server.ask("semantic_search", &search(&mut texts))?;
    table.note(
        "the first search, which indexes all of them by words",
        format!("{:.1} s (aim ≤ 10 s at 10,000)", first.as_secs_f64()),
    );
    let mut ranking = ranking_of(&found);
    if is_model_installed()? {
        let since = Instant::now();
        while ranking != HYBRID {
            thread::sleep(VECTORS_INTERVAL);
            ranking = ranking_of(&server.ask("semantic_search", &search(&mut texts))?.1);
        }
        let elapsed = since.elapsed().as_secs_f64();
        table.note("until meaning counts", format!("{elapsed:.0} s more"));
    }
    table.note("ranking", ranking);
    server.close()?;
    let mut server = serve("brainforge", library)?;
    let (again, _) = server.ask("semantic_search", &search(&mut texts))?;
    table.note("the first search after a restart", format!("{:.0} ms", again.as_secs_f64() * 1e3));
    table.note("memory after that", format!("{:.1} MB", server.megabytes()?));

    let mut found = Row::alone("search, 3 words (aim ≤ 50, 100, 300 ms p95 at 1,000, 10,000, 100,000)");
    for number in 1..=calls * 2 {
        if number % SEARCHES_OF_A_SERVER == 0 {
            server.close()?;
            server = serve("brainforge", library)?;
            server.ask("semantic_search", &search(&mut texts))?;
        }
        found.ours(server.ask("semantic_search", &search(&mut texts))?.0);
    }
    server.close()?;
    let peer = "an edit by `braindrive-markdown`, as durable";
    let mut create = Row::new("create, durable", peer, "≤ 2×");
    let mut update = Row::new("update, durable", peer, "≤ 2×");
    let mut fresh = Row::alone("search right after a change");
    for round in 0..calls.div_ceil(OF_A_SERVER) {
        let mut ours = serve("brainforge", library)?;
        let mut edits = serve("braindrive-markdown", library)?;
        // Data that a new server reads once does not count in a change.
        ours.ask("semantic_search", &search(&mut texts))?;
        for number in 0..OF_A_SERVER {
            let (time, answer) = ours.ask("create_note", &creation(&mut texts))?;
            create.ours(time);
            fresh.ours(ours.ask("semantic_search", &search(&mut texts))?.0);
            let id = &answer["structuredContent"]["note_id"];
            let change = json!({ "note_id": id, "version": 1, "content": note(&mut texts), "change_reason": "a bench" });
            update.ours(ours.ask("update_note", &change)?.0);
            let edited = (round * OF_A_SERVER + number) * 7919 % size;
            let path = format!("area-{}/note-{edited}.md", edited / IN_FOLDER);
            let line = texts.words(LENGTH);
            let edit =
                json!({ "path": path, "operation": { "type": "append", "content": format!("\n{line}\n") } });
            let (time, _) = edits.ask("edit_markdown", &edit)?;
            create.peer(time);
            update.peer(time);
        }
        ours.close()?;
        edits.close()?;
    }
    for row in [found, fresh, create, update] {
        table.add(row);
    }
    println!("{table}");
    Ok(table)
}

/// A caller's measurements: times, and the last acknowledged version of each note.
#[derive(Default)]
struct Seen {
    changes: Vec<Duration>,
    searches: Vec<Duration>,
    waits: usize,
    notes: BTreeMap<String, (u64, String)>,
}

/// Many callers over HTTP, each with a key. All acknowledged changes must be there.
fn together(library: &Path, long: Duration) -> Outcome<Table> {
    fill(library, SHARED, &mut Texts::from_seed(2))?;
    let keys = tempfile::tempdir()?;
    let file = keys.path().join("keys.json");
    let secrets = (0..CALLERS).map(|number| key(&file, number));
    let secrets = secrets.collect::<Outcome<Vec<_>>>()?;
    let file = file.to_string_lossy().into_owned();
    let options = ["--contract", "brainforge", "--keys", &*file];
    let server = Served::start(&run::released("tabellion"), library, &options)?;
    let until = Instant::now() + long;
    let url = &server.url;
    let before = server.memory()?;
    let all: Vec<Result<(Face, Seen), String>> = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, secret) in secrets.iter().enumerate() {
            threads.push(scope.spawn(move || {
                let caller = Caller::new(url, secret, number);
                let seen = caller.work(until).map_err(|error| error.to_string())?;
                Ok((caller.face, seen))
            }));
        }
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join();
        threads
            .into_iter()
            .map(|thread| join(thread).unwrap_or_else(|_| Err("a caller failed".into())))
            .collect()
    });
    let after = server.memory()?;
    let name = format!("{CALLERS} callers over HTTP, half of them over REST, {} s", long.as_secs());
    let mut table = Table::new(name);
    let (mut acknowledged, mut waits, mut notes) = (0_usize, 0, BTreeMap::new());
    let mut rows = Face::ALL.map(|face| {
        let (changed, found) = face.rows();
        (face, Row::alone(changed), Row::alone(found))
    });
    for seen in all {
        let (face, seen) = seen?;
        acknowledged += seen.changes.len();
        waits += seen.waits;
        let of_face = rows.iter_mut().find(|(other, ..)| *other == face);
        let (_, changed, found) = of_face.ok_or("a caller has no face")?;
        seen.changes.iter().for_each(|time| changed.ours(*time));
        seen.searches.iter().for_each(|time| found.ours(*time));
        notes.extend(seen.notes);
    }
    let lost = lost(library, &notes)?;
    if !lost.is_empty() {
        return Err(format!("acknowledged, but not there: {}", lost.join(", ")).into());
    }
    fsck(library)?;
    let clean = git(library, &["status", "--porcelain"])?;
    if !clean.is_empty() {
        return Err(format!("left uncommitted: {clean}").into());
    }
    let audit = Command::new(run::released("tabellion"))
        .args(["audit", "--check", "--library"])
        .arg(library)
        .output()?;
    let said = String::from_utf8_lossy(&audit.stdout).trim().to_owned();
    if !audit.status.success() {
        return Err(said.into());
    }
    for (_, changed, found) in rows {
        table.add(changed);
        table.add(found);
    }
    table.note("audit", said);
    table.note("memory of the server before and after", format!("{before:.0} and {after:.0} MB"));
    table.note("changes that were acknowledged, and are there", acknowledged.to_string());
    table.note("refused by the rate limit, and repeated", waits.to_string());
    println!("{table}");
    Ok(table)
}

/// Creates a key that may write.
fn key(file: &Path, number: usize) -> Outcome<String> {
    let mut command = Command::new(run::released("tabellion"));
    command.args(["key", "create", "--scope", "write", "--keys"]).arg(file);
    let output = command.args(["--name", &format!("caller {number}")]).output()?;
    let secret = String::from_utf8(output.stdout)?;
    if output.status.success() {
        Ok(secret.trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into())
    }
}

/// Returns the notes whose file lacks the version and the word that were acknowledged last.
fn lost(library: &Path, notes: &BTreeMap<String, (u64, String)>) -> Outcome<Vec<String>> {
    let mut there = BTreeMap::new();
    for file in fs::read_dir(library.join("notes"))? {
        let text = fs::read_to_string(file?.path())?;
        let said = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_default().trim_matches([' ', '"']).to_owned()
        };
        there.insert(said("id:"), (said("version:"), text));
    }
    let is_lost = |(id, (version, word)): &(&String, &(u64, String))| {
        let found = there.get(*id);
        !found.is_some_and(|(number, text)| *number == version.to_string() && text.contains(word))
    };
    Ok(notes.iter().filter(is_lost).map(|(id, _)| id.clone()).collect())
}

/// The protocol of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    Mcp,
    Rest,
}

impl Face {
    const ALL: [Self; 2] = [Self::Mcp, Self::Rest];

    /// Returns the names of its rows: changes, and searches.
    const fn rows(self) -> (&'static str, &'static str) {
        match self {
            Self::Mcp => ("create or update, durable, over MCP", "search, over MCP"),
            Self::Rest => ("create or update, durable, over REST", "search, over REST"),
        }
    }
}

/// A caller over HTTP.
struct Caller<'a> {
    face: Face,
    agent: Agent,
    url: &'a str,
    secret: &'a str,
    number: usize,
}

impl<'a> Caller<'a> {
    fn new(url: &'a str, secret: &'a str, number: usize) -> Self {
        Self { face: Face::ALL[number % 2], agent: call::client(None), url, secret, number }
    }

    /// Creates notes, changes its own and searches in turn, as often as the limits permit.
    fn work(&self, until: Instant) -> Outcome<Seen> {
        let (mut seen, mut made) = (Seen::default(), 0_usize);
        let mut texts = Texts::from_seed(self.number as u64 + 3);
        while Instant::now() < until {
            made += 1;
            let word = format!("caller{}word{made}", self.number);
            let own = seen.notes.iter().nth(made % 7).map(|(id, (version, _))| (id.clone(), *version));
            let (tool, arguments) = match (made % 3, own) {
                (0, _) => ("semantic_search", search(&mut texts)),
                (1, Some((id, version))) => {
                    let content = format!("{}\n{word}\n", note(&mut texts));
                    let change = json!({ "note_id": id, "version": version, "content": content, "change_reason": "a bench" });
                    ("update_note", change)
                }
                _ => {
                    let content = format!("{}\n{word}\n", note(&mut texts));
                    ("create_note", json!({ "content": content, "note_type": "permanent" }))
                }
            };
            let since = Instant::now();
            let result = self.call(tool, &arguments)?;
            let elapsed = since.elapsed();
            let retry = result["_meta"]["tabellion/error"]["data"]["retry_after_seconds"].as_u64();
            let retry = retry.or(result["error"]["details"]["retry_after_seconds"].as_u64());
            if let Some(seconds) = retry {
                seen.waits += 1;
                thread::sleep(Duration::from_secs(seconds.max(1)));
                continue;
            }
            let answer = match self.face {
                Face::Mcp => &result["structuredContent"],
                Face::Rest => &result["result"],
            };
            let version = answer["version"].as_u64().or(answer["new_version"].as_u64());
            match (answer["note_id"].as_str(), version) {
                (Some(id), Some(version)) => {
                    seen.changes.push(elapsed);
                    seen.notes.insert(id.to_owned(), (version, word));
                }
                _ if result["isError"] != true && answer["results"].is_array() => seen.searches.push(elapsed),
                _ => return Err(format!("`{tool}` was answered with {result}").into()),
            }
        }
        Ok(seen)
    }

    fn call(&self, tool: &str, arguments: &Value) -> Outcome<Value> {
        match self.face {
            Face::Mcp => self.call_over_mcp(tool, arguments),
            Face::Rest => {
                let key = format!("Bearer {}", self.secret);
                let request = self
                    .agent
                    .post(format!("{}/tools/{tool}/execute", self.url))
                    .header("Authorization", &key)
                    .header("Content-Type", "application/json");
                let text = request.send(arguments.to_string())?.body_mut().read_to_string()?;
                let mut answer: Value = serde_json::from_str(&text)?;
                // A call that takes long is answered before it has ended.
                while answer["status"] == "pending" || answer["status"] == "running" {
                    thread::sleep(EXECUTION_INTERVAL);
                    let id = answer["execution_id"].as_str().unwrap_or_default();
                    let request = self.agent.get(format!("{}/executions/{id}", self.url));
                    let text = request.header("Authorization", &key).call()?.body_mut().read_to_string()?;
                    answer = serde_json::from_str(&text)?;
                }
                Ok(answer)
            }
        }
    }

    fn call_over_mcp(&self, tool: &str, arguments: &Value) -> Outcome<Value> {
        let key = format!("Bearer {}", self.secret);
        let response = call::send(&self.agent, self.url, &[("Authorization", &key)], tool, arguments)?;
        let mut answer = call::answer(response)?;
        if answer["result"].is_null() {
            return Err(answer.to_string().into());
        }
        Ok(answer["result"].take())
    }
}
