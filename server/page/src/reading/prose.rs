//! Markdown as markup. Escaping types build it from the parser's events, so there is no HTML to sanitise.
//!
//! Raw HTML and comments appear as text, images as their address. Links lead to `http`, `https` and `mailto`,
//! and to notes; others become text. Nesting ends at 32 elements: deeper elements follow each other instead.

use std::ops::Range;

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use tabellion_markdown::{Flavor, Outline};

use super::controls::{marked, visible};

/// Maximum nesting depth of elements.
const MAX_DEPTH: usize = 32;

/// Returns the page of the note that a link leads to; `None` for other links.
pub type Notes<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The dialect: CommonMark with GitHub's extensions.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
}

/// Renders a document: its front matter as text, and the rest as Markdown.
pub fn prose(text: &str, notes: Notes<'_>) -> Markup {
    let front_matter = Outline::parse(text, Flavor::CommonMark).front_matter();
    let before = text[..front_matter.end].trim_start_matches('\u{feff}').trim();
    html! {
        @if !before.is_empty() { pre.unseen { (visible(before)) } }
        (body(&text[front_matter.end..], notes))
    }
}

/// Renders Markdown without front matter.
pub(super) fn body(text: &str, notes: Notes<'_>) -> Markup {
    body_with_marks(text, &[], notes)
}

/// Renders Markdown without front matter, with the text in these ranges marked. The ranges must be in order.
pub(super) fn body_with_marks(text: &str, marks: &[Range<usize>], notes: Notes<'_>) -> Markup {
    let mut events = Parser::new_ext(text, options()).into_offset_iter();
    let writer = Writer { text, marks, notes };
    html! { div dir="auto" { (writer.until_end(&mut events, 0)) } }
}

struct Writer<'a> {
    text: &'a str,
    marks: &'a [Range<usize>],
    notes: Notes<'a>,
}

type Events<'e, 't> = &'e mut dyn Iterator<Item = (Event<'t>, Range<usize>)>;

impl Writer<'_> {
    /// Writes events until the end of the enclosing element.
    fn until_end(&self, events: Events<'_, '_>, depth: usize) -> Markup {
        let mut written = String::new();
        // Elements that are too deep have no markup; their ends are counted.
        let mut too_deep = 0_usize;
        while let Some((event, range)) = events.next() {
            let markup = match event {
                Event::End(_) if too_deep > 0 => {
                    too_deep -= 1;
                    continue;
                }
                Event::End(_) => break,
                Event::Start(_) if depth >= MAX_DEPTH => {
                    too_deep += 1;
                    continue;
                }
                Event::Start(tag) => self.element(tag, events, depth + 1),
                Event::Text(text) => self.plain(&text, range),
                Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                    html! { code { (visible(&text)) } }
                }
                Event::Html(text) | Event::InlineHtml(text) => {
                    html! { code.unseen { (visible(text.trim_end())) } }
                }
                Event::FootnoteReference(label) => {
                    html! { sup { a href={ "#note-" (slug(&label)) } { "[" (visible(&label)) "]" } } }
                }
                Event::SoftBreak => html! { "\n" },
                Event::HardBreak => html! { br; },
                Event::Rule => html! { hr; },
                Event::TaskListMarker(is_done) => html! { (if is_done { "☑ " } else { "☐ " }) },
            };
            written.push_str(&markup.0);
        }
        PreEscaped(written)
    }

    fn element(&self, tag: Tag<'_>, events: Events<'_, '_>, depth: usize) -> Markup {
        if let Tag::Table(alignments) = tag {
            return self.table(&alignments, events, depth);
        }
        let inner = self.until_end(events, depth);
        match tag {
            Tag::Heading { level, .. } => match level {
                // The page uses the first level.
                HeadingLevel::H1 | HeadingLevel::H2 => html! { h2 { (inner) } },
                HeadingLevel::H3 => html! { h3 { (inner) } },
                HeadingLevel::H4 => html! { h4 { (inner) } },
                HeadingLevel::H5 => html! { h5 { (inner) } },
                HeadingLevel::H6 => html! { h6 { (inner) } },
            },
            Tag::BlockQuote(_) => html! { blockquote { (inner) } },
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(language) if !language.is_empty() => Some(language.to_string()),
                    _ => None,
                };
                html! { @if let Some(language) = language { p.small.quiet { (visible(&language)) } } pre { code { (inner) } } }
            }
            Tag::HtmlBlock => html! { div { (inner) } },
            Tag::List(Some(first)) => html! { ol start=[(first != 1).then_some(first)] { (inner) } },
            Tag::List(None) => html! { ul { (inner) } },
            Tag::Item => html! { li { (inner) } },
            Tag::FootnoteDefinition(label) => {
                html! { div.small id={ "note-" (slug(&label)) } { "[" (visible(&label)) "] " (inner) } }
            }
            Tag::Emphasis => html! { em { (inner) } },
            Tag::Strong => html! { strong { (inner) } },
            Tag::Strikethrough => html! { s { (inner) } },
            Tag::Link { dest_url, .. } => match self.address(&dest_url) {
                Some(Address::Note(place)) => html! { a href=(place) { (inner) } },
                Some(Address::Elsewhere(place)) => {
                    html! { a href=(place) rel="noopener noreferrer" { (inner) } }
                }
                None => html! { span.unseen { (inner) " (" (visible(&dest_url)) ")" } },
            },
            Tag::Image { dest_url, .. } => {
                html! { span.unseen { "image: " (inner) " (" (visible(&dest_url)) ")" } }
            }
            Tag::Paragraph => html! { p { (inner) } },
            _ => inner,
        }
    }

    fn table(&self, alignments: &[Alignment], events: Events<'_, '_>, depth: usize) -> Markup {
        let (mut rows, mut cells) = (vec![], vec![]);
        let mut head = vec![];
        while let Some((event, _)) = events.next() {
            match event {
                Event::Start(Tag::TableCell) => cells.push(self.until_end(events, depth)),
                Event::End(TagEnd::TableHead) => head = std::mem::take(&mut cells),
                Event::End(TagEnd::TableRow) => rows.push(std::mem::take(&mut cells)),
                Event::End(TagEnd::Table) => break,
                _ => {}
            }
        }
        let class = |index: usize| matches!(alignments.get(index), Some(Alignment::Right)).then_some("num");
        html! { table {
            thead { tr { @for (index, cell) in head.iter().enumerate() { th scope="col" class=[class(index)] { (cell) } } } }
            tbody { @for row in &rows { tr { @for (index, cell) in row.iter().enumerate() { td class=[class(index)] { (cell) } } } } }
        } }
    }

    /// Writes the text of this range, with its marked parts. Text that was escaped in the source gets no marks.
    fn plain(&self, text: &str, range: Range<usize>) -> Markup {
        if self.text.get(range.clone()) != Some(text) {
            return visible(text);
        }
        let within = self.marks.iter().filter_map(|mark| {
            let (start, end) = (mark.start.max(range.start), mark.end.min(range.end));
            (start < end).then(|| start - range.start..end - range.start)
        });
        marked(text, &within.collect::<Vec<_>>())
    }

    fn address(&self, target: &str) -> Option<Address> {
        let scheme = target.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let is_plain = !target.chars().any(|sign| sign.is_control() || sign.is_whitespace());
        let is_web = target.split_once("://").is_some_and(|(_, rest)| !rest.starts_with(['/', '\\']));
        match scheme.as_deref() {
            Some("http" | "https") if is_plain && is_web => Some(Address::Elsewhere(target.to_owned())),
            Some("mailto") if is_plain => Some(Address::Elsewhere(target.to_owned())),
            _ => (self.notes)(target).map(Address::Note),
        }
    }
}

enum Address {
    Note(String),
    Elsewhere(String),
}

/// Returns a label as part of an id.
fn slug(label: &str) -> String {
    label.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' }).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        prose(text, &|target| target.ends_with(".md").then(|| format!("/page/notes/{target}"))).0
    }

    #[test]
    fn markdown_is_written() {
        for (text, expected) in [
            ("# One\n\ntwo *three* `four`\n", "<h2>One</h2><p>two <em>three</em> <code>four</code></p>"),
            (
                "---\na: 1\n---\ntext\n",
                "<pre class=\"unseen\">---\na: 1\n---</pre><div dir=\"auto\"><p>text</p></div>",
            ),
            ("- [x] done\n- [ ] open\n", "<ul><li>☑ done</li><li>☐ open</li></ul>"),
            ("[a](b.md)", "<a href=\"/page/notes/b.md\">a</a>"),
            ("[a](https://x.example)", "<a href=\"https://x.example\" rel=\"noopener noreferrer\">a</a>"),
            (
                "| a | b |\n|---|--:|\n| 1 | 2 |\n",
                "<thead><tr><th scope=\"col\">a</th><th scope=\"col\" class=\"num\">b</th></tr></thead>",
            ),
            ("a[^1]\n\n[^1]: b\n", "<a href=\"#note-1\">[1]</a>"),
            (
                "![alt](https://x.example/i.png)",
                "<span class=\"unseen\">image: alt (https://x.example/i.png)</span>",
            ),
            ("3. three\n", "<ol start=\"3\">"),
        ] {
            let found = written(text);
            assert!(found.contains(expected), "{text:?}: {found}");
        }
    }

    /// Elements that prose may have, and their permitted attributes.
    const ALLOWED: &[(&str, &[&str])] = &[
        ("a", &["href", "rel"]),
        ("blockquote", &[]),
        ("br", &[]),
        ("code", &["class"]),
        ("div", &["dir", "class", "id"]),
        ("em", &[]),
        ("h2", &[]),
        ("h3", &[]),
        ("h4", &[]),
        ("h5", &[]),
        ("h6", &[]),
        ("hr", &[]),
        ("li", &[]),
        ("ol", &["start"]),
        ("p", &["class"]),
        ("pre", &["class"]),
        ("s", &[]),
        ("span", &["class", "title"]),
        ("strong", &[]),
        ("sup", &[]),
        ("table", &[]),
        ("tbody", &[]),
        ("td", &["class"]),
        ("th", &["scope", "class"]),
        ("thead", &[]),
        ("tr", &[]),
        ("ul", &[]),
    ];

    /// Checks that markup has no other element or attribute, no other link target, and is not too deep.
    #[track_caller]
    fn check(text: &str, written: &str) {
        let (mut rest, mut open, mut deepest) = (written, vec![], 0);
        while let Some(start) = rest.find('<') {
            assert!(!rest[..start].contains('>'), "{text:?}: {rest}");
            let end = start + rest[start..].find('>').expect("an end");
            let tag = &rest[start + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{text:?}");
                continue;
            }
            let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let allowed = ALLOWED.iter().find(|(allowed, _)| *allowed == name);
            let (_, allowed) = allowed.unwrap_or_else(|| panic!("{text:?}: <{tag}>"));
            while let Some((attribute, after)) = attributes.split_once("=\"") {
                let (value, after) = after.split_once('"').expect("a value");
                assert!(allowed.contains(&attribute), "{text:?}: <{tag}>");
                if attribute == "href" {
                    let is_safe = ["http://", "https://", "mailto:", "/page/notes/", "#note-"]
                        .iter()
                        .any(|start| value.to_ascii_lowercase().starts_with(start));
                    assert!(is_safe, "{text:?}: {value}");
                }
                attributes = after.trim_start();
            }
            if !["br", "hr"].contains(&name) {
                open.push(name);
            }
            deepest = deepest.max(open.len());
        }
        assert!(open.is_empty() && deepest <= 2 * MAX_DEPTH, "{text:?}: {open:?}, {deepest}");
    }

    #[test]
    fn hostile_notes_do_nothing() {
        let deep = ["> ", "- ", "*a ", "[", "**", "1. "].map(|sign| sign.repeat(5_000) + "x");
        let table = format!("|{}\n|{}\n|{}\n", "a|".repeat(500), "-|".repeat(500), "b|".repeat(500));
        let fixed = [
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](java\tscript:alert(1))",
            "[a](&#106;avascript:alert(1))",
            "[a](data:text/html,x)",
            "[a](vbscript:x)",
            "<javascript:alert(1)>",
            "[a]: javascript:alert(1)\n\n[a]",
            "[a](//x.example/b.md\" onclick=\"x)",
            "[a](\u{1}javascript:alert(1))",
            "[a](https://x.example/\"onmouseover=\"alert(1))",
            "<https://x.example/\"><script>",
            "<script>alert(1)</script>",
            "<svg onload=alert(1)>",
            "</textarea><script>",
            "<!-- secret -->",
            "<img src=x onerror=alert(1)>",
            "<style>*{}</style>",
            "![a](javascript:alert(1))",
            "![\"onerror=\"alert(1)](x)",
            "a\u{0}b",
            "\u{202e}abc",
            "`<script>`",
            "```<script>\n</code></pre><script>\n```",
            "| <b> | \n|---|\n| </td><script> |",
            "[^\"><script>]\n\n[^\"><script>]: x",
            "[^1]: [^1]\n\n[^1]",
            "# <script>\n",
            "---\nx: <script>\n---\n",
            "<a href=\"javascript:x\">y</a>",
            "&lt;script&gt;",
            "&#60;script&#62;",
            "1000000000. x",
            "\u{feff}<script>",
            "[a](<javascript:x>)",
            "[a](https:\\\\x)",
            "[x](mailto:a@b.example?\"><script>)",
        ];
        for text in fixed.iter().map(|text| (*text).to_owned()).chain(deep).chain([table]) {
            check(&text[..text.len().min(200)], &written(&text));
        }
    }
}
