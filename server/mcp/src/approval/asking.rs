//! Asking the client's person while the call waits, as sessions do it (until 2025-11-25).

use rmcp::{
    Peer, RoleServer,
    model::{ClientResult, ElicitRequest, Extensions, ServerRequest},
    service::{PeerRequestOptions, ServiceError},
};
use tabellion_runtime::{Approver, BoxFuture, Decision, Proposal, ToolSpec};
use tokio_util::sync::CancellationToken;

use super::{Asked, MOST_WAITING, decision, question, shows};
use crate::ending;

/// The person behind the client of a call.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) asked: Asked,
    pub(super) peer: Peer<RoleServer>,
    /// Of the call.
    pub(super) cancelled: CancellationToken,
    /// What came with it.
    pub(super) request: Extensions,
}

impl Approver for Asking {
    fn insists_on(&self, tool: &ToolSpec) -> bool {
        self.asked.approvals.concern(tool)
    }

    fn decide<'a>(&'a self, proposal: &'a Proposal) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match self.asked.unasked(proposal) {
                Some(decision) => decision,
                None => self.ask(proposal).await,
            }
        })
    }
}

impl Asking {
    async fn ask(&self, proposal: &Proposal) -> Decision {
        let Ok(_place) = self.asked.approvals.waiting.try_acquire() else {
            return Decision::Declined(format!(
                "{MOST_WAITING} other calls are waiting for a person's approval; repeat the call when they have it"
            ));
        };
        let form = ElicitRequest::new(question::form(shows(self.asked.tool), proposal));
        let request = ServerRequest::ElicitRequest(form);
        let options = PeerRequestOptions::no_options();
        let mut question = match self.peer.send_cancellable_request(request, options).await {
            Ok(question) => question,
            Err(error) => return unasked(&error),
        };
        let patience = self.asked.approvals.policy.patience;
        let why = tokio::select! {
            biased;
            answer = &mut question.rx => return match answer {
                Ok(Ok(ClientResult::ElicitResult(answer))) => decision(&answer),
                Ok(Ok(_)) => unasked(&ServiceError::UnexpectedResponse),
                Ok(Err(error)) => unasked(&error),
                Err(_) => unasked(&ServiceError::TransportClosed),
            },
            () = ending::of(&self.request) => return Decision::Declined("the client is gone".into()),
            () = self.cancelled.cancelled() => "the call was cancelled",
            () = tokio::time::sleep(patience) => "nobody answered in time; repeat the call to ask again",
        };
        tokio::select! {
            // Whether the client hears of it makes no difference here.
            _ = question.cancel(Some(why.into())) => {}
            () = ending::of(&self.request) => {}
        }
        Decision::Declined(why.into())
    }
}

fn unasked(error: &ServiceError) -> Decision {
    Decision::Declined(format!("the client could not ask for approval: {error}"))
}
