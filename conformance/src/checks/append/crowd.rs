//! Many who append at the same time, each to its own server process.

use std::{sync::Barrier, thread};

use serde::{Deserialize, Serialize};

use super::{Way, accepted, added};
use crate::{
    check::{Bench, Case, Check, Severity},
    client::Client,
    judgement::{Judgement, Stop, ensure, fail},
    ledger,
};

pub(super) const CHECK: Check = Check {
    id: "append/all-arrive",
    severity: Severity::Must,
    guarantees: &[
        "appends-all-arrive",
        "append-only",
        "one-entry-per-line",
        "commit-per-entry",
    ],
    states: "What several processes append at the same time all arrives, each once, whole and in the order of its process.",
    explains: "Several servers over one library are each asked for appendings one after the other, all at the same time, to \
               one file or to all of the contract's. Afterwards each acknowledged entry must be in its file exactly once; \
               what was there at first is what the file begins with; those of one process stand in their order; there is one \
               commit for each, and the repository is sound.",
    cases,
    judge,
    shrink,
};

/// So many servers, so many appendings each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Crowd {
    /// The only file; all of them, if not given.
    way: Option<Way>,
    servers: usize,
    appendings: usize,
}

impl Crowd {
    fn case(self, bench: &Bench<'_>) -> Result<Case, Stop> {
        let file = match self.way {
            Some(way) => way.call_of(bench.subject, "x")?.path(),
            None => "all files".into(),
        };
        Ok(Case::new(self.name(&file), self))
    }

    fn name(self, file: &str) -> String {
        format!(
            "{} servers, {} appendings each: {file}",
            self.servers, self.appendings
        )
    }
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (servers, appendings) = bench.pick((3, 10), (6, 30));
    let ways = Way::all(bench.subject)?;
    let all = ways.into_iter().map(Some).chain([None]);
    all.map(|way| {
        let crowd = Crowd {
            way,
            servers,
            appendings,
        };
        crowd.case(bench)
    })
    .collect()
}

/// Fewer servers and fewer appendings. Chance has a say in what fails, so each is tried a few times.
fn shrink(case: &Case) -> Vec<Case> {
    const ATTEMPTS: usize = 4;
    let Ok(crowd) = case.read::<Crowd>() else {
        return Vec::new();
    };
    let smaller = [(2, 1), (1, 2), (3, 1), (2, 2), (2, 5), (3, 3)];
    let smaller = smaller
        .into_iter()
        .filter(|(servers, appendings)| servers * appendings < crowd.servers * crowd.appendings);
    let cases = smaller.map(|(servers, appendings)| {
        let crowd = Crowd {
            servers,
            appendings,
            ..crowd
        };
        Case::new(crowd.name("smaller"), crowd)
    });
    cases.flat_map(|case| vec![case; ATTEMPTS]).collect()
}

const HELD: &str = "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"event\":\"began\"}\n";

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let crowd: Crowd = case.read()?;
    let ways = match crowd.way {
        Some(way) => vec![way],
        None => Way::all(bench.subject)?,
    };
    let paths: Vec<_> = ways
        .iter()
        .map(|way| Ok(way.call_of(bench.subject, "x")?.path()))
        .collect::<Result<_, Stop>>()?;
    let documents: Vec<_> = paths.iter().map(|path| (path.as_str(), HELD)).collect();
    let scene = bench.scene(&documents)?;
    let before = scene.view()?.library;
    let calls_of = |server: usize| {
        let call = |number: usize| {
            let way = ways[(server + number) % ways.len()];
            way.call_of(bench.subject, &word(server, number))
        };
        (0..crowd.appendings).map(call).collect::<Result<Vec<_>, Stop>>()
    };
    let mut clients = Vec::new();
    for server in 0..crowd.servers {
        clients.push((scene.start()?, calls_of(server)?));
    }
    let barrier = Barrier::new(clients.len());
    let append = |(mut client, calls): (Client<'_>, Vec<_>)| -> Judgement {
        barrier.wait();
        for call in &calls {
            accepted(&client.make(call)?, "one of many appendings")?;
        }
        Ok(())
    };
    let made: Vec<Judgement> = thread::scope(|scope| {
        let all: Vec<_> = clients
            .into_iter()
            .map(|each| scope.spawn(|| append(each)))
            .collect();
        all.into_iter()
            .map(|each| {
                each.join()
                    .unwrap_or_else(|_| Err(Stop::Harness("a client panicked".into())))
            })
            .collect()
    });
    made.into_iter().collect::<Judgement>()?;

    for path in &paths {
        let found = scene.read(path).unwrap_or_default();
        let mut expected = Vec::new();
        for server in 0..crowd.servers {
            for (number, call) in calls_of(server)?.iter().enumerate() {
                if call.path() == *path {
                    let line = match added(call) {
                        serde_json::Value::String(text) => text.trim_end().to_owned(),
                        entry => entry.to_string(),
                    };
                    expected.push((server, number, line));
                }
            }
        }
        ensure_arrived(path, &found, &expected)?;
    }
    let after = scene.view()?.library;
    let (commits, calls) = (
        after.commits_since(&before).len(),
        crowd.servers * crowd.appendings,
    );
    if bench.subject.should_commit() {
        ensure(commits == calls, || {
            format!("{calls} appendings were acknowledged, and {commits} commits made")
        })?;
        ensure(after.status.is_empty(), || {
            format!("git finds changes that are not committed: {}", after.status)
        })?;
    }
    ledger::fsck(&scene.library()).map_err(|error| fail(format!("the repository is damaged: {error}")))
}

fn word(server: usize, number: usize) -> String {
    format!("s{server}-e{number}")
}

/// Fails unless the file begins as it did, and then has each of these lines once, those of one server in order.
fn ensure_arrived(path: &str, found: &[u8], expected: &[(usize, usize, String)]) -> Judgement {
    let shown = |what: String| {
        Err(fail(format!("`{path}`: {what}")).showing(path, Some(HELD.as_bytes()), Some(found)))
    };
    let Some(came) = found.strip_prefix(HELD.as_bytes()) else {
        return shown("what was there at first is no longer what the file begins with".into());
    };
    let came = String::from_utf8_lossy(came);
    let lines: Vec<_> = came.lines().collect();
    let place = |line: &String| lines.iter().position(|it| it == line);
    for (server, number, line) in expected {
        let times = lines.iter().filter(|it| *it == line).count();
        if times != 1 {
            let what = word(*server, *number);
            return shown(format!("{what} was acknowledged, and is there {times} times"));
        }
        let later = expected
            .iter()
            .find(|(of, other, _)| of == server && other > number);
        if let Some((_, other, later)) = later
            && place(later) < place(line)
        {
            let what = (word(*server, *number), word(*server, *other));
            return shown(format!(
                "{} stands before {}, which its process appended earlier",
                what.1, what.0
            ));
        }
    }
    if lines.len() != expected.len() {
        return shown(format!(
            "{} lines came, of which {} were appended",
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
    fn what_is_lost_doubled_mixed_or_out_of_order_shows() {
        let expected = [(0, 0, "a".into()), (0, 1, "b".into()), (1, 0, "c".into())];
        let judged =
            |lines: &str| ensure_arrived("x", format!("{HELD}{lines}").as_bytes(), &expected).is_ok();
        assert!(judged("a\nb\nc\n") && judged("c\na\nb\n") && judged("a\nc\nb\n"));
        for wrong in [
            "a\nb\n",
            "a\nb\nc\nc\n",
            "a\nbc\n",
            "b\na\nc\n",
            "a\nb\nc\nd\n",
            "",
        ] {
            assert!(!judged(wrong), "{wrong:?}");
        }
        assert!(ensure_arrived("x", b"a\nb\nc\n", &expected).is_err());
    }
}
