//! Torn reads: a program reads a document's file while the server overwrites it.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::checks::prelude::*;

const DOCUMENT: &str = "notes/large.md";

/// Number of overwrites, and the document's size.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Overwrites {
    times: usize,
    bytes: usize,
}

impl Overwrites {
    fn case(self) -> Case {
        Case::new(format!("{} times {} bytes", self.times, self.bytes), self)
    }
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let times = bench.pick(15, 40);
    let bytes = 1 << 20;
    Ok(vec![Overwrites { times, bytes }.case()])
}

/// Returns cases with fewer overwrites, and with smaller documents.
pub(super) fn shrink(case: &Case) -> Vec<Case> {
    let Ok(Overwrites { times, bytes }) = case.read() else {
        return Vec::new();
    };
    let fewer = [1, 2, 5, 10, 20].into_iter().filter(|fewer| *fewer < times);
    let fewer = fewer.map(|times| Overwrites { times, bytes });
    let smaller = [1 << 12, 1 << 16].into_iter().filter(|smaller| *smaller < bytes);
    let smaller = smaller.map(|bytes| Overwrites { times, bytes });
    fewer.chain(smaller).map(Overwrites::case).collect()
}

/// Returns a text of about `bytes` bytes in which every line contains the version's name.
pub(in crate::checks) fn version_text(name: &str, bytes: usize) -> String {
    let line = format!("This is a line of version {name} of the document.\n");
    let mut text = line.repeat(bytes.div_ceil(line.len()));
    text.insert_str(0, &format!("# {name}\n\n"));
    text
}

/// Describes the read content if it equals none of the versions.
pub(in crate::checks) fn describe_torn_read(found: &[u8], texts: &[String]) -> Option<String> {
    if texts.iter().any(|text| text.as_bytes() == found) {
        return None;
    }
    if found.is_empty() {
        return Some("no bytes".into());
    }
    let begins = texts.iter().any(|text| text.as_bytes().starts_with(found));
    let what = if begins { "the first" } else { "a mix of old and new," };
    Some(format!("{what} {} bytes", found.len()))
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Overwrites { times, bytes } = case.read()?;
    let texts = ["one", "two"].map(|name| version_text(name, bytes));
    let document = &*bench.subject.place(EffectKind::Write, DOCUMENT);
    let scene = bench.scene(&[(document, &texts[0])])?;
    let mut client = scene.start()?;
    let path = scene.path(document);
    let stop = AtomicBool::new(false);
    let read_repeatedly = || -> (usize, Option<String>) {
        let mut reads = 0;
        while !stop.load(Ordering::Relaxed) {
            reads += 1;
            let found = match fs::read(&path) {
                Ok(bytes) => describe_torn_read(&bytes, &texts),
                Err(error) => Some(format!("none ({error})")),
            };
            if found.is_some() {
                return (reads, found);
            }
        }
        (reads, None)
    };
    let mut overwrite = || -> Judgement {
        for number in 1..=times {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let with = With { path: document, content: &texts[number % 2], target: "" };
            let call = bench.subject.request(EffectKind::Write, with);
            let call = call.ok_or_else(|| not_applicable("the server has no tool that writes"))?;
            client.make(&call)?.must(format!("a write of {bytes} bytes"))?;
            let found = fs::read(&path).unwrap_or_default();
            ensure(found == texts[number % 2].as_bytes(), || {
                "the write was acknowledged, but the document does not contain what was written".into()
            })?;
        }
        Ok(())
    };
    let (overwritten, read) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let read = read_repeatedly();
            stop.store(true, Ordering::Relaxed);
            read
        });
        let overwritten = overwrite();
        stop.store(true, Ordering::Relaxed);
        (overwritten, reader.join())
    });
    let (reads, torn) = read.map_err(|_| Stop::Harness("the reader panicked".into()))?;
    bench.trace.did(format!("a program reads the document {reads} times meanwhile"));
    ensure_none(torn, |torn| {
        format!(
            "a program that read `{document}` while it was overwritten found {torn} instead of one of the two versions \
             of {bytes} bytes"
        )
    })?;
    overwritten
}
