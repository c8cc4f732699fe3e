//! Clients read a document through the server while others overwrite it.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::EffectKind;

use crate::{
    check::{Bench, Case},
    checks::atomic::torn::{lines, torn},
    client::Client,
    judgement::{Judgement, Stop, ensure, fail},
    reply::Reply,
    request::{Call, With},
    semantics::content_read,
};

pub(super) const DOCUMENT: &str = "notes/read.md";

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ReaderCase {
    overwrites: usize,
    bytes: usize,
    /// Whether the reader has the writer's server, or another process.
    same_server: bool,
}

impl ReaderCase {
    fn case(self) -> Case {
        let Self {
            overwrites,
            bytes,
            same_server,
        } = self;
        let of = if same_server {
            "the same server"
        } else {
            "another server"
        };
        Case::new(
            format!("{overwrites} times {bytes} bytes, read through {of}"),
            self,
        )
    }
}

pub(super) fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (overwrites, bytes) = (20, 100_000);
    let case = |same_server| {
        ReaderCase {
            overwrites,
            bytes,
            same_server,
        }
        .case()
    };
    Ok([true, false].map(case).to_vec())
}

/// Fewer overwrites.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    let Ok(reading) = case.read::<ReaderCase>() else {
        return Vec::new();
    };
    let fewer = [1, 2, 5, 10]
        .into_iter()
        .filter(|fewer| *fewer < reading.overwrites);
    fewer
        .map(|overwrites| {
            ReaderCase {
                overwrites,
                ..reading
            }
            .case()
        })
        .collect()
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let reading: ReaderCase = case.read()?;
    let texts = ["one", "two"].map(|of| lines(of, reading.bytes));
    let request = |kind, content| {
        let with = With {
            path: DOCUMENT,
            content,
            target: "",
        };
        let call = bench.subject.request(kind, with);
        call.ok_or_else(|| Stop::NotApplicable("the server can't both read and overwrite".into()))
    };
    let read = request(EffectKind::Read, "")?;
    let write: Result<Vec<_>, _> = texts
        .iter()
        .map(|text| request(EffectKind::Write, text))
        .collect();
    let write = write?;
    let scene = bench.scene(&[(DOCUMENT, &texts[0])])?;
    let mut writer = scene.start()?;
    if reading.same_server {
        return judge_mixed(bench, &mut writer, &read, &write, reading.overwrites, &texts);
    }
    let mut reader = scene.start()?;
    let over = AtomicBool::new(false);
    let read_on = || -> Judgement {
        while !over.load(Ordering::Relaxed) {
            let reply = reader.make(&read)?;
            ensure_whole(&read, &reply, &texts)?;
        }
        Ok(())
    };
    let (written, read) = thread::scope(|scope| {
        let reader = scope.spawn(read_on);
        let numbers = 1..=reading.overwrites;
        let written: Result<Vec<_>, _> = numbers.map(|number| writer.make(&write[number % 2])).collect();
        over.store(true, Ordering::Relaxed);
        (written, reader.join())
    });
    read.map_err(|_| Stop::Harness("the reader panicked".into()))??;
    ensure_some_done(&written?)
}

/// Reads and overwrites on their way at the same time, in one server.
fn judge_mixed(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    read: &Call,
    write: &[Call],
    overwrites: usize,
    texts: &[String],
) -> Judgement {
    let (mut sent, mut written) = (Vec::new(), Vec::new());
    for number in 1..=overwrites {
        for call in [&write[number % 2], read, read] {
            sent.push((client.post(call.tool, &call.arguments)?, call));
        }
    }
    while !sent.is_empty() {
        let message = client.target.receive()?;
        let Some(at) = sent.iter().position(|(id, _)| message["id"] == *id) else {
            continue;
        };
        let (_, call) = sent.swap_remove(at);
        let reply = bench.subject.adapter.reply(call.tool, &message);
        if std::ptr::eq(call, read) {
            ensure_whole(read, &reply, texts)?
        } else {
            written.push(reply)
        }
    }
    ensure_some_done(&written)
}

fn ensure_some_done(written: &[Reply]) -> Judgement {
    ensure(written.iter().any(|reply| reply.done().is_some()), || {
        "all overwriting was refused while the document was read".into()
    })
}

/// Fails unless all of one of the `texts` has been read.
pub(super) fn ensure_whole(read: &Call, reply: &Reply, texts: &[String]) -> Judgement {
    let done = match reply {
        Reply::Done(done) => done,
        Reply::Refused(refusal) => {
            return Err(fail(format!(
                "a document that is there could not be read while it was overwritten: {}",
                refusal.message
            )));
        }
    };
    let effect = read.tool.effect(&read.arguments);
    let effect = effect.ok_or_else(|| Stop::Harness("a reading without an effect".into()))?;
    let torn = torn(content_read(effect, &done.response)?.as_bytes(), texts);
    ensure(torn.is_none(), || {
        format!(
            "a document that was read while it was overwritten held {} instead of one of its two versions",
            torn.unwrap_or_default()
        )
    })
}
