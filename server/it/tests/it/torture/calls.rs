//! Calls as a client records them, and checks of the history after them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use serde_json::{Value, json};

use super::history::{self, Commit};
use crate::support::{Answer, Outcome};

/// The outcome of a call, as far as its client knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// Acknowledged with this commit.
    Commit(String),
    /// Refused with an error of this name.
    Refused(String),
    /// Unknown: the server died before the answer.
    Unknown,
}

/// A call that changes one document.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// A unique text, in the content that the call writes (a deletion has none) or as its idempotency key.
    pub(super) token: String,
    pub(super) tool: &'static str,
    pub(super) request: Value,
    pub(super) meta: Value,
    pub(super) end: CallOutcome,
    /// The time from the request to its answer.
    pub(super) waited: Duration,
}

impl Call {
    /// Returns a call that was not made yet.
    pub(super) fn new(token: &str, tool: &'static str, request: Value) -> Self {
        Self {
            token: token.to_owned(),
            tool,
            request,
            meta: json!({}),
            end: CallOutcome::Unknown,
            waited: Duration::ZERO,
        }
    }

    /// Uses the token as idempotency key, so that the call can be repeated.
    pub(super) fn with_key(mut self) -> Self {
        self.meta["tabellion/idempotencyKey"] = self.token.clone().into();
        self
    }

    pub(super) fn has_key(&self) -> bool {
        self.meta.get("tabellion/idempotencyKey").is_some()
    }

    pub(super) fn path(&self) -> &str {
        self.request["path"].as_str().expect("a path")
    }

    /// Returns the parameters of the request.
    pub(super) fn params(&self) -> Value {
        json!({ "name": self.tool, "arguments": self.request, "_meta": self.meta })
    }

    /// Records its answer.
    pub(super) fn ended(&mut self, outcome: Outcome<Answer>, waited: Duration) {
        self.waited = waited;
        self.end = match outcome {
            Ok(answer) => {
                let commit = answer.response["git_commit_sha"].as_str();
                CallOutcome::Commit(commit.expect("a commit").to_owned())
            }
            Err(refusal) => {
                println!("refused: {refusal:?}");
                CallOutcome::Refused(refusal.name)
            }
        };
    }

    /// Returns the number of lines with its token.
    fn lines_in<'a>(&self, lines: impl IntoIterator<Item = &'a String>) -> usize {
        lines.into_iter().filter(|line| has(line, &self.token)).count()
    }

    /// Returns true if this call made `commit`.
    pub(super) fn made(&self, commit: &Commit) -> bool {
        self.lines_in(&commit.added) > 0 || history::key(commit) == Some(&self.token)
    }
}

/// Returns true if `line` contains `token` as a whole word.
fn has(line: &str, token: &str) -> bool {
    line.split_whitespace().any(|word| word == token)
}

/// Counts the outcomes of calls, by the error's name.
pub(super) fn ends(calls: &[Call]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        let name = match &call.end {
            CallOutcome::Commit(_) => "acknowledged",
            CallOutcome::Refused(name) => name,
            CallOutcome::Unknown => "unknown",
        };
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

/// Returns the median and the maximum of the response times.
pub(super) fn waits(calls: &[Call]) -> [Duration; 2] {
    let mut waits: Vec<_> = calls.iter().map(|call| call.waited).collect();
    waits.sort();
    [waits.len() / 2, waits.len().saturating_sub(1)].map(|at| waits.get(at).copied().unwrap_or_default())
}

/// Returns the faults of `commits` on any branch: an acknowledged call without its commit, or with a commit that changes
/// more or less than the call.
pub(super) fn faults_of_commits(calls: &[Call], commits: &[Commit]) -> Vec<String> {
    let by_id: HashMap<&str, &Commit> = commits.iter().map(|commit| (&*commit.id, commit)).collect();
    let mut faults = vec![];
    for call in calls {
        let CallOutcome::Commit(id) = &call.end else {
            continue;
        };
        let Some(commit) = by_id.get(&**id) else {
            faults.push(format!("{}: nothing reaches its commit {id}", call.token));
            continue;
        };
        if commit.paths != BTreeSet::from([call.path().to_owned()]) {
            faults.push(format!("{}: its commit changes {:?}", call.token, commit.paths));
        }
        let expected = usize::from(call.tool != "delete_markdown");
        if call.lines_in(&commit.added) != expected {
            faults.push(format!("{}: its commit {id} adds {:?}", call.token, commit.added));
        }
        let is_addition = call.request["operation"]["type"] == "append";
        if is_addition && (commit.added.len() != 1 || !commit.removed.is_empty()) {
            faults.push(format!(
                "{}: its commit adds {} lines and removes {}",
                call.token,
                commit.added.len(),
                commit.removed.len()
            ));
        }
    }
    faults
}

/// Returns the faults of a branch that only these calls changed: a call without its one commit, two calls that replaced
/// the same base, or a commit of no call; and the lost or doubled lines of `texts`, which are append-only documents.
pub(super) fn faults_of_branch(
    calls: &[Call],
    commits: &[Commit],
    texts: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut faults = faults_of_commits(calls, commits);
    let mut made: HashMap<&str, Vec<&Commit>> = HashMap::new();
    for commit in commits {
        let words = commit.added.iter().flat_map(|line| line.split_whitespace());
        let marks: BTreeSet<&str> = words.chain(history::key(commit)).collect();
        for mark in marks {
            made.entry(mark).or_default().push(commit);
        }
    }
    let mut winners: HashMap<(&str, &str), &str> = HashMap::new();
    let mut accounted = 0;
    for call in calls {
        let made =
            made.get(&*call.token).map_or(0, |made| made.iter().filter(|commit| call.made(commit)).count());
        accounted += made;
        let fits = match &call.end {
            CallOutcome::Commit(_) => made == 1,
            CallOutcome::Refused(_) => made == 0,
            CallOutcome::Unknown => made <= 1,
        };
        if !fits {
            faults.push(format!("{}: {:?}, and {made} commits have it", call.token, call.end));
        }
        if let Some(text) = texts.get(call.path()) {
            let lines = text.lines().filter(|line| has(line, &call.token)).count();
            if lines != made {
                faults.push(format!("{}: {made} commits, and {lines} lines of the file", call.token));
            }
        }
        if let (1, Some(base)) = (made, call.meta["tabellion/ifBase"].as_str())
            && let Some(other) = winners.insert((call.path(), base), &call.token)
        {
            faults.push(format!("{} and {other} both replaced {base}", call.token));
        }
    }
    let ours = commits.iter().filter(|commit| commit.trailer("Tabellion-Operation").is_some()).count();
    if ours != accounted {
        faults.push(format!("{ours} commits of ours, {accounted} of them a call's"));
    }
    faults
}

/// Returns the tokens that a version of a document has more than once.
pub(super) fn doubled<'a>(calls: &[Call], text: &'a str) -> BTreeSet<&'a str> {
    let tokens: BTreeSet<&str> = calls.iter().map(|call| &*call.token).collect();
    let mut seen = BTreeSet::new();
    text.split_whitespace().filter(|word| tokens.contains(word) && !seen.insert(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::edit;

    fn call(token: &str, end: CallOutcome) -> Call {
        let request = edit("a.md", "append", "", &format!("- {token}\n"));
        let call = Call::new(token, "edit_markdown", request);
        Call { end, ..call }
    }

    fn commit(id: &str, paths: &[&str], added: &[&str]) -> Commit {
        let all = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        Commit {
            id: id.to_owned(),
            message: "append\n\nTabellion-Operation: append\n".to_owned(),
            paths: all(paths).into_iter().collect(),
            added: all(added),
            removed: vec![],
        }
    }

    #[test]
    fn the_check_reports_each_kind_of_fault() {
        let done = |id: &str| CallOutcome::Commit(id.to_owned());
        let calls = [
            call("t1", done("c1")),
            call("t2", done("c2")),
            call("t3", CallOutcome::Unknown),
            call("t4", CallOutcome::Refused("CONFLICT".to_owned())),
        ];
        let commits = vec![commit("c1", &["a.md"], &["- t1"]), commit("c2", &["a.md"], &["- t2"])];
        let text = "# A\n- t1\n- t2\n";
        let faults = |commits: &[Commit], text: &str| {
            let texts = BTreeMap::from([("a.md".to_owned(), text.to_owned())]);
            faults_of_branch(&calls, commits, &texts)
        };
        let also = |more: Commit| [commits.clone(), vec![more]].concat();
        assert_eq!(faults(&commits, text), [""; 0]);
        let third = also(commit("c3", &["a.md"], &["- t3"]));
        assert_eq!(faults(&third, "- t1\n- t2\n- t3\n"), [""; 0]);
        let broken: [(&str, Vec<Commit>, &str); 9] = [
            ("a line lost", commits.clone(), "# A\n- t1\n"),
            ("a line doubled", commits.clone(), "# A\n- t1\n- t2\n- t2\n"),
            ("a commit lost", commits[..1].to_vec(), text),
            ("a commit doubled", also(commit("c3", &["a.md"], &["- t1"])), text),
            ("a refused call made", also(commit("c3", &["a.md"], &["- t4"])), text),
            ("a commit of no call", also(commit("c3", &["a.md"], &["- t5"])), text),
            ("two paths", vec![commits[0].clone(), commit("c2", &["a.md", "b.md"], &["- t2"])], text),
            ("another line with it", vec![commits[0].clone(), commit("c2", &["a.md"], &["- t2", "x"])], text),
            ("an unknown call's line without a commit", commits.clone(), "- t1\n- t2\n- t3\n"),
        ];
        for (what, commits, text) in broken {
            assert!(!faults(&commits, text).is_empty(), "{what}");
        }
        assert_eq!(doubled(&calls, "- t1\n- x\n- t2\n- x\n- t1\n"), BTreeSet::from(["t1"]));
    }

    #[test]
    fn the_check_reports_two_calls_that_replaced_the_same_base() {
        let write = |token: &str| {
            let mut call = call(token, CallOutcome::Commit(token.replace('t', "c")));
            call.request = json!({ "path": "a.md", "content": token });
            call.meta = json!({ "tabellion/ifBase": "b0" });
            call
        };
        let commits = ["1", "2"].map(|n| commit(&format!("c{n}"), &["a.md"], &[&format!("t{n}")]));
        let faults = faults_of_branch(&[write("t1"), write("t2")], &commits, &BTreeMap::new());
        assert_eq!(faults, ["t2 and t1 both replaced b0"]);
    }
}
