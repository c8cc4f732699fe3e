//! `path`, `pathIn` and `paths`: the location of the path in a request, and the permitted paths.

use tabellion_runtime::{
    FailureKind,
    spec::{self, PathPolicy},
};

use super::{Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Side, Tool},
    lint::pointers::leads_to,
    problem::Problem,
};

pub(super) struct Paths;

impl Key for Paths {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in contract.operations() {
            self::tool(tool, problems);
        }
    }

    fn failures(&self, tool: &Tool) -> &'static [FailureKind] {
        match &tool.spec.paths {
            None => &[],
            Some(policy) if policy.deny.is_empty() => &[FailureKind::PathNotAllowed],
            Some(_) => &[FailureKind::AccessDenied, FailureKind::PathNotAllowed],
        }
    }

    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let (old, new) = (&old.tool.spec, &new.tool.spec);
        policies(changes, old.paths, new.paths);
        if old.path_in != new.path_in {
            changes.breaking("its paths are relative to a different folder");
        }
        if old.path != new.path {
            changes.compatible("the path's location in the request changed");
        }
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.path = tool.spec.path;
        entry.path_in = tool.spec.path_in;
        entry.paths = tool.spec.paths;
    }
}

fn tool(tool: &Tool, problems: &mut Vec<Problem>) {
    let spec = &tool.spec;
    if let Some(path) = spec.path {
        let input = tool.schema(Side::Input);
        leads_to(input, path, "string", &tool.document, "/path", problems);
    }
    for (key, is_given) in [("pathIn", spec.path_in.is_some()), ("paths", spec.paths.is_some())] {
        if is_given && spec.path.is_none() {
            problems.push(tool.document.problem(
                format!("/{key}"),
                "the location of the path in the request is missing",
                "add `\"path\"`, a JSON pointer to it",
            ));
        }
    }
    if let Some(folder) = spec.path_in
        && let Some(problem) = folder.strip_suffix('/').map_or(Some("it must end in `/`"), unplain)
    {
        problems.push(tool.document.problem(
            "/pathIn",
            format!("`{folder}` is not a folder: {problem}"),
            "write it relative to the library's root, like `notes/daily/`",
        ));
    }
    if let Some(policy) = &spec.paths {
        globs(tool, policy, problems);
        examples(tool, policy, problems);
    }
}

/// Every valid example must name a path that the policy permits: a call with it would be refused.
fn examples(tool: &Tool, policy: &PathPolicy, problems: &mut Vec<Problem>) {
    let spec = &tool.spec;
    let (Some(at), folder) = (spec.path, spec.path_in.unwrap_or_default()) else { return };
    for (i, example) in spec.examples.iter().enumerate().filter(|(_, example)| example.valid) {
        let path = example.input.as_ref().and_then(|input| input.pointer(at)?.as_str());
        if let Some(Err(failure)) = path.map(|path| policy.judge(&format!("{folder}{path}"))) {
            problems.push(tool.document.problem(
                format!("/examples/{i}"),
                format!("`{}` should be valid, but {}", example.name, failure.message),
                "correct the example, or `paths`",
            ));
        }
    }
}

fn globs(tool: &Tool, policy: &PathPolicy, problems: &mut Vec<Problem>) {
    for (key, globs) in [("allow", policy.allow), ("deny", policy.deny)] {
        for (i, glob) in globs.iter().enumerate() {
            let mixed = glob.split('/').any(|segment| segment != "**" && segment.contains("**"));
            let problem = if mixed { Some("`**` must be a whole segment") } else { unplain(glob) };
            if let Some(problem) = problem {
                problems.push(tool.document.problem(
                    format!("/paths/{key}/{i}"),
                    format!("`{glob}` matches no path: {problem}"),
                    "`*` matches a part of one segment, a segment `**` any number of segments",
                ));
            }
        }
    }
    for (i, glob) in policy.allow.iter().enumerate() {
        if policy.deny.contains(glob) {
            problems.push(tool.document.problem(
                format!("/paths/allow/{i}"),
                format!("`{glob}` permits nothing, since it is also denied"),
                "take it away here or there",
            ));
        }
    }
}

/// Returns the reason why no path is like `path`.
fn unplain(path: &str) -> Option<&'static str> {
    let mut segments = path.split('/');
    segments.find_map(|segment| match segment {
        "" => Some("it has an empty segment"),
        "." | ".." => Some("`.` and `..` are not names"),
        _ if segment.contains('\\') => Some("`/` separates segments"),
        _ => None,
    })
}

/// Compares policies: a permitted path must stay permitted. Globs are compared as text: the paths that a different glob permits can't be
/// derived from it.
fn policies(changes: &mut Changes<'_>, old: Option<PathPolicy>, new: Option<PathPolicy>) {
    let (old, new) = match (old, new) {
        (None, None) => return,
        (None, Some(_)) => return changes.breaking("some paths are no longer permitted"),
        (Some(_), None) => return changes.compatible("every path may be named"),
        (Some(old), Some(new)) => (old, new),
    };
    for glob in old.allow.iter().filter(|glob| !new.allow.contains(glob)) {
        changes.breaking(format!("paths `{glob}` are no longer permitted"));
    }
    for glob in new.deny.iter().filter(|glob| !old.deny.contains(glob)) {
        changes.breaking(format!("paths `{glob}` are denied"));
    }
    for glob in new.allow.iter().filter(|glob| !old.allow.contains(glob)) {
        changes.compatible(format!("paths `{glob}` are allowed"));
    }
    for glob in old.deny.iter().filter(|glob| !new.deny.contains(glob)) {
        changes.compatible(format!("paths `{glob}` are no longer denied"));
    }
}
