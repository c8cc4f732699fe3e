//! Programs depend on their seed alone, have every step, and shrink to the failure; the model accepts exactly the
//! permitted effects.

use std::{collections::HashSet, mem::discriminant, path::PathBuf};

use crate::contracts::CONTRACTS;

use super::{
    CHECKS,
    library_model::{Entry, LibraryModel, PersonAction},
    program::{Kind, Program, Step},
    shrink::{smaller, weight},
};
use crate::{
    Bytes, Ledger,
    check::Profile,
    checks::prelude::*,
    markdown::NoSection,
    scene::View,
    semantics::{self, Change, Impossible},
    trace::Trace,
};

fn subject() -> Subject {
    Subject::new(CONTRACTS[0], Vec::new())
}

/// Returns the programs of all checks.
fn programs(profile: Profile, seed: u64) -> Vec<Program> {
    let subject = subject();
    let bench = Bench { subject: &subject, profile, seed, trace: Trace::default() };
    let cases = CHECKS.iter().flat_map(|check| (check.cases)(&bench).unwrap());
    cases.map(|case| case.read().unwrap()).collect()
}

#[test]
fn a_seed_determines_the_programs() {
    assert_eq!(programs(Profile::Quick, 1), programs(Profile::Quick, 1));
    let (one, other) = (programs(Profile::Quick, 1), programs(Profile::Quick, 2));
    assert!(one.iter().zip(&other).all(|(one, other)| one != other));
    assert!(one.iter().all(|program| program.steps.len() <= 12));
}

#[test]
fn quick_programs_have_every_step_and_every_effect() {
    let programs = programs(Profile::Quick, 1);
    let steps: Vec<_> = programs.into_iter().flat_map(|program| program.steps).collect();
    let kinds: HashSet<_> = steps.iter().map(discriminant).collect();
    assert_eq!(kinds.len(), 11);
    for preview in [false, true] {
        let edits = steps.iter().filter_map(|step| match step {
            Step::Call(edit) if !preview => Some(edit),
            Step::Preview(edit) if preview => Some(edit),
            _ => None,
        });
        let kinds: HashSet<_> = edits.map(|edit| edit.kind).collect();
        assert_eq!(kinds.len(), if preview { 5 } else { Kind::ALL.len() });
    }
}

#[test]
fn targets_are_unique_missing_and_ambiguous() {
    let mut found = [0; 3];
    for program in programs(Profile::Full, 1) {
        let Some(Step::Call(edit) | Step::Preview(edit)) = program.steps.first() else {
            continue;
        };
        let document = program.documents.get(&edit.path).map(|bytes| &bytes.0[..]);
        let call = subject().request(edit.kind.effect(), edit.with()).unwrap();
        match semantics::change(&call, document) {
            Ok(Change::Splice(..)) if edit.kind.has_target() => found[0] += 1,
            Err(Impossible::NoSection(NoSection::Missing)) => found[1] += 1,
            Err(Impossible::NoSection(NoSection::Ambiguous(_))) => found[2] += 1,
            _ => {}
        }
    }
    assert!(found.iter().all(|count| *count > 10), "{found:?}");
}

/// Shrinks a program as the runner does.
fn shrunk(mut program: Program, fails: impl Fn(&Program) -> bool) -> (Program, usize) {
    let mut tries = 0;
    while let Some(next) = smaller(&program).into_iter().find(|program| {
        tries += 1;
        fails(program)
    }) {
        assert!(weight(&next) < weight(&program));
        program = next;
    }
    (program, tries)
}

#[test]
fn a_failing_program_shrinks_to_the_failing_steps() {
    // A server that loses a saved document when one is deleted after a restart.
    let fails = |program: &Program| {
        let has = |test: &dyn Fn(&Step) -> bool, from: usize| {
            let found = program.steps.iter().skip(from).position(test);
            found.map(|at| at + from + 1)
        };
        let saved = |step: &Step| matches!(step, Step::Save { .. });
        let restarted = |step: &Step| matches!(step, Step::Restart | Step::Kill);
        let deleted = |step: &Step| matches!(step, Step::Call(edit) if edit.kind == Kind::Delete);
        let saved = has(&saved, 0);
        let restarted = saved.and_then(|at| has(&restarted, at));
        restarted.and_then(|at| has(&deleted, at)).is_some()
    };
    let failing = (1..20).flat_map(|seed| programs(Profile::Full, seed));
    let mut failing = failing.filter(fails).take(8).peekable();
    assert!(failing.peek().is_some());
    for program in failing {
        let (program, tries) = shrunk(program, fails);
        let steps: Vec<_> = program.steps.iter().map(ToString::to_string).collect();
        assert_eq!(steps, ["a person's save of `a.md`", "a restart", "a deletion of `a.md`"]);
        assert!(program.documents.is_empty());
        assert!(matches!(&program.steps[0], Step::Save { bytes, .. } if bytes.0.is_empty()));
        assert!(tries <= 200, "{tries} tries");
    }
}

#[test]
fn shrinking_simplifies_documents_contents_and_targets() {
    // A server that edits the first of two equal headings if the document has CRLF line endings.
    let fails = |program: &Program| {
        program.steps.iter().any(|step| {
            let Step::Call(edit) = step else { return false };
            let document = program.documents.get(&edit.path);
            let text = document.and_then(|bytes| str::from_utf8(&bytes.0).ok());
            let text = text.unwrap_or_default();
            let words = edit.target.trim_matches(['#', ' ']);
            let lines = text.split("\r\n").filter(|line| line.starts_with('#'));
            let headings = lines.filter(|line| line.trim_matches(['#', ' ']) == words);
            edit.kind.has_target() && !words.is_empty() && headings.count() > 1
        })
    };
    let failing = (1..20).flat_map(|seed| programs(Profile::Full, seed));
    let mut failing = failing.filter(fails).take(5).peekable();
    assert!(failing.peek().is_some());
    for program in failing {
        let (program, _) = shrunk(program, fails);
        let [Step::Call(edit)] = &program.steps[..] else {
            panic!("{program:?}");
        };
        assert_eq!(
            (edit.kind, edit.path.as_str(), edit.content.as_str()),
            (Kind::ReplaceSection, "a.md", "")
        );
        let document = &program.documents["a.md"].0;
        assert!(document.len() <= "### A\r\n### A".len(), "{program:?}");
    }
}

#[test]
fn programs_survive_serialization() {
    for program in programs(Profile::Quick, 5) {
        let json = serde_json::to_string(&program).unwrap();
        assert_eq!(serde_json::from_str::<Program>(&json).unwrap(), program);
    }
}

/// Returns a library with documents, commits (newest first), lines of `git status` and an empty index.
fn view(documents: &[(&str, &str)], commits: &[&str], status: &str) -> View {
    let files = documents.iter().map(|(path, text)| {
        let file = (0o100_644, text.as_bytes().to_vec());
        (PathBuf::from(path), file)
    });
    View {
        library: Ledger {
            files: files.collect(),
            folders: Default::default(),
            commits: commits.iter().map(|id| (*id).to_owned()).collect(),
            status: status.to_owned(),
            index: String::new(),
        },
        around: Default::default(),
        rows: None,
    }
}

fn call(kind: Kind, path: &str) -> Call {
    let with = With { path, content: "new\n", target: "# A" };
    subject().request(kind.effect(), with).expect("the contract has it")
}

const A: &str = "# A\n";
const DIRTY_A: &str = "1 .M N... 100644 100644 100644 1 1 a.md\n";
const DIRTY_B: &str = "1 .M N... 100644 100644 100644 1 1 b c.md\n";

/// Judges an accepted write to `a.md` in a library that has `a.md`, `b c.md` and one commit; `status` is the `git status`
/// before the write.
#[track_caller]
fn accepted(status: &str, changed: &[&str], now: View) -> Result<Vec<Entry>, String> {
    let before = view(&[("a.md", A), ("b c.md", A)], &["1"], status);
    let mut model = LibraryModel::new(before, true);
    let judged = model.accepted(&call(Kind::Write, "a.md"), changed, now);
    let log = model.log;
    judged.map(|()| log).map_err(|stop| stop.to_string())
}

#[test]
fn an_accepted_mutation_is_one_commit_of_its_document_alone() {
    let good = [("a.md", "new\n"), ("b c.md", A)];
    let entry = Entry { path: "a.md".into(), commit: "2".into() };
    let only = Ok(vec![entry]);
    assert_eq!(accepted("", &["a.md"], view(&good, &["2", "1"], "")), only);
    assert_eq!(accepted(DIRTY_B, &["a.md"], view(&good, &["2", "1"], DIRTY_B)), only);
    assert_eq!(accepted(DIRTY_A, &["a.md"], view(&good, &["2", "x", "1"], "")), only);

    let bad = [
        ("", view(&[("a.md", "other"), ("b c.md", A)], &["2", "1"], "")),
        ("", view(&[("a.md", "new\n")], &["2", "1"], "")),
        ("", view(&[("a.md", "new\n"), ("b c.md", "")], &["2", "1"], "")),
        ("", view(&good, &["1"], "")),
        ("", view(&good, &["2", "x", "1"], "")),
        (DIRTY_B, view(&good, &["2", "x", "1"], DIRTY_B)),
        (DIRTY_A, view(&good, &["2", "x", "y", "1"], "")),
        ("", view(&good, &["2"], "")),
        ("", view(&good, &["2", "1"], DIRTY_A)),
        (DIRTY_B, view(&good, &["2", "1"], "")),
        ("", view(&good, &["2", "1"], DIRTY_B)),
    ];
    for (number, (status, now)) in bad.into_iter().enumerate() {
        assert!(accepted(status, &["a.md"], now).is_err(), "case {number}");
    }
    let swept = accepted("", &["a.md", "b c.md"], view(&good, &["2", "1"], ""));
    assert_eq!(swept, Err("the commit also changes [\"b c.md\"]".into()));
}

#[test]
fn a_server_without_commits_is_judged_by_its_documents() {
    let before = view(&[("a.md", A), ("b c.md", A)], &["1"], "");
    let accepted =
        |now| LibraryModel::new(before.clone(), false).accepted(&call(Kind::Write, "a.md"), &[], now);
    assert!(accepted(view(&[("a.md", "new\n"), ("b c.md", A)], &["1"], DIRTY_A)).is_ok());
    assert!(accepted(view(&[("a.md", "other"), ("b c.md", A)], &["1"], DIRTY_A)).is_err());
    assert!(accepted(view(&[("a.md", "new\n")], &["1"], DIRTY_A)).is_err());
    assert!(accepted(view(&[("a.md", "new\n"), ("b c.md", A)], &["1"], DIRTY_B)).is_err());
}

#[test]
fn a_call_must_be_accepted_unless_the_contract_allows_its_refusal() {
    let must = |kind, path, documents: &[(&str, &str)], status: &str| {
        LibraryModel::new(view(documents, &["1"], status), true).must_be_accepted(&call(kind, path))
    };
    assert!(must(Kind::Write, "a.md", &[], ""));
    assert!(!must(Kind::Write, "a.md", &[("a.md", "new\n")], ""));
    assert!(!must(Kind::Write, "a.md", &[("a.md", A)], DIRTY_A));
    assert!(must(Kind::Write, "a.md", &[("a.md", A)], DIRTY_B));
    assert!(must(Kind::Write, "b/a.md", &[("b/c.md", A)], ""));
    assert!(!must(Kind::Write, "b/a.md", &[("c.md", A)], ""));
    assert!(!must(Kind::Append, "a.md", &[], ""));
    assert!(must(Kind::ReplaceSection, "a.md", &[("a.md", A)], ""));
    assert!(!must(Kind::ReplaceSection, "a.md", &[("a.md", "# A\n# A\n")], ""));
    assert!(!must(Kind::ReplaceSection, "a.md", &[("a.md", "")], ""));

    let mut not_utf8 = view(&[("a.md", "")], &["1"], "");
    not_utf8.library.files.insert("a.md".into(), (0, vec![0xff]));
    assert!(!LibraryModel::new(not_utf8, true).must_be_accepted(&call(Kind::Append, "a.md")));
}

#[test]
fn refused_calls_and_reads_change_nothing() {
    let before = view(&[("a.md", A)], &["1"], "");
    let judged = |now: View| LibraryModel::new(before.clone(), true).unchanged(now).is_ok();
    assert!(judged(before.clone()));
    assert!(!judged(view(&[("a.md", "")], &["1"], "")));
    assert!(!judged(view(&[("a.md", A), ("b.md", "")], &["1"], "")));
    assert!(!judged(view(&[("a.md", A)], &["2", "1"], "")));
    assert!(!judged(view(&[("a.md", A)], &["1"], DIRTY_A)));
    let mut staged = before.clone();
    staged.library.index = "100644 1 0\ta.md\n".into();
    assert!(!judged(staged));
    let mut around = before.clone();
    around.around.insert("secret.md".into(), (0, Vec::new()));
    assert!(!judged(around));

    let no = Refusal { code: None, message: "no".into() };
    let refused =
        |kind| LibraryModel::new(before.clone(), true).refused(&call(kind, "a.md"), &no, before.clone());
    assert!(matches!(refused(Kind::Append), Err(Stop::NotShown(_))));
    let dirty = view(&[("a.md", A)], &["1"], DIRTY_A);
    let refused = LibraryModel::new(dirty.clone(), true).refused(&call(Kind::Append, "a.md"), &no, dirty);
    assert!(refused.is_ok());
}

#[test]
fn a_persons_action_changes_nothing_else() {
    let before = view(&[("a.md", A)], &["1"], "");
    let judged = |action, now: View| LibraryModel::new(before.clone(), true).person(action, now).is_ok();
    let save = PersonAction::Save("a.md", Some(b"x"));
    assert!(judged(save, view(&[("a.md", "x")], &["1"], DIRTY_A)));
    assert!(!judged(save, view(&[("a.md", "x")], &["2", "1"], "")));
    assert!(!judged(save, view(&[("a.md", A)], &["1"], "")));
    assert!(!judged(save, view(&[("a.md", "x")], &["1"], DIRTY_B)));
    assert!(judged(PersonAction::Save("a.md", None), view(&[], &["1"], DIRTY_A)));
    assert!(judged(PersonAction::Commit, view(&[("a.md", A)], &["2", "1"], "")));
    assert!(!judged(PersonAction::Commit, view(&[("a.md", A)], &["3", "2", "1"], "")));
    assert!(judged(PersonAction::Stage("a.md"), view(&[("a.md", A)], &["1"], DIRTY_A)));
    assert!(!judged(PersonAction::Stage("a.md"), view(&[("a.md", "")], &["1"], DIRTY_A)));
}

#[test]
fn the_log_lists_each_mutation_once_in_order() {
    let entry = |path: &str, commit: &str| Entry { path: path.into(), commit: commit.into() };
    let (one, two) = (entry("a.md", "1"), entry("b.md", "2"));
    let mut model = LibraryModel::new(view(&[], &[], ""), true);
    model.log = vec![one.clone(), two.clone()];
    let judged = |entries: &[Entry]| model.judge_log(entries).is_ok();
    assert!(judged(&[one.clone(), two.clone()]));
    assert!(!judged(&[two.clone(), one.clone()]));
    assert!(!judged(std::slice::from_ref(&one)));
    assert!(!judged(&[one.clone(), two.clone(), two]));
    assert!(!judged(&[one, entry("b.md", "3")]));
}

#[test]
fn programs_keep_bytes_that_are_not_utf8() {
    let program =
        Program { documents: [("a.md".to_owned(), Bytes(vec![0xff]))].into(), steps: vec![Step::Commit] };
    let json = serde_json::to_string(&program).unwrap();
    assert_eq!(json, r#"{"documents":{"a.md":{"hex":"ff"}},"steps":[{"do":"commit"}]}"#);
}
