//! Check of calls that change several documents, one of which can't be.

use super::super::offered::{self, FORMS, OfferedTool, PathArgument};
use crate::{attacks::placed, checks::prelude::*};

pub(super) const BATCH: Check = Check {
    id: "mutation/batch",
    guarantees: &["no-implicit-edits"],
    states: "A call for several documents, one of which is impossible, changes none, or says which.",
    explains: "Calls each tool that takes a list of paths, or of objects with a path. If it changes two documents, it is called for one \
               of them and for a path below a file, in both orders. A call that says that it succeeded, or that changed a \
               document, must name the impossible path, and not as it names one that it changed.",
    cases,
    ..Check::must(judge)
};

const PLAN: &str = "notes/plan.md";
const OTHER: &str = "notes/other.md";
/// A path that no file system can have next to the file.
const IMPOSSIBLE: &str = "README.md/impossible.md";
const DOCUMENTS: [(&str, &str); 3] =
    [(PLAN, "# Plan\n\nIntro.\n"), (OTHER, "# Other\n\nIntro.\n"), ("README.md", "# Library\n")];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let tools = offered::tools(bench, &bench.scene(&DOCUMENTS)?)?;
    let with_lists = tools.into_iter().filter(|tool| tool.lists().next().is_some());
    Ok(with_lists.map(|tool| Case::new(tool.name.clone(), tool)).collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let tool: OfferedTool = case.read()?;
    for argument in tool.lists() {
        for form in FORMS {
            for order in [[0, 1], [1, 0]] {
                let made =
                    |second| Batch::make(bench, &tool, argument, order.map(|it| [PLAN, second][it]), form);
                let peace = made(OTHER)?;
                if peace.is_refused() || !peace.changes(PLAN) || !peace.changes(OTHER) {
                    break;
                }
                made(IMPOSSIBLE)?.judge(&tool.name, &peace)?;
                if order == [1, 0] {
                    return Ok(());
                }
            }
        }
    }
    Err(not_applicable("the tool does not change two documents with one call"))
}

/// A call for two documents, and its outcome.
struct Batch<'a> {
    scene: Scene<'a>,
    answer: Value,
}

impl<'a> Batch<'a> {
    fn make(
        bench: &Bench<'a>,
        tool: &OfferedTool,
        argument: &PathArgument,
        paths: [&str; 2],
        form: &str,
    ) -> Result<Self, Stop> {
        let scene = bench.scene(&DOCUMENTS)?;
        let mut client = scene.start()?;
        let form = placed(form, &scene);
        let paths = paths.map(|path| format!("{form}{path}"));
        let given = paths.each_ref().map(String::as_str);
        let answer = client.request("tools/call", tool.call(&[(argument, &given)], given[0]))?;
        drop(client);
        Ok(Self { scene, answer })
    }

    fn is_refused(&self) -> bool {
        Refusal::from_message(&self.answer).is_some()
    }

    fn changes(&self, path: &str) -> bool {
        let before = DOCUMENTS.iter().find(|(name, _)| *name == path);
        self.scene.read(path).as_deref() != before.map(|(_, text)| text.as_bytes())
    }

    /// Returns the server's answer, with paths relative to the library.
    fn said(&self) -> String {
        let said = self.answer.get("error").unwrap_or(&self.answer["result"]).to_string();
        said.replace(&*self.scene.library().to_string_lossy(), "")
    }

    /// Judges a call for an impossible path; `peace` is the same call for a possible one.
    fn judge(&self, tool: &str, peace: &Self) -> Judgement {
        let files = self.scene.files()?;
        if files.keys().any(|path| path.to_string_lossy().contains("impossible")) {
            // The server has a name of its own for it.
            return Ok(());
        }
        let said = self.said();
        let is_named = said.contains("impossible") && said.replace(IMPOSSIBLE, OTHER) != peace.said();
        if is_named || self.is_refused() && !self.changes(PLAN) {
            return Ok(());
        }
        let does = if self.is_refused() {
            "is refused without saying which is impossible, and the other is changed"
        } else {
            "says that it succeeded"
        };
        Err(fail(format!("`{tool}` for `{PLAN}` and `{IMPOSSIBLE}`, which can't exist, {does}")))
    }
}
