//! Proposals: the list, one with its parts, and decisions.

use maud::{Markup, html};

use super::{
    Answer, Cx, Frame, counted, diff,
    diff::{CONTEXT, Hunk, Sides},
    line_counts, news, notes, pager, short,
};
use crate::{
    data::{Decision, ListFilter, Part, Problem, Proposal, ProposalRow, Remark, Seen, Which},
    form::escaped,
    reading::{compared, controls::visible, looks, prose},
    sign_in::random,
};

/// Maximum number of proposals on a page.
const LIMIT: usize = 100;
/// Maximum number of characters of a line that a remark quotes.
const MAX_QUOTE: usize = 500;
const LIST_KEYS: &[(&str, &str)] = &[("j", "next"), ("k", "previous"), ("o", "open")];
const KEYS: &[(&str, &str)] = &[
    ("j", "next part"),
    ("k", "previous part"),
    ("t", "take the part"),
    ("x", "leave it: it goes back"),
    ("c", "remark"),
    ("a", "to the approval; Enter presses it"),
    ("s", "to “Send back”"),
    ("r", "to “Reject”"),
];

/// Lists proposals.
pub(crate) fn list(cx: &Cx<'_>) -> Result<Answer, Problem> {
    let asked = cx.query.filled("which");
    let all = [Which::WithAgents, Which::Approved, Which::Rejected];
    let which = all.into_iter().find(|which| word(*which) == asked).unwrap_or_default();
    let filter = ListFilter {
        which,
        agent: cx.query.filled("agent").map(str::to_owned),
        note: cx.query.filled("note").map(str::to_owned),
        offset: cx.query.number("from").unwrap_or_default(),
        limit: LIMIT,
    };
    let found = cx.source.proposals(&cx.visitor.person, &filter)?;
    let [waiting, with_agents, approved, rejected] = found.counts;
    // The filters are kept from tab to tab, and from page to page.
    let place = |this: Which| {
        let filters =
            [("which", word(this)), ("agent", filter.agent.as_deref()), ("note", filter.note.as_deref())];
        let given = filters.iter().filter_map(|(name, value)| Some(format!("{name}={}", escaped((*value)?))));
        format!("{}?{}", cx.url("review"), given.collect::<Vec<_>>().join("&"))
    };
    let tab = |this: Which, name: &str, count: usize| {
        html! {
            a href=(place(this).trim_end_matches('?')) aria-current=[(which == this).then_some("true")] { (name) " " (count) }
        }
    };
    let done = cx.query.get("done");
    let content = html! {
        div.bar {
            h1 { "Proposals" } span.push {}
            nav.tabs aria-label="Which" {
                (tab(Which::Waiting, "Wait for a review", waiting))
                (tab(Which::WithAgents, "With their authors", with_agents))
                (tab(Which::Approved, "Approved", approved))
                (tab(Which::Rejected, "Rejected", rejected))
            }
        }
        p.quiet { "What agents and people have proposed. None of it is in the library before a person approves it." }
        @if let Some(agent) = &filter.agent {
            p.small { "Only those of " b { (visible(agent)) } ". " a href=(cx.url("review")) { "All" } }
        }
        @if let Some(note) = &filter.note {
            p.small { "Only those of the note " code { (visible(note.get(..8).unwrap_or(note))) } ". " a href=(cx.url("review")) { "All" } }
        }
        @if let (Some(id), Some(commit)) = (done, cx.query.get("commit")) {
            div.note role="status" { p { "Decided: " @if cx.may.read { a href=(cx.url(&format!("log/{}", escaped(commit)))) { "the commit " (short(commit)) } } @else { "the commit " code { (short(commit)) } } ". "
                a href=(cx.url(&format!("review/{}", escaped(id)))) { "The proposal" } } }
        }
        (news("Show"))
        @if found.rows.is_empty() { (nothing(which)) }
        @else {
            ol.rows aria-label="Proposals" { @for row in &found.rows { (listed(cx, row)) } }
            p.quiet.small.after { (found.rows.len()) " of " (found.total) ". Decisions are made one at a time, on the page that shows the change." }
            (pager(place(which).trim_end_matches('?'), filter.offset, LIMIT, found.total))
        }
    };
    Answer::page(cx.framed(
        &Frame {
            title: "Proposals",
            entry: "review",
            watches: Some(String::new()),
            done: done.map(|id| cx.url(&format!("review/{id}"))),
            waiting: Some(waiting),
            keys: LIST_KEYS,
        },
        &content,
    ))
}

/// Returns the name of a list in URLs; `None` for the first.
fn word(which: Which) -> Option<&'static str> {
    match which {
        Which::Waiting => None,
        Which::WithAgents => Some("agents"),
        Which::Approved => Some("approved"),
        Which::Rejected => Some("rejected"),
    }
}

fn nothing(which: Which) -> Markup {
    html! { div.card.after { @match which {
        Which::Waiting => {
            h2 { "Nothing waits" }
            p { "No agent has written anything that waits for you. What agents write appears here." }
        }
        Which::WithAgents => p { "No proposal is with its author." }
        Which::Approved => p { "Nothing was approved yet." },
        Which::Rejected => p { "Nothing was rejected yet." }
    } } }
}

fn listed(cx: &Cx<'_>, row: &ProposalRow) -> Markup {
    html! {
        li data-stop id={ "p-" (row.id) } {
            div {
                h2 { a href=(cx.url(&format!("review/{}", row.id))) { (visible(&row.title)) } " " (tags(row)) }
                @if let Some(reason) = &row.reason { p { (visible(reason)) } }
                p.meta {
                    @if let Some(path) = &row.path { span { (visible(path)) } }
                    span { @if let Some(agent) = &row.agent { a href={ (cx.url("review")) "?agent=" (escaped(agent)) } { (visible(&row.author)) } } @else { (visible(&row.author)) } }
                }
            }
            div.end.num { @if let Some(lines) = row.lines { (line_counts(lines)) } }
            div.end.quiet.num { (cx.time(row.changed_at)) }
        }
    }
}

fn tags(row: &ProposalRow) -> Markup {
    html! {
        @if row.seen == Seen::Earlier { span.tag.is-new { "revised since you looked" } " " }
        @if row.seen == Seen::Never && row.state != "approved" && row.state != "rejected" { span.tag.is-new { "new to you" } " " }
        @if row.stale { span.tag.is-warn { "stale: the note has changed" } " " }
        @if row.new_note { span.tag { "new note" } }
    }
}

/// Shows a proposal.
pub(crate) fn show(cx: &Cx<'_>, id: &str) -> Result<Answer, Problem> {
    let proposal = cx.source.proposal(&cx.visitor.person, id)?;
    Answer::page(shown(cx, &proposal, None))
}

/// Decides on a proposal as it was shown, or shows a preview of a partial approval.
pub(crate) fn decide(cx: &Cx<'_>, id: &str) -> Result<Answer, Problem> {
    let again = |problem: &Problem| -> Result<Answer, Problem> {
        let proposal = cx.source.proposal(&cx.visitor.person, id)?;
        Ok(Answer::Page(super::status(problem), shown(cx, &proposal, Some(problem))))
    };
    if !cx.may.decide {
        return again(&Problem::Forbidden("Your key may not decide; nothing was done.".into()));
    }
    let on = match cx.fields.get("decision") {
        Some(on @ ("approve" | "needs_revision" | "reject" | "withdraw")) => on,
        _ => return again(&Problem::Refused("Choose a decision; nothing was done.".into())),
    };
    let (taken, left) = parts(cx);
    let is_part = on == "approve" && !left.is_empty();
    if is_part && taken.is_empty() {
        return again(&Problem::Refused(
            "Nothing is taken: send it back, or reject it. Nothing was done.".into(),
        ));
    }
    let text = |name| cx.fields.filled(name).map(str::to_owned);
    let decision = Decision {
        id: id.into(),
        on: if is_part { "approve_part".into() } else { on.into() },
        notes: text("notes"),
        revision: text("revision").unwrap_or_default(),
        over: text("over"),
        parts: if is_part { taken } else { vec![] },
        remarks: remarks(cx, id)?,
        key: text("key").unwrap_or_default(),
    };
    if is_part && cx.fields.get("sure").is_none() {
        return match cx.source.preview(&cx.visitor.person, &decision) {
            Ok(_) => preview(cx, &decision),
            Err(problem) => again(&problem),
        };
    }
    match cx.source.decide(&cx.visitor.person, &decision) {
        Ok(commit) => Ok(Answer::SeeOther(format!(
            "{}?done={}&commit={}",
            cx.url("review"),
            escaped(id),
            escaped(&commit)
        ))),
        Err(problem @ (Problem::Moved(_) | Problem::Refused(_) | Problem::Forbidden(_))) => again(&problem),
        Err(problem) => Err(problem),
    }
}

/// Returns the numbers of the parts that a form approves and rejects. A choice is about one part, `part-3`, or several, `part-3-5`.
fn parts(cx: &Cx<'_>) -> (Vec<usize>, Vec<usize>) {
    let (mut taken, mut left) = (vec![], vec![]);
    for (numbers, choice) in cx.fields.beginning("part-") {
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>())
            && last < first.saturating_add(100_000)
        {
            let chosen = if choice == "take" { &mut taken } else { &mut left };
            chosen.extend(first..=last);
        }
    }
    for numbers in [&mut taken, &mut left] {
        numbers.sort_unstable();
        numbers.dedup();
    }
    (taken, left)
}

/// Returns the remarks in a form, with side and line from each field's name, and with the text of the line.
fn remarks(cx: &Cx<'_>, id: &str) -> Result<Vec<Remark>, Problem> {
    let all = cx.fields.beginning("remark-").filter(|(_, text)| !text.trim().is_empty());
    let all: Vec<_> = all.collect();
    if all.is_empty() {
        return Ok(vec![]);
    }
    let proposal = cx.source.proposal(&cx.visitor.person, id)?;
    let remark = |(name, text): (&str, &str)| {
        let line: usize = name.strip_prefix(['n', 'o'])?.parse().ok()?;
        let old = name.starts_with('o');
        let side = if old { &proposal.before } else { &proposal.after };
        let quote = side.as_deref().and_then(|side| side.lines().nth(line.checked_sub(1)?));
        Some(Remark {
            old,
            line,
            quote: quote.unwrap_or_default().chars().take(MAX_QUOTE).collect(),
            text: text.trim().to_owned(),
        })
    };
    Ok(all.into_iter().filter_map(remark).collect())
}

/// Shows the result of a partial approval.
fn preview(cx: &Cx<'_>, decision: &Decision) -> Result<Answer, Problem> {
    let proposal = cx.source.proposal(&cx.visitor.person, &decision.id)?;
    let preview = cx.source.preview(&cx.visitor.person, decision)?;
    let all = proposal.parts.len();
    let title = format!("Approve {} of {all} parts", decision.parts.len());
    let action = cx.path;
    let before = preview.before.as_deref().unwrap_or_default();
    let content = html! {
        p.path { a href=(cx.url("review")) { "Proposals" } a href=(action) { (visible(&proposal.row.title)) } span { "preview" } }
        h1 { (title) }
        p.quiet { "This is the commit, byte for byte, and the message to the author. Nothing has happened yet." }
        div.split {
            div {
                h2 { "The note becomes version " (proposal.version) }
                @match &preview.after { Some(after) => (diff::texts(before, after)), None => p { "No file changes." } }
                details.after { summary { "The commit's message" } pre.sheet { (visible(&preview.message)) } }
            }
            aside aria-label="Message and decision" {
                section.card aria-labelledby="msg-title" { h2 id="msg-title" { "Goes back to the author" } pre.sheet { (visible(&preview.answer)) } }
                form.card.decide method="post" action=(action) {
                    h2 { "Exactly this?" }
                    (cx.token(action))
                    input type="hidden" name="sure" value="yes";
                    @for (name, value) in cx.fields.all().filter(|(name, _)| !["form", "sure"].contains(name)) {
                        input type="hidden" name=(name) value=(value);
                    }
                    div class="do" {
                        button.main-action id="approve" { "Approve, send back the rest" }
                        a.button href=(action) { "Back" }
                    }
                }
            }
        }
    };
    Answer::page(cx.framed(
        &Frame { title: &title, entry: "review", keys: &[("a", "to the button")], ..Frame::default() },
        &content,
    ))
}

/// State of a proposal that was sent back.
const WITH_AGENT: &str = "needs_revision";

/// Display form of a proposal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Rendered,
    Whole,
}

fn shown(cx: &Cx<'_>, proposal: &Proposal, problem: Option<&Problem>) -> Markup {
    let action = cx.url(&format!("review/{}", proposal.row.id));
    let form = match cx.query.get("as") {
        Some("rendered") => Form::Rendered,
        Some("whole") => Form::Whole,
        _ => Form::Text,
    };
    let earlier = proposal.earlier.as_deref().filter(|_| cx.query.get("against") == Some("seen"));
    let moved = matches!(problem, Some(Problem::Moved(_)));
    let may_decide = proposal.open && cx.may.decide;
    let may_end = cx.may.decide && proposal.row.state == WITH_AGENT;
    let row = &proposal.row;
    let links = |target: &str| notes::linked(cx, row.path.as_deref().unwrap_or_default(), target);
    let tab = |query: &str, name: &str, is_this: bool| {
        html! {
            a href={ (action) (query) } aria-current=[is_this.then_some("true")] { (name) }
        }
    };
    let content = html! {
        p.path {
            a href=(cx.url("review")) { "Proposals" }
        }
        div.bar { h1 { (visible(&row.title)) } span.tag.is-new { (state(&row.state)) } " " (tags_of_shown(row)) }
        p.quiet.dots {
            span { "by " b { (visible(&row.author)) } ", " (cx.time(row.changed_at)) }
            @if let Some(path) = &row.path { span { @if cx.may.read && !row.new_note { a href=(cx.note(path)) { (visible(path)) } } @else { (visible(path)) } } }
            @if let Some(lines) = row.lines { span.num { (line_counts(lines)) } }
        }
        @if let Some(reason) = &row.reason { blockquote.says { p { (visible(reason)) } cite { (visible(&row.author)) } } }
        @if let Some(problem) = problem { div.note.is-warn role="alert" { p { (visible(problem.sentence())) } p { "What you typed is below." } } }
        @if row.stale && proposal.open {
            div.note.is-warn { p { "The note has changed since this was proposed. It can be sent back or rejected, not approved." } }
        }
        (news("Show what changed"))
        div.split {
            form id="decision" method="post" action=(action) data-revision=(short(&proposal.revision)) data-moved=[moved.then_some("yes")] {
                (cx.token(&action))
                input type="hidden" name="revision" value=(proposal.revision);
                input type="hidden" name="over" value=[proposal.over.as_deref()];
                input type="hidden" name="key" value=(cx.fields.filled("key").map_or_else(random::<16>, str::to_owned));
                div.bar {
                    @if proposal.earlier.is_some() {
                        nav.tabs aria-label="Compared with" { (tab("?against=seen", "Since you looked", earlier.is_some())) (tab("", "The note", earlier.is_none())) }
                    }
                    nav.tabs aria-label="Shown as" {
                        (tab("", "Text", form == Form::Text && !beside(cx)))
                        @if earlier.is_none() { span.wide { (tab("?columns=2", "Side by side", form == Form::Text && beside(cx))) } }
                        (tab("?as=rendered", "Rendered", form == Form::Rendered)) (tab("?as=whole", "Whole note", form == Form::Whole))
                    }
                }
                (worth_a_look(proposal))
                @match (form, earlier, proposal.after.as_deref()) {
                    (_, _, None) => (unshowable(proposal)),
                    (Form::Rendered, _, Some(after)) => { (compared::compared(proposal.before.as_deref().unwrap_or_default(), after, &links)) (all_taken(proposal, may_decide)) }
                    (Form::Whole, _, Some(after)) => { div.hunk { div.prose { (prose::prose(after, &links)) } } (all_taken(proposal, may_decide)) }
                    (Form::Text, Some(earlier), Some(after)) => { (diff::texts(earlier, after)) (all_taken(proposal, may_decide)) }
                    (Form::Text, None, Some(after)) => (parts_shown(cx, proposal, after, may_decide)),
                }
            }
            aside aria-label="Decision and facts" {
                @if may_decide { (decision(cx, proposal)) }
                @else if may_end { (ending(proposal)) }
                @else if proposal.open { section.card { h2 { "Waits for a reviewer" } p.quiet { "Your key may not decide on proposals." } } }
                @if !may_decide { (typed(cx)) }
                @if let Some(notes) = &proposal.notes { section.card { h2 { "A reviewer wrote" } pre.sheet { (visible(notes)) } } }
                (course(cx, proposal))
            }
        }
        @if may_decide { div.jump { span id="jump-text" { (counted(proposal.parts.len(), "part")) } a.button href="#decide" { "Decide" } } }
        template id="remark" { tr.talk { td colspan="4" { div.remark {
            label { "Your remark on " span {} } textarea data-remark rows="3" {}
            div.bar { button.small type="button" { "Remove" } span.quiet.small { "Kept here until you decide; the author sees it then." } }
        } } } }
    };
    let watches = format!("&id={}&revision={}", escaped(&row.id), escaped(&proposal.shown));
    cx.framed(
        &Frame { title: &row.title, entry: "review", watches: Some(watches), keys: KEYS, ..Frame::default() },
        &content,
    )
}

/// Shows typed text that can't be sent any more.
fn typed(cx: &Cx<'_>) -> Markup {
    let remarks = cx.fields.beginning("remark-").map(|(_, text)| text);
    let typed = cx.fields.filled("notes").into_iter().chain(remarks);
    let typed: Vec<_> = typed.filter(|text| !text.trim().is_empty()).collect();
    html! { @if !typed.is_empty() {
        section.card { h2 { "What you typed" } @for text in typed { pre.sheet { (text) } } }
    } }
}

fn tags_of_shown(row: &ProposalRow) -> Markup {
    html! {
        @if row.new_note { span.tag { "new note" } }
        @if row.stale { span.tag.is-warn { "stale" } }
    }
}

fn state(state: &str) -> &str {
    match state {
        "human_review" => "waits for a review",
        WITH_AGENT => "with its author",
        other => other,
    }
}

fn worth_a_look(proposal: &Proposal) -> Markup {
    let after = proposal.after.as_deref().unwrap_or_default();
    let before = proposal.before.as_deref().unwrap_or_default();
    let looks = looks::looks(before, after);
    html! { @if !looks.is_empty() {
        div.note.is-warn { h2 { @if looks.len() == 1 { "One thing is worth a look" } @else { (looks.len()) " things are worth a look" } }
            ul { @for look in &looks { li { a href={ "#n" (look.line) } { "Line " (look.line) } ": " (look.sentence()) } } }
        }
    } }
}

/// Explains why a proposal has no text.
fn unshowable(proposal: &Proposal) -> Markup {
    html! { div.note {
        @if proposal.withheld { p { "It is sensitive: an owner decides on it." } }
        @else if proposal.open { p { "What it would change can't be shown as things are. It can be sent back or rejected." } }
        @else { p { "It was decided; its text is in the note, or in the history." } }
    } }
}

/// The fields of a form without parts: all are approved.
fn all_taken(proposal: &Proposal, may_decide: bool) -> Markup {
    html! { @if may_decide && !proposal.parts.is_empty() { input type="hidden" name={ "part-1-" (proposal.parts.len()) } value="take"; } }
}

/// Returns true if old lines are to be shown next to new ones.
fn beside(cx: &Cx<'_>) -> bool {
    cx.query.get("columns") == Some("2")
}

fn parts_shown(cx: &Cx<'_>, proposal: &Proposal, after: &str, may_decide: bool) -> Markup {
    let before = proposal.before.as_deref().unwrap_or_default();
    let mut sides = Sides::new(before, after, &proposal.parts);
    sides.beside = beside(cx);
    let gap = if cx.query.get("split").is_some() { None } else { Some(CONTEXT) };
    let hunks = sides.hunks(&proposal.parts, gap);
    let below = |side: char, line: usize| below(cx, proposal, side, line, may_decide);
    let mut end = 0;
    let drawn: Vec<_> = hunks
        .iter()
        .map(|hunk| {
            let between = hunk.new.start.saturating_sub(end);
            end = hunk.new.end;
            html! {
                @if between > 0 && proposal.row.new_note { (front_matter_of_new(&sides, between, &below)) }
                @else if between > 0 { p.between { a href="?as=whole" { (counted(between, "unchanged line")) } } }
                (hunk_shown(cx, proposal, &sides, hunk, may_decide, &below))
            }
        })
        .collect();
    let has_joined = gap.is_some() && hunks.iter().any(|hunk| hunk.parts.len() > 1);
    html! {
        @if hunks.is_empty() { p.quiet { "No line differs." } }
        @if has_joined { p.small.quiet { "Changes close to each other are shown as one. " a href="?split=1" { "Show each by itself" } } }
        @for hunk in &drawn { (hunk) }
    }
}

/// Shows the front matter of a new note, its first lines, which is no part.
fn front_matter_of_new(sides: &Sides<'_>, lines: usize, below: diff::Below<'_>) -> Markup {
    let parts = [Part { old: 0..0, new: 0..lines, front_matter: true }];
    let hunk = Hunk { parts: 0..1, old: 0..0, new: 0..lines };
    html! {
        section.hunk {
            header { h2 { "Front matter" } }
            p.small.quiet.set { "It comes with each part that is taken." }
            (sides.table("Front matter", &hunk, &parts, false, below))
        }
    }
}

fn hunk_shown(
    cx: &Cx<'_>,
    proposal: &Proposal,
    sides: &Sides<'_>,
    hunk: &Hunk,
    may_decide: bool,
    below: diff::Below<'_>,
) -> Markup {
    let parts = &proposal.parts;
    let (first, last) = (hunk.parts.start + 1, hunk.parts.end);
    let title = if parts[hunk.parts.start].front_matter {
        "Front matter".into()
    } else {
        heading(&sides.new, parts[hunk.parts.start].new.start..hunk.new.end)
    };
    let numbers = if first == last { format!("part {first}") } else { format!("parts {first} to {last}") };
    let field = if first == last { format!("part-{first}") } else { format!("part-{first}-{last}") };
    let is_left = cx.fields.get(&field) == Some("leave");
    let table = sides.table(&format!("{numbers}, {title}"), hunk, parts, may_decide, below);
    html! {
        section.hunk id=(field) data-stop tabindex="-1" aria-labelledby={ (field) "-title" } {
            header {
                h2 id={ (field) "-title" } { (visible(&title)) }
                span.quiet.small { (numbers) " of " (parts.len()) @if !hunk.new.is_empty() { ", lines " (hunk.new.start + 1) " to " (hunk.new.end) } }
                span.push {}
                @if may_decide {
                    fieldset.choice {
                        legend.vh { (numbers) ", " (visible(&title)) }
                        label { input type="radio" name=(field) value="take" checked[!is_left]; "Take" }
                        label.out { input type="radio" name=(field) value="leave" checked[is_left]; "Leave" }
                    }
                }
            }
            @if parts[hunk.parts.start].front_matter { p.small.quiet.set { "The approval sets " code { "version" } " and " code { "reviewed_by" } ", whatever is taken." } }
            p.goes-back { "The note stays here as it is. This part goes back to the author, with your remarks." }
            @if sides.is_short { (table) }
            @else { details { summary { (line_counts(counts(&parts[hunk.parts.clone()]))) } (table) } }
        }
    }
}

fn counts(parts: &[Part]) -> (usize, usize) {
    let sum = |side: fn(&Part) -> usize| parts.iter().map(side).sum();
    (sum(|part| part.new.len()), sum(|part| part.old.len()))
}

/// Returns the last heading at or above the first change of a hunk.
fn heading(lines: &[&str], hunk: std::ops::Range<usize>) -> String {
    let end = hunk.end.min(lines.len());
    let level = |line: &str| {
        let signs = line.bytes().take_while(|byte| *byte == b'#').count();
        ((1..=6).contains(&signs) && line[signs..].starts_with(' ')).then_some(signs)
    };
    let inside = lines[hunk.start.min(end)..end].iter().find(|line| level(line).is_some());
    let above = || lines[..hunk.start.min(end)].iter().rev().find(|line| level(line).is_some());
    let first = lines.get(hunk.start).filter(|line| level(line).is_some());
    let found = first.or_else(above).or(inside);
    found.map_or_else(|| "Beginning".into(), |line| line.trim_start_matches('#').trim().to_owned())
}

/// Returns the markup below a line: earlier remarks, and the field of a new one.
fn below(cx: &Cx<'_>, proposal: &Proposal, side: char, line: usize, may_decide: bool) -> Option<Markup> {
    let earlier = proposal.remarks.iter().filter(|remark| remark.old == (side == 'o') && remark.line == line);
    let earlier: Vec<_> = earlier.collect();
    let name = format!("remark-{side}{line}");
    let typed = cx.fields.get(&name).unwrap_or_default();
    let is_asked = cx.query.get("remark").is_some_and(|anchor| anchor == &name["remark-".len()..]);
    let has_field = may_decide && (is_asked || !typed.is_empty());
    if earlier.is_empty() && !has_field {
        return None;
    }
    let place = if side == 'o' { format!("old line {line}") } else { format!("line {line}") };
    Some(html! {
        @for remark in earlier { div.remark { p.by { b { "A reviewer" } " wrote" } p { (visible(&remark.text)) } } }
        @if has_field {
            div.remark {
                label for=(name) { "Your remark on " (place) }
                textarea id=(name) name=(name) data-remark rows="3" { (typed) }
                p.quiet.small { "Kept here until you decide; the author sees it then." }
            }
        }
    })
}

/// Returns the form that ends a proposal that was sent back, for an agent that never returns.
fn ending(proposal: &Proposal) -> Markup {
    html! {
        section.card.decide aria-labelledby="decide-title" {
            h2 id="decide-title" { "With its author" }
            p.quiet { "It was sent back, and waits until its author revises it. If that never happens, reject it: others can then change the note." }
            label for="word" { "A word to " (visible(&proposal.row.author)) }
            textarea id="word" name="notes" form="decision" rows="3" {}
            div class="do" { button.danger id="reject" form="decision" name="decision" value="reject" { "Reject" } }
        }
    }
}

fn decision(cx: &Cx<'_>, proposal: &Proposal) -> Markup {
    let author = &proposal.row.author;
    let over = proposal.over.as_deref().map(short);
    let ready =
        if proposal.row.stale { "The note has changed since. Please propose it anew over that." } else { "" };
    let typed = cx.fields.get("notes").unwrap_or(ready);
    html! {
        section.card.decide id="decide" aria-labelledby="decide-title" {
            h2 id="decide-title" { "Decide on revision " code { (short(&proposal.revision)) } }
            label for="word" { "A word to " (visible(author)) " " span.quiet { "(an approval needs none)" } }
            textarea id="word" name="notes" form="decision" rows="3" { (typed) }
            p.small.quiet data-remarks { "Remarks go with it." }
            div class="do" {
                @if !proposal.row.stale && proposal.after.is_some() {
                    button.main-action id="approve" form="decision" name="decision" value="approve" aria-keyshortcuts="a" { "Approve what is taken" }
                }
                button id="send-back" form="decision" name="decision" value="needs_revision" aria-keyshortcuts="s" { "Send back" }
                button.danger id="reject" form="decision" name="decision" value="reject" aria-keyshortcuts="r" { "Reject" }
            }
            p.small.quiet { "You decide on exactly this: revision " code { (short(&proposal.revision)) }
                @if let Some(over) = over { " over the note " code { (over) } } @else { ", a new note" }
                ". If either moves before you press, nothing happens, and you are shown what moved." }
        }
    }
}

fn course(cx: &Cx<'_>, proposal: &Proposal) -> Markup {
    html! {
        @if !proposal.course.is_empty() {
            section.card aria-labelledby="course-title" { h2 id="course-title" { "Course" }
                ol.steps { @for (sentence, time) in &proposal.course { li { (visible(sentence)) ", " (cx.time(*time)) } } }
            }
        }
        section.card aria-labelledby="facts-title" { h2 id="facts-title" { "Facts" }
            dl.facts {
                dt { "Proposal" } dd.mono { (proposal.row.id.get(..8).unwrap_or(&proposal.row.id)) }
                dt { "Note" } dd.mono { a href={ (cx.url("review")) "?note=" (escaped(&proposal.note_id)) } { (proposal.note_id.get(..8).unwrap_or(&proposal.note_id)) } }
                dt { "Would be" } dd { "version " (proposal.version) }
            }
        }
    }
}
