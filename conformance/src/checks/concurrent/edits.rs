//! Edits with unique lines, their replies, and the required contents of documents, history and log afterwards.

use std::{collections::HashMap, path::Path};

use crate::{
    Own,
    checks::prelude::*,
    history::{self, lines_with},
    judgement::Shows,
    semantics, settled,
};

/// Maximum number of edits that a message names.
const MAX_SHOWN_NAMES: usize = 5;

/// A call that adds a unique line.
#[derive(Debug, Clone)]
pub(in crate::checks) struct Edit {
    /// Unique word in the line.
    pub(in crate::checks) token: String,
    pub(in crate::checks) call: Call,
    pub(in crate::checks) reply: Option<Reply>,
    /// Reason why the adapter could not derive the call from the documents on the disk.
    pub(in crate::checks) impossible: Option<String>,
}

impl Edit {
    /// Returns an edit that is not yet made.
    ///
    /// # Errors
    /// If the server has no tool for it.
    pub(in crate::checks) fn new(
        subject: &Subject,
        kind: EffectKind,
        path: &str,
        target: &str,
        token: &str,
    ) -> Result<Self, Stop> {
        let line = format!("- {token}\n");
        let content = match kind {
            EffectKind::Append => line,
            EffectKind::ReplaceSection => format!("{target}\n\n{line}\n"),
            _ => format!("# New\n\n{line}"),
        };
        let with = With { path, content: &content, target };
        let words = semantics::words(Some(kind));
        let call = subject.placed(kind, with);
        Ok(Self {
            token: token.to_owned(),
            call: call.ok_or_else(|| not_applicable(format!("the server has no tool for {words}")))?,
            reply: None,
            impossible: None,
        })
    }

    /// Returns an append that is not yet made, to the document at `path` or its [`place`](Subject::place).
    ///
    /// # Errors
    /// If the server has no tool for it.
    pub(in crate::checks) fn append(subject: &Subject, path: &str, token: &str) -> Result<Self, Stop> {
        Self::new(subject, EffectKind::Append, path, "", token)
    }

    pub(in crate::checks) fn is_done(&self) -> bool {
        matches!(self.reply, Some(Reply::Done(_)))
    }

    pub(in crate::checks) fn is_refused(&self) -> bool {
        matches!(self.reply, Some(Reply::Refused(_)))
    }

    /// Returns the commit id in the answer.
    pub(in crate::checks) fn commit(&self) -> Option<&str> {
        let done = self.reply.as_ref()?.done()?;
        done.response.pointer(self.call.tool.commit?)?.as_str()
    }

    /// Makes the call and waits for the reply.
    pub(in crate::checks) fn make(&mut self, client: &mut Client<'_>) -> Judgement {
        self.reply = Some(client.make(&self.call)?);
        Ok(())
    }
}

/// Ends the case if the adapter maps edits of this kind to calls that contain the whole document.
pub(in crate::checks) fn ensure_partial(subject: &Subject, kind: EffectKind) -> Judgement {
    let sends_whole =
        subject.tool_with(kind).is_some_and(|(tool, effect)| subject.adapter.sends_whole(tool, effect));
    if !sends_whole {
        return Ok(());
    }
    let why = "the adapter sends whole documents: what others write at the same time is lost by the client, not by the server";
    Err(not_applicable(why))
}

/// Sends all edits, then waits for all replies.
///
/// An edit that the adapter cannot derive is not made: an earlier one may have removed its section, for which the server is
/// judged.
pub(in crate::checks) fn make_concurrently(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    edits: &mut [Edit],
) -> Judgement {
    let mut sent = HashMap::new();
    for (number, edit) in edits.iter_mut().enumerate() {
        match client.post(edit.call.tool, &edit.call.arguments) {
            Ok(id) => drop(sent.insert(id, number)),
            Err(Stop::NotApplicable(why)) => edit.impossible = Some(why),
            Err(stop) => return Err(stop),
        }
    }
    while !sent.is_empty() {
        let message = client.receive()?;
        if let Some(number) = message["id"].as_i64().and_then(|id| sent.remove(&id)) {
            let edit = &mut edits[number];
            edit.reply = Some(bench.subject.adapter.reply(edit.call.tool, &message));
        }
    }
    Ok(())
}

/// Makes a last append to `path` through a new server, which must succeed; returns it.
///
/// The new server completes or undoes the others' unfinished changes.
pub(in crate::checks) fn make_last(bench: &Bench<'_>, scene: &Scene<'_>, path: &str) -> Result<Edit, Stop> {
    let mut last = Edit::append(bench.subject, path, "last")?;
    let mut client = scene.start()?;
    last.make(&mut client)?;
    match &last.reply {
        Some(Reply::Refused(refusal)) => Err(refused("an edit while no other client was active", refusal)),
        _ => Ok(last),
    }
}

/// Fails unless `text` contains the line of each acknowledged edit once, and of no refused one.
///
/// # Errors
/// The worst failure: lost edits first.
pub(in crate::checks) fn ensure_in_text(edits: &[Edit], path: &str, text: &str) -> Judgement {
    let times = |edit: &Edit| lines_with(&edit.token, text.lines());
    let done = edits.iter().filter(|edit| edit.is_done()).count();
    let fault = |wrong: &dyn Fn(&Edit) -> bool, what: &str| {
        let names: Vec<_> = edits.iter().filter(|edit| wrong(edit)).map(|edit| &*edit.token).collect();
        ensure(names.is_empty(), || {
            let some = names[..names.len().min(MAX_SHOWN_NAMES)].join(", ");
            let all = names.len();
            format!("{all} edits of `{path}` {what} ({some}); {done} were acknowledged")
        })
        .map_err(|stop| {
            let stop = stop.shows(Shows::Documents);
            stop.showing(path, Some(expected(edits, text).as_bytes()), Some(text.as_bytes()))
        })
    };
    fault(&|edit| edit.is_done() && times(edit) == 0, "were acknowledged, but are lost")?;
    fault(&|edit| edit.is_refused() && times(edit) > 0, "were refused, but are present")?;
    fault(&|edit| times(edit) > 1, "are present more than once")
}

/// Returns the text with the line of each acknowledged edit once, at the end, and of no other.
pub(in crate::checks) fn expected(edits: &[Edit], text: &str) -> String {
    let is_other = |line: &&str| edits.iter().all(|edit| lines_with(&edit.token, [*line]) == 0);
    let others = text.lines().filter(is_other).map(str::to_owned);
    let done = edits.iter().filter(|edit| edit.is_done());
    let lines = others.chain(done.map(|edit| format!("- {}", edit.token)));
    lines.map(|line| line + "\n").collect()
}

/// Fails unless exactly one commit in HEAD's history adds the line of each acknowledged edit, and no commit that of a refused
/// one.
///
/// # Errors
/// If the history does not match the replies.
pub(in crate::checks) fn ensure_in_history(
    bench: &Bench<'_>,
    root: &Path,
    own: &Own,
    edits: &[Edit],
) -> Judgement {
    if !bench.subject.should_commit() {
        return Ok(());
    }
    let commits = history::commits(root, &own.except(&["HEAD"]))?;
    for edit in edits {
        let Edit { token, .. } = edit;
        let of = |commit: &&history::Commit| lines_with(token, commit.added.iter().map(String::as_str)) > 0;
        let ids: Vec<_> = commits.iter().filter(of).map(|commit| &*commit.id).collect();
        if edit.is_done() {
            ensure(ids.len() == 1, || {
                format!(
                    "the edit {token} was acknowledged, but {} commits in HEAD's history add its line",
                    ids.len()
                )
            })?;
            if let Some(id) = edit.commit() {
                ensure(ids == [id], || {
                    format!("the answer to the edit {token} names commit {id}, but {} added its line", ids[0])
                })?;
            }
        } else {
            ensure(ids.is_empty(), || {
                format!("the edit {token} was refused, but commit {} adds its line", ids[0])
            })?;
        }
    }
    Ok(())
}

/// Fails unless the log contains the commit of each acknowledged edit once.
///
/// # Errors
/// If the log does not match the replies.
pub(in crate::checks) fn ensure_in_log(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    edits: &[Edit],
) -> Judgement {
    let Some(log) = settled::log(bench.subject, client)? else {
        return Ok(());
    };
    for (edit, commit) in edits.iter().filter_map(|edit| Some((edit, edit.commit()?))) {
        let times = log.iter().filter(|entry| *entry == commit).count();
        ensure(times == 1, || {
            let token = &edit.token;
            format!("the log contains the edit {token} (commit {commit}) {times} times")
        })?;
    }
    Ok(())
}
