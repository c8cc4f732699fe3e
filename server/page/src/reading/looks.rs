//! Warnings about a change: links whose text names a host other than their address's, hosts and words in mixed scripts, invisible
//! characters, comments, images, a changed `sensitive` mark.

use maud::{Markup, html};
use pulldown_cmark::{Event, Parser, Tag};
use tabellion_markdown::diff::Comparison;

use super::{
    controls::{name, visible},
    prose::options,
};

/// Maximum number of warnings.
const MAX_LOOKS: usize = 50;

/// A warning about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Line of the new text, from 1.
    pub line: usize,
    /// Kind of the warning.
    pub kind: Kind,
}

/// Kind of a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The text of a link names one host, and its address another.
    OtherHost(String, String),
    /// The host of a link has letters beyond ASCII; its ASCII form, if it has one.
    UnicodeHost(String, String),
    /// A word has letters of several scripts that look alike.
    MixedScripts(String),
    /// An invisible character.
    Control(char),
    /// An HTML comment.
    Comment,
    /// An image, with its address.
    Image(String),
    /// A changed line `sensitive:` of the front matter.
    Sensitive,
}

impl Look {
    /// Returns the warning as a sentence.
    pub fn sentence(&self) -> Markup {
        match &self.kind {
            Kind::OtherHost(said, leads) => {
                html! { "the text of a link names " (visible(said)) ", the link leads to " (visible(leads)) "." }
            }
            Kind::UnicodeHost(host, ascii) => {
                html! { "the host " (visible(host)) " has letters beyond ASCII; it is " (visible(ascii)) "." }
            }
            Kind::MixedScripts(word) => {
                html! { "the word “" (visible(word)) "” mixes scripts whose letters look alike." }
            }
            Kind::Control(sign) => {
                html! { "a sign that is not seen (" (name(*sign).unwrap_or("control character")) "). It is shown as " (visible(&sign.to_string())) "." }
            }
            Kind::Comment => html! { "a comment, which readers of the rendered note don't see." },
            Kind::Image(place) => html! { "an image: " (visible(place)) "." },
            Kind::Sensitive => html! { "the mark “sensitive” changes." },
        }
    }
}

/// Returns the warnings about lines that are in `new` but not in `old`, by line; at most 50.
pub fn looks(old: &str, new: &str) -> Vec<Look> {
    let parts = Comparison::between(old, new).parts();
    let lines: Vec<&str> = new.split_inclusive('\n').collect();
    let is_new = |line: usize| parts.iter().any(|part| part.new.contains(&line));
    let mut looks: Vec<Look> = vec![];
    for (index, line) in lines.iter().enumerate().filter(|(index, _)| is_new(*index)) {
        let mut add = |kind| looks.push(Look { line: index + 1, kind });
        if let Some(sign) = line.trim_end_matches(['\r', '\n']).chars().find(|sign| name(*sign).is_some()) {
            add(Kind::Control(sign));
        }
        if line.contains("<!--") {
            add(Kind::Comment);
        }
        if line.starts_with("sensitive:") {
            add(Kind::Sensitive);
        }
        let mut words = line.split(|sign: char| !sign.is_alphabetic());
        if let Some(word) = words.find(|word| is_mixed(word)) {
            add(Kind::MixedScripts(word.to_owned()));
        }
    }
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    for part in parts.iter().filter(|part| part.new.is_empty()) {
        let gone = &old_lines[part.old.clone()];
        if gone.iter().any(|line| line.starts_with("sensitive:")) {
            looks.push(Look { line: part.new.start.max(1), kind: Kind::Sensitive });
        }
    }
    of_links(new, &lines, &is_new, &mut looks);
    looks.sort_by_key(|look| look.line);
    looks.truncate(MAX_LOOKS);
    looks
}

/// Adds the warnings about links and images.
fn of_links(text: &str, lines: &[&str], is_new: &dyn Fn(usize) -> bool, looks: &mut Vec<Look>) {
    let starts: Vec<usize> = lines
        .iter()
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some(start)
        })
        .collect();
    // The link around the present events: its line, its host, and the text so far.
    let mut link: Option<(usize, String, String)> = None;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        let line = starts.partition_point(|start| *start <= range.start).saturating_sub(1);
        match event {
            Event::Start(Tag::Image { dest_url, .. }) if is_new(line) => {
                looks.push(Look { line: line + 1, kind: Kind::Image(dest_url.to_string()) });
            }
            Event::Start(Tag::Link { dest_url, .. }) if is_new(line) => {
                let Some(host) = host(&dest_url) else { continue };
                if !host.is_ascii() {
                    let ascii = idna::domain_to_ascii(&host).unwrap_or_else(|_| "no valid name".into());
                    looks.push(Look { line: line + 1, kind: Kind::UnicodeHost(host.clone(), ascii) });
                }
                link = Some((line, host, String::new()));
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, _, said)) = &mut link {
                    said.push_str(&text);
                }
            }
            Event::End(pulldown_cmark::TagEnd::Link) => {
                if let Some((line, leads, said)) = link.take()
                    && let Some(names) = named_host(&said).filter(|names| !is_same_host(names, &leads))
                {
                    looks.push(Look { line: line + 1, kind: Kind::OtherHost(names, leads) });
                }
            }
            _ => {}
        }
    }
}

fn host(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    (!scheme.is_empty() && !host.is_empty()).then(|| host.to_lowercase())
}

/// Returns the host in a link's text, if that is an address or a name with a dot.
fn named_host(text: &str) -> Option<String> {
    let text = text.trim();
    let first = text.split_whitespace().next()?;
    if let Some(host) = host(first) {
        return Some(host);
    }
    let name = first.split(['/', ':']).next()?;
    let labels: Vec<_> = name.split('.').collect();
    let is_top =
        |label: &str| (2..=24).contains(&label.len()) && label.chars().all(|sign| sign.is_ascii_alphabetic());
    let is_file = matches!(
        labels.last(),
        Some(&("md" | "rs" | "js" | "py" | "txt" | "html" | "json" | "toml" | "yaml" | "yml" | "sh"))
    );
    let is_name = labels.len() >= 2
        && labels.iter().all(|label| !label.is_empty())
        && labels.last().is_some_and(|top| is_top(top));
    (is_name && !is_file && text == first).then(|| name.to_lowercase())
}

fn is_same_host(one: &str, other: &str) -> bool {
    one.trim_start_matches("www.") == other.trim_start_matches("www.")
}

/// Returns true if a word has Latin letters as well as Cyrillic or Greek ones.
fn is_mixed(word: &str) -> bool {
    let has_latin =
        word.chars().any(|sign| sign.is_ascii_alphabetic() || ('\u{c0}'..='\u{24f}').contains(&sign));
    let has_alike = word.chars().any(|sign| ('\u{370}'..='\u{52f}').contains(&sign) && sign != 'µ');
    has_latin && has_alike
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_are_worth_a_look() {
        use Kind::*;
        for (old, new, expected) in [
            (
                "",
                "[www.postgresql.org](https://postgresq1-docs.example/x)\n",
                vec![(1, OtherHost("www.postgresql.org".into(), "postgresq1-docs.example".into()))],
            ),
            ("", "[the manual](https://postgresql.org/x)\n", vec![]),
            ("", "[postgresql.org](https://www.postgresql.org/x)\n", vec![]),
            ("", "[lib.rs](https://github.example/lib.rs)\n", vec![]),
            ("", "[a](https://a.example@b.example/)\n", vec![]),
            (
                "",
                "[a.example](https://a.example@b.example/)\n",
                vec![(1, OtherHost("a.example".into(), "b.example".into()))],
            ),
            (
                "",
                "[x](https://exаmple.com)\n",
                vec![
                    (1, MixedScripts("exаmple".into())),
                    (1, UnicodeHost("exаmple.com".into(), "xn--exmple-4nf.com".into())),
                ],
            ),
            ("a\n", "a\nb\u{202e}c\n", vec![(2, Control('\u{202e}'))]),
            ("b\u{202e}c\n", "b\u{202e}c\nd\n", vec![]),
            ("", "<!-- hidden -->\n", vec![(1, Comment)]),
            ("", "![x](https://x.example/i.png)\n", vec![(1, Image("https://x.example/i.png".into()))]),
            ("---\nsensitive: true\n---\n", "---\nsensitive: false\n---\n", vec![(2, Sensitive)]),
            ("---\na: 1\nsensitive: true\n---\n", "---\na: 1\n---\n", vec![(2, Sensitive)]),
        ] {
            let found: Vec<_> = looks(old, new).into_iter().map(|look| (look.line, look.kind)).collect();
            assert_eq!(found, expected, "{new}");
        }
    }
}
