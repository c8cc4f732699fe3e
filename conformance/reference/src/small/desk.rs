//! Pages that two tools with several operations change and read.

use serde_json::{Map, Value, json};
use tabellion_runtime::{ContractSpec, ToolSpec};

use super::{Answer, Call, ContractServer, Library, Refusal, failed, no_operation, refused};
use crate::mutant::{Mutant, is};

/// The example of `tabellion-codegen`.
#[path = "../../../../codegen/examples/desk/generated/desk.rs"]
#[rustfmt::skip]
mod generated;

pub(crate) static CONTRACT: &ContractSpec = &generated::CONTRACT;

pub(super) struct Desk(pub(super) Library);

impl Desk {
    fn page(&self, path: &str) -> Result<String, Refusal> {
        let bytes = self.0.read(path)?.ok_or_else(|| refused("there is no such page"))?;
        String::from_utf8(bytes).map_err(|_| refused("the page is not UTF-8"))
    }

    fn write(&self, path: &str, text: Option<&str>) -> Result<Answer, Refusal> {
        let _lock = self.0.lock()?;
        self.0.write(path, text.map(str::as_bytes), "change")?;
        let commit = self.0.head()?;
        Ok(Answer::Response(json!({ "path": path, "commit": commit })))
    }

    fn pages(&self, limit: usize) -> Result<Answer, Refusal> {
        let files = std::fs::read_dir(&self.0.0).map_err(failed)?.flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut pages: Vec<_> = names.filter(|name| name.ends_with(".md")).collect();
        pages.sort();
        pages.truncate(limit);
        Ok(Answer::Response(json!({ "pages": pages })))
    }
}

impl ContractServer for Desk {
    fn choose(
        &self,
        tool: &'static ToolSpec,
        arguments: &Value,
    ) -> Result<(&'static ToolSpec, Value), Refusal> {
        let mut members = arguments.as_object().cloned().unwrap_or_default();
        let Some(operation) = tool.operation_of(&members).or_else(|| nearest(tool, &members)) else {
            if is(Mutant::UnsupportedLeavesAFile) {
                self.0.write("log.md", Some(b"# Asked for nothing\n"), "log")?;
            }
            return Err(no_operation());
        };
        if is(Mutant::IgnoresUnused) {
            let wire = operation.input.wire();
            members.retain(|name, _| wire["properties"].get(name).is_some());
        }
        match operation.input.check(&members.clone().into()) {
            Err(_) if is(Mutant::NamesNoArgument) => {
                Err((-32602, "these are not the right arguments".into()))
            }
            Err(wrong) if !is(Mutant::TakesNearest) => Err((-32602, wrong[0].to_string())),
            _ => Ok((operation, members.into())),
        }
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Refusal> {
        let path = call.text("path");
        match call.operation {
            "edit/append-line" => {
                let page = self.page(path)?;
                self.write(path, Some(&format!("{page}{}\n", call.text("text"))))
            }
            "edit/delete-page" => {
                self.page(path)?;
                self.write(path, None)
            }
            "edit/write-page" => self.write(path, Some(call.text("text"))),
            "edit/write-section" => {
                let page = self.page(path)?;
                let heading = format!("# {}\n", call.text("section"));
                let (before, _) = page.split_once(&heading).ok_or_else(|| refused("no such section"))?;
                self.write(path, Some(&format!("{before}{}", call.text("text"))))
            }
            "look/page" => Ok(Answer::Response(json!({ "path": path, "text": self.page(path)? }))),
            "look/size" => Ok(Answer::Response(json!({ "path": path, "bytes": self.page(path)?.len() }))),
            _ => self.pages(call.arguments["limit"].as_u64().unwrap_or(100) as usize),
        }
    }
}

/// Returns the operation that a careless server takes for the requested one.
fn nearest(tool: &'static ToolSpec, members: &Map<String, Value>) -> Option<&'static ToolSpec> {
    if !is(Mutant::TakesNearest) {
        return None;
    }
    let values = tool.operations.as_ref()?.values(members)?;
    let has_action = |it: &&ToolSpec| it.operation.is_some_and(|it| it.is.first() == values.first());
    tool.operations().iter().find(has_action)
}
