//! Renders a self-contained page that compares servers.
//!
//! The page is static and loads no resources: its policy permits only its own style. All text is escaped, from any origin.

mod failure;
mod tables;
mod text;

use std::fmt::Write as _;

pub use self::text::escape;
use self::text::{prose, score};
use crate::{
    check::Profile,
    report::{Report, compare::Comparison, time},
};

/// Style sheet of the page.
const STYLE: &str = include_str!("style.css");
/// SHA-256 of [`STYLE`] in base64, for the page's policy.
const STYLE_HASH: &str = include_str!("style.css.sha256").trim_ascii();
/// Icons of verdicts.
const SIGNS: &str = include_str!("signs.svg");

/// Returns the page.
pub fn page(comparison: &Comparison<'_>) -> String {
    let mut html = String::new();
    let (contract, versions) = comparison.subject();
    let contract = escape(&contract);
    let _ = write!(
        html,
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Conformance with {contract} {}</title>
<style>{STYLE}</style>
</head>
<body>
{SIGNS}<header>
<p class="over">Conformance</p>
<h1>{contract} <span>{}</span></h1>
<p class="lede">{}</p>
</header>
<main>
"#,
        escape(&versions),
        escape(&versions),
        lede(comparison),
    );
    if !comparison.guarantees.is_empty() {
        tables::guarantees(&mut html, comparison);
    }
    servers(&mut html, comparison);
    failure::causes(&mut html, comparison);
    tables::checks(&mut html, comparison);
    failure::failures(&mut html, comparison);
    let _ = write!(
        html,
        "</main>\n<footer><p>Made by tabellion-conformance {}.</p></footer>\n</body>\n</html>\n",
        escape(&suites(comparison.reports))
    );
    html
}

fn lede(comparison: &Comparison<'_>) -> String {
    let servers = match comparison.reports.len() {
        1 => "One server".to_owned(),
        many => format!("{many} servers"),
    };
    let guarantees = comparison.guarantees.len();
    if guarantees == 0 {
        return format!("{servers}, judged by what the tools declare.");
    }
    let guarantee = comparison.reports[0].guarantee();
    format!("{servers} and {guarantees} {guarantee}s, judged by the bytes on the disk and by git.")
}

fn suites(reports: &[Report]) -> String {
    let mut suites: Vec<_> = reports.iter().map(|report| report.suite.as_str()).collect();
    suites.sort_unstable();
    suites.dedup();
    suites.join(", ")
}

fn servers(html: &mut String, comparison: &Comparison<'_>) {
    html.push_str("<section id=\"servers\">\n<h2>Servers</h2>\n<div>\n");
    for report in comparison.reports {
        let server = &report.server;
        let identity = server.identity.as_deref().unwrap_or_default();
        // The name again is not needed; a longer name that begins with it is.
        let rest = identity.strip_prefix(&server.name);
        let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let version = rest.unwrap_or(identity).trim();
        let _ = writeln!(
            html,
            "<article><h3>{} <small>{}</small>{}</h3>\n<p>{}.</p>",
            escape(&server.name),
            escape(version),
            if report.guarantees.is_empty() { format!(" {}", score(report)) } else { String::new() },
            escape(&report.summary())
        );
        let profile = match report.profile {
            Profile::Smoke => "Smoke",
            Profile::Quick => "Quick",
            Profile::Full => "Full",
        };
        let revisions: Vec<_> = report.revisions().iter().map(|it| nowrap(it)).collect();
        let _ = writeln!(
            html,
            "<p class=\"quiet\">{profile} profile, seed {}, MCP {}, {}</p>",
            report.seed,
            revisions.join(" and "),
            nowrap(&time(report.seconds))
        );
        let _ = writeln!(html, "<p class=\"quiet\"><code>{}</code></p>", escape(&server.command.join(" ")));
        if !server.own.is_empty() {
            let globs: Vec<_> =
                server.own.iter().map(|glob| format!("<code>{}</code>", escape(glob))).collect();
            let _ =
                writeln!(html, "<p class=\"quiet\">Disregarded as its own state: {}</p>", globs.join(", "));
        }
        let left_out = report.left_out();
        if !left_out.is_empty() {
            let ids: Vec<_> =
                report.not_run.iter().map(|id| format!("<code>{}</code>", escape(id))).collect();
            let _ = writeln!(
                html,
                "<details><summary>{}</summary><p class=\"quiet\">{}</p></details>",
                prose(&left_out),
                ids.join(", ")
            );
        }
        html.push_str("</article>\n");
    }
    html.push_str("</div>\n</section>\n");
}

/// Returns words that stay on one line, as HTML.
fn nowrap(words: &str) -> String {
    format!("<span class=\"kept\">{}</span>", escape(words))
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_policy_has_the_hash_of_the_style() {
        let hash = BASE64.encode(&Sha256::digest(STYLE));
        assert_eq!(STYLE_HASH, hash, "write the new hash into conformance/src/report/html/style.css.sha256");
    }
}
