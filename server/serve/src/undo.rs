//! Undoing: reverts an entry's change, in a new commit. The decision on a document that could not be merged
//! works alike: it reverts the existence of two versions.
//!
//! Both are tools that no client sees: the runtime dispatches them like every other, so that each is one transaction, one commit and one
//! entry.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tabellion_library::{DocumentChange, EntryChange, Library, LogEntry};
use tabellion_markdown::{MergeConflict, diff, merge, with_endings_of};
use tabellion_runtime::{
    Annotations, Answer, BoxFuture, CallContext, Change, Content, Contract, ContractError, ContractSpec,
    Edit, ErrorAnswer, Failure, FailureKind, Rejection, Schema, Snapshot, Staged, ToolSpec, WriteCx,
    calls::{CallStore, NewExecution, RecordedCall},
    dispatch,
};

static INPUT: Schema = Schema::plain(
    r#"{ "type": "object", "properties": { "entry": { "type": "string" } }, "required": ["entry"] }"#,
);
static OUTPUT: Schema = Schema::plain(
    r#"{ "type": "object", "properties": { "commit": { "type": "string" } }, "required": ["commit"] }"#,
);

/// The name of the only error.
const REFUSED: &str = "REFUSED";

static UNDO: ToolSpec = tool("tabellion undo", "Takes the change of a log entry back.");
static KEEP: ToolSpec = tool("tabellion conflicts keep", "Decides which version of a document stays.");

const fn tool(name: &'static str, description: &'static str) -> ToolSpec {
    ToolSpec {
        name,
        description,
        annotations: Annotations {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
        },
        mutating: true,
        commit: Some("/commit"),
        errors: &[REFUSED],
        ..ToolSpec::new(&INPUT, &OUTPUT)
    }
}

/// A change to revert.
pub struct Undo {
    tool: &'static ToolSpec,
    /// The operation in the log.
    operation: &'static str,
    /// The log entry's id; for a decision, the path of the kept version.
    entry: String,
    summary: String,
    documents: Vec<DocumentChange>,
    /// Digest of the changes that were shown; if the changes differ from them, none is made.
    shown: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Request {
    entry: String,
}

#[derive(Debug, Serialize)]
struct Response {
    commit: String,
}

/// A failure of the runtime or the library, or the refusal to undo.
struct UndoError(Failure);

impl From<Failure> for UndoError {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl ContractError for UndoError {
    fn answer(self) -> ErrorAnswer {
        ErrorAnswer { name: REFUSED, code: 0, message: self.0.message, data: self.0.data }
    }
}

/// Records each undo as an execution of a contract.
#[derive(Clone)]
pub struct Recorder {
    calls: Arc<dyn CallStore>,
    contract: &'static ContractSpec,
}

impl Recorder {
    /// Records in `calls`, as executions of the first of these contracts that has executions; `None` if none has.
    pub fn new(contracts: &[&'static ContractSpec], calls: Option<Arc<dyn CallStore>>) -> Option<Self> {
        let contract = contracts.iter().find(|contract| contract.executions.is_some())?;
        calls.map(|calls| Self { calls, contract })
    }
}

/// An undo as the only tool of a contract.
struct OneTool<'a> {
    undo: &'a Undo,
    library: &'a Arc<Library>,
    contract: &'static ContractSpec,
}

impl Contract for OneTool<'_> {
    fn spec(&self) -> &'static ContractSpec {
        self.contract
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        _: &'a str,
        _: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        Box::pin(self.undo.dispatched(self.library, call))
    }

    fn error_for(&self, failure: Failure) -> ErrorAnswer {
        UndoError(failure).answer()
    }
}

impl Undo {
    /// Reverts `change`, that of `entry`.
    ///
    /// # Errors
    /// If it includes documents outside of the library, or more than the entry says.
    pub fn from_entry(entry: &LogEntry, change: EntryChange) -> Result<Self, Failure> {
        let short = entry.commit.get(..10).unwrap_or(&entry.commit);
        if change.outside > 0 {
            let message = format!(
                "`{short}` also changed documents outside of this folder: undo it in the folder of the library that it was made in"
            );
            return Err(Failure::new(FailureKind::Invalid, message));
        }
        if change.rewritten && !agrees(&entry.summary, &change.documents) {
            let message = format!(
                "`{short}` was amended, and changes more than its entry says ({}): `git show {short}` shows it, `git revert {short}` undoes \
                 all of it",
                entry.summary
            );
            return Err(Failure::new(FailureKind::Invalid, message));
        }
        Ok(Self {
            tool: &UNDO,
            operation: "revert",
            entry: entry.commit.clone(),
            summary: format!("revert {short}: {}", entry.summary),
            documents: change.documents,
            shown: None,
        })
    }

    /// Keeps the version in the file `kept` of the document at `path`, which has the bytes `now`, and removes the files `others` with the
    /// other versions.
    pub fn keeping(
        kept: (&str, Option<Vec<u8>>),
        (path, now): (&str, Option<Vec<u8>>),
        others: Vec<(String, Option<Vec<u8>>)>,
    ) -> Self {
        let change = |path: &str, before, after| DocumentChange { path: path.to_owned(), before, after };
        let (kept, version) = kept;
        let document = (kept != path).then(|| change(path, version, now));
        let others = others.into_iter().map(|(other, bytes)| change(&other, None, bytes));
        Self {
            tool: &KEEP,
            operation: "keep",
            entry: kept.to_owned(),
            summary: format!("keep {kept}"),
            documents: document.into_iter().chain(others).collect(),
            shown: None,
        }
    }

    /// Permits only the changes that [`Undo::changes`] returned when its [`digest`] was this.
    pub fn only_as_shown(self, digest: &str) -> Self {
        Self { shown: Some(digest.to_owned()), ..self }
    }

    /// Makes the change, and records its execution; returns its commit.
    ///
    /// # Errors
    /// Those of [`Undo::changes`], with the conflicts as [`CONFLICTS`]; and if the library can't be changed.
    pub async fn run(
        &self,
        library: &Arc<Library>,
        recorder: Option<&Recorder>,
        call: &CallContext,
    ) -> Result<String, Failure> {
        let answer = match recorder {
            None => self.dispatched(library, call).await,
            Some(recorder) => self.recorded(library, recorder, call).await,
        };
        match answer {
            Ok(answer) => Ok(answer.response["commit"].as_str().unwrap_or_default().to_owned()),
            Err(Rejection::Declared(ErrorAnswer { message, data, .. })) => {
                Err(Failure { data, ..Failure::new(FailureKind::Conflict, message) })
            }
            Err(other) => {
                let message = format!("a defect of this program: {other:?}");
                Err(Failure::new(FailureKind::Io, message))
            }
        }
    }

    fn request(&self) -> Value {
        json!({ "entry": self.entry })
    }

    async fn dispatched(&self, library: &Arc<Library>, call: &CallContext) -> Result<Answer, Rejection> {
        dispatch::mutate(
            self.tool,
            self,
            &**library,
            call,
            self.request(),
            |undo: &Self, cx: &WriteCx<'_>, _: Request| Box::pin(async move { undo.stage(cx) }),
        )
        .await
    }

    async fn recorded(
        &self,
        library: &Arc<Library>,
        recorder: &Recorder,
        call: &CallContext,
    ) -> Result<Answer, Rejection> {
        let Recorder { calls, contract } = recorder;
        let tool = OneTool { undo: self, library, contract };
        let request = self.request();
        let new = NewExecution::new(contract, self.tool, call, &request);
        let (recorded, call) = RecordedCall::begin(calls, &tool, &new, call).await?;
        let outcome = self.dispatched(library, &call).await;
        recorded.end(&tool, &call, outcome).await
    }

    fn stage(&self, cx: &WriteCx<'_>) -> Result<Staged<Response>, UndoError> {
        let read = |path: &str| Ok(cx.read(path)?.map(|document| document.bytes));
        let edits = self.edits(read)?;
        if let Some(shown) = &self.shown
            && digest(&changes(&edits, read)?) != *shown
        {
            let message = "the documents have changed since the preview, so nothing was undone: look at what it would change now";
            return Err(Failure::new(FailureKind::Conflict, message).with(MOVED, true).into());
        }
        let change = Change::new(edits, self.operation, self.summary.clone());
        let change = change.map_err(|error| Failure::new(FailureKind::Invalid, error.to_string()))?;
        Ok(cx.stage(change, |receipt| Response { commit: receipt.commit().to_string() }))
    }

    /// Returns the documents that undoing would change now.
    ///
    /// # Errors
    /// If a later change is in the way, with all conflicts, or if there is no change to revert.
    pub fn changes(&self, library: &Library) -> Result<Vec<DocumentChange>, Failure> {
        let read = |path: &str| Ok(Snapshot::read(library, path)?.map(|document| document.bytes));
        let edits = self.edits(read)?;
        changes(&edits, read)
    }

    /// Returns the edits that revert the change.
    ///
    /// # Errors
    /// If a later change is in the way, with all conflicts, or if there is no change to revert.
    fn edits(&self, read: impl Fn(&str) -> Result<Option<Vec<u8>>, Failure>) -> Result<Vec<Edit>, Failure> {
        let (mut edits, mut conflicts) = (Vec::new(), Vec::new());
        for document in &self.documents {
            match taken_back(document, read(&document.path)?.as_deref()) {
                Ok(None) => {}
                Ok(Some(content)) => edits.push(Edit { path: document.path.clone(), content }),
                Err(shown) => conflicts.push(Value::String(shown)),
            }
        }
        if !conflicts.is_empty() {
            let message = "a later change is in the way, so nothing was changed";
            return Err(Failure::new(FailureKind::Conflict, message).with(CONFLICTS, conflicts));
        }
        if edits.is_empty() {
            let message = if self.tool.name == KEEP.name {
                "a different decision was faster: no other version is left to decide on"
            } else {
                "there is nothing to undo: the documents are as they were before this entry"
            };
            return Err(Failure::new(FailureKind::Conflict, message));
        }
        Ok(edits)
    }
}

/// Key of a refusal's details: the conflicts, for people.
pub const CONFLICTS: &str = "conflicts";
/// Key of a refusal's details: set if the documents changed since the preview.
pub const MOVED: &str = "moved";

/// Returns the documents that edits change, before and after.
fn changes(
    edits: &[Edit],
    read: impl Fn(&str) -> Result<Option<Vec<u8>>, Failure>,
) -> Result<Vec<DocumentChange>, Failure> {
    let change = |edit: &Edit| {
        Ok(DocumentChange {
            before: read(&edit.path)?,
            after: edit.content.bytes().map(<[u8]>::to_vec),
            path: edit.path.clone(),
        })
    };
    edits.iter().map(change).collect()
}

/// Returns the digest that identifies the shown changes.
pub fn digest(changes: &[DocumentChange]) -> String {
    let sides = changes.iter().map(|change| (&change.path, &change.before, &change.after));
    let mut digest = Sha256::new();
    for (path, before, after) in sides {
        for part in [Some(path.as_bytes()), before.as_deref(), after.as_deref()] {
            digest.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
            digest.update(part.unwrap_or_default());
        }
    }
    data_encoding::HEXLOWER.encode(&digest.finalize())
}

/// Returns true if the documents changed by as many lines as a summary such as `append: +1 -0 lines` says, or if it says nothing of it.
fn agrees(summary: &str, documents: &[DocumentChange]) -> bool {
    let counts =
        summary.split_once(": +").and_then(|(_, rest)| rest.split_once(" lines")?.0.split_once(" -"));
    let Some((Ok(added), Ok(removed))) = counts.map(|(added, removed)| (added.parse(), removed.parse()))
    else {
        return true;
    };
    let text =
        |side: &Option<Vec<u8>>| String::from_utf8_lossy(side.as_deref().unwrap_or_default()).into_owned();
    let each = documents.iter().map(|change| diff::line_counts(&text(&change.before), &text(&change.after)));
    each.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1)) == (added, removed)
}

/// Returns the new content of a document that is `now` when `change` is reverted; `None` if it stays as it is.
///
/// # Errors
/// The conflict, for people.
fn taken_back(change: &DocumentChange, now: Option<&[u8]>) -> Result<Option<Content>, String> {
    let path = &change.path;
    let as_now = |side: &Option<Vec<u8>>| {
        let side = side.as_deref()?;
        Some(with_endings_of(now.unwrap_or(side), side).into_owned())
    };
    let (before, after) = (as_now(&change.before), as_now(&change.after));
    let (before, after) = (before.as_deref(), after.as_deref());
    if now == before {
        return Ok(None);
    }
    if now == after {
        return Ok(Some(before.map_or(Content::Delete, |bytes| Content::Write(bytes.to_vec()))));
    }
    let since = |earlier: &[u8], now: &[u8]| {
        diff::unified(path, &String::from_utf8_lossy(earlier), &String::from_utf8_lossy(now))
    };
    match (before, after, now) {
        (Some(before), Some(after), Some(now)) => match merge(after, now, before) {
            Ok(merged) if merged == now => Ok(None),
            Ok(merged) => Ok(Some(Content::Write(merged))),
            Err(MergeConflict(shown)) => Err(format!(
                "`{path}` was changed in the same place:\n{}",
                conflicts(&String::from_utf8_lossy(&shown))
            )),
        },
        (None, Some(after), Some(now)) => {
            Err(format!("`{path}` was created by this entry and has changed since:\n{}", since(after, now)))
        }
        (Some(before), None, Some(now)) => Err(format!(
            "`{path}` was deleted by this entry, and there is a new one, which differs from the deleted one:\n{}",
            since(before, now)
        )),
        (_, _, _) => Err(format!("`{path}` does not exist any more\n")),
    }
}

/// Returns the conflicts in a merged text, without the rest of it.
fn conflicts(merged: &str) -> String {
    let (mut shown, mut inside) = (String::new(), false);
    for line in merged.lines() {
        match line {
            "<<<<<<< ours" => {
                inside = true;
                shown += "<<<<<<< as it is now\n";
            }
            ">>>>>>> theirs" if inside => {
                inside = false;
                shown += ">>>>>>> before the entry\n";
            }
            line if inside => shown += &format!("{line}\n"),
            _ => {}
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_taken_back_unless_a_later_one_is_in_the_way() {
        let (old, new) = ("a\nb\nc\nd\n", "a\nB\nc\nd\n");
        // Before, after, now, and the result: the text, `-` for deletion, `=` for no change, `!` and a part of the conflict.
        for (before, after, now, expected) in [
            (Some(old), Some(new), Some(new), old),
            (Some(old), Some(new), Some(old), "="),
            (Some(old), Some(new), Some("a\nB\nc\nd\ne\n"), "a\nb\nc\nd\ne\n"),
            (Some(old), Some(new), Some("a\nX\nc\nd\n"), "!\nX\n=======\nb\n"),
            (Some(old), Some(new), Some("a\r\nB\r\nc\r\nd\r\n"), "a\r\nb\r\nc\r\nd\r\n"),
            (Some(old), Some(new), None, "!does not exist"),
            (None, Some(new), Some(new), "-"),
            (None, Some(new), None, "="),
            (None, Some(new), Some(old), "!was created by this entry and has changed"),
            (Some(old), None, None, old),
            (Some(old), None, Some(old), "="),
            (Some(old), None, Some(new), "!was deleted by this entry"),
        ] {
            let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
            let change = DocumentChange { path: "x.md".into(), before: bytes(before), after: bytes(after) };
            let found = match taken_back(&change, bytes(now).as_deref()) {
                Ok(None) => "=".into(),
                Ok(Some(Content::Delete)) => "-".into(),
                Ok(Some(Content::Write(bytes))) => String::from_utf8(bytes).unwrap(),
                Err(conflict) => format!("!{conflict}"),
            };
            match expected.strip_prefix('!') {
                Some(part) => assert!(found.starts_with('!') && found.contains(part), "{now:?}: {found}"),
                None => assert_eq!(found, expected, "{now:?}"),
            }
        }
    }
}
