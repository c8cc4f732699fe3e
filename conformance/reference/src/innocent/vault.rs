//! The vault's tools, over plain files.

use std::{
    fs::{self, File, Permissions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};
use tabellion_runtime::{Failure, FailureKind};

use super::{Innocent, is};
use crate::{
    failed,
    folder::{ExchangeResult, Folder},
    path,
};

/// Length of the first page of a note, in characters.
const PAGE: usize = 20_000;
/// Time from an answer to the commit of its note.
const LATER: Duration = Duration::from_millis(150);
/// Number of lost races after which a change is refused.
const MAX_RACES: usize = 100;

/// Returns the new text of a note from the old one; either is `None` if there is no note.
type Plan<'a> = dyn Fn(Option<&str>) -> Result<Option<String>, Failure> + 'a;

/// A folder of notes.
pub(super) struct Vault {
    folder: Folder,
    /// Folder of prepared files and of the lock.
    own: PathBuf,
    /// The thread that makes the last commit, after the ones before it.
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl Vault {
    pub(super) fn open(root: &Path) -> Result<Self, Failure> {
        let own = root.join(".git/vault");
        fs::create_dir_all(&own).map_err(failed("make the vault's folder"))?;
        let vault = Self { folder: Folder::open(root)?, own, committer: Mutex::default() };
        vault.note_state("started")?;
        Ok(vault)
    }

    /// Appends to the journal in the library, if this server has one.
    pub(super) fn note_state(&self, what: &str) -> Result<(), Failure> {
        if !is(Innocent::KeepsState) {
            return Ok(());
        }
        let folder = self.folder.path.join(".vault");
        fs::create_dir_all(&folder).map_err(failed("make the journal's folder"))?;
        let journal = File::options().create(true).append(true).open(folder.join("journal"));
        let written = journal.and_then(|mut journal| writeln!(journal, "{what}"));
        written.map_err(failed("write the journal"))
    }

    /// Returns the vault's tools, in the form of `tools/list`.
    pub(super) fn tools() -> Value {
        let text = || json!({ "type": "string" });
        let tool = |name: &str, arguments: &[&str], optional: &[&str]| {
            let all = arguments.iter().chain(optional);
            let properties: serde_json::Map<_, _> = all.map(|name| ((*name).to_owned(), text())).collect();
            let schema = json!({ "type": "object", "properties": properties, "required": arguments });
            json!({ "name": name, "inputSchema": schema })
        };
        let (required, optional): (&[&str], &[&str]) =
            if is(Innocent::HasDefaults) { (&["path"], &["content"]) } else { (&["path", "content"], &[]) };
        let mut tools = json!([
            tool("read_note", &["path"], &[]),
            tool("create_note", required, optional),
            tool("append_note", &["path", "content"], &[]),
            tool("edit_note", &["path", "old", "new"], &[]),
            tool("delete_note", &["path"], &[]),
        ]);
        if is(Innocent::ReadsLines) {
            for bound in ["start_line", "end_line"] {
                tools[0]["inputSchema"]["properties"][bound] = json!({ "type": "integer" });
            }
        }
        if is(Innocent::DryRuns) {
            tools[1]["inputSchema"]["properties"]["dry_run"] = json!({ "type": "boolean" });
        }
        let mut more = Vec::new();
        if is(Innocent::SaysWhich) {
            let notes = json!({ "type": "array", "items": tools[1]["inputSchema"] });
            let schema = json!({ "type": "object", "properties": { "notes": notes }, "required": ["notes"] });
            more.push(json!({ "name": "create_notes", "inputSchema": schema }));
        }
        if is(Innocent::MovesNotes) {
            more.push(tool("move_note", &["from", "to"], &[]));
        }
        tools.as_array_mut().into_iter().for_each(|tools| tools.append(&mut more));
        tools
    }

    /// Calls a tool; `None` if there is no such tool.
    pub(super) fn call(&self, tool: &str, arguments: &Value) -> Option<Result<Value, Failure>> {
        let text = |name: &str| match &arguments[name] {
            Value::String(text) => Ok(text.as_str()),
            Value::Null if name == "content" && tool == "create_note" && is(Innocent::HasDefaults) => Ok(""),
            _ => Err(Failure::new(FailureKind::Invalid, format!("`{name}` must be a string"))),
        };
        let path = || text("path").and_then(resolve);
        let done = |made: Result<(), Failure>| made.map(|()| json!({ "success": true }));
        Some(match tool {
            "read_note" => path().and_then(|path| lines(self.read(&path)?, arguments)),
            "create_notes" if is(Innocent::SaysWhich) => {
                let notes = arguments["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
                let make = |note| self.call("create_note", note);
                let made = notes.iter().map(|note| {
                    let made = matches!(make(note), Some(Ok(_)));
                    json!({ "path": note["path"], "success": made })
                });
                Ok(json!({ "notes": made.collect::<Vec<_>>() }))
            }
            "move_note" if is(Innocent::MovesNotes) => {
                let end = |name: &str| Ok(self.folder.path.join(resolve(text(name)?)?));
                done(
                    end("from")
                        .and_then(|from| fs::rename(from, end("to")?).map_err(failed("move the note"))),
                )
            }
            "create_note" => done(path().and_then(|path| {
                let content = text("content")?;
                if is(Innocent::DryRuns) && arguments["dry_run"] == true {
                    return Ok(());
                }
                self.change(&path, &|old| match old {
                    Some(_) if is(Innocent::RefusesExisting) => {
                        Err(refused(format!("Note already exists: {path}")))
                    }
                    _ => Ok(Some(content.to_owned())),
                })
            })),
            "append_note" => done(path().and_then(|path| {
                let content = text("content")?;
                self.change(&path, &|old| match old {
                    None if !is(Innocent::CreatesByAppending) => Err(no_note(&path)),
                    old => Ok(Some(appended(old.unwrap_or_default(), content))),
                })
            })),
            "edit_note" => done(path().and_then(|path| {
                let (from, to) = (text("old")?, text("new")?);
                self.change(&path, &|old| {
                    let old = old.ok_or_else(|| no_note(&path))?;
                    if old.matches(from).count() != 1 {
                        return Err(refused("the text does not occur once".to_owned()));
                    }
                    Ok(Some(old.replacen(from, to, 1)))
                })
            })),
            "delete_note" => {
                done(path().and_then(|path| {
                    self.change(&path, &|old| old.map(|_| None).ok_or_else(|| no_note(&path)))
                }))
            }
            _ => return None,
        })
    }

    fn read(&self, path: &str) -> Result<Value, Failure> {
        let found = self.folder.read(path)?.ok_or_else(|| no_note(path))?;
        let text = text(found.bytes)?;
        let end = text.char_indices().nth(PAGE).filter(|_| is(Innocent::ReadsInPages));
        Ok(match end {
            Some((end, _)) => json!({ "content": text[..end], "has_more": true }),
            None => json!({ "content": text, "has_more": false }),
        })
    }

    /// Replaces a note by the result of `plan`.
    fn change(&self, path: &str, plan: &Plan<'_>) -> Result<(), Failure> {
        let lock = File::create(self.own.join("lock")).map_err(failed("open the lock"))?;
        lock.lock().map_err(failed("take the lock"))?;
        let prepared = self.own.join("prepared");
        for _ in 0..MAX_RACES {
            let before = self.folder.read(path)?;
            let old = before.as_ref().map(|found| text(found.bytes.clone())).transpose()?;
            let new = plan(old.as_deref())?;
            let _ = fs::remove_file(&prepared);
            if let Some(new) = &new {
                let mode = before.as_ref().map_or(0o644, |found| found.mode);
                let written = fs::write(&prepared, new)
                    .and_then(|()| fs::set_permissions(&prepared, Permissions::from_mode(mode)));
                written.map_err(failed("write the note"))?;
            }
            let swapped = self.folder.swap(path, &prepared, new.is_none(), before.as_ref())?;
            if matches!(swapped, ExchangeResult::Done) {
                self.note_state("changed")?;
                if is(Innocent::CommitsLater) {
                    self.commit_later(path);
                }
                return Ok(());
            }
        }
        Err(refused(format!("`{path}` is changed too often; try again later")))
    }
}

impl Vault {
    fn commit_later(&self, path: &str) {
        let (root, path) = (self.folder.path.clone(), path.to_owned());
        let mut committer = self.committer();
        let last = committer.take();
        *committer = Some(thread::spawn(move || {
            thread::sleep(LATER);
            wait_for(last);
            for command in [&["add", "--all"][..], &["commit", "--quiet", "--message=a note"]] {
                let mut git = Command::new("git");
                git.arg("-C").arg(&root).arg("--literal-pathspecs").args(command);
                // A repository that a person locks or merges gets no commit.
                let _ = git.args(["--", &path]).output();
            }
        }));
    }

    fn committer(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.committer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Vault {
    fn drop(&mut self) {
        wait_for(self.committer().take());
    }
}

fn wait_for(committer: Option<JoinHandle<()>>) {
    // A thread that has panicked is done as well.
    let _ = committer.map(JoinHandle::join);
}

/// Returns the path of the note that a caller names.
fn resolve(named: &str) -> Result<String, Failure> {
    if !is(Innocent::AddsExtension) {
        path::check(named)?;
        return Ok(named.to_owned());
    }
    let segments: Vec<_> = named.split('/').filter(|segment| !segment.is_empty()).collect();
    let is_dots = |segment: &str| segment.len() > 2 && segment.bytes().all(|byte| byte == b'.');
    let named_plainly: Vec<_> = segments.iter().map(|it| if is_dots(it) { "dots" } else { it }).collect();
    if named.starts_with('/') {
        return Err(refused(format!("`{named}` is absolute")));
    }
    path::check_folder(&named_plainly.join("/"))?;
    let path = segments.join("/");
    Ok(if path::is_markdown(&path) { path } else { path + ".md" })
}

/// Returns the lines of a note that a call requests, or all of it.
fn lines(mut note: Value, arguments: &Value) -> Result<Value, Failure> {
    let bound = |name: &str| arguments[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let (Some(start), Some(end)) = (bound("start_line"), bound("end_line")) else {
        return Ok(note);
    };
    let text = note["content"].as_str().unwrap_or_default();
    let lines = text.lines().skip(start.saturating_sub(1)).take((end + 1).saturating_sub(start));
    let lines: Vec<_> = lines.collect();
    if start == 0 || lines.is_empty() {
        return Err(refused("the note has no such lines".to_owned()));
    }
    note["content"] = lines.join("\n").into();
    Ok(note)
}

/// Returns a text with a paragraph at its end.
fn appended(old: &str, content: &str) -> String {
    let gap = if old.is_empty() || old.ends_with('\n') {
        ""
    } else if old.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    [old, gap, content].concat()
}

fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| refused("the note is not UTF-8".to_owned()))
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::Refused, message)
}

fn no_note(path: &str) -> Failure {
    Failure::new(FailureKind::NotFound, format!("there is no note `{path}`"))
}
