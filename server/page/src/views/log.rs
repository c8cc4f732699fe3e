//! The timeline: activity, entries by day, one entry, and the preview of undoing it.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use maud::{Markup, html};

use super::{Answer, Cx, Frame, counted, diff, kind_name, news, pager, short};
use crate::{
    data::{Entry, EntryChange, Kind, Log, LogFilter, Problem},
    form::escaped,
    reading::controls::visible,
};

/// Maximum number of entries on a page.
const LIMIT: usize = 100;
const LIST_KEYS: &[(&str, &str)] =
    &[("j", "next"), ("k", "previous"), ("o", "open"), ("u", "preview of an undo")];
/// Names of kinds in URLs.
const KINDS: [(&str, &str, Kind); 3] = [
    ("changes", "Changes", Kind::Change),
    ("decisions", "Decisions", Kind::Decision),
    ("undone", "Taken back", Kind::Undo),
];
/// Height of the picture, and width of a day.
const HEIGHT: usize = 100;
const DAY: usize = 10;

/// Lists the log.
pub(crate) fn list(cx: &Cx<'_>) -> Result<Answer, Problem> {
    let kind = KINDS.iter().find(|(name, ..)| cx.query.get("kind") == Some(name));
    let filter = LogFilter {
        path: cx.query.filled("path").map(str::to_owned),
        kind: kind.map(|(.., kind)| *kind),
        offset: cx.query.number("from").unwrap_or_default(),
        limit: LIMIT,
    };
    let found = cx.source.log(&filter)?;
    let mut days: BTreeMap<NaiveDate, Vec<&Entry>> = BTreeMap::new();
    for entry in &found.entries {
        days.entry(entry.time.date_naive()).or_default().push(entry);
    }
    let path = filter.path.as_ref().map(|path| format!("path={}", escaped(path)));
    let url = |name: Option<&str>| {
        let kind = name.map(|name| format!("kind={name}"));
        let query: Vec<_> = [kind, path.clone()].into_iter().flatten().collect();
        let sign = if query.is_empty() { "" } else { "?" };
        format!("{}{sign}{}", cx.url("log"), query.join("&"))
    };
    let here = kind.map(|(name, ..)| *name);
    let content = html! {
        div.bar {
            h1 { "Timeline" } span.push {}
            nav.tabs aria-label="Which" {
                a href=(url(None)) aria-current=[here.is_none().then_some("true")] { "Everything" }
                @for (name, word, _) in KINDS { a href=(url(Some(name))) aria-current=[(here == Some(name)).then_some("true")] { (word) } }
            }
        }
        @if let Some(path) = &filter.path { p.quiet { "At or below " code { (visible(path)) } ". " a href=(cx.url("log")) { "All" } } }
        (news("Show"))
        @if filter.path.is_none() && filter.offset == 0 && cx.query.get("table").is_none() { (picture(cx, &found)) }
        @if cx.query.get("table").is_some() { (as_table(&found)) }
        @if found.entries.is_empty() {
            div.card.after { h2 { "Nothing has changed yet" } p { "Each change by a tool, each decision and each undo appears here." } }
        }
        @for (day, entries) in days.iter().rev() {
            section { h2.after { (day.format("%A, %-d %B %Y")) }
                ol.rows { @for entry in entries { (listed(cx, entry)) } }
            }
        }
        (pager(&url(here), filter.offset, LIMIT, found.total))
    };
    let frame = Frame {
        title: "Timeline",
        entry: "log",
        watches: Some(String::new()),
        keys: LIST_KEYS,
        ..Frame::default()
    };
    Answer::page(cx.framed(&frame, &content))
}

fn listed(cx: &Cx<'_>, entry: &Entry) -> Markup {
    let place = cx.url(&format!("log/{}", entry.commit));
    html! {
        li data-stop id={ "e-" (short(&entry.commit)) } {
            div {
                h3 { a href=(place) { (visible(&brief(&entry.summary))) } " "
                    @match entry.kind {
                        Kind::Change => {}
                        Kind::Decision => span.tag.is-good { (kind_name(entry.kind)) },
                        Kind::Undo => span.tag.is-warn { (kind_name(entry.kind)) },
                    }
                }
                p.meta {
                    @if let Some(path) = entry.paths.first() { span { (document(cx, path, entry.proposal.as_deref())) } }
                    @if entry.paths.len() > 1 { span { "and " (entry.paths.len() - 1) " more" } }
                    @if let Some(client) = &entry.client { span { (visible(client)) } }
                    @if let Some(caller) = &entry.caller { span { (visible(caller)) } }
                }
            }
            div.end { a data-undo href={ (place) "#undo" } aria-label={ "Undo: " (short(&entry.commit)) } { "Undo…" } }
            div.end.quiet.num { time datetime=(entry.time.to_rfc3339()) title="UTC" { (entry.time.format("%H:%M")) } }
        }
    }
}

/// Links a document, or the proposal that it is.
fn document(cx: &Cx<'_>, path: &str, proposal: Option<&str>) -> Markup {
    match proposal {
        Some(id) => html! { a href=(cx.url(&format!("review/{}", escaped(id)))) { "the proposal" } },
        None => html! { a href=(cx.note(path)) { (visible(path)) } },
    }
}

fn totals(found: &Log) -> [usize; 3] {
    found
        .days
        .iter()
        .fold([0; 3], |sum, (_, counts)| [sum[0] + counts[0], sum[1] + counts[1], sum[2] + counts[2]])
}

/// Draws the activity of 13 weeks.
fn picture(cx: &Cx<'_>, found: &Log) -> Markup {
    const CLASSES: [&str; 3] = ["f-change", "f-decision", "f-person"];
    let most =
        found.days.iter().map(|(_, counts)| counts.iter().sum::<usize>()).max().unwrap_or_default().max(1);
    let [changes, decisions, undone] = totals(found);
    let label = format!("In 13 weeks: {changes} changes, {decisions} decisions, {undone} taken back.");
    let bars = found.days.iter().enumerate().filter(|(_, (_, counts))| counts.iter().sum::<usize>() > 0);
    html! {
        figure.picture {
            figcaption {
                b { "13 weeks" }
                span { span.swatch.f-change {} (changes) " changes" }
                span { span.swatch.f-decision {} (decisions) " decisions" }
                span { span.swatch.f-person {} (undone) " taken back" }
                span.push {} a href={ (cx.url("log")) "?table=1" } { "As a table" }
            }
            svg viewBox={ "0 0 " (found.days.len() * DAY) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(label) {
                @for (index, (day, counts)) in bars { g {
                    title { (day.format("%-d %B")) ": " (counts[0]) " changes, " (counts[1]) " decisions, " (counts[2]) " taken back" }
                    @for (kind, class) in CLASSES.iter().enumerate() {
                        @let height = counts[kind] * HEIGHT / most;
                        @let below = counts[..kind].iter().sum::<usize>() * HEIGHT / most;
                        @if height > 0 { rect class=(class) x=(index * DAY + 1) y=(HEIGHT - below - height) width="8" height=(height) {} }
                    }
                } }
            }
        }
    }
}

fn as_table(found: &Log) -> Markup {
    html! {
        table.prose { caption { "Changes a day" }
            thead { tr { th scope="col" { "Day" } th scope="col" { "Changes" } th scope="col" { "Decisions" } th scope="col" { "Taken back" } } }
            tbody { @for (day, counts) in found.days.iter().rev().filter(|(_, counts)| counts.iter().any(|count| *count > 0)) {
                tr { th scope="row" { (day) } @for count in counts { td { (count) } } }
            } }
        }
    }
}

/// Shows an entry, and the preview of undoing it.
pub(crate) fn show(cx: &Cx<'_>, commit: &str) -> Result<Answer, Problem> {
    let change = cx.source.entry(commit)?;
    Answer::page(shown(cx, &change, None))
}

/// Undoes an entry.
pub(crate) fn undo(cx: &Cx<'_>, commit: &str) -> Result<Answer, Problem> {
    if !cx.may.undo {
        return Err(Problem::Forbidden("Your key may not change documents; nothing was undone.".into()));
    }
    let over = cx.fields.get("over").unwrap_or_default();
    match cx.source.undo(&cx.visitor.person, commit, over) {
        Ok(commit) => Ok(Answer::SeeOther(cx.url(&format!("log/{}", escaped(&commit))))),
        Err(problem @ (Problem::Moved(_) | Problem::Refused(_))) => {
            let change = cx.source.entry(commit)?;
            Ok(Answer::Page(super::status(&problem), shown(cx, &change, Some(&problem))))
        }
        Err(problem) => Err(problem),
    }
}

fn shown(cx: &Cx<'_>, change: &EntryChange, problem: Option<&Problem>) -> Markup {
    let entry = &change.entry;
    let action = cx.url(&format!("log/{}", entry.commit));
    let content = html! {
        p.path { a href=(cx.url("log")) { "Timeline" } span.mono { (short(&entry.commit)) } }
        h1 { (visible(&brief(&entry.summary))) }
        p.quiet.dots {
            span { (kind_name(entry.kind)) ", " (cx.time(entry.time)) }
            span { (visible(&entry.tool)) }
            @if let Some(client) = &entry.client { span { (visible(client)) } }
            @if let Some(caller) = &entry.caller { span { (visible(caller)) } }
        }
        @if let Some(problem) = problem { div.note.is-warn role="alert" { p { (visible(problem.sentence())) } } }
        @for document in &change.changes {
            h2.after { a href=(cx.note(&document.path)) { (visible(&document.path)) } " "
                @if document.before.is_none() { span.tag { "created" } } @else if document.after.is_none() { span.tag.is-bad { "deleted" } } }
            (diff::change(document))
        }
        section.undo.card.after id="undo" aria-labelledby="undo-title" {
            h2 id="undo-title" { "Undo" }
            @match &change.undo {
                Err(why) => { p { "It can't be undone as things are:" } pre.sheet { (visible(why)) } }
                Ok(changes) => {
                    p { "Undoing makes one new commit. It changes " (counted(changes.len(), "document")) ", and nothing that was changed since:" }
                    @for document in changes {
                        h3.after { (visible(&document.path)) " " @if document.after.is_none() { span.tag.is-bad { "is deleted" } } }
                        (diff::change(document))
                    }
                    @if entry.kind == Kind::Decision { p.small { "The proposal waits again for a decision." } }
                    @if cx.may.undo {
                        form.after method="post" action=(action) {
                            (cx.token(&action))
                            input type="hidden" name="over" value=(change.over);
                            button.main-action { "Undo exactly this" }
                        }
                    } @else { p.quiet { "Your key may read; it may not undo." } }
                }
            }
        }
    };
    let frame = Frame { title: &brief(&entry.summary), entry: "log", ..Frame::default() };
    cx.framed(&frame, &content)
}

/// Returns a summary with the first digits of each id.
fn brief(summary: &str) -> String {
    let is_id = |word: &str| {
        let groups: Vec<_> = word.split('-').map(str::len).collect();
        groups == [8, 4, 4, 4, 12] && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
    };
    let words = summary.split_inclusive(' ').map(|word| {
        let bare = word.trim_end_matches([' ', ':', ',']);
        if is_id(bare) { [&bare[..8], &word[bare.len()..]].concat() } else { word.to_owned() }
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_summaries_are_short() {
        let id = "57321a0a-5d2e-4820-905a-e3be5e6fffea";
        for (summary, expected) in [
            (format!("approve {id} of {id}"), "approve 57321a0a of 57321a0a"),
            (format!("update {id}: as asked"), "update 57321a0a: as asked"),
            ("revert 2764033306: a-b-c-d-e".into(), "revert 2764033306: a-b-c-d-e"),
            ("  two  spaces ".into(), "  two  spaces "),
        ] {
            assert_eq!(brief(&summary), expected);
        }
    }
}
