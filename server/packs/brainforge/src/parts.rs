//! A proposal in parts: lines that can be taken or left.

use std::{collections::BTreeSet, ops::Range};

use tabellion_markdown::{
    FrontMatter,
    diff::{self, Comparison},
};
use tabellion_notes::Note;
use tabellion_pack::review::Part;

/// A proposal in parts that can be taken or left.
pub(super) struct Parted {
    /// Path of the note.
    pub(super) path: String,
    /// The note as it is, except for the values that each approval sets; empty for a new note.
    pub(super) base: String,
    /// The note as it would be with all parts.
    pub(super) after: String,
    /// The parts, in the order of their numbers.
    pub(super) parts: Vec<Part>,
    /// True if the note is new: its front matter is not a part, and is included as soon as one part is taken.
    pub(super) is_new: bool,
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns the number of lines of the front matter.
fn front_matter_lines(text: &str) -> usize {
    let body = FrontMatter::parse(text).map_or(text.len(), |front_matter| front_matter.body().len());
    text[..text.len() - body].matches('\n').count()
}

impl Parted {
    /// Returns the parts of a new note: its sections.
    pub(super) fn of_new(path: String, after: String) -> Self {
        let head = front_matter_lines(&after);
        let sections = diff::sections(&after).into_iter().filter(|section| section.end > head);
        let part =
            |new: Range<usize>| Part { old: 0..0, new: new.start.max(head)..new.end, front_matter: false };
        Self { parts: sections.map(part).collect(), base: String::new(), is_new: true, path, after }
    }

    /// Returns the parts of a change: runs of changed lines; all runs in the front matter are one part.
    pub(super) fn between(path: String, base: String, after: String) -> Self {
        let (old_head, head) = (front_matter_lines(&base), front_matter_lines(&after));
        let mut parts: Vec<Part> = vec![];
        for part in Comparison::between(&base, &after).parts() {
            let is_head = part.old.start < old_head || part.new.start < head;
            match parts.last_mut().filter(|last| last.front_matter && is_head) {
                Some(last) => {
                    last.old.end = part.old.end;
                    last.new.end = part.new.end;
                }
                None => parts.push(Part { old: part.old, new: part.new, front_matter: is_head }),
            }
        }
        Self { path, base, after, parts, is_new: false }
    }

    /// Returns the note with only the parts of these numbers.
    ///
    /// # Errors
    /// If a number is out of range or repeated, or all parts are taken.
    pub(super) fn take(&self, numbers: &[usize]) -> Result<String, String> {
        let all = self.parts.len();
        let distinct: BTreeSet<_> = numbers.iter().copied().collect();
        if distinct.len() != numbers.len() || distinct.iter().any(|number| !(1..=all).contains(number)) {
            let message = format!("`parts` names parts of the proposal, each once: numbers from 1 to {all}");
            return Err(message);
        }
        if distinct.len() == all {
            return Err("all parts are taken: decide `approve`, without `parts`".into());
        }
        let (old, new) = (lines(&self.base), lines(&self.after));
        let mut text = String::new();
        let mut at = 0;
        if self.is_new {
            text.extend(new[..front_matter_lines(&self.after)].iter().copied());
        }
        for (index, part) in self.parts.iter().enumerate() {
            text.extend(old[at..part.old.start].iter().copied());
            let is_taken = distinct.contains(&(index + 1));
            let side = if is_taken { &new[part.new.clone()] } else { &old[part.old.clone()] };
            text.extend(side.iter().copied());
            at = part.old.end;
        }
        text.extend(old[at..].iter().copied());
        Ok(text)
    }

    /// Returns the parts that are left, each as a paragraph with its lines. Those of a sensitive note are for owners, and left out.
    pub(super) fn left(&self, numbers: &[usize]) -> Vec<String> {
        let (old, new) = (lines(&self.base), lines(&self.after));
        let is_sensitive = Note::parse(&self.path, self.base.as_bytes()).metadata.sensitive;
        let left = self.parts.iter().enumerate().filter(|(index, _)| !numbers.contains(&(index + 1)));
        left.map(|(index, part)| {
            let side = |sign: char, lines: &[&str]| -> String {
                lines.iter().map(|line| format!("{sign} {}\n", line.trim_end_matches(['\n', '\r']))).collect()
            };
            let removed = match part.old.len() {
                hidden @ 1.. if is_sensitive => format!("- (lines of a sensitive note: {hidden})\n"),
                _ => side('-', &old[part.old.clone()]),
            };
            let added = side('+', &new[part.new.clone()]);
            let fence = "`".repeat(3.max(longest_run(&removed).max(longest_run(&added)) + 1));
            format!("Part {}:\n\n{fence}diff\n{removed}{added}{fence}", index + 1)
        })
        .collect()
    }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|sign| sign != '`').map(str::len).max().unwrap_or_default()
}
