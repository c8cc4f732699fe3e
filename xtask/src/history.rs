//! Refuses commits of more than a few lines that give no reason.
//!
//! It judges the commits since the one that introduced this check, on the way to `HEAD`. Moves, generated files, expected output and merges
//! don't count.

use xtask::{Outcome, run};

use crate::words;

/// This file, whose first commit is the first to be judged.
const CHECK: &str = "xtask/src/history.rs";
/// Upper bound of the changed lines of a commit without a body.
const MAX_LINES_WITHOUT_BODY: usize = 30;
/// Minimum length of a body, in characters, without trailers.
const MIN_BODY: usize = 60;
/// Separators of commits, and of the parts of one.
const RECORD: char = '\u{1e}';
const UNIT: char = '\u{1f}';

/// A commit's message, and the number of lines that it changes.
struct Commit<'a> {
    id: &'a str,
    subject: &'a str,
    body: &'a str,
    lines: usize,
}

/// Returns a message for each commit that lacks a body.
pub(crate) fn problems() -> Outcome<Vec<String>> {
    let Some(first) = introduction(CHECK)? else {
        return Ok(Vec::new());
    };
    let format = format!("--format={RECORD}%H{UNIT}%s{UNIT}%b{UNIT}");
    let log = run::git(&[
        "log",
        "--no-merges",
        "-M",
        "--numstat",
        &format,
        &format!("{first}^!"),
        &format!("{first}..HEAD"),
    ])?;
    Ok(log.split(RECORD).filter_map(parse).filter_map(|commit| problem(&commit)).collect())
}

/// Returns the commit that added a file; `None` if there is none yet, or the clone is too shallow to tell.
fn introduction(path: &str) -> Outcome<Option<String>> {
    if run::git(&["rev-parse", "--is-shallow-repository"])?.trim() == "true" {
        eprintln!("the clone is shallow: the history since `{path}` was added is not judged");
        return Ok(None);
    }
    let added = run::git(&["log", "--diff-filter=A", "--format=%H", "--", path])?;
    Ok(added.lines().last().map(String::from))
}

/// Parses one record of `git log`.
fn parse(record: &str) -> Option<Commit<'_>> {
    let mut parts = record.splitn(4, UNIT);
    let (id, subject, body) = (parts.next()?, parts.next()?, parts.next()?);
    let lines = parts.next()?.lines().filter_map(|line| {
        let mut columns = line.splitn(3, '\t');
        let (added, removed, path) = (columns.next()?, columns.next()?, columns.next()?);
        let counted = !words::is_exempt(path) && !path.ends_with(".lock") && !path.ends_with(".golden");
        // Git prints `-` for binary files.
        counted.then(|| added.parse().unwrap_or(0) + removed.parse().unwrap_or(0))
    });
    Some(Commit { id, subject, body, lines: lines.sum() })
}

fn problem(commit: &Commit<'_>) -> Option<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_trailer =
        |line: &&str| line.split_once(": ").is_some_and(|(name, _)| name.chars().all(is_of_name));
    let prose: usize =
        commit.body.lines().filter(|line| !is_trailer(line)).map(|line| line.trim().chars().count()).sum();
    (commit.lines > MAX_LINES_WITHOUT_BODY && prose < MIN_BODY).then(|| {
        format!(
            "commit {:.10} \"{}\" changes {} lines, and its body does not say why: the reason, what was measured, what was tried and rejected",
            commit.id, commit.subject, commit.lines
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_commit_needs_a_body() {
        let why = "Readers were blocked for 3 s by a scan; a snapshot is taken first now.";
        for (case, body, files, is_refused) in [
            ("small", "", "10\t20\tserver/src/a.rs", false),
            ("large", "", "10\t21\tserver/src/a.rs", true),
            ("large, in several files", "", "16\t0\ta.rs\n0\t16\tb.rs", true),
            ("large, and says why", why, "900\t0\tserver/src/a.rs", false),
            (
                "large, and says why from a name on",
                &format!("`a: 3` was wrong. {why}"),
                "900\t0\ta.rs",
                false,
            ),
            (
                "large, with a trailer alone",
                "Co-authored-by: A Person of Some Very Long Name <person@example.com>",
                "900\t0\ta.rs",
                true,
            ),
            ("generated", "", "9000\t0\tschemas/src/generated/mcb.rs\n3\t3\tCargo.lock", false),
            ("binary", "", "-\t-\ta.png", false),
        ] {
            let record = format!("0123456789abcdef{UNIT}area: subject{UNIT}{body}{UNIT}\n\n{files}\n");
            let commit = parse(&record).unwrap();
            assert_eq!(problem(&commit).is_some(), is_refused, "{case}");
        }
    }
}
