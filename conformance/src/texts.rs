//! Texts of many scripts and kinds, with which contracts are searched that take any text as a query.

use std::sync::LazyLock;

use serde::Deserialize;

/// A text of `texts.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// A name of its own.
    pub name: String,
    /// The text.
    pub text: String,
    /// A word of the text that finds it, if it has one.
    pub word: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    text: Vec<Text>,
}

/// Texts of many scripts and kinds, each with a word that finds it.
pub static TEXTS: LazyLock<Vec<Text>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("../texts.toml")).expect("`texts.toml` is valid");
    table.text
});

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn texts_have_names_of_their_own_and_their_words() {
        let names: HashSet<_> = TEXTS.iter().map(|text| &text.name).collect();
        assert_eq!(names.len(), TEXTS.len());
        assert!(TEXTS.iter().filter(|text| text.word.is_some()).count() >= 20);
        for text in TEXTS.iter() {
            let word = text.word.as_deref().unwrap_or_default();
            assert!(!text.text.trim().is_empty() && text.text.contains(word), "{}", text.name);
        }
    }
}
