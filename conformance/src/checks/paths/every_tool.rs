//! Check that no tool outside the contract leads out of the library.

use std::os::unix::fs::symlink;

use super::super::offered::{self, FORMS, OfferedTool};
use crate::{attacks::placed, checks::prelude::*, layout::SECRET};

pub(super) const EVERY_TOOL: Check = Check {
    id: "paths/every-tool",
    guarantees: &[],
    states: "No argument of any tool that the server lists leads a call out of the library.",
    explains: "A server has more tools than the contract or the adapter names: they copy, move, count and describe files. Calls each of \
               them whose schema has an argument that is a path, by its name, with paths outside of the library: absolute, with two \
               dots, and through a link. No answer may reveal a file there, and none may change. A tool that does not answer a plain \
               path is left out.",
    cases,
    ..Check::must(judge)
};

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
fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let known = bench.subject.adapter.names(bench.subject.contract);
    let tools = offered::tools(bench, &scene(bench)?)?;
    let others = tools.into_iter().filter(|tool| !known.contains(&tool.name));
    Ok(others.map(|tool| Case::new(tool.name.clone(), tool)).collect())
}

fn scene<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    let scene = bench.scene(&[("notes/plan.md", "# Plan\n"), ("README.md", "# Library\n")])?;
    symlink("../outside", scene.path("elsewhere"))?;
    scene.trace("a symbolic link `elsewhere` to `../outside`");
    Ok(scene)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let tool: OfferedTool = case.read()?;
    let name = &tool.name;
    for at in &tool.paths {
        for form in FORMS {
            let scene = scene(bench)?;
            let inside = placed(form, &scene) + "notes/plan.md";
            let mut client = scene.start()?;
            let before = Moment::capture(&scene)?;
            let call = |path: &str| tool.call(&[(at, &[path])], &inside);
            if client.request("tools/call", call(&inside)).is_err() {
                let why = format!("`{name}` does not answer a call with a plain path");
                return Err(not_applicable(why));
            }
            for outside in OUTSIDE {
                let path = placed(outside, &scene);
                let answer = client.request("tools/call", call(&path))?.to_string();
                let is_listed = !path.contains("secret") && answer.contains("secret.md");
                ensure(!answer.contains(SECRET.trim_end()) && !is_listed, || {
                    let at = &at.name;
                    format!("`{name}` revealed what is outside of the library, by `{at}` = `{outside}`")
                })?;
                before.same_around(&Moment::capture(&scene)?)?;
            }
        }
    }
    Ok(())
}
