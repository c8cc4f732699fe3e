//! The state of a library, line by line.

use maud::html;

use super::{Answer, Cx, Frame};
use crate::{data::Problem, reading::controls::visible};

/// Shows the state.
pub(crate) fn show(cx: &Cx<'_>) -> Result<Answer, Problem> {
    let lines = cx.source.status()?;
    let bad = lines.iter().filter(|line| !line.good).count();
    let content = html! {
        h1 { "Status" }
        p.quiet { @if bad == 0 { "Everything is as it should be." } @else { (super::counted(bad, "line")) " want attention." } }
        ol.rows { @for line in &lines {
            li data-stop tabindex="-1" {
                div { h2 { (line.name) " " @if line.good { span.tag.is-good { "good" } } @else { span.tag.is-warn { "look" } } }
                    p { (visible(&line.text)) }
                    @if let Some(advice) = &line.advice { p.small { (visible(advice)) } } }
            }
        } }
    };
    let frame = Frame { title: "Status", entry: "status", ..Frame::default() };
    Answer::page(cx.framed(&frame, &content))
}
