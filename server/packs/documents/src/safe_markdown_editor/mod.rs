//! SafeMarkdownEditor: one document, section by section, with undo and redo.
//!
//! Each method reads the document ([`view`]), has the Markdown functions plan the change, and describes its effect on the list of
//! sections in a [`SectionChange`]. The log entry keeps that step; ids and undo are derived from the steps
//! ([`tabellion_markdown::lineage`]).

mod errors;
mod front_matter;
mod history_cache;
mod parsed;
mod state;
mod view;

use std::{ops::Range, sync::Arc};

use tabellion_contracts::safe_markdown_editor::{
    Acknowledged, DeleteSectionRequest, DocumentResource, FullDocument, GenerateOutlineArguments,
    GenerateOutlineValues, GetDocumentRequest, GetDocumentResponse, GetSectionRequest, GetSectionResponse,
    HistoryResource, InsertSectionRequest, InsertSectionResponse, ListSectionsRequest, ListSectionsResponse,
    MetadataResource, MoveSectionRequest, PastOperation, RedoRequest, RewriteSectionArguments,
    RewriteSectionValues, SafeMarkdownEditor, SectionEntry, Service, SummarizeSectionArguments,
    SummarizeSectionValues, UndoRequest, UpdateSectionRequest,
};
use tabellion_runtime::{self as runtime, Content, Contract, ReadCx, Staged, WriteCx};

use self::{
    history_cache::HistoryCache,
    parsed::LastParsed,
    state::{Answer, Change, Editor},
    view::DocumentView,
};
use crate::flaws::{conflict, flaws};
use tabellion_library::{Library, path::LibraryPath};
use tabellion_markdown::{
    editor::{self, ParsedDocument, SectionPlan},
    lineage::{Direction, SectionChange},
};
use tabellion_pack::failures;

/// Returns the contract for the document at `path` of a library. The document need not exist yet.
pub(super) fn service(library: Arc<Library>, path: &LibraryPath) -> Arc<dyn Contract> {
    let editor = Editor {
        path: path.clone(),
        library: Arc::clone(&library),
        history_cache: HistoryCache::default(),
        last_parsed: LastParsed::default(),
    };
    Arc::new(Service::new(editor, library))
}

impl Editor {
    /// Returns the content after `plan`, and warns of its flaws. Its outline is cached, because the next call most likely finds this text.
    fn written(&self, cx: &WriteCx<'_>, plan: SectionPlan) -> Content {
        cx.warn(flaws(&self.path, &plan.text));
        self.last_parsed.keep(&plan.text, &plan.outline);
        Content::Write(plan.text.into_bytes())
    }

    /// Stages the effect of a step on the document.
    fn stage<T>(
        &self,
        cx: &WriteCx<'_>,
        content: Content,
        step: &SectionChange,
        response: impl FnOnce() -> T + Send + 'static,
    ) -> Staged<T> {
        let change = runtime::Change::one(self.path.as_str(), content, step.operation(), step.summary());
        cx.stage(change, |_| response()).with_details(step.details())
    }

    fn absence(&self) -> String {
        format!("there is no file `{}` yet", self.path)
    }

    /// Returns the document's text; empty, with a warning, if there is no document.
    fn text_or_warning(&self, cx: &ReadCx<'_>) -> Answer<String> {
        let text = view::text(self, cx)?;
        cx.warn([text.is_none().then(|| self.absence())]);
        let text = text.unwrap_or_default();
        cx.warn([conflict(&self.path, &text)]);
        Ok(text)
    }

    /// Returns the text of the section that a prompt names, with its subsections.
    fn content_of(&self, cx: &ReadCx<'_>, section: &str) -> Answer<String> {
        let view = DocumentView::existing(self, cx)?;
        let list = view.list(cx)?;
        let position = list.named(section)?;
        let section = &list.document.sections()[position];
        Ok(editor::content_with_children(list.document.text, section).to_owned())
    }

    /// Returns completions of a prefix of a section's name.
    fn sections_like(&self, cx: &ReadCx<'_>, value: &str) -> Answer<Vec<String>> {
        let view = DocumentView::read(self, cx)?;
        Ok(view.list(cx)?.like(value))
    }
}

/// Warns that a plan puts sections below a different heading.
fn warn_of_adopted(cx: &WriteCx<'_>, document: &ParsedDocument<'_>, plan: &SectionPlan, moved: Range<usize>) {
    let adopted = plan.adopted(document, &moved);
    let more = match adopted.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let adopted = adopted.first().map(|first| errors::shown(&editor::title(&plan.text, first)));
    cx.warn([adopted.map(|first| format!("the section \"{first}\"{more} is below a different heading now"))]);
}

fn acknowledged(message: &'static str) -> impl FnOnce() -> Acknowledged + Send + 'static {
    move || Acknowledged { message: message.into() }
}

/// Converts a position. One that does not fit is beyond the end of every document.
fn position(given: u64) -> usize {
    usize::try_from(given).unwrap_or(usize::MAX)
}

impl SafeMarkdownEditor for Editor {
    async fn insert_section(
        &self,
        cx: &WriteCx<'_>,
        request: InsertSectionRequest,
    ) -> Change<InsertSectionResponse> {
        let view = DocumentView::read(self, cx)?;
        let document = view.parse()?;
        let plan = editor::insert(&document, position(request.position), &request.heading, &request.content)
            .map_err(errors::section)?;
        warn_of_adopted(cx, &document, &plan, 0..0);
        let section_id = view.fresh_id(&plan.text);
        let step = SectionChange::Insert {
            section_id,
            heading: errors::shown(&request.heading),
            position: plan.position,
            sections: plan.sections,
        };
        Ok(self.stage(cx, self.written(cx, plan), &step, move || InsertSectionResponse {
            section_id: section_id.to_string(),
            message: "Section inserted.".into(),
        }))
    }

    async fn delete_section(&self, cx: &WriteCx<'_>, request: DeleteSectionRequest) -> Change<Acknowledged> {
        let view = DocumentView::existing(self, cx)?;
        let list = view.list(cx)?;
        let position = list.chosen(request.section_id.as_deref(), request.heading.as_deref())?;
        let plan = editor::delete(&list.document, position).map_err(errors::section)?;
        let below = plan.sections - 1;
        let warnings = [
            (below > 0).then(|| format!("the sections below it were deleted too: {below}")),
            view.is_dirty.then(|| failures::uncommitted(&self.path)),
        ];
        cx.warn(warnings);
        let step = SectionChange::Delete {
            section_id: list.ids[position],
            heading: errors::shown(&list.title(position)),
            position,
            sections: plan.sections,
        };
        Ok(self.stage(cx, self.written(cx, plan), &step, acknowledged("Section deleted.")))
    }

    async fn update_section(&self, cx: &WriteCx<'_>, request: UpdateSectionRequest) -> Change<Acknowledged> {
        let view = DocumentView::existing(self, cx)?;
        let list = view.list(cx)?;
        let position = list.with_id(&request.section_id)?;
        let plan = editor::update(&list.document, position, &request.content).map_err(errors::section)?;
        cx.warn([view.is_dirty.then(|| failures::uncommitted(&self.path))]);
        let step = SectionChange::Update {
            section_id: list.ids[position],
            heading: errors::shown(&list.title(position)),
            position,
            sections: plan.sections,
        };
        Ok(self.stage(cx, self.written(cx, plan), &step, acknowledged("Section updated.")))
    }

    async fn move_section(&self, cx: &WriteCx<'_>, request: MoveSectionRequest) -> Change<Acknowledged> {
        let view = DocumentView::existing(self, cx)?;
        let list = view.list(cx)?;
        let from = list.with_id(&request.section_id)?;
        let plan = editor::relocate(&list.document, from, position(request.new_position))
            .map_err(errors::section)?;
        warn_of_adopted(cx, &list.document, &plan, from..from + plan.sections);
        let step = SectionChange::Move {
            section_id: list.ids[from],
            heading: errors::shown(&list.title(from)),
            from,
            position: plan.position,
            sections: plan.sections,
        };
        Ok(self.stage(cx, self.written(cx, plan), &step, acknowledged("Section moved.")))
    }

    async fn get_section(&self, cx: &ReadCx<'_>, request: GetSectionRequest) -> Answer<GetSectionResponse> {
        let view = DocumentView::existing(self, cx)?;
        let list = view.list(cx)?;
        let position = list.with_id(&request.section_id)?;
        cx.warn([conflict(&self.path, list.document.text)]);
        Ok(GetSectionResponse {
            heading: list.title(position),
            content: list.content(position).to_owned(),
            position: position as u64,
        })
    }

    async fn list_sections(&self, cx: &ReadCx<'_>, _: ListSectionsRequest) -> Answer<ListSectionsResponse> {
        let view = DocumentView::read(self, cx)?;
        let list = view.list(cx)?;
        cx.warn([(!view.exists).then(|| self.absence()), conflict(&self.path, list.document.text)]);
        let entries = list.ids.iter().enumerate().map(|(position, id)| SectionEntry {
            section_id: id.to_string(),
            heading: list.title(position),
            position: position as u64,
        });
        Ok(ListSectionsResponse { sections: entries.collect() })
    }

    async fn undo(&self, cx: &WriteCx<'_>, _: UndoRequest) -> Change<Acknowledged> {
        let (content, step) = DocumentView::read(self, cx)?.step(cx, Direction::Undo)?;
        Ok(self.stage(cx, content, &step, acknowledged("Undo successful.")))
    }

    async fn redo(&self, cx: &WriteCx<'_>, _: RedoRequest) -> Change<Acknowledged> {
        let (content, step) = DocumentView::read(self, cx)?.step(cx, Direction::Redo)?;
        Ok(self.stage(cx, content, &step, acknowledged("Redo successful.")))
    }

    async fn get_document(&self, cx: &ReadCx<'_>, _: GetDocumentRequest) -> Answer<GetDocumentResponse> {
        let document = self.text_or_warning(cx)?;
        Ok(GetDocumentResponse { document })
    }

    async fn document_resource(&self, cx: &ReadCx<'_>) -> Answer<DocumentResource> {
        let document = self.text_or_warning(cx)?;
        Ok(FullDocument { document })
    }

    async fn document_version(&self, _: &ReadCx<'_>) -> Answer<String> {
        Ok(self.library.version_tag(&self.path)?)
    }

    async fn history_resource(&self, cx: &ReadCx<'_>) -> Answer<HistoryResource> {
        let view = DocumentView::read(self, cx)?;
        let operations = view.operations().map(|operation| {
            let mut details = operation.details.clone();
            details.insert("commit".into(), operation.commit.clone().into());
            PastOperation { operation: operation.tool.clone(), timestamp: operation.time, details }
        });
        Ok(HistoryResource { history: operations.collect() })
    }

    async fn history_version(&self, _: &ReadCx<'_>) -> Answer<String> {
        Ok(self.library.head()?.unwrap_or_default())
    }

    async fn metadata_resource(&self, cx: &ReadCx<'_>) -> Answer<MetadataResource> {
        Ok(DocumentView::existing(self, cx)?.metadata(&self.library)?)
    }

    async fn metadata_version(&self, _: &ReadCx<'_>) -> Answer<String> {
        let (head, stamp) = (self.library.head()?, self.library.version_tag(&self.path)?);
        Ok(format!("{} {stamp}", head.unwrap_or_default()))
    }

    async fn summarize_section_prompt(
        &self,
        cx: &ReadCx<'_>,
        arguments: SummarizeSectionArguments,
    ) -> Answer<SummarizeSectionValues> {
        let section_content = self.content_of(cx, &arguments.section)?;
        Ok(SummarizeSectionValues { section_content })
    }

    async fn complete_summarize_section_section(&self, cx: &ReadCx<'_>, value: &str) -> Answer<Vec<String>> {
        self.sections_like(cx, value)
    }

    async fn rewrite_section_prompt(
        &self,
        cx: &ReadCx<'_>,
        arguments: RewriteSectionArguments,
    ) -> Answer<RewriteSectionValues> {
        let section_content = self.content_of(cx, &arguments.section)?;
        Ok(RewriteSectionValues { section_content })
    }

    async fn complete_rewrite_section_section(&self, cx: &ReadCx<'_>, value: &str) -> Answer<Vec<String>> {
        self.sections_like(cx, value)
    }

    async fn generate_outline_prompt(
        &self,
        cx: &ReadCx<'_>,
        _: GenerateOutlineArguments,
    ) -> Answer<GenerateOutlineValues> {
        let document = view::text(self, cx)?.ok_or_else(|| errors::no_document(&self.path))?;
        Ok(GenerateOutlineValues { document })
    }
}
