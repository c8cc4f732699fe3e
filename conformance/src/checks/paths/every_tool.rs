//! Check that no tool beside those of the contract leads out of the library.

use std::os::unix::fs::symlink;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    adapter::offer,
    attacks::placed,
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    judgement::{Judgement, Stop, ensure, fail},
    layout::SECRET,
    moment::Moment,
    sample,
    scene::Scene,
};

pub(super) const EVERY_TOOL: Check = Check {
    id: "paths/every-tool",
    severity: Severity::Must,
    guarantees: &[],
    states: "No argument of any tool that the server lists leads a call out of the library.",
    explains: "A server has more tools than the contract or the adapter names: they copy, move, count and describe files. Calls each of \
               them whose schema has an argument that is a path, by its name, with paths outside of the library: absolute, with two \
               dots, and through a link. No answer may reveal a file there, and none may change. A tool that does not answer a plain \
               path is left out.",
    cases,
    judge,
    shrink: as_small_as_can_be,
};

/// Parts of the names of arguments that are paths.
const NAMES: [&str; 9] = [
    "path",
    "file",
    "dir",
    "folder",
    "source",
    "destination",
    "target",
    "note",
    "uri",
];
/// Paths outside, as attacks write them.
const OUTSIDE: [&str; 8] = [
    "{outside}/secret.md",
    "../outside/secret.md",
    "elsewhere/secret.md",
    "{library}/elsewhere/secret.md",
    "{outside}",
    "../outside",
    "elsewhere",
    "{library}/../outside",
];
/// Paths inside, for the other arguments: as servers take them that want absolute ones, and others.
const INSIDE: [&str; 2] = ["{library}/notes/plan.md", "notes/plan.md"];

/// A tool and its arguments that are paths.
#[derive(Debug, Serialize, Deserialize)]
struct ToolCase {
    tool: String,
    schema: Value,
    paths: Vec<String>,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let scene = scene(bench)?;
    let offered = offer::ask(&mut scene.start()?).map_err(fail)?;
    let known = bench.subject.adapter.names(bench.subject.contract);
    let others = offered.into_iter().filter(|(name, _)| !known.contains(name));
    let cases = others.filter_map(|(tool, listed)| {
        let schema = listed["inputSchema"].clone();
        let members = schema["properties"].as_object()?.iter();
        let paths: Vec<_> = members
            .filter(|(name, member)| is_path(name, member))
            .map(|(name, _)| name.clone())
            .collect();
        if paths.is_empty() {
            return None;
        }
        Some(Case::new(tool.clone(), ToolCase { tool, schema, paths }))
    });
    Ok(cases.collect())
}

fn scene<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    let scene = bench.scene(&[("notes/plan.md", "# Plan\n"), ("README.md", "# Library\n")])?;
    symlink("../outside", scene.path("elsewhere"))?;
    scene.trace("a symbolic link `elsewhere` to `../outside`");
    Ok(scene)
}

/// Returns true if an argument is a path, or a list of paths.
fn is_path(name: &str, schema: &Value) -> bool {
    let name = name.to_lowercase();
    let is_text = |schema: &Value| schema["type"] == "string" && schema.get("enum").is_none();
    let is_texts = schema["type"] == "array" && is_text(&schema["items"]);
    (is_text(schema) || is_texts) && NAMES.iter().any(|part| name.contains(part))
}

impl ToolCase {
    /// Returns the arguments of a call with `path` at the argument `at`, and `inside` at the others that are paths.
    fn arguments(&self, at: &str, path: &str, inside: &str) -> Value {
        let mut arguments = sample::request(&self.schema, false);
        for name in &self.paths {
            let is_required = arguments.get(name).is_some();
            let path = if name == at { path } else { inside };
            let is_list = self.schema["properties"][name]["type"] == "array";
            if name == at || is_required {
                arguments[name] = if is_list { json!([path]) } else { path.into() };
            }
        }
        arguments
    }
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let case: ToolCase = case.read()?;
    for at in &case.paths {
        for inside in INSIDE {
            let scene = scene(bench)?;
            let inside = placed(inside, &scene);
            let mut client = scene.start()?;
            let before = Moment::of(&scene)?;
            let call =
                |path: &str| json!({ "name": case.tool, "arguments": case.arguments(at, path, &inside) });
            if client.request("tools/call", call(&inside)).is_err() {
                let why = format!("`{}` does not answer a call with a plain path", case.tool);
                return Err(Stop::NotApplicable(why));
            }
            for outside in OUTSIDE {
                let path = placed(outside, &scene);
                let answer = client.request("tools/call", call(&path))?.to_string();
                let is_listed = !path.contains("secret") && answer.contains("secret.md");
                ensure(!answer.contains(SECRET.trim_end()) && !is_listed, || {
                    let tool = &case.tool;
                    format!("`{tool}` revealed what is outside of the library, by `{at}` = `{outside}`")
                })?;
                before.same_around(&Moment::of(&scene)?)?;
            }
        }
    }
    Ok(())
}
