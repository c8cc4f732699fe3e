//! The pages. Each view takes a [`Cx`] and returns an [`Answer`].

pub(crate) mod account;
pub mod app;
mod diff;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod notes;
pub(crate) mod review;
pub(crate) mod status;

use chrono::{DateTime, SecondsFormat, Utc};
use hyper::StatusCode;
use maud::{DOCTYPE, Markup, html};

use crate::{
    BASE, Page,
    assets::{ICON, SCRIPT, STYLE},
    data::{Kind, May, Pages, Problem, Source},
    form::{Fields, escaped},
    reading::controls::visible,
    sign_in::Visitor,
};

/// The context of a view: the visitor, the source and the request.
pub(crate) struct Cx<'a> {
    pub(crate) page: &'a Page,
    pub(crate) visitor: &'a Visitor,
    pub(crate) source: &'a dyn Source,
    pub(crate) may: May,
    pub(crate) query: &'a Fields,
    /// Fields of the form, or of a form typed before a sign-in.
    pub(crate) fields: &'a Fields,
    pub(crate) path: &'a str,
    pub(crate) theme: Option<&'a str>,
    pub(crate) now: DateTime<Utc>,
}

/// The answer of a view.
pub(crate) enum Answer {
    Page(StatusCode, Markup),
    /// A redirect to this path.
    SeeOther(String),
}

impl Answer {
    pub(crate) fn page(markup: Markup) -> Result<Self, Problem> {
        Ok(Self::Page(StatusCode::OK, markup))
    }
}

/// The parts of a page around its content.
#[derive(Default)]
pub(crate) struct Frame<'a> {
    /// Title of the window.
    pub(crate) title: &'a str,
    /// The page's entry in the navigation.
    pub(crate) entry: &'a str,
    /// The query of the page's event stream, if it has one.
    pub(crate) watches: Option<String>,
    /// The page whose drafts are obsolete.
    pub(crate) done: Option<String>,
    /// Number of pending proposals, if known.
    pub(crate) waiting: Option<usize>,
    /// Keyboard shortcuts: key and description.
    pub(crate) keys: &'a [(&'a str, &'a str)],
}

/// Returns a path of a source's pages.
pub(crate) fn below(source: &dyn Source, path: &str) -> String {
    let slash = if path.is_empty() { "" } else { "/" };
    match source.name() {
        Some(name) => format!("{BASE}/@{name}{slash}{path}"),
        None => format!("{BASE}{slash}{path}"),
    }
}

pub(crate) fn status(problem: &Problem) -> StatusCode {
    match problem {
        Problem::NotFound(_) => StatusCode::NOT_FOUND,
        Problem::Forbidden(_) => StatusCode::FORBIDDEN,
        Problem::Moved(_) | Problem::Refused(_) => StatusCode::CONFLICT,
        Problem::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl Cx<'_> {
    /// Returns the pages that the person may see.
    pub(crate) fn pages(&self) -> Pages {
        let all = self.source.pages();
        Pages {
            review: all.review && self.may.review,
            log: all.log && self.may.read,
            memory: all.memory && self.may.read,
        }
    }

    /// Returns the path of another page of this source.
    pub(crate) fn url(&self, path: &str) -> String {
        below(self.source, path)
    }

    /// Returns the path of a document's page.
    pub(crate) fn note(&self, path: &str) -> String {
        let parts: Vec<_> = path.split('/').map(|part| escaped(part).replace('+', "%20")).collect();
        self.url(&format!("notes/{}", parts.join("/")))
    }

    /// Returns the hidden field that proves a form with this action genuine.
    pub(crate) fn token(&self, action: &str) -> Markup {
        html! { input type="hidden" name="form" value=(self.visitor.token(action)); }
    }

    /// Returns the page of a problem.
    pub(crate) fn problem(&self, problem: &Problem) -> Markup {
        let title = match problem {
            Problem::NotFound(_) => "Not found",
            Problem::Forbidden(_) => "Not permitted",
            Problem::Moved(_) | Problem::Refused(_) => "Not possible now",
            Problem::Failed(_) => "It failed",
        };
        let frame = Frame { title, ..Frame::default() };
        self.framed(
            &frame,
            &html! {
                h1 { (title) }
                div.note.is-warn { p { (visible(problem.sentence())) } }
                p.after { a href=(self.url("")) { "To the first page" } }
            },
        )
    }

    /// Returns a whole page.
    pub(crate) fn framed(&self, frame: &Frame<'_>, content: &Markup) -> Markup {
        let pages = self.pages();
        let waiting = match frame.waiting {
            None if pages.review => self.source.waiting(&self.visitor.person).unwrap_or_default(),
            known => known.unwrap_or_default(),
        };
        let entry = |path: &str, name: &str, count: usize| {
            html! {
                li { a href=(self.url(path)) aria-current=[(frame.entry == path).then_some("page")] {
                    (name)
                    @if count > 0 { " " span.count aria-label={ (count) " wait" } { (count) } }
                } }
            }
        };
        let others: Vec<_> =
            self.page.sources.iter().filter(|source| source.may(&self.visitor.person).see()).collect();
        let events = frame
            .watches
            .as_ref()
            .map(|query| format!("{}?state={}{query}", self.url("events"), escaped(&self.source.state())));
        let general = [("/", "search"), ("?", "these keys"), ("Esc", "leave a field; what you typed stays")];
        html! {
            (DOCTYPE)
            html lang="en" data-theme=[self.theme] {
                (head(frame.title))
                body data-events=[events] data-done=[frame.done.as_ref()] {
                    a.skip href="#main" { "Skip to the content" }
                    header.top { div {
                        p.brand { a href=(self.url("")) { "Tabellion" } " " span { "/ " (visible(self.source.title())) } }
                        nav.nav aria-label="Pages" { ul {
                            @if pages.review { (entry("review", "Proposals", waiting)) }
                            @if pages.log { (entry("log", "Timeline", 0)) }
                            @if pages.memory {
                                (entry("memory", "Memory", 0)) (entry("sessions", "Sessions", 0))
                                (entry("board", "Board", 0)) (entry("code", "Code", 0))
                            }
                            @if self.may.inspect { (entry("status", "Status", 0)) }
                        } }
                        @if pages.log {
                            form.seek role="search" action=(self.url("search")) {
                                label.vh for="seek" { "Search the notes" }
                                input id="seek" name="q" type="search" placeholder="Search" autocomplete="off" aria-keyshortcuts="/"
                                    value=[self.query.get("q")];
                            }
                        }
                        div.who {
                            span { (visible(&self.visitor.person.name)) ", " (self.may.role) }
                            a href=(self.url("account")) { "Account" }
                        }
                    } }
                    main id="main" tabindex="-1" {
                        (content)
                        @if others.len() > 1 {
                            p.quiet.small.after { "Libraries: "
                                @for (number, source) in others.iter().enumerate() {
                                    @if number > 0 { ", " }
                                    a href=(below(&***source, "")) { (visible(source.title())) }
                                }
                            }
                        }
                    }
                    footer.foot {
                        div { @for (key, does) in frame.keys { kbd { (key) } " " (does) " \u{a0} " } kbd { "?" } " all keys" }
                        div { a href=(self.url("keys")) { "All keys" } }
                    }
                    dialog id="keys" aria-labelledby="keys-title" {
                        h2 id="keys-title" { "Keys" }
                        dl { @for (key, does) in frame.keys.iter().chain(&general) { dt { kbd { (key) } } dd { (does) } } }
                        p { label { input type="checkbox" id="keys-on" checked; " Single keys do something on this device" } }
                        form method="dialog" { p { button { "Close" } } }
                    }
                }
            }
        }
    }

    /// Returns a time in relative words, with the exact time as a tooltip.
    pub(crate) fn time(&self, time: DateTime<Utc>) -> Markup {
        let exact = time.to_rfc3339_opts(SecondsFormat::Secs, true);
        html! { time datetime=(exact) title=(time.format("%-d %B %Y, %H:%M UTC")) { (ago(self.now, time)) } }
    }
}

/// The notice that the script fills in after a change.
pub(crate) fn news(link: &str) -> Markup {
    html! { div.note.is-warn.news id="news" role="status" hidden { span {} " " a href="" { (link) } } }
}

/// Returns the links to the pages of a long list.
pub(crate) fn pager(url: &str, offset: usize, limit: usize, total: usize) -> Markup {
    let sign = if url.contains('?') { '&' } else { '?' };
    html! {
        @if total > limit {
            nav.bar.after aria-label="More" {
                @if offset > 0 { a href={ (url) (sign) "from=" (offset.saturating_sub(limit)) } rel="prev" { "Newer" } }
                span.quiet { ((offset + 1).min(total)) " to " ((offset + limit).min(total)) " of " (total) }
                @if offset + limit < total { a href={ (url) (sign) "from=" (offset + limit) } rel="next" { "Further" } }
            }
        }
    }
}

/// Returns a page without navigation, for people who have not signed in.
pub(crate) fn alone(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body { main id="main" { div.lanes.two { section.card { h1 { (title) } (content) } } } }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { (visible_text(title)) " · Tabellion" }
            link rel="icon" href={ (BASE) "/assets/" (ICON.name) };
            link rel="stylesheet" href={ (BASE) "/assets/" (STYLE.name) };
            script src={ (BASE) "/assets/" (SCRIPT.name) } defer {}
        }
    }
}

/// Returns a text without control characters, for places without markup.
pub(crate) fn visible_text(text: &str) -> String {
    text.chars()
        .map(|sign| if crate::reading::controls::is_control(sign) { '\u{fffd}' } else { sign })
        .collect()
}

/// Returns the first digits of an id.
pub(crate) fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// Returns the time from `then` to `now`, in words.
fn ago(now: DateTime<Utc>, then: DateTime<Utc>) -> String {
    let minutes = (now - then).num_minutes();
    match minutes {
        ..1 => "just now".into(),
        1..60 => format!("{minutes} min"),
        60..1440 => format!("{} h", minutes / 60),
        1440..2880 => "yesterday".into(),
        2880..20160 => format!("{} days", minutes / 1440),
        _ => then.format("%-d %b %Y").to_string(),
    }
}

/// Returns the number with the noun: `1 line`, `2 lines`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns added and removed lines.
pub(crate) fn line_counts(lines: (usize, usize)) -> Markup {
    html! {
        @if lines.0 > 0 { span.plus { "+" (lines.0) } " " }
        @if lines.1 > 0 { span.minus { "−" (lines.1) } }
    }
}

/// Returns the word for a kind of entries.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Change => "a change",
        Kind::Decision => "a decision",
        Kind::Undo => "taken back",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time");
        for (seconds, expected) in [
            (-5, "just now"),
            (59, "just now"),
            (60, "1 min"),
            (3600, "1 h"),
            (86_400, "yesterday"),
            (3 * 86_400, "3 days"),
            (40 * 86_400, "6 Dec 2026"),
        ] {
            let then = now - chrono::Duration::seconds(seconds);
            assert_eq!(ago(now, then), expected, "{seconds}");
        }
    }
}
