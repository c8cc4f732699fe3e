//! Histories built from a list, and the result of a plain walk over them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use chrono::DateTime;
use gix::ObjectId;
use serde_json::Map;
use tabellion_runtime::{DocumentHistory, Failure, Until};
use tempfile::TempDir;

use crate::{
    commit_message::{EXTERNAL, Record, RecordedCall, ToolDetails},
    history::{History, LogEntry, Slot, ancestry::Walk, build::BuildError},
    repository::Repository,
    versions::VersionLine,
};

/// The documents of these histories, of two libraries in one repository.
pub(super) const PATHS: [&str; 4] = ["a/x.md", "a/deep/y.md", "b/x.md", "z.md"];
/// The idempotency keys.
pub(super) const KEYS: [&str; 3] = ["one", "two", "three"];
/// Ids of the contents of documents: `0`, `1` and `2`.
const CONTENTS: [&str; 3] = [
    "c227083464fb9af8955c90d2924774ee50abb547",
    "56a6051ca2b02b04ef92d5150c9ef600403cb1de",
    "d8263ee9860594d2806b0dfd1bfd17528b0ba2a4",
];
/// The libraries: the whole repository, and two folders of it.
pub(super) const PREFIXES: [&str; 3] = ["", "a/", "b/"];

/// A commit to make.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Distances of the parents before this commit; none for a first commit.
    pub(super) parents: Vec<usize>,
    /// Seconds since the commit before; negative when the clock is wrong.
    pub(super) later: i64,
    /// Index of the changed document, and a flag for its deletion.
    pub(super) path: usize,
    pub(super) delete: bool,
    /// Kind of commit: a person's, an entry with or without a key, or an adoption of uncommitted bytes.
    pub(super) kind: usize,
}

/// A repository with such a history.
pub(super) struct Told {
    pub(super) folder: TempDir,
    pub(super) commits: Vec<ObjectId>,
}

impl Told {
    pub(super) fn new(plans: &[Plan]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(folder.path()).args(arguments);
            git
        };
        assert!(git(&["init", "-q", "-b", "main"]).status().unwrap().success());
        let mut import = git(&["fast-import", "--quiet", "--export-marks=.git/marks"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = stream(plans);
        import.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(import.wait().unwrap().success());
        for prefix in PREFIXES {
            fs::create_dir_all(folder.path().join(prefix)).unwrap();
        }
        let marks = fs::read_to_string(folder.path().join(".git/marks")).unwrap();
        let commits: BTreeMap<usize, ObjectId> = marks
            .lines()
            .map(|line| {
                let (mark, id) = line.trim_start_matches(':').split_once(' ').unwrap();
                (mark.parse().unwrap(), ObjectId::from_hex(id.as_bytes()).unwrap())
            })
            .collect();
        let told = Self { folder, commits: commits.into_values().collect() };
        told.put_head(told.commits.len() - 1);
        told
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn cache(&self) -> std::path::PathBuf {
        self.path().join(".git/tabellion/log.sqlite")
    }

    /// Moves the branch to a commit.
    pub(super) fn put_head(&self, commit: usize) {
        let branch = self.path().join(".git/refs/heads/main");
        fs::write(branch, format!("{}\n", self.commits[commit])).unwrap();
    }

    pub(super) fn history(&self, prefix: &str) -> WakeState {
        let (repository, _) =
            Repository::open(&self.path().canonicalize().unwrap().join(prefix), Default::default()).unwrap();
        assert_eq!(repository.prefix(), prefix);
        WakeState { history: History::new(&repository), repository }
    }
}

fn stream(plans: &[Plan]) -> String {
    let mut text = String::new();
    let mut time = 1_700_000_000;
    for (at, plan) in plans.iter().enumerate() {
        time += plan.later;
        let path = PATHS[plan.path];
        let message = match plan.kind {
            0 => "a person's\n".to_owned(),
            kind => Record {
                operation: if kind == 5 { EXTERNAL } else { "append" }.into(),
                // Every third entry is of two documents: the second may be in another library.
                paths: [path]
                    .into_iter()
                    .chain((at % 3 == 0).then_some("b/second.md"))
                    .map(Into::into)
                    .collect(),
                tool: (kind != 5).then(|| "a_tool".into()),
                client: (at % 2 == 0).then(|| "c/1".into()),
                time: DateTime::from_timestamp(time, 1_000_000 * (at as u32 % 1000)).unwrap(),
                summary: format!("the {at}th"),
                key: KEYS.get(kind - 1).map(|key| (*key).into()),
                request: KEYS.get(kind - 1).map(|_| at.to_string()),
                caller: (at % 3 == 1).then(|| format!("local:{at}")),
                call: (at % 4 == 1)
                    .then(|| RecordedCall { execution: format!("execution {at}"), session: None }),
                // Their records claim unchanged bytes, which is true where the commit before wrote the same.
                tool_details: (kind != 5 && at % 5 < 3).then(|| {
                    let content = (!plan.delete).then(|| CONTENTS[at % 3].to_owned());
                    let second = (at % 3 == 0).then_some([None, None]);
                    ToolDetails {
                        details: Map::new(),
                        contents: [[content.clone(), content]].into_iter().chain(second).collect(),
                    }
                }),
            }
            .render(),
        };
        let (mark, length) = (at + 1, message.len());
        let _ = write!(
            text,
            "reset refs/heads/main\ncommit refs/heads/main\nmark :{mark}\ncommitter A <a@b> {time} +0000\ndata {length}\n{message}\n"
        );
        let mut parents: Vec<_> = plan.parents.iter().filter(|back| **back <= at && **back > 0).collect();
        parents.dedup();
        for (number, back) in parents.into_iter().enumerate() {
            let word = if number == 0 { "from" } else { "merge" };
            let _ = writeln!(text, "{word} :{}", mark - back);
        }
        if plan.delete {
            let _ = writeln!(text, "D {path}");
        } else {
            // Few different contents: some commits are empty, and some merges agree.
            let content = (at % 3).to_string();
            let _ = write!(text, "M 644 inline {path}\ndata 1\n{content}\n");
        }
    }
    text
}

/// Returns the end of the run of commits, up to known ones, that left the document at a git path unchanged.
type Unchanged<'u> = &'u dyn Fn(&str, ObjectId, &[ObjectId]) -> Result<ObjectId, Failure>;

/// Returns the line of versions of each document, to the beginning and to one of the entries.
fn lines(
    git: &gix::Repository,
    head: Option<ObjectId>,
    entries: &[LogEntry],
    few: usize,
    unchanged: Unchanged<'_>,
) -> Vec<[DocumentHistory; 2]> {
    let known: Vec<_> = entries.iter().rev().skip(few).step_by(5).collect();
    let known: Vec<_> = known.iter().map(|entry| entry.commit.as_str()).collect();
    let line = |path: &str, known: &[&str]| {
        let ids: Vec<_> = known.iter().map(|id| ObjectId::from_hex(id.as_bytes()).unwrap()).collect();
        let until = Until { known, ..Until::BEGINNING };
        let mut line = VersionLine::default();
        line.go_back(git, head, path, until, &|commit| unchanged(path, commit, &ids)).unwrap();
        line.past(None, None, head)
    };
    PATHS.iter().map(|path| [line(path, &[]), line(path, &known)]).collect()
}

/// A history to query.
pub(super) struct WakeState {
    pub(super) history: History,
    repository: Repository,
}

/// Answers to all queries of a history.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) entries: Vec<LogEntry>,
    pub(super) few: Vec<LogEntry>,
    pub(super) with_keys: Vec<Option<LogEntry>>,
    /// By document: its line of versions, back to the beginning, and back to an entry.
    pub(super) lines: Vec<[DocumentHistory; 2]>,
}

impl WakeState {
    /// Returns the log's answer, with all of the cache in use.
    pub(super) fn answers(&self, few: usize) -> Answers {
        self.history.known.lock().renew(true);
        self.next_answers(few)
    }

    /// Returns the answer from memory.
    pub(super) fn next_answers(&self, few: usize) -> Answers {
        let git = self.repository.git();
        let head = self.repository.head_commit(&git).unwrap();
        let with_key = |key: &&str| self.history.with_key(&git, head, key).unwrap();
        let entries = self.history.last(&git, head, usize::MAX).unwrap();
        let unchanged = |path: &str, commit: ObjectId, known: &[ObjectId]| {
            self.history.unchanged_from(&git, head, commit, path, known)
        };
        Answers {
            few: self.history.last(&git, head, few).unwrap(),
            lines: lines(&git, head, &entries, few, &unchanged),
            with_keys: KEYS.iter().map(|key| with_key(key).map(|entry| (*entry).clone())).collect(),
            entries,
        }
    }

    /// Returns true if all of the history comes from the cache.
    pub(super) fn is_all_cached(&self) -> bool {
        let known = self.history.known.lock();
        known.front.commits.is_empty() && matches!(known.cache, Slot::Open(_))
    }

    /// Returns the answer of a plain walk.
    pub(super) fn expected(&self, few: usize) -> Answers {
        let git = self.repository.git();
        let head = self.repository.head_commit(&git).unwrap().unwrap();
        let mut walk = Walk::from(&git, head).unwrap();
        let mut entries = Vec::new();
        while let Some(visited) = walk.next(&git).unwrap() {
            let record = visited.commit.record;
            entries.extend(
                record.and_then(|record| LogEntry::from_record(visited.id, record, self.repository.prefix())),
            );
        }
        let with_key = |key: &&str| entries.iter().find(|entry| entry.key.as_deref() == Some(key)).cloned();
        let with_keys = KEYS.iter().map(with_key).collect();
        entries.reverse();
        Answers {
            few: entries[entries.len().saturating_sub(few)..].to_vec(),
            lines: lines(&git, Some(head), &entries, few, &|_, commit, _| Ok(commit)),
            entries,
            with_keys,
        }
    }

    /// Brings the cache up to HEAD; with `changes`, also the changed files of each commit.
    pub(super) fn catch_up(&self, changes: bool) {
        loop {
            match self.history.keeper.catch_up_now(changes) {
                Ok(()) => return,
                Err(BuildError::Busy) => thread::sleep(Duration::from_millis(5)),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
