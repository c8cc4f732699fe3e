//! The form that a person sees: tool, file and exact text. It has no fields: accepting it approves the change.

use std::collections::BTreeMap;

use rmcp::model::{ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest};
use tabellion_runtime::{Proposal, Shows};

/// Size limit of the text shown, in bytes: a person can't review more.
pub(super) const MAX_SHOWN_BYTES: usize = 64 << 10;

/// Returns why the proposal can't be shown, if so.
pub(super) fn too_long(proposal: &Proposal) -> Option<String> {
    let length = proposal.shown.len();
    (length > MAX_SHOWN_BYTES).then(|| {
        format!(
            "a person would have to read {length} bytes to approve of this, and {MAX_SHOWN_BYTES} is the most that is shown; \
             make smaller changes"
        )
    })
}

/// Returns the form.
pub(super) fn form(shows: Shows, proposal: &Proposal) -> ElicitRequestParams {
    let what = match shows {
        Shows::Appended => "append this to",
        Shows::Diff => "change this in",
    };
    let Proposal {
        tool, path, shown, ..
    } = proposal;
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("May `{tool}` {what} `{path}`?\n\n{shown}"),
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}

/// Returns the form as a request.
pub(super) fn request(shows: Shows, proposal: &Proposal) -> InputRequest {
    InputRequest::Elicitation(ElicitRequest::new(form(shows, proposal)))
}
