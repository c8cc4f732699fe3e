//! The contract over REST: its endpoints and their operations.

use super::{ContractSpec, ToolSpec};
use crate::vocabulary::vocabulary;

vocabulary! {
    /// The method of an endpoint.
    #[serde(rename_all = "UPPERCASE")]
    pub enum RestMethod {
        /// Never changes data.
        Get,
        /// May change data.
        Post,
        /// Renews its target.
        Put,
        /// Ends its target.
        Delete,
    }
}

vocabulary! {
    /// The operation of an endpoint.
    pub enum RestOperation {
        /// Lists the tools.
        #[serde(rename = "tool.list")]
        ToolList,
        /// Calls the tool that the path's variable names.
        #[serde(rename = "tool.execute")]
        ToolExecute,
        /// Lists the workflows.
        #[serde(rename = "workflow.list")]
        WorkflowList,
        /// Starts an instance of the workflow that the path's variable names.
        #[serde(rename = "workflow.start")]
        WorkflowStart,
        /// Returns the instance that the path's variable names.
        #[serde(rename = "instance.get")]
        InstanceGet,
        /// Lists instances.
        #[serde(rename = "instance.list")]
        InstanceList,
        /// Completes the task of an instance; the path's variables name the instance and the task.
        #[serde(rename = "task.complete")]
        TaskComplete,
        /// Returns the execution that the path's variable names.
        #[serde(rename = "execution.get")]
        ExecutionGet,
        /// Cancels the execution that the path's variable names.
        #[serde(rename = "execution.cancel")]
        ExecutionCancel,
        /// Opens a session.
        #[serde(rename = "session.create")]
        SessionCreate,
        /// Counts as activity in the session that the path's variable names.
        #[serde(rename = "session.renew")]
        SessionRenew,
        /// Ends the session that the path's variable names.
        #[serde(rename = "session.end")]
        SessionEnd,
        /// Serves the file that a tool's answer links to. Its URL is the credential: no other is required.
        #[serde(rename = "download")]
        Download,
        /// Describes the endpoints, as OpenAPI 3.1. Requires no credentials.
        #[serde(rename = "openapi")]
        OpenApi,
    }
}

impl RestOperation {
    /// Returns the method that endpoints of this kind have.
    pub const fn method(self) -> RestMethod {
        match self {
            Self::ToolList
            | Self::ExecutionGet
            | Self::WorkflowList
            | Self::InstanceGet
            | Self::InstanceList
            | Self::Download
            | Self::OpenApi => RestMethod::Get,
            Self::ToolExecute | Self::SessionCreate | Self::WorkflowStart | Self::TaskComplete => {
                RestMethod::Post
            }
            Self::SessionRenew => RestMethod::Put,
            Self::ExecutionCancel | Self::SessionEnd => RestMethod::Delete,
        }
    }

    /// Returns the number of variables in its paths.
    pub const fn variables(self) -> usize {
        match self {
            Self::ToolList
            | Self::SessionCreate
            | Self::WorkflowList
            | Self::InstanceList
            | Self::OpenApi => 0,
            Self::ToolExecute
            | Self::ExecutionGet
            | Self::ExecutionCancel
            | Self::SessionRenew
            | Self::SessionEnd
            | Self::WorkflowStart
            | Self::InstanceGet
            | Self::Download => 1,
            Self::TaskComplete => 2,
        }
    }

    /// Returns the argument names of the path's variables in the call that the endpoint makes, one of [`ContractSpec::calls`]; `None` if it
    /// makes no such call.
    pub const fn call_members(self) -> Option<&'static [&'static str]> {
        match self {
            Self::WorkflowStart => Some(&["workflow_id"]),
            Self::InstanceGet => Some(&["instance_id"]),
            Self::InstanceList => Some(&[]),
            Self::TaskComplete => Some(&["instance_id", "task_id"]),
            _ => None,
        }
    }
}

/// One endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestEndpoint {
    /// Method of its requests.
    pub method: RestMethod,
    /// Path below the one at which the contract is served, as in `/tools/{tool_name}/execute`.
    pub path: &'static str,
    /// Its operation.
    pub is: RestOperation,
    /// Names of the roles that may also see other callers' items.
    pub others: &'static [&'static str],
}

impl RestEndpoint {
    /// An endpoint without any key, for `..` in a constant.
    pub const NEW: Self = Self { method: RestMethod::Get, path: "", is: RestOperation::OpenApi, others: &[] };

    /// Returns the values of the variables in a path, as they are written there; `None` if the path is not this endpoint's.
    pub fn variables_of<'p>(&self, path: &'p str) -> Option<Vec<&'p str>> {
        let (mut mine, mut theirs) = (self.path.split('/'), path.split('/'));
        let mut variables = vec![];
        loop {
            match (mine.next(), theirs.next()) {
                (None, None) => return Some(variables),
                (Some(segment), Some(value)) if is_variable(segment) && !value.is_empty() => {
                    variables.push(value)
                }
                (Some(segment), Some(value)) if segment == value => {}
                _ => return None,
            }
        }
    }

    /// Returns the names of the variables of its path.
    pub fn variable_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let segments = self.path.split('/');
        segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Returns the path with `values` in place of its variables.
    pub fn path_with(&self, values: &[&str]) -> String {
        let mut values = values.iter();
        let segments = self.path.split('/').map(|segment| {
            let value = is_variable(segment).then(|| values.next()).flatten();
            value.copied().unwrap_or(segment)
        });
        segments.collect::<Vec<_>>().join("/")
    }
}

fn is_variable(segment: &str) -> bool {
    segment.starts_with('{')
}

impl ContractSpec {
    /// Returns the endpoints at this path, with the values of its variables. A literal path takes precedence over one with variables.
    pub fn endpoints_at<'p>(&self, path: &'p str) -> Vec<(&'static RestEndpoint, Vec<&'p str>)> {
        let at = self.rest.iter();
        let mut at: Vec<_> =
            at.filter_map(|endpoint| Some((endpoint, endpoint.variables_of(path)?))).collect();
        let fewest = at.iter().map(|(_, variables)| variables.len()).min();
        at.retain(|(_, variables)| Some(variables.len()) == fewest);
        at
    }

    /// Returns the endpoint with this operation, if the contract has one.
    pub fn endpoint(&self, is: RestOperation) -> Option<&'static RestEndpoint> {
        self.rest.iter().find(|endpoint| endpoint.is == is)
    }

    /// Returns the call that an endpoint of this kind makes, if it makes one.
    pub fn call_of(&self, is: RestOperation) -> Option<&'static ToolSpec> {
        self.calls.iter().find(|call| call.name == is.to_string())
    }
}
