//! The tool `index`.

use tabellion_contracts::mcb::{
    IndexClearRequest, IndexClearResponse, IndexGitIndexRequest, IndexGitIndexResponse, IndexStartRequest,
    IndexStartResponse, IndexStatusRequest, IndexStatusResponse, IndexTool,
};

use super::{
    super::state::{Memory, methods},
    start, status,
};

impl IndexTool for Memory {
    methods! { WriteCx -> Change:
        index_start(IndexStartRequest) -> IndexStartResponse =
            |memory, cx, req| start::start(cx, &memory.code, req);
        index_git_index(IndexGitIndexRequest) -> IndexGitIndexResponse =
            |memory, cx, req| start::git_index(cx, &memory.code, req);
        index_clear(IndexClearRequest) -> IndexClearResponse =
            |memory, cx, req| start::clear(cx, &memory.code, req);
    }

    methods! { ReadCx -> Answer:
        index_status(IndexStatusRequest) -> IndexStatusResponse =
            |memory, cx, req| status::status(cx, &memory.code, req);
    }
}
