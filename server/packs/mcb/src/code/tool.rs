//! The tool `index`.

use tabellion_contracts::mcb::{
    IndexClearRequest, IndexClearResponse, IndexGitIndexRequest, IndexGitIndexResponse, IndexStartRequest,
    IndexStartResponse, IndexStatusRequest, IndexStatusResponse, IndexTool,
};
use tabellion_runtime::{ReadCx, Rows, WriteCx};

use super::{
    super::state::{Answer, Change, Memory, refused},
    start, status,
};

impl IndexTool for Memory {
    async fn index_start(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: IndexStartRequest,
    ) -> Change<IndexStartResponse> {
        start::start(cx, &self.code, req).await.map_err(refused)
    }

    async fn index_git_index(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: IndexGitIndexRequest,
    ) -> Change<IndexGitIndexResponse> {
        start::git_index(cx, &self.code, req).await.map_err(refused)
    }

    async fn index_status(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: IndexStatusRequest,
    ) -> Answer<IndexStatusResponse> {
        status::status(cx, &self.code, req).await.map_err(refused)
    }

    async fn index_clear(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: IndexClearRequest,
    ) -> Change<IndexClearResponse> {
        start::clear(cx, &self.code, req).await.map_err(refused)
    }
}
