//! A person uses git in the library while the server edits: no commit of either is lost, and none contains uncommitted
//! changes of the other.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::edits::{self, Edit};
use crate::{checks::prelude::*, history, judgement::Shows, ledger::git, settled};

/// Document that the server edits.
const NOTE: &str = "note.md";
/// Document that the person edits and commits.
const MINE: &str = "mine.md";
/// Document that the person stages.
const STAGED: &str = "staged.md";
/// Maximum time to retry a person's command while another program holds git's lock.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A person who uses git, and a server that edits.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct GitCase {
    habit: Habit,
    /// Number of commands of the person.
    times: usize,
    /// Number of the server's edits.
    edits: usize,
}

named! {
    /// The command that the person repeats.
    enum Habit {
        /// `git commit --all` after a change to the person's own document.
        CommitAll = "git commit --all",
        /// `git commit` of that document only, with another document staged.
        CommitOne = "git commit of one document, with another staged",
        /// `git add` of a growing document.
        Add = "git add",
    }
}

impl GitCase {
    fn case(self) -> Case {
        let Self { habit, times, edits } = self;
        Case::new(format!("{times} times {habit} beside {edits} edits"), self)
    }
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let times = bench.pick(10, 20);
    let edits = 20;
    let case = |habit| GitCase { habit, times, edits }.case();
    Ok(Habit::ALL.map(case).to_vec())
}

/// Returns cases with fewer commands and edits, several times each because the failure depends on timing.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    const ATTEMPTS: usize = 4;
    let Ok(usage) = case.read::<GitCase>() else {
        return Vec::new();
    };
    [(1, 1), (1, 2), (2, 4), (5, 10)]
        .into_iter()
        .filter(|(times, edits)| times + edits < usage.times + usage.edits)
        .map(|(times, edits)| GitCase { times, edits, ..usage }.case())
        .flat_map(|case| vec![case; ATTEMPTS])
        .collect()
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let usage: GitCase = case.read()?;
    let note = &*bench.subject.place(EffectKind::Append, NOTE);
    let scene = bench.scene(&[(note, "# Note\n"), (MINE, "# Mine\n")])?;
    let has_staged = usage.habit != Habit::CommitAll;
    if has_staged {
        scene.put(STAGED, "# Staged\n")?;
        scene.git(&["add", STAGED])?;
    }
    let edit = |number| Edit::append(bench.subject, NOTE, &format!("e{number}"));
    let edits: Result<Vec<_>, _> = (0..usage.edits).map(edit).collect();
    let mut edits = edits?;
    let mut client = scene.start()?;
    let mut serve = || edits.iter_mut().try_for_each(|edit| edit.make(&mut client));
    let person = || (0..usage.times).try_for_each(|number| run_habit(bench, &scene, usage.habit, number));
    let (served, used_git) = thread::scope(|scope| {
        let person = scope.spawn(person);
        (serve(), person.join())
    });
    used_git.map_err(|_| Stop::Harness("the person panicked".into()))??;
    served?;
    drop(client);
    edits.push(edits::make_last(bench, &scene, NOTE)?);
    edits::ensure_in_text(&edits, note, &String::from_utf8_lossy(&scene.read(note).unwrap_or_default()))?;
    if usage.habit != Habit::Add {
        // `git commit --all` includes the changes that a server without commits has left.
        let takes_all = usage.habit == Habit::CommitAll && !bench.subject.should_commit();
        judge_person(&scene, usage.times, takes_all.then_some(note))?;
    }
    if has_staged {
        judge_staged(&scene)?;
    }
    edits::ensure_in_history(bench, &scene.library(), scene.own(), &edits)
        .map_err(|stop| stop.shows(Shows::Commits))?;
    if bench.subject.should_commit() {
        let status = git(&scene.library(), &scene.own().except(&["status", "--porcelain"]))?;
        let expected = if has_staged { format!("A  {STAGED}\n") } else { String::new() };
        ensure(status == expected, || {
            format!("git status says {:?} instead of {:?}", status.trim(), expected.trim())
        })?;
    }
    settled::ensure_sound(&scene)?;
    edits::ensure_in_log(bench, &mut scene.start()?, &edits)
}

/// Returns the message of a commit by the person, and the text that it adds.
fn by_hand(number: usize) -> String {
    format!("by-hand-{number}")
}

/// Changes a document and runs the person's command once.
fn run_habit(bench: &Bench<'_>, scene: &Scene<'_>, habit: Habit, number: usize) -> Judgement {
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
    git_with_retry(&scene.library(), &command)?;
    bench.trace.did(format!("a person runs `git {}`", command.join(" ")));
    Ok(())
}

/// Runs a git command; retries while another program holds git's lock.
///
/// # Errors
/// If the command fails for another reason, or still fails after [`COMMAND_TIMEOUT`].
pub(super) fn git_with_retry(root: &Path, command: &[&str]) -> Judgement {
    let since = Instant::now();
    while let Err(error) = git(root, command) {
        let message = error.to_string();
        let is_refused = message.contains("nothing to commit") || message.contains("no changes added");
        if is_refused || since.elapsed() > COMMAND_TIMEOUT {
            return Err(fail(format!("a person's git command fails: {message}")));
        }
        thread::sleep(RETRY_INTERVAL);
    }
    Ok(())
}

/// Fails unless each commit of the person is in the history once and changes only the person's own document; or also
/// `others`, the server's.
fn judge_person(scene: &Scene<'_>, times: usize, others: Option<&str>) -> Judgement {
    let commits = history::commits(&scene.library(), &scene.own().except(&["HEAD"]))?;
    for number in 0..times {
        let name = by_hand(number);
        let mut of = commits.iter().filter(|commit| commit.message.lines().next() == Some(&*name));
        let (Some(commit), None) = (of.next(), of.next()) else {
            return Err(fail(format!("the person's commit {name} is not exactly once in HEAD's history")));
        };
        let mine = format!("- {name}");
        let is_mine = commit.paths.iter().eq([MINE]) && commit.added == [&*mine];
        let has_mine = commit.paths.contains(MINE) && commit.added.contains(&mine);
        let is_expected = |path: &String| path == MINE || Some(&**path) == others;
        let takes_others = others.is_some() && commit.paths.iter().all(is_expected);
        ensure(is_mine || has_mine && takes_others, || {
            format!("the person's commit {name} changes {:?} and adds {:?}", commit.paths, commit.added)
        })?;
    }
    Ok(())
}

/// Fails unless the person's staged document is still staged, unchanged and uncommitted.
fn judge_staged(scene: &Scene<'_>) -> Judgement {
    let root = scene.library();
    let lost = |_| fail(format!("a person's staged changes of `{STAGED}` are no longer staged"));
    let staged = git(&root, &["show", &format!(":{STAGED}")]).map_err(lost)?;
    let file = fs::read_to_string(scene.path(STAGED))?;
    ensure(staged == file, || format!("the staged content of `{STAGED}` is not what the person staged"))?;
    let commits = history::commits(&root, &scene.own().except(&["HEAD"]))?;
    let foreign = commits.iter().find(|commit| commit.paths.contains(STAGED));
    ensure_none(foreign, |commit| {
        format!("commit {} contains changes that a person had only staged", commit.id)
    })
}
