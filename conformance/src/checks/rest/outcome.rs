//! The outcome of a call, read from an answer over MCP or over REST.

use tabellion_runtime::{
    ContractSpec, ErrorAnswer,
    calls::EXECUTION,
    context::GATES,
    context::{BASE, COMMIT},
    gates::VIOLATIONS,
    spec::ErrorBody,
};

use crate::{checks::prelude::*, http::Response, reply::text};

/// Header of the content that a document has.
const ETAG: &str = "ETag";
/// Length to which an answer is cut for people, in bytes.
const MAX_SHOWN: usize = 600;

/// An answer over REST.
#[derive(Debug)]
pub(super) struct RestAnswer {
    /// Status and reason, for people.
    title: String,
    pub(super) status: u16,
    /// Media type without parameters.
    pub(super) media: String,
    headers: Vec<(String, String)>,
    text: String,
    /// The body as JSON; null if it is not JSON.
    pub(super) body: Value,
}

impl RestAnswer {
    /// Reads a response to its end.
    pub(super) fn read(mut response: Response) -> Result<Self, Stop> {
        let text = String::from_utf8_lossy(&response.bytes()?).into_owned();
        Ok(Self {
            title: response.title(),
            status: response.status,
            media: response.media_type(),
            body: serde_json::from_str(&text).unwrap_or_default(),
            headers: response.headers,
            text,
        })
    }

    /// Returns the value of the first header with this name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(it, _)| it.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    /// Returns status and body, for people.
    pub(super) fn shown(&self) -> String {
        let text = self.text.trim();
        if text.is_empty() {
            return format!("{} and no body", self.title);
        }
        format!("{} and {}", self.title, &text[..text.floor_char_boundary(MAX_SHOWN)])
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Fails unless the body is a JSON object, and declared as JSON.
    pub(super) fn ensure_json(&self) -> Judgement {
        ensure(self.media == "application/json" && self.body.is_object(), || {
            format!(
                "the answer is no object of JSON, or does not say so (its media type is `{}`): {}",
                self.media,
                self.shown()
            )
        })
    }
}

/// A successful call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Done {
    /// The tool's result.
    pub(super) result: Value,
    /// The commit that was made.
    pub(super) commit: Option<String>,
    /// The content that the document has now.
    pub(super) base: Option<String>,
    /// Id of the execution, where executions are kept.
    pub(super) execution: Option<String>,
    /// The verdict of the gates; null if there is none.
    pub(super) gates: Value,
}

/// A refused call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    /// The error's name; empty if the answer has only a code that several errors share.
    pub(super) name: String,
    /// The sentence.
    pub(super) message: String,
    /// The details, without violations.
    pub(super) details: Map<String, Value>,
    /// The violations of gates.
    pub(super) violations: Value,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Done(Done),
    Refused(Refused),
}

impl Outcome {
    /// Reads the whole response message to a call.
    pub(super) fn of_mcp(contract: &ContractSpec, message: &Value) -> Self {
        let (result, error) = (&message["result"], &message["error"]);
        let Some(refusal) = Refusal::from_message(message) else {
            let meta = &result["_meta"];
            let said = |key: &str| meta[key].as_str().map(str::to_owned);
            let gates = meta[GATES].clone();
            return Self::Done(Done {
                result: result["structuredContent"].clone(),
                commit: said(COMMIT),
                base: said(BASE),
                execution: said(EXECUTION),
                gates,
            });
        };
        if error.is_null()
            && let Some(body) = contract.error_body
            && let Some(refused) = Refused::read(body, &result["structuredContent"])
        {
            return Self::Refused(refused);
        }
        let marked = &result["_meta"]["tabellion/error"];
        let data = if error.is_null() { &marked["data"] } else { &error["data"] };
        let mut details = data.as_object().cloned().unwrap_or_default();
        let violations = details.shift_remove(VIOLATIONS).unwrap_or_else(|| json!([]));
        let mut of_code = contract.errors.iter().filter(|it| Some(i64::from(it.code)) == refusal.code);
        let only = match (of_code.next(), of_code.next()) {
            (Some(only), None) => only.name,
            _ => "",
        };
        Self::Refused(Refused {
            name: marked["name"].as_str().unwrap_or(only).to_owned(),
            message: if refusal.message.is_empty() { text(result) } else { refusal.message },
            details,
            violations,
        })
    }

    /// Reads an answer over REST.
    ///
    /// # Errors
    /// The failure of an answer that is neither a success with a `result` nor a refusal in the form of the contract's errors.
    pub(super) fn of_rest(contract: &ContractSpec, answer: &RestAnswer) -> Result<Self, Stop> {
        answer.ensure_json()?;
        if !answer.is_success() {
            return Ok(Self::Refused(Refused::of_rest(contract, answer)?));
        }
        let body = &answer.body;
        ensure(body["result"].is_object(), || {
            format!("the answer to a call has no `result`: {}", answer.shown())
        })?;
        let base = answer.header(ETAG).map(|tag| tag.trim_matches('"').to_owned());
        Ok(Self::Done(Done {
            result: body["result"].clone(),
            commit: body["commit"].as_str().map(str::to_owned),
            base,
            execution: body["execution_id"].as_str().map(str::to_owned),
            gates: body[contract.gate_members.verdict].clone(),
        }))
    }
}

impl Refused {
    /// Reads the object of an error; `None` if it lacks a member.
    fn read(body: ErrorBody, whole: &Value) -> Option<Self> {
        let error = whole.get(body.at)?;
        Some(Self {
            name: error[body.code].as_str()?.to_owned(),
            message: error[body.message].as_str()?.to_owned(),
            details: error[body.details].as_object()?.clone(),
            violations: Some(&error[body.violations]).filter(|it| it.is_array())?.clone(),
        })
    }

    /// Reads a refusal over REST.
    ///
    /// # Errors
    /// The failure of one that is not in the form of the contract's errors, or names an error that the contract does not
    /// have.
    pub(super) fn of_rest(contract: &ContractSpec, answer: &RestAnswer) -> Result<Self, Stop> {
        answer.ensure_json()?;
        let body = contract.error_body.unwrap_or(ErrorBody::USUAL);
        let refused = Self::read(body, &answer.body).filter(|refused| !refused.message.is_empty());
        let refused = refused.ok_or_else(|| {
            fail(format!(
                "a refusal has not the form of the contract's errors, an object `{}` with `{}`, `{}`, `{}` and `{}`: {}",
                body.at,
                body.code,
                body.message,
                body.details,
                body.violations,
                answer.shown()
            ))
        })?;
        let is_of_table = contract.errors.iter().any(|error| error.name == refused.name);
        let stands_for_it = contract.error_of(answer.status).is_some();
        ensure(is_of_table || !stands_for_it, || {
            format!("the contract has no error `{}`: {}", refused.name, answer.shown())
        })?;
        Ok(refused)
    }

    /// Returns the status that the contract declares for this error; `None` if it declares none.
    pub(super) fn declared_status(&self, contract: &ContractSpec) -> Option<u16> {
        let error = contract.errors.iter().find(|error| error.name == self.name)?;
        contract.status(&ErrorAnswer {
            name: error.name,
            code: error.code,
            message: self.message.clone(),
            data: self.details.clone(),
        })
    }
}
