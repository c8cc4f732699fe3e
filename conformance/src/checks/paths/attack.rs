//! The attacks of the table, each tried with every tool that takes a path.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tabellion_runtime::{ToolSpec, spec::EffectKind};

use crate::{
    attacks::{self, Attack, Expected, Setup, placed},
    check::{Bench, Case, Check, Severity},
    client::Client,
    judgement::{Judgement, Stop, ensure, fail},
    moment::Moment,
    reply::Reply,
    request::{self, Call, With, with_effect},
    scene::{SECRET, Scene},
    semantics,
};

/// A check of the attacks that name it.
const fn table(
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
        explains: "Each attack is made with every tool that takes a path: documents are read, previewed and changed at it, \
                   folders are listed and searched. What must be refused must be refused by each, with not a byte, commit, \
                   index entry or file of git's changed, in the library or around it; no answer may tell what a file \
                   outside holds; and the server must answer afterwards. `attacks/paths.toml` has the attacks, and why.",
        cases,
        judge,
        shrink,
    }
}

pub(super) const ESCAPE: Check = table(
    "paths/escape",
    Severity::Must,
    "No path leads out of the library or to a file that is not a document, for reading or writing.",
    |bench| cases(bench, "escape"),
);

pub(super) const LINKS: Check = table(
    "paths/links",
    Severity::Must,
    "No link in the library leads a call out of it, for reading or writing.",
    |bench| cases(bench, "links"),
);

pub(super) const SPECIAL_FILES: Check = table(
    "paths/special-files",
    Severity::Must,
    "A file that is not regular is refused immediately, and blocks no other call.",
    |bench| cases(bench, "special-files"),
);

pub(super) const NAMES: Check = table(
    "paths/names",
    Severity::Should,
    "A document has one name, which means the same on every system; all such names are accepted.",
    |bench| cases(bench, "names"),
);

pub(super) const GIT_INTERNALS: Check = table(
    "paths/git-internals",
    Severity::Must,
    "No path reaches git's own files, in any disguise and at any depth.",
    |bench| cases(bench, "git-internals"),
);

/// A phrase of the secret.
const TOLD: &str = "this must not be read";
/// A word of the secret, to search for.
const SEARCHED: &str = "canary";
const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";

/// An attack, with all calls or only one of them.
#[derive(Debug, Serialize, Deserialize)]
struct AttackCase {
    attack: String,
    only: Option<usize>,
}

fn cases(_: &Bench<'_>, check: &str) -> Result<Vec<Case>, Stop> {
    let attacks = attacks::all().iter().filter(|attack| attack.check == check);
    let case = |attack: &Attack| {
        let tried = AttackCase {
            attack: attack.id.clone(),
            only: None,
        };
        Case::new(&attack.id, tried)
    };
    Ok(attacks.map(case).collect())
}

/// So many calls are made of an attack at most.
const MAX_CALLS: usize = 40;

fn shrink(case: &Case) -> Vec<Case> {
    let Ok(AttackCase { attack, only: None }) = case.read() else {
        return Vec::new();
    };
    let alone = |only| AttackCase {
        attack: attack.clone(),
        only: Some(only),
    };
    (0..MAX_CALLS)
        .map(|only| Case::new(case.name.clone(), alone(only)))
        .collect()
}

/// A call about the document, or of a tool that works on folders.
struct AttackCall {
    call: Call,
    is_of_folder: bool,
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let tried: AttackCase = case.read()?;
    let attack = attacks::find(&tried.attack);
    let attack = attack.ok_or_else(|| Stop::Harness(format!("there is no attack `{}`", tried.attack)))?;
    let scene = bench.scene(&[("notes/plan.md", DOCUMENT), ("README.md", "# Library\n")])?;
    for setup in &attack.setup {
        setup.put(&scene)?;
    }
    if attack.setup.iter().all(Setup::is_for_git) {
        scene.commit_all("what an attack needs")?;
    }
    let path = placed(&attack.path, &scene);
    let mut tries = tries(bench, attack, &path, &scene);
    if let Some(only) = tried.only {
        tries = tries.into_iter().skip(only).take(1).collect();
    }
    let mut client = scene.start()?;
    match attack.expected {
        Expected::Ordinary => ordinary(bench, &scene, &mut client, &path, &tries)?,
        _ => hostile(bench, &scene, &mut client, attack, &path, &tries)?,
    }
    client.request("tools/list", Value::Object(Map::new()))?;
    Ok(())
}

/// All calls, the changing ones last.
fn tries(bench: &Bench<'_>, attack: &Attack, path: &str, scene: &Scene<'_>) -> Vec<AttackCall> {
    let with = With {
        path,
        content: "## Scope\n\nattacked\n",
        target: "## Scope",
    };
    let effects = |tool: &'static ToolSpec, named: &'static ToolSpec| {
        let adapter = &bench.subject.adapter;
        let effects = tool
            .effects
            .iter()
            .filter(|effect| adapter.has(tool, Some(effect)));
        let calls = effects.filter_map(move |effect| with_effect(tool, effect, with));
        // Some tools choose among documents of their own.
        let calls = calls.filter(|call| call.path() == with.path);
        calls.map(move |call| AttackCall {
            call: Call {
                tool: named,
                arguments: call.arguments,
            },
            is_of_folder: false,
        })
    };
    let contract = bench.subject.contract;
    let mut tries: Vec<AttackCall> = Vec::new();
    for tool in bench.subject.tools().filter(|tool| tool.path.is_some()) {
        let pair = contract.previews.iter().find(|pair| pair.preview == tool.name);
        if let Some(applies) = pair.and_then(|pair| contract.tool(pair.applies)) {
            tries.extend(effects(applies, tool));
        } else if !tool.effects.is_empty() {
            tries.extend(effects(tool, tool));
        } else if attack.expected != Expected::Ordinary || (attack.folder.is_some() && tool.paths.is_none()) {
            let folder = attack.folder.as_ref().map(|folder| placed(folder, scene));
            tries.extend(of_folder(tool, folder.as_deref().unwrap_or(path)));
        }
    }
    tries.sort_by_key(|it| it.call.tool.mutating);
    tries.truncate(MAX_CALLS);
    tries
}

/// Calls of a tool that works on folders; where it takes another text, that is a word of the secret.
fn of_folder(tool: &'static ToolSpec, folder: &str) -> impl Iterator<Item = AttackCall> {
    request::examples(tool).map(move |mut arguments| {
        let texts = arguments.as_object_mut().into_iter().flatten();
        texts
            .filter(|(_, value)| value.is_string())
            .for_each(|(_, value)| *value = SEARCHED.into());
        tool.path
            .into_iter()
            .for_each(|at| request::set(&mut arguments, at, folder));
        AttackCall {
            call: Call { tool, arguments },
            is_of_folder: true,
        }
    })
}

fn hostile(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    attack: &Attack,
    path: &str,
    tries: &[AttackCall],
) -> Judgement {
    debug_assert!(SECRET.contains(TOLD) && SECRET.contains(SEARCHED));
    let before = Moment::of(scene)?;
    for AttackCall { call, is_of_folder } in tries {
        let Some(message) = client.attempt(call.tool, &call.arguments)? else {
            continue;
        };
        ensure(attack.tells || !message.to_string().contains(TOLD), || {
            format!(
                "the answer tells what a file outside of the library holds ({})",
                attack.why
            )
        })?;
        if attack.expected != Expected::Refused {
            continue;
        }
        // A folder's name need not be one that every system can store for the folder to be asked for.
        if *is_of_folder && (attack.lists || attack.check == "names") {
            continue;
        }
        if let Reply::Done(done) = bench.subject.adapter.reply(call.tool, &message) {
            ensure(*is_of_folder && says_nothing(&done.response), || {
                let shown: String = path.escape_debug().take(100).collect();
                format!("`{shown}` was accepted ({}): {}", attack.why, words(call))
            })?;
        }
    }
    let after = Moment::of(scene)?;
    if attack.expected == Expected::Refused {
        return before.same(&after);
    }
    contained(scene, attack, path, &before, &after)
}

fn contained(scene: &Scene<'_>, attack: &Attack, path: &str, before: &Moment, after: &Moment) -> Judgement {
    let mut apart: Vec<&str> = attack.also.iter().map(String::as_str).collect();
    apart.push(path);
    before.same_around(after)?;
    before.same_documents(after, &apart)?;
    before.same_control(after)?;
    if attack.expected == Expected::NoNewFile {
        let mut files = after.view.library.files.keys();
        let new = files.find(|path| !before.view.library.files.contains_key(*path));
        ensure(new.is_none(), || {
            let new = new.map(|path| path.display().to_string()).unwrap_or_default();
            format!(
                "`{}` came beside the document ({})",
                new.escape_debug(),
                attack.why
            )
        })?;
    }
    let first = before.view.library.commits.first().cloned().unwrap_or_default();
    let changed = scene.git(&["diff", "--name-only", "-z", &first, "HEAD"])?;
    let mut changed = changed.split_terminator('\0');
    let other = changed.find(|path| !apart.iter().any(|it| Path::new(it) == Path::new(path)));
    ensure(other.is_none(), || {
        format!("a commit changes `{}`", other.unwrap_or_default().escape_debug())
    })
}

fn ordinary(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
    path: &str,
    tries: &[AttackCall],
) -> Judgement {
    let before = Moment::of(scene)?;
    for AttackCall { call, .. } in tries {
        let kind = call.tool.effect(&call.arguments).map(|effect| effect.kind);
        let found = scene.read(path);
        let is_new = found.is_none() && kind == Some(EffectKind::Write);
        if !is_new && found.as_deref() != Some(DOCUMENT.as_bytes()) {
            scene.put(path, DOCUMENT)?;
            scene.git(&["add", "--", path])?;
            scene.git(&["commit", "--quiet", "-m", "a document"])?;
        }
        let bytes = scene.read(path);
        let Some(message) = client.attempt(call.tool, &call.arguments)? else {
            continue;
        };
        if let Reply::Refused(refusal) = bench.subject.adapter.reply(call.tool, &message) {
            let what = format!("`{path}` was refused: {}, {}", words(call), refusal.message);
            return Err(fail(what));
        }
        semantics::allowed(call, bytes.as_deref(), scene.read(path).as_deref())?;
    }
    let after = Moment::of(scene)?;
    before.same_documents(&after, &[path])?;
    before.same_around(&after)
}

/// What a call is for.
fn words(call: &Call) -> String {
    let kind = call.tool.effect(&call.arguments).map(|effect| effect.kind);
    let what = kind.map_or("a call", |kind| semantics::words(Some(kind)));
    format!("{what} with `{}`", call.tool.name)
}

/// Whether a response has nothing but empty lists and texts.
fn says_nothing(response: &Value) -> bool {
    match response {
        Value::Array(values) => values.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.values().all(says_nothing),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}
