//! Checks that an edit of a section preserves every byte outside it.

use super::samples::{self, SectionView, commit_document, document_text, sections};
use crate::{checks::prelude::*, judgement::ensure_accepted, layout::DOCUMENT};

pub(super) const CHECK: Check = Check {
    id: "outline/inside",
    guarantees: &["edits-stay-inside"],
    states: "An edit of a section changes only that section: every other byte of the document is unchanged.",
    explains: "Updates, inserts, deletes and moves sections in a table of documents. The suite's own parser locates \
               the section. The bytes before and after it must be unchanged, with the new text between them; line \
               endings may be added around it. A moved section keeps all its bytes.",
    cases: samples::cases,
    shrink: samples::shrink,
    ..Check::must(judge)
};

const TEXTS: [&str; 4] = ["New text.\n", "- a\n- b", "", "été\n\n```\n# no heading\n```\n"];
/// Maximum number of bytes of line endings added or removed between parts of a document.
const MAX_ENDING_BYTES: usize = 8;

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    samples::for_each_document(bench, case, |scene, editor, document| {
        let text = document.text();
        let parsed = sections(&text)?;
        for (number, section) in parsed.iter().enumerate().take(bench.pick(2, 20)) {
            let new = TEXTS[number % TEXTS.len()];
            let last = parsed.len() - 1;
            let edits: [(&str, usize); 4] = [
                ("update", 0),
                ("insertion", 0),
                ("deletion", 0),
                ("move", if number == 0 { last } else { 0 }),
            ];
            for (kind, to) in edits {
                commit_document(scene, &text)?;
                let list = editor.list()?;
                let Some(entry) = list.get(number) else {
                    return Err(fail(format!("the section {:?} is not listed", section.heading)));
                };
                let reply = match kind {
                    "update" => editor.update(&entry.id, new)?,
                    "insertion" => editor.insert("New one", new, number)?,
                    "deletion" => editor.delete(&entry.id)?,
                    _ if to + section.size > parsed.len() => continue,
                    _ => editor.relocate(&entry.id, to)?,
                };
                if samples::may_refuse(document) && matches!(reply, Reply::Refused(_)) {
                    continue;
                }
                ensure_accepted(&reply, format!("{kind} of {:?}", section.heading))?;
                let after = document_text(scene);
                let wrong = match kind {
                    "update" => updated(&text, section, new, &after),
                    "insertion" => spliced(&text, &(section.start..section.start), &after, |inserted| {
                        inserted.contains("New one")
                            && inserted.contains(new.trim_end())
                            && inserted.len() <= "# New one".len() + 6 + new.len() + MAX_ENDING_BYTES
                    }),
                    "deletion" => without(&text, section, &after),
                    _ => moved(&text, section, &after),
                };
                if let Some(wrong) = wrong {
                    let what = format!("{kind} of {:?} in {}: {wrong}", section.heading, document.name);
                    return Err(failure(&text, &after, &what));
                }
            }
        }
        Ok(())
    })
}

fn failure(before: &str, after: &str, what: &str) -> Stop {
    fail(what).showing(DOCUMENT, Some(before.as_bytes()), Some(after.as_bytes()))
}

/// Returns an error unless `after` is `before` with the range `at` replaced by a text that `is_allowed` accepts.
fn spliced(
    before: &str,
    at: &std::ops::Range<usize>,
    after: &str,
    is_allowed: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let Some(rest) = after.strip_prefix(&before[..at.start]) else {
        return Some("the bytes before the section have changed");
    };
    let Some(inserted) = rest.strip_suffix(&before[at.end..]) else {
        return Some("the bytes after the section have changed");
    };
    (!is_allowed(inserted)).then_some("the document does not have the given text")
}

/// Returns an error unless `after` is `before` with `new` as the section's own text. Blanks around the text may remain.
fn updated(before: &str, section: &SectionView, new: &str, after: &str) -> Option<&'static str> {
    let old = &before[section.own.clone()];
    let blanks = old.len() - old.trim().len();
    spliced(before, &section.own, after, |inserted| {
        inserted.trim() == new.trim() && inserted.len() <= new.len() + blanks + MAX_ENDING_BYTES
    })
}

/// Returns an error unless `after` is `before` without the section.
fn without(before: &str, section: &SectionView, after: &str) -> Option<&'static str> {
    let (left, right) = (&before[..section.start], &before[section.end..]);
    let Some(rest) = after.strip_suffix(right) else {
        return Some("the bytes after the section have changed");
    };
    let is_prefix = rest.trim_end_matches(ENDINGS) == left.trim_end_matches(ENDINGS);
    let has_similar_length = rest.len().abs_diff(left.len()) <= MAX_ENDING_BYTES;
    (!is_prefix || !has_similar_length)
        .then_some("the bytes before the section have changed, or part of the section remains")
}

const ENDINGS: [char; 2] = ['\r', '\n'];

/// Returns an error unless `after` is `before` with the section at another position.
fn moved(before: &str, section: &SectionView, after: &str) -> Option<&'static str> {
    let own = before[section.start..section.end].trim_matches(ENDINGS);
    let Some(at) = after.find(own) else {
        return Some("the section's bytes have changed");
    };
    let without_endings = |text: &str| text.replace(ENDINGS, "");
    let others = [&before[..section.start], &before[section.end..]].concat();
    let rest = [&after[..at], &after[at + own.len()..]].concat();
    let has_similar_length = after.len().abs_diff(before.len()) <= MAX_ENDING_BYTES;
    (without_endings(&others) != without_endings(&rest) || !has_similar_length)
        .then_some("other sections have changed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_outside_the_section_are_errors() {
        let text = "# A\n\na\n\n# B\n\nb\n\n# C\n";
        let b = &sections(text).unwrap()[1];
        assert!(without(text, b, "# A\n\na\n\n# C\n").is_none());
        assert!(without(text, b, "# A\n\na\n# C\n").is_none());
        assert!(without(text, b, "# A\n\na\n\nb\n\n# C\n").is_some());
        assert!(without(text, b, "# A\n\n# C\n").is_some());
        assert!(moved(text, b, "# B\n\nb\n\n# A\n\na\n\n# C\n").is_none());
        assert!(moved(text, b, "# B\n\n# A\n\na\n\nb\n\n# C\n").is_some());
        assert!(moved(text, b, "# B\n\nb\n\n# A\n\n# C\n").is_some());
        let update = |after: &str| updated(text, b, "x\n", after);
        assert!(update("# A\n\na\n\n# B\n\nx\n\n# C\n").is_none());
        assert!(update("# A\n\na\n# B\n\nx\n\n# C\n").is_some());
        assert!(update("# A\n\na\n\n# B\n\nb\nx\n\n# C\n").is_some());
    }
}
