//! The contract over REST: which endpoint does what.

use super::ContractSpec;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// The method of an endpoint.
    #[serde(rename_all = "UPPERCASE")]
    pub enum RestMethod {
        /// Changes nothing.
        Get,
        /// May change something.
        Post,
    }
}

vocabulary! {
    /// What an endpoint does.
    pub enum RestOperation {
        /// Lists the tools.
        #[serde(rename = "tool.list")]
        ToolList,
        /// Calls the tool that the path's variable names.
        #[serde(rename = "tool.execute")]
        ToolExecute,
        /// Describes the endpoints, as OpenAPI 3.1. Asks for no credentials.
        #[serde(rename = "openapi")]
        OpenApi,
    }
}

impl RestOperation {
    /// Returns the method that endpoints of this kind have.
    pub const fn method(self) -> RestMethod {
        match self {
            Self::ToolList | Self::OpenApi => RestMethod::Get,
            Self::ToolExecute => RestMethod::Post,
        }
    }

    /// Returns whether its paths have a variable.
    pub const fn has_variable(self) -> bool {
        matches!(self, Self::ToolExecute)
    }
}

/// One endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestEndpoint {
    /// Method of its requests.
    pub method: RestMethod,
    /// Path below the one at which the contract is served, as in `/tools/{tool_name}/execute`.
    pub path: &'static str,
    /// What it does.
    pub is: RestOperation,
}

impl RestEndpoint {
    /// Returns the value of the variable in a path, as it is written there; `None` if the path is not this endpoint's, or has no variable.
    pub fn variable_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (before, _) = self.path.split_once('{')?;
        let (_, after) = self.path.split_once('}')?;
        path.strip_prefix(before)?.strip_suffix(after)
    }

    /// Returns whether a path is this endpoint's.
    pub fn is_at(&self, path: &str) -> bool {
        self.path == path || self.variable_of(path).is_some_and(|value| !value.contains('/'))
    }

    /// Returns the path with `value` in place of its variable.
    pub fn path_with(&self, value: &str) -> String {
        match (self.path.split_once('{'), self.path.split_once('}')) {
            (Some((before, _)), Some((_, after))) => format!("{before}{value}{after}"),
            _ => self.path.to_owned(),
        }
    }
}

impl ContractSpec {
    /// Returns the endpoint that does this, if the contract has one.
    pub fn endpoint(&self, is: RestOperation) -> Option<&'static RestEndpoint> {
        self.rest.iter().find(|endpoint| endpoint.is == is)
    }
}
