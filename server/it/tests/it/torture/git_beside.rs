//! A person uses git in the library while the server edits: no change of either is lost, and neither commits the other's
//! uncommitted changes.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use tabellion_conformance::ledger;

use super::{
    Effort,
    calls::{self, Call, CallOutcome},
    client::{append_beside, last_change},
    dice::Dice,
    editor::{self, Editor, Save, Style},
    history, judge,
};
use crate::support::Library;

/// The document that the server edits.
const NOTE: &str = "note.md";
/// A document that only the person edits.
const MINE: &str = "mine.md";
const SERVERS: usize = 2;
/// The message of a person's commits.
const BY_HAND: &str = "by hand";
/// The time that a person works in one library.
const SPELL: Duration = Duration::from_millis(900);
/// Upper bound of the attempts of a command that another process blocks.
const MAX_ATTEMPTS: usize = 50;

const COMMIT: &[&str] = &["commit", "--quiet", "--all", "--message", BY_HAND];

/// Sequences of git commands that the person repeats.
const HABITS: [(&str, &[&[&str]]); 6] = [
    ("commit", &[COMMIT]),
    ("switch", &[&["checkout", "--quiet", "other"], &["checkout", "--quiet", "main"]]),
    ("stash", &[&["stash", "push", "--quiet"], &["stash", "pop", "--quiet"]]),
    ("rebase", &[COMMIT, &["rebase", "--quiet", "--no-ff", "HEAD~2"]]),
    ("collect", &[COMMIT, &["gc", "--quiet"]]),
    ("repack", &[COMMIT, &["repack", "-a", "-d", "--quiet"]]),
];

#[test]
fn git_commands_and_calls_do_not_harm_each_other() {
    let effort = Effort::from_environment();
    let mut round = 0;
    while round == 0 || effort.pick(false, !effort.is_over()) {
        let documents = effort.pick(&[NOTE][..], &[MINE, NOTE]);
        let cases = HABITS.iter().flat_map(|habit| documents.iter().map(move |document| (habit, *document)));
        for ((name, commands), document) in cases {
            round += 1;
            let library = library();
            let mut person = Person::new(&library, document, Dice::new(effort, round));
            let (mut calls, ()) = append_beside(&library, SERVERS, NOTE, |_| {
                let since = Instant::now();
                while since.elapsed() < SPELL {
                    person.save();
                    person.run(commands);
                }
            });
            person.leave();
            calls.extend(last_change(&library, NOTE));
            println!(
                "git: seed {}, {name}, saving {document}: calls {:?}, waits {:?}, {} saves, git {:?}",
                effort.seed,
                calls::ends(&calls),
                calls::waits(&calls),
                person.editor.saves.len(),
                person.commands
            );
            let faults = faults(&library, &calls, &person);
            assert!(faults.is_empty(), "{name}, saving {document}: {faults:#?}");
        }
    }
}

/// Creates a library with two branches that differ in the document that the server edits.
fn library() -> Library {
    let library = Library::with(&[(NOTE, "# Note\n"), (MINE, "# Mine\n")]);
    let git = |arguments: &[&str]| ledger::git(library.root(), arguments).expect("git");
    // Git's own commands write the person's name too.
    git(&["config", "user.name", "A Person"]);
    git(&["config", "user.email", "person@localhost"]);
    git(&["checkout", "--quiet", "-b", "other"]);
    library.put(NOTE, "# Another note\n\nwith another text\n");
    library.commit_all("other");
    git(&["checkout", "--quiet", "main"]);
    library.put("more.md", "# More\n");
    library.commit_all("more");
    library
}

struct Person<'a> {
    root: &'a Path,
    /// The document that the person edits.
    document: &'static str,
    editor: Editor,
    dice: Dice,
    /// The numbers of successes and failures of each command.
    commands: BTreeMap<String, [usize; 2]>,
}

impl<'a> Person<'a> {
    fn new(library: &'a Library, document: &'static str, dice: Dice) -> Self {
        Self {
            root: library.root(),
            document,
            editor: Editor::new(library.path(document), Style::InPlace),
            dice,
            commands: BTreeMap::new(),
        }
    }

    /// Adds a line to the person's document, or rewrites the server's.
    fn save(&mut self) {
        let line = format!("- h{}\n", self.editor.saves.len());
        let before = match self.document {
            MINE => fs::read_to_string(self.root.join(MINE)).expect("the own document"),
            _ => "# Note\n\n".to_owned(),
        };
        self.editor.save([before, line].concat());
    }

    /// Returns the lines that are in none of `versions`, and that the person has not overwritten.
    fn lost(&self, versions: &HashSet<Vec<u8>>) -> Vec<String> {
        let mut lost = editor::lost_lines(&self.editor.saves, versions);
        if self.document == NOTE {
            let overwritten = self.editor.saves.iter().filter(|save| save.is_line_overwritten());
            let overwritten: HashSet<_> = overwritten.map(Save::last_line).collect();
            lost.retain(|line| !overwritten.contains(line));
        }
        lost
    }

    /// Runs the commands, and cleans up if one fails.
    fn run(&mut self, commands: &[&[&str]]) {
        for command in commands {
            self.rest();
            let done = self.insist(command);
            self.commands.entry(command[0].to_owned()).or_default()[usize::from(!done)] += 1;
            if !done {
                break;
            }
        }
        self.rest();
        self.clean_up();
    }

    /// Runs a command, repeatedly while another process blocks it.
    fn insist(&self, command: &[&str]) -> bool {
        self.try_hard(command).is_ok()
    }

    fn try_hard(&self, command: &[&str]) -> Result<String, String> {
        let mut tries = 0;
        loop {
            let error = match ledger::git(self.root, command) {
                Ok(said) => return Ok(said),
                Err(error) => error.to_string(),
            };
            tries += 1;
            if tries == MAX_ATTEMPTS || !is_in_the_way(&error) {
                return Err(error);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends a conflict or rebase, and switches back to `main`. Stashes stay.
    fn clean_up(&self) {
        let must = |command: &[&str]| {
            let done = self.try_hard(command);
            assert!(done.is_ok(), "{command:?}: {done:?}");
        };
        if self.root.join(".git/rebase-merge").exists() {
            must(&["rebase", "--abort"]);
        }
        if !self.asks(&["ls-files", "--unmerged"]).is_empty() {
            must(&["reset", "--quiet", "--hard"]);
        }
        if self.asks(&["rev-parse", "--abbrev-ref", "HEAD"]).trim() != "main" {
            must(&["checkout", "--quiet", "main"]);
        }
    }

    /// Ends the person's work, after the servers ended. An interrupted command may have left an older version staged, which
    /// calls refuse to commit: this follows the advice of the refusal.
    fn leave(&mut self) {
        self.clean_up();
        let staged = self.asks(&["diff", "--cached", "--name-only"]);
        if !staged.is_empty() {
            println!("left staged: {staged:?}");
            self.asks(&["restore", "--staged", "."]);
        }
    }

    fn asks(&self, command: &[&str]) -> String {
        ledger::git(self.root, command).expect("git")
    }

    fn rest(&mut self) {
        let rest = self.dice.time(Duration::from_millis(5), Duration::from_millis(60));
        thread::sleep(rest);
    }
}

/// Returns true if git failed because another process blocked it.
fn is_in_the_way(error: &str) -> bool {
    [".lock", "could not write index", "cannot lock ref"].iter().any(|sign| error.contains(sign))
}

fn faults(library: &Library, calls: &[Call], person: &Person<'_>) -> Vec<String> {
    let everywhere = history::commits(library.root(), &history::ALL_REFERENCES);
    let here = history::commits(library.root(), &history::HERE);
    let versions = judge::kept_versions(library);
    let mut faults = calls::faults_of_commits(calls, &everywhere);
    faults.extend(judge::faults_of_versions(calls, &versions));
    faults.extend(judge::faults_of_library(library, &here));
    faults.extend(person.lost(&versions).iter().map(|line| format!("lost: {line}")));
    for commit in everywhere.iter().filter(|commit| commit.message.starts_with(BY_HAND)) {
        let swept = calls.iter().find(|call| call.made(commit));
        faults.extend(swept.map(|call| format!("the person's commit {} has {}", commit.id, call.token)));
    }
    faults.extend(calls.iter().filter_map(|call| match &call.end {
        CallOutcome::Refused(name) if name != "IO_ERROR" => None,
        CallOutcome::Commit(_) => None,
        end => Some(format!("{}: {end:?}", call.token)),
    }));
    faults
}
