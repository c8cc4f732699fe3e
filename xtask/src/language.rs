//! Counts, for each crate, habits of language that no single line shows: relative clauses where a noun belongs, and names that are a pronoun or
//! a participle.
//!
//! `language.txt` has the numbers of the crates that exceed the goal. A number there can only fall.

use std::{collections::BTreeMap, fs, path::Path};

use xtask::{Outcome, root, run};

use crate::words;

const LIST: &str = "xtask/language.txt";
/// Words that stand for a noun, counted in comments.
const HABITS: [&str; 2] = ["what", "said"];
/// Words that no comment should begin with.
const STARTS: [&str; 4] = ["What", "Who", "Where", "How"];
/// Declarations that no item should have.
const NAMES: [(&[&str], &[&str]); 2] = [
    (&["fn"], &["of", "known", "kept", "at"]),
    (&["struct", "enum", "type", "trait"], &["Asked", "Found", "Place", "Known", "Standing"]),
];
/// Upper bound of the first two numbers in a crate that is not listed. The third is 0.
const GOAL: f64 = 2.0;
/// By how much a listed number may be above the real one.
const SLACK: f64 = 1.0;

/// The numbers of a crate.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Numbers {
    /// Habits per 1,000 words of comments.
    habits: f64,
    /// Blocks of comments that begin with one of `STARTS`, per 1,000 words.
    starts: f64,
    /// Names that should be others.
    names: usize,
}

/// The words of a crate's comments, counted.
#[derive(Debug, Default)]
struct Count {
    words: usize,
    habits: usize,
    starts: usize,
    names: usize,
}

/// Returns a message for each crate with larger numbers than the list permits, and for each number of the list that can be lower.
///
/// # Errors
/// If git fails, or the list can't be read.
pub(crate) fn problems() -> Outcome<Vec<String>> {
    let listed =
        run::git(&["ls-files", "--cached", "--others", "--exclude-standard", "*.rs", "*Cargo.toml"])?;
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let crates: Vec<_> = listed.lines().filter_map(|path| path.strip_suffix("/Cargo.toml")).collect();
    for path in listed.lines().filter(|path| path.ends_with(".rs") && !words::is_exempt(path)) {
        let ancestors = Path::new(path).ancestors().filter_map(Path::to_str);
        let owner = ancestors.skip(1).find_map(|folder| crates.iter().find(|it| **it == folder));
        // A file that git still lists may be deleted already.
        if let (Some(owner), Ok(text)) = (owner, fs::read_to_string(root().join(path)))
            && !words::is_generated(&text)
        {
            counts.entry(owner).or_default().add(&text);
        }
    }
    let list = fs::read_to_string(root().join(LIST))?;
    Ok(compare(&counts.into_iter().map(|(name, count)| (name, count.numbers())).collect(), &parse(&list)))
}

impl Count {
    fn add(&mut self, text: &str) {
        let mut is_in_block = false;
        for line in text.lines().map(str::trim_start) {
            let comment = line.strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']));
            let Some(comment) = comment else {
                is_in_block = false;
                self.names += usize::from(is_refused(line));
                continue;
            };
            let mut words =
                comment.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).peekable();
            if let (false, Some(first)) = (is_in_block, words.peek()) {
                self.starts += usize::from(STARTS.contains(first));
            }
            is_in_block = true;
            for word in words {
                self.words += 1;
                self.habits += usize::from(HABITS.iter().any(|habit| habit.eq_ignore_ascii_case(word)));
            }
        }
    }

    fn numbers(&self) -> Numbers {
        #[expect(clippy::cast_precision_loss, reason = "a rate with one digit")]
        let rate = |count: usize| (count as f64 * 10_000.0 / self.words.max(1) as f64).round() / 10.0;
        Numbers { habits: rate(self.habits), starts: rate(self.starts), names: self.names }
    }
}

/// Returns true if a line declares an item with a refused name.
fn is_refused(line: &str) -> bool {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let mut before = "";
    words.any(|word| {
        let of_kind = |(kinds, names): &(&[&str], &[&str])| kinds.contains(&before) && names.contains(&word);
        let refused = NAMES.iter().any(of_kind);
        before = word;
        refused
    })
}

/// Parses lines of a crate and its three numbers; `#` begins a comment.
fn parse(list: &str) -> BTreeMap<&str, Numbers> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let numbers = lines.filter_map(|line| {
        let mut columns = line.split_whitespace();
        let name = columns.next()?;
        let numbers = Numbers {
            habits: columns.next()?.parse().ok()?,
            starts: columns.next()?.parse().ok()?,
            names: columns.next()?.parse().ok()?,
        };
        Some((name, numbers))
    });
    numbers.collect()
}

fn compare(found: &BTreeMap<&str, Numbers>, listed: &BTreeMap<&str, Numbers>) -> Vec<String> {
    let goal = Numbers { habits: GOAL, starts: GOAL, names: 0 };
    let mut problems = Vec::new();
    for (name, is) in found {
        let may = listed.get(name).unwrap_or(&goal);
        if is.habits > may.habits || is.starts > may.starts || is.names > may.names {
            problems.push(format!(
                "{name}: {:.1} `what` or `said` per 1,000 words of comments, {:.1} blocks that begin with What, Who, Where or How, and {} functions \
                 or types called by a pronoun or participle (`of`, `Found`, …), where {:.1}, {:.1} and {} are permitted: write the noun",
                is.habits, is.starts, is.names, may.habits, may.starts, may.names
            ));
        }
        let lower = |is: f64, may: f64| may > GOAL && is.max(GOAL) <= may - SLACK;
        if lower(is.habits, may.habits) || lower(is.starts, may.starts) || is.names < may.names {
            let (habits, starts) = (is.habits.max(GOAL), is.starts.max(GOAL));
            problems
                .push(format!("{LIST}: lower the numbers: `{name} {habits:.1} {starts:.1} {}`", is.names));
        }
    }
    let gone = listed.keys().filter(|name| !found.contains_key(**name));
    problems.extend(gone.map(|name| format!("{LIST}: there is no crate `{name}`")));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_names_are_counted() {
        let mut count = Count::default();
        count.add("//! What it is.\n//! What else.\n\n/// Returns what was said.\npub(crate) fn of(what: &str) {}\n\nstruct Found<'a>;\nfn often() {}\n");
        assert_eq!((count.words, count.habits, count.starts, count.names), (9, 4, 1, 2));
        assert_eq!(count.numbers().habits, 444.4);
    }

    #[test]
    fn numbers_may_fall_and_must_not_rise() {
        let listed = parse("# crate\ncodegen 10.0 5.0 3\n");
        for (name, habits, starts, names, expected) in [
            ("codegen", 10.0, 5.0, 3, None),
            ("codegen", 9.5, 4.5, 3, None),
            ("codegen", 10.1, 5.0, 3, Some("write the noun")),
            ("codegen", 10.0, 5.1, 3, Some("write the noun")),
            ("codegen", 10.0, 5.0, 4, Some("write the noun")),
            ("codegen", 8.9, 5.0, 3, Some("`codegen 8.9 5.0 3`")),
            ("codegen", 1.0, 5.0, 3, Some("`codegen 2.0 5.0 3`")),
            ("codegen", 10.0, 5.0, 2, Some("`codegen 10.0 5.0 2`")),
        ] {
            let found = BTreeMap::from([(name, Numbers { habits, starts, names })]);
            let said = compare(&found, &listed).join("\n");
            match expected {
                Some(expected) => assert!(said.contains(expected), "{said}"),
                None => assert_eq!(said, ""),
            }
        }
        let other = BTreeMap::from([("server", Numbers { habits: 2.0, starts: 2.1, names: 0 })]);
        let said = compare(&other, &listed).join("\n");
        assert!(said.contains("server: ") && said.contains("no crate `codegen`"), "{said}");
    }
}
