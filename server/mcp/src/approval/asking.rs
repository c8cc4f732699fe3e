//! Asks the client's person while the call waits, as in sessions (until 2025-11-25).

use std::sync::Arc;

use rmcp::{
    Peer, RoleServer,
    model::{ClientResult, ElicitRequest, Extensions, ServerRequest},
    service::{PeerRequestOptions, ServiceError},
};
use tabellion_runtime::{Approver, BoxFuture, Decision, Proposal, ToolSpec};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    question,
    request::{ApprovalRequest, decision, shows},
};
use crate::ending;

/// Upper bound of calls that wait for a person. Each is a request in flight, and enough slots must be left to read the
/// person's answers.
pub(super) const MAX_WAITING: usize = 64;

/// The person behind the client of a call.
#[derive(Debug)]
pub(super) struct SessionApprover {
    pub(super) request: ApprovalRequest,
    /// Permits to wait for a person.
    pub(super) waiting: Arc<Semaphore>,
    pub(super) peer: Peer<RoleServer>,
    /// Cancellation of the call.
    pub(super) cancelled: CancellationToken,
    /// Extensions of the call's request.
    pub(super) extensions: Extensions,
}

impl Approver for SessionApprover {
    fn insists_on(&self, tool: &ToolSpec) -> bool {
        self.request.policy.covers(tool)
    }

    fn decide<'a>(&'a self, proposal: &'a Proposal) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match self.request.decision_without_asking(proposal) {
                Some(decision) => decision,
                None => self.ask(proposal).await,
            }
        })
    }
}

impl SessionApprover {
    async fn ask(&self, proposal: &Proposal) -> Decision {
        let Ok(_permit) = self.waiting.try_acquire() else {
            return Decision::Declined(format!(
                "{MAX_WAITING} other calls are waiting for a person's approval; repeat the call later"
            ));
        };
        let form = ElicitRequest::new(question::form(shows(self.request.tool), proposal));
        let request = ServerRequest::ElicitRequest(form);
        let options = PeerRequestOptions::no_options();
        let mut question = match self.peer.send_cancellable_request(request, options).await {
            Ok(question) => question,
            Err(error) => return unasked(&error),
        };
        let timeout = self.request.policy.timeout;
        let why = tokio::select! {
            biased;
            answer = &mut question.rx => return match answer {
                Ok(Ok(ClientResult::ElicitResult(answer))) => decision(&answer),
                Ok(Ok(_)) => unasked(&ServiceError::UnexpectedResponse),
                Ok(Err(error)) => unasked(&error),
                Err(_) => unasked(&ServiceError::TransportClosed),
            },
            why = ending::wait(&self.extensions) => return Decision::Declined(why.into()),
            () = self.cancelled.cancelled() => "the call was cancelled",
            () = tokio::time::sleep(timeout) => "the person did not answer in time; repeat the call to ask again",
        };
        tokio::select! {
            // The outcome does not depend on whether the client receives the cancellation.
            _ = question.cancel(Some(why.into())) => {}
            _ = ending::wait(&self.extensions) => {}
        }
        Decision::Declined(why.into())
    }
}

fn unasked(error: &ServiceError) -> Decision {
    Decision::Declined(format!("the client could not ask for approval: {error}"))
}
