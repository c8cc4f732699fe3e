//! Checks the invariants of a library at rest: folder, index, HEAD and log agree, and no temporary files or locks
//! remain.
//!
//! Only promises of the contract are checked: without a promise of commits, none is required. Commits are not required
//! of a server that never commits either; the checks about commits report that.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use tabellion_runtime::{ToolSpec, spec::LogSpec};

use crate::{
    Ledger, Subject,
    check::{Bench, counted},
    client::Client,
    judgement::{Cause, Judgement, Shows, Stop, ensure, ensure_none, fail},
    ledger::{self, Files},
    request,
    scene::{Scene, View},
};

/// State of a library and its log before a check.
#[derive(Debug)]
pub struct Baseline {
    /// The library.
    pub view: View,
    /// Commits in the log, if the server has a log tool.
    pub log: Option<Vec<String>>,
}

impl Baseline {
    /// Reads the current state, with a server running.
    ///
    /// # Errors
    /// If the disk or git fails, or the server does not return its log.
    pub fn read(bench: &Bench<'_>, scene: &Scene<'_>, client: &mut Client<'_>) -> Result<Self, Stop> {
        let log = log(bench.subject, client)?;
        Ok(Self { view: scene.view()?, log })
    }

    /// Returns the commits made since, newest first.
    pub fn commits_since(&self, scene: &Scene<'_>) -> Result<Vec<String>, Stop> {
        Ok(view(scene)?.library.commits_since(&self.view.library))
    }

    /// Judges the library after this many mutations, each of which should have made a commit, and after which the
    /// folder should hold these files. Reads the log with `client`.
    ///
    /// # Errors
    /// The worst failure.
    pub fn judge(
        &self,
        bench: &Bench<'_>,
        scene: &Scene<'_>,
        client: &mut Client<'_>,
        files: &Files,
        mutations: usize,
    ) -> Judgement {
        // A server may recover only at the next request.
        let logged = log(bench.subject, client)?;
        let view = view(scene)?;
        ensure_files(&view.library.files, files)?;
        ensure(view.around == self.view.around, || "files outside of the library have changed".into())?;
        if bench.subject.should_commit() {
            let commits = view.library.commits_since(&self.view.library);
            let counted = ensure(commits.len() == mutations, || {
                format!("{} made {}", counted(mutations, "mutation"), counted(commits.len(), "commit"))
            });
            let agree = || {
                ensure(view.library.status == self.view.library.status, || {
                    let status = view.library.status.trim();
                    format!("folder, index and HEAD differ; `git status` prints: {status}")
                })
            };
            let judged = counted.and_then(|()| agree());
            judged.map_err(|stop| stop.shows(Shows::Commits))?;
        }
        ensure_sound(scene)?;
        let (Some(earlier), Some(logged)) = (&self.log, logged) else {
            return Ok(());
        };
        let commits = if bench.subject.should_commit() {
            view.library.commits_since(&self.view.library)
        } else {
            Vec::new()
        };
        let judged =
            ensure_logged(earlier, &logged, mutations).and_then(|()| ensure_tells(&logged, &commits));
        judged.map_err(|stop| stop.shows(Shows::Log))
    }
}

/// Time after its answer within which a server must commit, to be told apart from one that does not commit.
const LATE_COMMIT: Duration = Duration::from_secs(2);

/// Waits for a commit since `before`; returns true if one was made in time.
pub fn wait_for_commit(scene: &Scene<'_>, before: &Ledger) -> Result<bool, Stop> {
    let since = Instant::now();
    while since.elapsed() < LATE_COMMIT {
        if !scene.view()?.library.commits_since(before).is_empty() {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(false)
}

/// Reads the library. A failure of git counts as the server's.
///
/// # Errors
/// The failure.
pub fn view(scene: &Scene<'_>) -> Result<View, Stop> {
    scene.view().map_err(|stop| match stop {
        Stop::Harness(message) => fail(format!("the library cannot be read: {message}")),
        stop => stop,
    })
}

/// Returns the tool that reads the log, if the contract and the server have one.
pub fn log_tool(subject: &Subject) -> Option<(LogSpec, &'static ToolSpec)> {
    let log = subject.contract.log?;
    let tool = subject.contract.operation(log.tool)?;
    subject.adapter.has(tool, None).then_some((log, tool))
}

/// Returns the commits in the log, oldest first; `None` without a log tool.
///
/// # Errors
/// If the server does not answer with a log.
pub fn log(subject: &Subject, client: &mut Client<'_>) -> Result<Option<Vec<String>>, Stop> {
    let Some((log, tool)) = log_tool(subject) else {
        // A request is needed anyway, so that the server has started and recovered.
        client.request("tools/list", serde_json::json!({}))?;
        return Ok(None);
    };
    let emptiest = request::examples(tool).min_by_key(|example| example.to_string().len());
    let arguments = emptiest.unwrap_or_else(|| serde_json::json!({}));
    let done = client.call(tool, &arguments)?.must("reading the log")?;
    let entries = done.response.pointer(log.entries).and_then(|all| all.as_array());
    let entries = entries.ok_or_else(|| fail("the log's answer has no list of entries"))?;
    let commit = |entry: &serde_json::Value| {
        let commit = entry.pointer(log.commit).and_then(|commit| commit.as_str());
        commit.unwrap_or_default().to_owned()
    };
    Ok(Some(entries.iter().map(commit).collect()))
}

/// Fails unless the log has one new entry per mutation, and no commit twice.
pub fn ensure_logged(earlier: &[String], logged: &[String], mutations: usize) -> Judgement {
    let mut count = BTreeMap::new();
    logged.iter().for_each(|commit| *count.entry(commit).or_insert(0) += 1);
    if let Some((commit, times)) = count.iter().find(|(_, times)| **times > 1) {
        return Err(fail(format!("the log has the commit {commit} {times} times")));
    }
    let more = logged.len().saturating_sub(earlier.len());
    ensure(more == mutations, || format!("{mutations} mutations added {more} entries to the log"))
}

/// Fails unless the log has an entry for each of these commits.
pub fn ensure_tells(logged: &[String], commits: &[String]) -> Judgement {
    ensure_none(commits.iter().find(|commit| !logged.contains(commit)), |missing| {
        format!("the log lacks the mutation of commit {missing}")
    })
}

/// Returns a hint about a hidden file, which may be a temporary one: the glob that names it as the server's own.
fn own(path: &Path) -> String {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let Some(stem) = name.strip_prefix('.') else {
        return String::new();
    };
    let stem = &stem[..stem.rfind(|c: char| !c.is_alphanumeric()).map_or(stem.len(), |at| at + 1)];
    format!("; if it is a temporary file of the server's, name it in the adapter: `own = [\"**/.{stem}*\"]`")
}

/// Fails unless the folder holds exactly these files, except those in `.git`.
///
/// # Errors
/// The failure, which names the missing, additional or changed file.
pub fn ensure_files(found: &Files, expected: &Files) -> Judgement {
    let all: Vec<_> = expected.keys().chain(found.keys()).collect();
    for path in all {
        let shown = path.display();
        let what = match (expected.get(path), found.get(path)) {
            (expected, found) if expected == found => continue,
            (None, _) => format!("`{shown}` is left over{}", own(path)),
            (_, None) => format!("`{shown}` is gone"),
            (Some((_, expected)), Some((_, found))) if expected == found => {
                format!("`{shown}` has a different mode")
            }
            _ => format!("`{shown}` has changed, although no call changes it"),
        };
        let bytes = |files: &Files| files.get(path).map(|(_, bytes)| bytes.clone());
        let (expected, found) = (bytes(expected), bytes(found));
        let failure = fail(what).because(Cause::of_file(path)).shows(Shows::Documents);
        return Err(failure.showing(&shown.to_string(), expected.as_deref(), found.as_deref()));
    }
    Ok(())
}

/// Fails unless `git fsck` passes and no lock blocks git.
///
/// # Errors
/// The failure, with git's message or the locks.
pub fn ensure_sound(scene: &Scene<'_>) -> Judgement {
    if let Err(error) = ledger::fsck(&scene.library()) {
        return Err(fail(format!("the repository is damaged: {error}")));
    }
    let mut locks = Vec::new();
    if scene.is_git_judged() {
        collect_locks(&scene.library(), &scene.path(".git"), 0, &mut locks)?;
    }
    ensure(locks.is_empty(), || format!("locks of git's files remain: {}", locks.join(", ")))
}

/// Collects the locks that block git: those of the files next to `HEAD`, and those below `refs` and `logs`.
fn collect_locks(root: &Path, folder: &Path, depth: usize, locks: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type()?.is_dir() {
            if depth > 0 || ["refs", "logs"].contains(&&*name) {
                collect_locks(root, &path, depth + 1, locks)?;
            }
        } else if let Some(locked) = name.strip_suffix(".lock")
            && (depth > 0 || ["index", "HEAD", "config", "packed-refs"].contains(&locked))
        {
            let shown = path.strip_prefix(root).unwrap_or(&path);
            locks.push(shown.display().to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_differs_from_the_history_is_reported() {
        let ids = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let judged = |told: &[&str], mutations| ensure_logged(&ids(&["a"]), &ids(told), mutations).is_ok();
        assert!(judged(&["a", "b", "c"], 2));
        assert!(!judged(&["a", "b"], 2), "an entry is missing");
        assert!(!judged(&["a", "b", "b"], 2), "an entry is there twice");
        assert!(!judged(&["a", "b", "c"], 1), "an entry of no call");
        assert!(ensure_tells(&ids(&["a", "b"]), &ids(&["b"])).is_ok());
        assert!(ensure_tells(&ids(&["a", "b"]), &ids(&["c"])).is_err());
    }

    #[test]
    fn additional_missing_and_changed_files_are_reported() {
        let files = |files: &[(&str, &str)]| -> Files {
            let file = |(path, bytes): &(&str, &str)| (path.into(), (0o644, bytes.as_bytes().to_vec()));
            files.iter().map(file).collect()
        };
        let expected = files(&[("a", "1"), ("b", "2")]);
        let failure = |found: &[(&str, &str)]| match ensure_files(&files(found), &expected) {
            Ok(()) => String::new(),
            Err(stop) => stop.to_string(),
        };
        assert_eq!(failure(&[("a", "1"), ("b", "2")]), "");
        assert_eq!(failure(&[("a", "1")]), "`b` is gone");
        assert_eq!(failure(&[("a", "1"), ("b", "2"), ("c", "")]), "`c` is left over");
        assert!(failure(&[("a", "1"), ("b", "")]).contains("`b` has changed"));
    }
}
