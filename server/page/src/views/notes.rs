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
                Some(text) => div.hunk { div.prose {
                    (prose::prose(text, &|target| linked(cx, &note.path, target)))
                } },
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

/// Returns the page of the note that a link of the document at `from` leads to; `None` for other links, or if the person may not read it.
pub(super) fn linked(cx: &Cx<'_>, from: &str, target: &str) -> Option<String> {
    let path = path_of(from, target).filter(|_| cx.may.read)?;
    Some(cx.note(&path))
}

/// Returns the path of the document that a link leads to.
fn path_of(from: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let target = percent_decode_str(target).decode_utf8().ok()?;
    let (_, extension) = target.rsplit_once('.')?;
    if !["md", "markdown", "mdx"].contains(&&*extension.to_ascii_lowercase()) {
        return None;
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = if target.starts_with('/') { vec![] } else { folder.split('/').collect() };
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn links_lead_to_documents() {
        for (from, target, expected) in [
            ("a.md", "b.md", Some("b.md")),
            ("x/a.md", "b.md#part", Some("x/b.md")),
            ("x/a.md", "../y/b.MD", Some("y/b.MD")),
            ("x/a.md", "/b.markdown", Some("b.markdown")),
            ("x/a.md", "c%20d.md", Some("x/c d.md")),
            ("a.md", "sub/%C3%BC.md", Some("sub/ü.md")),
            ("a.md", "%FF.md", None),
            ("a.md", "picture.png", None),
        ] {
            assert_eq!(path_of(from, target).as_deref(), expected, "{target}");
        }
    }
}
