//! Asking through a call's answer, as it is done since 2026-07-28: the first call is answered with the question and a
//! sealed state, the second one brings the state back with the person's answer.
//!
//! A state is good once, for the same tool with the same arguments by the same caller, for exactly what was shown, and until it expires.
//! The seal's key is this process's own: another server's states are not good here, nor are those from before a restart.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::model::{ElicitResult, InputResponses, RequestStateCodec, RequestStateError, SealOptions};
use serde::{Deserialize, Serialize};
use tabellion_runtime::{Approver, BoxFuture, Decision, Proposal, ToolSpec};
use tokio::time::Instant;

use super::{Asked, QUESTION, decision};

/// Seals states, opens them, and knows which have been used.
#[derive(Debug)]
pub(super) struct Seals {
    codec: RequestStateCodec,
    lifetime: Duration,
    next: AtomicU64,
    /// Numbers of the used states that have not expired, and when they will have.
    used: Mutex<HashMap<u64, Instant>>,
}

/// What a state says.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// Its own number.
    number: u64,
    /// Of the proposal that was shown.
    digest: String,
}

/// What a repeated call brings.
#[derive(Debug)]
pub(super) enum Answer {
    /// What the person said to the proposal of this digest.
    Given {
        number: u64,
        digest: String,
        answer: ElicitResult,
    },
    /// The person has not been asked.
    Missing,
    /// A state that is no good, and what to do about it.
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

    /// A state for `call`, whose proposal has this digest.
    pub(super) fn seal(&self, call: &[u8], digest: &str) -> String {
        let state = State {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            digest: digest.into(),
        };
        let options = SealOptions::new().associated_data(call).ttl(self.lifetime);
        let sealed = self.codec.seal_json_with(&state, &options);
        sealed.expect("a number and a text are JSON")
    }

    /// Reads the state and the answer that `call` brings.
    pub(super) fn open(&self, state: &str, call: &[u8], responses: Option<InputResponses>) -> Answer {
        let State { number, digest } = match self.codec.open_json_with(state, call) {
            Ok(state) => state,
            Err(RequestStateError::Expired) => {
                return Answer::Bad(
                    "the question was asked too long ago; repeat the call without `requestState` to ask again".into(),
                );
            }
            Err(_) => {
                return Answer::Bad(
                    "`requestState` is not that of a call of this tool with these arguments; repeat the call without \
                     it to ask for approval of this one"
                        .into(),
                );
            }
        };
        let answer = responses.and_then(|mut responses| responses.remove(QUESTION));
        match answer.map(serde_json::from_value) {
            Some(Ok(answer)) => Answer::Given {
                number,
                digest,
                answer,
            },
            Some(Err(_)) => Answer::Bad(format!("`inputResponses.{QUESTION}` is not an answer to a form")),
            None => Answer::Missing,
        }
    }

    /// Uses the state of this number up; false where that has been done.
    fn spend(&self, number: u64) -> bool {
        let now = Instant::now();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, expires| *expires > now);
        used.insert(number, now + self.lifetime).is_none()
    }
}

/// The person behind the client of a call that brings their answer, or will be repeated with it.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) asked: Asked,
    /// What the call brings, if it is a repeated one.
    pub(super) answer: Option<Answer>,
}

impl Sealed {
    fn decision(&self, proposal: &Proposal) -> Decision {
        match &self.answer {
            None | Some(Answer::Missing) => Decision::Ask,
            Some(Answer::Bad(why)) => Decision::Declined(why.clone()),
            // What would happen now is not what was shown: that has to be shown first.
            Some(Answer::Given { digest, .. }) if *digest != proposal.digest => Decision::Ask,
            Some(Answer::Given { number, answer, .. }) => {
                if self.asked.approvals.seals.spend(*number) {
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

impl Approver for Sealed {
    fn insists_on(&self, tool: &ToolSpec) -> bool {
        self.asked.approvals.concern(tool)
    }

    fn decide<'a>(&'a self, proposal: &'a Proposal) -> BoxFuture<'a, Decision> {
        let decision = self
            .asked
            .unasked(proposal)
            .unwrap_or_else(|| self.decision(proposal));
        Box::pin(std::future::ready(decision))
    }
}
