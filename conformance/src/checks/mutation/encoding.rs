//! Check of arguments that can't be honoured: an encoding that lacks the letters of the text.

use crate::{adapter::offer, checks::prelude::*, documents::CHANGES};

pub(super) const ENCODING: Check = Check {
    id: "mutation/encoding",
    guarantees: &["no-implicit-edits"],
    states: "A change in an encoding that lacks the letters of the text is refused, and leaves the document whole.",
    explains: "Calls each tool that changes a document, and whose schema has an argument for an encoding, with a text that ASCII can't \
               have, and with an encoding that does not exist. The document must have its old bytes after a refusal, or the text in UTF-8 \
               after a success.",
    ..Check::must(judge)
};

const NAMES: [&str; 2] = ["encoding", "charset"];
/// Encodings that can't have [`TEXT`].
const ENCODINGS: [&str; 2] = ["ascii", "x-unknown"];
const PATH: &str = "notes/plan.md";
const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";
const TEXT: &str = "Grüße, 世界.\n";

fn judge(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = bench.scene(&[(PATH, DOCUMENT)])?;
    let mut client = scene.start()?;
    let offered = offer::ask(&mut client).map_err(fail)?;
    let with = With { path: PATH, content: TEXT, target: "## Scope" };
    let mut is_tried = false;
    for kind in CHANGES.into_iter().filter(|kind| *kind != EffectKind::Delete) {
        let Some(call) = bench.subject.request(kind, with) else {
            continue;
        };
        let Ok(mut params) = client.params(call.tool, &call.arguments, Map::new()) else {
            continue;
        };
        let tool = params["name"].as_str().unwrap_or_default().to_owned();
        let arguments = offered.get(&tool).map(|listed| &listed["inputSchema"]["properties"]);
        let is_text = |name: &&&str| arguments.is_some_and(|all| all[**name]["type"] == "string");
        let Some(argument) = NAMES.iter().find(is_text) else {
            continue;
        };
        for encoding in ENCODINGS {
            scene.put(PATH, DOCUMENT)?;
            params["arguments"][*argument] = encoding.into();
            let answer = client.request("tools/call", params.clone())?;
            let is_done = matches!(bench.subject.adapter.reply(call.tool, &answer), Reply::Done(_));
            is_tried = true;
            let after = scene.read(PATH).unwrap_or_default();
            let has_text = String::from_utf8_lossy(&after).contains(TEXT.trim_end());
            let is_whole = after == DOCUMENT.as_bytes();
            let is_right = if is_done { has_text } else { is_whole };
            if is_right {
                continue;
            }
            let what = if is_done { "says that it succeeded" } else { "is refused" };
            let what = format!(
                "`{tool}` with `{argument}` = `{encoding}`, which can't have the text, {what}, and the document is wrong"
            );
            return Err(fail(what).showing(PATH, Some(DOCUMENT.as_bytes()), Some(&after)));
        }
    }
    if is_tried {
        return Ok(());
    }
    Err(not_applicable("no tool that changes a document has an argument for an encoding"))
}
