//! Checks of tools outside the contract and the adapter that change, copy or move a document.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::{
    attacks::placed,
    checks::{
        offered::{self, FORMS, OfferedTool, PathArgument},
        prelude::*,
    },
};

pub(super) const EVERY_TOOL: Check = Check {
    id: "bytes/every-tool",
    guarantees: &["no-implicit-edits"],
    states: "Whichever tool changes a document keeps its mode, and the byte order mark and the line endings of what it leaves.",
    explains: "Calls each tool that takes a path for a document with a byte order mark and CRLF that only its owner can read, with \
               arguments made up from the tool's schema. If the document is changed, its mode must be the same; if its lines are still there, \
               so must be the mark and their endings. Tools that are named for it (format, normalize) are left out.",
    cases: |bench| cases(bench, |tool| !REFORMATS.iter().any(|word| tool.name.contains(word))),
    ..Check::must(judge_change)
};

pub(super) const MOVED: Check = Check {
    id: "bytes/moved",
    guarantees: &["no-implicit-edits"],
    states: "A document that is moved or copied has the same bytes in its new place.",
    explains: "Calls each tool that takes two paths, of which one is a destination, for a document with a byte order mark, CRLF, bytes \
               that are not UTF-8 and no line ending at its end, and, if that is refused, for one in UTF-8.",
    cases: |bench| cases(bench, |tool| ends(tool).is_some()),
    ..Check::must(judge_move)
};

const REFORMATS: [&str; 6] = ["format", "normal", "convert", "fix", "lint", "chmod"];
const PLAN: &str = "notes/plan.md";
const MOVED_TO: &str = "notes/moved.md";
/// A line that is still there if a document is changed elsewhere.
const LINE: &str = "All of it.";
const TEXT: &[u8] = "\u{feff}# Plan\r\n\r\nIntro.\r\n\r\n## Scope\r\n\r\nAll of it.\r\n".as_bytes();
/// Documents to move, the hardest first.
const TO_MOVE: [&[u8]; 2] = [
    b"\xef\xbb\xbf# Plan\r\n\r\nIntro. \xff\xfe\r\n\r\nthe end",
    b"\xef\xbb\xbf# Plan\r\n\r\nIntro.\r\n\r\nthe end",
];
const MODE: u32 = 0o600;

fn cases(bench: &Bench<'_>, is_meant: impl Fn(&OfferedTool) -> bool) -> Result<Vec<Case>, Stop> {
    let tools = offered::tools(bench, &scene(bench, TEXT)?)?;
    let tools = tools.into_iter().filter(|tool| is_meant(tool));
    Ok(tools.map(|tool| Case::new(tool.name.clone(), tool)).collect())
}

fn scene<'a>(bench: &Bench<'a>, text: &[u8]) -> Result<Scene<'a>, Stop> {
    bench.scene(&[(PLAN, text), ("README.md", b"# Library\n")])
}

fn judge_change(bench: &Bench<'_>, case: &Case) -> Judgement {
    let tool: OfferedTool = case.read()?;
    let mut is_changed = false;
    for at in &tool.paths {
        for form in FORMS {
            let scene = scene(bench, TEXT)?;
            scene.trace(format!("a person sets the mode of `{PLAN}` to {MODE:o}"));
            fs::set_permissions(scene.path(PLAN), fs::Permissions::from_mode(MODE))?;
            let path = placed(form, &scene) + PLAN;
            let mut client = scene.start()?;
            client.request("tools/call", tool.call(&[(at, &[&path])], &path))?;
            let Some(after) = scene.read(PLAN).filter(|after| after != TEXT) else {
                continue;
            };
            is_changed = true;
            let (name, showing) = (&tool.name, |stop: Stop| stop.showing(PLAN, Some(TEXT), Some(&after)));
            let found = fs::metadata(scene.path(PLAN))?.permissions().mode() & 0o7777;
            ensure(found == MODE, || {
                format!("`{name}` changed the mode of the document from {MODE:o} to {found:o}")
            })?;
            let text = String::from_utf8_lossy(&after);
            if !text.contains(LINE) {
                continue;
            }
            ensure(text.starts_with('\u{feff}'), || format!("`{name}` took the byte order mark away"))
                .map_err(showing)?;
            ensure(text.contains(&format!("{LINE}\r\n")), || {
                format!("`{name}` changed the line endings of lines that it leaves")
            })
            .map_err(showing)?;
        }
    }
    if is_changed {
        return Ok(());
    }
    Err(not_applicable("the tool changes no document"))
}

/// Returns the paths from which and to which a tool moves or copies a document.
fn ends(tool: &OfferedTool) -> Option<[&PathArgument; 2]> {
    let is_destination = |path: &&PathArgument| {
        let name = path.member.as_ref().unwrap_or(&path.name).to_lowercase();
        name.starts_with("to") || ["dest", "target", "new"].iter().any(|part| name.contains(part))
    };
    let to = tool.paths.iter().find(is_destination)?;
    let from = tool.paths.iter().find(|path| !is_destination(path))?;
    Some([from, to])
}

fn judge_move(bench: &Bench<'_>, case: &Case) -> Judgement {
    let tool: OfferedTool = case.read()?;
    let [from, to] = ends(&tool).ok_or_else(|| Stop::Harness("the tool has no destination".into()))?;
    for form in FORMS {
        for text in TO_MOVE {
            let scene = scene(bench, text)?;
            let form = placed(form, &scene);
            let [old, new] = [PLAN, MOVED_TO].map(|path| format!("{form}{path}"));
            let mut client = scene.start()?;
            client.request("tools/call", tool.call(&[(from, &[&old]), (to, &[&new])], &old))?;
            let name = &tool.name;
            if let Some(found) = scene.read(MOVED_TO) {
                let changed = || format!("`{name}` changed the bytes of the document");
                return ensure(found == text, changed)
                    .map_err(|stop| stop.showing(MOVED_TO, Some(text), Some(&found)));
            }
            let is_anywhere = scene.files()?.values().any(|(_, bytes)| bytes == text);
            if scene.read(PLAN).is_none() && !is_anywhere {
                let lost = fail(format!("`{name}` left the document nowhere"));
                return Err(lost.showing(PLAN, Some(text), None));
            }
        }
    }
    Err(not_applicable("the tool moves no document"))
}
