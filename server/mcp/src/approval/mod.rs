//! A person's approval of a change: the person to ask, the way of asking, and the result if no person can be asked.
//!
//! A contract declares which of its tools need approval, and the operator can add others ([`ApprovalPolicy`]). The runtime
//! makes the proposal and holds the call to it; this module shows it. In a session the server asks the client while the call
//! waits ([`asking`]). Since 2026-07-28 the call is answered with the question, and repeated with the answer ([`sealed`]).
//! The person sees the same in both cases ([`question`]).

mod asking;
mod question;
mod request;
mod sealed;

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{InputRequests, InputRequiredResult, InputResponses},
    service::RequestContext,
};
use serde_json::{Value, json};
use tabellion_gateway::{ApprovalPolicy, RequestOrigin};
use tabellion_runtime::{Approver, Proposal, ToolSpec};
use tokio::sync::Semaphore;

use asking::{MAX_WAITING, SessionApprover};
use request::{ApprovalRequest, QUESTION, shows};
use sealed::{Seals, StatelessApprover};

/// The approvals of one service.
#[derive(Debug)]
pub(super) struct Approvals {
    policy: Arc<ApprovalPolicy>,
    seals: Arc<Seals>,
    waiting: Arc<Semaphore>,
}

impl Approvals {
    pub(super) fn new(policy: ApprovalPolicy) -> Self {
        Self {
            seals: Arc::new(Seals::new(policy.timeout)),
            policy: Arc::new(policy),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
        }
    }

    /// Returns the approver of a call in a session: asks the client's person while the call waits.
    pub(super) fn in_session(
        &self,
        tool: &'static ToolSpec,
        cx: &RequestContext<RoleServer>,
    ) -> Arc<dyn Approver> {
        Arc::new(SessionApprover {
            request: self.request(tool, cx),
            waiting: self.waiting.clone(),
            peer: cx.peer.clone(),
            cancelled: cx.ct.clone(),
            extensions: cx.extensions.clone(),
        })
    }

    /// Returns the approver of a stateless call: reads the answer in a repeated call.
    pub(super) fn with_call(
        &self,
        tool: &'static ToolSpec,
        cx: &RequestContext<RoleServer>,
        arguments: &Value,
        state: Option<String>,
        responses: Option<InputResponses>,
    ) -> Arc<dyn Approver> {
        let answer = state.map(|state| self.seals.open(&state, &call(tool, cx, arguments), responses));
        Arc::new(StatelessApprover { request: self.request(tool, cx), seals: self.seals.clone(), answer })
    }

    /// Returns the question as the answer to a call that will be repeated.
    pub(super) fn question(
        &self,
        tool: &ToolSpec,
        cx: &RequestContext<RoleServer>,
        arguments: &Value,
        proposal: &Proposal,
    ) -> InputRequiredResult {
        let state = self.seals.seal(&call(tool, cx, arguments), &proposal.digest);
        let question = question::request(shows(tool), proposal);
        let questions = InputRequests::from([(QUESTION.into(), question)]);
        InputRequiredResult::new(Some(questions), Some(state))
    }

    fn request(&self, tool: &'static ToolSpec, cx: &RequestContext<RoleServer>) -> ApprovalRequest {
        let elicitation = cx.client_capabilities().and_then(|client| client.elicitation);
        ApprovalRequest {
            policy: self.policy.clone(),
            tool,
            // A client that declares no form of elicitation supports only forms (2025-06-18).
            can_show_forms: elicitation.is_some_and(|able| able.form.is_some() || able.url.is_none()),
        }
    }
}

/// Returns the data that an approval is bound to: tool, arguments in any order, and caller.
fn call(tool: &ToolSpec, cx: &RequestContext<RoleServer>, arguments: &Value) -> Vec<u8> {
    let mut arguments = arguments.clone();
    arguments.sort_all_objects();
    let caller = cx.extensions.get::<RequestOrigin>();
    let caller = caller.and_then(|origin| Some(origin.grant.as_ref()?.identity()));
    json!([tool.label(), arguments, caller]).to_string().into_bytes()
}
