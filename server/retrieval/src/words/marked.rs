//! Names that differ from other words only by their marks: `C++`, `C#`, `.NET`, `node.js`, `1.2.3`.

use super::script::{Class, class};

/// Returns the names with marks in a text, in their order.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char| !is_in_name(char) && !is_mark(char))
        .filter(|run| run.contains(is_mark))
        .flat_map(names_of_run)
}

/// Returns the names in a text of letters and marks: those that end with `++` or `#`, and the remaining letters with dots.
fn names_of_run(mut run: &str) -> Vec<&str> {
    let mut names = vec![];
    while let Some((at, mark)) =
        ["++", "#"].into_iter().filter_map(|mark| Some((run.find(mark)?, mark))).min()
    {
        let (before, after) = (&run[..at], &run[at + mark.len()..]);
        let is_anchor = mark == "#" && after.starts_with(is_in_name);
        if before.ends_with(is_in_name) && !is_anchor {
            let start = before.rfind(is_other_mark).map_or(0, |last| last + 1);
            names.push(&run[start..at + mark.len()]);
        }
        run = after.trim_start_matches('+');
    }
    names.extend(run.split(is_other_mark).filter_map(with_dots));
    names
}

/// Returns a name without the dots that end it, if it has others.
fn with_dots(name: &str) -> Option<&str> {
    let name = name.trim_end_matches('.');
    let bare = name.trim_start_matches('.');
    // Three dots are not part of the name after them.
    let name = if name.len() - bare.len() > 1 { bare } else { name };
    let letters = name.split('.').filter(|part| !part.is_empty());
    (name.contains('.') && letters.count() > usize::from(!name.starts_with('.'))).then_some(name)
}

fn is_mark(char: char) -> bool {
    matches!(char, '.' | '+' | '#')
}

fn is_other_mark(char: char) -> bool {
    matches!(char, '+' | '#')
}

fn is_in_name(char: char) -> bool {
    matches!(class(char), Class::Letter | Class::Mark | Class::Joiner)
}
