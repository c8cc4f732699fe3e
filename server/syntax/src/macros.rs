//! Macros of C and C++, which the parser does not expand and takes for types and names.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

/// A macro between a keyword and the defined name: `class EXPORTED("dll") Widget : Base {`.
static BEFORE_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let text = r"\b(?:class|struct|union|namespace)\s+((?:[A-Z][A-Z0-9_]+(?:\s*\([^()\n]*\))?\s+)+)[A-Za-z_][\w:]*(?:<[^;{}]*>)?\s*(?:final\s*)?[:{]";
    Regex::new(text).expect("a valid expression")
});

/// A macro before a function of a type with a name: `LIST_API node_t *list_push(`.
static BEFORE_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    let text = r"(?m)^[ \t]*(?:(?:static|extern|inline|virtual)[ \t]+)*([A-Z][A-Z0-9_]+)[ \t]+(\w+)[ \t*&]+\w+[ \t]*\(";
    Regex::new(text).expect("a valid expression")
});

/// Returns a source of the same length, with blanks for macros that would mislead the parser, and for branches of conditions with a part of a
/// block.
pub(crate) fn without_macros(source: &str) -> Vec<u8> {
    let mut bytes = source.as_bytes().to_vec();
    let mut blank = |range: Range<usize>| {
        bytes[range].iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
    };
    for found in BEFORE_NAME.captures_iter(source) {
        blank(found.get(1).expect("a macro").range());
    }
    for found in BEFORE_TYPE.captures_iter(source) {
        let is_type = !matches!(&found[2], "const" | "volatile" | "return" | "else");
        blank(found.get(1).filter(|_| is_type).map_or(0..0, |of| of.range()));
    }
    lone(source).chain(unbalanced(source)).chain(among_values(source)).for_each(blank);
    bytes
}

/// Returns the lines of `#include`, `#define` and `#undef` in enumerations and in values with braces, such as `int table[] = {`. The
/// grammars allow none there, and may lose the definitions that follow.
fn among_values(source: &str) -> impl Iterator<Item = Range<usize>> {
    let (mut found, mut depth, mut before, mut continues) = (vec![], 0, "", false);
    for (line, range) in lines(source) {
        let directive = line.strip_prefix('#').map(str::trim_start);
        let is = |words: &[&str]| directive.is_some_and(|of| words.iter().any(|word| of.starts_with(word)));
        if depth > 0 && (continues || is(&["include", "define", "undef"])) {
            found.push(range);
        } else if directive.is_none() && !continues {
            let opener =
                line.strip_suffix('{').map(|line| if line.is_empty() { before } else { line.trim_end() });
            let has_values =
                |of: &str| of.ends_with('=') || of.trim_start_matches("typedef ").starts_with("enum");
            if depth > 0 || opener.is_some_and(has_values) {
                depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            }
            // Braces in literals count too; a definition ends here at the latest.
            if source[range].starts_with('}') {
                depth = 0;
            }
            before = line;
        }
        continues = (directive.is_some() || continues) && line.ends_with('\\');
    }
    found.into_iter()
}

/// Returns the lines of a source, with their bytes.
fn lines(source: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    source.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some((line.trim(), start..*end))
    })
}

/// Returns the lines between declarations that are a macro: `QT_BEGIN_NAMESPACE`.
fn lone(source: &str) -> impl Iterator<Item = Range<usize>> {
    let all: Vec<_> = lines(source).filter(|(line, _)| !line.is_empty()).collect();
    let mut found = vec![];
    let mut begins = true;
    for (at, (line, range)) in all.iter().enumerate() {
        let next = all.get(at + 1).map_or("", |(next, _)| *next);
        let begins_next = next.starts_with(|c: char| c.is_alphabetic() || "_#/[~".contains(c));
        let is_macro = line.len() > 2
            && line.starts_with(|c: char| c.is_ascii_uppercase())
            && line.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_');
        if is_macro && begins && begins_next {
            found.push(range.clone());
        } else {
            let ends = line.ends_with([';', '}', '{', ':']) && !line.starts_with("case ");
            begins = ends || line.starts_with(['#', '/', '*']) || line.ends_with("*/");
        }
    }
    found.into_iter()
}

/// Returns the directives, and all branches but the first, of conditions with a branch whose braces are not balanced: `#ifdef A`, `if (a) {`, `#else`, `if (b) {`, `#endif`.
fn unbalanced(source: &str) -> impl Iterator<Item = Range<usize>> {
    /// An open condition.
    #[derive(Default)]
    struct Condition {
        directives: Vec<Range<usize>>,
        /// Depth at the end of each branch, the last one under way.
        depths: Vec<i32>,
    }
    let (mut open, mut found): (Vec<Condition>, Vec<Range<usize>>) = (vec![], vec![]);
    for (line, range) in lines(source) {
        let directive = line.strip_prefix('#').map(str::trim_start);
        let is = |words: &[&str]| directive.is_some_and(|of| words.iter().any(|word| of.starts_with(word)));
        if is(&["if"]) {
            open.push(Condition { directives: vec![range], depths: vec![0] });
        } else if is(&["el"]) {
            if let Some(condition) = open.last_mut() {
                condition.directives.push(range);
                condition.depths.push(0);
            }
        } else if is(&["endif"]) {
            let Some(condition) = open.pop() else { continue };
            let first = condition.depths[0];
            if condition.depths.iter().any(|depth| *depth != 0) {
                let begin = condition.directives[0].clone();
                let rest = condition.directives.get(1).map_or(range.clone(), |of| of.start..range.end);
                found.extend([begin, rest]);
            }
            if let Some(around) = open.last_mut().and_then(|around| around.depths.last_mut()) {
                *around += first;
            }
        } else if directive.is_none()
            && let Some(depth) = open.last_mut().and_then(|condition| condition.depths.last_mut())
        {
            *depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
        }
    }
    found.into_iter()
}
