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
    VersionOfNoteVariables, WORKFLOW_AGENT_NOTE_REVIEW, WaitingResource, tool,
};
use tabellion_library::Library;
use tabellion_meaning::Installed;
use tabellion_notes::{Entry, Files, NoteQuery, Part, Problem, Selection};
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
        workflow: &WORKFLOW_AGENT_NOTE_REVIEW,
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

/// Returns the problems of a library's notes and proposals, by path; an empty list if the contract was never served from it.
fn problems(library: &Library) -> Result<Vec<(String, Vec<String>)>, Failure> {
    if !Shelf::is_used(library) {
        return Ok(vec![]);
    }
    let all = tabellion_notes::problems(library).map_err(shelf::of_catalogue)?;
    let told = |problems: Vec<Problem>| problems.iter().map(Problem::to_string).collect();
    let mut found: Vec<_> = all.into_iter().map(|(path, problems)| (path, told(problems))).collect();
    for (path, _) in Files::stats(library, Part::Instances).map_err(tabellion_pack::failures::folder)? {
        let is_proposal = |bytes: Vec<u8>| instances::parse(path.as_str(), &bytes).is_some();
        // One that is gone has no problem.
        if !Files::read(library, &path).is_ok_and(|bytes| bytes.is_none_or(is_proposal)) {
            let problem = "no proposal can be read from it, so it is in no list: restore it from the history, or move a note of your own out of `workflows/`";
            found.push((path.as_str().to_owned(), vec![problem.to_owned()]));
        }
    }
    Ok(found)
}

/// The implementation.
struct Forge {
    shelf: Arc<Shelf>,
}

/// Implements methods of the contract that have the same context and outcome. The parenthesis has the type of the last argument, if there is
/// one: a tool's or workflow's request, a resource's variables, or the value that a completion continues.
macro_rules! methods {
    ($context:ident -> $outcome:ident:
        $($name:ident($($type:ty)?) -> $response:ty = |$forge:tt, $cx:tt $(, $given:tt)?| $answer:expr;)*
    ) => {$(
        async fn $name(&self, $cx: &$context<'_> $(, $given: $type)?) -> $outcome<$response> {
            let $forge = self;
            $answer
        }
    )*};
}

/// A reading method's outcome.
type Answer<T> = Result<T, ToolError>;
/// A mutating method's outcome.
type Change<T> = Result<Staged<T>, ToolError>;

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
        values::check_tags("filters.tags", &selection.tags)?;
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
            sensitive: is_owner(cx),
        };
        let report = |done, all| cx.progress(done, Some(all), "changes of notes indexed");
        let found = self.shelf.search(&query, &report)?;
        let ranking = if found.by_meaning { "hybrid" } else { "lexical" };
        cx.note(RANKING, ranking);
        let results = found.hits.into_iter().map(|hit| SearchResult {
            note_id: Some(hit.entry.id.to_string()),
            similarity_score: Some(hit.score),
            metadata: Some(summary(&hit.entry)),
            excerpt: hit.excerpt,
        });
        Ok(SemanticSearchResponse {
            results: Some(results.collect()),
            total_results: Some(count(found.total)),
            search_time_ms: Some(begun.elapsed().as_millis().try_into().unwrap_or(i64::MAX)),
        })
    }

    methods! { WriteCx -> Change:
        create_note(CreateNoteRequest) -> CreateNoteResponse =
            |_, cx, request| changes::create(cx, request);
        update_note(UpdateNoteRequest) -> UpdateNoteResponse =
            |forge, cx, request| changes::update(&forge.shelf, cx, request);
        create_link(CreateLinkRequest) -> CreateLinkResponse =
            |forge, cx, request| changes::link(&forge.shelf, cx, request);
        start_workflow(StartWorkflow) -> StartedInstance =
            |_, cx, request| instances::start(cx, &request);
        complete_task(CompleteTask) -> InstanceView =
            |forge, cx, request| instances::complete(&forge.shelf, cx, &request);
    }

    methods! { ReadCx -> Answer:
        export_library(ExportLibraryRequest) -> ExportLibraryResponse =
            |forge, cx, request| exports::export(&forge.shelf, cx, request);
        workflow_instances(ListInstances) -> Instances =
            |forge, cx, request| instances::list(&forge.shelf, cx, &request);
        workflow_instance(GetInstance) -> InstanceView =
            |forge, cx, request| instances::get(&forge.shelf, cx, &request);
        tags_resource() -> TagsResource = |forge, _| offers::tags(&forge.shelf);
        tags_version() -> String = |forge, _| forge.notes_version();
        waiting_resource() -> WaitingResource = |forge, cx| offers::waiting(&forge.shelf, cx);
        waiting_version() -> String = |forge, _| forge.proposals_version();
        mine_resource() -> MineResource = |forge, cx| offers::mine(&forge.shelf, cx);
        mine_version() -> String = |forge, _| forge.proposals_version();
        note_resource(NoteVariables) -> NoteResource =
            |forge, cx, variables| offers::note(&forge.shelf, cx, &variables.note_id);
        note_version(NoteVariables) -> String = |forge, _, variables| forge.version_of(&variables.note_id);
        complete_note_note_id(&str) -> Vec<String> = |forge, _, value| offers::ids(&forge.shelf, value);
        note_versions_resource(NoteVersionsVariables) -> NoteVersionsResource =
            |forge, cx, variables| offers::versions(&forge.shelf, cx, &variables.note_id);
        note_versions_version(NoteVersionsVariables) -> String =
            |forge, _, variables| forge.version_of(&variables.note_id);
        version_of_note_resource(VersionOfNoteVariables) -> VersionOfNoteResource =
            |forge, cx, variables| offers::version(&forge.shelf, cx, &variables.note_id, &variables.version);
        version_of_note_version(VersionOfNoteVariables) -> String =
            |forge, _, variables| forge.version_of(&variables.note_id);
        note_links_resource(NoteLinksVariables) -> NoteLinksResource =
            |forge, _, variables| offers::links(&forge.shelf, &variables.note_id);
        note_links_version(NoteLinksVariables) -> String = |forge, _, _| forge.notes_version();
        index_resource(IndexVariables) -> IndexResource =
            |forge, _, variables| offers::index(&forge.shelf, &variables);
        index_version(IndexVariables) -> String = |forge, _, _| forge.notes_version();
        complete_index_tag(&str) -> Vec<String> = |forge, _, value| offers::tags_like(&forge.shelf, value);
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
