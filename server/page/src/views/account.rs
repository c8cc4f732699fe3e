//! Signing in and out, sign-ins, theme, keys.

use chrono::{DateTime, Utc};
use maud::{DOCTYPE, Markup, html};

use super::{Answer, Cx, Frame, alone};
use crate::{
    BASE,
    data::{Person, Problem},
    reading::controls::visible,
};

/// Available themes; the first follows the system.
pub(crate) const THEMES: [&str; 3] = ["system", "light", "dark"];

/// Warning on the page for signing in.
const NOT_PROTECTED: &str = "Programs that run as you on this machine can do what you can do here, with this page or without. \
     An agent that drives this browser can press its buttons.";

/// Shows the account.
pub(crate) fn show(cx: &Cx<'_>) -> Result<Answer, Problem> {
    let own = cx.visitor.digest();
    let (end, theme) = (cx.url("account/end"), cx.url("account/theme"));
    let chosen = cx.theme.unwrap_or(THEMES[0]);
    let content = html! {
        h1 { "Account" }
        p.quiet { (visible(&cx.visitor.person.name)) ", " (cx.may.role) " of " (visible(cx.source.title())) }
        section.card.after { h2 { "Sign-ins" }
            p.small.quiet { "Each ends after eight idle hours, and after seven days." }
            ol.rows { @for listed in cx.page.sign_ins.of_person(&cx.visitor.person) {
                li {
                    div { p { "Begun " (cx.time(DateTime::<Utc>::from(listed.began))) ", used " (cx.time(DateTime::<Utc>::from(listed.used)))
                        @if listed.digest == own { " " span.tag.is-new { "this browser" } } } }
                    form.end method="post" action=(end) { (cx.token(&end)) input type="hidden" name="which" value=(listed.digest);
                        button { "End" span.vh { " the sign-in " (super::short(&listed.digest)) } } }
                }
            } }
        }
        form.card.after method="post" action=(theme) { h2 { "Theme" } (cx.token(&theme))
            fieldset { legend.vh { "Theme" } @for name in THEMES {
                label { input type="radio" name="theme" value=(name) checked[name == chosen]; " " (name) " " }
            } }
            div.bar.after { button { "Use it" } }
        }
        p.quiet.small.after { (NOT_PROTECTED) }
    };
    let frame = Frame { title: "Account", ..Frame::default() };
    Answer::page(cx.framed(&frame, &content))
}

/// Ends a sign-in, or chooses a theme.
pub(crate) fn act(cx: &Cx<'_>, action: &str) -> Result<Answer, Problem> {
    match action {
        "end" => {
            let which = cx.fields.get("which").unwrap_or_default();
            cx.page.sign_ins.end(&cx.visitor.person, which);
            Ok(Answer::SeeOther(cx.url("account")))
        }
        "theme" => Ok(Answer::SeeOther(cx.url("account"))),
        _ => Err(Problem::NotFound("There is no such form.".into())),
    }
}

/// Lists the keyboard shortcuts.
pub(crate) fn keys(cx: &Cx<'_>) -> Result<Answer, Problem> {
    const ALL: &[(&str, &str)] = &[
        ("j k", "next, previous"),
        ("o", "open"),
        ("t x", "take a part, leave it"),
        ("c", "a remark on the part, or a word to the agent"),
        ("a s r", "to the buttons that approve, send back, reject; Enter presses them"),
        ("u", "preview of an undo"),
        ("/", "search"),
        ("?", "the keys of the page"),
        ("Esc", "leave a field; what you typed stays"),
    ];
    let content = html! {
        h1 { "Keys" }
        p.quiet { "They need the page's script. In the dialog that “?” opens they can be switched off." }
        dl.facts.after { @for (key, does) in ALL { dt { kbd { (key) } } dd { (does) } } }
    };
    let frame = Frame { title: "Keys", ..Frame::default() };
    Answer::page(cx.framed(&frame, &content))
}

/// Returns the form for a key. Text that was typed in a form before is kept, and leads back to `to`.
pub(crate) fn login(has_keys: bool, to: &str, typed: &[(&str, &str)], note: Option<&str>) -> Markup {
    alone(
        "Sign in",
        &html! {
            @if let Some(note) = note { div.note.is-warn.after role="alert" { p { (visible(note)) } } }
            @if has_keys {
                form method="post" action={ (BASE) "/login" } {
                    input type="hidden" name="to" value=(to);
                    @for (name, value) in typed { input type="hidden" name={ "typed-" (name) } value=(value); }
                    label.after for="key" { "Your key" }
                    input id="key" type="password" name="key" autocomplete="off" required;
                    div.bar.after { button.main-action { "Sign in" } }
                }
                p.small.quiet.after { "The operator makes one with " code { "tabellion key create" } "." }
            } @else {
                p { "People sign in by a link that holds once: run " code { "tabellion review --web" } " on the machine of the library." }
            }
            p.small.quiet.after { (NOT_PROTECTED) }
        },
    )
}

/// Returns the page of a link: a button, since previews of links fetch them.
pub(crate) fn linked(person: &Person, token: &str, to: &str) -> Markup {
    alone(
        "Sign in",
        &html! {
            p { "As " b { (visible(&person.name)) } ", by a link that holds once, for two minutes." }
            form method="post" action={ (BASE) "/login" } {
                input type="hidden" name="link" value=(token);
                input type="hidden" name="to" value=(to);
                div.bar.after { button.main-action autofocus { "Sign in as " (visible(&person.name)) } }
            }
            p.small.quiet.after { (NOT_PROTECTED) }
        },
    )
}

/// Returns the page of an expired link.
pub(crate) fn used_up() -> Markup {
    alone(
        "This link holds no more",
        &html! {
            p { "It was used, or is older than two minutes. " a href=(BASE) { "Go on" } " if you are signed in; else make a new one." }
        },
    )
}

/// Returns an empty page that reloads itself, from the page's own site.
pub(crate) fn again(place: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" { head { meta charset="utf-8"; meta http-equiv="refresh" content={ "0; url=" (place) }; title { "Tabellion" } } body {} }
    }
}
