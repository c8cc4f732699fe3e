//! Checks of the end of standard input.

use super::calls::{DOCUMENTS, lines_only};
use crate::{WireError, checks::prelude::*, ledger};

pub(super) const EXIT: Check = Check {
    id: "wire/exit-on-eof",
    guarantees: &[],
    states: "The server exits when its standard input is closed.",
    explains: "Clients stop a server by closing its input. A server that keeps running keeps its memory and locks; \
               some have left hundreds of processes behind. Closes the input before and after the first request, and \
               with calls in flight.",
    cases: |_| {
        let moments = [EndOfInput::BeforeAnything, EndOfInput::AtRest, EndOfInput::InFlight(8)];
        Ok(moments.into_iter().map(|moment| Case::new(format!("{moment:?}"), moment)).collect())
    },
    ..Check::should(judge_exits)
};

pub(super) const IN_FLIGHT: Check = Check {
    id: "wire/eof-in-flight",
    guarantees: &["no-partial-application"],
    states: "If standard input closes with calls in flight, each is done completely or not at all, and \
            done if it was answered.",
    explains: "Writes several documents without waiting for answers, and closes standard input at once. A write that \
               was answered with success must be on the disk; any other write must be complete or absent. `git fsck` \
               must find no error and, if mutations make commits, `git status` no uncommitted change.",
    cases: |bench| {
        let counts: &[usize] = bench.pick(&[1, 8], &[1, 2, 8, 40]);
        let case = |writes: &usize| Case::new(format!("{writes} in flight"), EndOfInput::InFlight(*writes));
        Ok(counts.iter().map(case).collect())
    },
    ..Check::must(judge_in_flight)
};

/// The moment at which standard input is closed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EndOfInput {
    BeforeAnything,
    AtRest,
    /// After sending this number of writes, without reading an answer.
    InFlight(usize),
}

fn judge_exits(bench: &Bench<'_>, case: &Case) -> Judgement {
    lines_only(bench)?;
    let scene = bench.scene(DOCUMENTS)?;
    let mut talk = Talk::begin(bench.subject, &scene)?;
    match case.read()? {
        EndOfInput::BeforeAnything => {}
        EndOfInput::AtRest => {
            talk.greet()?;
            talk.settle(0)?;
        }
        EndOfInput::InFlight(writes) => {
            talk.greet()?;
            for number in 0..writes {
                write(bench, &scene, &mut talk, number)?;
            }
        }
    }
    match talk.target.close() {
        Ok(_) => Ok(()),
        Err(WireError::Silent(timeout)) => {
            let seconds = timeout.as_secs();
            Err(fail(format!("the server still runs {seconds} s after its input was closed")))
        }
        Err(other) => Err(other.into()),
    }
}

fn judge_in_flight(bench: &Bench<'_>, case: &Case) -> Judgement {
    let EndOfInput::InFlight(writes) = case.read()? else {
        return Ok(());
    };
    lines_only(bench)?;
    let scene = bench.scene(DOCUMENTS)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let since = talk.heard.len();
    for number in 0..writes {
        write(bench, &scene, &mut talk, number)?;
    }
    talk.target.hang_up();
    loop {
        match talk.target.receive() {
            Ok(message) => talk.heard.push(message),
            // `wire/exit-on-eof` judges a server that keeps running.
            Err(WireError::Closed | WireError::Silent(_)) => break,
            Err(other) => return Err(other.into()),
        }
    }
    // The server must have stopped writing before the disk is judged.
    let _ = talk.target.close();
    let messages = &talk.heard[since..];
    for number in 0..writes {
        let (path, content) = document(bench, number);
        let found = scene.read(&path);
        ensure(found.as_ref().is_none_or(|found| found == content.as_bytes()), || {
            format!("`{path}` was written in part")
        })
        .map_err(|stop| stop.showing(&path, Some(content.as_bytes()), found.as_deref()))?;
        let answer = messages.iter().find(|message| message["id"] == json!(number));
        let succeeded = answer.is_some_and(|answer| Refusal::from_message(answer).is_none());
        ensure(!succeeded || found.is_some(), || {
            format!("the write of `{path}` was answered with success, but the document is missing")
        })?;
    }
    ledger::fsck(&scene.library()).map_err(|error| fail(error.to_string()))?;
    let commits = bench.subject.should_commit();
    let status = scene.view()?.library.status;
    ensure(!commits || status.is_empty(), || format!("`git status` lists uncommitted changes: {status}"))
}

fn document(bench: &Bench<'_>, number: usize) -> (String, String) {
    let path = bench.subject.place(EffectKind::Write, &format!("notes/{number}.md"));
    (path, format!("# {number}\n\n{}", "Some text.\n".repeat(2_000)))
}

fn write(
    bench: &Bench<'_>,
    scene: &crate::scene::Scene<'_>,
    talk: &mut Talk<'_>,
    number: usize,
) -> Result<(), Stop> {
    let (path, content) = document(bench, number);
    let with = With { path: &path, content: &content, ..With::default() };
    let call = bench.subject.request(EffectKind::Write, with);
    let call = call.ok_or_else(|| not_applicable("the server has no tool that writes a document"))?;
    let params = talk.params(scene, call.tool, &call.arguments)?;
    let id: Value = json!(number);
    talk.post(&id, "tools/call", params)
}
