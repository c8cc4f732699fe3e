//! The position of each part of a JSON text, and duplicate keys.
//!
//! The text must have been accepted by serde_json; syntax is not checked again.

use std::{collections::BTreeMap, iter::Peekable, str::CharIndices};

use crate::{pointer, problem::Position};

/// Returns the position of every key and item by JSON pointer, and the pointers of duplicate keys.
pub(crate) fn scan(text: &str) -> (BTreeMap<String, Position>, Vec<(String, Position)>) {
    let mut scanner = Scanner {
        text,
        rest: text.char_indices().peekable(),
        line: 1,
        column: 1,
        places: BTreeMap::new(),
        duplicates: vec![],
    };
    scanner.value("", None);
    (scanner.places, scanner.duplicates)
}

struct Scanner<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    line: usize,
    column: usize,
    places: BTreeMap<String, Position>,
    duplicates: Vec<(String, Position)>,
}

impl Scanner<'_> {
    /// Skips a value. The position of a member is that of its key.
    fn value(&mut self, at: &str, key: Option<Position>) {
        self.skip(|c| c.is_whitespace());
        let place = key.unwrap_or(self.here());
        self.places.insert(at.into(), place);
        match self.rest.peek() {
            Some((_, '{')) => self.object(at),
            Some((_, '[')) => self.array(at),
            Some((_, '"')) => {
                self.string();
            }
            _ => self.skip(|c| !c.is_whitespace() && !matches!(c, ',' | '}' | ']')),
        }
    }

    fn object(&mut self, at: &str) {
        let mut keys = std::collections::BTreeSet::new();
        self.next();
        loop {
            self.skip(|c| c.is_whitespace() || c == ',');
            if !matches!(self.rest.peek(), Some((_, '"'))) {
                break;
            }
            let place = self.here();
            let key = self.string();
            let at = pointer::push(at, &key);
            if !keys.insert(key) {
                self.duplicates.push((at.clone(), place));
            }
            self.skip(|c| c.is_whitespace() || c == ':');
            self.value(&at, Some(place));
        }
        self.next();
    }

    fn array(&mut self, at: &str) {
        self.next();
        for index in 0.. {
            self.skip(|c| c.is_whitespace() || c == ',');
            if matches!(self.rest.peek(), None | Some((_, ']'))) {
                break;
            }
            self.value(&pointer::push(at, &index.to_string()), None);
        }
        self.next();
    }

    fn string(&mut self) -> String {
        let start = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        self.next();
        while let Some(c) = self.next() {
            match c {
                '"' => break,
                '\\' => {
                    self.next();
                }
                _ => {}
            }
        }
        let end = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        serde_json::from_str(&self.text[start..end]).unwrap_or_default()
    }

    fn skip(&mut self, while_true: impl Fn(char) -> bool) {
        while self.rest.peek().is_some_and(|(_, c)| while_true(*c)) {
            self.next();
        }
    }

    fn next(&mut self) -> Option<char> {
        let (_, c) = self.rest.next()?;
        if c == '\n' {
            (self.line, self.column) = (self.line + 1, 1);
        } else {
            self.column += 1;
        }
        Some(c)
    }

    fn here(&self) -> Position {
        Position { line: self.line, column: self.column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_stands_at_its_key_and_an_item_where_it_begins() {
        let (places, duplicates) = scan("{\n  \"a~b\": [1, {\"c/d\": \"]\\\"}\"}],\n  \"é\": -1e3\n}\n");
        let places: Vec<_> =
            places.iter().map(|(at, place)| (at.as_str(), place.line, place.column)).collect();
        let expected = [
            ("", 1, 1),
            ("/a~0b", 2, 3),
            ("/a~0b/0", 2, 11),
            ("/a~0b/1", 2, 14),
            ("/a~0b/1/c~1d", 2, 15),
            ("/é", 3, 3),
        ];
        assert_eq!(places, expected);
        assert_eq!(duplicates, []);
    }

    #[test]
    fn a_key_that_is_there_twice_is_found_also_when_it_is_escaped() {
        let (_, duplicates) = scan(r#"{"a": 1, "b": {"a": 1}, "\u0061": 2}"#);
        assert_eq!(duplicates, [("/a".into(), Position { line: 1, column: 25 })]);
    }
}
