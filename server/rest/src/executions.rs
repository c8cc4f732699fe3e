//! Calls of tools over REST, and their executions: started, fetched later, cancelled.

use std::{sync::Arc, time::Duration};

use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{HeaderName, HeaderValue, LOCATION},
};
use tabellion_gateway::{Access, Awaited};
use tabellion_runtime::{
    ContractSpec, Failure, FailureKind, KnownCaller,
    auth::REASON,
    calls::{CallStore, Execution},
    spec::{RestEndpoint, RestOperation},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    answer,
    call::{self, Call, Ongoing},
    prefer,
    prefer::Preference,
    refusal::Refusal,
    rest::{Rest, RestRequest, counted, not_found},
};

/// Polling interval of a request that waits for an execution.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);
/// Maximum time that a request to cancel waits for the end of the execution.
const CANCEL_WAIT: Duration = Duration::from_secs(30);
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

impl Rest {
    /// Calls the tool of this name.
    pub(super) async fn execute(
        self: &Arc<Self>,
        tool: &str,
        asked: RestRequest,
    ) -> Result<Response<Bytes>, Refusal> {
        let contract = self.contract;
        let Some(tool) = contract.tool(tool).filter(|tool| self.offers(tool.name)) else {
            return Ok(answer::no_tool(contract, tool));
        };
        let headers = asked.request.headers();
        let arguments = call::body(headers, asked.request.body())?;
        let preference = Preference::from_headers(headers);
        let (begun, mut recorded) = watch::channel(None);
        let begun_at = std::time::SystemTime::now();
        let call = Call {
            awaited: contract.executions.map(|_| Awaited { is_pending: preference.is_async, begun }),
            ..Call::new(tool, headers, arguments, self.origin(&asked))?
        };
        let mut ongoing = Ongoing::begin(self, call)?;
        let waited = async {
            let is_recorded = recorded.wait_for(Option::is_some).await.is_ok();
            if !is_recorded {
                // The execution is not recorded, or the call was refused before.
                std::future::pending::<()>().await;
            }
            sleep(preference.patience()).await;
        };
        tokio::select! {
            biased;
            outcome = ongoing.outcome() => {
                return Ok(answer::execution(contract, tool.name, begun_at, outcome));
            }
            () = waited => {}
        }
        let id = recorded.borrow().clone().unwrap_or_default();
        ongoing.release();
        self.accepted(&id, preference).await
    }

    /// Returns the response to a request whose execution continues.
    async fn accepted(&self, id: &str, preference: Preference) -> Result<Response<Bytes>, Refusal> {
        let execution = self.store()?.execution(id).await;
        let execution = execution.ok().flatten().ok_or_else(not_found)?;
        let service = self.service()?;
        let mut response = answer::json(StatusCode::ACCEPTED, &answer::recorded(&**service, execution));
        let headers = response.headers_mut();
        if let Some(endpoint) = self.contract.endpoint(RestOperation::ExecutionGet) {
            let place = format!("{}{}", self.url.as_deref().unwrap_or_default(), endpoint.path_with(&[id]));
            if let Ok(place) = HeaderValue::from_str(&place) {
                headers.insert(LOCATION, place);
            }
        }
        if let Some(applied) = preference.applied() {
            headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(applied));
        }
        Ok(response)
    }

    /// Returns an execution, once it has ended or the request's wait is over. The result of another caller's is left out.
    pub(super) async fn execution(
        &self,
        endpoint: &RestEndpoint,
        id: &str,
        query: Vec<(String, String)>,
        asked: RestRequest,
    ) -> Result<Response<Bytes>, Refusal> {
        counted(&asked, Access::Read)?;
        let service = self.service()?;
        let wait = prefer::of_query(&query)?.or_else(|| {
            let preference = Preference::from_headers(asked.request.headers());
            preference.says_wait.then_some(preference.wait)
        });
        let found = self.find(endpoint, id, &asked).await?;
        Ok(match found {
            Ok(found) => {
                let mut found = self.until_over(found, wait.unwrap_or_default()).await?;
                if !is_own(&found, &self.caller(&asked)?) {
                    // It may hold text, or the URL of a download, that only its caller may read.
                    found.end.result = None;
                }
                answer::json(StatusCode::OK, &answer::recorded(&**service, found))
            }
            Err(failure) => answer::failed(&**service, failure),
        })
    }

    /// Cancels an execution.
    pub(super) async fn cancel(
        &self,
        endpoint: &RestEndpoint,
        id: &str,
        asked: RestRequest,
    ) -> Result<Response<Bytes>, Refusal> {
        counted(&asked, Access::Write)?;
        let service = self.service()?;
        let found = match self.find(endpoint, id, &asked).await? {
            Ok(found) => found,
            Err(failure) => return Ok(answer::failed(&**service, failure)),
        };
        if found.end.status.is_over() {
            let message =
                "the execution has ended, so that it can't be cancelled; undo what it changed instead";
            let failure = Failure::new(FailureKind::Conflict, message).with(REASON, "finished");
            return Ok(answer::failed(&**service, failure));
        }
        if let Err(failure) = self.store()?.cancel(id).await {
            return Ok(answer::failed(&**service, failure));
        }
        let found = self.until_over(found, CANCEL_WAIT).await?;
        Ok(answer::json(StatusCode::OK, &answer::recorded(&**service, found)))
    }

    /// Returns the execution with this id, if the caller may see it.
    async fn find(
        &self,
        endpoint: &RestEndpoint,
        id: &str,
        asked: &RestRequest,
    ) -> Result<Result<Execution, Failure>, Refusal> {
        let caller = self.caller(asked)?;
        Ok(match self.store()?.execution(id).await {
            Ok(Some(found)) if may_see(&found, self.contract, endpoint, &caller) => Ok(found),
            Ok(_) => {
                let message =
                    "there is no execution with this id, or it is not yours, or it is kept no longer";
                Err(Failure::new(FailureKind::NotFound, message).with(REASON, "not_found"))
            }
            Err(failure) => Err(failure),
        })
    }

    /// Waits for an execution's end, for at most `wait` and only while the server accepts requests.
    async fn until_over(&self, found: Execution, wait: Duration) -> Result<Execution, Refusal> {
        let (until, mut found) = (Instant::now() + wait, found);
        while !found.end.status.is_over() && Instant::now() < until && self.intake.is_open() {
            sleep(LOOK_INTERVAL).await;
            let now = self.store()?.execution(&found.id).await;
            found = now.ok().flatten().unwrap_or(found);
        }
        Ok(found)
    }

    pub(super) fn store(&self) -> Result<&Arc<dyn CallStore>, Refusal> {
        self.gateway.call_store().ok_or_else(not_found)
    }
}

fn may_see(
    found: &Execution,
    contract: &ContractSpec,
    endpoint: &RestEndpoint,
    caller: &KnownCaller,
) -> bool {
    let sees_others = || caller.roles.iter().any(|role| endpoint.others.contains(role));
    found.contract == contract.id && (is_own(found, caller) || sees_others())
}

fn is_own(found: &Execution, caller: &KnownCaller) -> bool {
    found.caller == Some(caller.identity.to_string())
}
