//! A program reads a document from the disk while the server overwrites it.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::EffectKind;

use crate::{
    check::{Bench, Case},
    judgement::{Judgement, Stop, ensure, fail},
    reply::Reply,
    request::With,
};

const DOCUMENT: &str = "notes/large.md";

/// How often a document of which size is overwritten.
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

/// Fewer and smaller ones.
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

/// A text of one line again and again, that differs from every other such text in each line.
pub(in crate::checks) fn lines(of: &str, bytes: usize) -> String {
    let line = format!("This is version {of}, and every line of it says so.\n");
    let mut text = line.repeat(bytes.div_ceil(line.len()));
    text.insert_str(0, &format!("# {of}\n\n"));
    text
}

/// What is wrong with what was read of a document that is one of these texts.
pub(in crate::checks) fn torn(found: &[u8], texts: &[String]) -> Option<String> {
    if texts.iter().any(|text| text.as_bytes() == found) {
        return None;
    }
    if found.is_empty() {
        return Some("no byte".into());
    }
    let begins = texts.iter().any(|text| text.as_bytes().starts_with(found));
    let what = if begins {
        "the first"
    } else {
        "a mix of old and new,"
    };
    Some(format!("{what} {} bytes", found.len()))
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Overwrites { times, bytes } = case.read()?;
    let texts = ["one", "two"].map(|of| lines(of, bytes));
    let scene = bench.scene(&[(DOCUMENT, &texts[0])])?;
    let mut client = scene.start()?;
    let path = scene.path(DOCUMENT);
    let over = AtomicBool::new(false);
    let read_on = || -> (usize, Option<String>) {
        let mut reads = 0;
        while !over.load(Ordering::Relaxed) {
            reads += 1;
            let found = match fs::read(&path) {
                Ok(bytes) => torn(&bytes, &texts),
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
            if over.load(Ordering::Relaxed) {
                break;
            }
            let with = With {
                path: DOCUMENT,
                content: &texts[number % 2],
                target: "",
            };
            let call = bench.subject.request(EffectKind::Write, with);
            let call = call.ok_or_else(|| Stop::NotApplicable("the server has no tool to write".into()))?;
            match client.make(&call)? {
                Reply::Done(_) => {}
                Reply::Refused(refusal) if number == 1 => {
                    return Err(Stop::NotTestable(format!(
                        "the server takes no {bytes} bytes: {}",
                        refusal.message
                    )));
                }
                Reply::Refused(refusal) => {
                    return Err(fail(format!("a valid call was refused: {}", refusal.message)));
                }
            }
            let found = fs::read(&path).unwrap_or_default();
            ensure(found == texts[number % 2].as_bytes(), || {
                "the overwriting was acknowledged, and the document does not hold what was written".into()
            })?;
        }
        Ok(())
    };
    let (overwritten, read) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let read = read_on();
            over.store(true, Ordering::Relaxed);
            read
        });
        let overwritten = overwrite();
        over.store(true, Ordering::Relaxed);
        (overwritten, reader.join())
    });
    let (reads, torn) = read.map_err(|_| Stop::Harness("the reader panicked".into()))?;
    bench
        .trace
        .did(format!("a program reads the document {reads} times meanwhile"));
    if let Some(torn) = torn {
        return Err(fail(format!(
            "a program that read `{DOCUMENT}` while it was overwritten found {torn} instead of one of the two versions \
             of {bytes} bytes"
        )));
    }
    overwritten
}
