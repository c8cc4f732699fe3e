//! An implementation of the contract with operations as it was before the change. No case edits it.

use crate::desk::*;
use tabellion_runtime::{Change, Content, ReadCx, Staged, WriteCx};

pub struct Server;

impl Desk for Server {}

impl EditTool for Server {
    async fn edit_append_line(
        &self,
        cx: &WriteCx<'_>,
        req: EditAppendLineRequest,
    ) -> Result<Staged<Changed>, ToolError> {
        Ok(changed(cx, req.path, Content::Write(req.text.into())))
    }

    async fn edit_delete_page(
        &self,
        cx: &WriteCx<'_>,
        req: EditDeletePageRequest,
    ) -> Result<Staged<Changed>, ToolError> {
        Ok(changed(cx, req.path, Content::Delete))
    }

    async fn edit_write_page(
        &self,
        cx: &WriteCx<'_>,
        req: EditWritePageRequest,
    ) -> Result<Staged<Changed>, ToolError> {
        Ok(changed(cx, req.path, Content::Write(req.text.into())))
    }

    async fn edit_write_section(
        &self,
        cx: &WriteCx<'_>,
        req: EditWriteSectionRequest,
    ) -> Result<Staged<Changed>, ToolError> {
        let text = format!("{}: {}", req.section, req.text);
        Ok(changed(cx, req.path, Content::Write(text.into())))
    }
}

impl LookTool for Server {
    async fn look_page(&self, _: &ReadCx<'_>, req: LookPageRequest) -> Result<LookPageResponse, ToolError> {
        Ok(LookPageResponse { text: String::new(), path: req.path })
    }

    async fn look_pages(&self, _: &ReadCx<'_>, req: LookPagesRequest) -> Result<LookPagesResponse, ToolError> {
        Ok(LookPagesResponse { pages: vec![String::new(); req.limit as usize] })
    }

    async fn look_size(&self, _: &ReadCx<'_>, req: LookSizeRequest) -> Result<LookSizeResponse, ToolError> {
        Ok(LookSizeResponse { bytes: 0, path: req.path })
    }
}

fn changed(cx: &WriteCx<'_>, path: String, content: Content) -> Staged<Changed> {
    let change = Change::one(path.clone(), content, "change", "changed");
    cx.stage(change, |receipt| Changed { path, commit: receipt.commit().into() })
}
