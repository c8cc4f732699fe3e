//! A call's view of the document: its text, sections and history.

use std::sync::Arc;

use tabellion_contracts::safe_markdown_editor::{MetadataResource, ToolError};
use tabellion_runtime::{Content, ContentId, Document, Failure, FailureKind, ReadCx, context};

use super::{
    errors, front_matter,
    history_cache::{DocumentTimeline, Operation},
    state::Editor,
};
use tabellion_library::{Library, path::LibraryPath};
use tabellion_markdown::{
    Flavor, TargetError,
    editor::{self, ParsedDocument},
    lineage::{Direction, SectionChange, SectionId},
    merge, with_endings_of,
};
use tabellion_pack::failures;

/// Returns the document's text; `None` if there is no document. Notes the base of the answer.
pub(super) fn text(editor: &Editor, cx: &ReadCx<'_>) -> Result<Option<String>, Failure> {
    let document = cx.read(editor.path.as_str())?;
    let exists = document.is_some();
    let (bytes, _) = noted(cx, document);
    if exists && editor.library.read(&editor.path)?.is_some_and(|file| file.dirty) {
        cx.note(context::DIRTY, true);
    }
    let text = failures::utf8(&editor.path, bytes)?;
    Ok(exists.then_some(text))
}

/// Notes the content that the answer is computed on, and returns it with its id.
fn noted(cx: &ReadCx<'_>, document: Option<Document>) -> (Vec<u8>, Option<ContentId>) {
    let (bytes, id) = document.map_or_else(Default::default, |document| (document.bytes, Some(document.id)));
    cx.note(context::BASE, id.clone());
    (bytes, id)
}

/// A call's view of the document.
pub(super) struct DocumentView<'e> {
    editor: &'e Editor,
    text: String,
    /// True if the document exists.
    pub(super) exists: bool,
    /// True if it has bytes that are in no commit.
    pub(super) is_dirty: bool,
    /// True if line endings differ between the file and the history.
    converted: bool,
    /// Content id of the document as the history would store it.
    now: Option<ContentId>,
    timeline: Arc<DocumentTimeline>,
}

impl<'e> DocumentView<'e> {
    /// Reads the document and its history. Notes the base of the answer.
    pub(super) fn read(editor: &'e Editor, cx: &ReadCx<'_>) -> Result<Self, Failure> {
        let path = &editor.path;
        let (past, timeline) = editor.history_cache.follow(
            path.as_str(),
            |until| cx.history(path.as_str(), until),
            |content| cx.past_content(path.as_str(), content),
        )?;
        let exists = past.document.is_some();
        let (bytes, id) = noted(cx, past.document);
        let is_dirty = exists && timeline.lineage.content() != past.now.as_deref();
        if is_dirty {
            cx.note(context::DIRTY, true);
        }
        Ok(Self {
            editor,
            text: failures::utf8(path, bytes)?,
            exists,
            is_dirty,
            converted: id != past.now,
            now: past.now,
            timeline,
        })
    }

    /// As [`read`](Self::read); fails if there is no document.
    pub(super) fn existing(editor: &'e Editor, cx: &ReadCx<'_>) -> Result<Self, ToolError> {
        let view = Self::read(editor, cx)?;
        if view.exists { Ok(view) } else { Err(errors::no_document(&editor.path)) }
    }

    fn path(&self) -> &'e LibraryPath {
        &self.editor.path
    }

    /// Parses the document, unless it was parsed last.
    pub(super) fn parse(&self) -> Result<ParsedDocument<'_>, Failure> {
        let (path, last) = (self.path(), &self.editor.last_parsed);
        let flavor = Flavor::of_path(path.as_str());
        if let Some(outline) = last.outline(&self.text) {
            return Ok(ParsedDocument { text: &self.text, flavor, outline });
        }
        let parsed = ParsedDocument::new(&self.text, flavor).map_err(|error| {
            let message = format!("`{path}` can't be edited by its sections: {error}");
            Failure::new(FailureKind::TooLarge, message)
        })?;
        last.keep(&self.text, &parsed.outline);
        Ok(parsed)
    }

    /// Returns the sections with their ids.
    pub(super) fn list(&self, cx: &ReadCx<'_>) -> Result<Sections<'_>, Failure> {
        let document = self.parse()?;
        let lineage = &self.timeline.lineage;
        let cache = &self.editor.history_cache;
        if lineage.content() == self.now.as_deref() {
            cache.keep_listed(None);
            return Ok(Sections { ids: lineage.ids(&document), document });
        }
        let load = |content: &str| cx.past_content(self.path().as_str(), content);
        let listed = Arc::new(lineage.ids_uncommitted(&document, cache.listed().as_deref(), load)?);
        cache.keep_listed(Some(Arc::clone(&listed)));
        Ok(Sections { ids: listed.ids.clone(), document })
    }

    /// Returns an unused id for a new section, with which the document is `text`.
    pub(super) fn fresh_id(&self, text: &str) -> SectionId {
        self.timeline.lineage.new_id(self.now.as_deref(), text)
    }

    /// Returns the content after the next undo or redo, and the step for the log. Later edits by others are kept, and a step that
    /// they have made already is passed over.
    pub(super) fn step(
        &self,
        cx: &ReadCx<'_>,
        direction: Direction,
    ) -> Result<(Content, SectionChange), ToolError> {
        for done in self.timeline.lineage.entries(direction) {
            let (from, to) = done.contents(direction);
            let target = self.past(cx, to)?;
            if from == self.now.as_deref() {
                let content = to.map_or(Content::Delete, |_| Content::Write(target));
                return Ok((content, done.step(direction)));
            }
            if to == self.now.as_deref() {
                continue;
            }
            let [from, target] = [&self.past(cx, from)?, &target].map(|bytes| self.with_endings(bytes));
            if !self.exists {
                return Err(errors::no_document(self.path()));
            }
            let merged = merge(&from, self.text.as_bytes(), &target)
                .map_err(|_| errors::undo(done.conflict(direction)))?;
            if merged != self.text.as_bytes() {
                return Ok((Content::Write(merged), done.step(direction)));
            }
        }
        Err(errors::undo(direction.nothing()))
    }

    /// Returns an earlier content, with the line endings of the file; empty if there was no document.
    fn past(&self, cx: &ReadCx<'_>, content: Option<&str>) -> Result<Vec<u8>, Failure> {
        let Some(content) = content else {
            return Ok(Vec::new());
        };
        let bytes = cx.past_content(self.path().as_str(), content)?;
        Ok(if self.converted { self.with_endings(&bytes) } else { bytes })
    }

    fn with_endings(&self, earlier: &[u8]) -> Vec<u8> {
        with_endings_of(self.text.as_bytes(), earlier).into_owned()
    }

    /// Returns the last changes made by tools, oldest first.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.timeline.operations.iter().map(|operation| &**operation)
    }

    /// Returns author and times: from the front matter, otherwise from the history.
    pub(super) fn metadata(&self, library: &Library) -> Result<MetadataResource, Failure> {
        let document = self.parse()?;
        let front_matter = front_matter::read(&self.text[document.outline.front_matter()]);
        let first_heading = || document.sections().first().map(|section| section.text.trim().to_owned());
        let is_committed = self.timeline.lineage.content() == self.now.as_deref();
        let on_disk = match (&self.timeline.created, is_committed) {
            (Some(_), true) => None,
            _ => library.read(self.path())?.map(|file| file.modified.fixed_offset()),
        };
        let (created, author) = self.timeline.created.clone().unzip();
        let modified = on_disk.or(self.timeline.modified);
        Ok(MetadataResource {
            title: front_matter.title.or_else(first_heading).unwrap_or_default(),
            author: front_matter.author.or(author).unwrap_or_default(),
            created: front_matter.created.or(created).or(on_disk).unwrap_or_default(),
            modified: modified.unwrap_or_default(),
        })
    }
}

/// The sections of a document, each with its id.
pub(super) struct Sections<'s> {
    pub(super) document: ParsedDocument<'s>,
    /// Indexed by position.
    pub(super) ids: Vec<SectionId>,
}

impl Sections<'_> {
    /// Returns the heading of a section as written, without `#`.
    pub(super) fn title(&self, position: usize) -> String {
        editor::title(self.document.text, &self.document.sections()[position])
    }

    /// Returns a section's own text.
    pub(super) fn content(&self, position: usize) -> &str {
        editor::content(self.document.text, &self.document.sections()[position])
    }

    /// Returns the position of the section with this id.
    pub(super) fn with_id(&self, id: &str) -> Result<usize, ToolError> {
        let wanted: Option<SectionId> = id.parse().ok();
        let found = self.ids.iter().position(|id| Some(*id) == wanted);
        found.ok_or_else(|| errors::no_such_id(id))
    }

    /// Returns the position of the only section with this heading.
    fn with_heading(&self, heading: &str) -> Result<usize, ToolError> {
        let found = self.document.outline.find(self.document.text, heading);
        match found {
            Ok(section) => Ok(self.at_line(section.line)),
            Err(error) => Err(self.unclear(&error)),
        }
    }

    /// Returns the position of the section chosen by id, by heading, or by both.
    pub(super) fn chosen(&self, id: Option<&str>, heading: Option<&str>) -> Result<usize, ToolError> {
        let position = match (id, heading) {
            (Some(id), _) => self.with_id(id)?,
            (None, Some(heading)) => return self.with_heading(heading),
            (None, None) => return Err(errors::not_named()),
        };
        let Some(heading) = heading else {
            return Ok(position);
        };
        let line = self.document.sections()[position].line;
        let agrees = match self.document.outline.find(self.document.text, heading) {
            Ok(section) => section.line == line,
            Err(TargetError::Ambiguous { candidates, .. }) => {
                candidates.iter().any(|candidate| candidate.line == line)
            }
            Err(TargetError::NotFound { .. }) => false,
        };
        if agrees {
            Ok(position)
        } else {
            Err(errors::disagree(&self.ids[position], &self.title(position), heading))
        }
    }

    /// Returns the position of the section that `name` identifies, an id or a heading.
    pub(super) fn named(&self, name: &str) -> Result<usize, ToolError> {
        let is_id = name.parse::<SectionId>().is_ok();
        if is_id { self.with_id(name) } else { self.with_heading(name) }
    }

    /// Returns names of sections that begin with `value`, ignoring case: unique headings, and ids.
    pub(super) fn like(&self, value: &str) -> Vec<String> {
        let wanted = value.to_lowercase();
        let titles: Vec<String> = (0..self.ids.len()).map(|position| self.title(position)).collect();
        let is_only = |title: &str| title.parse::<SectionId>().is_err() && self.with_heading(title).is_ok();
        let only = titles.iter().filter(|title| title.to_lowercase().starts_with(&wanted) && is_only(title));
        let named_alike = |position: usize| titles[position].to_lowercase().starts_with(&wanted);
        let ids = self.ids.iter().enumerate().filter_map(|(position, id)| {
            let id = id.to_string();
            (id.starts_with(&wanted) || named_alike(position)).then_some(id)
        });
        only.cloned().chain(ids).filter(|name| !name.is_empty()).collect()
    }

    fn at_line(&self, line: usize) -> usize {
        self.document.sections().partition_point(|section| section.line < line)
    }

    /// Returns the error for a heading of no section, or of several.
    fn unclear(&self, error: &TargetError) -> ToolError {
        let (TargetError::NotFound { target, nearest: candidates, .. }
        | TargetError::Ambiguous { target, candidates }) = error;
        let candidates: Vec<_> = candidates
            .iter()
            .map(|candidate| {
                let position = self.at_line(candidate.line);
                errors::Candidate {
                    section_id: self.ids[position],
                    heading: self.title(position),
                    position,
                    line: candidate.line,
                }
            })
            .collect();
        match error {
            TargetError::NotFound { .. } => errors::no_such_heading(target, &candidates),
            TargetError::Ambiguous { .. } => errors::ambiguous(target, &candidates),
        }
    }
}
