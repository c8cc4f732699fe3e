//! The form that a person sees: the effect on the file, and the exact text. It has no fields: accepting it approves the change.

use std::collections::BTreeMap;

use rmcp::model::{ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest};
use tabellion_runtime::{Proposal, ProposedEffect, Shows, text::visible};

/// Size limit of the text shown, in bytes: a person can't review more.
pub(super) const MAX_SHOWN_BYTES: usize = 64 << 10;

/// Returns the reason that the proposal can't be shown, if it can't.
pub(super) fn too_long(proposal: &Proposal) -> Option<String> {
    let length = proposal.shown.len();
    (length > MAX_SHOWN_BYTES).then(|| {
        format!(
            "a person would have to read {length} bytes to approve of this, and {MAX_SHOWN_BYTES} is the most that is shown; \
             make smaller changes"
        )
    })
}

pub(super) fn form(shows: Shows, proposal: &Proposal) -> ElicitRequestParams {
    let Proposal { path, effect, shown, .. } = proposal;
    let question = match (shows, effect) {
        (_, ProposedEffect::Create) => format!("Create `{path}`?"),
        (_, ProposedEffect::Delete) => format!("Delete `{path}`?"),
        (Shows::Appended, ProposedEffect::Change) => format!("Append this to `{path}`?"),
        (Shows::Diff, ProposedEffect::Change) => format!("Change `{path}`?"),
    };
    let shown = match (shown.as_str(), effect) {
        ("", ProposedEffect::Change) => "Its content stays the same.",
        ("", ProposedEffect::Create | ProposedEffect::Delete) => "The file is empty.",
        (shown, _) => shown,
    };
    // Terminals obey control characters, and bidirectional marks reorder a line: the person must see them instead.
    let message = visible(&format!("{question}\n\n{shown}"));
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}

/// Returns the form as a request.
pub(super) fn request(shows: Shows, proposal: &Proposal) -> InputRequest {
    InputRequest::Elicitation(ElicitRequest::new(form(shows, proposal)))
}
