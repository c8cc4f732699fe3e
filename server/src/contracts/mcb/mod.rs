//! MCB's memory: sessions of agents, what they log, what they want to remember, and searching it.
//!
//! Rows that no operation here is about, such as projects and issues, need no Rust: the table engine runs them. What a method
//! changes, it plans with the entities' rules and stages; the store makes it in one transaction.
//!
//! | module | does |
//! |---|---|
//! | `call`, `values` | a call's org, provenance and plan; values that an argument, the data or the provenance gives |
//! | `sessions`, `agents` | sessions, and what is logged in them |
//! | `observations`, `runs`, `patterns`, `summaries` | the resources of the memory: storing and reading them |
//! | `entries`, `walk` | one form for all resources, and reading them in order of time |
//! | `lists`, `timeline`, `inject`, `search` | what looks at all resources in the same way |
//! | `index`, `words`, `rebuild` | what is asked of an index of words; the index beside the rows; how much of them it has |
//! | `meaning` | which rows and chunks want vectors |
//! | `ahead` | brings that index up to date before it is asked |
//! | `code` | indexes of code, and searching them |
//! | `repositories`, `vcs` | repositories in the workspaces, and comparisons of branches; branch and commit of the caller's repository |
//! | `validate` | rules and metrics over files of a workspace |

mod agents;
mod ahead;
mod call;
mod code;
mod entries;
mod index;
mod inject;
mod lists;
mod meaning;
mod observations;
mod patterns;
mod rebuild;
mod repositories;
mod runs;
mod search;
mod sessions;
mod summaries;
#[cfg(test)]
mod tests;
mod timeline;
mod validate;
mod values;
mod vcs;
mod walk;
mod words;

use std::sync::{Arc, Weak};

use serde_json::Value;
use tabellion_contracts::mcb::{
    AgentLogDelegationRequest, AgentLogDelegationResponse, AgentLogToolRequest, AgentLogToolResponse,
    CallProvenance, GetRunsRequest, IndexClearRequest, IndexClearResponse, IndexGitIndexRequest,
    IndexGitIndexResponse, IndexStartRequest, IndexStartResponse, IndexStatusRequest, IndexStatusResponse,
    InjectRequest, InjectedContext, ListRequest, Listing, Mcb, MemoryGetErrorPatternRequest,
    MemoryGetErrorPatternResponse, MemoryGetExecutionResponse, MemoryGetObservationRequest,
    MemoryGetObservationResponse, MemoryGetQualityGateResponse, MemoryGetSessionRequest, MemoryHits,
    MemoryInjectObservationRequest, MemoryInjectSessionRequest, MemoryListErrorPatternRequest,
    MemoryListSessionRequest, MemoryStoreErrorPatternRequest, MemoryStoreErrorPatternResponse,
    MemoryStoreExecutionRequest, MemoryStoreExecutionResponse, MemoryStoreObservationRequest,
    MemoryStoreQualityGateRequest, MemoryStoreQualityGateResponse, MemoryStoreSessionRequest,
    MemoryTimelineObservationRequest, MemoryTimelineSessionRequest, PatternListing, SearchCodeRequest,
    SearchCodeResponse, SearchRequest, Service, SessionCreateRequest, SessionCreateResponse,
    SessionGetRequest, SessionGetResponse, SessionListRequest, SessionListResponse,
    SessionReadSummaryRequest, SessionUpdateRequest, SessionUpdateResponse, StoredObservation, StoredSummary,
    SummarizeRequest, Summary, Timeline, TimelineRequest, ToolError, ValidateAnalyzeRequest,
    ValidateAnalyzeResponse, ValidateListRulesRequest, ValidateListRulesResponse, ValidateRunRequest,
    ValidateRunResponse, VcsAnalyzeImpactRequest, VcsAnalyzeImpactResponse, VcsCompareBranchesRequest,
    VcsCompareBranchesResponse, VcsIndexRepositoryRequest, VcsIndexRepositoryResponse,
    VcsListRepositoriesRequest, VcsListRepositoriesResponse, VcsSearchBranchRequest, VcsSearchBranchResponse,
};
use tabellion_meaning::{Installed, Meaning, Models};
use tabellion_records::Records;
use tabellion_runtime::{
    BoxFuture, CallContext, Contract, ContractSpec, ErrorAnswer, Failure, ReadCx, Rejection, Rows, Staged,
    Store, WriteCx, rows::RowError,
};
use tabellion_vcs::Workspaces;

use crate::data::Derived;

use self::{call::Call, code::Indexer, entries::Kind, index::MemoryIndex, words::Words};

/// A reading method's outcome.
type Answer<T> = Result<T, ToolError>;
/// A mutating method's outcome.
type Change<T> = Result<Staged<T, Rows>, ToolError>;

/// Name of the file of the index of code, beside that of the rows.
pub(crate) const CODE_FILE: &str = "mcb-code.db";
/// Name of the file of vectors.
const VECTORS_FILE: &str = "mcb-vectors.db";

/// Puts the implementation over `records`. The indexes of words and of code are files beside them; callers can name paths in
/// `workspaces`.
pub(super) fn service(records: Arc<Records>, workspaces: Arc<Workspaces>) -> Arc<dyn Contract> {
    let parts = Parts::new(&records, &workspaces, Box::new(Installed));
    ahead::begin(&parts.words);
    parts.begin();
    over(records, parts.words, parts.code, workspaces)
}

/// What is derived from rows and files: indexes of words and of code, and their vectors, in files beside the rows.
struct Parts {
    words: Arc<Words>,
    code: Indexer,
    meaning: Arc<Meaning>,
}

impl Parts {
    fn new(records: &Arc<Records>, workspaces: &Arc<Workspaces>, models: Box<dyn Models>) -> Self {
        let meaning = Arc::new(Meaning::new(records.path().with_file_name(VECTORS_FILE), models));
        let words = Arc::new(Words::new(Arc::clone(records), Arc::clone(&meaning)));
        let code = Indexer::new(
            records.path().with_file_name(CODE_FILE),
            Box::new(words::Rows(Arc::clone(records))),
            Arc::clone(workspaces),
            Arc::clone(&meaning),
        );
        Self { words, code, meaning }
    }

    /// Goes on, in the background, with what a server that ended has left.
    fn begin(&self) {
        let words: Weak<Words> = Arc::downgrade(&self.words);
        self.meaning.add(words);
        self.meaning.add(self.code.corpus());
        self.meaning.wake();
        self.code.resume();
    }
}

/// Returns the index of words beside `records`.
pub(super) fn words(records: Arc<Records>) -> Arc<dyn Derived> {
    let path = records.path().with_file_name(VECTORS_FILE);
    let meaning = Meaning::new(path, Box::new(Installed));
    Arc::new(Words::new(records, Arc::new(meaning)))
}

/// Returns the contract, served from `store`. `index` finds rows by their words; branch and commit of a caller's repository are
/// told where it is in one of `workspaces`. `code` has indexes of code.
fn over(
    store: Arc<dyn Store<Rows>>,
    index: Arc<dyn MemoryIndex>,
    code: Indexer,
    workspaces: Arc<Workspaces>,
) -> Arc<dyn Contract> {
    let memory = Memory {
        index,
        code,
        workspaces: Arc::clone(&workspaces),
    };
    let service = Service::new(memory, store);
    Arc::new(ReadingAhead { service, workspaces })
}

/// The contract, which reads a repository that a call is to index before the call takes its turn to write.
struct ReadingAhead {
    service: Service<Memory>,
    workspaces: Arc<Workspaces>,
}

impl Contract for ReadingAhead {
    fn spec(&self) -> &'static ContractSpec {
        self.service.spec()
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<tabellion_runtime::Answer, Rejection>> {
        Box::pin(async move {
            let work = self.service.call(call, tool, arguments.clone());
            code::start::with_repository(call, &self.workspaces, (tool, &arguments), work).await
        })
    }

    fn error_for(&self, failure: Failure) -> ErrorAnswer {
        self.service.error_for(failure)
    }
}

/// The implementation. The store has the rows.
struct Memory {
    index: Arc<dyn MemoryIndex>,
    code: Indexer,
    workspaces: Arc<Workspaces>,
}

impl Memory {
    fn inject<'m>(&'m self, cx: &'m ReadCx<'_, Rows>) -> inject::Inject<'m> {
        inject::Inject {
            call: Call::of(cx),
            index: &*self.index,
            workspaces: &self.workspaces,
        }
    }
}

/// Returns the contract's error for a refusal.
fn refused(error: RowError) -> ToolError {
    error.into_failure("/data").into()
}

impl Mcb for Memory {
    async fn bound_provenance(&self, cx: &ReadCx<'_, Rows>, session: &str) -> Answer<CallProvenance> {
        sessions::bound(cx, session).await.map_err(refused)
    }

    async fn index_start(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: IndexStartRequest,
    ) -> Change<IndexStartResponse> {
        code::start::start(cx, &self.code, req).await.map_err(refused)
    }

    async fn index_git_index(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: IndexGitIndexRequest,
    ) -> Change<IndexGitIndexResponse> {
        code::start::git_index(cx, &self.code, req).await.map_err(refused)
    }

    async fn index_status(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: IndexStatusRequest,
    ) -> Answer<IndexStatusResponse> {
        code::status::status(cx, &self.code, req).await.map_err(refused)
    }

    async fn index_clear(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: IndexClearRequest,
    ) -> Change<IndexClearResponse> {
        code::start::clear(cx, &self.code, req).await.map_err(refused)
    }

    async fn search_code(&self, cx: &ReadCx<'_, Rows>, req: SearchCodeRequest) -> Answer<SearchCodeResponse> {
        code::find::code(cx, &self.code, req).await.map_err(refused)
    }

    async fn session_create(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: SessionCreateRequest,
    ) -> Change<SessionCreateResponse> {
        sessions::create(cx, req).await.map_err(refused)
    }

    async fn session_get(&self, cx: &ReadCx<'_, Rows>, req: SessionGetRequest) -> Answer<SessionGetResponse> {
        sessions::get(cx, req).await.map_err(refused)
    }

    async fn session_update(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: SessionUpdateRequest,
    ) -> Change<SessionUpdateResponse> {
        sessions::update(cx, req).await.map_err(refused)
    }

    async fn session_list(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: SessionListRequest,
    ) -> Answer<SessionListResponse> {
        sessions::list(cx, req).await.map_err(refused)
    }

    async fn session_summarize(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: SummarizeRequest,
    ) -> Change<StoredSummary> {
        let session = Some(req.session_id);
        self.index.expect();
        let stored = summaries::store(cx, req.data, session, req.project_id, None);
        stored.await.map_err(refused)
    }

    async fn session_read_summary(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: SessionReadSummaryRequest,
    ) -> Answer<Summary> {
        let newest = summaries::newest(cx, req.session_id, req.project_id);
        newest.await.map_err(refused)
    }

    async fn agent_log_tool(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: AgentLogToolRequest,
    ) -> Change<AgentLogToolResponse> {
        agents::log_tool(cx, req).await.map_err(refused)
    }

    async fn agent_log_delegation(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: AgentLogDelegationRequest,
    ) -> Change<AgentLogDelegationResponse> {
        agents::log_delegation(cx, req).await.map_err(refused)
    }

    async fn memory_store_observation(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: MemoryStoreObservationRequest,
    ) -> Change<StoredObservation> {
        self.index.expect();
        observations::store(cx, req).await.map_err(refused)
    }

    async fn memory_store_execution(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: MemoryStoreExecutionRequest,
    ) -> Change<MemoryStoreExecutionResponse> {
        self.index.expect();
        runs::store_execution(cx, req).await.map_err(refused)
    }

    async fn memory_store_quality_gate(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: MemoryStoreQualityGateRequest,
    ) -> Change<MemoryStoreQualityGateResponse> {
        self.index.expect();
        runs::store_quality_gate(cx, req).await.map_err(refused)
    }

    async fn memory_store_error_pattern(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: MemoryStoreErrorPatternRequest,
    ) -> Change<MemoryStoreErrorPatternResponse> {
        self.index.expect();
        patterns::store(cx, req).await.map_err(refused)
    }

    async fn memory_store_session(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: MemoryStoreSessionRequest,
    ) -> Change<StoredSummary> {
        self.index.expect();
        let stored = summaries::store(cx, req.data, req.session_id, req.project_id, req.repo_id);
        stored.await.map_err(refused)
    }

    async fn memory_get_observation(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryGetObservationRequest,
    ) -> Answer<MemoryGetObservationResponse> {
        observations::get(cx, req).await.map_err(refused)
    }

    async fn memory_get_execution(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: GetRunsRequest,
    ) -> Answer<MemoryGetExecutionResponse> {
        runs::get_executions(cx, req).await.map_err(refused)
    }

    async fn memory_get_quality_gate(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: GetRunsRequest,
    ) -> Answer<MemoryGetQualityGateResponse> {
        runs::get_quality_gates(cx, req).await.map_err(refused)
    }

    async fn memory_get_error_pattern(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryGetErrorPatternRequest,
    ) -> Answer<MemoryGetErrorPatternResponse> {
        patterns::get(cx, &*self.index, req).await.map_err(refused)
    }

    async fn memory_get_session(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryGetSessionRequest,
    ) -> Answer<Summary> {
        let newest = summaries::newest(cx, req.session_id, req.project_id);
        newest.await.map_err(refused)
    }

    async fn memory_list_observation(&self, cx: &ReadCx<'_, Rows>, req: ListRequest) -> Answer<Listing> {
        lists::list(cx, &*self.index, lists::Asked::of(Kind::Observation, req))
            .await
            .map_err(refused)
    }

    async fn memory_list_execution(&self, cx: &ReadCx<'_, Rows>, req: ListRequest) -> Answer<Listing> {
        lists::list(cx, &*self.index, lists::Asked::of(Kind::Execution, req))
            .await
            .map_err(refused)
    }

    async fn memory_list_quality_gate(&self, cx: &ReadCx<'_, Rows>, req: ListRequest) -> Answer<Listing> {
        lists::list(cx, &*self.index, lists::Asked::of(Kind::QualityGate, req))
            .await
            .map_err(refused)
    }

    async fn memory_list_error_pattern(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryListErrorPatternRequest,
    ) -> Answer<PatternListing> {
        lists::list_patterns(cx, &*self.index, req.into())
            .await
            .map_err(refused)
    }

    async fn memory_list_session(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryListSessionRequest,
    ) -> Answer<Listing> {
        lists::list(cx, &*self.index, req.into()).await.map_err(refused)
    }

    async fn memory_timeline_observation(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryTimelineObservationRequest,
    ) -> Answer<Timeline> {
        timeline::timeline(&Call::of(cx), &*self.index, req.into())
            .await
            .map_err(refused)
    }

    async fn memory_timeline_execution(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: TimelineRequest,
    ) -> Answer<Timeline> {
        let asked = timeline::Asked::of(Kind::Execution, req);
        timeline::timeline(&Call::of(cx), &*self.index, asked)
            .await
            .map_err(refused)
    }

    async fn memory_timeline_quality_gate(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: TimelineRequest,
    ) -> Answer<Timeline> {
        let asked = timeline::Asked::of(Kind::QualityGate, req);
        timeline::timeline(&Call::of(cx), &*self.index, asked)
            .await
            .map_err(refused)
    }

    async fn memory_timeline_error_pattern(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: TimelineRequest,
    ) -> Answer<Timeline> {
        let asked = timeline::Asked::of(Kind::ErrorPattern, req);
        timeline::timeline(&Call::of(cx), &*self.index, asked)
            .await
            .map_err(refused)
    }

    async fn memory_timeline_session(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryTimelineSessionRequest,
    ) -> Answer<Timeline> {
        timeline::timeline(&Call::of(cx), &*self.index, req.into())
            .await
            .map_err(refused)
    }

    async fn memory_inject_observation(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryInjectObservationRequest,
    ) -> Answer<InjectedContext> {
        self.inject(cx).run(req.into()).await.map_err(refused)
    }

    async fn memory_inject_execution(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: InjectRequest,
    ) -> Answer<InjectedContext> {
        let asked = inject::Asked::of(Kind::Execution, req);
        self.inject(cx).run(asked).await.map_err(refused)
    }

    async fn memory_inject_quality_gate(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: InjectRequest,
    ) -> Answer<InjectedContext> {
        let asked = inject::Asked::of(Kind::QualityGate, req);
        self.inject(cx).run(asked).await.map_err(refused)
    }

    async fn memory_inject_error_pattern(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: InjectRequest,
    ) -> Answer<InjectedContext> {
        let asked = inject::Asked::of(Kind::ErrorPattern, req);
        self.inject(cx).run(asked).await.map_err(refused)
    }

    async fn memory_inject_session(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryInjectSessionRequest,
    ) -> Answer<InjectedContext> {
        self.inject(cx).run(req.into()).await.map_err(refused)
    }

    async fn search_memory(&self, cx: &ReadCx<'_, Rows>, req: SearchRequest) -> Answer<MemoryHits> {
        search::search(cx, &*self.index, search::Among::Everything, req)
            .await
            .map_err(refused)
    }

    async fn search_context(&self, cx: &ReadCx<'_, Rows>, req: SearchRequest) -> Answer<MemoryHits> {
        search::search(cx, &*self.index, search::Among::Context, req)
            .await
            .map_err(refused)
    }

    async fn validate_run(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: ValidateRunRequest,
    ) -> Answer<ValidateRunResponse> {
        Ok(validate::run(cx, &self.workspaces, req)?)
    }

    async fn validate_list_rules(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: ValidateListRulesRequest,
    ) -> Answer<ValidateListRulesResponse> {
        Ok(validate::list_rules(cx, &self.workspaces, req)?)
    }

    async fn validate_analyze(
        &self,
        _cx: &ReadCx<'_, Rows>,
        req: ValidateAnalyzeRequest,
    ) -> Answer<ValidateAnalyzeResponse> {
        Ok(validate::analyze(&self.workspaces, req)?)
    }

    async fn vcs_index_repository(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: VcsIndexRepositoryRequest,
    ) -> Change<VcsIndexRepositoryResponse> {
        let listed = code::start::named_repository(cx, &self.code, &req).map_err(refused)?;
        repositories::check_id(cx, &req.repo_id, &listed.id, &listed.path).await?;
        code::start::repository(cx, &self.code, &listed)
            .await
            .map_err(refused)
    }

    async fn vcs_list_repositories(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: VcsListRepositoriesRequest,
    ) -> Answer<VcsListRepositoriesResponse> {
        repositories::list(cx, &self.workspaces, req).await
    }

    async fn vcs_compare_branches(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: VcsCompareBranchesRequest,
    ) -> Answer<VcsCompareBranchesResponse> {
        repositories::compare(cx, &self.workspaces, req).await
    }

    async fn vcs_search_branch(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: VcsSearchBranchRequest,
    ) -> Answer<VcsSearchBranchResponse> {
        repositories::search(cx, &self.workspaces, req).await
    }

    async fn vcs_analyze_impact(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: VcsAnalyzeImpactRequest,
    ) -> Answer<VcsAnalyzeImpactResponse> {
        repositories::impact(cx, &self.workspaces, req).await
    }
}
