//! Many servers with many calls in flight, some of them killed: an acknowledged change is there once, a change of unknown
//! outcome once or not at all, and no reader ever sees half of a document.

use std::{
    collections::BTreeMap,
    fs, io,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::json;

use super::{
    Effort,
    calls::{self, Call, CallOutcome},
    client::{Client, last_change},
    described,
    dice::Dice,
    history, judge,
};
use crate::support::{Library, edit};

const SERVERS: u64 = 8;
const IN_FLIGHT: usize = 4;
/// Rounds of calls of each server in the short form.
const ROUNDS: usize = 5;
/// A server is killed in one of this many rounds.
const KILLED_IN: u64 = 4;
/// Upper bound of the time that a call may wait for its answer.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The append-only document.
const LIST: &str = "list.md";
/// The document with a section for each server.
const PARTS: &str = "parts.md";
/// Documents that are replaced under a base, and never missing.
const WHOLE: [&str; 2] = ["whole-0.md", "whole-1.md"];
/// Documents that are created and deleted.
const FLEETING: [&str; 2] = ["fleeting/0.md", "fleeting/1.md"];
const LARGEST: u64 = 16 * 1024;

#[test]
fn many_servers_lose_double_and_tear_no_change() {
    let effort = Effort::from_environment();
    let library = &library();
    let over = AtomicBool::new(false);
    let (clients, reads) = thread::scope(|scope| {
        let clients: Vec<_> = (0..SERVERS)
            .map(|name| scope.spawn(move || Member::new(library, effort, name).work(effort)))
            .collect();
        let by_file = scope.spawn(|| read_until(&over, |path| read_file(library, path)));
        let by_server = scope.spawn(|| {
            let mut server = library.serve();
            read_until(&over, |path| {
                let read = server.call("read_markdown", json!({ "path": path }));
                match read {
                    Ok(answer) => {
                        Ok(Some(answer["content"].as_str().unwrap_or_default().as_bytes().to_vec()))
                    }
                    Err(refusal) if refusal.name == "NOT_FOUND" => Ok(None),
                    Err(refusal) => Err(format!("{refusal:?}")),
                }
            })
        });
        let clients: Vec<_> = clients.into_iter().map(thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        let clients: Vec<_> = clients.into_iter().map(|client| client.expect("a client")).collect();
        let reads = [by_file, by_server].map(|reads| reads.join().expect("a reader"));
        (clients, reads)
    });
    let kills: usize = clients.iter().map(|client| client.kills).sum();
    let calls: Vec<Call> = clients.into_iter().flat_map(|client| client.calls).collect();
    println!(
        "crowds: seed {}, {} calls {:?}, {kills} kills, {:?} reads, waits {:?}",
        effort.seed,
        calls.len(),
        calls::ends(&calls),
        reads,
        calls::waits(&calls)
    );
    judge(library, &calls);
}

fn library() -> Library {
    let parts: String = (0..SERVERS).map(|name| format!("## Part {name}\n\n- none\n\n")).collect();
    let first = described::content("first", 500);
    Library::with(&[(LIST, "# List\n"), (PARTS, &parts), (WHOLE[0], &first), (WHOLE[1], &first)])
}

/// One of the concurrent clients.
struct Member<'a> {
    name: u64,
    dice: Dice,
    client: Client<'a>,
}

impl<'a> Member<'a> {
    fn new(library: &'a Library, effort: Effort, name: u64) -> Self {
        Self { name, dice: Dice::new(effort, name), client: Client::new(library) }
    }

    fn work(mut self, effort: Effort) -> Client<'a> {
        let mut rounds = effort.pick(ROUNDS, usize::MAX);
        while rounds > 0 && !effort.is_over() {
            rounds -= 1;
            let base = WHOLE.map(|path| self.client.base(path));
            self.client.post_again();
            for _ in 0..IN_FLIGHT {
                let call = self.next_call(&base);
                self.client.post(call);
            }
            if self.dice.roll(KILLED_IN) == 0 {
                let left = self.dice.roll(self.client.in_flight() as u64);
                self.client.receive(left as usize + 1);
                let moment = self.dice.time(Duration::ZERO, Duration::from_millis(40));
                self.client.kill_after(moment);
            } else {
                self.client.receive(0);
            }
        }
        self.client.close();
        self.client
    }

    fn next_call(&mut self, base: &[Option<String>]) -> Call {
        let token = format!("w{}-{}", self.name, self.client.calls.len());
        let which = self.dice.roll(2) as usize;
        let size = self.dice.roll(LARGEST) as usize;
        let whole = |path: &str| json!({ "path": path, "content": described::content(&token, size) });
        let call = match self.dice.roll(10) {
            0..4 => Call::new(&token, "edit_markdown", edit(LIST, "append", "", &format!("- {token}\n"))),
            4..6 => {
                let part = format!("## Part {}", self.name);
                let content = format!("{part}\n\n- {token}\n\n");
                Call::new(&token, "edit_markdown", edit(PARTS, "replace_section", &part, &content))
            }
            6 => Call::new(&token, "write_markdown", whole(FLEETING[which])),
            7 => {
                let request = json!({ "path": FLEETING[which], "confirm": true });
                return Call::new(&token, "delete_markdown", request).with_key();
            }
            _ => {
                let mut call = Call::new(&token, "write_markdown", whole(WHOLE[which]));
                call.meta = json!({ "tabellion/ifBase": base[which] });
                call
            }
        };
        if self.dice.roll(2) == 0 { call.with_key() } else { call }
    }
}

/// Reads every described document repeatedly; returns the number of reads.
fn read_until(over: &AtomicBool, mut read: impl FnMut(&str) -> Result<Option<Vec<u8>>, String>) -> usize {
    let mut reads = 0;
    while !over.load(Ordering::Relaxed) {
        for path in WHOLE.iter().chain(&FLEETING) {
            match read(path).unwrap_or_else(|error| panic!("{path}: {error}")) {
                Some(content) => {
                    let fault = described::fault(&content);
                    assert_eq!(fault, None, "{path} is torn");
                }
                None => assert!(FLEETING.contains(path), "{path} is missing"),
            }
            reads += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    reads
}

fn read_file(library: &Library, path: &str) -> Result<Option<Vec<u8>>, String> {
    match fs::read(library.path(path)) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn judge(library: &Library, calls: &[Call]) {
    let calls = [calls, &last_change(library, LIST)].concat();

    let commits = history::commits(library.root(), &history::HERE);
    let texts = BTreeMap::from([(LIST.to_owned(), String::from_utf8(library.get(LIST)).expect("UTF-8"))]);
    let mut faults = calls::faults_of_branch(&calls, &commits, &texts);
    for call in &calls {
        let expected = match &call.end {
            CallOutcome::Commit(_) | CallOutcome::Unknown => true,
            CallOutcome::Refused(name) => match call.tool {
                "delete_markdown" => name == "NOT_FOUND",
                _ => name == "CONFLICT" && call.meta.get("tabellion/ifBase").is_some(),
            },
        };
        if !expected || call.waited > MAX_WAIT {
            faults.push(format!("{}: {:?} after {:?}", call.token, call.end, call.waited));
        }
    }
    for commit in commits.iter().filter(|commit| commit.paths.contains(PARTS)) {
        let owner = |line: &String| match line.strip_prefix("## Part ") {
            Some(name) => Some(format!("w{name}")),
            None => line.split('-').nth(1).map(|owner| owner.trim().to_owned()),
        };
        let owners: Vec<_> = commit.added.iter().chain(&commit.removed).filter_map(owner).collect();
        let foreign = |owner: &String| *owner != owners[0] && owner != "none";
        if commit.trailer("Tabellion-Operation").is_some() && owners.iter().any(foreign) {
            faults.push(format!("{} changes parts of {owners:?}", commit.id));
        }
    }
    for path in WHOLE {
        faults.extend(described::fault(&library.get(path)));
    }
    faults.extend(judge::faults_of_library(library, &commits));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));

    let ours = commits.iter().filter(|commit| commit.trailer("Tabellion-Tool").is_some());
    assert_eq!(commits.len(), ours.count() + 1, "all but the first commit are calls'");
    assert_eq!(library.ledger().status, "");
}
