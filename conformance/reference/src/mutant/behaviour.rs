//! Defects that take more than a line. Each function has no effect, or returns its argument, unless the process is
//! its mutant.

use std::{
    collections::HashMap,
    fs,
    io::Write,
    ops::Range,
    path::Path,
    sync::{LazyLock, Mutex, PoisonError},
    thread,
    time::Duration,
};

use serde_json::Value;
use tabellion_contracts::braindrive_markdown::{EditOperation, ToolError, tool};
use tabellion_runtime::{Failure, ToolSpec};

use super::{
    super::{
        change::{Change, Receipt, message},
        failed,
        folder::ExchangeResult,
        git::id_of,
        library::Library,
        markdown::{self, Plan},
    },
    Mutant, is,
};

/// The bytes that the call names, for its result.
static PART: Mutex<Option<Range<usize>>> = Mutex::new(None);

/// Changes the arguments of a call before they are checked.
pub(in super::super) fn change_arguments(library: &Library, tool: &ToolSpec, mut arguments: Value) -> Value {
    let path = arguments["path"].as_str();
    let path = path.map(|path| library.folder.path.join(path));
    let content = arguments.pointer("/content").or(arguments.pointer("/operation/content"));
    if is(Mutant::WritesBeforeValidating)
        && tool.mutating
        && let (Some(path), Some(content)) = (&path, content.and_then(Value::as_str))
        && path.starts_with(&library.folder.path)
        && path.exists()
        && tool.input.check(&arguments).is_err()
    {
        // The checks detect a failure.
        let _ = fs::write(path, content);
    }
    if is(Mutant::LeavesFolders)
        && tool.mutating
        && let Some(folder) = path.as_ref().and_then(|path| path.parent())
        && folder.starts_with(&library.folder.path)
    {
        // The change reports whether the folder could be created.
        let _ = fs::create_dir_all(folder);
    }
    if is(Mutant::EmptiesBeforeEncoding)
        && arguments.get("encoding").is_some()
        && let Some(path) = &path
    {
        // The call is refused for its argument.
        let _ = fs::write(path, "");
    }
    if is(Mutant::PagesByBytes)
        && let Some(arguments) = arguments.as_object_mut()
        && let (Some(offset), Some(limit)) = (arguments.remove("offset"), arguments.remove("limit"))
    {
        let number = |value: Value| usize::try_from(value.as_u64().unwrap_or_default()).unwrap_or_default();
        let start = number(offset);
        *PART.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(start..start.saturating_add(number(limit)));
    }
    if is(Mutant::IgnoresDryRun)
        && let Some(arguments) = arguments.as_object_mut()
    {
        arguments.remove("dry_run");
    }
    if is(Mutant::AcceptsUnknownArguments)
        && let (Some(given), Value::Object(schema)) = (arguments.as_object_mut(), tool.input.wire())
    {
        given.retain(|name, _| schema["properties"].get(name).is_some());
    }
    if is(Mutant::IgnoresConfirm) && arguments["confirm"].is_boolean() {
        arguments["confirm"] = true.into();
    }
    arguments
}

/// Changes the response of a call.
pub(in super::super) fn change_response(tool: &ToolSpec, mut response: Value) -> Value {
    if is(Mutant::ReturnsShortId)
        && let Some(id) = response["git_commit_sha"].as_str()
    {
        response["git_commit_sha"] = id[..7].into();
    }
    if is(Mutant::PagesByBytes)
        && let Some(part) = PART.lock().unwrap_or_else(PoisonError::into_inner).take()
        && let Some(text) = response["content"].as_str()
    {
        let end = part.end.min(text.len());
        response["content"] = String::from_utf8_lossy(&text.as_bytes()[part.start.min(end)..end]).into();
    }
    if is(Mutant::WrongOutputShape) && tool.name == tool::READ_MARKDOWN {
        response["metadata"]["size"] = response["metadata"]["size"].to_string().into();
    }
    response
}

/// Texts that this process has read, by path.
static MEMORY: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// Changes the text that is returned to a reader.
pub(in super::super) fn returned_text(path: &str, text: String) -> String {
    if is(Mutant::ReadsUnixEndings) {
        return text.replace("\r\n", "\n");
    }
    if is(Mutant::RemembersDocuments) {
        let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
        return memory.entry(path.to_owned()).or_insert(text).clone();
    }
    text
}

/// Replaces the second half of a document's bytes by those of a second read.
pub(in super::super) fn read_in_parts(
    mut bytes: Vec<u8>,
    again: impl FnOnce() -> Option<Vec<u8>>,
) -> Vec<u8> {
    if is(Mutant::ReadsInParts) {
        thread::sleep(Duration::from_millis(10));
        let half = bytes.len() / 2;
        let rest = again().unwrap_or_default();
        bytes.truncate(half);
        bytes.extend(rest.get(half..).unwrap_or_default());
    }
    bytes
}

/// Changes the result of an edit.
pub(in super::super) fn change_plan(plan: Plan, operation: &EditOperation) -> Plan {
    if is(Mutant::AppliesTwice)
        && let Ok(again) = markdown::plan(&plan.text, operation)
    {
        return again;
    }
    plan
}

/// Returns a preview for a refused edit.
pub(in super::super) fn preview_of_refused(old: &str, refusal: ToolError) -> Result<Plan, ToolError> {
    if is(Mutant::PreviewsAnything) {
        return Ok(Plan { text: old.to_owned(), removed: 0..0, changes_others: false });
    }
    Err(refusal)
}

/// Changes the text on which a preview is based.
pub(in super::super) fn preview_base(library: &Library, path: &str, text: String) -> String {
    if is(Mutant::PreviewsOtherLineEndings) {
        return text.replace("\r\n", "\n");
    }
    if is(Mutant::PreviewsStale)
        && let Some(entry) = library.entry(path)
        && let Ok(bytes) = library.git.blob(&entry.blob)
    {
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    text
}

/// Makes the change in a defective way, if the process is such a mutant.
pub(in super::super) fn make_change(
    library: &Library,
    path: &str,
    change: &Change,
) -> Result<Option<Receipt>, ToolError> {
    let head = library.head().unwrap_or_default();
    if is(Mutant::Liar) {
        let commit = "5ca1ab1e".repeat(5);
        return Ok(Some(Receipt { commit, blob: None }));
    }
    if is(Mutant::DoesNothing) {
        return Ok(Some(Receipt { commit: head, blob: None }));
    }
    let target = library.folder.path.join(path);
    let mut ancestors = target.ancestors().take_while(|it| *it != library.folder.path);
    let is_elsewhere =
        follows_links(&library.folder.path, path) && (path.contains("..") || ancestors.any(Path::is_symlink));
    if is_elsewhere || is(Mutant::WritesDotGit) && path.to_ascii_lowercase().contains("git") {
        let folder = target.parent().unwrap_or(&target);
        fs::create_dir_all(folder).map_err(failed("make a folder"))?;
        fs::write(&target, change.bytes.as_deref().unwrap_or_default()).map_err(failed("write"))?;
        return Ok(Some(Receipt { commit: head, blob: None }));
    }
    if is(Mutant::WritesThenCommits) {
        let folder = target.parent().unwrap_or(&target);
        let written = match &change.bytes {
            Some(bytes) => fs::create_dir_all(folder).and_then(|()| fs::write(&target, bytes)),
            None => fs::remove_file(&target),
        };
        written.map_err(failed("write"))?;
        library.git.text(&["add", "--all", "--", path])?;
        let commit = ["commit", "--quiet", "--allow-empty", "--file=-", "--only", "--", path];
        library.git.feed(&commit, message(path, change).as_bytes(), &[])?;
        return Ok(Some(Receipt {
            commit: library.head().unwrap_or_default(),
            blob: change.bytes.as_deref().map(id_of),
        }));
    }
    if is(Mutant::LeavesTempFiles) {
        let temporary = format!("{}.tmp", target.display());
        fs::create_dir_all(target.parent().unwrap_or(&target)).map_err(failed("make a folder"))?;
        fs::write(temporary, change.bytes.as_deref().unwrap_or_default()).map_err(failed("write"))?;
    }
    Ok(None)
}

/// Returns additional text for a commit's message.
pub(in super::super) fn extra_message(change: &Change) -> String {
    let bytes = change.bytes.as_deref().filter(|_| is(Mutant::TextInMessage));
    let text = bytes.map(String::from_utf8_lossy);
    text.map_or_else(String::new, |text| format!("{}\n", text.trim_end()))
}

/// Changes the commit id in the answer.
pub(in super::super) fn returned_commit(library: &Library, commit: String) -> String {
    if is(Mutant::ReturnsParentId) {
        return library.git.ask(&["rev-parse", &format!("{commit}^")]).unwrap_or(commit);
    }
    let planned = PLANNED.lock().unwrap_or_else(PoisonError::into_inner).take();
    planned.unwrap_or(commit)
}

/// The commit that was first planned for the change in progress, if the mutant answers with it.
static PLANNED: Mutex<Option<String>> = Mutex::new(None);

/// Runs before a commit is pushed.
pub(in super::super) fn remember_planned(commit: &str) {
    if is(Mutant::Rebases) {
        let mut planned = PLANNED.lock().unwrap_or_else(PoisonError::into_inner);
        planned.get_or_insert_with(|| commit.to_owned());
    }
}

/// Runs after a commit.
pub(in super::super) fn after_commit(library: &Library, path: &str) {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    if is(Mutant::RunsHooks) {
        for hook in ["pre-commit", "commit-msg", "post-commit"] {
            let hooks = format!("core.hooksPath={}", library.git.dir.join("hooks").display());
            library.git.ask(&["-c", &hooks, "hook", "run", "--ignore-missing", hook]);
        }
    }
}

/// Overwrites a document in place.
pub(in super::super) fn write_in_place(place: &Path, prepared: &Path) -> Result<ExchangeResult, Failure> {
    let bytes = fs::read(prepared).map_err(failed("read"))?;
    fs::create_dir_all(place.parent().unwrap_or(place)).map_err(failed("make a folder"))?;
    let mut file = fs::File::create(place).map_err(failed("open the document"))?;
    for part in bytes.chunks(4096) {
        file.write_all(part).map_err(failed("write the document"))?;
    }
    Ok(ExchangeResult::Done)
}

/// Returns true if symbolic links in a path are followed.
pub(in super::super) fn follows_links(root: &Path, path: &str) -> bool {
    is(Mutant::FollowsSymlinks)
        || is(Mutant::DecodesPaths)
        || is(Mutant::FollowsSymlinkedFolder) && !root.join(path).is_symlink()
}

/// Decodes a path after it was checked.
pub(in super::super) fn decode(path: &str) -> String {
    if is(Mutant::DecodesPaths) {
        return path.replace("%2e", ".").replace("%2E", ".").replace("%2f", "/").replace("%2F", "/");
    }
    path.to_owned()
}
