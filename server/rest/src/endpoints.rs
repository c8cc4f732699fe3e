//! The operation behind each endpoint.

use std::sync::Arc;

use hyper::{Method, Response, StatusCode, body::Bytes, header::IF_NONE_MATCH};
use tabellion_gateway::Access;
use tabellion_runtime::spec::RestOperation;

use crate::{
    answer, query,
    refusal::Refusal,
    rest::{Rest, RestRequest, counted, not_found},
    unmodified, workflows,
};

impl Rest {
    /// Answers a request to one of the endpoints.
    pub async fn answer(self: &Arc<Self>, mut asked: RestRequest) -> Response<Bytes> {
        let mut known = vec![];
        if asked.request.method() == Method::GET {
            // In a read, the header only asks for a 304; it is no condition of a change.
            let headers = asked.request.headers_mut();
            known.extend(headers.get_all(IF_NONE_MATCH).iter().cloned());
            headers.remove(IF_NONE_MATCH);
        }
        match self.try_answer(asked).await {
            Ok(response) => unmodified::unless_known(response, &known),
            Err(refusal) => {
                let mut response = answer::json(refusal.status, &self.refused(&refusal));
                response.headers_mut().extend(refusal.headers);
                response
            }
        }
    }

    async fn try_answer(self: &Arc<Self>, asked: RestRequest) -> Result<Response<Bytes>, Refusal> {
        let contract = self.contract;
        if !self.intake.is_open() {
            return Err(Refusal::busy("the server is stopping"));
        }
        let at = contract.endpoints_at(&asked.path);
        if at.is_empty() {
            return Err(self.nowhere(&asked));
        }
        let methods = at.iter().map(|(endpoint, _)| endpoint.method.to_string());
        let Some(chosen) = methods.clone().position(|method| asked.request.method().as_str() == method)
        else {
            let methods = methods.collect::<Vec<_>>().join(", ").replace("GET", "GET, HEAD");
            return Err(Refusal::method_not_allowed(&methods));
        };
        let (endpoint, variables) = &at[chosen];
        let query = query::read(contract, endpoint, asked.request.uri().query())?;
        let named = variables.first().copied().unwrap_or_default().to_owned();
        match endpoint.is {
            RestOperation::OpenApi => Ok(answer::json(StatusCode::OK, &self.openapi())),
            // Files are served separately, to callers that have their URLs.
            RestOperation::Download => Err(not_found()),
            RestOperation::ToolList => {
                counted(&asked, Access::Read)?;
                Ok(answer::json(StatusCode::OK, &self.listed()))
            }
            RestOperation::ToolExecute => self.execute(&named, asked).await,
            RestOperation::WorkflowList => {
                counted(&asked, Access::Read)?;
                Ok(answer::json(StatusCode::OK, &workflows::listed(contract)))
            }
            is @ (RestOperation::WorkflowStart
            | RestOperation::InstanceGet
            | RestOperation::InstanceList
            | RestOperation::TaskComplete) => {
                let variables = variables.iter().map(|it| (*it).to_owned()).collect();
                self.call_workflow(is, variables, query, asked).await
            }
            RestOperation::ExecutionGet => self.execution(endpoint, &named, query, asked).await,
            RestOperation::ExecutionCancel => self.cancel(endpoint, &named, asked).await,
            RestOperation::SessionCreate => self.open_session(asked).await,
            RestOperation::SessionRenew => self.renew_session(&named, asked).await,
            RestOperation::SessionEnd => self.end_session(&named, asked).await,
        }
    }
}
