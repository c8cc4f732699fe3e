//! The end of standard input.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::spec::EffectKind;

use super::{DOCUMENTS, lines_only};
use crate::{
    WireError,
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    judgement::{Judgement, Stop, ensure, fail},
    ledger,
    reply::Refusal,
    request::With,
    talk::Talk,
};

pub(super) const EXIT: Check = Check {
    id: "wire/exit-on-eof",
    severity: Severity::Should,
    guarantees: &[],
    states: "The server exits when its standard input is closed.",
    explains: "Clients end a server by closing its input. One that stays keeps its memory and its locks; some have left \
               hundreds of processes behind. It is tried before and after the first request, and with calls in flight.",
    cases: |_| {
        let moments = [Moment::BeforeAnything, Moment::AtRest, Moment::InFlight(8)];
        Ok(moments
            .into_iter()
            .map(|moment| Case::new(format!("{moment:?}"), moment))
            .collect())
    },
    judge: exits,
    shrink: as_small_as_can_be,
};

pub(super) const IN_FLIGHT: Check = Check {
    id: "wire/eof-in-flight",
    severity: Severity::Must,
    guarantees: &["no-partial-application"],
    states: "When standard input is closed with calls in flight, each is done in whole or not at all, and done if it was answered.",
    explains: "Several documents are written in one go, without waiting, and standard input is closed at once. What was \
               answered with success must be on the disk; what was not must be there in whole or not at all; and git must \
               find the repository sound and, where a mutation makes a commit, nothing left uncommitted.",
    cases: |bench| {
        let counts: &[usize] = bench.pick(&[1, 8], &[1, 2, 8, 40]);
        let case = |writes: &usize| Case::new(format!("{writes} in flight"), Moment::InFlight(*writes));
        Ok(counts.iter().map(case).collect())
    },
    judge: in_flight,
    shrink: as_small_as_can_be,
};

/// When standard input is closed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Moment {
    BeforeAnything,
    AtRest,
    /// After so many writes have been sent, and none answered.
    InFlight(usize),
}

fn exits(bench: &Bench<'_>, case: &Case) -> Judgement {
    lines_only(bench)?;
    let scene = bench.scene(DOCUMENTS)?;
    let mut talk = Talk::begin(bench.subject, &scene)?;
    match case.read()? {
        Moment::BeforeAnything => {}
        Moment::AtRest => {
            talk.greet()?;
            talk.settle(0)?;
        }
        Moment::InFlight(writes) => {
            talk.greet()?;
            for number in 0..writes {
                write(bench, &scene, &mut talk, number)?;
            }
        }
    }
    match talk.target.close() {
        Ok(_) => Ok(()),
        Err(WireError::Silent(patience)) => {
            let patience = patience.as_secs();
            Err(fail(format!(
                "{patience} s after its input was closed the server still runs"
            )))
        }
        Err(other) => Err(other.into()),
    }
}

fn in_flight(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Moment::InFlight(writes) = case.read()? else {
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
            // One that stays, or ends badly, is judged by what it leaves behind.
            Err(WireError::Closed | WireError::Silent(_)) => break,
            Err(other) => return Err(other.into()),
        }
    }
    // Whatever still writes must have ended before the disk is looked at.
    let _ = talk.target.close();
    let said = &talk.heard[since..];
    for number in 0..writes {
        let (path, content) = document(number);
        let found = scene.read(&path);
        ensure(
            found.as_ref().is_none_or(|found| found == content.as_bytes()),
            || format!("`{path}` was written in part"),
        )
        .map_err(|stop| stop.showing(&path, Some(content.as_bytes()), found.as_deref()))?;
        let answer = said.iter().find(|said| said["id"] == json!(number));
        let succeeded = answer.is_some_and(|answer| Refusal::of(answer).is_none());
        ensure(!succeeded || found.is_some(), || {
            format!("the write of `{path}` was answered with success, and the document is not there")
        })?;
    }
    ledger::fsck(&scene.library()).map_err(|error| fail(error.to_string()))?;
    let commits = bench.subject.should_commit();
    let status = scene.view()?.library.status;
    ensure(!commits || status.is_empty(), || {
        format!("git finds changes that are not committed: {status}")
    })
}

fn document(number: usize) -> (String, String) {
    (
        format!("notes/{number}.md"),
        format!("# {number}\n\n{}", "Some text.\n".repeat(2_000)),
    )
}

fn write(
    bench: &Bench<'_>,
    scene: &crate::scene::Scene<'_>,
    talk: &mut Talk<'_>,
    number: usize,
) -> Result<(), Stop> {
    let (path, content) = document(number);
    let with = With {
        path: &path,
        content: &content,
        ..With::default()
    };
    let call = bench.subject.request(EffectKind::Write, with);
    let call =
        call.ok_or_else(|| Stop::NotApplicable("the server has no tool that writes a document".into()))?;
    let params = talk.params(scene, call.tool, &call.arguments)?;
    let id: Value = json!(number);
    talk.post(&id, "tools/call", params)
}
