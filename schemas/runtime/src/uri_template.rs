//! URI templates of RFC 6570: level 1, and `{?x,y}` at the end.
//!
//! A variable of the path, `{x}`, matches at least one character other than `/`, `?` and `#`. Those of the query may be absent, and may
//! come in any order, each once. Values are percent-decoded.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// A URI template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    path: Vec<Part>,
    query: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
}

/// The reason that a text is not a URI template of this kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriTemplateError {
    /// A brace has no partner.
    #[error("a brace has no partner")]
    Brace,
    /// An expression is neither `{name}` nor `{?name,name}`.
    #[error("`{{{0}}}` is neither `{{name}}` nor, at the end, `{{?name,name}}`")]
    Expression(String),
    /// A variable occurs twice.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// Two variables have no text between them.
    #[error("`{0}` and `{1}` have no text between them, so that where one ends can't be known")]
    Adjacent(String, String),
    /// A character is not permitted in URIs.
    #[error("`{0}` belongs into no URI; write it percent-encoded")]
    Character(char),
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// [`UriTemplateError`].
    pub fn parse(text: &str) -> Result<Self, UriTemplateError> {
        let mut template = Self { path: vec![], query: vec![] };
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            template.text(&rest[..open])?;
            let close = rest[open..].find('}').filter(|close| *close > 0).ok_or(UriTemplateError::Brace)?;
            let expression = &rest[open + 1..open + close];
            rest = &rest[open + close + 1..];
            match expression.strip_prefix('?') {
                Some(names) if rest.is_empty() => {
                    for name in names.split(',') {
                        template.is_name(name, expression)?;
                        template.query.push(name.into());
                    }
                }
                _ => {
                    template.is_name(expression, expression)?;
                    if let Some(Part::Variable(before)) = template.path.last() {
                        return Err(UriTemplateError::Adjacent(before.clone(), expression.into()));
                    }
                    template.path.push(Part::Variable(expression.into()));
                }
            }
        }
        template.text(rest)?;
        Ok(template)
    }

    fn text(&mut self, text: &str) -> Result<(), UriTemplateError> {
        let is_known = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
        if let Some(character) = text.chars().find(|c| !is_known(*c)) {
            return Err(UriTemplateError::Character(character));
        }
        if !text.is_empty() {
            self.path.push(Part::Text(text.into()));
        }
        Ok(())
    }

    fn is_name(&self, name: &str, expression: &str) -> Result<(), UriTemplateError> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(UriTemplateError::Expression(expression.into()));
        }
        if self.variables().any(|(other, _)| other == name) {
            return Err(UriTemplateError::Twice(name.into()));
        }
        Ok(())
    }

    /// Returns the variables, each with true if a URI must have it.
    pub fn variables(&self) -> impl Iterator<Item = (&str, bool)> {
        let path = self.path.iter().filter_map(|part| match part {
            Part::Variable(name) => Some((name.as_str(), true)),
            Part::Text(_) => None,
        });
        path.chain(self.query.iter().map(|name| (name.as_str(), false)))
    }

    /// Returns the values of the variables in a URI; `None` if the template does not match it.
    pub fn values(&self, uri: &str) -> Option<Map<String, Value>> {
        let (path, query) = match uri.split_once('?') {
            Some((path, query)) if !self.query.is_empty() => (path, Some(query)),
            _ => (uri, None),
        };
        let mut values = Map::new();
        let mut rest = path;
        for (at, part) in self.path.iter().enumerate() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Variable(name) => {
                    let segment = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                    let end = match self.path.get(at + 1) {
                        Some(Part::Text(text)) => self.end_before(text, rest, segment, at)?,
                        _ => segment,
                    };
                    let value = decoded(&rest[..end]).filter(|value| !value.is_empty())?;
                    values.insert(name.clone(), value.into());
                    rest = &rest[end..];
                }
            }
        }
        if !rest.is_empty() {
            return None;
        }
        for pair in query.into_iter().flat_map(|query| query.split('&')) {
            let (name, value) = pair.split_once('=')?;
            let name = self.query.iter().find(|known| *known == name)?;
            if values.insert(name.clone(), decoded(value)?.into()).is_some() {
                return None;
            }
        }
        Some(values)
    }

    /// Returns the start of the text after a variable: as late as the segment permits, so that the rest of the segment is matched.
    fn end_before(&self, text: &str, rest: &str, segment: usize, at: usize) -> Option<usize> {
        let (first, _) = text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()));
        if first.is_empty() {
            return Some(segment);
        }
        let is_last = first.len() < text.len() || self.path.len() == at + 2;
        let found = if is_last { rest[..segment].rfind(first) } else { rest[..segment].find(first) };
        found.filter(|end| *end > 0)
    }

    /// Returns true if a URI matches both templates. A template without variables is a URI.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (left, right) = (self.tokens(), other.tokens());
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(0, 0)];
        while let Some((i, j)) = waiting.pop() {
            if !seen.insert((i, j)) {
                continue;
            }
            match (left.get(i), right.get(j)) {
                (None, None) => return true,
                // A variable ends here, or continues with the other template's token.
                (Some(Token::Any), right) => {
                    waiting.push((i + 1, j));
                    if right.is_some_and(Token::is_in_segment) {
                        waiting.push((i, j + 1));
                    }
                }
                (left, Some(Token::Any)) => {
                    waiting.push((i, j + 1));
                    if left.is_some_and(Token::is_in_segment) {
                        waiting.push((i + 1, j));
                    }
                }
                (Some(a), Some(b)) if a.meets(*b) => waiting.push((i + 1, j + 1)),
                _ => {}
            }
        }
        false
    }

    /// Returns the path as tokens: a variable is one character, and zero or more others.
    fn tokens(&self) -> Vec<Token> {
        let part = |part: &Part| match part {
            Part::Text(text) => text.chars().map(Token::One).collect(),
            Part::Variable(_) => vec![Token::InSegment, Token::Any],
        };
        self.path.iter().flat_map(part).collect()
    }
}

/// An element of a path in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// This character.
    One(char),
    /// A character of a segment.
    InSegment,
    /// Zero or more characters of a segment.
    Any,
}

impl Token {
    fn is_in_segment(&self) -> bool {
        !matches!(self, Self::One('/' | '?' | '#'))
    }

    fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::One(a), Self::One(b)) => a == b,
            (one, other) => one.is_in_segment() && other.is_in_segment(),
        }
    }
}

/// Decodes percent-encoded text; `None` if it is malformed, or not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(*rest.next()?).to_digit(16);
                bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(text: &str) -> UriTemplate {
        UriTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_uri_has_the_values_of_its_template() {
        for (text, uri, expected) in [
            ("note://{id}", "note://a", json!({ "id": "a" })),
            ("note://{id}", "note://%C3%A4%2F%3F", json!({ "id": "ä/?" })),
            ("note://{id}", "note://", json!(null)),
            ("note://{id}", "note://a/b", json!(null)),
            ("note://{id}", "note://a?b=1", json!(null)),
            ("note://{id}", "note://a#b", json!(null)),
            ("note://{id}", "note://%FF", json!(null)),
            ("note://{id}", "note://%4", json!(null)),
            ("note://{id}", "notes://a", json!(null)),
            ("note://{id}/versions/{v}", "note://a/versions/2", json!({ "id": "a", "v": "2" })),
            ("note://{id}/versions/{v}", "note://a/versions/", json!(null)),
            ("f://{name}.{ext}", "f://a.b.c", json!({ "name": "a", "ext": "b.c" })),
            ("f://{name}.md", "f://a.md.md", json!({ "name": "a.md" })),
            ("f://{name}.md", "f://.md", json!(null)),
            ("f://{name}.md/x", "f://a.md.md/x", json!({ "name": "a.md" })),
            ("n://index{?type,tag}", "n://index", json!({})),
            ("n://index{?type,tag}", "n://index?tag=a%26b&type=", json!({ "tag": "a&b", "type": "" })),
            ("n://index{?type,tag}", "n://index?tag=a&tag=b", json!(null)),
            ("n://index{?type,tag}", "n://index?other=a", json!(null)),
            ("n://index{?type,tag}", "n://index?tag", json!(null)),
            ("n://index{?type,tag}", "n://index?", json!(null)),
            ("n://{id}{?v}", "n://a?v=1", json!({ "id": "a", "v": "1" })),
        ] {
            let found = template(text).values(uri).map_or(Value::Null, Value::Object);
            assert_eq!(found, expected, "{uri} in {text}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        use UriTemplateError::{Adjacent, Brace, Character, Expression, Twice};
        for (text, expected) in [
            ("a://{", Brace),
            ("a://}", Brace),
            ("a://{b", Brace),
            ("a://{}", Expression("".into())),
            ("a://{+b}", Expression("+b".into())),
            ("a://{b*}", Expression("b*".into())),
            ("a://{b,c}", Expression("b,c".into())),
            ("a://{?b}/c", Expression("?b".into())),
            ("a://{?b,}", Expression("?b,".into())),
            ("a://{b}/{b}", Twice("b".into())),
            ("a://{b}{?b}", Twice("b".into())),
            ("a://{b}{c}", Adjacent("b".into(), "c".into())),
            ("a://b c", Character(' ')),
        ] {
            assert_eq!(UriTemplate::parse(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn templates_overlap_if_a_uri_fits_both() {
        for (a, b, expected) in [
            ("note://{id}", "note://{other}", true),
            ("note://{id}", "note://index", true),
            ("note://{id}", "note://", false),
            ("note://{id}", "note://{id}/versions", false),
            ("note://{id}/versions", "note://{id}/links", false),
            ("note://{id}/{what}", "note://{id}/links", true),
            ("note://a{x}", "note://{x}b", true),
            ("note://a{x}", "note://b{x}", false),
            ("note://{x}.md", "note://{x}.txt", false),
            ("note://x{a}x", "note://x", false),
            ("note://x{a}x", "note://xyx", true),
            ("note://index{?a}", "note://index", true),
            ("notes://index{?a}", "note://{id}", false),
        ] {
            let (left, right) = (template(a), template(b));
            assert_eq!(left.overlaps(&right), expected, "{a} and {b}");
            assert_eq!(right.overlaps(&left), expected, "{b} and {a}");
        }
    }
}
