//! Tools that may be asked for some paths only: what the contract denies is refused even where it allows it.
//!
//! Paths are made from the contract's own globs: `docs/**` is a folder to read from, `**/secrets*` a name that must not be
//! read from anywhere, and what is almost such a name may be.

use std::{fs, os::unix::fs::symlink};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion_runtime::{PathPolicy, ToolSpec};

use crate::{
    Bytes, Subject,
    check::{Bench, Case, Check, Severity},
    judgement::{Judgement, Stop, ensure, fail},
    moment::Moment,
    reply::Reply,
    request::{self, Call},
    scene::Scene,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "policy/paths",
        severity: Severity::Must,
        guarantees: &["paths-judged"],
        states: "What the contract allows is read, and nothing that it denies, or does not allow.",
        explains: "Files are put where the contract allows reading, at any depth, and where it denies it: by a name at the \
                   end of the path or in the middle of it, in small and in large letters, also below allowed folders. Names \
                   that almost match are among them, and paths that leave an allowed folder again. Of a refused file \
                   nothing may be told; an allowed one must be told whole.",
        cases: path_cases,
        judge,
        shrink: one_try,
    },
    Check {
        id: "policy/links",
        severity: Severity::Must,
        guarantees: &["paths-judged"],
        states: "No link in an allowed folder leads to what may not be read.",
        explains: "A file or a folder in an allowed one is a symbolic link to a denied file, to one that is not allowed, to one \
                   outside of the library, or to git's own files. Nothing of it may be told.",
        cases: link_cases,
        judge,
        shrink: one_try,
    },
    Check {
        id: "policy/no-file",
        severity: Severity::Must,
        guarantees: &["paths-judged"],
        states: "A file that is missing is said to be, and what is no text is refused rather than told otherwise.",
        explains: "A missing file is no error but an answer; a folder, and a file that is no UTF-8, are refused: a reader that \
                   puts other characters in the place of bytes tells what is not there.",
        cases: other_cases,
        judge,
        shrink: one_try,
    },
];

/// What must become of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Expected {
    /// The whole text is told.
    Told,
    /// It is refused.
    Refused,
    /// The answer says that there is no such file.
    Missing,
}

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Lies {
    /// A file with a text that no other has.
    File,
    /// A file with these bytes.
    Holding(Bytes),
    Folder,
    Nothing,
    /// A link: where it lies and what it leads to, which has a file or is there already.
    Link {
        at: String,
        to: String,
        file: Option<String>,
    },
}

/// A path that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Try {
    path: String,
    lies: Lies,
    expected: Expected,
}

/// The tool whose paths the contract judges.
pub(super) fn tool(subject: &Subject) -> Result<(&'static ToolSpec, &'static PathPolicy), Stop> {
    let mut tools = subject.tools().filter(|tool| !tool.mutating);
    let found = tools.find_map(|tool| Some((tool, tool.paths.as_ref()?)));
    found.ok_or_else(|| Stop::NotApplicable("the server has no tool whose paths are judged".into()))
}

/// A path that may be read.
pub(super) fn sample(policy: &PathPolicy) -> String {
    let folder = folders(policy).next();
    folder.map_or_else(
        || files(policy).next().unwrap_or_default().into(),
        |folder| format!("{folder}/a.md"),
    )
}

/// The call that reads a file.
pub(super) fn call(tool: &'static ToolSpec, path: &str) -> Result<Call, Stop> {
    request::about(tool, path).ok_or_else(|| Stop::Harness("the contract has no example of a reading".into()))
}

/// Whether a response has this text, and all of it, somewhere.
pub(super) fn tells(response: &Value, text: &str) -> bool {
    match response {
        Value::String(found) => found == text,
        Value::Array(values) => values.iter().any(|value| tells(value, text)),
        Value::Object(members) => members.values().any(|value| tells(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The folders that are allowed with all below.
fn folders(policy: &PathPolicy) -> impl Iterator<Item = &'static str> {
    let folders = policy.allow.iter().filter_map(|glob| glob.strip_suffix("/**"));
    folders.filter(|folder| !folder.contains('*'))
}

/// The files that are allowed by name.
fn files(policy: &PathPolicy) -> impl Iterator<Item = &'static str> {
    policy.allow.iter().copied().filter(|glob| !glob.contains('*'))
}

/// Names that are denied wherever they stand, each with one that almost is.
fn denied(policy: &PathPolicy) -> Vec<(String, String)> {
    let names = policy.deny.iter().filter_map(|glob| glob.strip_prefix("**/"));
    let names = names.filter(|name| !name.contains('/'));
    let pairs = names.flat_map(|name| {
        let bare = name.replace('*', "");
        let is_open = |at: bool| {
            if at {
                name.starts_with('*')
            } else {
                name.ends_with('*')
            }
        };
        match (is_open(true), is_open(false)) {
            (false, true) => vec![
                (bare.clone(), format!("x{bare}")),
                (format!("{bare}.local"), format!("x{bare}.local")),
            ],
            (true, false) => vec![(format!("server{bare}"), format!("server{bare}.md"))],
            (true, true) => vec![],
            (false, false) => vec![(bare.clone(), format!("x{bare}"))],
        }
    });
    pairs.collect()
}

fn path_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (_, policy) = tool(bench.subject)?;
    let of = |path: String, expected| {
        // A file of git's name would make git take the folder for a repository.
        let is_gits = path
            .split('/')
            .any(|segment| segment.eq_ignore_ascii_case(".git"));
        let lies = if is_gits { Lies::Nothing } else { Lies::File };
        Try { path, lies, expected }
    };
    let mut cases = Vec::new();
    for folder in folders(policy) {
        let mut tries: Vec<_> = ["a.md", "deep/er/a.md", "data.json", "no-extension"]
            .map(|name| of(format!("{folder}/{name}"), Expected::Told))
            .into();
        for (name, almost) in denied(policy) {
            tries.push(of(format!("{folder}/{almost}"), Expected::Told));
            for path in [
                format!("{folder}/{name}"),
                format!("{folder}/deep/{name}"),
                format!("{folder}/folders/{name}/a.md"),
                format!("{folder}/other/{}", name.to_uppercase()),
                format!("{folder}/capitals/{}/deep/a.md", capital(&name)),
            ] {
                tries.push(of(path, Expected::Refused));
            }
        }
        for path in [
            format!("{folder}x/a.md"),
            format!("x{folder}/a.md"),
            format!("other/{folder}/a.md"),
        ] {
            tries.push(of(path, Expected::Refused));
        }
        for path in [format!("{folder}/../other/secret.md"), format!("/{folder}/a.md")] {
            let lies = Lies::Nothing;
            let expected = Expected::Refused;
            tries.push(Try { path, lies, expected });
        }
        cases.push(Case::new(format!("below {folder}"), tries));
    }
    let mut tries = Vec::new();
    for file in files(policy) {
        tries.push(of(file.into(), Expected::Told));
        for path in [format!("{file}x"), format!("x{file}"), format!("other/{file}")] {
            tries.push(of(path, Expected::Refused));
        }
    }
    for (name, _) in denied(policy) {
        tries.push(of(name, Expected::Refused));
    }
    for path in ["other.md", "other/a.md", "src/main.rs", "notes/plan.md"] {
        tries.push(of(path.into(), Expected::Refused));
    }
    for path in ["../outside/secret.md", ".git/config", "."] {
        let lies = Lies::Nothing;
        let expected = Expected::Refused;
        let path = path.into();
        tries.push(Try { path, lies, expected });
    }
    cases.push(Case::new("at the root", tries));
    Ok(cases)
}

/// With a capital letter somewhere.
fn capital(name: &str) -> String {
    let at = name.find(|c: char| c.is_ascii_lowercase()).unwrap_or(0);
    format!(
        "{}{}{}",
        &name[..at],
        name[at..=at].to_uppercase(),
        &name[at + 1..]
    )
}

fn link_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (_, policy) = tool(bench.subject)?;
    let mut cases = Vec::new();
    for folder in folders(policy) {
        let up = "../".repeat(folder.split('/').count());
        let link = |at: &str, to: String, file: Option<&str>, path: &str| Try {
            path: format!("{folder}/{path}"),
            lies: Lies::Link {
                at: format!("{folder}/{at}"),
                to,
                file: file.map(String::from),
            },
            expected: Expected::Refused,
        };
        let mut tries = vec![
            link(
                "link.md",
                format!("{up}other/a.md"),
                Some("other/a.md"),
                "link.md",
            ),
            link("folder", format!("{up}other"), Some("other/b.md"), "folder/b.md"),
            link(
                "outside.md",
                format!("{up}../outside/secret.md"),
                None,
                "outside.md",
            ),
            link("beside", format!("{up}../outside"), None, "beside/secret.md"),
            link("config.md", format!("{up}.git/config"), None, "config.md"),
        ];
        if let Some((name, _)) = denied(policy).first() {
            let file = format!("{folder}/{name}");
            tries.push(link("denied.md", name.clone(), Some(&file), "denied.md"));
        }
        cases.push(Case::new(format!("links below {folder}"), tries));
    }
    Ok(cases)
}

fn other_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (_, policy) = tool(bench.subject)?;
    let mut cases = Vec::new();
    for folder in folders(policy) {
        let of = |name: &str, lies, expected| Try {
            path: format!("{folder}/{name}"),
            lies,
            expected,
        };
        let holding = |bytes: &[u8]| Lies::Holding(Bytes(bytes.to_vec()));
        let tries = vec![
            of("missing.md", Lies::Nothing, Expected::Missing),
            of("deep/er/missing.md", Lies::Nothing, Expected::Missing),
            of("folder.md", Lies::Folder, Expected::Refused),
            of("latin-1.md", holding(b"gr\xf6\xdfe\n"), Expected::Refused),
            of("utf-16.md", holding(b"\xff\xfea\0b\0"), Expected::Refused),
            of("cut.md", holding(b"half a character \xe2\x82"), Expected::Refused),
            of("empty.md", holding(b""), Expected::Told),
            of(
                "odd.md",
                holding("\u{feff}a\r\nb\0\u{1f600}\n".as_bytes()),
                Expected::Told,
            ),
        ];
        cases.push(Case::new(format!("below {folder}"), tries));
    }
    Ok(cases)
}

/// Each reading by itself.
fn one_try(case: &Case) -> Vec<Case> {
    let Ok(tries) = case.read::<Vec<Try>>() else {
        return Vec::new();
    };
    if tries.len() < 2 {
        return Vec::new();
    }
    let all = tries.into_iter();
    all.map(|it| Case::new(it.path.clone(), [it])).collect()
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let tries: Vec<Try> = case.read()?;
    let (tool, _) = tool(bench.subject)?;
    let scene = bench.scene(&[("other/secret.md", "a file that may not be read\n")])?;
    for it in &tries {
        put(&scene, it)?;
    }
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    for it in &tries {
        let call = call(tool, &it.path)?;
        let Some(message) = client.attempt(tool, &call.arguments)? else {
            continue;
        };
        let path = &it.path;
        let reply = bench.subject.adapter.reply(tool, &message);
        match (it.expected, &reply) {
            (Expected::Refused, Reply::Done(_)) => {
                return Err(fail(format!("`{path}` was read, and must be refused")));
            }
            (Expected::Told | Expected::Missing, Reply::Refused(refusal)) => {
                return Err(fail(format!("`{path}` was refused: {}", refusal.message)));
            }
            (Expected::Told, Reply::Done(done)) => {
                let text = match &it.lies {
                    Lies::Holding(bytes) => String::from_utf8_lossy(bytes.as_ref()).into_owned(),
                    _ => text(path),
                };
                ensure(tells(&done.response, &text), || {
                    format!(
                        "what was told of `{path}` is not what it holds: {}",
                        done.response
                    )
                })?;
            }
            (Expected::Missing, Reply::Done(done)) => {
                let mut members = done.response.as_object().into_iter().flatten();
                ensure(members.any(|(_, value)| *value == false), || {
                    format!(
                        "`{path}` is missing, and the answer does not say so: {}",
                        done.response
                    )
                })?;
            }
            (Expected::Refused, Reply::Refused(_)) => {}
        }
        let told = message.to_string();
        ensure(it.expected == Expected::Told || !told.contains(MARK), || {
            format!("`{path}` was refused, and the answer tells what it holds")
        })?;
    }
    before.same(&Moment::of(&scene)?)
}

/// What files that may not be read have in common.
const MARK: &str = "what lies at";

fn text(path: &str) -> String {
    format!("# A file\n\nThis is {MARK} {path}.\n")
}

fn put(scene: &Scene<'_>, it: &Try) -> Result<(), Stop> {
    match &it.lies {
        Lies::File => scene.put(&it.path, text(&it.path)),
        Lies::Holding(bytes) => scene.put(&it.path, bytes),
        Lies::Folder => Ok(fs::create_dir_all(scene.path(&it.path))?),
        Lies::Nothing => Ok(()),
        Lies::Link { at, to, file } => {
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

    /// The policy itself is tested where it is written; this holds the paths that are made from it against it.
    #[test]
    fn paths_are_made_as_the_policy_judges_them() {
        let policy = PathPolicy {
            allow: &["docs/**", ".claude/memory/**", "README.md"],
            deny: &["**/.env*", "**/secrets*", "**/*.key", "**/.git"],
        };
        for folder in folders(&policy) {
            for (name, almost) in denied(&policy) {
                for name in [name.clone(), name.to_uppercase(), capital(&name)] {
                    assert!(policy.judge(&format!("{folder}/{name}")).is_err(), "{name}");
                    assert!(policy.judge(&format!("{folder}/{name}/a.md")).is_err(), "{name}");
                }
                assert!(policy.judge(&format!("{folder}/{almost}")).is_ok(), "{almost}");
            }
        }
        assert_eq!(folders(&policy).count(), 2);
        assert_eq!(denied(&policy).len(), 6);
        assert!(policy.judge(&sample(&policy)).is_ok());
    }

    #[test]
    fn a_text_is_told_only_where_it_is_whole() {
        let response = serde_json::json!({ "content": "abc", "list": [{ "text": "def" }] });
        assert!(tells(&response, "abc") && tells(&response, "def"));
        assert!(!tells(&response, "ab") && !tells(&response, ""));
    }
}
