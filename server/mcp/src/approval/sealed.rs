//! Asks through the call's answer, as in 2026-07-28: the first call is answered with the question and a sealed state, and the
//! repeated call returns the state with the person's answer.
//!
//! A state is valid once, for the same tool, arguments and caller, for exactly the shown proposal, until it expires.
//! The sealing key belongs to this process: states of other servers, or from before a restart, are invalid.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use rmcp::model::{ElicitResult, InputResponses, RequestStateCodec, RequestStateError, SealOptions};
use serde::{Deserialize, Serialize};
use tabellion_runtime::{Approver, BoxFuture, Decision, Proposal, ToolSpec};
use tokio::time::Instant;

use super::request::{ApprovalRequest, QUESTION, decision};

/// Seals and opens states, and records the used ones.
#[derive(Debug)]
pub(super) struct Seals {
    codec: RequestStateCodec,
    lifetime: Duration,
    next: AtomicU64,
    /// Ids of the used states that have not expired, with their expiry.
    used: Mutex<HashMap<u64, Instant>>,
}

/// The content of a sealed state.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// Unique number of the state.
    number: u64,
    /// Digest of the proposal that was shown.
    digest: String,
}

/// The answer in a repeated call.
#[derive(Debug)]
pub(super) enum SealedAnswer {
    /// The person's answer to the proposal with this digest.
    Given { number: u64, digest: String, answer: ElicitResult },
    /// No answer: the person has not been asked.
    Missing,
    /// An invalid state, with the remedy.
    Bad(String),
}

impl Seals {
    pub(super) fn new(lifetime: Duration) -> Self {
        let mut key = [0; RequestStateCodec::MIN_KEY_LENGTH];
        getrandom::fill(&mut key).expect("the system gives random bytes");
        Self {
            codec: RequestStateCodec::try_new(key).expect("the key is as long as it must be"),
            lifetime,
            next: AtomicU64::default(),
            used: Mutex::default(),
        }
    }

    /// Seals a state for `call`, whose proposal has this digest.
    pub(super) fn seal(&self, call: &[u8], digest: &str) -> String {
        let state = State { number: self.next.fetch_add(1, Ordering::Relaxed), digest: digest.into() };
        let options = SealOptions::new().associated_data(call).ttl(self.lifetime);
        let sealed = self.codec.seal_json_with(&state, &options);
        sealed.expect("a number and a text are JSON")
    }

    /// Opens the state, and reads the answer, of the repeated `call`.
    pub(super) fn open(&self, state: &str, call: &[u8], responses: Option<InputResponses>) -> SealedAnswer {
        let State { number, digest } = match self.codec.open_json_with(state, call) {
            Ok(state) => state,
            Err(RequestStateError::Expired) => {
                return SealedAnswer::Bad(
                    "the question expired; repeat the call without `requestState` to ask again".into(),
                );
            }
            Err(_) => {
                return SealedAnswer::Bad(
                    "`requestState` is not that of a call of this tool with these arguments; repeat the call without \
                     it to ask for approval of this one"
                        .into(),
                );
            }
        };
        let answer = responses.and_then(|mut responses| responses.remove(QUESTION));
        match answer.map(serde_json::from_value) {
            Some(Ok(answer)) => SealedAnswer::Given { number, digest, answer },
            Some(Err(_)) => {
                SealedAnswer::Bad(format!("`inputResponses.{QUESTION}` is not an answer to a form"))
            }
            None => SealedAnswer::Missing,
        }
    }

    /// Marks the state as used. Returns false if it was used already.
    fn spend(&self, number: u64) -> bool {
        let now = Instant::now();
        let mut used = self.used.lock();
        used.retain(|_, expires| *expires > now);
        used.insert(number, now + self.lifetime).is_none()
    }
}

/// Approver of a stateless call: uses the answer in the call, or returns the question.
#[derive(Debug)]
pub(super) struct StatelessApprover {
    pub(super) request: ApprovalRequest,
    pub(super) seals: Arc<Seals>,
    /// The answer in the call, if it is a repeated one.
    pub(super) answer: Option<SealedAnswer>,
}

impl StatelessApprover {
    fn decision(&self, proposal: &Proposal) -> Decision {
        match &self.answer {
            None | Some(SealedAnswer::Missing) => Decision::Ask,
            Some(SealedAnswer::Bad(why)) => Decision::Declined(why.clone()),
            // The change differs from the shown one, so the person must see it first.
            Some(SealedAnswer::Given { digest, .. }) if *digest != proposal.digest => Decision::Ask,
            Some(SealedAnswer::Given { number, answer, .. }) => {
                if self.seals.spend(*number) {
                    decision(answer)
                } else {
                    Decision::Declined(
                        "this approval has been used; repeat the call without `requestState` to ask again"
                            .into(),
                    )
                }
            }
        }
    }
}

impl Approver for StatelessApprover {
    fn insists_on(&self, tool: &ToolSpec) -> bool {
        self.request.policy.covers(tool)
    }

    fn decide<'a>(&'a self, proposal: &'a Proposal) -> BoxFuture<'a, Decision> {
        let decision =
            self.request.decision_without_asking(proposal).unwrap_or_else(|| self.decision(proposal));
        Box::pin(std::future::ready(decision))
    }
}
