//! That a preview is what then happens, byte for byte.

use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tabellion_runtime::{
    ToolSpec,
    spec::{EffectKind, PreviewPair},
};

use crate::{
    attacks::{self, Expected, Setup, placed},
    bytes::Bytes,
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    documents::{CHANGES, on_section},
    judgement::{Judgement, Stop, ensure, fail},
    moment::Moment,
    reply::Reply,
    request::{Call, With, with_effect},
};

use super::{
    patch, person,
    table::{self, Row},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "preview/writes-nothing",
        severity: Severity::Must,
        guarantees: &["pure-unless-stated", "no-write-without-call"],
        states: "A preview changes nothing, whatever it shows.",
        explains: "Every effect that can be previewed is previewed on a table of documents (line endings, byte order marks, \
                   front matter, odd names and so on). Afterwards the library, its history, its index and what lies around \
                   it must be what they were, stamps of files included.",
        cases,
        judge: writes_nothing,
        shrink: table::shrink,
    },
    Check {
        id: "preview/equals-result",
        severity: Severity::Must,
        guarantees: &["preview-equals-result"],
        states: "The diff of a preview, applied by `git apply`, gives exactly the bytes that the same call then makes.",
        explains: "On each document of a table, a change is previewed and then made. `git apply` applies the diff to the bytes \
                   from before, in a folder of its own; what it makes must be what lies in the library after the change. \
                   An empty diff stands for no change.",
        cases,
        judge: equals_result,
        shrink: table::shrink,
    },
    Check {
        id: "preview/refused-alike",
        severity: Severity::Must,
        guarantees: &["preview-equals-result"],
        states: "What a preview refuses, the change refuses as well, and the other way round.",
        explains: "Previews and changes of documents that are missing, no text, no files or links, of headings that are \
                   missing or stand there twice, and at hostile paths: both must be refused, or neither.",
        cases: refused_cases,
        judge: refused_alike,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "preview/stale",
        severity: Severity::Must,
        guarantees: &["preview-equals-result"],
        states: "A change that is bound to a preview is refused if the document has changed in between.",
        explains: "Where a preview's `_meta` has a `tabellion/base`, the change is made with `tabellion/ifBase` after a person \
                   has saved, committed, or deleted the document. It must be refused and change nothing. If nothing has \
                   changed, or the same bytes were saved, it must be accepted.",
        cases: stale_cases,
        judge: stale,
        shrink: as_small_as_can_be,
    },
];

/// A tool that previews, and the one that does.
struct Pair {
    spec: &'static PreviewPair,
    preview: &'static ToolSpec,
    applies: &'static ToolSpec,
}

/// The contract's first pair of which the server has both.
fn pair(bench: &Bench<'_>) -> Option<Pair> {
    let contract = bench.subject.contract;
    contract.previews.iter().find_map(|spec| {
        let (preview, applies) = (contract.tool(spec.preview)?, contract.tool(spec.applies)?);
        let has = |tool| bench.subject.adapter.has(tool, None);
        (has(preview) && has(applies)).then_some(Pair {
            spec,
            preview,
            applies,
        })
    })
}

impl Pair {
    /// The kinds of effects that can be previewed.
    fn kinds(&self, bench: &Bench<'_>) -> Vec<EffectKind> {
        let effects = self.applies.effects.iter();
        let known = effects.filter(|effect| bench.subject.adapter.has(self.applies, Some(effect)));
        known.map(|effect| effect.kind).collect()
    }

    /// The call that does, and the one that shows.
    fn calls(&self, kind: EffectKind, with: With<'_>) -> Result<(Call, Call), Stop> {
        let effect = self.applies.effects.iter().find(|effect| effect.kind == kind);
        let call = effect.and_then(|effect| with_effect(self.applies, effect, with));
        let applies = call.ok_or_else(|| Stop::NotApplicable("the contract has no such request".into()))?;
        let preview = Call {
            tool: self.preview,
            arguments: applies.arguments.clone(),
        };
        Ok((applies, preview))
    }
}

fn needed(bench: &Bench<'_>) -> Result<Pair, Stop> {
    pair(bench).ok_or_else(|| Stop::NotApplicable("the server has no previews".into()))
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let Some(pair) = pair(bench) else {
        return Ok(Vec::new());
    };
    table::cases(bench, &pair.kinds(bench), |_| true)
}

fn writes_nothing(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (row, pair): (Row, _) = (case.read()?, needed(bench)?);
    let documents = row.documents()?;
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    for document in documents {
        let with = table::with(document, &row.content()?.text);
        let (_, preview) = pair.calls(row.kind(), with)?;
        client.make_if_possible(&preview)?;
    }
    before.same(&Moment::of(&scene)?)
}

fn equals_result(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (row, pair): (Row, _) = (case.read()?, needed(bench)?);
    let (documents, content) = (row.documents()?, row.content()?);
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    for document in documents {
        let before = document.text().into_bytes();
        let (applies, preview) = pair.calls(row.kind(), table::with(document, &content.text))?;
        let Some(previewed) = client.make_if_possible(&preview)? else {
            continue;
        };
        let made = client.make(&applies)?;
        let (shown, made) = match (previewed, made) {
            (Reply::Done(shown), Reply::Done(made)) => (shown, made),
            (Reply::Refused(refusal), Reply::Refused(_)) => {
                ensure(document.odd || content.odd, || {
                    let path = &document.path;
                    format!("a valid preview of `{path}` was refused: {}", refusal.message)
                })?;
                continue;
            }
            // That only one of both is refused is for another check.
            _ => continue,
        };
        let diff = shown.response.pointer(pair.spec.diff).and_then(Value::as_str);
        let diff = diff.ok_or_else(|| fail(format!("the preview has no diff at `{}`", pair.spec.diff)))?;
        let shown = patch::applied(&scene.library(), &document.path, &before, diff)?.map_err(|why| {
            fail(format!(
                "the preview of `{}` can't be applied: {why}",
                document.path
            ))
        })?;
        let found = scene.read(&document.path);
        if found.as_deref() != Some(&shown) {
            let what = format!(
                "what the preview of `{}` shows is not what happened ({})",
                document.path, document.name
            );
            return Err(fail(what).showing(&document.path, Some(&shown), found.as_deref()));
        }
        drop(made);
    }
    Ok(())
}

/// What may be refused.
#[derive(Debug, Serialize, Deserialize)]
enum Situation {
    /// A document at this path holds this; the heading is this.
    Document {
        path: String,
        holds: Option<Bytes>,
        target: String,
    },
    /// An attack of the table.
    Attack(String),
    /// What git ignores.
    Ignored,
}

#[derive(Debug, Serialize, Deserialize)]
struct Refusable {
    /// Number of the effect in [`CHANGES`].
    effect: usize,
    situation: Situation,
}

fn refused_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let Some(pair) = pair(bench) else {
        return Ok(Vec::new());
    };
    let kinds = pair.kinds(bench);
    let mut cases = Vec::new();
    for (effect, kind) in CHANGES.into_iter().enumerate() {
        let quick = [EffectKind::Append, EffectKind::ReplaceSection];
        if !kinds.contains(&kind) || !bench.pick(quick.contains(&kind), true) {
            continue;
        }
        let mut add = |name: &str, situation: Situation| {
            cases.push(Case::new(
                format!("{kind:?}: {name}"),
                Refusable { effect, situation },
            ));
        };
        let mut document = |name: &str, path: &str, holds: Option<&[u8]>, target: &str| {
            let situation = Situation::Document {
                path: path.into(),
                holds: holds.map(Bytes::from),
                target: target.into(),
            };
            add(name, situation);
        };
        document("there is no document", "notes/missing.md", None, "## Scope");
        document(
            "Latin-1",
            "notes/a.md",
            Some(b"# Gr\xf6\xdfe\n\n## Scope\n\nx\n"),
            "## Scope",
        );
        document(
            "a broken character",
            "notes/a.md",
            Some(b"# A\n\n## Scope\n\n\xf0\x9f\x99"),
            "## Scope",
        );
        document("NUL", "notes/a.md", Some(b"# A\n\n## Scope\n\n\0\n"), "## Scope");
        if on_section(kind) {
            let twice: &[u8] =
                b"# A\n\n## Scope\n\n1\n\n## Scope\n\n2\n\n```\n## Fenced\n```\n\n> ## Quoted\n";
            for (name, target) in [
                ("the heading is not there", "## Scop"),
                ("the heading stands there twice", "## Scope"),
                ("its text stands there twice", "Scope"),
                ("the first of two", "#scope"),
                ("the second of two", "#scope-1"),
                ("the third of two", "#scope-2"),
                ("the heading is in a fence", "## Fenced"),
                ("the heading is in a quote", "## Quoted"),
                ("the heading has another level", "### A"),
                ("the heading is empty", ""),
                ("the heading is a mark", "#"),
                ("the heading has two lines", "## Scope\n\n1"),
            ] {
                document(name, "notes/a.md", Some(twice), target);
            }
        }
        if kind == EffectKind::Append {
            add("git ignores it", Situation::Ignored);
        }
        if kind == EffectKind::Append || bench.pick(false, true) {
            for attack in attacks::all()
                .iter()
                .filter(|it| it.expected != Expected::Ordinary)
            {
                if bench.pick(!attack.setup.is_empty(), true) {
                    add(&attack.id, Situation::Attack(attack.id.clone()));
                }
            }
        }
    }
    Ok(cases)
}

fn refused_alike(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (case, pair): (Refusable, _) = (case.read()?, needed(bench)?);
    let scene = bench.scene(&[("notes/plan.md", "# Plan\n\n## Scope\n\nAll of it.\n")])?;
    let (path, target) = match &case.situation {
        Situation::Document { path, holds, target } => {
            if let Some(bytes) = holds {
                scene.put(path, bytes)?;
                scene.commit_all("a document")?;
            }
            (path.clone(), target.clone())
        }
        Situation::Attack(id) => {
            let attack =
                attacks::find(id).ok_or_else(|| Stop::Harness(format!("there is no attack `{id}`")))?;
            for setup in &attack.setup {
                setup.put(&scene)?;
            }
            if attack.setup.iter().all(Setup::is_for_git) {
                scene.commit_all("what an attack needs")?;
            }
            (placed(&attack.path, &scene), "## Scope".to_owned())
        }
        Situation::Ignored => {
            scene.put(".gitignore", "drafts/\n")?;
            scene.commit_all("drafts are ignored")?;
            scene.put("drafts/a.md", "# A\n\n## Scope\n\nx\n")?;
            ("drafts/a.md".to_owned(), "## Scope".to_owned())
        }
    };
    let with = With {
        path: &path,
        content: "## New\n\ntext\n",
        target: &target,
    };
    let (applies, preview) = pair.calls(CHANGES[case.effect], with)?;
    let mut client = scene.start()?;
    match (client.make(&preview)?, client.make(&applies)?) {
        (Reply::Refused(refusal), Reply::Done(_)) => Err(fail(format!(
            "the preview was refused ({}), but the change was made",
            refusal.message
        ))),
        (Reply::Done(_), Reply::Refused(refusal)) => Err(fail(format!(
            "the preview was given, but the change was refused: {}",
            refusal.message
        ))),
        _ => Ok(()),
    }
}

/// What happens between a preview and the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Meanwhile {
    Nothing,
    SavedAgain,
    Saved,
    SavedElsewhere,
    Committed,
    Deleted,
}

fn stale_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    use Meanwhile::{Committed, Deleted, Nothing, Saved, SavedAgain, SavedElsewhere};
    if pair(bench).is_none() {
        return Ok(Vec::new());
    }
    let all = [Nothing, SavedAgain, Saved, SavedElsewhere, Committed, Deleted];
    Ok(all.map(|it| Case::new(format!("{it:?}"), it)).to_vec())
}

fn stale(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (meanwhile, pair): (Meanwhile, _) = (case.read()?, needed(bench)?);
    let path = person::DOCUMENT;
    let kinds = pair.kinds(bench).into_iter();
    for kind in kinds.take(bench.pick(2, usize::MAX)) {
        let scene = person::at_work(bench)?;
        let mut client = scene.start()?;
        let with = With {
            path,
            content: "## Scope\n\nless\n",
            target: "## Scope",
        };
        let (applies, preview) = pair.calls(kind, with)?;
        let shown = match client.make(&preview)? {
            Reply::Done(shown) => shown,
            Reply::Refused(refusal) => {
                return Err(fail(format!("a valid preview was refused: {}", refusal.message)));
            }
        };
        let Some(base) = shown.meta.get("tabellion/base") else {
            return Err(Stop::NotApplicable("previews have no `tabellion/base`".into()));
        };
        let saved = "# Plan\n\nIntro.\n\n## Scope\n\nA person's.\n";
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::SavedAgain => scene.put(path, scene.read(path).unwrap_or_default())?,
            Meanwhile::Saved => scene.put(path, saved)?,
            Meanwhile::SavedElsewhere => scene.put("notes/untouched.md", saved)?,
            Meanwhile::Committed => {
                scene.put(path, saved)?;
                scene.git(&["commit", "--quiet", "-m", "a person's", "--", path])?;
            }
            Meanwhile::Deleted => {
                scene.trace(format!("a person deletes `{path}`"));
                fs::remove_file(scene.path(path))?;
            }
        }
        let before = Moment::of(&scene)?;
        let meta = Map::from_iter([("tabellion/ifBase".to_owned(), base.clone())]);
        let reply = client.call_with(applies.tool, &applies.arguments, meta)?;
        let is_stale = matches!(
            meanwhile,
            Meanwhile::Saved | Meanwhile::Committed | Meanwhile::Deleted
        );
        match reply {
            Reply::Done(_) if is_stale => {
                return Err(fail(
                    "a change was made although the document is not what was previewed",
                ));
            }
            Reply::Refused(refusal) if !is_stale => {
                let why = refusal.message;
                return Err(fail(format!(
                    "a change was refused although its document has not changed: {why}"
                )));
            }
            Reply::Refused(_) => before.same(&Moment::of(&scene)?)?,
            Reply::Done(_) => {}
        }
    }
    Ok(())
}
