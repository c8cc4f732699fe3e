//! A document, and search.

use maud::html;
use percent_encoding::percent_decode_str;

use super::{Answer, Cx, Frame};
use crate::{
    data::Problem,
    form::escaped,
    reading::{controls::visible, prose},
};

/// Shows a document with its versions.
pub(crate) fn show(cx: &Cx<'_>, path: &str) -> Result<Answer, Problem> {
    let path = percent_decode_str(path).decode_utf8();
    let path = path.map_err(|_| Problem::NotFound("There is no document with this path.".into()))?;
    let note = cx.source.note(&path)?;
    let is_plain = cx.query.get("as") == Some("text");
    let here = cx.note(&note.path);
    let content = html! {
        div.bar { h1 { (visible(&note.title)) } span.push {}
            nav.tabs aria-label="Shown as" {
                a href=(here) aria-current=[(!is_plain).then_some("true")] { "Rendered" }
                a href={ (here) "?as=text" } aria-current=[is_plain.then_some("true")] { "Text" }
            }
        }
        p.quiet.mono { (visible(&note.path)) }
        div.split {
            div { @match &note.text {
                None => p { "It is not UTF-8 text, so that it can't be shown." },
                Some(text) if is_plain => pre.sheet dir="auto" { (visible(text)) },
                Some(text) => div.hunk { div.prose { (prose::prose(text, &|target| {
                    let target = target.split(['#', '?']).next().unwrap_or_default();
                    target.ends_with(".md").then(|| cx.note(&beside(&note.path, target)))
                })) } },
            } }
            aside aria-label="Versions" { section.card { h2 { "Versions" }
                @if note.entries.is_empty() { p.quiet { "No tool has changed it yet." } }
                ol.steps { @for entry in &note.entries {
                    li { a href=(cx.url(&format!("log/{}", entry.commit))) { (visible(&entry.summary)) } ", " (cx.time(entry.time)) }
                } }
                p.small { a href={ (cx.url("log")) "?path=" (escaped(&note.path)) } { "In the timeline" } }
            } }
        }
    };
    let frame = Frame { title: &note.title, ..Frame::default() };
    Answer::page(cx.framed(&frame, &content))
}

/// Shows the hits of a search.
pub(crate) fn search(cx: &Cx<'_>) -> Result<Answer, Problem> {
    let query = cx.query.filled("q");
    let hits = query.map(|query| cx.source.search(query)).transpose()?;
    let content = html! {
        h1 { "Search" }
        @match (query, &hits) {
            (Some(query), Some(hits)) => {
                p.quiet { (super::counted(hits.len(), "line")) " with " q { (visible(query)) } }
                @if hits.is_empty() { div.card.after { p { "No document has that text. The search is for the exact letters, in lower or upper case." } } }
                ol.rows { @for hit in hits {
                    li data-stop { div { h2 { a href=(cx.note(&hit.path)) { (visible(&hit.path)) } } p dir="auto" { (visible(&hit.text)) } }
                        div.end.quiet.num { "line " (hit.line) } }
                } }
            }
            _ => p.quiet { "Type a text into the field above." },
        }
    };
    let frame = Frame {
        title: "Search",
        keys: &[("j", "next"), ("k", "previous"), ("o", "open")],
        ..Frame::default()
    };
    Answer::page(cx.framed(&frame, &content))
}

/// Returns the path of a link from the document at `from`.
fn beside(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_beside_their_document() {
        for (from, target, expected) in [
            ("a/b.md", "c.md", "a/c.md"),
            ("a/b.md", "../c.md", "c.md"),
            ("a/b.md", "./d/c.md", "a/d/c.md"),
            ("b.md", "../../c.md", "c.md"),
        ] {
            assert_eq!(beside(from, target), expected, "{from} {target}");
        }
    }
}
