//! What is read of a section and given back changes nothing.

use super::{
    editor::accepted,
    samples::{self, begin, held, sections},
};
use crate::{
    check::{Bench, Case, Check, Severity},
    judgement::{Judgement, ensure, fail},
    layout::DOCUMENT,
    reply::Reply,
};

pub(super) const CHECK: Check = Check {
    id: "outline/get-update",
    severity: Severity::Must,
    guarantees: &["get-update-identity"],
    states: "A section that is updated with what was read of it leaves the document as it was, byte for byte.",
    explains: "Each section of a table of documents (line endings of all kinds, no final newline, fences, front matter, odd \
               characters) is read and updated with exactly that. What was read must be the section's own text, without its \
               heading and the sections in it, and not a byte of the document may change.",
    cases: samples::cases,
    judge,
    shrink: samples::shrink,
};

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    samples::each(bench, case, |scene, editor, document| {
        let text = document.text();
        begin(scene, &text)?;
        let seen = sections(&text);
        for (entry, section) in editor.list()?.iter().zip(&seen).take(bench.pick(4, 100)) {
            let read = editor.read(&entry.id)?;
            let read = read.ok_or_else(|| fail(format!("the section {:?} can't be read", entry.heading)))?;
            ensure(
                read.heading == section.heading && seen[read.position.min(seen.len() - 1)] == *section,
                || {
                    format!(
                        "what is read is {:?} at {}, and was asked for is {:?}",
                        read.heading, read.position, section.heading
                    )
                },
            )?;
            let own = &text[section.own.clone()];
            ensure(bare(own) == bare(&read.content), || {
                format!(
                    "the text of {:?} is {own:?}, and {:?} was read",
                    section.heading, read.content
                )
            })?;
            let reply = editor.update(&entry.id, &read.content)?;
            if samples::may_refuse(document) && matches!(reply, Reply::Refused(_)) {
                continue;
            }
            accepted(&reply, "an update with what was read")?;
            let after = held(scene);
            if after != text {
                let what = format!(
                    "{:?} was updated with what was read of it, and is not what it was",
                    section.heading
                );
                return Err(fail(what).showing(DOCUMENT, Some(text.as_bytes()), Some(after.as_bytes())));
            }
        }
        Ok(())
    })
}

/// Without line endings before it, and blanks after it.
fn bare(text: &str) -> &str {
    text.trim_start_matches(['\r', '\n']).trim_end()
}
