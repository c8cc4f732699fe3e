//! A server for a contract whose two tools have seven operations: `schemas/desk` is the contract, `generated` is the output of
//! `tabellion_codegen::generate`, and only this file is written by hand.
//!
//! `cargo run -p tabellion-it -- desk FOLDER [ADDRESS]` serves a library over standard input and output, or over HTTP. A program of
//! its own calls [`serve`] in its `main`.

mod generated;

use std::{error::Error, sync::Arc};

use generated::desk::{
    Changed, Desk, EditAppendLineRequest, EditDeletePageRequest, EditTool, EditWritePageRequest,
    EditWriteSectionRequest, LookPageRequest, LookPageResponse, LookPagesRequest, LookPagesResponse,
    LookSizeRequest, LookSizeResponse, LookTool, Service, ToolError,
};
use tabellion_library::{Library, path::LibraryDir};
use tabellion_markdown::{Edit, Flavor, plan};
use tabellion_runtime::{Change, Content, ReadCx, Staged, WriteCx};

/// Pages in a library, which is kept for listing them.
struct Pages(Arc<Library>);

impl Desk for Pages {}

impl EditTool for Pages {
    async fn edit_write_page(
        &self,
        cx: &WriteCx<'_>,
        req: EditWritePageRequest,
    ) -> Result<Staged<Changed>, ToolError> {
        Ok(changed(cx, req.path, Content::Write(req.text.into()), "write"))
    }

    async fn edit_write_section(
        &self,
        cx: &WriteCx<'_>,
        req: EditWriteSectionRequest,
    ) -> Result<Staged<Changed>, ToolError> {
        let edit = Edit::ReplaceSection { target: &req.section, content: &req.text };
        let plan = plan(&page(cx, &req.path)?, Flavor::of_path(&req.path), &edit);
        let plan = plan.map_err(|error| ToolError::not_found(error.to_string()))?;
        Ok(changed(cx, req.path, Content::Write(plan.text.into()), "write"))
    }

    async fn edit_append_line(
        &self,
        cx: &WriteCx<'_>,
        req: EditAppendLineRequest,
    ) -> Result<Staged<Changed>, ToolError> {
        let mut text = page(cx, &req.path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text = text + &req.text + "\n";
        Ok(changed(cx, req.path, Content::Write(text.into()), "append"))
    }

    async fn edit_delete_page(
        &self,
        cx: &WriteCx<'_>,
        req: EditDeletePageRequest,
    ) -> Result<Staged<Changed>, ToolError> {
        page(cx, &req.path)?;
        Ok(changed(cx, req.path, Content::Delete, "delete"))
    }
}

impl LookTool for Pages {
    async fn look_page(&self, cx: &ReadCx<'_>, req: LookPageRequest) -> Result<LookPageResponse, ToolError> {
        let text = page(cx, &req.path)?;
        Ok(LookPageResponse { path: req.path, text })
    }

    async fn look_pages(
        &self,
        _: &ReadCx<'_>,
        req: LookPagesRequest,
    ) -> Result<LookPagesResponse, ToolError> {
        let listing = self.0.list(&LibraryDir::ROOT, true);
        let listing = listing.map_err(|error| ToolError::failed(error.to_string()))?;
        let pages = listing.files.iter().take(req.limit as usize);
        Ok(LookPagesResponse { pages: pages.map(|page| page.as_str().to_owned()).collect() })
    }

    async fn look_size(&self, cx: &ReadCx<'_>, req: LookSizeRequest) -> Result<LookSizeResponse, ToolError> {
        let bytes = page(cx, &req.path)?.len() as u64;
        Ok(LookSizeResponse { path: req.path, bytes })
    }
}

/// Returns the text of a page.
fn page(cx: &ReadCx<'_>, path: &str) -> Result<String, ToolError> {
    let missing = || ToolError::not_found(format!("there is no page `{path}`; write it first"));
    let bytes = cx.read(path)?.ok_or_else(missing)?.bytes;
    String::from_utf8(bytes).map_err(|_| ToolError::failed(format!("`{path}` is not UTF-8")))
}

fn changed(cx: &WriteCx<'_>, path: String, content: Content, verb: &'static str) -> Staged<Changed> {
    let change = Change::one(path.clone(), content, verb, format!("{verb} {path}"));
    cx.stage(change, |receipt| Changed { path, commit: receipt.commit().into() })
}

/// Serves according to a command line's arguments, without the program's name.
pub(crate) fn serve(mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let folder = arguments.next().ok_or("usage: desk FOLDER [ADDRESS]")?;
    let server = tabellion_serve::Server::open("desk", env!("CARGO_PKG_VERSION"), folder)?;
    let service = Service::new(Pages(server.library()), server.library());
    match arguments.next() {
        None => server.with(service).serve_stdio()?,
        Some(address) => server.with(service).serve_http(address.parse()?)?,
    }
    Ok(())
}
