//! Checks that updating a section with its own content changes nothing.

use super::samples::{self, commit_document, document_text, sections};
use crate::{checks::prelude::*, judgement::ensure_accepted, layout::DOCUMENT};

pub(super) const CHECK: Check = Check {
    id: "outline/get-update",
    guarantees: &["get-update-identity"],
    states: "Updating a section with the content that was read leaves the document unchanged, byte for \
            byte.",
    explains: "Reads each section of a table of documents (line endings of all kinds, no final newline, fences, front \
               matter, unusual characters) and updates it with the content that was read. The content must be the \
               section's own text, without its heading and nested sections, and no byte of the document may change.",
    cases: samples::cases,
    shrink: samples::shrink,
    ..Check::must(judge)
};

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    samples::for_each_document(bench, case, |scene, editor, document| {
        let text = document.text();
        commit_document(scene, &text)?;
        let parsed = sections(&text)?;
        for (entry, section) in editor.list()?.iter().zip(&parsed).take(bench.pick(4, 100)) {
            let read = editor.read(&entry.id)?;
            let read = read.ok_or_else(|| fail(format!("the section {:?} can't be read", entry.heading)))?;
            ensure(
                read.heading == section.heading && parsed[read.position.min(parsed.len() - 1)] == *section,
                || {
                    format!(
                        "the response has section {:?} at {} instead of {:?}",
                        read.heading, read.position, section.heading
                    )
                },
            )?;
            let own = &text[section.own.clone()];
            ensure(trimmed(own) == trimmed(&read.content), || {
                format!("the content of {:?} is {:?} instead of {own:?}", section.heading, read.content)
            })?;
            let reply = editor.update(&entry.id, &read.content)?;
            if samples::may_refuse(document) && matches!(reply, Reply::Refused(_)) {
                continue;
            }
            ensure_accepted(&reply, "an update with the content that was read")?;
            let after = document_text(scene);
            if after != text {
                let what =
                    format!("an update of {:?} with its own content changed the document", section.heading);
                return Err(fail(what).showing(DOCUMENT, Some(text.as_bytes()), Some(after.as_bytes())));
            }
        }
        Ok(())
    })
}

/// Trims line endings at the start and whitespace at the end.
fn trimmed(text: &str) -> &str {
    text.trim_start_matches(['\r', '\n']).trim_end()
}
