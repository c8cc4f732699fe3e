//! Checks that run each attack of the table with every tool that takes a path.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    attacks::{self, Attack, Expected, placed},
    check::Severity,
    checks::prelude::*,
    layout::SECRET,
    ledger, promises,
    request::{self, may_name, with_effect},
    semantics,
};

/// Creates a check of the attacks that name it.
const fn attack_check(
    id: &'static str,
    severity: Severity,
    states: &'static str,
    cases: fn(&Bench<'_>) -> Result<Vec<Case>, Stop>,
) -> Check {
    Check {
        id,
        severity,
        guarantees: &[],
        states,
        explains: "Runs each attack with every tool that takes a path: reads, previews, changes, listings and \
                   searches. Every tool must refuse a hostile path and change no byte, commit, index entry or git \
                   file, inside or outside the library. No answer may reveal a file outside it, and the server must \
                   answer afterwards. `attacks/paths.toml` has the attacks and their reasons.",
        cases,
        judge,
        shrink,
    }
}

pub(super) const ESCAPE: Check = attack_check(
    "paths/escape",
    Severity::Must,
    "No path leads out of the library or to a file that is not a document, for reading or writing.",
    |bench| cases(bench, "escape"),
);

pub(super) const LINKS: Check = attack_check(
    "paths/links",
    Severity::Must,
    "No link in the library leads a call out of it, for reading or writing.",
    |bench| cases(bench, "links"),
);

pub(super) const SPECIAL_FILES: Check = attack_check(
    "paths/special-files",
    Severity::Must,
    "A file that is not regular is refused immediately, and blocks no other call.",
    |bench| cases(bench, "special-files"),
);

pub(super) const NAMES: Check = attack_check(
    "paths/names",
    Severity::Should,
    "A document has one name, which means the same on every system; all such names are accepted.",
    |bench| cases(bench, "names"),
);

pub(super) const GIT_INTERNALS: Check = attack_check(
    "paths/git-internals",
    Severity::Must,
    "No path reaches git's own files, in any disguise and at any depth.",
    |bench| cases(bench, "git-internals"),
);

/// A phrase of [`SECRET`].
const SECRET_PHRASE: &str = "this must not be read";
/// Text that attacks write.
const ATTACKED: &str = "## Scope\n\nattacked\n";
/// Checks that judge servers with other tools by the state of the disk.
const BY_DISK: [&str; 3] = ["escape", "links", "git-internals"];
/// A word of [`SECRET`], for searches.
const SECRET_WORD: &str = "canary";
const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";

/// An attack, with all of its calls or a single one.
#[derive(Debug, Serialize, Deserialize)]
struct AttackCase {
    attack: String,
    only: Option<usize>,
}

fn cases(bench: &Bench<'_>, check: &str) -> Result<Vec<Case>, Stop> {
    let is_promised = promises::are_of(bench.subject.contract);
    let is_owed = |attack: &&Attack| !(is_promised && attack.contracts_only);
    let attacks = attacks::all().iter().filter(|attack| attack.check == check).filter(is_owed);
    let case = |attack: &Attack| {
        let attack_case = AttackCase { attack: attack.id.clone(), only: None };
        Case::new(&attack.id, attack_case)
    };
    Ok(attacks.map(case).collect())
}

/// Maximum number of calls per attack.
const MAX_CALLS: usize = 40;

fn shrink(case: &Case) -> Vec<Case> {
    let Ok(AttackCase { attack, only: None }) = case.read() else {
        return Vec::new();
    };
    let alone = |only| AttackCase { attack: attack.clone(), only: Some(only) };
    (0..MAX_CALLS).map(|only| Case::new(case.name.clone(), alone(only))).collect()
}

/// A call of an attack, with a document's or a folder's path.
struct AttackCall {
    call: Call,
    names_folder: bool,
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let attack_case: AttackCase = case.read()?;
    let scene = bench.scene(&[("notes/plan.md", DOCUMENT), ("README.md", "# Library\n")])?;
    let attack = attacks::set_up(&attack_case.attack, &scene)?;
    let path = placed(&attack.path, &scene);
    let mut calls = attack_calls(bench, attack, &path, &scene);
    if let Some(only) = attack_case.only {
        calls = calls.into_iter().skip(only).take(1).collect();
    }
    let mut client = scene.start()?;
    match attack.expected {
        Expected::Ordinary => judge_ordinary(bench, &scene, &mut client, &path, &calls)?,
        _ => judge_hostile(bench, &scene, &mut client, attack, &path, &calls)?,
    }
    client.request("tools/list", Value::Object(Map::new()))?;
    Ok(())
}

/// Returns the calls of an attack, mutating ones last.
fn attack_calls(bench: &Bench<'_>, attack: &Attack, path: &str, scene: &Scene<'_>) -> Vec<AttackCall> {
    let with = With { path, content: ATTACKED, target: "## Scope" };
    let effects = |tool: &'static ToolSpec, named: &'static ToolSpec| {
        let adapter = &bench.subject.adapter;
        let effects = tool.effects.iter().filter(|effect| adapter.has(tool, Some(effect)));
        let calls = effects.filter_map(move |effect| with_effect(tool, effect, with));
        // Some tools take one of a fixed set of paths.
        let calls = calls.filter(|call| call.path() == with.path);
        calls.map(move |call| AttackCall {
            call: Call { tool: named, arguments: call.arguments },
            names_folder: false,
        })
    };
    let contract = bench.subject.contract;
    let mut calls: Vec<AttackCall> = Vec::new();
    for tool in bench.subject.operations().filter(|tool| tool.path.is_some()) {
        let pair = contract.previews.iter().find(|pair| pair.preview == tool.label());
        if let Some(applies) = pair.and_then(|pair| contract.operation(pair.applies)) {
            calls.extend(effects(applies, tool));
        } else if !tool.effects.is_empty() {
            calls.extend(effects(tool, tool));
        } else if attack.expected != Expected::Ordinary || (attack.folder.is_some() && tool.paths.is_none()) {
            let folder = attack.folder.as_ref().map(|folder| placed(folder, scene));
            calls.extend(folder_calls(tool, folder.as_deref().unwrap_or(path)));
        }
    }
    if attack.expected == Expected::Ordinary {
        // Calls that the contract's own rules refuse are not ordinary.
        calls.retain(|it| may_name(&it.call));
    }
    calls.sort_by_key(|it| it.call.tool.mutating);
    calls.truncate(MAX_CALLS);
    calls
}

/// Returns calls of a tool that takes a folder; other string arguments are a word of the secret.
fn folder_calls(tool: &'static ToolSpec, folder: &str) -> impl Iterator<Item = AttackCall> {
    request::examples(tool).map(move |mut arguments| {
        let texts = arguments.as_object_mut().into_iter().flatten();
        texts.filter(|(_, value)| value.is_string()).for_each(|(_, value)| *value = SECRET_WORD.into());
        tool.path.into_iter().for_each(|at| request::set(&mut arguments, at, folder));
        AttackCall { call: Call { tool, arguments }, names_folder: true }
    })
}

fn judge_hostile(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    attack: &Attack,
    path: &str,
    calls: &[AttackCall],
) -> Judgement {
    debug_assert!(SECRET.contains(SECRET_PHRASE) && SECRET.contains(SECRET_WORD));
    let before = Moment::capture(scene)?;
    // Another server may understand a path in its own way, so that only the disk and the answer show where it led.
    let is_promised = promises::are_of(bench.subject.contract);
    let by_disk = !bench.subject.is_native() && (is_promised || BY_DISK.contains(&&*attack.check));
    for AttackCall { call, names_folder } in calls {
        let message = match client.attempt(call.tool, &call.arguments) {
            // Without a promise to refuse it, such a file may block only the call that names it.
            Err(Stop::NotShown(_)) if is_promised && attack.check == "special-files" => {
                client.request("tools/list", Value::Object(Map::new()))?;
                return Ok(());
            }
            message => message?,
        };
        let Some(message) = message else {
            continue;
        };
        ensure(attack.tells || !message.to_string().contains(SECRET_PHRASE), || {
            format!("the answer reveals a file outside the library ({})", attack.why)
        })?;
        if attack.expected != Expected::Refused {
            continue;
        }
        // Listing a folder is not an attack if only the portability of its name is in question.
        if *names_folder && (attack.lists || attack.check == "names") {
            continue;
        }
        if by_disk {
            let content = scene.read(path).unwrap_or_default();
            ensure(attack.check != "git-internals" || !reveals(&message, &content), || {
                format!("the answer reveals `{path}` ({})", attack.why)
            })?;
        } else if let Reply::Done(done) = bench.subject.adapter.reply(call.tool, &message) {
            ensure(*names_folder && is_empty_response(&done.response), || {
                let shown: String = path.escape_debug().take(100).collect();
                format!("`{shown}` was accepted ({}): {}", attack.why, describe(call))
            })?;
        }
    }
    let after = Moment::capture(scene)?;
    if attack.expected == Expected::Refused {
        return if by_disk { judge_disk(bench, scene, attack, &before, &after) } else { before.same(&after) };
    }
    judge_contained(scene, attack, path, &before, &after)
}

/// Fails if calls have changed files outside the library, git's own, or files that are not documents. For a server with promises, only
/// `paths/git-internals` judges the latter two: it may be a server for all kinds of files.
fn judge_disk(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    attack: &Attack,
    before: &Moment,
    after: &Moment,
) -> Judgement {
    let is_promised = promises::are_of(bench.subject.contract);
    // No promise is about special files; other checks judge a promise to stay inside.
    if !(is_promised && attack.check == "special-files") {
        before.same_around(after)?;
    }
    let is_about_git = attack.check == "git-internals";
    if is_promised && !is_about_git {
        return Ok(());
    }
    before.same_control(after)?;
    let is_document = |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        ["md", "markdown", "mdx"].contains(&&*extension.to_lowercase())
    };
    let changed = after.view.library.changed_since(&before.view.library);
    let mut changed = changed.into_iter().chain(written_in_git(&scene.path(".git"), Path::new(".git"))?);
    let wrong = changed.find(|path| path.starts_with(".git") || !is_promised && !is_document(path));
    ensure_none(wrong, |path| {
        format!("`{}` was written ({})", path.to_string_lossy().escape_debug(), attack.why)
    })
}

/// Returns true if a string in a message contains the content of a file.
fn reveals(message: &Value, content: &[u8]) -> bool {
    let content = String::from_utf8_lossy(content);
    let content = Value::from(content.trim()).to_string();
    let content = content.trim_matches('"');
    !content.is_empty() && message.to_string().contains(content)
}

/// Returns the files in git's folder, except objects, that hold the text of an attack; `name` is the folder's path in the library.
fn written_in_git(folder: &Path, name: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = name.join(entry.file_name());
        if entry.file_type()?.is_dir() && entry.file_name() != "objects" {
            found.extend(written_in_git(&entry.path(), &name)?);
        } else if ledger::bytes(&entry.path()).is_some_and(|bytes| bytes == ATTACKED.as_bytes()) {
            found.push(name);
        }
    }
    Ok(found)
}

fn judge_contained(
    scene: &Scene<'_>,
    attack: &Attack,
    path: &str,
    before: &Moment,
    after: &Moment,
) -> Judgement {
    let mut permitted: Vec<&str> = attack.also.iter().map(String::as_str).collect();
    permitted.push(path);
    before.same_around(after)?;
    before.same_documents(after, &permitted)?;
    before.same_control(after)?;
    if attack.expected == Expected::NoNewFile {
        let mut files = after.view.library.files.keys();
        let new = files.find(|path| !before.view.library.files.contains_key(*path));
        ensure_none(new, |new| {
            let new = new.to_string_lossy();
            format!("the call created `{}` beside the document ({})", new.escape_debug(), attack.why)
        })?;
    }
    let first = before.view.library.commits.first().cloned().unwrap_or_default();
    let changed = scene.git(&scene.own().except(&["diff", "--name-only", "-z", &first, "HEAD"]))?;
    let mut changed = changed.split_terminator('\0');
    let other = changed.find(|path| !permitted.iter().any(|it| Path::new(it) == Path::new(path)));
    ensure(other.is_none(), || format!("a commit changes `{}`", other.unwrap_or_default().escape_debug()))
}

fn judge_ordinary(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    path: &str,
    calls: &[AttackCall],
) -> Judgement {
    let before = Moment::capture(scene)?;
    for AttackCall { call, .. } in calls {
        let kind = call.tool.effect(&call.arguments).map(|effect| effect.kind);
        let found = scene.read(path);
        let is_new = found.is_none() && kind == Some(EffectKind::Write);
        if !is_new && found.as_deref() != Some(DOCUMENT.as_bytes()) {
            scene.put(path, DOCUMENT)?;
            scene.git(&["add", "--", path])?;
            // Without a commit of the server's, the last one of the document is still HEAD's.
            scene.git(&["commit", "--quiet", "--allow-empty", "-m", "a document"])?;
        }
        let bytes = scene.read(path);
        let Some(message) = client.attempt(call.tool, &call.arguments)? else {
            continue;
        };
        bench.subject.adapter.reply(call.tool, &message).must(format!("`{path}`, in {},", describe(call)))?;
        semantics::allowed(call, bytes.as_deref(), scene.read(path).as_deref())?;
    }
    let after = Moment::capture(scene)?;
    before.same_documents(&after, &[path])?;
    before.same_around(&after)
}

/// Describes a call for messages.
fn describe(call: &Call) -> String {
    let kind = call.tool.effect(&call.arguments).map(|effect| effect.kind);
    let what = kind.map_or("a call", |kind| semantics::words(Some(kind)));
    format!("{what} with `{}`", call.tool.label())
}

/// Returns true if the lists and strings of a response are empty.
fn is_empty_response(response: &Value) -> bool {
    match response {
        Value::Array(values) => values.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.values().all(is_empty_response),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}
