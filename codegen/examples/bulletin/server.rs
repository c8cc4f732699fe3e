//! A server for a contract with roles and gates: `schemas/bulletin` is the contract, `generated` is the output of
//! `tabellion_codegen::generate`, and only this file is written by hand.
//!
//! `cargo run -p tabellion-it -- bulletin FOLDER [--as ROLE]` serves a library over standard input and output; `FOLDER ADDRESS KEYS` serves
//! it over HTTP to the holders of keys. A separate program calls [`serve`] in its `main`.

mod generated;

use std::error::Error;

use generated::bulletin::{
    Bulletin, PostNoticeRequest, PostNoticeResponse, ReadNoticeRequest, ReadNoticeResponse,
    RemoveNoticeRequest, RemoveNoticeResponse, Service, Status, ToolError,
};
use serde_json::json;
use tabellion_runtime::{Change, Content, ReadCx, Staged, WriteCx, spec::Fact};

const USAGE: &str = "usage: bulletin FOLDER [--as ROLE | ADDRESS KEYS]";
/// Folder of the notices that wait for an owner.
const WAITING: &str = "waiting";

/// Notices in a library.
struct Board;

impl Bulletin for Board {
    async fn read_notice(
        &self,
        cx: &ReadCx<'_>,
        req: ReadNoticeRequest,
    ) -> Result<ReadNoticeResponse, ToolError> {
        let text = notice(cx, &req.path)?.ok_or_else(|| missing(&req.path))?;
        Ok(ReadNoticeResponse { path: Some(req.path), text: Some(text) })
    }

    async fn post_notice(
        &self,
        cx: &WriteCx<'_>,
        req: PostNoticeRequest,
    ) -> Result<Staged<PostNoticeResponse>, ToolError> {
        let old = notice(cx, &req.path)?.unwrap_or_default();
        cx.fact(Fact::Plan, json!({ "kept_percent": kept_percent(&old, &req.text) }));
        let (path, status) = if cx.gates().requires_review() {
            (format!("{WAITING}/{}", req.path), Status::Waiting)
        } else {
            (req.path, Status::Posted)
        };
        let change =
            Change::one(path.clone(), Content::Write(req.text.into()), "write", format!("post {path}"));
        Ok(cx.stage(change, move |_| PostNoticeResponse { path: Some(path), status: Some(status) }))
    }

    async fn remove_notice(
        &self,
        cx: &WriteCx<'_>,
        req: RemoveNoticeRequest,
    ) -> Result<Staged<RemoveNoticeResponse>, ToolError> {
        let path = req.path;
        notice(cx, &path)?.ok_or_else(|| missing(&path))?;
        let change = Change::one(path.clone(), Content::Delete, "delete", format!("remove {path}"));
        Ok(cx.stage(change, move |_| RemoveNoticeResponse { path: Some(path) }))
    }
}

/// Returns the text of a notice, if there is one.
fn notice(cx: &ReadCx<'_>, path: &str) -> Result<Option<String>, ToolError> {
    let bytes = cx.read(path)?.map(|notice| notice.bytes);
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| ToolError::failed(format!("`{path}` is not UTF-8")))
}

fn missing(path: &str) -> ToolError {
    ToolError::invalid(format!("there is no notice `{path}`; post it first")).with("reason", "not_found")
}

/// Returns the length of a new text in percent of that of the old one; 100 if there was none.
fn kept_percent(old: &str, new: &str) -> usize {
    (new.len() * 100).checked_div(old.len()).unwrap_or(100)
}

/// Serves according to a command line's arguments, without the program's name.
pub(crate) fn serve(arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = arguments.collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (folder, options) = arguments.split_first().ok_or(USAGE)?;
    let server = tabellion_serve::Server::open("bulletin", env!("CARGO_PKG_VERSION"), folder)?;
    let service = Service::new(Board, server.library());
    let server = server.with(service);
    match options {
        [] => server.serve_stdio()?,
        ["--as", role] => server.role(role).serve_stdio()?,
        [role] if role.starts_with("--as=") => server.role(&role["--as=".len()..]).serve_stdio()?,
        [address, keys] => server.keys(keys.as_ref()).serve_http(address.parse()?)?,
        [address] => server.serve_http(address.parse()?)?,
        _ => return Err(USAGE.into()),
    }
    Ok(())
}
