//! A person's approval of a change: who is asked, how, and what happens if no person can be asked.
//!
//! A contract declares which of its tools need approval, and the operator can add others ([`ApprovalPolicy`]). The runtime
//! makes the proposal and holds the call to it; this module shows it. In a session the server asks the client while the call
//! waits ([`asking`]). Since 2026-07-28 the call is answered with the question, and repeated with the answer ([`sealed`]).
//! The person sees the same in both cases ([`question`]).

mod asking;
mod question;
mod sealed;

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{ElicitResult, ElicitationAction, InputRequests, InputRequiredResult, InputResponses},
    service::RequestContext,
};
use serde_json::{Value, json};
use tabellion_gateway::{ApprovalPolicy, RequestOrigin};
use tabellion_runtime::{Approver, Decision, Proposal, Shows, ToolSpec};
use tokio::sync::Semaphore;

use asking::SessionApprover;
use sealed::{Seals, StatelessApprover};

/// Upper bound of calls that wait for a person. Each is a request in flight, and enough slots must be left to read the
/// person's answers.
const MAX_WAITING: usize = 64;
/// Key of the question and of its answer in a repeated call.
const QUESTION: &str = "approval";

/// The approvals of one service.
#[derive(Debug)]
pub(super) struct Approvals {
    policy: ApprovalPolicy,
    seals: Seals,
    waiting: Semaphore,
}

/// A call that may need approval, and how to ask its person.
#[derive(Debug)]
struct ApprovalRequest {
    approvals: Arc<Approvals>,
    tool: &'static ToolSpec,
    /// Whether the client can show a form.
    can_show_forms: bool,
}

impl Approvals {
    pub(super) fn new(policy: ApprovalPolicy) -> Self {
        Self {
            seals: Seals::new(policy.timeout),
            policy,
            waiting: Semaphore::new(MAX_WAITING),
        }
    }

    /// Returns the approver of a call in a session: asks the client's person while the call waits.
    pub(super) fn in_session(
        self: &Arc<Self>,
        tool: &'static ToolSpec,
        cx: &RequestContext<RoleServer>,
    ) -> Arc<dyn Approver> {
        Arc::new(SessionApprover {
            request: self.request(tool, cx),
            peer: cx.peer.clone(),
            cancelled: cx.ct.clone(),
            extensions: cx.extensions.clone(),
        })
    }

    /// Returns the approver of a stateless call: reads the answer that a repeated call carries.
    pub(super) fn with_call(
        self: &Arc<Self>,
        tool: &'static ToolSpec,
        cx: &RequestContext<RoleServer>,
        arguments: &Value,
        state: Option<String>,
        responses: Option<InputResponses>,
    ) -> Arc<dyn Approver> {
        let answer = state.map(|state| self.seals.open(&state, &call(tool, cx, arguments), responses));
        Arc::new(StatelessApprover {
            request: self.request(tool, cx),
            answer,
        })
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

    fn request(
        self: &Arc<Self>,
        tool: &'static ToolSpec,
        cx: &RequestContext<RoleServer>,
    ) -> ApprovalRequest {
        let elicitation = cx.client_capabilities().and_then(|client| client.elicitation);
        // A client that names no form of elicitation knows only forms (2025-06-18).
        let can_show_forms = elicitation.is_some_and(|able| able.form.is_some() || able.url.is_none());
        ApprovalRequest {
            approvals: self.clone(),
            tool,
            can_show_forms,
        }
    }
}

impl ApprovalRequest {
    /// Returns the decision if no person is to be asked.
    fn decision_without_asking(&self, proposal: &Proposal) -> Option<Decision> {
        let policy = &self.approvals.policy;
        let decision = policy.decision_without_asking(self.tool, self.can_show_forms);
        decision.or_else(|| question::too_long(proposal).map(Decision::Declined))
    }

    fn insists_on(&self, tool: &ToolSpec) -> bool {
        self.approvals.policy.covers(tool)
    }
}

/// Returns what an approval is bound to: tool, arguments in any order, and caller.
fn call(tool: &ToolSpec, cx: &RequestContext<RoleServer>, arguments: &Value) -> Vec<u8> {
    let mut arguments = arguments.clone();
    arguments.sort_all_objects();
    let caller = cx.extensions.get::<RequestOrigin>();
    let caller = caller.and_then(|origin| Some(origin.grant.as_ref()?.identity()));
    json!([tool.label(), arguments, caller]).to_string().into_bytes()
}

/// Returns how the person is shown the change.
fn shows(tool: &ToolSpec) -> Shows {
    tool.approval.map_or(Shows::Diff, |approval| approval.shows)
}

/// Converts the person's answer.
fn decision(answer: &ElicitResult) -> Decision {
    match answer.action {
        ElicitationAction::Accept => Decision::Granted,
        ElicitationAction::Cancel => {
            Decision::Declined("the person dismissed the question; repeat the call to ask again".into())
        }
        _ => Decision::Declined("the user declined; drop the change or revise it".into()),
    }
}
