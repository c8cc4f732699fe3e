//! Random programs of appendings, refusals, a person's edits, commits and restarts.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{AppendEffect, accepted, content::one_commit, judge as judge_added, refused};
use crate::{
    check::{Bench, Case, Check, Severity, fewer_steps},
    judgement::{Judgement, Stop, ensure},
    moment::Moment,
};

pub(super) const CHECK: Check = Check {
    id: "append/program",
    severity: Severity::Must,
    guarantees: &[
        "append-only",
        "no-deletion",
        "one-entry-per-line",
        "commit-per-entry",
    ],
    states: "Whatever happens in between, an append adds exactly its entry to the file as it then is.",
    explains: "Programs are made at random from the seed: appendings to all files, calls that must be refused, a person who \
               edits a file, leaves its last line open, deletes it, commits or does not, and restarts of the server. After \
               each appending the file must begin with all that it was, a person's uncommitted bytes included, and have the \
               entry after it; its commit is of that file alone. After a refusal all must be as before. A failing program \
               is made shorter.",
    cases,
    judge,
    shrink: fewer_steps::<Step>,
};

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Step {
    Append(AppendEffect),
    /// Size far beyond the limit.
    AppendTooMuch(AppendEffect),
    /// A person adds a line, with its end or without.
    EditLine(AppendEffect, bool),
    /// A person writes the file anew.
    Rewrite(AppendEffect),
    Delete(AppendEffect),
    Commit,
    Restart,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let ways = AppendEffect::all(bench.subject)?;
    let mut dice = bench.dice("append/program");
    let mut step = || {
        let way = ways[dice.usize(..ways.len())];
        match dice.u8(..12) {
            0 => Step::AppendTooMuch(way),
            1 | 2 => Step::EditLine(way, dice.bool()),
            3 => Step::Rewrite(way),
            4 => Step::Delete(way),
            5 => Step::Commit,
            6 => Step::Restart,
            _ => Step::Append(way),
        }
    };
    let mut program = || -> Vec<Step> { (0..14).map(|_| step()).collect() };
    let cases = (0..bench.pick(8, 150)).map(|number| Case::new(format!("program {number}"), program()));
    Ok(cases.collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let steps: Vec<Step> = case.read()?;
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    let mut client = scene.start()?;
    let path = |way: AppendEffect| Ok::<_, Stop>(way.call_of(bench.subject, "x")?.path());
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Append(way) => {
                let call = way.call_of(bench.subject, &format!("entry {number}"))?;
                let path = call.path();
                let (moment, before) = (Moment::of(&scene)?, scene.read(&path));
                accepted(&client.make(&call)?, "a valid entry")?;
                judge_added(&call, before.as_deref(), scene.read(&path).as_deref())?;
                let after = Moment::of(&scene)?;
                moment.same_documents(&after, &[&path])?;
                let is_clean = moment.view.library.status.is_empty();
                if bench.subject.should_commit() && is_clean {
                    one_commit(&scene.library(), &moment, &after, &path)?;
                }
                let kept = moment.view.library.commits.iter().rev();
                ensure(
                    kept.eq(after
                        .view
                        .library
                        .commits
                        .iter()
                        .rev()
                        .take(moment.view.library.commits.len())),
                    || "commits that were there are no longer what HEAD stands on".into(),
                )?;
            }
            Step::AppendTooMuch(way) => {
                let much = "x".repeat(200_000);
                let what = if way.adds_lines(bench.subject)? {
                    json!({ "text": much })
                } else {
                    much.into()
                };
                let moment = Moment::of(&scene)?;
                refused(
                    &client.make(&way.call(bench.subject, &what)?)?,
                    "an entry of 200 KB",
                )?;
                moment.same(&Moment::of(&scene)?)?;
            }
            Step::EditLine(way, has_end) => {
                let path = path(way)?;
                let mut bytes = scene.read(&path).unwrap_or_default();
                if !bytes.is_empty() && !bytes.ends_with(b"\n") {
                    bytes.push(b'\n');
                }
                bytes.extend(format!("{{\"by\":\"a person, {number}\"}}").as_bytes());
                bytes.extend(has_end.then_some(b'\n'));
                scene.put(&path, bytes)?;
            }
            Step::Rewrite(way) => scene.put(&path(way)?, format!("{{\"anew\":{number}}}\r\n"))?,
            Step::Delete(way) => {
                let path = path(way)?;
                if scene.path(&path).exists() {
                    scene.trace(format!("a person deletes `{path}`"));
                    std::fs::remove_file(scene.path(&path))?;
                }
            }
            Step::Commit => scene.commit_all("a person's")?,
            Step::Restart => {
                client.close()?;
                client = scene.start()?;
            }
        }
    }
    Ok(())
}
