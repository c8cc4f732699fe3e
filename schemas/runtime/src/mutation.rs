//! One call of a mutating tool, from its request to the published commit.

use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    answer::{Answer, Rejection},
    approval,
    approver::{Decision, Proposal},
    boundary::{declared, encode, failed},
    call::{MutatingMethod, Notes, Receipt, Staged, WriteCx},
    context::{BASE, CallContext, DIRTY, REPLAYED},
    failure::{ContractError, Failure, FailureKind},
    gates::{self, CallGates},
    ground::{Ground, HasView},
    ids::{ContentId, Precondition},
    meta::REMOTE,
    provenance,
    spec::{Shows, ToolSpec},
    store::{Claim, Entry, Prepared, Replay, Session, Store, StoreError},
};

/// Maximum number of attempts when other changes are published first.
pub const MAX_ATTEMPTS: u32 = 10;

/// A call of a mutating tool.
pub(crate) struct Mutation<'a, S, Request, Response, Error, G: Ground> {
    tool: &'static ToolSpec,
    service: &'a S,
    store: &'a dyn Store<G>,
    call: &'a CallContext,
    request: Request,
    gates: CallGates,
    /// The request in normal form, if the call has an idempotency key.
    normal: Option<String>,
    /// The form of the proposal, if the call needs approval.
    shows: Option<Shows>,
    method: MutatingMethod<S, Request, Response, Error, G>,
}

/// The reason that an attempt failed.
enum AttemptError {
    /// Another change was published first.
    Conflict,
    /// Another machine's change was shared first.
    Behind,
    Rejection(Rejection),
}

impl From<Rejection> for AttemptError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejection(rejection)
    }
}

impl<'a, S, Request, Response, Error, G> Mutation<'a, S, Request, Response, Error, G>
where
    Request: Serialize + Clone,
    Response: Serialize,
    Error: ContractError,
    G: Ground,
{
    pub(crate) fn new(
        tool: &'static ToolSpec,
        service: &'a S,
        store: &'a dyn Store<G>,
        call: &'a CallContext,
        (request, gates): (Request, CallGates),
        method: MutatingMethod<S, Request, Response, Error, G>,
    ) -> Result<Self, Rejection> {
        let normal = match call.idempotency_key {
            Some(_) => Some(normal_form(tool, &request)?),
            None => None,
        };
        Ok(Self {
            tool,
            service,
            store,
            call,
            request,
            gates,
            normal,
            shows: approval::needed(tool, call.approver.as_deref()),
            method,
        })
    }

    pub(crate) async fn run(&self) -> Result<Answer, Rejection> {
        let approved = self.approve().await?;
        let begun = Instant::now();
        let mut claim = self.claim();
        while claim.attempt < MAX_ATTEMPTS {
            match self.attempt(claim, approved.as_ref()).await {
                Ok(answer) => return Ok(answer),
                Err(AttemptError::Conflict) => claim.attempt += 1,
                // Not counted: the store limits the time instead.
                Err(AttemptError::Behind) => claim.behind += 1,
                Err(AttemptError::Rejection(rejection)) => return Err(rejection),
            }
            claim.waited = begun.elapsed();
        }
        let message =
            format!("the document kept changing meanwhile ({MAX_ATTEMPTS} attempts); read it and try again");
        Err(self.failed(Failure::new(FailureKind::Conflict, message)))
    }

    async fn attempt(&self, claim: Claim<'a>, approved: Option<&Proposal>) -> Result<Answer, AttemptError> {
        let mut session = self.begin(claim).await?;
        if let Some(replay) = self.replay(&*session).await? {
            return Ok(self.answer_again(replay).await?);
        }
        let notes = self.gates.notes();
        let staged = match self.stage(&*session, &notes).await {
            Err(_) if session.is_overtaken() => return Err(AttemptError::Conflict),
            staged => staged?,
        };
        self.check_approved(&*session, &staged.change, approved).await?;
        let prepared = self.prepare(&mut *session, &staged.change, &staged.details).await?;
        let receipt = Receipt::new(prepared.commit);
        let response = self.respond(staged, &receipt, &notes)?;
        self.gates.close::<Error>(&notes, &response)?;
        if self.normal.is_some() {
            let kept = session.keep(&response).await;
            kept.map_err(|error| self.store_error(error))?;
        }
        self.publish(session).await?;
        notes.put(BASE, prepared.content.into());
        // The method's note is about the bytes before the change, which are committed now.
        notes.remove(DIRTY);
        if let Some(state) = self.store.remote() {
            notes.put(REMOTE, state);
        }
        Ok(Answer { response, meta: notes.take() })
    }

    /// Prepares a proposal and asks the approver. `None` if approval is not needed, or the call was made before.
    async fn approve(&self) -> Result<Option<Proposal>, Rejection> {
        let Some(shows) = self.shows else { return Ok(None) };
        let Some(proposal) = self.propose(shows).await? else {
            return Ok(None);
        };
        let decision = match &self.call.approver {
            Some(approver) => approver.decide(&proposal).await,
            None => Decision::Declined("a person must approve this call, and no one can be asked".into()),
        };
        match decision {
            Decision::Granted => Ok(Some(proposal)),
            Decision::Declined(why) => Err(self.failed(approval::declined(&proposal, &why))),
            Decision::Ask => Err(Rejection::InputRequired(Box::new(proposal))),
        }
    }

    /// Returns the proposal of the call's change in the current state. The session ends before a person is asked.
    async fn propose(&self, shows: Shows) -> Result<Option<Proposal>, Rejection> {
        let session = self.store.begin(self.claim()).await.map_err(|failure| self.failed(failure))?;
        match self.replay(&*session).await {
            Ok(None) | Err(AttemptError::Conflict | AttemptError::Behind) => {}
            Ok(Some(_)) => return Ok(None),
            Err(AttemptError::Rejection(rejection)) => return Err(rejection),
        }
        let Staged { change, .. } = self.stage(&*session, &self.gates.notes()).await?;
        let before = self.before(&*session, &change).await?;
        self.check_base(&change, G::base(&before, &change))?;
        session.check(&change).map_err(|failure| self.failed(failure))?;
        let proposal = approval::proposal(self.tool, shows, self.store, &before, &change);
        proposal.map(Some).map_err(|detail| self.breach(detail))
    }

    fn claim(&self) -> Claim<'a> {
        Claim { operation: self.tool.rows.as_ref(), org: self.call.org.as_deref(), ..Claim::default() }
    }

    async fn begin(&self, claim: Claim<'a>) -> Result<Box<dyn Session<G> + 'a>, Rejection> {
        let session = self.store.begin(claim).await;
        let session = session.map_err(|failure| self.failed(failure))?;
        self.check_cancelled()?;
        Ok(session)
    }

    /// Looks for an earlier call with the same idempotency key.
    async fn replay(&self, session: &dyn Session<G>) -> Result<Option<Replay<G>>, AttemptError> {
        let (Some(key), Some(normal)) = (&self.call.idempotency_key, &self.normal) else {
            return Ok(None);
        };
        let replay = session.replay(self.call, key, normal).await;
        replay.map_err(|error| self.store_error(error))
    }

    /// Answers a repeated call like the first one: on the state that the first one found, or with its stored answer.
    async fn answer_again(&self, replay: Replay<G>) -> Result<Answer, Rejection> {
        let notes = self.gates.notes();
        let (receipt, response) = match replay {
            Replay::Before { commit, before, after } => {
                let staged = self.stage(&*before, &notes).await?;
                let after = G::before(after.view(), &staged.change).await;
                let after = after.map_err(|failure| self.failed(failure))?;
                notes.put(BASE, G::base(&after, &staged.change).cloned().into());
                let receipt = Receipt::new(commit);
                let response = encode(self.tool, (staged.respond)(&receipt))?;
                self.gates.close::<Error>(&notes, &response)?;
                (receipt, response)
            }
            Replay::Answered { commit, response, base } => {
                base.into_iter().for_each(|base| notes.put(BASE, base));
                (Receipt::new(commit), encode(self.tool, response)?)
            }
        };
        self.note_commit(&notes, &receipt);
        notes.put(REPLAYED, true.into());
        Ok(Answer { response, meta: notes.take() })
    }

    /// Calls the method on `state`.
    async fn stage(&self, state: &dyn HasView<G>, notes: &Notes) -> Result<Staged<Response, G>, Rejection> {
        let cx = WriteCx::new(self.call, state.view(), notes);
        let staged = (self.method)(self.service, &cx, self.request.clone()).await;
        staged.map_err(|error| declared(self.tool, error.answer()))
    }

    /// Checks that the change is the approved one.
    async fn check_approved(
        &self,
        session: &dyn Session<G>,
        change: &G::Change,
        approved: Option<&Proposal>,
    ) -> Result<(), Rejection> {
        let Some(shows) = self.shows else { return Ok(()) };
        let before = self.before(session, change).await?;
        let digest = approval::digest::<G>(self.tool, shows, &before, change);
        let digest = digest.map_err(|detail| self.breach(detail))?;
        if approved.is_some_and(|approved| approved.digest == digest) {
            return Ok(());
        }
        Err(self.failed(approval::outdated(&G::names(change).join(", "))))
    }

    /// Prepares the commit, and checks the precondition.
    async fn prepare(
        &self,
        session: &mut dyn Session<G>,
        change: &G::Change,
        details: &Map<String, Value>,
    ) -> Result<Prepared, AttemptError> {
        let mut details = details.clone();
        let provenance = self.call.provenance.as_ref().map(|it| it.to_value());
        let kept = [(provenance::DETAIL, provenance), (gates::DETAIL, self.gates.detail())];
        let kept = kept.into_iter().filter_map(|(name, detail)| Some((name.to_owned(), detail?)));
        details.extend(kept);
        let entry = Entry {
            tool: self.tool.label(),
            call: self.call,
            request: self.normal.as_deref(),
            details: &details,
        };
        let prepared = session.prepare(change, &entry).await;
        let prepared = prepared.map_err(|error| self.store_error(error))?;
        self.check_base(change, prepared.base.as_ref())?;
        Ok(prepared)
    }

    /// Creates the answer and validates it. A commit that it names must be the prepared one.
    fn respond(
        &self,
        staged: Staged<Response, G>,
        receipt: &Receipt,
        notes: &Notes,
    ) -> Result<Value, Rejection> {
        let response = encode(self.tool, (staged.respond)(receipt))?;
        if let Some(pointer) = self.tool.commit {
            let named = response.pointer(pointer).and_then(Value::as_str);
            if named != Some(&**receipt.commit()) {
                let commit = receipt.commit();
                return Err(self.breach(format!("the response names commit {named:?} and not `{commit}`")));
            }
        }
        self.note_commit(notes, receipt);
        Ok(response)
    }

    async fn publish(&self, session: Box<dyn Session<G> + 'a>) -> Result<(), AttemptError> {
        self.check_cancelled()?;
        session.publish().await.map_err(|error| self.store_error(error))
    }

    /// Names the commit in `_meta` if the response has no field for it.
    fn note_commit(&self, notes: &Notes, receipt: &Receipt) {
        if self.tool.commit.is_none() {
            notes.put(G::RECEIPT, receipt.commit().clone().into());
        }
    }

    /// Checks the caller's `tabellion/ifBase`.
    fn check_base(&self, change: &G::Change, found: Option<&ContentId>) -> Result<(), Rejection> {
        match &self.call.if_base {
            Some(expected) if !expected.is_met_by(found) => {
                let name = G::names(change).get(G::compared(change)).copied();
                Err(self.failed(stale(name.unwrap_or_default(), expected, found)))
            }
            _ => Ok(()),
        }
    }

    async fn before(&self, session: &dyn Session<G>, change: &G::Change) -> Result<G::Before, Rejection> {
        let before = G::before(session.view(), change).await;
        before.map_err(|failure| self.failed(failure))
    }

    fn check_cancelled(&self) -> Result<(), Rejection> {
        if self.call.is_cancelled() {
            let message = "the call was cancelled, and nothing has changed";
            return Err(self.failed(Failure::new(FailureKind::Io, message)));
        }
        Ok(())
    }

    fn store_error(&self, error: StoreError) -> AttemptError {
        match error {
            StoreError::Conflict => AttemptError::Conflict,
            StoreError::Behind => AttemptError::Behind,
            StoreError::Failure(failure) => AttemptError::Rejection(self.failed(failure)),
        }
    }

    fn failed(&self, failure: Failure) -> Rejection {
        failed::<Error>(self.tool, failure)
    }

    fn breach(&self, detail: impl ToString) -> Rejection {
        Rejection::breach(self.tool.label(), detail)
    }
}

/// Returns the text by which two requests are compared, independent of the spelling of their JSON and the order of members.
fn normal_form(tool: &'static ToolSpec, request: &impl Serialize) -> Result<String, Rejection> {
    let mut request =
        serde_json::to_value(request).map_err(|error| Rejection::breach(tool.label(), error))?;
    request.sort_all_objects();
    Ok(format!("{} {request}", tool.label()))
}

/// Returns the failure for a document whose content differs from the caller's expectation.
fn stale(path: &str, expected: &Precondition, found: Option<&ContentId>) -> Failure {
    let message = match (expected, found) {
        (Precondition::Has(_), Some(_)) => {
            format!("`{path}` has changed since; read it (or preview again) and repeat the change")
        }
        (Precondition::Has(_), None) => {
            format!("`{path}` no longer exists; list what is there and decide anew")
        }
        (Precondition::Absent, _) => format!("`{path}` already exists; read it and decide anew"),
    };
    Failure::new(FailureKind::Conflict, message)
        .with("rule", "stale")
        .with("expected", expected.content().cloned())
        .with("found", found.cloned())
}
