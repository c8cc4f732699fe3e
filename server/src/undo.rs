//! `tabellion undo`: takes an entry's change back, in a new commit.
//!
//! It is a tool of its own that no client sees: the runtime dispatches it like every other, so that it is one transaction, one
//! commit and one entry.

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tabellion_library::{DocumentChange, Library};
use tabellion_markdown::{MergeConflict, diff, merge};
use tabellion_runtime::{
    Annotations, CallContext, Change, Content, ContractError, Edit, ErrorAnswer, Failure, FailureKind,
    Rejection, Schema, Staged, ToolSpec, WriteCx, dispatch,
};

use super::{
    Output, Page, TerminalError,
    log::short,
    open,
    page::{self, TITLE},
};

static INPUT: Schema = Schema::plain(
    r#"{ "type": "object", "properties": { "entry": { "type": "string" } }, "required": ["entry"] }"#,
);
static OUTPUT: Schema = Schema::plain(
    r#"{ "type": "object", "properties": { "commit": { "type": "string" } }, "required": ["commit"] }"#,
);

/// The name of the only error.
const REFUSED: &str = "REFUSED";

static TOOL: ToolSpec = ToolSpec {
    name: "tabellion undo",
    description: "Takes the change of a log entry back.",
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
};

/// Undoes the entry, or only shows what that would change.
pub(crate) fn undo(folder: &Path, id: &str, dry_run: bool, output: Output) -> Result<(), TerminalError> {
    let library = open(folder)?;
    let entry = library.find_entry(id)?;
    let change = library.change_of(&entry)?;
    if change.outside > 0 {
        return Err(TerminalError::new(format_args!(
            "`{}` also changed documents outside of this folder",
            short(&entry.commit)
        ))
        .hint("undo it in the folder of the library that it was made in"));
    }
    let undo = Undo {
        summary: format!("revert {}: {}", short(&entry.commit), entry.summary),
        documents: change.documents,
    };
    if dry_run {
        return undo.preview(&library, output);
    }
    let commit = undo.run(&library, &entry.commit)?;
    let made = library.find_entry(&commit)?;
    if output.json {
        return Ok(page::json(
            &json!({ "undone": entry.commit, "commit": commit, "paths": made.paths }),
        )?);
    }
    let mut page = Page::new(output);
    page.put(TITLE, &format!("undone in {}", short(&commit)));
    page.line(&format!(": {}", made.summary));
    for document in &library.change_of(&made)?.documents {
        page.diff(&super::log::difference(document));
    }
    Ok(page.show()?)
}

/// An entry's change that is to be taken back.
struct Undo {
    summary: String,
    documents: Vec<DocumentChange>,
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
        ErrorAnswer {
            name: REFUSED,
            code: 0,
            message: self.0.message,
            data: self.0.data,
        }
    }
}

impl Undo {
    /// Makes the change; returns its commit.
    fn run(&self, library: &Arc<Library>, entry: &str) -> Result<String, TerminalError> {
        let call = CallContext {
            client: Some(concat!("tabellion/", env!("CARGO_PKG_VERSION")).into()),
            identity: Some(crate::serve::local_caller(None).identity()),
            ..CallContext::default()
        };
        let runtime = crate::serve::runtime()?;
        let answer = runtime.block_on(dispatch::mutate(
            &TOOL,
            self,
            &**library,
            &call,
            json!({ "entry": entry }),
            |undo: &Undo, cx: &WriteCx<'_>, _: Request| Box::pin(async move { undo.stage(cx) }),
        ));
        match answer {
            Ok(answer) => Ok(answer.response["commit"].as_str().unwrap_or_default().to_owned()),
            Err(Rejection::Declared(error)) => Err(refusal(&error.message, &error.data)),
            Err(other) => Err(TerminalError::new(format_args!(
                "a defect of this program: {other:?}"
            ))),
        }
    }

    fn stage(&self, cx: &WriteCx<'_>) -> Result<Staged<Response>, UndoError> {
        let edits = self.edits(|path| Ok(cx.read(path)?.map(|document| document.bytes)))?;
        let change = Change::new(edits, "revert", self.summary.clone());
        let change = change.map_err(|error| Failure::new(FailureKind::Invalid, error.to_string()))?;
        Ok(cx.stage(change, |receipt| Response {
            commit: receipt.commit().to_string(),
        }))
    }

    /// Shows what undoing would change now.
    fn preview(&self, library: &Library, output: Output) -> Result<(), TerminalError> {
        let read =
            |path: &str| Ok(tabellion_runtime::Snapshot::read(library, path)?.map(|document| document.bytes));
        let edits = self
            .edits(read)
            .map_err(|failure| refusal(&failure.message, &failure.data))?;
        let mut page = Page::new(output);
        for Edit { path, content } in &edits {
            let change = DocumentChange {
                before: read(path)?,
                after: content.bytes().map(<[u8]>::to_vec),
                path: path.clone(),
            };
            if output.json {
                page::json(&super::log::change_as_json(&change))?;
            } else {
                page.diff(&super::log::difference(&change));
            }
        }
        Ok(page.show()?)
    }

    /// Returns the edits that take the change back.
    ///
    /// # Errors
    /// If a later change is in the way, with all conflicts, or if there is nothing to take back.
    fn edits(&self, read: impl Fn(&str) -> Result<Option<Vec<u8>>, Failure>) -> Result<Vec<Edit>, Failure> {
        let (mut edits, mut conflicts) = (Vec::new(), Vec::new());
        for document in &self.documents {
            match taken_back(document, read(&document.path)?.as_deref()) {
                Ok(None) => {}
                Ok(Some(content)) => edits.push(Edit {
                    path: document.path.clone(),
                    content,
                }),
                Err(shown) => conflicts.push(Value::String(shown)),
            }
        }
        if !conflicts.is_empty() {
            let message = "a later change is in the way, so nothing was changed";
            return Err(Failure::new(FailureKind::Conflict, message).with(CONFLICTS, conflicts));
        }
        if edits.is_empty() {
            let message = "there is nothing to undo: the documents are as they were before this entry";
            return Err(Failure::new(FailureKind::Conflict, message));
        }
        Ok(edits)
    }
}

/// Key of a refusal's details: the conflicts, for people.
const CONFLICTS: &str = "conflicts";

/// Returns the error for a refusal, with its conflicts.
fn refusal(message: &str, data: &Map<String, Value>) -> TerminalError {
    let Some(conflicts) = data.get(CONFLICTS).and_then(Value::as_array) else {
        return TerminalError::new(message);
    };
    let shown: Vec<_> = conflicts.iter().filter_map(Value::as_str).collect();
    TerminalError::new(format_args!("{message}\n\n{}", page::visible(&shown.join("\n"))))
        .hint("undo the later changes first (`tabellion log PATH` lists them), or edit the document by hand")
}

/// Returns what becomes of a document that is `now` when `change` is taken back; `None` if nothing does.
///
/// # Errors
/// The conflict, for people.
fn taken_back(change: &DocumentChange, now: Option<&[u8]>) -> Result<Option<Content>, String> {
    let path = &change.path;
    let as_now = |side: &Option<Vec<u8>>| side.as_deref().map(|bytes| with_endings_of(now, bytes));
    let (before, after) = (as_now(&change.before), as_now(&change.after));
    let (before, after) = (before.as_deref(), after.as_deref());
    if now == before {
        return Ok(None);
    }
    if now == after {
        return Ok(Some(
            before.map_or(Content::Delete, |bytes| Content::Write(bytes.to_vec())),
        ));
    }
    let since = |earlier: &[u8], now: &[u8]| {
        diff::unified(
            path,
            &String::from_utf8_lossy(earlier),
            &String::from_utf8_lossy(now),
        )
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
        (None, Some(after), Some(now)) => Err(format!(
            "`{path}` was created by this entry and has changed since:\n{}",
            since(after, now)
        )),
        (Some(before), None, Some(now)) => Err(format!(
            "`{path}` was deleted by this entry, and there is a new one, which differs from the deleted one:\n{}",
            since(before, now)
        )),
        (_, _, _) => Err(format!("`{path}` does not exist any more\n")),
    }
}

/// Returns the bytes with the line endings of the document as it is now: where git converts them, a commit has others.
fn with_endings_of(now: Option<&[u8]>, bytes: &[u8]) -> Vec<u8> {
    let lines = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').count();
    let returns = |bytes: &[u8]| bytes.windows(2).filter(|pair| pair == b"\r\n").count();
    let ends_in_crlf = now.is_some_and(|now| returns(now) > 0 && returns(now) + 1 >= lines(now));
    if !ends_in_crlf || returns(bytes) > 0 {
        return bytes.to_vec();
    }
    let mut converted = Vec::with_capacity(bytes.len() + lines(bytes));
    for byte in bytes {
        if *byte == b'\n' {
            converted.push(b'\r');
        }
        converted.push(*byte);
    }
    converted
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
        // Before, after, now, and what becomes of it: the text, `-` for deletion, `=` for nothing, `!` and a part of the
        // conflict.
        for (before, after, now, expected) in [
            (Some(old), Some(new), Some(new), old),
            (Some(old), Some(new), Some(old), "="),
            (Some(old), Some(new), Some("a\nB\nc\nd\ne\n"), "a\nb\nc\nd\ne\n"),
            (Some(old), Some(new), Some("a\nX\nc\nd\n"), "!\nX\n=======\nb\n"),
            (
                Some(old),
                Some(new),
                Some("a\r\nB\r\nc\r\nd\r\n"),
                "a\r\nb\r\nc\r\nd\r\n",
            ),
            (Some(old), Some(new), None, "!does not exist"),
            (None, Some(new), Some(new), "-"),
            (None, Some(new), None, "="),
            (
                None,
                Some(new),
                Some(old),
                "!was created by this entry and has changed",
            ),
            (Some(old), None, None, old),
            (Some(old), None, Some(old), "="),
            (Some(old), None, Some(new), "!was deleted by this entry"),
        ] {
            let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
            let change = DocumentChange {
                path: "x.md".into(),
                before: bytes(before),
                after: bytes(after),
            };
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
