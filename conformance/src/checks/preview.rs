//! Checks that a preview shows exactly what its call then does.

use std::fs;

use tabellion_runtime::spec::PreviewPair;

use crate::{
    attacks::{self, Expected, placed},
    bytes::Bytes,
    checks::prelude::*,
    documents::{CHANGES, on_section},
    request::{self, with_effect},
};

use super::{
    patch, person,
    table::{self, Row},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "preview/writes-nothing",
        guarantees: &["pure-unless-stated", "no-write-without-call"],
        states: "A preview changes nothing, whatever it shows.",
        explains: "Previews every effect that has a preview, on a table of documents (line endings, byte order marks, \
                   front matter, unusual names and so on). The library, its history, its index, the files outside it, \
                   and all timestamps must be unchanged.",
        cases,
        shrink: table::shrink,
        ..Check::must(judge_writes_nothing)
    },
    Check {
        id: "preview/equals-result",
        guarantees: &["preview-equals-result"],
        states: "The diff of a preview, applied by `git apply`, gives exactly the bytes that the same call \
            then writes.",
        explains: "Previews a change on each document of a table, then makes it. In a separate folder, `git apply` \
                   applies the diff to the previous bytes; the result must equal the document after the change. An \
                   empty diff means no change.",
        cases,
        shrink: table::shrink,
        ..Check::must(judge_equals_result)
    },
    Check {
        id: "preview/refused-alike",
        guarantees: &["preview-equals-result"],
        states: "A call is refused if and only if its preview is.",
        explains: "Previews and makes changes of missing documents, of files that are not UTF-8, of folders, special \
                   files and links, of missing and ambiguous headings, and at hostile paths. Either both calls or \
                   neither must be refused.",
        cases: refused_cases,
        ..Check::must(judge_refused_alike)
    },
    Check {
        id: "preview/stale",
        guarantees: &["preview-equals-result"],
        states: "A change that is bound to a preview is refused if the document has changed since.",
        explains: "If a preview's `_meta` has a `tabellion/base`, the change is made with that `tabellion/ifBase` \
                   after a person has saved, committed or deleted the document. The call must be refused and change \
                   nothing. If the document has the same bytes as before, the call must be accepted.",
        cases: stale_cases,
        ..Check::must(judge_stale)
    },
];

/// A preview tool and the tool that makes the change.
struct ToolPair {
    spec: &'static PreviewPair,
    preview: &'static ToolSpec,
    applies: &'static ToolSpec,
}

/// Returns the contract's first pair of tools that the server has.
fn pair(bench: &Bench<'_>) -> Option<ToolPair> {
    let contract = bench.subject.contract;
    contract.previews.iter().find_map(|spec| {
        let (preview, applies) = (contract.operation(spec.preview)?, contract.operation(spec.applies)?);
        let has = |tool| bench.subject.adapter.has(tool, None);
        (has(preview) && has(applies)).then_some(ToolPair { spec, preview, applies })
    })
}

impl ToolPair {
    /// Returns the kinds of effects that have a preview.
    fn kinds(&self, bench: &Bench<'_>) -> Vec<EffectKind> {
        let effects = self.applies.effects.iter();
        let known = effects.filter(|effect| bench.subject.adapter.has(self.applies, Some(effect)));
        known.map(|effect| effect.kind).collect()
    }

    /// Returns the changing call and its preview.
    fn calls(&self, kind: EffectKind, with: With<'_>) -> Result<(Call, Call), Stop> {
        let effect = self.applies.effects.iter().find(|effect| effect.kind == kind);
        let call = effect.and_then(|effect| with_effect(self.applies, effect, with));
        let applies = call.ok_or_else(|| not_applicable("the contract has no such request"))?;
        let preview = Call { tool: self.preview, arguments: applies.arguments.clone() };
        Ok((applies, preview))
    }
}

fn require_pair(bench: &Bench<'_>) -> Result<ToolPair, Stop> {
    pair(bench).ok_or_else(|| not_applicable("the server has no previews"))
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let Some(pair) = pair(bench) else {
        return Ok(Vec::new());
    };
    table::cases(bench, &pair.kinds(bench), |_, _| true)
}

fn judge_writes_nothing(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (row, pair): (Row, _) = (case.read()?, require_pair(bench)?);
    let documents = row.documents(pair.applies)?;
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    for document in &documents {
        let with = table::with(document, &row.content()?.text);
        let (_, preview) = pair.calls(row.kind(), with)?;
        client.make_if_possible(&preview)?;
    }
    before.same(&Moment::capture(&scene)?)
}

fn judge_equals_result(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (row, pair): (Row, _) = (case.read()?, require_pair(bench)?);
    let (documents, content) = (row.documents(pair.applies)?, row.content()?);
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    for document in &documents {
        let before = document.text().into_bytes();
        let (applies, preview) = pair.calls(row.kind(), table::with(document, &content.text))?;
        let Some(previewed) = client.make_if_possible(&preview)? else {
            continue;
        };
        let made = client.make(&applies)?;
        let (shown, made) = match (previewed, made) {
            (Reply::Done(shown), Reply::Done(made)) => (shown, made),
            (Reply::Refused(refusal), Reply::Refused(_)) => {
                if document.odd || content.odd {
                    continue;
                }
                let what = format!("a valid preview of `{}`", document.path);
                return Err(refused(what, &refusal));
            }
            // `preview/refused-alike` judges a refusal of one alone.
            _ => continue,
        };
        let diff = shown.response.pointer(pair.spec.diff).and_then(Value::as_str);
        let diff = diff.ok_or_else(|| fail(format!("the preview has no diff at `{}`", pair.spec.diff)))?;
        if !bench.subject.is_native() && !patch::is_diff(diff) {
            return Err(not_shown(
                "what the server answers to a preview is no diff, with which the change could be compared",
            ));
        }
        let shown =
            patch::applied(&scene.library(), &document.path, Some(&before), diff)?.map_err(|why| {
                fail(format!("the diff of the preview of `{}` does not apply: {why}", document.path))
            })?;
        let found = scene.read(&document.path);
        // A diff does not tell an empty document from a missing one.
        if found.as_deref().unwrap_or_default() != shown {
            let what = format!("`{}` differs from its preview ({})", document.path, document.name);
            return Err(fail(what).showing(&document.path, Some(&shown), found.as_deref()));
        }
        drop(made);
    }
    Ok(())
}

/// Circumstances under which a change may be refused.
#[derive(Debug, Serialize, Deserialize)]
enum Situation {
    /// A document with these bytes, and the heading of the call.
    Document { path: String, holds: Option<Bytes>, target: String },
    /// An attack of the table, by id.
    Attack(String),
    /// A document that git ignores.
    Ignored,
}

#[derive(Debug, Serialize, Deserialize)]
struct RefusableChange {
    /// Index of the effect in [`CHANGES`].
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
            cases.push(Case::new(format!("{kind}: {name}"), RefusableChange { effect, situation }));
        };
        let mut document = |name: &str, path: &str, holds: Option<&[u8]>, target: &str| {
            let situation = Situation::Document {
                path: path.into(),
                holds: holds.map(Bytes::from),
                target: target.into(),
            };
            add(name, situation);
        };
        document("missing document", "notes/missing.md", None, "## Scope");
        document("Latin-1", "notes/a.md", Some(b"# Gr\xf6\xdfe\n\n## Scope\n\nx\n"), "## Scope");
        document("truncated UTF-8", "notes/a.md", Some(b"# A\n\n## Scope\n\n\xf0\x9f\x99"), "## Scope");
        document("NUL", "notes/a.md", Some(b"# A\n\n## Scope\n\n\0\n"), "## Scope");
        if on_section(kind) {
            let twice: &[u8] =
                b"# A\n\n## Scope\n\n1\n\n## Scope\n\n2\n\n```\n## Fenced\n```\n\n> ## Quoted\n";
            for (name, target) in [
                ("missing heading", "## Scop"),
                ("ambiguous heading", "## Scope"),
                ("ambiguous text", "Scope"),
                ("anchor of the first of two", "#scope"),
                ("anchor of the second of two", "#scope-1"),
                ("anchor of a missing third", "#scope-2"),
                ("heading in a fence", "## Fenced"),
                ("heading in a quote", "## Quoted"),
                ("heading of another level", "### A"),
                ("empty heading", ""),
                ("heading mark without text", "#"),
                ("heading of two lines", "## Scope\n\n1"),
            ] {
                document(name, "notes/a.md", Some(twice), target);
            }
        }
        if kind == EffectKind::Append {
            add("ignored document", Situation::Ignored);
        }
        if kind == EffectKind::Append || bench.pick(false, true) {
            for attack in attacks::all().iter().filter(|it| it.expected != Expected::Ordinary) {
                if bench.pick(!attack.setup.is_empty(), true) {
                    add(&attack.id, Situation::Attack(attack.id.clone()));
                }
            }
        }
    }
    Ok(cases)
}

fn judge_refused_alike(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (case, pair): (RefusableChange, _) = (case.read()?, require_pair(bench)?);
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
            let attack = attacks::set_up(id, &scene)?;
            (placed(&attack.path, &scene), "## Scope".to_owned())
        }
        Situation::Ignored => {
            scene.put(".gitignore", "drafts/\n")?;
            scene.commit_all("drafts are ignored")?;
            scene.put("drafts/a.md", "# A\n\n## Scope\n\nx\n")?;
            ("drafts/a.md".to_owned(), "## Scope".to_owned())
        }
    };
    let with = With { path: &path, content: "## New\n\ntext\n", target: &target };
    let (applies, preview) = pair.calls(CHANGES[case.effect], with)?;
    let mut client = scene.start()?;
    match (client.make(&preview)?, client.make(&applies)?) {
        (Reply::Refused(refusal), Reply::Done(_)) => {
            Err(fail(format!("the preview was refused ({}), but the change was accepted", refusal.message)))
        }
        (Reply::Done(_), Reply::Refused(refusal)) => {
            Err(refused("the preview was accepted, but the change", &refusal))
        }
        _ => Ok(()),
    }
}

/// A person's action between a preview and the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum InterveningEdit {
    Nothing,
    SavedAgain,
    Saved,
    SavedElsewhere,
    Committed,
    Deleted,
}

fn stale_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    use InterveningEdit::{Committed, Deleted, Nothing, Saved, SavedAgain, SavedElsewhere};
    if pair(bench).is_none() {
        return Ok(Vec::new());
    }
    let all = [Nothing, SavedAgain, Saved, SavedElsewhere, Committed, Deleted];
    Ok(all.map(|it| Case::new(format!("{it:?}"), it)).to_vec())
}

fn judge_stale(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (edit, pair): (InterveningEdit, _) = (case.read()?, require_pair(bench)?);
    let path =
        &*request::place(pair.applies, person::DOCUMENT).unwrap_or_else(|| person::DOCUMENT.to_owned());
    let kinds = pair.kinds(bench).into_iter();
    for kind in kinds.take(bench.pick(2, usize::MAX)) {
        let scene = person::at_work_beside(bench, &[(path, person::TEXT)])?;
        let mut client = scene.start()?;
        let with = With { path, content: "## Scope\n\nless\n", target: "## Scope" };
        let (applies, preview) = pair.calls(kind, with)?;
        let shown = client.make(&preview)?.must("a valid preview")?;
        let Some(base) = shown.meta.get("tabellion/base") else {
            return Err(not_applicable("previews have no `tabellion/base`"));
        };
        let saved = "# Plan\n\nIntro.\n\n## Scope\n\nA person's.\n";
        match edit {
            InterveningEdit::Nothing => {}
            InterveningEdit::SavedAgain => scene.put(path, scene.read(path).unwrap_or_default())?,
            InterveningEdit::Saved => scene.put(path, saved)?,
            InterveningEdit::SavedElsewhere => scene.put("notes/untouched.md", saved)?,
            InterveningEdit::Committed => {
                scene.put(path, saved)?;
                scene.git(&["commit", "--quiet", "-m", "a person's", "--", path])?;
            }
            InterveningEdit::Deleted => {
                scene.trace(format!("a person deletes `{path}`"));
                fs::remove_file(scene.path(path))?;
            }
        }
        let before = Moment::capture(&scene)?;
        let meta = Map::from_iter([("tabellion/ifBase".to_owned(), base.clone())]);
        let reply = client.call_with(applies.tool, &applies.arguments, meta)?;
        let is_stale =
            matches!(edit, InterveningEdit::Saved | InterveningEdit::Committed | InterveningEdit::Deleted);
        match reply {
            Reply::Done(_) if is_stale => {
                return Err(fail(
                    "a change was accepted although the document has changed since its preview",
                ));
            }
            Reply::Refused(refusal) if !is_stale => {
                let why = refusal.message;
                return Err(fail(format!(
                    "a change was refused although its document has not changed: {why}"
                )));
            }
            Reply::Refused(_) => before.same(&Moment::capture(&scene)?)?,
            Reply::Done(_) => {}
        }
    }
    Ok(())
}
