//! The tool `memory`: storing and reading the resources of sessions.

use tabellion_contracts::mcb::{
    GetRunsRequest, InjectRequest, InjectedContext, ListRequest, Listing, MemoryGetErrorPatternRequest,
    MemoryGetErrorPatternResponse, MemoryGetExecutionResponse, MemoryGetObservationRequest,
    MemoryGetObservationResponse, MemoryGetQualityGateResponse, MemoryGetSessionRequest,
    MemoryInjectObservationRequest, MemoryInjectSessionRequest, MemoryListErrorPatternRequest,
    MemoryListSessionRequest, MemoryStoreErrorPatternRequest, MemoryStoreErrorPatternResponse,
    MemoryStoreExecutionRequest, MemoryStoreExecutionResponse, MemoryStoreObservationRequest,
    MemoryStoreQualityGateRequest, MemoryStoreQualityGateResponse, MemoryStoreSessionRequest,
    MemoryTimelineObservationRequest, MemoryTimelineSessionRequest, MemoryTool, PatternListing,
    StoredObservation, StoredSummary, Summary, Timeline, TimelineRequest,
};
use tabellion_runtime::{ReadCx, Rows, rows::RowError};

use super::{
    call::Call,
    entries::Kind,
    inject::{ContextQuery, Inject},
    lists::{self, ListQuery},
    observations, patterns, runs,
    state::{Memory, methods},
    summaries,
    timeline::{self, TimelineQuery},
};

impl Memory {
    async fn list(&self, cx: &ReadCx<'_, Rows>, asked: ListQuery) -> Result<Listing, RowError> {
        lists::list(cx, &*self.index, asked).await
    }

    async fn timeline(&self, cx: &ReadCx<'_, Rows>, asked: TimelineQuery) -> Result<Timeline, RowError> {
        timeline::timeline(&Call::from_context(cx), &*self.index, asked).await
    }

    async fn inject(&self, cx: &ReadCx<'_, Rows>, asked: ContextQuery) -> Result<InjectedContext, RowError> {
        let (index, workspaces) = (&*self.index, &*self.workspaces);
        Inject { call: Call::from_context(cx), index, workspaces }.run(asked).await
    }
}

impl MemoryTool for Memory {
    methods! { WriteCx -> Change:
        memory_store_observation(MemoryStoreObservationRequest) -> StoredObservation =
            |memory, cx, req| memory.expecting(observations::store(cx, req));
        memory_store_execution(MemoryStoreExecutionRequest) -> MemoryStoreExecutionResponse =
            |memory, cx, req| memory.expecting(runs::store_execution(cx, req));
        memory_store_quality_gate(MemoryStoreQualityGateRequest) -> MemoryStoreQualityGateResponse =
            |memory, cx, req| memory.expecting(runs::store_quality_gate(cx, req));
        memory_store_error_pattern(MemoryStoreErrorPatternRequest) -> MemoryStoreErrorPatternResponse =
            |memory, cx, req| memory.expecting(patterns::store(cx, req));
        memory_store_session(MemoryStoreSessionRequest) -> StoredSummary =
            |memory, cx, req| {
                let stored = summaries::store(cx, req.data, req.session_id, req.project_id, req.repo_id);
                memory.expecting(stored)
            };
    }

    methods! { ReadCx -> Answer:
        memory_get_observation(MemoryGetObservationRequest) -> MemoryGetObservationResponse =
            |_, cx, req| observations::get(cx, req);
        memory_get_execution(GetRunsRequest) -> MemoryGetExecutionResponse =
            |_, cx, req| runs::get_executions(cx, req);
        memory_get_quality_gate(GetRunsRequest) -> MemoryGetQualityGateResponse =
            |_, cx, req| runs::get_quality_gates(cx, req);
        memory_get_error_pattern(MemoryGetErrorPatternRequest) -> MemoryGetErrorPatternResponse =
            |memory, cx, req| patterns::get(cx, &*memory.index, req);
        memory_get_session(MemoryGetSessionRequest) -> Summary =
            |_, cx, req| summaries::newest(cx, req.session_id, req.project_id);
        memory_list_observation(ListRequest) -> Listing =
            |memory, cx, req| memory.list(cx, ListQuery::new(Kind::Observation, req));
        memory_list_execution(ListRequest) -> Listing =
            |memory, cx, req| memory.list(cx, ListQuery::new(Kind::Execution, req));
        memory_list_quality_gate(ListRequest) -> Listing =
            |memory, cx, req| memory.list(cx, ListQuery::new(Kind::QualityGate, req));
        memory_list_error_pattern(MemoryListErrorPatternRequest) -> PatternListing =
            |memory, cx, req| lists::list_patterns(cx, &*memory.index, req.into());
        memory_list_session(MemoryListSessionRequest) -> Listing =
            |memory, cx, req| memory.list(cx, req.into());
        memory_timeline_observation(MemoryTimelineObservationRequest) -> Timeline =
            |memory, cx, req| memory.timeline(cx, req.into());
        memory_timeline_execution(TimelineRequest) -> Timeline =
            |memory, cx, req| memory.timeline(cx, TimelineQuery::new(Kind::Execution, req));
        memory_timeline_quality_gate(TimelineRequest) -> Timeline =
            |memory, cx, req| memory.timeline(cx, TimelineQuery::new(Kind::QualityGate, req));
        memory_timeline_error_pattern(TimelineRequest) -> Timeline =
            |memory, cx, req| memory.timeline(cx, TimelineQuery::new(Kind::ErrorPattern, req));
        memory_timeline_session(MemoryTimelineSessionRequest) -> Timeline =
            |memory, cx, req| memory.timeline(cx, req.into());
        memory_inject_observation(MemoryInjectObservationRequest) -> InjectedContext =
            |memory, cx, req| memory.inject(cx, req.into());
        memory_inject_execution(InjectRequest) -> InjectedContext =
            |memory, cx, req| memory.inject(cx, ContextQuery::new(Kind::Execution, req));
        memory_inject_quality_gate(InjectRequest) -> InjectedContext =
            |memory, cx, req| memory.inject(cx, ContextQuery::new(Kind::QualityGate, req));
        memory_inject_error_pattern(InjectRequest) -> InjectedContext =
            |memory, cx, req| memory.inject(cx, ContextQuery::new(Kind::ErrorPattern, req));
        memory_inject_session(MemoryInjectSessionRequest) -> InjectedContext =
            |memory, cx, req| memory.inject(cx, req.into());
    }
}
