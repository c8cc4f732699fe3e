//! A person's approval of exactly what a call is about to change.
//!
//! The runtime works out the change, lets others have their turns, shows it, and waits. Only then does it take a turn
//! again and work the change out once more; what would be published must be what was shown, byte for byte, else the
//! caller is told to repeat. Who is asked, and how, is an [`Approver`]'s affair.

use sha2::{Digest, Sha256};

use crate::{
    approver::{Approver, Proposal},
    failure::{Failure, FailureKind},
    spec::{Shows, ToolSpec},
    store::{Change, Content, Store},
};

/// What is to be shown of a call of `tool`; `None` where nobody need approve.
pub(crate) fn needed(tool: &ToolSpec, approver: Option<&dyn Approver>) -> Option<Shows> {
    match tool.approval {
        Some(approval) => Some(approval.shows),
        None => approver
            .is_some_and(|approver| approver.insists_on(tool))
            .then_some(Shows::Diff),
    }
}

/// The proposal to make `change` of a document that has the bytes `old`.
///
/// # Errors
/// How the change does more than append, where only that may be done.
pub(crate) fn proposal(
    tool: &'static ToolSpec,
    shows: Shows,
    store: &dyn Store,
    old: Option<&[u8]>,
    change: &Change,
) -> Result<Proposal, String> {
    let shown = match shows {
        Shows::Appended => str::from_utf8(appended(old, change)?)
            .map_err(|_| "what is appended is no text")?
            .to_owned(),
        Shows::Diff => store.difference(&change.path, old, bytes(change)),
    };
    Ok(Proposal {
        tool: tool.name,
        path: change.path.clone(),
        shown,
        digest: digest(tool, shows, old, change)?,
    })
}

/// The digest of that proposal. Of an appended text it is the same whatever the text comes after.
///
/// # Errors
/// As [`proposal`].
pub(crate) fn digest(
    tool: &ToolSpec,
    shows: Shows,
    old: Option<&[u8]>,
    change: &Change,
) -> Result<String, String> {
    let mut digest = Sha256::new();
    let mut add = |part: Option<&[u8]>| {
        // Absent and empty are two things.
        digest.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
        digest.update(part.unwrap_or_default());
    };
    add(Some(tool.name.as_bytes()));
    add(Some(change.path.as_bytes()));
    match shows {
        Shows::Appended => add(Some(appended(old, change)?)),
        Shows::Diff => {
            add(old);
            add(bytes(change));
        }
    }
    Ok(digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn bytes(change: &Change) -> Option<&[u8]> {
    match &change.content {
        Content::Write(bytes) => Some(bytes),
        Content::Delete => None,
    }
}

/// The text that is added. A line ending that only ends the last line of before is no part of it, so that it is the same
/// whether or not somebody has ended that line meanwhile.
fn appended<'c>(old: Option<&[u8]>, change: &'c Change) -> Result<&'c [u8], String> {
    let old = old.unwrap_or_default();
    let added = bytes(change)
        .and_then(|new| new.strip_prefix(old))
        .ok_or("a tool that may only append changes what was there")?;
    let is_open = !old.is_empty() && !old.ends_with(b"\n");
    let ending = [&b"\r\n"[..], b"\n"];
    let ended = ending.iter().find_map(|ending| added.strip_prefix(*ending));
    Ok(ended.filter(|_| is_open).unwrap_or(added))
}

/// Of a call that was not approved of.
pub(crate) fn declined(proposal: &Proposal, why: &str) -> Failure {
    Failure::new(FailureKind::Declined, format!("nothing was changed: {why}"))
        .with("path", proposal.path.as_str())
}

/// Of a call whose change has become another one while somebody was asked.
pub(crate) fn outdated(path: &str) -> Failure {
    let message = format!(
        "`{path}` has changed since approval was asked for, and what was shown is not what would happen now; repeat the \
         call"
    );
    Failure::new(FailureKind::Conflict, message).with("path", path)
}
