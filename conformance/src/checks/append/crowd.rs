//! Concurrent appends through several server processes.

use super::{
    Call,
    effect::{AppendEffect, appended_value},
};
use crate::{check::counted, checks::prelude::*, crowd::at_once, judgement::ensure_accepted, ledger};

pub(super) const CHECK: Check = Check {
    id: "append/all-arrive",
    guarantees: &["appends-all-arrive", "append-only", "one-entry-per-line", "commit-per-entry"],
    states: "Entries that several processes append at once all arrive, each once, whole and in the order of its \
             process.",
    explains: "Several servers for one library each make a series of appends, all at the same time, to one file or \
               to all of the contract's files. Afterwards the file must begin with its initial content and contain \
               each acknowledged entry exactly once, those of one process in order. There must be one commit for \
               each entry, and the repository must be intact.",
    cases,
    shrink,
    ..Check::must(judge)
};

/// Number of servers, and of appends through each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct AppendCrowd {
    /// The effect to use; all effects if `None`.
    #[serde(rename = "way")]
    effect: Option<AppendEffect>,
    servers: usize,
    #[serde(rename = "appendings")]
    appends: usize,
}

impl AppendCrowd {
    fn case(self, bench: &Bench<'_>) -> Result<Case, Stop> {
        let file = match self.effect {
            Some(effect) => effect.call_with_word(bench.subject, "x")?.path(),
            None => "all files".into(),
        };
        Ok(Case::new(self.name(&file), self))
    }

    fn name(self, file: &str) -> String {
        let (servers, appends) = (counted(self.servers, "server"), counted(self.appends, "append"));
        format!("{servers}, {appends} each: {file}")
    }
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (servers, appends) = bench.pick((3, 10), (6, 30));
    let effects = AppendEffect::all(bench.subject)?;
    let all = effects.into_iter().map(Some).chain([None]);
    all.map(|effect| {
        let crowd = AppendCrowd { effect, servers, appends };
        crowd.case(bench)
    })
    .collect()
}

/// Returns cases with fewer servers and appends, several times each because the failure depends on timing.
fn shrink(case: &Case) -> Vec<Case> {
    const ATTEMPTS: usize = 4;
    let Ok(crowd) = case.read::<AppendCrowd>() else {
        return Vec::new();
    };
    let smaller = [(2, 1), (1, 2), (3, 1), (2, 2), (2, 5), (3, 3)];
    let smaller =
        smaller.into_iter().filter(|(servers, appends)| servers * appends < crowd.servers * crowd.appends);
    let cases = smaller.map(|(servers, appends)| {
        let crowd = AppendCrowd { servers, appends, ..crowd };
        Case::new(crowd.name("smaller"), crowd)
    });
    cases.flat_map(|case| vec![case; ATTEMPTS]).collect()
}

/// Initial content of each file.
const INITIAL: &str = "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"event\":\"began\"}\n";

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let crowd: AppendCrowd = case.read()?;
    let effects = match crowd.effect {
        Some(effect) => vec![effect],
        None => AppendEffect::all(bench.subject)?,
    };
    let paths: Vec<_> = effects
        .iter()
        .map(|effect| Ok(effect.call_with_word(bench.subject, "x")?.path()))
        .collect::<Result<_, Stop>>()?;
    let documents: Vec<_> = paths.iter().map(|path| (path.as_str(), INITIAL)).collect();
    let scene = bench.scene(&documents)?;
    let before = scene.view()?.library;
    let calls_of = |server: usize| {
        let call = |number: usize| {
            let effect = effects[(server + number) % effects.len()];
            effect.call_with_word(bench.subject, &word(server, number))
        };
        (0..crowd.appends).map(call).collect::<Result<Vec<_>, Stop>>()
    };
    let mut clients = Vec::new();
    for server in 0..crowd.servers {
        clients.push((scene.start()?, calls_of(server)?));
    }
    let append = |(mut client, calls): (Client<'_>, Vec<_>)| -> Judgement {
        for call in &calls {
            ensure_accepted(&client.make(call)?, "one of many concurrent appends")?;
        }
        Ok(())
    };
    at_once(clients, append)?;

    for path in &paths {
        let found = scene.read(path).unwrap_or_default();
        let mut expected = Vec::new();
        for server in 0..crowd.servers {
            let calls = calls_of(server)?;
            let of_path = calls.iter().enumerate().filter(|(_, call)| call.path() == *path);
            expected.extend(of_path.map(|(number, call)| (server, number, appended_line(call))));
        }
        ensure_arrived(path, &found, &expected)?;
    }
    let after = scene.view()?.library;
    let (commits, calls) = (after.commits_since(&before).len(), crowd.servers * crowd.appends);
    if bench.subject.should_commit() {
        ensure(commits == calls, || {
            format!("{calls} appends were acknowledged, but {commits} commits were made")
        })?;
        ensure(after.status.is_empty(), || {
            format!("git finds changes that are not committed: {}", after.status)
        })?;
    }
    ledger::fsck(&scene.library()).map_err(|error| fail(format!("the repository is damaged: {error}")))
}

fn appended_line(call: &Call) -> String {
    match appended_value(call) {
        serde_json::Value::String(text) => text.trim_end().to_owned(),
        entry => entry.to_string(),
    }
}

/// Returns the word that identifies an entry.
fn word(server: usize, number: usize) -> String {
    format!("s{server}-e{number}")
}

/// Fails unless the file is its initial content followed by each expected line once, those of one server in order.
fn ensure_arrived(path: &str, found: &[u8], expected: &[(usize, usize, String)]) -> Judgement {
    let shown = |what: String| {
        Err(fail(format!("`{path}`: {what}")).showing(path, Some(INITIAL.as_bytes()), Some(found)))
    };
    let Some(added) = found.strip_prefix(INITIAL.as_bytes()) else {
        return shown("the file does not begin with its initial content".into());
    };
    let added = String::from_utf8_lossy(added);
    let lines: Vec<_> = added.lines().collect();
    let position = |line: &String| lines.iter().position(|it| it == line);
    for (server, number, line) in expected {
        let times = lines.iter().filter(|it| *it == line).count();
        if times != 1 {
            let what = word(*server, *number);
            return shown(format!("{what} was acknowledged, but occurs {times} times"));
        }
        let later = expected.iter().find(|(of, other, _)| of == server && other > number);
        if let Some((_, other, later)) = later
            && position(later) < position(line)
        {
            let what = (word(*server, *number), word(*server, *other));
            return shown(format!("{} precedes {}, which its process appended earlier", what.1, what.0));
        }
    }
    if lines.len() != expected.len() {
        return shown(format!(
            "{} lines were added, but {} appends were acknowledged",
            lines.len(),
            expected.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_duplicate_mixed_and_misordered_lines_are_detected() {
        let expected = [(0, 0, "a".into()), (0, 1, "b".into()), (1, 0, "c".into())];
        let judged =
            |lines: &str| ensure_arrived("x", format!("{INITIAL}{lines}").as_bytes(), &expected).is_ok();
        assert!(judged("a\nb\nc\n") && judged("c\na\nb\n") && judged("a\nc\nb\n"));
        for wrong in ["a\nb\n", "a\nb\nc\nc\n", "a\nbc\n", "b\na\nc\n", "a\nb\nc\nd\n", ""] {
            assert!(!judged(wrong), "{wrong:?}");
        }
        assert!(ensure_arrived("x", b"a\nb\nc\n", &expected).is_err());
    }
}
