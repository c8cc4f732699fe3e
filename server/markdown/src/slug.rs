//! Slugs: the anchors that GitHub gives to headings.
//!
//! The rule is github-slugger's: convert to lower case, keep letters, marks, decimal digits, connectors, hyphens and
//! spaces, and replace each space by a hyphen. Nothing is trimmed or collapsed.

use std::collections::HashMap;

use unicode_general_category::{GeneralCategory, get_general_category};

/// Assigns slugs to a document's headings, in their order.
#[derive(Debug, Default)]
pub(super) struct Slugger {
    /// Each assigned slug, with the last number that was tried as its suffix.
    given: HashMap<String, usize>,
}

impl Slugger {
    /// Returns the slug of the next heading: the slug of its text, with the first free suffix `-1`, `-2`, … if that is
    /// taken.
    ///
    /// A slug splits into base and number in one way only, and no number is tried twice for a base, so all calls together
    /// try at most two slugs for each heading.
    pub(super) fn slug(&mut self, text: &str) -> String {
        let base = base(text);
        let Some(&tried) = self.given.get(&base) else {
            self.given.insert(base.clone(), 0);
            return base;
        };
        let mut number = tried;
        let slug = loop {
            number += 1;
            let slug = format!("{base}-{number}");
            if !self.given.contains_key(&slug) {
                break slug;
            }
        };
        self.given.insert(base, number);
        self.given.insert(slug.clone(), 0);
        slug
    }
}

/// Returns the slug of a text, without a suffix.
pub(super) fn base(text: &str) -> String {
    text.to_lowercase().chars().filter(|&c| is_kept(c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn is_kept(c: char) -> bool {
    matches!(c, ' ' | '-')
        || c.is_alphabetic()
        || matches!(
            get_general_category(c),
            GeneralCategory::NonspacingMark
                | GeneralCategory::SpacingMark
                | GeneralCategory::EnclosingMark
                | GeneralCategory::DecimalNumber
                | GeneralCategory::ConnectorPunctuation
        )
}
