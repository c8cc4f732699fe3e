//! The exact error to answer a request with.

use std::sync::{Arc, OnceLock};

use rmcp::{ErrorData, RoleServer, model::ErrorCode, service::RequestContext};

/// Carries the error of a contract past rmcp, which would replace the code -32002.
#[derive(Clone, Default)]
pub(super) struct ExactError(Arc<OnceLock<ErrorData>>);

impl ExactError {
    /// Stores `error` as the answer to the request, and returns it.
    pub(super) fn store(cx: &RequestContext<RoleServer>, error: ErrorData) -> ErrorData {
        if let Some(Self(cell)) = cx.extensions.get() {
            // A request has only one answer, so the cell is still empty.
            let _ = cell.set(error.clone());
        }
        error
    }

    /// Returns the stored error, or `error` if there is none. That of an unknown method has only its name from rmcp.
    pub(super) fn or(&self, error: ErrorData) -> ErrorData {
        let mut error = self.0.get().cloned().unwrap_or(error);
        if error.code == ErrorCode::METHOD_NOT_FOUND {
            error.message = format!("the method `{}` is not served", error.message).into();
        }
        error
    }
}
