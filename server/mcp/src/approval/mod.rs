//! A person's approval of what a call is about to change: who is asked, how, and what happens where nobody can be.
//!
//! A contract says which of its tools need approval, the operator may add others ([`ApprovalPolicy`]). The runtime
//! makes the proposal and holds the call to it; here it is shown. In a session the server asks the client while the
//! call waits ([`asking`]). Since 2026-07-28 the call is answered with the question, and repeated with the answer
//! ([`sealed`]). What the person sees is the same ([`question`]).

mod asking;
mod question;
mod sealed;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{ElicitResult, ElicitationAction, InputRequests, InputRequiredResult, InputResponses},
    service::RequestContext,
};
use serde_json::{Value, json};
use tabellion_runtime::{Approver, Decision, Proposal, Shows, ToolSpec};
use tokio::sync::Semaphore;

use asking::Asking;
use sealed::{Sealed, Seals};

use super::adapter;

/// How many calls may wait for a person at once. Each takes the place of a request in flight, of which enough must be
/// left for the person's answers to be read.
const MOST_WAITING: usize = 64;
/// How long an approval may take, unless a policy says otherwise.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// The key of the question, and of the answer to it, where a call is repeated.
const QUESTION: &str = "approval";

/// When a person is asked, as the operator wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// What becomes of calls that need approval.
    pub mode: ApprovalMode,
    /// Names of the tools that need approval though their contract asks for none.
    pub tools: BTreeSet<String>,
    /// How long a person may take. Afterwards, what was shown is no longer approved of.
    pub patience: Duration,
}

impl Default for ApprovalPolicy {
    fn default() -> Self {
        Self {
            mode: ApprovalMode::Prompt,
            tools: BTreeSet::new(),
            patience: PATIENCE,
        }
    }
}

/// What becomes of calls that need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalMode {
    /// The client asks its person. Where it can't, the call is refused.
    Prompt,
    /// The client asks its person. Where it can't, the call is granted.
    Auto,
    /// The call is refused, and nobody is asked.
    Deny,
}

/// All that is known of approvals in one service.
#[derive(Debug)]
pub(super) struct Approvals {
    policy: ApprovalPolicy,
    seals: Seals,
    waiting: Semaphore,
}

/// A call that may need approval, and how its person can be asked.
#[derive(Debug)]
struct Asked {
    approvals: Arc<Approvals>,
    tool: &'static ToolSpec,
    /// Whether the client can show a form.
    able: bool,
}

impl Approvals {
    pub(super) fn new(policy: ApprovalPolicy) -> Self {
        Self {
            seals: Seals::new(policy.patience),
            policy,
            waiting: Semaphore::new(MOST_WAITING),
        }
    }

    /// Whether calls of this tool need approval.
    pub(super) fn concern(&self, tool: &ToolSpec) -> bool {
        tool.approval.is_some() || self.policy.tools.contains(tool.name)
    }

    /// Whoever approves of a call in a session: the client's person, who is asked while the call waits.
    pub(super) fn in_session(
        self: &Arc<Self>,
        tool: &'static ToolSpec,
        cx: &RequestContext<RoleServer>,
    ) -> Arc<dyn Approver> {
        Arc::new(Asking {
            asked: self.asked(tool, cx),
            peer: cx.peer.clone(),
            cancelled: cx.ct.clone(),
            request: cx.extensions.clone(),
        })
    }

    /// Whoever approves of a call that stands for itself: what comes with it, if it is a repeated one.
    pub(super) fn with_call(
        self: &Arc<Self>,
        tool: &'static ToolSpec,
        cx: &RequestContext<RoleServer>,
        arguments: &Value,
        state: Option<String>,
        responses: Option<InputResponses>,
    ) -> Arc<dyn Approver> {
        let answer = state.map(|state| self.seals.open(&state, &call(tool, cx, arguments), responses));
        Arc::new(Sealed {
            asked: self.asked(tool, cx),
            answer,
        })
    }

    /// The question to answer a call with that will be repeated.
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

    fn asked(self: &Arc<Self>, tool: &'static ToolSpec, cx: &RequestContext<RoleServer>) -> Asked {
        let elicitation = cx.client_capabilities().and_then(|client| client.elicitation);
        // Who names neither form knows only the first one, which had no name (2025-06-18).
        let able = elicitation.is_some_and(|able| able.form.is_some() || able.url.is_none());
        Asked {
            approvals: self.clone(),
            tool,
            able,
        }
    }
}

impl Asked {
    /// The decision where nobody is asked.
    fn unasked(&self, proposal: &Proposal) -> Option<Decision> {
        let declined = |why: String| Some(Decision::Declined(why));
        match self.approvals.policy.mode {
            ApprovalMode::Deny => declined(
                "calls that need a person's approval are refused: the server was started with `--approval deny`".into(),
            ),
            ApprovalMode::Auto if !self.able => Some(Decision::Granted),
            ApprovalMode::Prompt if !self.able => declined(format!(
                "`{}` needs a person's approval, and this client can't ask for it (no `elicitation`). Use a client \
                 that can, or let the operator start the server with `--approval auto`",
                self.tool.name
            )),
            ApprovalMode::Prompt | ApprovalMode::Auto => question::too_long(proposal).map(Decision::Declined),
        }
    }
}

/// What an approval is good for: this tool with these arguments, however a client orders them, by whoever asked for it.
fn call(tool: &ToolSpec, cx: &RequestContext<RoleServer>, arguments: &Value) -> Vec<u8> {
    let mut arguments = arguments.clone();
    arguments.sort_all_objects();
    let key = adapter::grant(&cx.extensions).map(|grant| grant.id());
    json!([tool.name, arguments, key]).to_string().into_bytes()
}

/// What the person sees of a call.
fn shows(tool: &ToolSpec) -> Shows {
    tool.approval.map_or(Shows::Diff, |approval| approval.shows)
}

/// What the person's answer means.
fn decision(answer: &ElicitResult) -> Decision {
    match answer.action {
        ElicitationAction::Accept => Decision::Granted,
        ElicitationAction::Cancel => {
            Decision::Declined("the person dismissed the question; repeat the call to ask again".into())
        }
        _ => Decision::Declined("the person declined; leave it, or change it as they wish".into()),
    }
}
