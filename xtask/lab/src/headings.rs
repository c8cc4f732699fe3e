//! Compares the sections that the conformance suite finds in documents with those that the server finds.
//!
//! The two use different parsers, so they rarely have the same bug. `conformance/parsers.toml` lists their differences.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tabellion_conformance::markdown as judge;
use tabellion_markdown::{Flavor, Outline};

use xtask::Outcome;

/// Upper bound of the sections of a document that are looked up by their headings.
const MAX_LOOKED_UP: usize = 50;
/// Upper bound of the differences that are printed.
const MAX_PRINTED: usize = 200;

/// Compares the sections of all documents at `paths`, and prints the differences.
///
/// # Errors
/// If a document cannot be read, there is none, or its sections differ.
pub(crate) fn compare(paths: &[PathBuf]) -> Outcome {
    let mut tally = Tally::default();
    for path in paths {
        tally.visit(path)?;
    }
    print!("{}", tally.summary());
    match (tally.documents, tally.differences) {
        (0, _) => Err("there is no Markdown at these paths".into()),
        (_, 0) => Ok(()),
        (_, differing) => Err(format!("{differing} documents have different sections").into()),
    }
}

/// Counts of the comparison.
#[derive(Default)]
struct Tally {
    documents: usize,
    sections: usize,
    differences: usize,
    /// Documents that the suite does not judge, by reason.
    unclear: BTreeMap<String, Vec<String>>,
    /// The longest time that the suite's parser took for a document.
    slowest: (Duration, String),
}

impl Tally {
    fn visit(&mut self, path: &Path) -> Outcome {
        if path.is_dir() {
            let mut entries =
                fs::read_dir(path)?.map(|entry| entry.map(|it| it.path())).collect::<Result<Vec<_>, _>>()?;
            entries.sort();
            return entries.iter().try_for_each(|entry| self.visit(entry));
        }
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let name = path.display().to_string();
        match extension {
            "md" | "markdown" | "mdx" => self.add(&name, &fs::read_to_string(path)?),
            "txt" => {
                for (number, example) in examples(&fs::read_to_string(path)?).iter().enumerate() {
                    self.add(&format!("{name}, example {}", number + 1), example);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, name: &str, text: &str) {
        let start = Instant::now();
        let read = judge::sections(text);
        self.slowest = self.slowest.clone().max((start.elapsed(), name.to_owned()));
        self.documents += 1;
        match (read, difference(text)) {
            (Err(unclear), _) => self.unclear.entry(unclear.to_string()).or_default().push(name.to_owned()),
            (Ok(sections), None) => self.sections += sections.len(),
            (Ok(_), Some(difference)) => {
                self.differences += 1;
                if self.differences <= MAX_PRINTED {
                    println!("{name}: {difference}");
                }
            }
        }
    }

    fn summary(&self) -> String {
        let Self { documents, sections, differences, unclear, slowest } = self;
        let mut summary = format!("{documents} documents, {sections} sections, {differences} differences\n");
        for (reason, names) in unclear {
            // Writing to a string can't fail.
            let _ = writeln!(summary, "{} not judged: {reason}: {}", names.len(), names.join(", "));
        }
        let (time, name) = slowest;
        let _ = writeln!(summary, "slowest for the suite: {time:.1?} for {name}");
        summary
    }
}

/// Returns the examples of the CommonMark specification, as text.
fn examples(specification: &str) -> Vec<String> {
    let fence = "`".repeat(32);
    let opening = format!("\n{fence} example\n");
    let examples = specification.split(opening.as_str()).skip(1);
    let source = examples.map(|example| example.split("\n.\n").next().unwrap_or_default());
    source.map(|text| format!("{text}\n").replace('→', "\t")).collect()
}

/// A section, as both parsers describe it.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    level: u8,
    heading: String,
    start: usize,
    end: usize,
    text: String,
    anchor: String,
}

/// Returns the difference between the server and the suite about a document; `None` if they agree, or the suite does
/// not judge it.
fn difference(text: &str) -> Option<String> {
    let sections = judge::sections(text).ok()?;
    difference_of(text, &sections, &Outline::parse(text, Flavor::CommonMark))
}

fn difference_of(text: &str, sections: &[judge::Section], outline: &Outline) -> Option<String> {
    let fronts = (judge::front(text), outline.front_matter().end);
    if fronts.0 != fronts.1 {
        return Some(format!(
            "the front matter ends at {} for the suite and at {} for the server",
            fronts.0, fronts.1
        ));
    }
    let ours = sections.iter().map(|it| Shown {
        level: it.level,
        heading: text[it.heading.clone()].trim_end().to_owned(),
        start: it.heading.start,
        end: it.end,
        text: it.text.clone(),
        anchor: it.anchor.clone(),
    });
    let theirs = outline.sections().iter().map(|it| Shown {
        level: it.level,
        heading: text[it.heading.clone()].trim_end().to_owned(),
        start: it.heading.start,
        end: it.end,
        text: it.text.trim().to_owned(),
        anchor: it.slug.clone(),
    });
    let (ours, theirs): (Vec<_>, Vec<_>) = (ours.collect(), theirs.collect());
    if ours != theirs {
        let at = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        return Some(format!("{:?} for the suite, {:?} for the server", ours.get(at), theirs.get(at)));
    }
    ours.iter().take(MAX_LOOKED_UP).find_map(|section| {
        let targets = [section.heading.clone(), section.text.clone(), format!("#{}", section.anchor)];
        targets.iter().filter(|target| *target != "#").find_map(|target| {
            let suite = judge::find(text, sections, target).ok().map(|it| it.heading.start);
            let server = outline.find(text, target).ok().map(|it| it.heading.start);
            (suite != server)
                .then(|| format!("{target:?} names {suite:?} for the suite, {server:?} for the server"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of random documents.
    const PIECES: &[&str] = &[
        "# ", "## ", "#", " #", "##\t", "=", "===", "-", "---", "- ", "* ", "+ ", "1. ", "2) ", "> ", ">",
        "\n", "\n", "\n", "\n", "\n\n", "\r\n", "\r", "\t", " ", "  ", "   ", "    ", "a", "b c", "Été", "*",
        "**", "_", "`", "``", "```\n", "~~~\n", "~~", "[a]", "[a]: /b", "[^1]", "[^1]: ", "![x](y)",
        "[z](w)", "<div>", "</div>", "<!--", "-->", "<b>", "<?", "?>", "<pre>\n", "</pre>", "|", "|a|b|\n",
        "|-|-|\n", "| - |", ":-:", "\\", "&amp;", "&#35; ", "\u{feff}", "\u{a0}", "\u{200d}", "\0", "'t'",
        "\"t", "(", ")", "]", "[", "<", "é", "१", "+++\n", "---\n", "- [ ] ", "***", "\u{c}", "\u{2003}",
        "://", "www.a.b",
    ];

    /// Both parsers agree about every document that the suite judges. `parsers.toml` lists the documents that it does not judge.
    #[test]
    fn random_documents_have_the_same_sections() {
        const DOCUMENTS: usize = 3_000;
        let mut state = 1_u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % bound
        };
        let mut judged = 0;
        for _ in 0..DOCUMENTS {
            let text: String = (0..=below(12)).map(|_| PIECES[below(PIECES.len())]).collect();
            judged += usize::from(judge::sections(&text).is_ok());
            assert_eq!(difference(&text), None, "{text:?}");
        }
        assert!(judged > DOCUMENTS * 9 / 10, "only {judged} documents were judged");
    }

    /// A document about which the two parsers differ, or once differed.
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        text: String,
        /// Levels and texts of the headings; absent if the suite does not judge the document.
        suite: Option<Vec<String>>,
        server: Vec<String>,
        #[serde(rename = "why")]
        _why: String,
    }

    #[derive(serde::Deserialize)]
    struct Cases {
        case: Vec<Case>,
    }

    #[test]
    fn parsers_differ_as_listed() {
        let cases: Cases = toml::from_str(include_str!("../../../conformance/parsers.toml")).expect("TOML");
        for case in cases.case {
            let text = &*case.text;
            let shown = |level: u8, text: &str| format!("{level} {text}");
            let suite = judge::sections(text).ok().map(|sections| {
                let all = sections.iter().map(|it| shown(it.level, &it.text));
                all.collect::<Vec<_>>()
            });
            let outline = Outline::parse(text, Flavor::CommonMark);
            let sections = outline.sections().iter();
            let server: Vec<_> = sections.map(|it| shown(it.level, it.text.trim())).collect();
            assert_eq!((suite, server), (case.suite, case.server), "{text:?}");
            assert_eq!(difference(text), None, "{text:?}");
        }
    }

    #[test]
    fn differences_are_found() {
        let text = "# A\n";
        assert_eq!(difference(text), None);
        let found = |suite: &str| {
            let sections = judge::sections(suite).expect("the suite judges it");
            difference_of(text, &sections, &Outline::parse(text, Flavor::CommonMark))
        };
        for other in ["", "## \n", "# B\n"] {
            assert!(found(other).is_some(), "{other:?}");
        }
        let mut tally = Tally::default();
        tally.add("a", text);
        tally.add("b", &">".repeat(100));
        assert_eq!((tally.documents, tally.sections, tally.unclear.len()), (2, 1, 1));
        assert_eq!(examples("x\n```````````````````````````````` example\n# a→b\n.\n<h1>\n").len(), 1);
    }
}
