//! The document as a call finds it, with its sections and its history.

use std::{collections::HashMap, sync::Arc};

use tabellion_contracts::safe_markdown_editor::{MetadataResource, ToolError};
use tabellion_runtime::{Content, ContentId, Failure, FailureKind, ReadCx};

use super::{
    Editor, errors, front_matter,
    known::{Followed, Operation},
};
use crate::contracts::failures;
use tabellion_library::{Library, path::LibraryPath};
use tabellion_markdown::{
    Flavor, TargetError,
    editor::{self, Parsed},
    lineage::{Done, SectionId},
};

/// The document's text; empty where there is no document.
pub(super) fn text(editor: &Editor, cx: &ReadCx<'_>) -> Result<String, Failure> {
    match cx.read(editor.path.as_str())? {
        Some(document) => failures::utf8(&editor.path, document.bytes),
        None => Ok(String::new()),
    }
}

/// The document as a call finds it.
pub(super) struct Seen<'e> {
    editor: &'e Editor,
    text: String,
    /// Whether there is a document.
    exists: bool,
    /// Whether the history keeps its line endings otherwise than the file.
    converted: bool,
    /// Id of its content, as the history would keep it.
    now: Option<ContentId>,
    followed: Arc<Followed>,
}

impl<'e> Seen<'e> {
    /// Looks at the document.
    pub(super) fn by(editor: &'e Editor, cx: &ReadCx<'_>) -> Result<Self, Failure> {
        let path = &editor.path;
        let (past, followed) = editor.known.follow(
            path.as_str(),
            |known| cx.history(path.as_str(), known),
            |content| cx.past_content(path.as_str(), content),
        )?;
        let exists = past.document.is_some();
        let (bytes, id) = past
            .document
            .map_or_else(Default::default, |document| (document.bytes, Some(document.id)));
        Ok(Self {
            editor,
            text: failures::utf8(path, bytes)?,
            exists,
            converted: id != past.now,
            now: past.now,
            followed,
        })
    }

    fn path(&self) -> &'e LibraryPath {
        &self.editor.path
    }

    /// Parses it.
    pub(super) fn parse(&self) -> Result<Parsed<'_>, Failure> {
        let (path, last) = (self.path(), &self.editor.last_parsed);
        let flavor = Flavor::of_path(path.as_str());
        if let Some(outline) = last.outline(&self.text) {
            return Ok(Parsed {
                text: &self.text,
                flavor,
                outline,
            });
        }
        let parsed = Parsed::new(&self.text, flavor).map_err(|error| {
            let message = format!("`{path}` can't be edited by its sections: {error}");
            Failure::new(FailureKind::TooLarge, message)
        })?;
        last.keep(&self.text, &parsed.outline);
        Ok(parsed)
    }

    /// Its sections.
    pub(super) fn list(&self, cx: &ReadCx<'_>) -> Result<List<'_>, Failure> {
        let document = self.parse()?;
        let lineage = &self.followed.lineage;
        let ids = if lineage.content() == self.now.as_deref() {
            lineage.ids(&document)
        } else {
            lineage.ids_uncommitted(&document, |content| {
                cx.past_content(self.path().as_str(), content)
            })?
        };
        Ok(List { document, ids })
    }

    /// An id for a section that is to come.
    pub(super) fn fresh_id(&self) -> SectionId {
        self.followed.lineage.fresh(self.now.as_deref())
    }

    pub(super) fn to_undo(&self) -> Result<&Done, ToolError> {
        self.followed
            .lineage
            .to_undo(self.now.as_deref())
            .map_err(errors::undo)
    }

    pub(super) fn to_redo(&self) -> Result<&Done, ToolError> {
        self.followed
            .lineage
            .to_redo(self.now.as_deref())
            .map_err(errors::undo)
    }

    /// An earlier content, with the line endings that the file has.
    pub(super) fn restored(&self, cx: &ReadCx<'_>, content: Option<&str>) -> Result<Content, Failure> {
        let Some(content) = content else {
            return Ok(Content::Delete);
        };
        let bytes = cx.past_content(self.path().as_str(), content)?;
        Ok(Content::Write(if self.converted {
            with_crlf(&bytes)
        } else {
            bytes
        }))
    }

    /// The last changes that tools made, oldest first.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.followed.operations.iter().map(|operation| &**operation)
    }

    /// Who wrote what when: as the front matter says, else as the history does.
    pub(super) fn metadata(&self, library: &Library) -> Result<MetadataResource, Failure> {
        if !self.exists {
            let message = format!("there is no file `{}` yet; insert a section first", self.path());
            return Err(Failure::new(FailureKind::NotFound, message));
        }
        let document = self.parse()?;
        let said = front_matter::read(&self.text[document.outline.front_matter()]);
        let first_heading = || {
            document
                .sections()
                .first()
                .map(|section| section.text.trim().to_owned())
        };
        let is_committed = self.followed.lineage.content() == self.now.as_deref();
        let on_disk = match (&self.followed.created, is_committed) {
            (Some(_), true) => None,
            _ => library
                .read(self.path())?
                .map(|file| file.modified.fixed_offset()),
        };
        let (created, author) = self.followed.created.clone().unzip();
        let modified = on_disk.or(self.followed.modified);
        Ok(MetadataResource {
            title: said.title.or_else(first_heading).unwrap_or_default(),
            author: said.author.or(author).unwrap_or_default(),
            created: said.created.or(created).or(on_disk).unwrap_or_default(),
            modified: modified.unwrap_or_default(),
        })
    }
}

/// The bytes with each line feed on its own as CRLF.
fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    let mut converted = Vec::with_capacity(bytes.len() + bytes.len() / 32);
    let mut before = 0;
    for byte in bytes {
        if *byte == b'\n' && before != b'\r' {
            converted.push(b'\r');
        }
        converted.push(*byte);
        before = *byte;
    }
    converted
}

/// The sections of a document, each with its id.
pub(super) struct List<'s> {
    pub(super) document: Parsed<'s>,
    /// By position.
    pub(super) ids: Vec<SectionId>,
}

impl List<'_> {
    /// The heading of a section as it is written, without `#`.
    pub(super) fn title(&self, position: usize) -> String {
        editor::title(self.document.text, &self.document.sections()[position])
    }

    /// A section's own text.
    pub(super) fn content(&self, position: usize) -> &str {
        editor::content(self.document.text, &self.document.sections()[position])
    }

    /// Where the section with this id is.
    pub(super) fn with_id(&self, id: &str) -> Result<usize, ToolError> {
        let wanted: Option<SectionId> = id.parse().ok();
        let found = self.ids.iter().position(|id| Some(*id) == wanted);
        found.ok_or_else(|| errors::no_such_id(id))
    }

    /// Where the only section with this heading is.
    fn with_heading(&self, heading: &str) -> Result<usize, ToolError> {
        let found = self.document.outline.find(self.document.text, heading);
        match found {
            Ok(section) => Ok(self.at_line(section.line)),
            Err(error) => Err(self.unclear(&error)),
        }
    }

    /// Where the section is that is chosen by id, by heading, or by both.
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
            Err(errors::disagree(
                &self.ids[position],
                &self.title(position),
                heading,
            ))
        }
    }

    /// Where the section is that is named by its id or its heading.
    pub(super) fn named(&self, name: &str) -> Result<usize, ToolError> {
        let is_id = name.parse::<SectionId>().is_ok();
        if is_id {
            self.with_id(name)
        } else {
            self.with_heading(name)
        }
    }

    /// Names of sections that begin with `value`, in whatever case: headings that only one section has, and ids.
    pub(super) fn like(&self, value: &str) -> Vec<String> {
        let wanted = value.to_lowercase();
        let titles: Vec<String> = (0..self.ids.len()).map(|position| self.title(position)).collect();
        let mut namesakes: HashMap<&str, usize> = HashMap::new();
        for title in &titles {
            *namesakes.entry(title).or_default() += 1;
        }
        let only = titles
            .iter()
            .filter(|title| namesakes[title.as_str()] == 1 && title.to_lowercase().starts_with(&wanted));
        let named_alike = |position: usize| titles[position].to_lowercase().starts_with(&wanted);
        let ids = self.ids.iter().enumerate().filter_map(|(position, id)| {
            let id = id.to_string();
            (id.starts_with(&wanted) || named_alike(position)).then_some(id)
        });
        only.cloned().chain(ids).filter(|name| !name.is_empty()).collect()
    }

    fn at_line(&self, line: usize) -> usize {
        self.document
            .sections()
            .partition_point(|section| section.line < line)
    }

    /// A heading that names no section, or several.
    fn unclear(&self, error: &TargetError) -> ToolError {
        let (TargetError::NotFound {
            target,
            nearest: candidates,
        }
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
