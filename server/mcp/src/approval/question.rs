//! What a person sees who is asked: which tool, which file, and exactly the text. There is nothing to fill in: to accept
//! is to approve.

use std::collections::BTreeMap;

use rmcp::model::{ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest};
use tabellion_runtime::{Proposal, Shows};

/// The longest text that is shown, in bytes. Nobody approves of what they can't read.
pub(super) const LONGEST: usize = 64 << 10;

/// Why the proposal can't be shown, if it can't.
pub(super) fn too_long(proposal: &Proposal) -> Option<String> {
    let length = proposal.shown.len();
    (length > LONGEST).then(|| {
        format!(
            "a person would have to read {length} bytes to approve of this, and {LONGEST} is the most that is shown; \
             make smaller changes"
        )
    })
}

/// The form.
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

/// The form as a request.
pub(super) fn request(shows: Shows, proposal: &Proposal) -> InputRequest {
    InputRequest::Elicitation(ElicitRequest::new(form(shows, proposal)))
}
