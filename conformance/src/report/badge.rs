//! A badge: the number of a server's promises that hold.

use crate::{
    contracts::PROMISED,
    report::{Report, html::escape},
};

/// Returns an SVG image such as `braindrive-markdown | 9/9`.
pub fn badge(report: &Report) -> String {
    let (contract, what) = match report.contract_id() {
        _ if report.guarantees.is_empty() => ("MCP", "required checks pass"),
        PROMISED => ("MCP promises", "promises hold"),
        contract => (contract, "guarantees hold"),
    };
    let (held, all) = report.promises();
    let (name, value) = (crate::report::visible::cut(contract, 40), format!("{held}/{all}"));
    let colour = if held == all && report.is_passed() {
        "#2a7d4f"
    } else if report.is_passed() || report.is_undecided() {
        "#8a6a1f"
    } else {
        "#b3382c"
    };
    let (left, right) = (width(&name) + 16, width(&value) + 16);
    let (wide, middle, end) = (left + right, left * 5, left * 10 + right * 5);
    let (name, value) = (escape(&name), escape(&value));
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="20" role="img" aria-label="{name}: {value} {what}">
<title>{name}: {value} {what}</title>
<clipPath id="r"><rect width="{wide}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#3d4147"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="110" transform="scale(.1)">
<text x="{middle}" y="140" textLength="{}">{name}</text>
<text x="{end}" y="140" textLength="{}">{value}</text>
</g>
</svg>
"##,
        (left - 16) * 10,
        (right - 16) * 10,
    )
}

/// Returns the approximate width of `text` in 11 px Verdana, in pixels.
fn width(text: &str) -> usize {
    let tenths = |it: char| match it {
        'i' | 'j' | 'l' | '.' | ',' | '|' | ' ' => 35,
        'f' | 'r' | 't' | '-' | '/' | '(' | ')' => 48,
        'm' | 'w' | 'M' | 'W' | '@' => 105,
        'A'..='Z' => 78,
        ' '..='~' => 68,
        _ => 110,
    };
    text.chars().map(tenths).sum::<usize>().div_ceil(10)
}
