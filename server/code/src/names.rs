//! Names of symbols in queries: alone (`total`), qualified (`Cart::total`, `shop.Cart.total`), or as an answer shows them (`class Cart >
//! def total`).

use std::iter;

use crate::{
    content::composed,
    facts::SymbolFacts,
    terms::{identifiers, last_key, name_key, whole},
};

/// Names that stand for the file or module that is being written.
const SELVES: [&str; 4] = ["crate", "self", "super", "this"];

/// The name in a query.
#[derive(Debug, Clone)]
pub(crate) struct SymbolName {
    text: String,
    /// The text without arguments of types at its end.
    bare: String,
    /// The parts of that, from the outside.
    parts: Vec<String>,
}

impl SymbolName {
    pub(crate) fn parse(text: &str) -> Self {
        // A heading may be pasted: `def total():`, `class Cart<T> {`.
        let text = composed(text.trim().trim_end_matches([':', '{', ' ']).trim_end_matches("()"));
        let arguments =
            text.find('<').filter(|at| *at > 0 && text.ends_with('>') && !text.contains("operator"));
        let bare = &text[..arguments.unwrap_or(text.len())];
        let parts = identifiers(bare).map(whole);
        Self {
            parts: parts.filter(|part| !SELVES.contains(&part.as_str())).collect(),
            bare: bare.to_owned(),
            text: text.clone().into_owned(),
        }
    }

    /// Returns the keys for a symbol of this name; its chunk has one of them as a term.
    pub(crate) fn keys(&self) -> [String; 3] {
        [last_key(&self.text), name_key(&self.text), last_key(&self.bare)]
    }

    /// Returns true if this is a name of the symbol. `modules` are the names of the file's folders and modules, from the outside.
    pub(crate) fn fits(&self, symbol: &SymbolFacts, modules: &[String]) -> bool {
        if self.text == composed(&symbol.path)
            || name_key(&self.text) == name_key(&symbol.name) && self.is_whole(symbol)
        {
            return true;
        }
        let Some((last, outer)) = self.parts.split_last() else {
            return false;
        };
        let inside = identifiers(&symbol.path).map(whole);
        let mut chain = modules.iter().cloned().chain(inside);
        *last == whole(&symbol.name)
            && self.is_whole(symbol)
            && outer.iter().all(|part| chain.any(|name| name == *part))
    }

    /// Returns true unless the name has marks that are not those of the symbol: `operator+`, `empty?`, `$Type`.
    fn is_whole(&self, symbol: &SymbolFacts) -> bool {
        let last = self.bare.rsplit(|char| !(is_part(char) || char == '$')).next().unwrap_or_default();
        // `$Type` has a mark, `Outer$Type` has parts.
        let has_mark = !last.starts_with('$') || composed(&symbol.path).ends_with(last);
        has_mark
            && (self.bare.ends_with(char::is_alphanumeric) || self.bare.ends_with(&*composed(&symbol.name)))
    }
}

/// Returns the names that enclose a file's symbols: its folders, itself, and its modules.
pub(crate) fn modules<'s>(path: &str, symbols: impl Iterator<Item = &'s SymbolFacts>) -> Vec<String> {
    let declared = symbols.filter(|symbol| symbol.kind == "module");
    let names = declared.flat_map(|symbol| identifiers(&symbol.path));
    // A folder `my-crate` has the crate `my_crate`.
    let in_path = path.split(['/', '.']).flat_map(|part| iter::once(part).chain(identifiers(part)));
    in_path.chain(names).map(whole).collect()
}

/// Returns true if a text contains a word with marks, in any case of ASCII, not as a part of a longer word.
pub(crate) fn has_literal(text: &str, literal: &str) -> bool {
    let [text, literal] = [text, literal].map(|text| composed(text).to_ascii_lowercase());
    text.match_indices(&literal).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + literal.len()..]);
        let goes_on = (literal.starts_with(is_part) && before.ends_with(is_part))
            || (literal.ends_with(is_part) && after.starts_with(is_part));
        !goes_on
    })
}

/// Returns true for letters, digits and underscores.
pub(crate) fn is_part(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
