//! Path policies: a tool reads the paths that the contract allows, and none that it denies.
//!
//! Paths are derived from the contract's globs: `docs/**` is a readable folder, `**/secrets*` a name that is denied in every
//! folder. Names that almost match a denied one must be readable.

use std::{fs, os::unix::fs::symlink};

use tabellion_runtime::PathPolicy;

use crate::{
    Bytes,
    check::each_alone,
    checks::prelude::*,
    request::{self},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "policy/paths",
        guarantees: &["paths-judged"],
        states: "Allowed paths are read; denied paths, and paths that are not allowed, are not.",
        explains: "Files are created in allowed folders at any depth, and under denied names: at the end or in the \
                   middle of the path, in lower and upper case, also below allowed folders. Some names almost match, \
                   and some paths leave an allowed folder again. The answer must contain nothing of a refused file \
                   and the whole text of an allowed one.",
        cases: path_cases,
        shrink: one_read,
        ..Check::must(judge)
    },
    Check {
        id: "policy/links",
        guarantees: &["paths-judged"],
        states: "No link in an allowed folder leads to a file that may not be read.",
        explains: "A file or a folder in an allowed folder is a symbolic link to a denied file, to a file that is \
                   not allowed, to one outside of the library, or to git's own files. The answer must contain \
                   nothing of the target.",
        cases: link_cases,
        shrink: one_read,
        ..Check::must(judge)
    },
    Check {
        id: "policy/no-file",
        guarantees: &["paths-judged"],
        states: "A missing file is reported as missing, and a file that is not text is refused rather than altered.",
        explains: "If the result has a member `exists` or `found`, a missing file is an answer, not an error. A folder and a file that is not UTF-8 are refused: a \
                   server that replaces invalid bytes returns text that the file does not contain.",
        cases: other_cases,
        shrink: one_read,
        ..Check::must(judge)
    },
];

/// The required result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReadOutcome {
    /// The answer contains the whole text.
    #[serde(rename = "told")]
    Returned,
    /// The call is refused.
    Refused,
    /// The answer reports that the file does not exist.
    Missing,
}

/// The contents of a path before the read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fixture {
    /// A file with a unique text.
    File,
    /// A file with these bytes.
    Holding(Bytes),
    Folder,
    Nothing,
    /// A symbolic link from `at` to `to`; `file` is created first if given.
    Link {
        at: String,
        to: String,
        file: Option<String>,
    },
}

/// A path to read, and the required result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PathRead {
    path: String,
    #[serde(rename = "lies")]
    fixture: Fixture,
    expected: ReadOutcome,
}

/// Returns the first reading tool with a path policy, and the policy.
pub(super) fn tool(subject: &Subject) -> Result<(&'static ToolSpec, &'static PathPolicy), Stop> {
    let mut tools = subject.operations().filter(|tool| !tool.mutating);
    let found = tools.find_map(|tool| Some((tool, tool.paths.as_ref()?)));
    found.ok_or_else(|| not_applicable("the server has no tool with a path policy"))
}

/// Returns a path that may be read.
pub(super) fn sample(policy: &PathPolicy) -> String {
    let folder = folders(policy).next();
    folder.map_or_else(|| files(policy).next().unwrap_or_default().into(), |folder| format!("{folder}/a.md"))
}

/// Returns the call that reads a file.
pub(super) fn call(tool: &'static ToolSpec, path: &str) -> Result<Call, Stop> {
    request::about(tool, path).ok_or_else(|| Stop::Harness("the contract has no example of a read".into()))
}

/// Returns true if a string anywhere in the response equals `text`.
pub(super) fn contains_text(response: &Value, text: &str) -> bool {
    match response {
        Value::String(found) => found == text,
        Value::Array(values) => values.iter().any(|value| contains_text(value, text)),
        Value::Object(members) => members.values().any(|value| contains_text(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the folders that are allowed with everything below them.
fn folders(policy: &PathPolicy) -> impl Iterator<Item = &'static str> {
    let folders = policy.allow.iter().filter_map(|glob| glob.strip_suffix("/**"));
    folders.filter(|folder| !folder.contains('*'))
}

/// Returns the files that are allowed by name.
fn files(policy: &PathPolicy) -> impl Iterator<Item = &'static str> {
    policy.allow.iter().copied().filter(|glob| !glob.contains('*'))
}

/// Returns names that are denied in every folder, each with a similar name that is allowed.
fn denied(policy: &PathPolicy) -> Vec<(String, String)> {
    let names = policy.deny.iter().filter_map(|glob| glob.strip_prefix("**/"));
    names.filter(|name| !name.contains('/')).flat_map(matches).collect()
}

/// Returns paths that are denied in one folder, each with a similar path.
fn denied_paths(policy: &PathPolicy) -> Vec<(String, String)> {
    let globs = policy.deny.iter().filter_map(|glob| glob.rsplit_once('/'));
    let globs = globs.filter(|(folder, _)| !folder.contains('*'));
    let paths = globs.flat_map(|(folder, name)| match name {
        "**" => vec![(format!("{folder}/a.md"), format!("{folder}x/a.md"))],
        name => {
            let below = |(name, almost)| (format!("{folder}/{name}"), format!("{folder}/{almost}"));
            matches(name).into_iter().map(below).collect()
        }
    });
    paths.collect()
}

/// Returns names that match a glob, each with a similar name.
fn matches(name: &str) -> Vec<(String, String)> {
    let bare = name.replace('*', "");
    let has_wildcard = |at_start: bool| {
        if at_start { name.starts_with('*') } else { name.ends_with('*') }
    };
    match (has_wildcard(true), has_wildcard(false)) {
        (false, true) => {
            ["", ".local", ".md"].map(|end| (format!("{bare}{end}"), format!("x{bare}{end}"))).to_vec()
        }
        (true, false) => vec![(format!("server{bare}"), format!("server{bare}.md"))],
        (true, true) => vec![],
        (false, false) => vec![(bare.clone(), format!("x{bare}"))],
    }
}

fn path_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (tool, policy) = tool(bench.subject)?;
    let of = |path: String, expected| {
        // A file named `.git` would make git treat the folder as a repository.
        let is_git = path.split('/').any(|segment| segment.eq_ignore_ascii_case(".git"));
        let fixture = if is_git { Fixture::Nothing } else { Fixture::File };
        PathRead { path, fixture, expected }
    };
    let mut cases = Vec::new();
    for folder in folders(policy) {
        let mut reads: Vec<_> = ["a.md", "deep/er/a.md", "data.json", "no-extension"]
            .map(|name| of(format!("{folder}/{name}"), ReadOutcome::Returned))
            .into();
        let place = request::place(tool, &format!("{folder}/some.md"));
        reads.extend(place.map(|place| of(place, ReadOutcome::Returned)));
        for (name, almost) in denied(policy) {
            reads.push(of(format!("{folder}/{almost}"), ReadOutcome::Returned));
            for path in [
                format!("{folder}/{name}"),
                format!("{folder}/deep/{name}"),
                format!("{folder}/folders/{name}/a.md"),
                format!("{folder}/other/{}", name.to_uppercase()),
                format!("{folder}/capitals/{}/deep/a.md", capitalized(&name)),
            ] {
                reads.push(of(path, ReadOutcome::Refused));
            }
        }
        for path in [format!("{folder}x/a.md"), format!("x{folder}/a.md"), format!("other/{folder}/a.md")] {
            reads.push(of(path, ReadOutcome::Refused));
        }
        for path in [format!("{folder}/../other/secret.md"), format!("/{folder}/a.md")] {
            let fixture = Fixture::Nothing;
            let expected = ReadOutcome::Refused;
            reads.push(PathRead { path, fixture, expected });
        }
        cases.push(Case::new(format!("below {folder}"), reads));
    }
    let mut reads = Vec::new();
    for file in files(policy) {
        reads.push(of(file.into(), ReadOutcome::Returned));
        for path in [format!("{file}x"), format!("x{file}"), format!("other/{file}")] {
            reads.push(of(path, ReadOutcome::Refused));
        }
    }
    for (name, _) in denied(policy) {
        reads.push(of(name, ReadOutcome::Refused));
    }
    for (path, almost) in denied_paths(policy) {
        reads.push(of(path, ReadOutcome::Refused));
        if policy.judge(&almost).is_ok() {
            reads.push(of(almost, ReadOutcome::Returned));
        }
    }
    for path in ["other.md", "other/a.md", "src/main.rs", "notes/plan.md"] {
        reads.push(of(path.into(), ReadOutcome::Refused));
    }
    for path in ["../outside/secret.md", ".git/config", "."] {
        let fixture = Fixture::Nothing;
        let expected = ReadOutcome::Refused;
        let path = path.into();
        reads.push(PathRead { path, fixture, expected });
    }
    cases.push(Case::new("at the root", reads));
    Ok(cases)
}

/// Returns the name with its first lower-case letter in upper case.
fn capitalized(name: &str) -> String {
    let at = name.find(|c: char| c.is_ascii_lowercase()).unwrap_or(0);
    format!("{}{}{}", &name[..at], name[at..=at].to_uppercase(), &name[at + 1..])
}

fn link_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (_, policy) = tool(bench.subject)?;
    let mut cases = Vec::new();
    for folder in folders(policy) {
        let up = "../".repeat(folder.split('/').count());
        let link = |at: &str, to: String, file: Option<&str>, path: &str| PathRead {
            path: format!("{folder}/{path}"),
            fixture: Fixture::Link { at: format!("{folder}/{at}"), to, file: file.map(String::from) },
            expected: ReadOutcome::Refused,
        };
        let mut reads = vec![
            link("link.md", format!("{up}other/a.md"), Some("other/a.md"), "link.md"),
            link("folder", format!("{up}other"), Some("other/b.md"), "folder/b.md"),
            link("outside.md", format!("{up}../outside/secret.md"), None, "outside.md"),
            link("beside", format!("{up}../outside"), None, "beside/secret.md"),
            link("config.md", format!("{up}.git/config"), None, "config.md"),
        ];
        if let Some((name, _)) = denied(policy).first() {
            let file = format!("{folder}/{name}");
            reads.push(link("denied.md", name.clone(), Some(&file), "denied.md"));
        }
        cases.push(Case::new(format!("links below {folder}"), reads));
    }
    Ok(cases)
}

/// Returns the required result for a missing file: an answer that reports it if the tool's result has a member for that,
/// otherwise a refusal.
fn missing(tool: &ToolSpec) -> ReadOutcome {
    let result = tool.output.wire();
    let has = |name| result["properties"][name]["type"] == "boolean";
    if has("exists") || has("found") { ReadOutcome::Missing } else { ReadOutcome::Refused }
}

fn other_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (tool, policy) = tool(bench.subject)?;
    let mut cases = Vec::new();
    for folder in folders(policy) {
        let of =
            |name: &str, fixture, expected| PathRead { path: format!("{folder}/{name}"), fixture, expected };
        let holding = |bytes: &[u8]| Fixture::Holding(Bytes(bytes.to_vec()));
        let reads = vec![
            of("missing.md", Fixture::Nothing, missing(tool)),
            of("deep/er/missing.md", Fixture::Nothing, missing(tool)),
            of("folder.md", Fixture::Folder, ReadOutcome::Refused),
            of("latin-1.md", holding(b"gr\xf6\xdfe\n"), ReadOutcome::Refused),
            of("utf-16.md", holding(b"\xff\xfea\0b\0"), ReadOutcome::Refused),
            of("cut.md", holding(b"half a character \xe2\x82"), ReadOutcome::Refused),
            of("empty.md", holding(b""), ReadOutcome::Returned),
            of("odd.md", holding("\u{feff}a\r\nb\0\u{1f600}\n".as_bytes()), ReadOutcome::Returned),
        ];
        cases.push(Case::new(format!("below {folder}"), reads));
    }
    Ok(cases)
}

/// Returns a case for each read alone.
fn one_read(case: &Case) -> Vec<Case> {
    each_alone(case, |reads: &mut Vec<PathRead>| reads, |_, read| read.path.clone())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let reads: Vec<PathRead> = case.read()?;
    let (tool, _) = tool(bench.subject)?;
    let scene = bench.scene(&[("other/secret.md", "a file that may not be read\n")])?;
    for it in &reads {
        create(&scene, it)?;
    }
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    for it in &reads {
        let call = call(tool, &it.path)?;
        // The tool's schema may permit fewer names than its policy.
        if it.expected != ReadOutcome::Refused && !request::may_name(&call) {
            continue;
        }
        let Some(message) = client.attempt(tool, &call.arguments)? else {
            continue;
        };
        let path = &it.path;
        let reply = bench.subject.adapter.reply(tool, &message);
        match (it.expected, &reply) {
            (ReadOutcome::Refused, Reply::Done(_)) => {
                return Err(fail(format!("`{path}` was read, but must be refused")));
            }
            (ReadOutcome::Returned | ReadOutcome::Missing, Reply::Refused(refusal)) => {
                return Err(fail(format!("`{path}` was refused: {}", refusal.message)));
            }
            (ReadOutcome::Returned, Reply::Done(done)) => {
                let text = match &it.fixture {
                    Fixture::Holding(bytes) => String::from_utf8_lossy(bytes.as_ref()).into_owned(),
                    _ => text(path),
                };
                ensure(contains_text(&done.response, &text), || {
                    format!("the answer does not contain the text of `{path}`: {}", done.response)
                })?;
            }
            (ReadOutcome::Missing, Reply::Done(done)) => {
                let mut members = done.response.as_object().into_iter().flatten();
                ensure(members.any(|(_, value)| *value == false), || {
                    format!("`{path}` is missing, but the answer does not report it: {}", done.response)
                })?;
            }
            (ReadOutcome::Refused, Reply::Refused(_)) => {}
        }
        let answer = message.to_string();
        ensure(it.expected == ReadOutcome::Returned || !answer.contains(MARKER), || {
            format!("`{path}` was refused, but the answer contains its text")
        })?;
    }
    before.same(&Moment::capture(&scene)?)
}

/// Phrase in the text of every created file.
const MARKER: &str = "conformance text of";

/// Returns the text of the file at `path`.
fn text(path: &str) -> String {
    format!("# A file\n\nThis is {MARKER} {path}.\n")
}

/// Creates the contents of a path.
fn create(scene: &Scene<'_>, it: &PathRead) -> Result<(), Stop> {
    match &it.fixture {
        Fixture::File => scene.put(&it.path, text(&it.path)),
        Fixture::Holding(bytes) => scene.put(&it.path, bytes),
        Fixture::Folder => Ok(fs::create_dir_all(scene.path(&it.path))?),
        Fixture::Nothing => Ok(()),
        Fixture::Link { at, to, file } => {
            if let Some(file) = file {
                scene.put(file, text(file))?;
            }
            scene.trace(format!("a person links `{at}` to `{to}`"));
            let at = scene.path(at);
            fs::create_dir_all(at.parent().unwrap_or(&at))?;
            Ok(symlink(to, at)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy has tests of its own; this one compares the derived paths with it.
    #[test]
    fn derived_paths_agree_with_the_policy() {
        let policy = PathPolicy {
            allow: &["docs/**", ".claude/memory/**", "README.md"],
            deny: &["**/.env*", "**/secrets*", "**/*.key", "**/.git", "docs/inner*", "docs/private/**"],
        };
        for folder in folders(&policy) {
            for (name, almost) in denied(&policy) {
                for name in [name.clone(), name.to_uppercase(), capitalized(&name)] {
                    assert!(policy.judge(&format!("{folder}/{name}")).is_err(), "{name}");
                    assert!(policy.judge(&format!("{folder}/{name}/a.md")).is_err(), "{name}");
                }
                assert!(policy.judge(&format!("{folder}/{almost}")).is_ok(), "{almost}");
            }
        }
        for (path, almost) in denied_paths(&policy) {
            assert!(policy.judge(&path).is_err(), "{path}");
            assert!(policy.judge(&almost).is_ok(), "{almost}");
        }
        assert_eq!(denied_paths(&policy).len(), 4);
        assert_eq!(folders(&policy).count(), 2);
        assert_eq!(denied(&policy).len(), 8);
        assert!(policy.judge(&sample(&policy)).is_ok());
    }

    #[test]
    fn only_the_whole_text_counts_as_contained() {
        let response = serde_json::json!({ "content": "abc", "list": [{ "text": "def" }] });
        assert!(contains_text(&response, "abc") && contains_text(&response, "def"));
        assert!(!contains_text(&response, "ab") && !contains_text(&response, ""));
    }
}
