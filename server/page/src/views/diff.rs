//! Changes drawn as tables of lines: a sign next to each, changed words marked, remarks below their lines.

use std::ops::Range;

use maud::{Markup, html};
use tabellion_markdown::diff::{self, Comparison};

use crate::{
    data::{Change, Part},
    reading::controls::{marked, visible},
};

/// Unchanged lines around a change.
pub(crate) const CONTEXT: usize = 3;
/// Number of changed lines, or bytes of both texts together, above which no words are marked and parts are closed.
const MAX_OPEN_LINES: usize = 2_000;
const MAX_OPEN_BYTES: usize = 256 << 10;
/// Number of changed lines, or bytes of both texts together, above which lines are text without numbers: a table of them would be
/// several times as long.
const MAX_TABLE_LINES: usize = 10_000;
const MAX_TABLE_BYTES: usize = 1 << 20;

/// Two texts, in lines.
pub(crate) struct Sides<'t> {
    pub(crate) old: Vec<&'t str>,
    pub(crate) new: Vec<&'t str>,
    /// True if words are marked.
    pub(crate) is_short: bool,
    /// True if lines are text without numbers.
    is_plain: bool,
    /// True if old lines are shown to the left of new ones.
    pub(crate) beside: bool,
}

/// The changed words of a line, in bytes.
type Words = Vec<Range<usize>>;

/// Changes that are shown together: those with few lines between them.
pub(crate) struct Hunk {
    /// Indexes of its parts.
    pub(crate) parts: Range<usize>,
    /// Shown lines of the old and the new text.
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Returns the markup below a line, for the side's letter, `o` or `n`, and the line's number from 1.
pub(crate) type Below<'a> = &'a dyn Fn(char, usize) -> Option<Markup>;

impl<'t> Sides<'t> {
    pub(crate) fn new(old: &'t str, new: &'t str, parts: &[Part]) -> Self {
        let changed: usize = parts.iter().map(|part| part.old.len() + part.new.len()).sum();
        Self {
            old: lines(old),
            new: lines(new),
            is_short: changed <= MAX_OPEN_LINES && old.len() + new.len() <= MAX_OPEN_BYTES,
            beside: false,
            is_plain: changed > MAX_TABLE_LINES || old.len() + new.len() > MAX_TABLE_BYTES,
        }
    }

    /// Joins parts with at most `gap` unchanged lines between them; `None` joins none.
    pub(crate) fn hunks(&self, parts: &[Part], gap: Option<usize>) -> Vec<Hunk> {
        let mut hunks: Vec<Hunk> = vec![];
        for (index, part) in parts.iter().enumerate() {
            let last = hunks.last_mut();
            let joins = |hunk: &&mut Hunk| {
                let before = &parts[hunk.parts.end - 1];
                let is_near = gap.is_some_and(|gap| part.new.start.saturating_sub(before.new.end) <= gap);
                is_near && !before.front_matter && !part.front_matter
            };
            match last.filter(joins) {
                Some(hunk) => {
                    hunk.parts.end = index + 1;
                    hunk.old.end = part.old.end;
                    hunk.new.end = part.new.end;
                }
                None => {
                    hunks.push(Hunk { parts: index..index + 1, old: part.old.clone(), new: part.new.clone() })
                }
            }
        }
        // The lines between two hunks are shown once.
        for index in 0..hunks.len() {
            let before = index.checked_sub(1).map_or(0, |before| hunks[before].new.end);
            let room = CONTEXT.min(hunks[index].new.start.saturating_sub(before)).min(hunks[index].old.start);
            hunks[index].old.start -= room;
            hunks[index].new.start -= room;
            let next = parts.get(hunks[index].parts.end);
            let end = next.map_or(self.new.len(), |part| part.new.start);
            let left = self.old.len().saturating_sub(hunks[index].old.end);
            let room = CONTEXT.min(end.saturating_sub(hunks[index].new.end)).min(left);
            hunks[index].old.end += room;
            hunks[index].new.end += room;
        }
        hunks
    }

    /// Draws a hunk.
    pub(crate) fn table(
        &self,
        caption: &str,
        hunk: &Hunk,
        parts: &[Part],
        linked: bool,
        below: Below<'_>,
    ) -> Markup {
        if self.is_plain {
            return self.plain(hunk, parts);
        }
        let mut rows = vec![];
        let (mut old, mut new) = (hunk.old.start, hunk.new.start);
        for part in &parts[hunk.parts.clone()] {
            while new < part.new.start && old < part.old.start {
                rows.push(self.same(old, new, linked, below));
                (old, new) = (old + 1, new + 1);
            }
            if self.beside {
                rows.extend(self.changed_beside(part, linked, below));
            } else {
                rows.extend(self.changed(part, linked, below));
            }
            (old, new) = (part.old.end, part.new.end);
        }
        while new < hunk.new.end && old < hunk.old.end {
            rows.push(self.same(old, new, linked, below));
            (old, new) = (old + 1, new + 1);
        }
        let column = |class: &str, name: &str| html! { th class=(class) scope="col" { span.vh { (name) } } };
        html! {
            table.diff.two[self.beside] {
                caption.vh { (caption) }
                thead { tr {
                    @if self.beside {
                        (column("w", "Old line")) (column("sg", "Change")) (column("", "Old text"))
                        (column("w", "New line")) (column("sg", "Change")) (column("", "New text"))
                    } @else {
                        (column("w old", "Old line")) (column("w", "New line")) (column("sg", "Change")) (column("", "Text"))
                    }
                } }
                tbody { @for row in &rows { (row) } }
            }
        }
    }

    /// Draws a hunk as text, in the form of a unified diff.
    fn plain(&self, hunk: &Hunk, parts: &[Part]) -> Markup {
        let mut text = String::new();
        let mut add = |sign: char, lines: &[&str]| {
            for line in lines {
                text.push(sign);
                text.push_str(bare(line));
                text.push('\n');
            }
        };
        let mut new = hunk.new.start;
        for part in &parts[hunk.parts.clone()] {
            add(' ', &self.new[new..part.new.start]);
            add('-', &self.old[part.old.clone()]);
            add('+', &self.new[part.new.clone()]);
            new = part.new.end;
        }
        add(' ', &self.new[new..hunk.new.end]);
        html! { pre.sheet { (visible(&text)) } }
    }

    fn same(&self, old: usize, new: usize, linked: bool, below: Below<'_>) -> Markup {
        if self.beside {
            return html! {
                tr id={ "n" (new + 1) } {
                    td.n { (old + 1) } td.s {} td.t { (visible(bare(self.old[old]))) }
                    (number('n', new, linked)) td.s {} td.t { (visible(bare(self.new[new]))) }
                }
                (self.talk(below('n', new + 1)))
            };
        }
        html! {
            tr id={ "n" (new + 1) } {
                td.n.old { (old + 1) } (number('n', new, linked)) td.s {} td.t { (visible(bare(self.new[new]))) }
            }
            (self.talk(below('n', new + 1)))
        }
    }

    /// Draws the content below a line, in the width of the table.
    fn talk(&self, content: Option<Markup>) -> Markup {
        let columns = if self.beside { 6 } else { 4 };
        html! { @if let Some(content) = content { tr.talk { td colspan=(columns) { (content) } } } }
    }

    /// Returns the changed words of the paired lines of a part.
    fn pairs(&self, part: &Part) -> Vec<(Words, Words)> {
        let (old, new) = (&self.old[part.old.clone()], &self.new[part.new.clone()]);
        let pairs = old.iter().zip(new).map(|(old, new)| {
            if self.is_short { diff::words(bare(old), bare(new)) } else { (vec![], vec![]) }
        });
        pairs.collect()
    }

    /// Draws a part with its old lines to the left of its new ones.
    fn changed_beside(&self, part: &Part, linked: bool, below: Below<'_>) -> Vec<Markup> {
        let (old, new) = (&self.old[part.old.clone()], &self.new[part.new.clone()]);
        let pairs = self.pairs(part);
        let row = |index: usize| {
            let (old_number, new_number) = (part.old.start + index, part.new.start + index);
            let words = pairs.get(index);
            html! {
                tr.a[index < new.len()].d[index < old.len()] {
                    @if let Some(line) = old.get(index) {
                        (number('o', old_number, linked)) td.s.gone { "−" }
                        td.t.gone { del { (marked(bare(line), words.map_or(&[][..], |(old, _)| old))) } }
                    } @else { td.n {} td.s {} td.t {} }
                    @if let Some(line) = new.get(index) {
                        (number('n', new_number, linked)) td.s.come { "+" }
                        td.t.come { ins { (marked(bare(line), words.map_or(&[][..], |(_, new)| new))) } }
                    } @else { td.n {} td.s {} td.t {} }
                }
                @if index < old.len() { (self.talk(below('o', old_number + 1))) }
                @if index < new.len() { (self.talk(below('n', new_number + 1))) }
            }
        };
        (0..old.len().max(new.len())).map(row).collect()
    }

    fn changed(&self, part: &Part, linked: bool, below: Below<'_>) -> Vec<Markup> {
        let (old, new) = (&self.old[part.old.clone()], &self.new[part.new.clone()]);
        let pairs = self.pairs(part);
        let removed = |index: usize| {
            let (number_of, words) =
                (part.old.start + index, pairs.get(index).map_or(&[][..], |pair| &pair.0));
            html! {
                tr.d id={ "o" (number_of + 1) } {
                    (number('o', number_of, linked)) td.n {} td.s { "−" } td.t { del { (marked(bare(old[index]), words)) } }
                }
                (self.talk(below('o', number_of + 1)))
            }
        };
        let added = |index: usize| {
            let (number_of, words) =
                (part.new.start + index, pairs.get(index).map_or(&[][..], |pair| &pair.1));
            html! {
                tr.a id={ "n" (number_of + 1) } {
                    td.n.old {} (number('n', number_of, linked)) td.s { "+" } td.t { ins { (marked(bare(new[index]), words)) } }
                }
                (self.talk(below('n', number_of + 1)))
            }
        };
        let are_alike =
            old.len() == new.len() && pairs.iter().all(|(old, new)| !old.is_empty() || !new.is_empty());
        if are_alike {
            return (0..old.len()).flat_map(|index| [removed(index), added(index)]).collect();
        }
        (0..old.len()).map(removed).chain((0..new.len()).map(added)).collect()
    }
}

/// Draws the change of a document, read only.
pub(crate) fn change(change: &Change) -> Markup {
    let sides =
        [&change.before, &change.after].map(|side| str::from_utf8(side.as_deref().unwrap_or_default()));
    let [Ok(old), Ok(new)] = sides else {
        return html! { p.quiet { "It is not UTF-8 text, so that it can't be shown: "
        ((change.before.as_ref().map_or(0, Vec::len))) " bytes before, " (change.after.as_ref().map_or(0, Vec::len)) " after." } };
    };
    texts(old, new)
}

/// Draws the differences of two texts.
pub(crate) fn texts(old: &str, new: &str) -> Markup {
    let parts = parts_of(old, new);
    let sides = Sides::new(old, new, &parts);
    html! {
        @if parts.is_empty() { p.quiet { "No line differs." } }
        @for hunk in sides.hunks(&parts, Some(2 * CONTEXT)) {
            div.hunk { (sides.table("Changed lines", &hunk, &parts, false, &|_, _| None)) }
        }
    }
}

/// Returns the changed runs of lines of two texts as parts.
pub(crate) fn parts_of(old: &str, new: &str) -> Vec<Part> {
    let part = |diff::Part { old, new }| Part { old, new, front_matter: false };
    Comparison::between(old, new).parts().into_iter().map(part).collect()
}

fn number(side: char, index: usize, linked: bool) -> Markup {
    let (line, is_old) = (index + 1, side == 'o');
    let name = if is_old { "old line" } else { "line" };
    html! { td.n.old[is_old] { @if linked { a href={ "?remark=" (side) (line) "#remark-" (side) (line) } aria-label={ "Remark on " (name) " " (line) } { (line) } } @else { (line) } } }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns a line without its end.
fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_lines_stand_beside_new_ones() {
        let (old, new) = ("a\nkept for a week\n", "a\nkept for a month\nnew\n");
        let parts = parts_of(old, new);
        let mut sides = Sides::new(old, new, &parts);
        sides.beside = true;
        let hunks = sides.hunks(&parts, None);
        let remark = |side, line| (side == 'n' && line == 3).then(|| html! { "why?" });
        let table = sides.table("", &hunks[0], &parts, false, &remark).0;
        for expected in [
            "<tr id=\"n1\"><td class=\"n\">1</td><td class=\"s\"></td><td class=\"t\">a</td><td class=\"n\">1</td>",
            "<del>kept for a <mark>week</mark></del></td><td class=\"n\">2</td><td class=\"s come\">+</td>",
            "<tr class=\"a\"><td class=\"n\"></td><td class=\"s\"></td><td class=\"t\"></td><td class=\"n\">3</td>",
            "<tr class=\"talk\"><td colspan=\"6\">why?</td></tr>",
        ] {
            assert!(table.contains(expected), "{expected}: {table}");
        }
    }

    #[test]
    fn hunks_show_each_line_once() {
        let old: String = (1..=40).map(|line| format!("line {line}\n")).collect();
        let changed = [3, 5, 12, 30];
        let new: String =
            (1..=40)
                .map(|line| {
                    if changed.contains(&line) { format!("other {line}\n") } else { format!("line {line}\n") }
                })
                .collect();
        let parts = parts_of(&old, &new);
        let sides = Sides::new(&old, &new, &parts);
        let shown = |gap| -> Vec<_> {
            let hunks = sides.hunks(&parts, gap);
            hunks.iter().map(|hunk| (hunk.parts.clone(), hunk.new.clone())).collect()
        };
        let plain = sides.plain(&sides.hunks(&parts, Some(3))[1], &parts).0;
        let expected = "> line 9\n line 10\n line 11\n-line 12\n+other 12\n line 13\n";
        assert!(plain.contains(expected), "{plain}");
        assert_eq!(shown(Some(3)), [(0..2, 0..8), (2..3, 8..15), (3..4, 26..33)]);
        assert_eq!(shown(None), [(0..1, 0..4), (1..2, 4..8), (2..3, 8..15), (3..4, 26..33)]);
    }
}
