//! Clients read a document through a server while others overwrite it.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::{
    checks::{
        atomic::torn::{describe_torn_read, version_text},
        prelude::*,
    },
    judgement::{Cause, NotShown},
    semantics::content_read,
};

/// Path of the document that is read.
pub(super) const DOCUMENT: &str = "notes/read.md";

/// A reader and a writer of the same document.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ReaderCase {
    overwrites: usize,
    /// Size of the document.
    bytes: usize,
    /// True if reader and writer use the same server process.
    same_server: bool,
}

impl ReaderCase {
    fn case(self) -> Case {
        let Self { overwrites, bytes, same_server } = self;
        let of = if same_server { "the same server" } else { "another server" };
        Case::new(format!("{overwrites} times {bytes} bytes, read through {of}"), self)
    }
}

pub(super) fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let (overwrites, bytes) = (20, 100_000);
    let case = |same_server| ReaderCase { overwrites, bytes, same_server }.case();
    Ok([true, false].map(case).to_vec())
}

/// Returns cases with fewer overwrites.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    let Ok(parameters) = case.read::<ReaderCase>() else {
        return Vec::new();
    };
    let fewer = [1, 2, 5, 10].into_iter().filter(|fewer| *fewer < parameters.overwrites);
    fewer.map(|overwrites| ReaderCase { overwrites, ..parameters }.case()).collect()
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let parameters: ReaderCase = case.read()?;
    let texts = ["one", "two"].map(|name| version_text(name, parameters.bytes));
    let path = bench.subject.place(EffectKind::Write, DOCUMENT);
    let request = |kind, content| {
        let with = With { path: &path, content, target: "" };
        let call = bench.subject.request(kind, with);
        call.ok_or_else(|| not_applicable("the server can't both read and overwrite"))
    };
    let read = request(EffectKind::Read, "")?;
    let write: Result<Vec<_>, _> = texts.iter().map(|text| request(EffectKind::Write, text)).collect();
    let write = write?;
    let scene = bench.scene(&[(&path, &texts[0])])?;
    let mut writer = scene.start()?;
    ensure_reads_whole(&mut writer, &read, &texts[0])?;
    if parameters.same_server {
        return judge_same_server(bench, &mut writer, &read, &write, parameters.overwrites, &texts);
    }
    let mut reader = scene.start()?;
    let stop = AtomicBool::new(false);
    let read_repeatedly = || -> Judgement {
        while !stop.load(Ordering::Relaxed) {
            let reply = reader.make(&read)?;
            ensure_whole(&read, &reply, &texts)?;
        }
        Ok(())
    };
    let (written, read) = thread::scope(|scope| {
        let reader = scope.spawn(read_repeatedly);
        let numbers = 1..=parameters.overwrites;
        let written: Result<Vec<_>, _> = numbers.map(|number| writer.make(&write[number % 2])).collect();
        stop.store(true, Ordering::Relaxed);
        (written, reader.join())
    });
    read.map_err(|_| Stop::Harness("the reader panicked".into()))??;
    ensure_some_done(&written?)
}

/// Judges reads and writes that are in flight to one server at the same time.
fn judge_same_server(
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
        let message = client.receive()?;
        let Some(at) = sent.iter().position(|(id, _)| message["id"] == *id) else {
            continue;
        };
        let (_, call) = sent.swap_remove(at);
        let message = client.finish(call.tool, &call.arguments, message)?;
        let reply = bench.subject.adapter.reply(call.tool, &message);
        if std::ptr::eq(call, read) { ensure_whole(read, &reply, texts)? } else { written.push(reply) }
    }
    ensure_some_done(&written)
}

/// Ends the case if all writes were refused.
fn ensure_some_done(written: &[Reply]) -> Judgement {
    match written.last() {
        Some(Reply::Refused(refusal)) if written.iter().all(|reply| reply.done().is_none()) => {
            Err(refused("each write while the document was read", refusal))
        }
        _ => Ok(()),
    }
}

/// Ends the case unless a document of this length is returned whole while it does not change: a part of it, as servers
/// return that read in pages, is then no torn read.
///
/// # Errors
/// If only a part of it is returned.
pub(super) fn ensure_reads_whole(client: &mut Client<'_>, read: &Call, text: &str) -> Judgement {
    let reply = client.make(read)?;
    let (Some(done), Some(effect)) = (reply.done(), read.tool.effect(&read.arguments)) else {
        return Ok(());
    };
    let found = content_read(effect, &done.response)?;
    if found == text {
        return Ok(());
    }
    Err(Stop::NotShown(Box::new(NotShown {
        why: format!(
            "a document of {} bytes that does not change is read as {} bytes",
            text.len(),
            found.len()
        ),
        cause: Some(Cause::PartialRead),
    })))
}

/// Fails unless the read returned exactly one of the `texts`.
///
/// # Errors
/// If the read was refused, or returned a torn document.
pub(super) fn ensure_whole(read: &Call, reply: &Reply, texts: &[String]) -> Judgement {
    let done = match reply {
        Reply::Done(done) => done,
        Reply::Refused(refusal) => {
            return Err(refused("the reading of an existing document while it was overwritten", refusal));
        }
    };
    let effect = read.tool.effect(&read.arguments);
    let effect = effect.ok_or_else(|| Stop::Harness("a read without an effect".into()))?;
    let torn = describe_torn_read(content_read(effect, &done.response)?.as_bytes(), texts);
    ensure_none(torn, |torn| {
        format!(
            "a read of a document while it was overwritten returned {torn} instead of one of its two versions"
        )
    })
}
