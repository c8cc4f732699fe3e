//! Check of the optional arguments of tools that change a document.

use std::path::Path;

use crate::{adapter::offer, checks::prelude::*, documents::CHANGES};

pub(super) const OPTIONS: Check = Check {
    id: "mutation/options",
    guarantees: &["no-implicit-edits"],
    states: "Whatever the optional arguments of a call are, it changes its own document alone, and in a dry run none.",
    explains: "Calls each tool that changes a document, for one that exists and for one that does not, with each optional argument of its \
               schema that has few values (true and false, and those of an `enum`) at each of them. The server must answer, and other \
               documents must stay; if the argument is true and named for it (dry run, preview, simulate), nothing may be new, either.",
    cases,
    ..Check::must(judge)
};

const PATH: &str = "notes/plan.md";
const MISSING: &str = "notes/missing.md";
const DRY_RUNS: [&str; 4] = ["dry", "preview", "simulate", "validate_only"];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let scene = bench.scene(&[(PATH, "# Plan\n")])?;
    let mut client = scene.start()?;
    let offered = offer::ask(&mut client).map_err(fail)?;
    let mut cases = Vec::new();
    for (number, kind) in CHANGES.into_iter().enumerate() {
        let Some(call) = bench.subject.request(kind, with(PATH)) else {
            continue;
        };
        let Ok(params) = client.params(call.tool, &call.arguments, Map::new()) else {
            continue;
        };
        let listed = params["name"].as_str().and_then(|name| offered.get(name));
        let properties = listed.and_then(|listed| listed["inputSchema"]["properties"].as_object());
        for (name, schema) in properties.into_iter().flatten() {
            let is_given = params["arguments"].get(name).is_some();
            for value in few_values(schema).into_iter().filter(|_| !is_given) {
                for path in [PATH, MISSING] {
                    let title = format!("{kind} of {path} with `{name}` = {value}");
                    cases.push(Case::new(title, (number, path, name, value.clone())));
                }
            }
        }
    }
    Ok(cases)
}

fn with(path: &str) -> With<'_> {
    With { path, content: "## Scope\n\nLess of it.\n", target: "## Scope" }
}

/// Returns the values of an argument, if there are few.
fn few_values(schema: &Value) -> Vec<Value> {
    match schema["enum"].as_array() {
        Some(values) => values.clone(),
        None if schema["type"] == "boolean" => vec![json!(true), json!(false)],
        None => Vec::new(),
    }
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (kind, path, name, value): (usize, String, String, Value) = case.read()?;
    let kind: EffectKind = CHANGES[kind];
    let scene = bench
        .scene(&[(PATH, "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n"), ("notes/other.md", "# Other\n")])?;
    let mut client = scene.start()?;
    let call = bench.request(kind, with(&path))?;
    // A template may need a document that exists.
    let params = client.params(call.tool, &call.arguments, Map::new());
    let mut params = params.map_err(|_| not_applicable("the adapter has no such call"))?;
    params["arguments"][&name] = value.clone();
    let before = scene.view()?;
    client.request("tools/call", params)?;
    let after = scene.view()?;
    let is_dry = value == true && DRY_RUNS.iter().any(|word| name.to_lowercase().contains(word));
    let mut changed = after.library.changed_since(&before.library).into_iter();
    // A backup or a trash may be new.
    let is_others =
        |changed: &Path| before.library.files.contains_key(changed) && changed.to_string_lossy() != path;
    let stray = changed.find(|changed| is_dry || is_others(changed));
    if let Some(stray) = stray {
        let stray = stray.display();
        let what = if is_dry { "a dry run" } else { "a call" };
        return Err(fail(format!("{what} for `{path}`, with `{name}` = {value}, changed `{stray}`")));
    }
    ensure(after.around == before.around, || {
        format!("a call with `{name}` = {value} changed files outside the library")
    })
}
