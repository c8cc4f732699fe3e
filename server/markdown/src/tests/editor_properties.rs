//! Properties of the editor of sections, with random and with real documents.

use std::{path::Path, process::Command};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{TestCaseError, TestCaseResult};

use super::super::Flavor;
use super::super::editor::{self, ParsedDocument, SectionError, SectionPlan};
use super::documents::{case, text};
use super::properties::cases;
use super::specification;

/// A section's level, heading and own text.
type Sketch = (u8, String, String);

fn sketches(document: &ParsedDocument<'_>) -> Vec<Sketch> {
    let sketch = |section| {
        let title = editor::title(document.text, section);
        let content = editor::content(document.text, section);
        (section.level, title, content.to_owned())
    };
    document.sections().iter().map(sketch).collect()
}

fn parsed(text: &str, flavor: Flavor) -> ParsedDocument<'_> {
    ParsedDocument::new(text, flavor).expect("a small document")
}

/// Parses the planned text, and checks that the plan's outline is the outline of that text.
fn parse_plan(plan: &SectionPlan, flavor: Flavor) -> Result<ParsedDocument<'_>, TestCaseError> {
    let after = parsed(&plan.text, flavor);
    prop_assert_eq!(&plan.outline, &after.outline);
    Ok(after)
}

/// Checks that the new text differs from the old one only in the range `within`.
fn one_splice(old: &str, new: &str, within: std::ops::Range<usize>) -> TestCaseResult {
    let (left, right) = (&old[..within.start], &old[within.end..]);
    prop_assert!(new.starts_with(left) && new.ends_with(right) && new.len() >= left.len() + right.len());
    Ok(())
}

/// Checks that the editor's reason for refusing the change is possible for a valid request.
fn refusal(error: &SectionError) -> TestCaseResult {
    let expected =
        !matches!(error, SectionError::Position { .. } | SectionError::Limit(_) | SectionError::HeadingEmpty);
    prop_assert!(expected, "{}", error);
    Ok(())
}

fn inserts(old: &str, flavor: Flavor, position: usize, heading: &str, content: &str) -> TestCaseResult {
    let before = parsed(old, flavor);
    let plan = match editor::insert(&before, position, heading, content) {
        Ok(plan) => plan,
        Err(error) => return refusal(&error),
    };
    let sections = before.sections();
    let at = sections.get(position).map_or(old.len(), |section| section.heading.start);
    one_splice(old, &plan.text, at..at)?;
    let after = parse_plan(&plan, flavor)?;
    prop_assert_eq!(plan.position, position);
    prop_assert_eq!(after.sections().len(), sections.len() + plan.sections);
    let new = &after.sections()[position];
    prop_assert_eq!(editor::title(&plan.text, new), heading);
    let displaced = sections.get(position).or(sections.last());
    prop_assert_eq!(new.level, displaced.map_or(1, |section| section.level));
    let mut others = sketches(&after);
    others.drain(position..position + plan.sections);
    prop_assert_eq!(others, sketches(&before));
    // No section has a new parent.
    let moved = |index: usize| {
        if index < position { index } else { index + plan.sections }
    };
    for (index, section) in sections.iter().enumerate() {
        prop_assert_eq!(after.sections()[moved(index)].parent, section.parent.map(moved));
    }
    undone_by_delete(old, flavor, &plan)
}

/// Checks that deleting the inserted section leaves the old document, apart from blank lines.
fn undone_by_delete(old: &str, flavor: Flavor, plan: &SectionPlan) -> TestCaseResult {
    let Ok(back) = editor::delete(&parsed(&plan.text, flavor), plan.position) else {
        return Ok(());
    };
    let lines = |text: &str| -> Vec<String> {
        let lines = text.split(['\n', '\r']).filter(|line| !line.trim().is_empty());
        lines.map(str::to_owned).collect()
    };
    prop_assert_eq!(lines(&back.text), lines(old));
    Ok(())
}

fn updates(old: &str, flavor: Flavor, position: usize, content: &str) -> TestCaseResult {
    let before = parsed(old, flavor);
    let section = &before.sections()[position];
    let plan = match editor::update(&before, position, content) {
        Ok(plan) => plan,
        Err(error) => return refusal(&error),
    };
    one_splice(old, &plan.text, section.heading.end..section.body_end)?;
    let after = parse_plan(&plan, flavor)?;
    let mut now = sketches(&after);
    now.drain(position + 1..position + 1 + plan.sections);
    let mut expected = sketches(&before);
    expected[position].2.clone_from(&now[position].2);
    prop_assert_eq!(now, expected);
    keeps(&after, position)
}

/// Checks that writing back unchanged content has no effect.
fn keeps(document: &ParsedDocument<'_>, position: usize) -> TestCaseResult {
    let content = editor::content(document.text, &document.sections()[position]);
    let same = editor::update(document, position, content);
    prop_assert_eq!(same.map(|plan| plan.text), Ok(document.text.to_owned()));
    Ok(())
}

fn deletes(old: &str, flavor: Flavor, position: usize) -> TestCaseResult {
    let before = parsed(old, flavor);
    let section = &before.sections()[position];
    let plan = match editor::delete(&before, position) {
        Ok(plan) => plan,
        Err(error) => return refusal(&error),
    };
    let above = old[..section.heading.start].trim_end_matches([' ', '\t', '\r', '\n']);
    let is_last = section.end == old.len();
    let start = if is_last { above.len() } else { section.heading.start };
    one_splice(old, &plan.text, start..section.end)?;
    let mut expected = sketches(&before);
    expected.drain(position..position + plan.sections);
    prop_assert_eq!(sketches(&parse_plan(&plan, flavor)?), expected);
    Ok(())
}

fn moves(old: &str, flavor: Flavor, from: usize, to: usize) -> TestCaseResult {
    let before = parsed(old, flavor);
    let size = before.subtree_size(from);
    let plan = match editor::relocate(&before, from, to) {
        Ok(plan) => plan,
        Err(SectionError::Position { max, .. }) => {
            prop_assert_eq!(max, before.sections().len() - size);
            prop_assert!(to > max);
            return Ok(());
        }
        Err(error) => return refusal(&error),
    };
    let section = &before.sections()[from];
    let bytes = &old[section.heading.start..section.end];
    let after = parse_plan(&plan, flavor)?;
    let new = &after.sections()[to];
    let bytes = bytes.trim_end_matches([' ', '\t', '\r', '\n']);
    prop_assert!(plan.text[new.heading.start..].starts_with(bytes));
    let mut expected = sketches(&before);
    let moved: Vec<Sketch> = expected.drain(from..from + size).collect();
    expected.splice(to..to, moved);
    prop_assert_eq!(sketches(&after), expected);
    let endings = |text: &str| text.bytes().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    let mut rest: Vec<u8> = old.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let mut same: Vec<u8> = plan.text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    rest.sort_unstable();
    same.sort_unstable();
    prop_assert_eq!(rest, same);
    prop_assert!(endings(&plan.text) >= endings(old));
    Ok(())
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn insert_changes_nothing_else(
        case in case(),
        at in any::<Index>(),
        heading in select(&["New", "C#", "a #", "*b* `c`", "1. x", "🎉"][..]),
        content in text(4),
    ) {
        let sections = parsed(&case.old, case.flavor).sections().len();
        inserts(&case.old, case.flavor, at.index(sections + 1), heading, &content)?;
    }

    #[test]
    fn update_changes_nothing_else(case in case(), at in any::<Index>(), content in text(4)) {
        let sections = parsed(&case.old, case.flavor).sections().len();
        if sections > 0 {
            updates(&case.old, case.flavor, at.index(sections), &content)?;
        }
    }

    #[test]
    fn content_that_is_read_and_written_back_changes_nothing(case in case()) {
        let document = parsed(&case.old, case.flavor);
        for position in 0..document.sections().len() {
            keeps(&document, position)?;
        }
    }

    #[test]
    fn delete_changes_nothing_else(case in case(), at in any::<Index>()) {
        let sections = parsed(&case.old, case.flavor).sections().len();
        if sections > 0 {
            deletes(&case.old, case.flavor, at.index(sections))?;
        }
    }

    #[test]
    fn relocate_changes_nothing_else(case in case(), from in any::<Index>(), to in any::<Index>()) {
        let sections = parsed(&case.old, case.flavor).sections().len();
        if sections > 0 {
            moves(&case.old, case.flavor, from.index(sections), to.index(sections))?;
        }
    }
}

/// Tries every 50th of the real documents, or none if they are missing.
#[test]
fn the_properties_hold_for_real_documents() {
    let Some(archive) = specification::data("docs.tar.gz") else {
        eprintln!("shared/data/docs.tar.gz is missing (TABELLION_DATA names its folder): nothing was edited");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let unpacked = Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(folder.path()).status();
    assert!(unpacked.expect("tar runs").success());
    let mut files = Vec::new();
    files_below(folder.path(), &mut files);
    files.sort();
    assert!(files.len() > 3000, "{} documents", files.len());
    let mut edited = 0;
    for (number, file) in files.iter().enumerate().step_by(50) {
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        let flavor = Flavor::of_path(&file.to_string_lossy());
        let sections = parsed(&text, flavor).sections().len();
        let check = || -> TestCaseResult {
            inserts(&text, flavor, number % (sections + 1), "New *one*", "Some text.\n\n- a list\n")?;
            for position in (0..sections).step_by(1 + sections / 4) {
                keeps(&parsed(&text, flavor), position)?;
                updates(&text, flavor, position, "Other text.\n")?;
                deletes(&text, flavor, position)?;
                moves(&text, flavor, position, (position * 7 + number) % sections)?;
            }
            Ok(())
        };
        check().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        edited += sections.min(1);
    }
    assert!(edited > 50, "{edited} documents had sections");
}

fn files_below(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, files);
        } else if matches!(path.extension().and_then(|e| e.to_str()), Some("md" | "mdx")) {
            files.push(path);
        }
    }
}
