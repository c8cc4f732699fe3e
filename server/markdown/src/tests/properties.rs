//! Properties that hold for every document and every edit.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::super::{Edit, Outline, Plan, Section, preview};
use super::documents::{Case, case};
use super::{git, plan};

/// Runs `PROPTEST_CASES` cases, by default `cases`. No file of seeds is kept: a failure becomes a case in a table.
pub(super) fn cases(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn git_apply_makes_exactly_the_planned_bytes(case in case()) {
        let plan = plan(&case.old, case.flavor, &case.edit());
        let preview = preview("a b/ä.md", &case.old, &case.edit(), &plan);
        prop_assert_eq!(preview.diff.is_empty(), case.old == plan.text);
        if !preview.diff.is_empty() && let Some(applied) = git::apply("a b/ä.md", &case.old, &preview.diff) {
            prop_assert_eq!(applied, plan.text);
        }
    }
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn bytes_outside_the_splice_stay(case in case()) {
        bytes_stay(&case, &plan(&case.old, case.flavor, &case.edit()))?;
    }

    #[test]
    fn headings_outside_the_splice_stay_or_are_reported(case in case()) {
        headings_stay_or_are_reported(&case, &plan(&case.old, case.flavor, &case.edit()))?;
    }

    #[test]
    fn a_heading_keeps_exactly_one_blank_line_above_it(case in case()) {
        let (old, edit) = (&case.old, case.edit());
        let plan = plan(old, case.flavor, &edit);
        let outline = Outline::parse(old, case.flavor);
        let is_above = |section: &Section| section.heading.start == plan.removed.end;
        let had_one = outline.sections().iter().any(is_above) && blank_lines_below(&old[..plan.removed.end]) > 0;
        let content = edit.content();
        if had_one && !content.is_empty() {
            let expected = blank_lines_below(content).max(1);
            prop_assert_eq!(blank_lines_below(&plan.text[plan.inserted.start..plan.inserted.end]), expected);
        }
    }

    #[test]
    fn a_section_replaced_by_itself_changes_nothing(case in case()) {
        let outline = Outline::parse(&case.old, case.flavor);
        for section in outline.sections().iter().filter(|section| !section.slug.is_empty()) {
            let (target, content) = (format!("#{}", section.slug), &case.old[section.heading.start..section.end]);
            let edit = Edit::ReplaceSection { target: &target, content };
            prop_assert_eq!(&plan(&case.old, case.flavor, &edit).text, &case.old);
        }
    }

    #[test]
    fn sections_cover_the_document(case in case()) {
        let outline = Outline::parse(&case.old, case.flavor);
        let start = outline.sections().first().map_or(case.old.len(), |section| section.heading.start);
        let own = |section: &Section| &case.old[section.heading.start..section.body_end];
        let pieces: String = outline.sections().iter().map(own).collect();
        prop_assert_eq!(format!("{}{pieces}", &case.old[..start]), case.old);
    }

    #[test]
    fn every_slug_names_its_section(case in case()) {
        let outline = Outline::parse(&case.old, case.flavor);
        for section in outline.sections().iter().filter(|section| !section.slug.is_empty()) {
            prop_assert_eq!(outline.find(&case.old, &format!("#{}", section.slug)), Ok(section));
        }
    }
}

/// Returns the number of blank lines at the end of `text`, each with an ending.
fn blank_lines_below(text: &str) -> usize {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let ended = text.ends_with('\n') || text.is_empty();
    let lines = text.lines().rev();
    let blank = lines.take_while(|line| line.trim_matches([' ', '\t']).is_empty());
    if ended { blank.count() } else { 0 }
}

/// Checks that the new text is the old one with one range replaced: the operation's range, or one in the blank lines above it, by
/// the content with only line endings around it.
fn bytes_stay(case: &Case, plan: &Plan) -> TestCaseResult {
    let (old, edit) = (&case.old, case.edit());
    let outline = Outline::parse(old, case.flavor);
    let section = edit.target().and_then(|target| outline.find(old, target).ok());
    let may_go = match (edit, section) {
        (Edit::ReplaceSection { .. }, Some(section)) => section.heading.start..section.end,
        (Edit::InsertBefore { .. }, Some(section)) => section.heading.start..section.heading.start,
        (Edit::InsertAfter { .. }, Some(section)) => section.end..section.end,
        (Edit::Prepend { .. }, _) => outline.front_matter().end..outline.front_matter().end,
        _ => old.len()..old.len(),
    };
    let inserted = &plan.text[plan.inserted.clone()];
    if plan.removed != may_go {
        prop_assert!(may_go.is_empty() && plan.removed.end <= may_go.start);
        let blank = &old[plan.removed.start..may_go.start];
        prop_assert!(blank.trim().is_empty() && inserted.ends_with(&old[plan.removed.clone()]));
    }
    let may_go = plan.removed.clone();
    prop_assert_eq!(&plan.text, &format!("{}{inserted}{}", &old[..may_go.start], &old[may_go.end..]));
    let endings = ["", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r"];
    // The content itself may consist of line endings.
    let mut at = inserted.match_indices(edit.content());
    prop_assert!(
        at.any(|(at, content)| {
            endings.contains(&&inserted[..at]) && endings.contains(&&inserted[at + content.len()..])
        }),
        "around the content: {:?}",
        inserted
    );
    Ok(())
}

/// Checks that the headings outside the splice are the same before and after, or that the plan lists the difference.
fn headings_stay_or_are_reported(case: &Case, plan: &Plan) -> TestCaseResult {
    let (before, after) = (Outline::parse(&case.old, case.flavor), Outline::parse(&plan.text, case.flavor));
    // A heading is described by its level and its distance from the start or end of the text, depending on its side of the splice.
    let old = |s: &Section| {
        if s.heading.start < plan.removed.start {
            (s.level, 0, s.heading.start)
        } else {
            (s.level, 1, case.old.len() - s.heading.start)
        }
    };
    let new = |s: &Section| {
        if s.heading.start < plan.inserted.start {
            (s.level, 0, s.heading.start)
        } else {
            (s.level, 1, plan.text.len() - s.heading.start)
        }
    };
    let goes = |s: &&Section| s.heading.start < plan.removed.start || s.heading.start >= plan.removed.end;
    let comes = |s: &&Section| s.heading.start < plan.inserted.start || s.heading.end > plan.inserted.end;
    let had: Vec<_> = before.sections().iter().filter(goes).map(old).collect();
    let has: Vec<_> = after.sections().iter().filter(comes).map(new).collect();
    let lost: Vec<_> = had.iter().filter(|heading| !has.contains(heading)).copied().collect();
    let gained: Vec<_> = has.iter().filter(|heading| !had.contains(heading)).copied().collect();
    prop_assert_eq!(lost, plan.lost.iter().map(old).collect::<Vec<_>>());
    prop_assert_eq!(gained, plan.gained.iter().map(new).collect::<Vec<_>>());
    Ok(())
}
