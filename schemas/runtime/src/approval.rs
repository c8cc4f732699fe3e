//! A person's approval of the exact change of a call.
//!
//! The runtime works out the change, ends its session, and waits for the [`Approver`]. Then it begins a session and works the change out
//! again: the change to publish must equal the approved one, byte for byte, else the caller must repeat the call.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::{
    approver::{Approver, Proposal},
    failure::{Failure, FailureKind},
    ground::Ground,
    spec::{Shows, ToolSpec},
    store::Store,
};

/// Returns the form of the proposal for a call of `tool`; `None` if approval is not needed.
pub(crate) fn needed(tool: &ToolSpec, approver: Option<&dyn Approver>) -> Option<Shows> {
    match tool.approval {
        Some(approval) => Some(approval.shows),
        None => approver.is_some_and(|approver| approver.insists_on(tool)).then_some(Shows::Diff),
    }
}

/// Makes the proposal of `change` to the state `before`.
///
/// # Errors
/// A description of the edit that is not an append, if the tool may only append.
pub(crate) fn proposal<G: Ground>(
    tool: &'static ToolSpec,
    shows: Shows,
    store: &dyn Store<G>,
    before: &G::Before,
    change: &G::Change,
) -> Result<Proposal, String> {
    let shown = match shows {
        Shows::Appended => G::appended(before, change)?,
        Shows::Diff => store.difference(before, change),
    };
    Ok(Proposal {
        tool: tool.label(),
        path: G::names(change).join(", "),
        effect: G::effect(before, change),
        shown,
        digest: digest::<G>(tool, shows, before, change)?,
    })
}

/// Returns the digest of that proposal. For an appended text, it does not depend on the existing text.
pub(crate) fn digest<G: Ground>(
    tool: &ToolSpec,
    shows: Shows,
    before: &G::Before,
    change: &G::Change,
) -> Result<String, String> {
    let mut parts = vec![Some(tool.label().as_bytes().into())];
    parts.extend(G::approved(before, change, shows)?);
    let mut digest = Sha256::new();
    for part in parts {
        let part = part.as_deref();
        // Absent differs from empty.
        digest.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
        digest.update(part.unwrap_or_default());
    }
    Ok(HEXLOWER.encode(&digest.finalize()))
}

/// The failure for a declined call.
pub(crate) fn declined(proposal: &Proposal, why: &str) -> Failure {
    Failure::new(FailureKind::Declined, format!("nothing was changed: {why}"))
        .with("path", proposal.path.as_str())
}

/// The failure for a call whose change has become a different one while a person decided.
pub(crate) fn outdated(path: &str) -> Failure {
    let message = format!(
        "`{path}` has changed since approval was asked for, and what was shown is not what would happen now; repeat the \
         call"
    );
    Failure::new(FailureKind::Conflict, message).with("path", path)
}
