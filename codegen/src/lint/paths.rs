//! Which paths a tool may be asked for, what a person must approve, and whether a commit has a place in the response.

use tabellion_runtime::{EffectKind, Shows};

use crate::{
    contract::{Contract, Tool},
    problem::Problem,
};

/// Checks `path`, `pathIn`, `paths`, `approval` and `commit` of the tools against each other.
pub(super) fn contract(contract: &Contract, problems: &mut Vec<Problem>) {
    for tool in &contract.tools {
        if contract.spec.document && tool.spec.path.is_some() {
            problems.push(tool.document.problem(
                "/path",
                "the contract is about one document, so a request can't name another",
                "take the key away, or `document` in contract.json",
            ));
        }
        paths(tool, problems);
        approval(tool, problems);
        commit(tool, problems);
    }
}

/// That the response has no place for the commit is said and not left away.
fn commit(tool: &Tool, problems: &mut Vec<Problem>) {
    let is_said = tool.document.value.get("commit").is_some();
    if tool.spec.mutating && !is_said {
        problems.push(tool.document.problem(
            "/mutating",
            "a tool that makes a commit must say where its id stands in the response",
            "add `\"commit\"`: a JSON pointer, or null where the response has no place for it",
        ));
    } else if !tool.spec.mutating && is_said {
        problems.push(tool.document.problem(
            "/commit",
            "a tool that changes nothing makes no commit",
            "remove the key, or set `mutating`",
        ));
    }
}

fn paths(tool: &Tool, problems: &mut Vec<Problem>) {
    let spec = &tool.spec;
    for (key, is_said) in [
        ("pathIn", spec.path_in.is_some()),
        ("paths", spec.paths.is_some()),
    ] {
        if is_said && spec.path.is_none() {
            problems.push(tool.document.problem(
                format!("/{key}"),
                "nothing says where in the request the path is",
                "add `\"path\"`, a JSON pointer to it",
            ));
        }
    }
    if let Some(folder) = &spec.path_in
        && let Some(problem) = folder
            .strip_suffix('/')
            .map_or(Some("it must end in `/`"), unplain)
    {
        problems.push(tool.document.problem(
            "/pathIn",
            format!("`{folder}` is no folder: {problem}"),
            "write it from the library's root on, as `notes/daily/`",
        ));
    }
    let Some(paths) = &spec.paths else { return };
    for (key, globs) in [("allow", &paths.allow), ("deny", &paths.deny)] {
        for (i, glob) in globs.iter().enumerate() {
            let mixed = glob
                .split('/')
                .any(|segment| segment != "**" && segment.contains("**"));
            let problem = if mixed {
                Some("`**` must be a whole segment")
            } else {
                unplain(glob)
            };
            if let Some(problem) = problem {
                problems.push(tool.document.problem(
                    format!("/paths/{key}/{i}"),
                    format!("`{glob}` matches no path: {problem}"),
                    "`*` stands for a part of one segment, a segment `**` for any number of them",
                ));
            }
        }
    }
    for (i, glob) in paths.allow.iter().enumerate() {
        if paths.deny.contains(glob) {
            problems.push(tool.document.problem(
                format!("/paths/allow/{i}"),
                format!("`{glob}` allows nothing, since it is denied too"),
                "take it away here or there",
            ));
        }
    }
}

/// What no path has.
fn unplain(path: &str) -> Option<&'static str> {
    let mut segments = path.split('/');
    segments.find_map(|segment| match segment {
        "" => Some("it has an empty segment"),
        "." | ".." => Some("`.` and `..` are nobody's names"),
        _ if segment.contains('\\') => Some("segments are told apart by `/`"),
        _ => None,
    })
}

fn approval(tool: &Tool, problems: &mut Vec<Problem>) {
    let Some(approval) = tool.spec.approval else {
        return;
    };
    if !tool.spec.mutating {
        problems.push(tool.document.problem(
            "/approval",
            "a tool that changes nothing needs nobody's approval",
            "take the key away, or set `mutating`",
        ));
    }
    let appends = |kind: EffectKind| matches!(kind, EffectKind::Append | EffectKind::AppendLine);
    for (i, effect) in tool.spec.effects.iter().enumerate() {
        if approval.shows == Shows::Appended && !appends(effect.kind) {
            let word = effect.kind;
            problems.push(tool.document.problem(
                format!("/effects/{i}/effect"),
                format!("what is appended would be shown, but the tool has effect `{word}`"),
                "say that approval shows the `diff`, or correct the effect",
            ));
        }
    }
}
