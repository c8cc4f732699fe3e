//! BrainDrive Markdown: read, list, search, preview, write, edit, delete, log.
//!
//! Each method converts its arguments, calls the library or a function of `tabellion-markdown`, and answers. The runtime does
//! the work common to all tools: validation, commits, the log.

use std::{ops::ControlFlow, sync::Arc};

use tabellion_contracts::braindrive_markdown::{
    ActivityEntry, BrainDriveMarkdown, DeleteMarkdownRequest, DeleteMarkdownResponse, EditMarkdownRequest,
    EditMarkdownResponse, EditOperation, FileMetadata, GetMarkdownActivityLogRequest,
    GetMarkdownActivityLogResponse, ListMarkdownFilesRequest, ListMarkdownFilesResponse, Mutation,
    PreviewMarkdownChangeRequest, PreviewMarkdownChangeResponse, ReadMarkdownRequest, ReadMarkdownResponse,
    RiskLevel, SearchMarkdownRequest, SearchMarkdownResponse, SearchMatch, SearchResult, Service, ToolError,
    WriteMarkdownRequest, WriteMarkdownResponse,
};
use tabellion_runtime::{
    Change, Content, Contract, Document, Failure, FailureKind, ReadCx, Staged, WriteCx, context,
};

use crate::flaws::{conflict, flaws};
use serde_json::{Map, Value};
use tabellion_library::{
    Library,
    path::{LibraryDir, LibraryPath},
    search,
    walk::LeftOut,
};
use tabellion_markdown::{self as markdown, Edit, EditError, Flavor, Plan, Risk, TargetError, diff};
use tabellion_pack::failures;

/// `_meta` key of a response: numbers of Markdown files and folders that the library does not show, by reason.
const LEFT_OUT: &str = "tabellion/leftOut";

/// Upper bound of log entries in one response.
const MAX_ENTRIES: usize = 10_000;
/// Upper bound of further documents that a log entry names.
const MAX_NAMED: usize = 10;
/// Upper bound of headings offered for an ambiguous target.
const MAX_CANDIDATES: usize = 50;

/// Commit id in responses about a repository without commits.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Returns the contract, served from `library`.
pub(super) fn service(library: Arc<Library>) -> Arc<dyn Contract> {
    Arc::new(Service::new(BrainDrive { library: Arc::clone(&library) }, library))
}

struct BrainDrive {
    library: Arc<Library>,
}

impl BrainDrive {
    /// Returns the folder that a request names, in its own spelling.
    fn true_folder(&self, cx: &ReadCx<'_>, path: &str) -> Result<LibraryDir, Failure> {
        let asked = LibraryDir::parse(path).map_err(failures::path)?;
        let found = self.library.true_folder(&asked);
        if found != asked {
            cx.note(context::PATH, found.as_str());
        }
        Ok(found)
    }
}

impl BrainDriveMarkdown for BrainDrive {
    async fn read_markdown(
        &self,
        cx: &ReadCx<'_>,
        request: ReadMarkdownRequest,
    ) -> Result<ReadMarkdownResponse, ToolError> {
        let path = true_path(cx, &request.path)?;
        let file = self.library.read(&path)?.ok_or_else(|| no_such_file(&path))?;
        cx.note(context::BASE, file.blob);
        if file.dirty {
            cx.note(context::DIRTY, true);
        }
        let metadata = FileMetadata {
            size: file.bytes.len() as u64,
            last_modified: file.modified.fixed_offset(),
            git_commit: file.commit.unwrap_or_else(|| NO_COMMIT.into()),
        };
        let content = failures::utf8(&path, file.bytes)?;
        cx.warn([conflict(&path, &content)]);
        Ok(ReadMarkdownResponse { content, metadata })
    }

    async fn list_markdown_files(
        &self,
        cx: &ReadCx<'_>,
        request: ListMarkdownFilesRequest,
    ) -> Result<ListMarkdownFilesResponse, ToolError> {
        let dir = self.true_folder(cx, &request.path)?;
        let listing = self.library.list(&dir, request.recursive).map_err(failures::folder)?;
        if listing.truncated {
            cx.note(context::TRUNCATED, true);
            cx.note(context::TOTAL, listing.total);
        }
        note_left_out(cx, listing.left_out);
        Ok(ListMarkdownFilesResponse {
            files: listing.files.iter().map(|file| file.as_str().to_owned()).collect(),
            folders: listing.folders.iter().map(|folder| folder.as_str().to_owned()).collect(),
        })
    }

    async fn search_markdown(
        &self,
        cx: &ReadCx<'_>,
        request: SearchMarkdownRequest,
    ) -> Result<SearchMarkdownResponse, ToolError> {
        let dir = self.true_folder(cx, request.path.as_deref().unwrap_or_default())?;
        let stop = cx.stop();
        let searched = |files| {
            cx.progress(files, None, "files searched");
            if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = self
            .library
            .search(&dir, &request.query, search::Limits::default(), &searched)
            .map_err(failures::search)?;
        cx.note(context::TOTAL, found.total_lines);
        if found.truncated {
            cx.note(context::TRUNCATED, true);
        }
        let is_spelt = found.total_lines == 0 && request.query.chars().any(char::is_uppercase);
        cx.warn([is_spelt.then(|| {
            "a query with capitals is looked for as it is spelt; one without finds all spellings".into()
        })]);
        note_left_out(cx, found.left_out);
        let results = found.matches.chunk_by(|a, b| a.path == b.path).map(|matches| SearchResult {
            path: matches[0].path.as_str().to_owned(),
            matches: matches
                .iter()
                .map(|found| SearchMatch { line: found.line, snippet: found.snippet.clone() })
                .collect(),
        });
        Ok(SearchMarkdownResponse { results: results.collect() })
    }

    async fn preview_markdown_change(
        &self,
        cx: &ReadCx<'_>,
        request: PreviewMarkdownChangeRequest,
    ) -> Result<PreviewMarkdownChangeResponse, ToolError> {
        let path = true_path(cx, &request.path)?;
        let document = cx.read(path.as_str())?.ok_or_else(|| no_such_file(&path))?;
        cx.note(context::BASE, document.id);
        let old = failures::utf8(&path, document.bytes)?;
        let edit = edit(&request.operation);
        let plan = planned(&path, &old, &edit)?;
        self.library.check_change(&path, plan.text.len())?;
        cx.warn(flaws(&path, &plan.text));
        let preview = markdown::preview(path.as_str(), &old, &edit, &plan);
        let risk_level = match preview.risk {
            Risk::Low => RiskLevel::Low,
            Risk::Medium => RiskLevel::Medium,
            Risk::High => RiskLevel::High,
        };
        Ok(PreviewMarkdownChangeResponse { diff: preview.diff, summary: preview.summary, risk_level })
    }

    async fn write_markdown(
        &self,
        cx: &WriteCx<'_>,
        request: WriteMarkdownRequest,
    ) -> Result<Staged<WriteMarkdownResponse>, ToolError> {
        let path = true_path(cx, &request.path)?;
        let old = cx.read(path.as_str())?;
        let operation = if old.is_some() { "overwrite" } else { "create" };
        let is_dirty = old.is_some() && self.library.read(&path)?.is_some_and(|file| file.dirty);
        let adopted = is_dirty.then(|| failures::uncommitted(&path));
        cx.warn([adopted]);
        cx.warn(flaws(&path, &request.content));
        let summary = counted(operation, old.as_ref(), &request.content);
        Ok(stage(cx, &path, operation, summary, Content::Write(request.content.into_bytes())))
    }

    async fn edit_markdown(
        &self,
        cx: &WriteCx<'_>,
        request: EditMarkdownRequest,
    ) -> Result<Staged<EditMarkdownResponse>, ToolError> {
        let path = true_path(cx, &request.path)?;
        let document = cx.read(path.as_str())?.ok_or_else(|| no_such_file(&path))?;
        let old = failures::utf8(&path, document.bytes)?;
        let edit = edit(&request.operation);
        let plan = planned(&path, &old, &edit)?;
        cx.warn(flaws(&path, &plan.text));
        let summary = markdown::summarize(&old, &edit, &plan);
        Ok(stage(cx, &path, edit.name(), summary, Content::Write(plan.text.into_bytes())))
    }

    async fn delete_markdown(
        &self,
        cx: &WriteCx<'_>,
        request: DeleteMarkdownRequest,
    ) -> Result<Staged<DeleteMarkdownResponse>, ToolError> {
        let path = true_path(cx, &request.path)?;
        let document = cx.read(path.as_str())?.ok_or_else(|| no_such_file(&path))?;
        let summary = counted("delete", Some(&document), "");
        Ok(stage(cx, &path, "delete", summary, Content::Delete))
    }

    async fn get_markdown_activity_log(
        &self,
        cx: &ReadCx<'_>,
        request: GetMarkdownActivityLogRequest,
    ) -> Result<GetMarkdownActivityLogResponse, ToolError> {
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let entries = self.library.activity(limit.min(MAX_ENTRIES))?;
        if limit > MAX_ENTRIES && entries.len() == MAX_ENTRIES {
            cx.note(context::TRUNCATED, true);
        }
        let entries = entries.into_iter().map(|entry| ActivityEntry {
            timestamp: entry.time.fixed_offset(),
            operation: entry.operation,
            summary: signed(
                with_paths(entry.summary, entry.paths.get(1..).unwrap_or_default()),
                entry.client.as_deref(),
            ),
            path: entry.paths.into_iter().next().unwrap_or_default(),
            git_commit_sha: entry.commit,
        });
        Ok(GetMarkdownActivityLogResponse { entries: entries.collect() })
    }
}

/// Returns the summary of an entry with the further documents of its commit, since an entry has one path.
fn with_paths(summary: String, more: &[String]) -> String {
    if more.is_empty() {
        return summary;
    }
    let named: Vec<_> =
        more.iter().take(MAX_NAMED).map(|path| format!("`{}`", markdown::one_line(path))).collect();
    let rest = match more.len() - named.len() {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!("{summary}; also {}{rest}", named.join(", "))
}

/// Returns the path of the document that a request names, in its own spelling.
fn true_path(cx: &ReadCx<'_>, path: &str) -> Result<LibraryPath, Failure> {
    let asked = LibraryPath::parse(path).map_err(failures::path)?;
    LibraryPath::parse(&cx.true_path(asked.as_str())?).map_err(failures::path)
}

/// Notes in `_meta` the numbers of files and folders that the answer leaves out, if there are any.
fn note_left_out(cx: &ReadCx<'_>, left_out: LeftOut) {
    let counts = left_out.by_reason().into_iter().filter(|(_, number)| *number > 0);
    let counts: Map<String, Value> =
        counts.map(|(reason, number)| (reason.to_owned(), number.into())).collect();
    if !counts.is_empty() {
        cx.note(LEFT_OUT, counts);
    }
}

/// Stages a change of `path`. All mutating tools answer alike.
fn stage(
    cx: &WriteCx<'_>,
    path: &LibraryPath,
    operation: &'static str,
    summary: String,
    content: Content,
) -> Staged<Mutation> {
    let change = Change::one(path.as_str(), content, operation, summary);
    cx.stage(change, |receipt| Mutation { success: true, git_commit_sha: receipt.commit().into() })
}

fn edit(operation: &EditOperation) -> Edit<'_> {
    match operation {
        EditOperation::Append { content } => Edit::Append { content },
        EditOperation::Prepend { content } => Edit::Prepend { content },
        EditOperation::ReplaceSection { target, content } => Edit::ReplaceSection { target, content },
        EditOperation::InsertBefore { target, content } => Edit::InsertBefore { target, content },
        EditOperation::InsertAfter { target, content } => Edit::InsertAfter { target, content },
    }
}

fn planned(path: &LibraryPath, old: &str, edit: &Edit<'_>) -> Result<Plan, ToolError> {
    markdown::plan(old, Flavor::of_path(path.as_str()), edit).map_err(|error| match error {
        EditError::Target(error) => unclear_target(error),
        EditError::Limit(error) => ToolError::too_large(format!("`{path}` can't be edited: {error}")),
    })
}

/// Returns a one-line summary of a change to the whole file: `overwrite: +3 -2 lines`.
fn counted(operation: &str, old: Option<&Document>, new: &str) -> String {
    let old = old.map(|document| String::from_utf8_lossy(&document.bytes)).unwrap_or_default();
    let (added, removed) = diff::line_counts(&old, new);
    format!("{operation}: +{added} -{removed} lines")
}

/// Returns a log entry's summary with the client that made the change, as it called itself: `append: +1 -0 lines (agent/7)`.
fn signed(summary: String, client: Option<&str>) -> String {
    match client {
        Some(client) => format!("{summary} ({})", markdown::one_line(client)),
        None => summary,
    }
}

fn no_such_file(path: &LibraryPath) -> Failure {
    let message = format!("there is no file `{path}`; list its folder to see its files");
    Failure::new(FailureKind::NotFound, message).with("path", path.as_str())
}

/// Returns the error for a target that names no section or several, with candidates.
fn unclear_target(error: TargetError) -> ToolError {
    let message = error.to_string();
    let (answer, candidates) = match error {
        TargetError::NotFound { nearest, .. } => (ToolError::not_found(message), nearest),
        TargetError::Ambiguous { candidates, .. } => (ToolError::ambiguous_target(message), candidates),
    };
    let candidates = candidates.into_iter().take(MAX_CANDIDATES).map(|candidate| {
        serde_json::json!({
            "line": candidate.line,
            "heading": candidate.heading,
            "slug": candidate.slug,
        })
    });
    answer.with("candidates", candidates.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_several_documents_names_them() {
        let paths = |number: usize| (1..number).map(|at| format!("{at}.md")).collect::<Vec<_>>();
        for (number, expected) in [
            (1, "approve"),
            (2, "approve; also `1.md`"),
            (3, "approve; also `1.md`, `2.md`"),
            (
                13,
                "approve; also `1.md`, `2.md`, `3.md`, `4.md`, `5.md`, `6.md`, `7.md`, `8.md`, `9.md`, `10.md` and 2 more",
            ),
        ] {
            assert_eq!(with_paths("approve".into(), &paths(number)), expected);
        }
    }
}
