//! A person uses git in the library while the server edits: no commit of either is lost, and neither sweeps up what the
//! other has not committed.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{
    edits::{self, Edit},
    history,
};
use crate::{
    check::{Bench, Case},
    judgement::{Judgement, Stop, ensure, fail},
    ledger::git,
    scene::Scene,
    settled,
};

/// The document that the server edits.
const NOTE: &str = "note.md";
/// The one that the person edits and commits.
const MINE: &str = "mine.md";
/// The one that the person stages.
const STAGED: &str = "staged.md";
/// How long a person repeats a command while another program is in the way, and how long apart.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A person with a habit, and a server.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct PersonAtGit {
    habit: Habit,
    /// How often the person does it.
    times: usize,
    edits: usize,
}

/// What the person does again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Habit {
    /// `git commit --all` of a document of the person's own.
    CommitAll,
    /// `git commit` of that document only, while another document stays staged.
    CommitOne,
    /// `git add` of a document that grows.
    Add,
}

impl PersonAtGit {
    fn case(self) -> Case {
        let Self { habit, times, edits } = self;
        let habit = match habit {
            Habit::CommitAll => "git commit --all",
            Habit::CommitOne => "git commit of one document, with another staged",
            Habit::Add => "git add",
        };
        Case::new(format!("{times} times {habit} beside {edits} edits"), self)
    }
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let times = bench.pick(10, 20);
    let edits = 20;
    let case = |habit| PersonAtGit { habit, times, edits }.case();
    Ok([Habit::CommitAll, Habit::CommitOne, Habit::Add]
        .map(case)
        .to_vec())
}

/// Fewer commands and edits, each a few times: chance has a say in what fails.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    const ATTEMPTS: usize = 4;
    let Ok(beside) = case.read::<PersonAtGit>() else {
        return Vec::new();
    };
    [(1, 1), (1, 2), (2, 4), (5, 10)]
        .into_iter()
        .filter(|(times, edits)| times + edits < beside.times + beside.edits)
        .map(|(times, edits)| {
            PersonAtGit {
                times,
                edits,
                ..beside
            }
            .case()
        })
        .flat_map(|case| vec![case; ATTEMPTS])
        .collect()
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let beside: PersonAtGit = case.read()?;
    let scene = bench.scene(&[(NOTE, "# Note\n"), (MINE, "# Mine\n")])?;
    let has_staged = beside.habit != Habit::CommitAll;
    if has_staged {
        scene.put(STAGED, "# Staged\n")?;
        scene.git(&["add", STAGED])?;
    }
    let edit = |number| Edit::append(bench.subject, NOTE, &format!("e{number}"));
    let edits: Result<Vec<_>, _> = (0..beside.edits).map(edit).collect();
    let mut edits = edits?;
    let mut client = scene.start()?;
    let mut serve = || edits.iter_mut().try_for_each(|edit| edit.make(&mut client));
    let person = || (0..beside.times).try_for_each(|number| do_once(bench, &scene, beside.habit, number));
    let (served, did) = thread::scope(|scope| {
        let person = scope.spawn(person);
        (serve(), person.join())
    });
    did.map_err(|_| Stop::Harness("the person panicked".into()))??;
    served?;
    drop(client);
    edits.push(edits::make_last(bench, &scene, NOTE)?);
    edits::ensure_in_text(
        &edits,
        NOTE,
        &String::from_utf8_lossy(&scene.read(NOTE).unwrap_or_default()),
    )?;
    if beside.habit != Habit::Add {
        judge_person(&scene, beside.times)?;
    }
    if has_staged {
        judge_staged(&scene)?;
    }
    edits::ensure_in_history(bench, &scene, &edits)?;
    if bench.subject.should_commit() {
        let status = git(&scene.library(), &["status", "--porcelain"])?;
        let expected = if has_staged {
            format!("A  {STAGED}\n")
        } else {
            String::new()
        };
        ensure(status == expected, || {
            format!(
                "git status says {:?} instead of {:?}",
                status.trim(),
                expected.trim()
            )
        })?;
    }
    settled::ensure_sound(&scene)?;
    edits::ensure_in_log(bench, &mut scene.start()?, &edits)
}

/// What the person's commits are called and add.
fn by_hand(number: usize) -> String {
    format!("by-hand-{number}")
}

/// The person's habit, once.
fn do_once(bench: &Bench<'_>, scene: &Scene<'_>, habit: Habit, number: usize) -> Judgement {
    let path = if habit == Habit::Add { STAGED } else { MINE };
    let mut content = scene.read(path).unwrap_or_default();
    content.extend(format!("- {}\n", by_hand(number)).into_bytes());
    scene.put(path, content)?;
    let message = by_hand(number);
    let commit = ["commit", "--quiet", "--message", &*message];
    let command = match habit {
        Habit::CommitAll => [&commit[..], &["--all"]].concat(),
        Habit::CommitOne => [&commit[..], &["--", MINE]].concat(),
        Habit::Add => vec!["add", STAGED],
    };
    insist(&scene.library(), &command)?;
    bench
        .trace
        .did(format!("a person runs `git {}`", command.join(" ")));
    Ok(())
}

/// Runs a command again and again until another program is no longer in the way.
pub(super) fn insist(root: &Path, command: &[&str]) -> Judgement {
    let since = Instant::now();
    while let Err(error) = git(root, command) {
        let said = error.to_string();
        let is_refused = said.contains("nothing to commit") || said.contains("no changes added");
        if is_refused || since.elapsed() > COMMAND_TIMEOUT {
            return Err(fail(format!("a person's git command can't be done: {said}")));
        }
        thread::sleep(RETRY_INTERVAL);
    }
    Ok(())
}

/// Each commit of the person's is in the history once, and has the person's own document only.
fn judge_person(scene: &Scene<'_>, times: usize) -> Judgement {
    let commits = history::commits(&scene.library())?;
    for number in 0..times {
        let name = by_hand(number);
        let mut of = commits.iter().filter(|commit| commit.message == name);
        let (Some(commit), None) = (of.next(), of.next()) else {
            return Err(fail(format!(
                "the person's commit {name} is not in HEAD's history once"
            )));
        };
        ensure(
            commit.paths.iter().eq([MINE]) && commit.added == [format!("- {name}")],
            || {
                format!(
                    "the person's commit {name} changes {:?} and adds {:?}",
                    commit.paths, commit.added
                )
            },
        )?;
    }
    Ok(())
}

/// What the person has staged is as it was staged.
fn judge_staged(scene: &Scene<'_>) -> Judgement {
    let root = scene.library();
    let lost = |_| {
        fail(format!(
            "what a person had staged of `{STAGED}` is no longer staged"
        ))
    };
    let staged = git(&root, &["show", &format!(":{STAGED}")]).map_err(lost)?;
    let file = fs::read_to_string(scene.path(STAGED))?;
    ensure(staged == file, || {
        format!("`{STAGED}` is not staged as the person staged it")
    })?;
    let commits = history::commits(&root)?;
    let swept = commits.iter().find(|commit| commit.paths.contains(STAGED));
    ensure(swept.is_none(), || {
        let id = swept.map(|commit| commit.id.clone()).unwrap_or_default();
        format!("what a person had only staged was committed by {id}")
    })
}
