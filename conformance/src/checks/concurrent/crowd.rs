//! Concurrent edits of the same documents, through one server process or several.

use std::path::PathBuf;

use super::edits::{self, Edit};
use crate::{
    check::counted,
    checks::prelude::*,
    crowd::at_once,
    judgement::{self, Shows},
    settled::{self, Baseline},
};

/// Document that edits append to.
const LIST: &str = "list.md";
/// Document with one section per edit.
const PARTS: &str = "parts.md";
/// Document that several servers create.
const NEW: &str = "notes/new.md";

/// Number of servers, and the concurrent edits of each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Crowd {
    servers: usize,
    /// Number of calls of each server.
    edits: usize,
    what: Activity,
    /// True if `servers` counts clients of one server instead.
    #[serde(default, rename = "is_one")]
    is_one_server: bool,
}

/// The edits that the servers make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Activity {
    /// All append to one document.
    Append,
    /// Each edit replaces a section of its own in one document.
    Sections,
    /// All create the same document.
    Create,
    /// All append to one document, and each server also to one of its own.
    Several,
}

impl Activity {
    /// Returns the [`place`](Subject::place) of a document for these edits.
    fn place(self, bench: &Bench<'_>, path: &str) -> String {
        let kind = match self {
            Self::Append | Self::Several => EffectKind::Append,
            Self::Sections => EffectKind::ReplaceSection,
            Self::Create => EffectKind::Write,
        };
        bench.subject.place(kind, path)
    }
}

impl Crowd {
    fn case(self) -> Case {
        let Self { servers, edits, .. } = self;
        let what = match self.what {
            Activity::Append => "append to one document",
            Activity::Sections => "replace sections of one document",
            Activity::Create => "create the same document",
            Activity::Several => "append to several documents",
        };
        let edits = counted(edits, "edit");
        let actors = if self.is_one_server {
            counted(servers, "client") + " of one server"
        } else {
            counted(servers, "server")
        };
        Case::new(format!("{actors}, {edits} each: {what}"), self)
    }
}

pub(super) fn cases(servers: usize, edits: usize, what: &[Activity]) -> Result<Vec<Case>, Stop> {
    let is_one_server = false;
    let case = |&what: &Activity| Crowd { servers, edits, what, is_one_server }.case();
    Ok(what.iter().map(case).collect())
}

/// Returns cases with several clients of one server, which requires HTTP.
pub(in crate::checks) fn cases_of_one_server(clients: usize, edits: usize) -> Result<Vec<Case>, Stop> {
    let crowd = |what| Crowd { servers: clients, edits, what, is_one_server: true };
    Ok([Activity::Append, Activity::Sections].map(|what| crowd(what).case()).into())
}

/// Returns cases with fewer servers and edits, several times each because the failure depends on timing.
pub(in crate::checks) fn shrink(case: &Case) -> Vec<Case> {
    const ATTEMPTS: usize = 4;
    let Ok(crowd) = case.read::<Crowd>() else {
        return Vec::new();
    };
    let all = crowd.servers * crowd.edits;
    let mut smaller: Vec<_> = [(1, 2), (2, 1), (1, 3), (3, 1), (1, 5), (2, 2), (2, 3), (1, 10)]
        .into_iter()
        .filter(|(servers, edits)| servers * edits < all && *servers <= crowd.servers.max(2))
        .map(|(servers, edits)| Crowd { servers, edits, ..crowd }.case())
        .collect();
    smaller.sort_by_key(|case| case.read::<Crowd>().map_or(0, |crowd| crowd.servers * crowd.edits));
    smaller.into_iter().flat_map(|case| vec![case; ATTEMPTS]).collect()
}

/// Returns the edits of each server.
fn edits_of(bench: &Bench<'_>, crowd: Crowd) -> Result<Vec<Vec<Edit>>, Stop> {
    let edit = |server: usize, number: usize| {
        let token = format!("s{server}-e{number}");
        let subject = bench.subject;
        match crowd.what {
            Activity::Append => Edit::append(subject, LIST, &token),
            Activity::Several if number.is_multiple_of(2) => Edit::append(subject, LIST, &token),
            Activity::Several => Edit::append(subject, &own_document(server), &token),
            Activity::Sections => {
                let target = heading(server * crowd.edits + number);
                Edit::new(subject, EffectKind::ReplaceSection, PARTS, &target, &token)
            }
            Activity::Create => Edit::new(subject, EffectKind::Write, NEW, "", &token),
        }
    };
    let of_server = |server| (0..crowd.edits).map(move |number| edit(server, number)).collect();
    (0..crowd.servers).map(of_server).collect()
}

/// Returns the path of the server's own document.
fn own_document(server: usize) -> String {
    format!("notes/own-{server}.md")
}

/// Returns the heading of the section of one edit.
fn heading(part: usize) -> String {
    format!("## Part {part}")
}

/// A library after concurrent edits.
struct CrowdResult<'a> {
    scene: Scene<'a>,
    before: Baseline,
    edits: Vec<Edit>,
}

/// Makes all edits concurrently.
fn run<'a>(bench: &Bench<'a>, crowd: Crowd) -> Result<CrowdResult<'a>, Stop> {
    let all = edits_of(bench, crowd)?;
    match crowd.what {
        Activity::Append | Activity::Several => edits::ensure_partial(bench.subject, EffectKind::Append)?,
        Activity::Sections => edits::ensure_partial(bench.subject, EffectKind::ReplaceSection)?,
        Activity::Create => {}
    }
    let parts =
        (0..crowd.servers * crowd.edits).map(|part| format!("{}\n\n- none {part}\n\n", heading(part)));
    let place = |path: &str| crowd.what.place(bench, path);
    let mut documents = vec![
        (place(LIST), "# List\n".to_owned()),
        (place(PARTS), format!("# Parts\n\n{}", parts.collect::<String>())),
    ];
    documents.extend((0..crowd.servers).map(|server| (place(&own_document(server)), "# Own\n".to_owned())));
    let documents: Vec<_> = documents.iter().map(|(path, text)| (&**path, text)).collect();
    let scene = bench.scene(&documents)?;
    let mut clients = vec![scene.start()?];
    for _ in 1..crowd.servers {
        let other = if crowd.is_one_server { clients[0].beside()? } else { scene.start()? };
        clients.push(other);
    }
    let before = Baseline::read(bench, &scene, &mut clients[0])?;
    let work = |(mut client, mut edits): (_, Vec<Edit>)| {
        // All clients stay connected until the end, because a server may exit with its client.
        edits::make_concurrently(bench, &mut client, &mut edits).map(|()| (client, edits))
    };
    let done = at_once(clients.into_iter().zip(all).collect(), work);
    scene.settle();
    let edits: Vec<_> = done?.into_iter().flat_map(|(_, edits)| edits).collect();
    let refused = edits.iter().filter(|edit| edit.is_refused()).count();
    let impossible: Vec<_> = edits.iter().filter_map(|edit| edit.impossible.as_ref()).collect();
    let made = edits.len() - impossible.len();
    bench.trace.did(format!("the server has answered all edits and refused {refused} of {made}"));
    if let (0, Some(why)) = (made, impossible.first()) {
        return Err(not_applicable(*why));
    }
    if let (true, Some(Reply::Refused(refusal))) =
        (refused == made, edits.iter().find_map(|it| it.reply.as_ref()))
    {
        return Err(judgement::refused(format!("each of {made} concurrent edits"), refusal));
    }
    Ok(CrowdResult { scene, before, edits })
}

/// Judges the documents first, then the commits, then the agreement of folder, index, HEAD and log.
pub(in crate::checks) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let case: Crowd = case.read()?;
    let CrowdResult { scene, before, edits } = run(bench, case)?;
    let place = |path: &str| case.what.place(bench, path);
    let text = |path: &str| String::from_utf8_lossy(&scene.read(path).unwrap_or_default()).into_owned();
    match case.what {
        Activity::Create => ensure_one_of(&edits, &text(&place(NEW)))?,
        Activity::Sections => ensure_parts(&edits, &text(&place(PARTS)))?,
        Activity::Append => ensure_list(&edits, LIST, &text(&place(LIST)))?,
        Activity::Several => {
            let paths = [LIST.to_owned()].into_iter().chain((0..case.servers).map(own_document));
            for path in paths {
                let path = place(&path);
                let of = |edit: &&Edit| edit.call.path() == path;
                let edits: Vec<_> = edits.iter().filter(of).cloned().collect();
                ensure_list(&edits, &path, &text(&path))?;
            }
        }
    }
    edits::ensure_in_history(bench, &scene.library(), scene.own(), &edits)
        .map_err(|stop| stop.shows(Shows::Commits))?;
    let mut client = scene.start()?;
    let done = edits.iter().filter(|edit| edit.is_done()).count();
    let mut files = before.view.library.files.clone();
    let found = scene.files()?;
    for edit in &edits {
        let path = PathBuf::from(edit.call.path());
        let file = found.get(&path).cloned();
        files.extend(file.map(|file| (path.to_owned(), file)));
    }
    before.judge(bench, &scene, &mut client, &files, done)
}

/// Judges the log only: through every server it must list the commits in order.
pub(super) fn judge_log(bench: &Bench<'_>, case: &Case) -> Judgement {
    if settled::log_tool(bench.subject).is_none() {
        return Err(not_applicable("the server has no log"));
    }
    let CrowdResult { scene, before, edits } = run(bench, case.read()?)?;
    let done = edits.iter().filter(|edit| edit.is_done()).count();
    let mut clients = [scene.start()?, scene.start()?];
    let mut logs = Vec::new();
    for client in &mut clients {
        logs.push(settled::log(bench.subject, client)?.unwrap_or_default());
    }
    settled::ensure_logged(&before.log.clone().unwrap_or_default(), &logs[0], done)?;
    edits::ensure_in_log(bench, &mut clients[0], &edits)?;
    ensure(logs[0] == logs[1], || "two servers return different logs".into())?;
    if bench.subject.should_commit() {
        let mut commits = before.commits_since(&scene)?;
        commits.reverse();
        let new = &logs[0][logs[0].len() - done..];
        ensure(new == commits, || "the log's entries are not the commits, oldest first".into())?;
    }
    Ok(())
}

/// Returns the lines that are not blank.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim().is_empty()).collect()
}

/// Fails unless the document is a heading followed by the lines of the acknowledged appends.
fn ensure_list(edits: &[Edit], path: &str, text: &str) -> Judgement {
    edits::ensure_in_text(edits, path, text)?;
    let done = edits.iter().filter(|edit| edit.is_done()).count();
    let is_line = |line: &&&str| line.starts_with("- ");
    let others = lines(text).iter().skip(1).filter(|line| !is_line(line)).count();
    ensure(lines(text).len() == done + 1 && others == 0, || {
        format!("`{path}` has lines that no call wrote, or lacks its heading")
    })
    .map_err(|stop| {
        stop.shows(Shows::Documents).showing(
            path,
            Some(edits::expected(edits, text).as_bytes()),
            Some(text.as_bytes()),
        )
    })
}

/// Fails unless each section has the line of its acknowledged edit, or its initial line.
fn ensure_parts(edits: &[Edit], text: &str) -> Judgement {
    edits::ensure_in_text(edits, PARTS, text)?;
    let parts = edits.iter().enumerate().flat_map(|(part, edit)| {
        let line = if edit.is_done() { format!("- {}", edit.token) } else { format!("- none {part}") };
        [heading(part), line]
    });
    let expected: Vec<_> = ["# Parts".to_owned()].into_iter().chain(parts).collect();
    ensure(lines(text) == expected, || {
        format!("the sections of `{PARTS}` do not match the acknowledged edits")
    })
    .map_err(|stop| {
        stop.shows(Shows::Documents).showing(
            PARTS,
            Some(expected.join("\n").as_bytes()),
            Some(text.as_bytes()),
        )
    })
}

/// Fails unless the new document is the text of an acknowledged call.
fn ensure_one_of(edits: &[Edit], text: &str) -> Judgement {
    let content = |edit: &Edit| format!("# New\n\n- {}\n", edit.token);
    if edits.iter().any(|edit| edit.is_done() && content(edit) == text) {
        return Ok(());
    }
    let what = if edits.iter().any(|edit| content(edit) == text) {
        "the text of a refused call"
    } else {
        "a text of no call"
    };
    Err(fail(format!("`{NEW}` was created by several servers and contains {what}"))
        .shows(Shows::Documents)
        .showing(
            NEW,
            edits.iter().find(|edit| edit.is_done()).map(content).as_deref().map(str::as_bytes),
            Some(text.as_bytes()),
        ))
}
