//! The app of reviews, which MCP clients show in a separate frame: one page without external resources.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::diff;

/// Returns the page. Its script receives the data from the client.
pub fn page() -> String {
    let markup: Markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Review" }
                style { (PreEscaped(include_str!("../../assets/style.css"))) }
            }
            body {
                main id="main" {
                    p.quiet id="done" { "Nothing waits for a review." }
                    div id="waits" hidden {
                        h1 { "Waits for a review" }
                        p.quiet { "Revision " code id="revision" {} ". A person decides, not here." }
                        div id="changes" {}
                        div.bar.after {
                            button.main-action type="button" id="open" hidden { "Open the review" }
                            p id="command" hidden { "To decide: " code {} }
                        }
                    }
                }
                script { (PreEscaped(include_str!("../../assets/app.js"))) }
            }
        }
    };
    markup.into_string()
}

/// Returns a change of a file as HTML for the page.
pub fn changes(before: &str, after: &str) -> String {
    diff::texts(before, after).into_string()
}
