//! Texts as HTML.

use std::{borrow::Cow, fmt::Write as _};

use crate::report::{Rating, Report, visible};

/// Returns a sentence as HTML, with `code` and **strong** rendered.
pub(super) fn prose(text: &str) -> String {
    let escaped = escape(text);
    let pairs = |text: &str, sign: &str, tag: &str| {
        let parts: Vec<_> = text.split(sign).collect();
        if parts.len() % 2 == 0 {
            return text.to_owned();
        }
        let mut all = String::new();
        for (number, part) in parts.into_iter().enumerate() {
            match number % 2 {
                1 => {
                    let _ = write!(all, "<{tag}>{part}</{tag}>");
                }
                _ => all.push_str(part),
            }
        }
        all
    };
    pairs(&pairs(&escaped, "`", "code"), "**", "strong")
}

/// Returns a rating as an icon and a word. Screen readers read the word where only the icon is visible.
pub(super) fn mark(rating: Option<Rating>, word: &str) -> String {
    let (class, sign) = match rating {
        Some(Rating::Holds) => ("good", "pass"),
        Some(Rating::Broken) => ("bad", "fail"),
        Some(Rating::NotShown) => ("bad", "ask"),
        Some(Rating::Trouble) => ("bad", "bang"),
        Some(Rating::Unexpected) => ("odd", "bang"),
        Some(Rating::Known) => ("odd", "known"),
        Some(Rating::Advice) => ("odd", "bang"),
        Some(Rating::AdviceNotShown) => ("odd", "ask"),
        Some(Rating::NotApplicable) | None => ("none", "dash"),
    };
    let word = escape(word);
    format!(
        "<span class=\"mark {class}\"><svg aria-hidden=\"true\"><use href=\"#{sign}\"/></svg><span>{word}</span></span>"
    )
}

/// Escapes text for an element or an attribute, and makes invisible characters visible.
pub fn escape(text: &str) -> Cow<'_, str> {
    let shown = visible::lines(text);
    if !shown.contains(['&', '<', '>', '"', '\'']) {
        return shown;
    }
    let mut all = String::with_capacity(shown.len() + 16);
    for it in shown.chars() {
        match it {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '"' => all.push_str("&quot;"),
            '\'' => all.push_str("&#39;"),
            it => all.push(it),
        }
    }
    all.into()
}

/// Returns the number of guarantees that hold, as HTML.
pub(super) fn score(report: &Report) -> String {
    let (held, all) = report.promises();
    let class = if report.is_passed() {
        "good"
    } else if report.is_undecided() {
        "odd"
    } else {
        "bad"
    };
    format!("<b class=\"score {class}\">{held}<i>/{all}</i></b>")
}
