//! Agents' memory, read only: observations, sessions, issues, indexes of code.

use maud::{Markup, html};

use super::{Answer, Cx, Frame};
use crate::{
    data::{Card, Memory, Problem},
    reading::controls::visible,
};

/// Shows one of the pages.
pub(crate) fn show(cx: &Cx<'_>, name: &str) -> Result<Answer, Problem> {
    let (page, title, nothing) = match name {
        "memory" => (
            Memory::Observations,
            "Memory",
            "Agents have stored nothing yet. What they store with `memory` appears here.",
        ),
        "sessions" => (Memory::Sessions, "Sessions", "No agent has begun a session yet."),
        "board" => (Memory::Board, "Board", "There are no issues yet."),
        _ => (Memory::Code, "Code", "No code is indexed yet."),
    };
    let query = cx.query.filled("q");
    let cards = cx.source.memory(&cx.visitor.person, page, query)?;
    let content = html! {
        h1 { (title) }
        @if page == Memory::Observations {
            form.filters action=(cx.url("memory")) {
                div { label for="q" { "Search what agents remember" } input id="q" type="search" name="q" value=[query]; }
                button { "Search" }
            }
        }
        @if cards.is_empty() { div.card.after { p { @if query.is_some() { "Nothing matches." } @else { (nothing) } } } }
        @else if page == Memory::Board { (lanes(cx, &cards)) }
        @else { ol.rows.mem { @for card in &cards {
            li.anchor[card.best] data-stop tabindex="-1" { div.quiet.num { @if let Some(time) = card.time { (cx.time(time)) } } (shown(card)) }
        } } }
    };
    let frame = Frame { title, entry: name, keys: &[("j", "next"), ("k", "previous")], ..Frame::default() };
    Answer::page(cx.framed(&frame, &content))
}

fn shown(card: &Card) -> Markup {
    html! {
        div {
            h2 { (visible(&card.title)) " " @if !card.state.is_empty() { span.tag { (visible(&card.state)) } } @if card.best { " " span.tag.is-new { "best match" } } }
            @if !card.text.is_empty() { p dir="auto" { (visible(&card.text)) } }
            p.meta { @for fact in &card.facts { span { (visible(fact)) } } }
        }
    }
}

/// Shows cards in one lane per state.
fn lanes(cx: &Cx<'_>, cards: &[Card]) -> Markup {
    let mut states: Vec<&str> = vec![];
    for card in cards {
        if !states.contains(&card.state.as_str()) {
            states.push(&card.state);
        }
    }
    html! { div.lanes { @for state in states {
        @let of_state: Vec<_> = cards.iter().filter(|card| card.state == state).collect();
        section.lane { h2 { (visible(state)) " " span.quiet { (of_state.len()) } }
            ol { @for card in of_state { li data-stop tabindex="-1" { b { (visible(&card.title)) }
                @if !card.text.is_empty() { p.small { (visible(&card.text)) } }
                p.meta { @for fact in &card.facts { span { (visible(fact)) } } @if let Some(time) = card.time { (cx.time(time)) } }
            } } }
        }
    } } }
}
