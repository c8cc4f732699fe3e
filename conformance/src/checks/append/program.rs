//! Random programs of appends, refused calls, a person's edits, commits and restarts.

use super::{
    content::ensure_one_commit,
    effect::{AppendEffect, ensure_refused, judge as judge_appended},
};
use crate::{check::fewer_steps, checks::prelude::*, judgement::ensure_accepted};

pub(super) const CHECK: Check = Check {
    id: "append/program",
    guarantees: &["append-only", "no-deletion", "one-entry-per-line", "commit-per-entry"],
    states: "Whatever happens in between, an append adds exactly its entry to the file's current content.",
    explains: "Programs are generated from the seed: appends to all files, calls that must be refused, a person who \
               edits a file, leaves its last line without a line ending, deletes it, and sometimes commits, and \
               restarts of the server. After each append the file must be its previous content, including a person's \
               uncommitted bytes, followed by the entry, and the commit must change that file only. A refused call \
               must change nothing. A failing program is shortened.",
    cases,
    shrink: fewer_steps::<Action>,
    ..Check::must(judge)
};

/// One step of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Append(AppendEffect),
    /// Appends an entry far beyond the size limit.
    AppendTooMuch(AppendEffect),
    /// A person adds a line, with a line ending if true.
    EditLine(AppendEffect, bool),
    /// A person overwrites the file.
    Rewrite(AppendEffect),
    Delete(AppendEffect),
    Commit,
    Restart,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let effects = AppendEffect::all(bench.subject)?;
    let mut dice = bench.dice("append/program");
    let mut step = || {
        let effect = effects[dice.usize(..effects.len())];
        match dice.u8(..12) {
            0 => Action::AppendTooMuch(effect),
            1 | 2 => Action::EditLine(effect, dice.bool()),
            3 => Action::Rewrite(effect),
            4 => Action::Delete(effect),
            5 => Action::Commit,
            6 => Action::Restart,
            _ => Action::Append(effect),
        }
    };
    let mut program = || -> Vec<Action> { (0..14).map(|_| step()).collect() };
    let cases = (0..bench.pick(8, 150)).map(|number| Case::new(format!("program {number}"), program()));
    Ok(cases.collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let steps: Vec<Action> = case.read()?;
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    let mut client = scene.start()?;
    let path = |effect: AppendEffect| Ok::<_, Stop>(effect.call_with_word(bench.subject, "x")?.path());
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Action::Append(effect) => {
                let call = effect.call_with_word(bench.subject, &format!("entry {number}"))?;
                let path = call.path();
                let (moment, before) = (Moment::capture(&scene)?, scene.read(&path));
                ensure_accepted(&client.make(&call)?, "a valid entry")?;
                judge_appended(&call, before.as_deref(), scene.read(&path).as_deref())?;
                let after = Moment::capture(&scene)?;
                moment.same_documents(&after, &[&path])?;
                let is_clean = moment.view.library.status.is_empty();
                if bench.subject.should_commit() && is_clean {
                    ensure_one_commit(&scene, &moment, &after, &path)?;
                }
                let kept = moment.view.library.commits.iter().rev();
                ensure(
                    kept.eq(after.view.library.commits.iter().rev().take(moment.view.library.commits.len())),
                    || "commits from before the call are no longer in HEAD's history".into(),
                )?;
            }
            Action::AppendTooMuch(effect) => {
                let text = "x".repeat(200_000);
                let what =
                    if effect.appends_lines(bench.subject)? { json!({ "text": text }) } else { text.into() };
                let moment = Moment::capture(&scene)?;
                ensure_refused(&client.make(&effect.call(bench.subject, &what)?)?, "an entry of 200 KB")?;
                moment.same(&Moment::capture(&scene)?)?;
            }
            Action::EditLine(effect, has_end) => {
                let path = path(effect)?;
                let mut bytes = scene.read(&path).unwrap_or_default();
                if !bytes.is_empty() && !bytes.ends_with(b"\n") {
                    bytes.push(b'\n');
                }
                bytes.extend(format!("{{\"by\":\"a person, {number}\"}}").as_bytes());
                bytes.extend(has_end.then_some(b'\n'));
                scene.put(&path, bytes)?;
            }
            Action::Rewrite(effect) => scene.put(&path(effect)?, format!("{{\"anew\":{number}}}\r\n"))?,
            Action::Delete(effect) => {
                let path = path(effect)?;
                if scene.path(&path).exists() {
                    scene.trace(format!("a person deletes `{path}`"));
                    std::fs::remove_file(scene.path(&path))?;
                }
            }
            Action::Commit => scene.commit_all("a person's")?,
            Action::Restart => {
                client.close()?;
                client = scene.start()?;
            }
        }
    }
    Ok(())
}
