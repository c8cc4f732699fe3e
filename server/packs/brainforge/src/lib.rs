//! BrainForge: notes that people and agents write, search, link and export. An agent's changes wait for a person's approval.
//!
//! Notes are the Markdown files of a library, and proposals are documents in `workflows/`. A mutating call is one commit, of the note, of
//! the proposal, or of both.
//!
//! | module | does |
//! |---|---|
//! | `shelf` | the catalogue of notes and their index, kept up to the files |
//! | `draft` | a note's content and metadata in a request, checked |
//! | `versions` | numbers of versions, from git's history |
//! | `review` | proposals, as documents, and decisions on them |
//! | `desk` | the same, for people at the terminal |
//! | `requested` | instances of workflows that a request starts, as documents |
//! | `fields` | fields of instances in the catalogue |
//! | `instances` | instances of all workflows: listed, shown, started, and their tasks completed |
//! | `moments` | times and ids that are equal for repetitions of a call |
//! | `changes` | creating, updating and linking notes |
//! | `named_note` | the document of the note that a call names |
//! | `exports` | exports as files, until they expire |
//! | `downloads` | their URLs over HTTP |
//! | `offers` | resources |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod changes;
mod desk;
mod downloads;
mod draft;
mod exports;
mod fields;
mod instances;
mod moments;
mod named_note;
mod offers;
mod parts;
mod requested;
mod review;
mod rounds;
mod shelf;
#[cfg(test)]
mod tests;
mod values;
mod versions;

use std::{sync::Arc, time::Instant};

use tabellion_contracts::brainforge::{
    BrainForge, CONTRACT, CreateLinkRequest, CreateLinkResponse, CreateNoteRequest, CreateNoteResponse,
    ExportLibraryRequest, ExportLibraryResponse, IndexResource, IndexVariables, MineResource,
    NoteLinksResource, NoteLinksVariables, NoteResource, NoteSummary, NoteVariables, NoteVersionsResource,
    NoteVersionsVariables, SearchResult, SemanticSearchRequest, SemanticSearchResponse, Service,
    TagsResource, ToolError, UpdateNoteRequest, UpdateNoteResponse, VersionOfNoteResource,
    VersionOfNoteVariables, WaitingResource, tool,
};
use tabellion_library::Library;
use tabellion_meaning::Installed;
use tabellion_notes::{Entry, NoteQuery, Problem, Selection};
use tabellion_pack::{Implementation, Pack, review::Review};
use tabellion_runtime::{
    Contract, Failure, ReadCx, Staged, WriteCx,
    workflow_calls::{
        CompleteTask, GetInstance, InstanceView, Instances, ListInstances, StartWorkflow, StartedInstance,
    },
};

use self::{desk::Desk, downloads::Exports, shelf::Shelf};

use self::values::{count, invalid, is_owner, moment, parse_id, word};

/// `_meta` key of a response: `hybrid` if the search was by words and meaning, `lexical` if by words alone.
const RANKING: &str = "tabellion/ranking";

/// BrainForge, over a library.
pub static PACK: Pack = Pack {
    downloads: Some(|library| Arc::new(Exports::new(&Shelf::derived(library)))),
    review: Some(Review {
        contract: &CONTRACT,
        desk: |library, calls| Arc::new(Desk::new(library, calls)),
        decision_tool: desk::DECISION_TOOL,
        proposing_tools: &[tool::CREATE_NOTE, tool::UPDATE_NOTE],
        folder: values::FOLDER,
    }),
    problems: Some(problems),
    ..Pack::new(&CONTRACT, Implementation::Documents(|library, _| Some(service(library))))
};

/// Returns the contract, served from `library`.
fn service(library: Arc<Library>) -> Arc<dyn Contract> {
    let shelf = Shelf::new(Arc::clone(&library), Box::new(Installed), instances::parse);
    Arc::new(Service::new(Forge { shelf }, library))
}

/// Returns the problems of a library's notes, by path; an empty list if the contract was never served from it.
fn problems(library: &Library) -> Result<Vec<(String, Vec<String>)>, Failure> {
    if !Shelf::is_used(library) {
        return Ok(vec![]);
    }
    let all = tabellion_notes::problems(library).map_err(shelf::of_catalogue)?;
    let told = |problems: Vec<Problem>| problems.iter().map(Problem::to_string).collect();
    Ok(all.into_iter().map(|(path, problems)| (path, told(problems))).collect())
}

/// The implementation.
struct Forge {
    shelf: Arc<Shelf>,
}

impl BrainForge for Forge {
    async fn semantic_search(
        &self,
        cx: &ReadCx<'_>,
        request: SemanticSearchRequest,
    ) -> Result<SemanticSearchResponse, ToolError> {
        let begun = Instant::now();
        let filters = request.filters;
        let selection = filters.map_or_else(Selection::default, |filters| Selection {
            note_type: filters.note_type.map(|note_type| word(&note_type)),
            tags: filters.tags.unwrap_or_default(),
            created_after: filters.created_after.map(|time| time.to_utc()),
            created_before: filters.created_before.map(|time| time.to_utc()),
            ids: None,
        });
        if let (Some(after), Some(before)) = (selection.created_after, selection.created_before)
            && after > before
        {
            let message = "`created_after` is later than `created_before`: exchange them";
            return Err(invalid("range", message));
        }
        let query = NoteQuery {
            text: request.query,
            selection,
            limit: request.limit as usize,
            excerpts: request.include_excerpts,
        };
        let found = self.shelf.search(&query)?;
        let ranking = if found.by_meaning { "hybrid" } else { "lexical" };
        cx.note(RANKING, ranking);
        let results = found.hits.into_iter().map(|hit| SearchResult {
            note_id: Some(hit.entry.id.to_string()),
            similarity_score: Some(hit.score),
            metadata: Some(summary(&hit.entry)),
            excerpt: hit.excerpt.filter(|_| !hit.entry.metadata.sensitive || is_owner(cx)),
        });
        Ok(SemanticSearchResponse {
            results: Some(results.collect()),
            total_results: Some(count(found.total)),
            search_time_ms: Some(begun.elapsed().as_millis().try_into().unwrap_or(i64::MAX)),
        })
    }

    async fn create_note(
        &self,
        cx: &WriteCx<'_>,
        request: CreateNoteRequest,
    ) -> Result<Staged<CreateNoteResponse>, ToolError> {
        changes::create(&self.shelf, cx, request)
    }

    async fn update_note(
        &self,
        cx: &WriteCx<'_>,
        request: UpdateNoteRequest,
    ) -> Result<Staged<UpdateNoteResponse>, ToolError> {
        changes::update(&self.shelf, cx, request)
    }

    async fn create_link(
        &self,
        cx: &WriteCx<'_>,
        request: CreateLinkRequest,
    ) -> Result<Staged<CreateLinkResponse>, ToolError> {
        changes::link(&self.shelf, cx, request)
    }

    async fn export_library(
        &self,
        cx: &ReadCx<'_>,
        request: ExportLibraryRequest,
    ) -> Result<ExportLibraryResponse, ToolError> {
        exports::export(&self.shelf, cx, request)
    }

    async fn start_workflow(
        &self,
        cx: &WriteCx<'_>,
        request: StartWorkflow,
    ) -> Result<Staged<StartedInstance>, ToolError> {
        instances::start(&self.shelf, cx, &request)
    }

    async fn workflow_instances(
        &self,
        cx: &ReadCx<'_>,
        request: ListInstances,
    ) -> Result<Instances, ToolError> {
        instances::list(&self.shelf, cx, &request)
    }

    async fn workflow_instance(
        &self,
        cx: &ReadCx<'_>,
        request: GetInstance,
    ) -> Result<InstanceView, ToolError> {
        instances::get(&self.shelf, cx, &request)
    }

    async fn complete_task(
        &self,
        cx: &WriteCx<'_>,
        request: CompleteTask,
    ) -> Result<Staged<InstanceView>, ToolError> {
        instances::complete(&self.shelf, cx, &request)
    }

    async fn tags_resource(&self, _: &ReadCx<'_>) -> Result<TagsResource, ToolError> {
        offers::tags(&self.shelf)
    }

    async fn tags_version(&self, _: &ReadCx<'_>) -> Result<String, ToolError> {
        self.notes_version()
    }

    async fn waiting_resource(&self, cx: &ReadCx<'_>) -> Result<WaitingResource, ToolError> {
        offers::waiting(&self.shelf, cx)
    }

    async fn waiting_version(&self, _: &ReadCx<'_>) -> Result<String, ToolError> {
        self.proposals_version()
    }

    async fn mine_resource(&self, cx: &ReadCx<'_>) -> Result<MineResource, ToolError> {
        offers::mine(&self.shelf, cx)
    }

    async fn mine_version(&self, _: &ReadCx<'_>) -> Result<String, ToolError> {
        self.proposals_version()
    }

    async fn note_resource(
        &self,
        cx: &ReadCx<'_>,
        variables: NoteVariables,
    ) -> Result<NoteResource, ToolError> {
        offers::note(&self.shelf, cx, &variables.note_id)
    }

    async fn note_version(&self, _: &ReadCx<'_>, variables: NoteVariables) -> Result<String, ToolError> {
        self.version_of(&variables.note_id)
    }

    async fn complete_note_note_id(&self, _: &ReadCx<'_>, value: &str) -> Result<Vec<String>, ToolError> {
        offers::ids(&self.shelf, value)
    }

    async fn note_versions_resource(
        &self,
        cx: &ReadCx<'_>,
        variables: NoteVersionsVariables,
    ) -> Result<NoteVersionsResource, ToolError> {
        offers::versions(&self.shelf, cx, &variables.note_id)
    }

    async fn note_versions_version(
        &self,
        _: &ReadCx<'_>,
        variables: NoteVersionsVariables,
    ) -> Result<String, ToolError> {
        self.version_of(&variables.note_id)
    }

    async fn version_of_note_resource(
        &self,
        cx: &ReadCx<'_>,
        variables: VersionOfNoteVariables,
    ) -> Result<VersionOfNoteResource, ToolError> {
        offers::version(&self.shelf, cx, &variables.note_id, &variables.version)
    }

    async fn version_of_note_version(
        &self,
        _: &ReadCx<'_>,
        variables: VersionOfNoteVariables,
    ) -> Result<String, ToolError> {
        self.version_of(&variables.note_id)
    }

    async fn note_links_resource(
        &self,
        _: &ReadCx<'_>,
        variables: NoteLinksVariables,
    ) -> Result<NoteLinksResource, ToolError> {
        offers::links(&self.shelf, &variables.note_id)
    }

    async fn note_links_version(&self, _: &ReadCx<'_>, _: NoteLinksVariables) -> Result<String, ToolError> {
        self.notes_version()
    }

    async fn index_resource(
        &self,
        _: &ReadCx<'_>,
        variables: IndexVariables,
    ) -> Result<IndexResource, ToolError> {
        offers::index(&self.shelf, &variables)
    }

    async fn index_version(&self, _: &ReadCx<'_>, _: IndexVariables) -> Result<String, ToolError> {
        self.notes_version()
    }

    async fn complete_index_tag(&self, _: &ReadCx<'_>, value: &str) -> Result<Vec<String>, ToolError> {
        offers::tags_like(&self.shelf, value)
    }
}

impl Forge {
    fn notes_version(&self) -> Result<String, ToolError> {
        Ok(self.shelf.follow()?.to_string())
    }

    /// Returns a version tag of all proposals. A change of a note can make one stale, and a subscription has no caller, so the list of an
    /// agent's own proposals has the same tag.
    fn proposals_version(&self) -> Result<String, ToolError> {
        Ok(format!("{} {}", self.notes_version()?, self.shelf.reviews_version()?))
    }

    /// Returns a version tag that changes with the note and with each commit of its library.
    fn version_of(&self, id: &str) -> Result<String, ToolError> {
        Ok(self.shelf.version_tag(parse_id(id)?)?)
    }
}

fn summary(entry: &Entry) -> NoteSummary {
    NoteSummary {
        title: Some(entry.title.clone()),
        note_type: Some(entry.metadata.note_type().to_owned()),
        tags: Some(entry.metadata.tags.clone()),
        created_at: Some(moment(entry.created_at)),
    }
}
