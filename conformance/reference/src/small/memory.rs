//! Append-only memory files, and files that clients may read.

use std::{collections::HashMap, fs};

use serde_json::{Value, json};
use tabellion_contracts::learning_os::{CONTRACT, tool};

use super::{Answer, Call, ContractServer, Library, PersonAnswer, Refusal, refused};
use crate::mutant::{Mutant, is};

/// Size of the largest entry, in bytes.
const MAX_ENTRY_BYTES: usize = 5 << 10;
/// Size of the largest file that can be read, in bytes.
const MAX_FILE_BYTES: usize = 100 << 10;

pub(super) struct Memory {
    library: Library,
    /// Arguments and file content of each proposal, by its state.
    proposals: HashMap<String, (Value, Vec<u8>)>,
    next: usize,
}

impl Memory {
    pub(super) fn new(library: Library) -> Self {
        let proposals = HashMap::new();
        Self { library, proposals, next: 0 }
    }

    fn read(&self, path: &str) -> Result<Answer, Refusal> {
        if !may_be_read(path) {
            return Err((-32001, format!("reading `{path}` is not permitted")));
        }
        let found = if is(Mutant::ReadsThroughLinks) {
            fs::read(self.library.0.join(path)).ok()
        } else {
            self.library.read(path)?
        };
        let Some(mut bytes) = found else {
            if is(Mutant::MissingIsAnError) {
                return Err(refused("the file does not exist"));
            }
            return Ok(Answer::Response(json!({ "exists": false, "error": "the file does not exist" })));
        };
        if bytes.len() > MAX_FILE_BYTES {
            if !is(Mutant::CutsFiles) {
                return Err((-32002, "the file is too large".into()));
            }
            bytes.truncate(MAX_FILE_BYTES);
        }
        let text = if is(Mutant::ReplacesBytes) {
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            String::from_utf8(bytes).map_err(|_| refused("the file is not UTF-8"))?
        };
        Ok(Answer::Response(json!({ "exists": true, "content": text })))
    }

    fn append(&mut self, arguments: &Value, decision: Option<&PersonAnswer>) -> Result<Answer, Refusal> {
        let path = format!(".claude/memory/{}", arguments["file"].as_str().unwrap_or_default());
        let mut text = match arguments.get("entry") {
            Some(entry) if is(Mutant::SortsMembers) => sorted(entry).to_string(),
            Some(entry) => entry.to_string(),
            None => arguments["content"].as_str().unwrap_or_default().to_owned(),
        };
        let size = if is(Mutant::CountsCharacters) { text.chars().count() } else { text.len() };
        if size > MAX_ENTRY_BYTES && !is(Mutant::NoLimit) {
            if !is(Mutant::CutsEntries) {
                return Err((-32002, "the entry is too large".into()));
            }
            text.truncate(text.floor_char_boundary(MAX_ENTRY_BYTES));
        }
        let approved = match decision {
            _ if is(Mutant::AsksNoPerson) => None,
            None => return self.ask(arguments, &path, &text),
            Some(decision) => Some(self.approved(arguments, decision)?),
        };
        let lock = self.library.lock()?;
        if is(Mutant::NoLock) {
            drop(lock);
        }
        let held = self.library.read(&path)?.unwrap_or_default();
        if is(Mutant::NoLock) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let held = approved.filter(|_| is(Mutant::WritesWhatWas)).unwrap_or(held);
        self.library.write(&path, Some(&append_lines(held, &text)), "append to")?;
        Ok(Answer::Response(json!({ "success": true })))
    }

    fn ask(&mut self, arguments: &Value, path: &str, text: &str) -> Result<Answer, Refusal> {
        self.next += 1;
        let state = format!("{}-{}-{}", std::process::id(), self.next, "s".repeat(20));
        let held = self.library.read(path)?.unwrap_or_default();
        self.proposals.insert(state.clone(), (arguments.clone(), held));
        let shown =
            if is(Mutant::ShowsTheFirstLine) { text.lines().next().unwrap_or_default() } else { text };
        let shown_path = if is(Mutant::ShowsNoFile) { "the memory" } else { path };
        let message = format!("Append this to `{shown_path}`?\n\n{shown}");
        Ok(Answer::Question { message, state })
    }

    /// Returns the file's content at the time of the proposal, if the person approved.
    fn approved(&mut self, arguments: &Value, decision: &PersonAnswer) -> Result<Vec<u8>, Refusal> {
        let known = if is(Mutant::ApprovesForEver) {
            self.proposals.get(&decision.state).cloned()
        } else {
            self.proposals.remove(&decision.state)
        };
        let (of, held) = known.ok_or_else(|| refused("the state is unknown or was used before"))?;
        if of != *arguments && !is(Mutant::ApprovesOfAnything) {
            return Err(refused("the approval is for other arguments"));
        }
        let approves = match decision.answer.get("action").and_then(Value::as_str) {
            Some("accept") => true,
            Some("decline" | "cancel") => is(Mutant::AsksInVain),
            _ => is(Mutant::AnyAnswer),
        };
        if approves {
            return Ok(held);
        }
        if is(Mutant::RefusalLeavesAFile) {
            fs::write(self.library.0.join("declined.txt"), "x").map_err(super::failed)?;
        }
        Err(refused("the person did not approve"))
    }
}

impl ContractServer for Memory {
    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Refusal> {
        match call.operation {
            tool::READ_REPO_FILE => self.read(call.text("path")),
            tool::WRITE_MEMORY_ENTRY => self.append(call.arguments, call.decision.as_ref()),
            _ => Ok(Answer::Response(json!({ "greeting": format!("Hello, {}!", call.text("name")) }))),
        }
    }
}

/// Returns the file's bytes with the text appended on separate lines.
fn append_lines(mut held: Vec<u8>, text: &str) -> Vec<u8> {
    if is(Mutant::Overwrites) {
        held.clear();
    }
    if is(Mutant::UnixEndings) {
        held = String::from_utf8_lossy(&held).replace("\r\n", "\n").into_bytes();
    }
    if held.last().is_some_and(|last| *last != b'\n') {
        if is(Mutant::DropsLastLine) {
            let start = held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            held.truncate(start);
        } else if !is(Mutant::JoinsLines) {
            held.push(b'\n');
        }
    }
    for _ in 0..if is(Mutant::AppendsTwice) { 2 } else { 1 } {
        held.extend(text.as_bytes());
        if !text.ends_with('\n') {
            held.push(b'\n');
        }
    }
    held
}

fn sorted(entry: &Value) -> Value {
    let mut members: Vec<_> = entry.as_object().cloned().unwrap_or_default().into_iter().collect();
    members.sort_by(|one, other| one.0.cmp(&other.0));
    Value::Object(members.into_iter().collect())
}

/// Returns true if the contract permits reading a path. Written independently of the contract's runtime.
fn may_be_read(path: &str) -> bool {
    let lower = path.to_lowercase();
    let segments: Vec<_> = lower.split('/').collect();
    if segments.iter().any(|it| ["", ".", ".."].contains(it)) {
        return false;
    }
    let policy = CONTRACT.tool(tool::READ_REPO_FILE).and_then(|tool| tool.paths);
    let policy = policy.as_ref();
    let denies = |segment: &str| {
        let mut globs =
            policy.iter().flat_map(|policy| policy.deny).filter_map(|glob| glob.strip_prefix("**/"));
        globs.any(|glob| match (glob.strip_prefix('*'), glob.strip_suffix('*')) {
            (Some(end), _) => segment.ends_with(end),
            (_, Some(start)) => segment.starts_with(start),
            _ => segment == glob,
        })
    };
    let judged: Vec<_> = if is(Mutant::DeniesSmallLetters) { path.split('/').collect() } else { segments };
    let judged = if is(Mutant::DeniesTheEnd) { &judged[judged.len() - 1..] } else { &judged[..] };
    if judged.iter().any(|segment| denies(segment)) && !is(Mutant::AllowsFirst) {
        return false;
    }
    policy.iter().flat_map(|policy| policy.allow).any(|glob| {
        let glob = glob.to_lowercase();
        match glob.strip_suffix("**") {
            Some(folder) if is(Mutant::AllowsBeginnings) => lower.starts_with(folder.trim_end_matches('/')),
            Some(folder) => lower.starts_with(folder),
            None => lower == glob,
        }
    })
}
