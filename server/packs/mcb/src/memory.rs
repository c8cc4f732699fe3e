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
use tabellion_runtime::{ReadCx, Rows, WriteCx};

use super::{
    call::Call,
    entries::Kind,
    inject, lists, observations, patterns, runs,
    state::{Answer, Change, Memory, refused},
    summaries, timeline,
};

impl Memory {
    fn inject<'m>(&'m self, cx: &'m ReadCx<'_, Rows>) -> inject::Inject<'m> {
        inject::Inject { call: Call::from_context(cx), index: &*self.index, workspaces: &self.workspaces }
    }
}

impl MemoryTool for Memory {
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
        lists::list(cx, &*self.index, lists::ListQuery::new(Kind::Observation, req)).await.map_err(refused)
    }

    async fn memory_list_execution(&self, cx: &ReadCx<'_, Rows>, req: ListRequest) -> Answer<Listing> {
        lists::list(cx, &*self.index, lists::ListQuery::new(Kind::Execution, req)).await.map_err(refused)
    }

    async fn memory_list_quality_gate(&self, cx: &ReadCx<'_, Rows>, req: ListRequest) -> Answer<Listing> {
        lists::list(cx, &*self.index, lists::ListQuery::new(Kind::QualityGate, req)).await.map_err(refused)
    }

    async fn memory_list_error_pattern(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryListErrorPatternRequest,
    ) -> Answer<PatternListing> {
        lists::list_patterns(cx, &*self.index, req.into()).await.map_err(refused)
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
        timeline::timeline(&Call::from_context(cx), &*self.index, req.into()).await.map_err(refused)
    }

    async fn memory_timeline_execution(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: TimelineRequest,
    ) -> Answer<Timeline> {
        let asked = timeline::TimelineQuery::new(Kind::Execution, req);
        timeline::timeline(&Call::from_context(cx), &*self.index, asked).await.map_err(refused)
    }

    async fn memory_timeline_quality_gate(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: TimelineRequest,
    ) -> Answer<Timeline> {
        let asked = timeline::TimelineQuery::new(Kind::QualityGate, req);
        timeline::timeline(&Call::from_context(cx), &*self.index, asked).await.map_err(refused)
    }

    async fn memory_timeline_error_pattern(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: TimelineRequest,
    ) -> Answer<Timeline> {
        let asked = timeline::TimelineQuery::new(Kind::ErrorPattern, req);
        timeline::timeline(&Call::from_context(cx), &*self.index, asked).await.map_err(refused)
    }

    async fn memory_timeline_session(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryTimelineSessionRequest,
    ) -> Answer<Timeline> {
        timeline::timeline(&Call::from_context(cx), &*self.index, req.into()).await.map_err(refused)
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
        let asked = inject::ContextQuery::new(Kind::Execution, req);
        self.inject(cx).run(asked).await.map_err(refused)
    }

    async fn memory_inject_quality_gate(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: InjectRequest,
    ) -> Answer<InjectedContext> {
        let asked = inject::ContextQuery::new(Kind::QualityGate, req);
        self.inject(cx).run(asked).await.map_err(refused)
    }

    async fn memory_inject_error_pattern(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: InjectRequest,
    ) -> Answer<InjectedContext> {
        let asked = inject::ContextQuery::new(Kind::ErrorPattern, req);
        self.inject(cx).run(asked).await.map_err(refused)
    }

    async fn memory_inject_session(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: MemoryInjectSessionRequest,
    ) -> Answer<InjectedContext> {
        self.inject(cx).run(req.into()).await.map_err(refused)
    }
}
