//! What an edit of a section is not about stays, byte for byte.

use super::{
    editor::accepted,
    samples::{self, Seen, begin, held, sections},
};
use crate::{
    check::{Bench, Case, Check, Severity},
    judgement::{Judgement, Stop, fail},
    layout::DOCUMENT,
    reply::Reply,
};

pub(super) const CHECK: Check = Check {
    id: "outline/inside",
    severity: Severity::Must,
    guarantees: &["edits-stay-inside"],
    states: "An edit of a section changes that section alone: every other byte of the document stays.",
    explains: "On a table of documents sections are updated, inserted, deleted and moved. Where the section begins and ends is \
               said by a parser of the tester. What stood before and after must be there, byte for byte, and what came must \
               stand between; line endings may be put around it. A section that moves takes all its bytes with it.",
    cases: samples::cases,
    judge,
    shrink: samples::shrink,
};

const TEXTS: [&str; 4] = ["New text.\n", "- a\n- b", "", "été\n\n```\n# no heading\n```\n"];
/// How many bytes of line endings may be added or removed where parts of a document meet.
const MAX_ENDING_BYTES: usize = 8;

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    samples::each(bench, case, |scene, editor, document| {
        let text = document.text();
        let seen = sections(&text);
        for (number, section) in seen.iter().enumerate().take(bench.pick(2, 20)) {
            let new = TEXTS[number % TEXTS.len()];
            let last = seen.len() - 1;
            // What each edit does, and whether the document may be what it is afterwards.
            let edits: [(&str, usize); 4] = [
                ("update", 0),
                ("insertion", 0),
                ("deletion", 0),
                ("move", if number == 0 { last } else { 0 }),
            ];
            for (what, to) in edits {
                begin(scene, &text)?;
                let list = editor.list()?;
                let Some(entry) = list.get(number) else {
                    return Err(fail(format!("the section {:?} is not listed", section.heading)));
                };
                let reply = match what {
                    "update" => editor.update(&entry.id, new)?,
                    "insertion" => editor.insert("New one", new, number)?,
                    "deletion" => editor.delete(&entry.id)?,
                    _ if to + section.size > seen.len() => continue,
                    _ => editor.relocate(&entry.id, to)?,
                };
                if samples::may_refuse(document) && matches!(reply, Reply::Refused(_)) {
                    continue;
                }
                accepted(&reply, &format!("{what} of {:?}", section.heading))?;
                let after = held(scene);
                let wrong = match what {
                    "update" => updated(&text, section, new, &after),
                    "insertion" => spliced(&text, &(section.start..section.start), &after, |came| {
                        came.contains("New one")
                            && came.contains(new.trim_end())
                            && came.len() <= "# New one".len() + 6 + new.len() + MAX_ENDING_BYTES
                    }),
                    "deletion" => without(&text, section, &after),
                    _ => moved(&text, section, &after),
                };
                if let Some(wrong) = wrong {
                    let what = format!("{what} of {:?} in {}: {wrong}", section.heading, document.name);
                    return Err(shown(&text, &after, &what));
                }
            }
        }
        Ok(())
    })
}

fn shown(before: &str, after: &str, what: &str) -> Stop {
    fail(what).showing(DOCUMENT, Some(before.as_bytes()), Some(after.as_bytes()))
}

/// What is wrong if `after` is not `before` with something in the place of `at` that may stand there.
fn spliced(
    before: &str,
    at: &std::ops::Range<usize>,
    after: &str,
    may_stand: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let Some(rest) = after.strip_prefix(&before[..at.start]) else {
        return Some("what stood before it is not what it was");
    };
    let Some(came) = rest.strip_suffix(&before[at.end..]) else {
        return Some("what stood after it is not what it was");
    };
    (!may_stand(came)).then_some("what stands there is not what was given")
}

/// What is wrong if `after` is not `before` with another own text of the section. Blanks around the text may be kept.
fn updated(before: &str, section: &Seen, new: &str, after: &str) -> Option<&'static str> {
    let old = &before[section.own.clone()];
    let blanks = old.len() - old.trim().len();
    spliced(before, &section.own, after, |came| {
        came.trim() == new.trim() && came.len() <= new.len() + blanks + MAX_ENDING_BYTES
    })
}

/// What is wrong if `after` is not `before` without the section.
fn without(before: &str, section: &Seen, after: &str) -> Option<&'static str> {
    let (left, right) = (&before[..section.start], &before[section.end..]);
    let Some(rest) = after.strip_suffix(right) else {
        return Some("what stood after it is not what it was");
    };
    let is_left = rest.trim_end_matches(ENDINGS) == left.trim_end_matches(ENDINGS);
    let is_near = rest.len().abs_diff(left.len()) <= MAX_ENDING_BYTES;
    (!is_left || !is_near).then_some("what stood before it is not what it was, or something of it is left")
}

const ENDINGS: [char; 2] = ['\r', '\n'];

/// What is wrong if `after` is not `before` with the section in another place.
fn moved(before: &str, section: &Seen, after: &str) -> Option<&'static str> {
    let own = before[section.start..section.end].trim_matches(ENDINGS);
    let Some(at) = after.find(own) else {
        return Some("its bytes are not what they were");
    };
    let bare = |text: &str| text.replace(ENDINGS, "");
    let others = [&before[..section.start], &before[section.end..]].concat();
    let rest = [&after[..at], &after[at + own.len()..]].concat();
    let is_near = after.len().abs_diff(before.len()) <= MAX_ENDING_BYTES;
    (bare(&others) != bare(&rest) || !is_near).then_some("other sections are not what they were")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_sections_must_stay() {
        let text = "# A\n\na\n\n# B\n\nb\n\n# C\n";
        let b = &sections(text)[1];
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
