//! A memory that only grows, and files that may be read.

use std::{collections::HashMap, fs};

use serde_json::{Value, json};
use tabellion_contracts::learning_os::{CONTRACT, tool};

use super::{Answer, Break, Library, Refused, Said, Serves, is, refused};

const fn breaks(name: &'static str, does: &'static str, seen_by: &'static str) -> Break {
    Break {
        name,
        does,
        contract: CONTRACT.id,
        seen_by,
    }
}

pub(super) const BREAKS: &[Break] = &[
    breaks(
        "joins-lines",
        "an entry comes onto an open last line",
        "append/content",
    ),
    breaks("overwrites", "the file becomes the entry", "append/content"),
    breaks(
        "sorts-members",
        "members come in the order of their names",
        "append/content",
    ),
    breaks("appends-twice", "the entry comes twice", "append/content"),
    breaks(
        "unix-endings",
        "all line endings become newlines",
        "append/content",
    ),
    breaks(
        "drops-last-line",
        "an open last line makes way for the entry",
        "append/program",
    ),
    breaks(
        "no-lock",
        "the file is read, and written later",
        "append/all-arrive",
    ),
    breaks(
        "counts-characters",
        "the limit is one of characters",
        "append/entry-size",
    ),
    breaks("no-limit", "there is none", "append/entry-size"),
    breaks("cuts-entries", "what is too large is cut", "append/entry-size"),
    breaks(
        "cuts-files",
        "of a large file the beginning is told",
        "append/read-size",
    ),
    breaks("any-time", "any text is a time", "append/timestamp"),
    breaks("any-file", "any file may be named", "append/other-files"),
    breaks(
        "follows-links",
        "links are followed, to read and to write",
        "append/linked-file",
    ),
    breaks(
        "reads-through-links",
        "links are followed where files are read",
        "policy/links",
    ),
    breaks("asks-nobody", "nobody is asked", "approval/declined"),
    breaks("asks-in-vain", "what is declined is done", "approval/declined"),
    breaks("any-answer", "any answer approves", "approval/odd-answer"),
    breaks(
        "shows-the-first-line",
        "the question has the first line alone",
        "approval/shown",
    ),
    breaks(
        "shows-no-file",
        "the question does not name the file",
        "approval/shown",
    ),
    breaks(
        "approves-for-ever",
        "an approval may be used again",
        "approval/once",
    ),
    breaks(
        "approves-of-anything",
        "an approval is good for other arguments",
        "approval/once",
    ),
    breaks(
        "writes-what-was",
        "the file becomes what it was when it was asked, with the entry",
        "approval/meanwhile",
    ),
    breaks(
        "denies-small-letters",
        "denied names are compared letter by letter",
        "policy/paths",
    ),
    breaks(
        "denies-the-end",
        "only the path's last name may be denied",
        "policy/paths",
    ),
    breaks("allows-first", "what is allowed is never denied", "policy/paths"),
    breaks(
        "allows-beginnings",
        "a path that begins with an allowed one is allowed",
        "policy/paths",
    ),
    breaks(
        "replaces-bytes",
        "what is no text is told with other characters",
        "policy/no-file",
    ),
    breaks(
        "missing-is-an-error",
        "a missing file is an error",
        "policy/no-file",
    ),
    breaks("commits-nothing", "nothing is committed", "mutation/recorded"),
    breaks("commits-again", "each entry is two commits", "mutation/recorded"),
    breaks(
        "refusal-leaves-a-file",
        "a refusal leaves something in the library",
        "approval/declined",
    ),
];

/// So many bytes an entry may have, and a file.
const LIMITS: [usize; 2] = [5 << 10, 100 << 10];

pub(super) struct Memory {
    library: Library,
    /// What was shown, by the state that stands for it: the arguments, and what the file was.
    asked: HashMap<String, (Value, Vec<u8>)>,
    next: usize,
}

impl Memory {
    pub(super) fn new(library: Library) -> Self {
        let asked = HashMap::new();
        Self {
            library,
            asked,
            next: 0,
        }
    }

    fn read(&self, path: &str) -> Result<Answer, Refused> {
        if !may_be_read(path) {
            return Err((-32001, format!("`{path}` may not be read")));
        }
        let found = match is("reads-through-links") {
            true => fs::read(self.library.0.join(path)).ok(),
            false => self.library.read(path)?,
        };
        let Some(mut bytes) = found else {
            if is("missing-is-an-error") {
                return Err(refused("there is no such file"));
            }
            return Ok(Answer::Done(
                json!({ "exists": false, "error": "there is no such file" }),
            ));
        };
        if bytes.len() > LIMITS[1] {
            if !is("cuts-files") {
                return Err((-32002, "the file is too large".into()));
            }
            bytes.truncate(LIMITS[1]);
        }
        let text = match is("replaces-bytes") {
            true => String::from_utf8_lossy(&bytes).into_owned(),
            false => String::from_utf8(bytes).map_err(|_| refused("the file is no text"))?,
        };
        Ok(Answer::Done(json!({ "exists": true, "content": text })))
    }

    fn append(&mut self, arguments: &Value, said: Option<Said>) -> Result<Answer, Refused> {
        let path = format!(
            ".claude/memory/{}",
            arguments["file"].as_str().unwrap_or_default()
        );
        let mut text = match arguments.get("entry") {
            Some(entry) if is("sorts-members") => sorted(entry).to_string(),
            Some(entry) => entry.to_string(),
            None => arguments["content"].as_str().unwrap_or_default().to_owned(),
        };
        let size = if is("counts-characters") {
            text.chars().count()
        } else {
            text.len()
        };
        if size > LIMITS[0] && !is("no-limit") {
            if !is("cuts-entries") {
                return Err((-32002, "the entry is too large".into()));
            }
            text.truncate(text.floor_char_boundary(LIMITS[0]));
        }
        let asked = match said {
            _ if is("asks-nobody") => None,
            None => return self.ask(arguments, &path, &text),
            Some(said) => Some(self.approved(arguments, &said)?),
        };
        let lock = self.library.lock()?;
        if is("no-lock") {
            drop(lock);
        }
        let held = self.library.read(&path)?.unwrap_or_default();
        if is("no-lock") {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let held = asked.filter(|_| is("writes-what-was")).unwrap_or(held);
        self.library
            .write(&path, Some(&grown(held, &text)), "append to")?;
        Ok(Answer::Done(json!({ "success": true })))
    }

    fn ask(&mut self, arguments: &Value, path: &str, text: &str) -> Result<Answer, Refused> {
        self.next += 1;
        let state = format!("{}-{}-{}", std::process::id(), self.next, "s".repeat(20));
        let held = self.library.read(path)?.unwrap_or_default();
        self.asked.insert(state.clone(), (arguments.clone(), held));
        let shown = match is("shows-the-first-line") {
            true => text.lines().next().unwrap_or_default(),
            false => text,
        };
        let shown_path = if is("shows-no-file") { "the memory" } else { path };
        let message = format!("Append this to `{shown_path}`?\n\n{shown}");
        Ok(Answer::Asked { message, state })
    }

    /// What the file was when it was asked, if the person approves.
    fn approved(&mut self, arguments: &Value, said: &Said) -> Result<Vec<u8>, Refused> {
        let known = match is("approves-for-ever") {
            true => self.asked.get(&said.state).cloned(),
            false => self.asked.remove(&said.state),
        };
        let (of, held) =
            known.ok_or_else(|| refused("the state is not one that was given, or has been used"))?;
        if of != *arguments && !is("approves-of-anything") {
            return Err(refused("the approval is for other arguments"));
        }
        let approves = match said.answer.get("action").and_then(Value::as_str) {
            Some("accept") => true,
            Some("decline" | "cancel") => is("asks-in-vain"),
            _ => is("any-answer"),
        };
        if approves {
            return Ok(held);
        }
        if is("refusal-leaves-a-file") {
            fs::write(self.library.0.join("declined.txt"), "x").map_err(super::failed)?;
        }
        Err(refused("the person did not approve"))
    }
}

impl Serves for Memory {
    fn call(&mut self, name: &str, arguments: &Value, said: Option<Said>) -> Result<Answer, Refused> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
        match name {
            tool::READ_REPO_FILE => self.read(text("path")),
            tool::WRITE_MEMORY_ENTRY => self.append(arguments, said),
            _ => Ok(Answer::Done(
                json!({ "greeting": format!("Hello, {}!", text("name")) }),
            )),
        }
    }
}

/// The file's bytes with the text on lines of its own.
fn grown(mut held: Vec<u8>, text: &str) -> Vec<u8> {
    if is("overwrites") {
        held.clear();
    }
    if is("unix-endings") {
        held = String::from_utf8_lossy(&held).replace("\r\n", "\n").into_bytes();
    }
    if held.last().is_some_and(|last| *last != b'\n') {
        if is("drops-last-line") {
            let start = held
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            held.truncate(start);
        } else if !is("joins-lines") {
            held.push(b'\n');
        }
    }
    for _ in 0..if is("appends-twice") { 2 } else { 1 } {
        held.extend(text.as_bytes());
        if !text.ends_with('\n') {
            held.push(b'\n');
        }
    }
    held
}

fn sorted(entry: &Value) -> Value {
    let mut members: Vec<_> = entry
        .as_object()
        .cloned()
        .unwrap_or_default()
        .into_iter()
        .collect();
    members.sort_by(|one, other| one.0.cmp(&other.0));
    Value::Object(members.into_iter().collect())
}

/// Whether the contract lets a path be read, worked out another way than the contract's own runtime does it.
fn may_be_read(path: &str) -> bool {
    let lower = path.to_lowercase();
    let segments: Vec<_> = lower.split('/').collect();
    if segments.iter().any(|it| ["", ".", ".."].contains(it)) {
        return false;
    }
    let policy = CONTRACT.tool(tool::READ_REPO_FILE).and_then(|tool| tool.paths);
    let policy = policy.as_ref();
    let denies = |segment: &str| {
        let mut globs = policy
            .iter()
            .flat_map(|policy| policy.deny)
            .filter_map(|glob| glob.strip_prefix("**/"));
        globs.any(|glob| match (glob.strip_prefix('*'), glob.strip_suffix('*')) {
            (Some(end), _) => segment.ends_with(end),
            (_, Some(start)) => segment.starts_with(start),
            _ => segment == glob,
        })
    };
    let judged: Vec<_> = match is("denies-small-letters") {
        true => path.split('/').collect(),
        false => segments,
    };
    let judged = if is("denies-the-end") {
        &judged[judged.len() - 1..]
    } else {
        &judged[..]
    };
    if judged.iter().any(|segment| denies(segment)) && !is("allows-first") {
        return false;
    }
    policy.iter().flat_map(|policy| policy.allow).any(|glob| {
        let glob = glob.to_lowercase();
        match glob.strip_suffix("**") {
            Some(folder) if is("allows-beginnings") => lower.starts_with(folder.trim_end_matches('/')),
            Some(folder) => lower.starts_with(folder),
            None => lower == glob,
        }
    })
}
