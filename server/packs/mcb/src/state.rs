//! The state behind the tools, and the outcomes of their methods.

use std::sync::Arc;

use tabellion_contracts::mcb::ToolError;
use tabellion_runtime::{Rows, Staged, rows::RowError};
use tabellion_vcs::Workspaces;

use super::{code::Indexer, index::MemoryIndex};

/// A reading method's outcome.
pub(super) type Answer<T> = Result<T, ToolError>;
/// A mutating method's outcome.
pub(super) type Change<T> = Result<Staged<T, Rows>, ToolError>;

/// Implements methods of a tool that have the same context and outcome. Each is given as a future, made from the memory, the context and
/// the request; its error becomes the contract's. The caller's org is checked first.
macro_rules! methods {
    ($context:ident -> $outcome:ident:
        $($name:ident($request:ty) -> $response:ty = |$memory:tt, $cx:ident, $req:ident| $work:expr;)*
    ) => {$(
        async fn $name(
            &self,
            $cx: &tabellion_runtime::$context<'_, tabellion_runtime::Rows>,
            $req: $request,
        ) -> $crate::state::$outcome<$response> {
            let $memory = self;
            $crate::call::check_org($cx).await.map_err($crate::state::refused)?;
            $work.await.map_err($crate::state::refused)
        }
    )*};
}

pub(super) use methods;

/// The implementation. The store has the rows.
pub(super) struct Memory {
    pub(super) index: Arc<dyn MemoryIndex>,
    pub(super) code: Indexer,
    pub(super) workspaces: Arc<Workspaces>,
}

/// Returns the contract's error for a refusal.
pub(super) fn refused(error: RowError) -> ToolError {
    error.into_failure("/data").into()
}

impl Memory {
    /// Announces that `change` is about to change rows that are searched, and returns it.
    pub(super) fn expecting<F: Future>(&self, change: F) -> F {
        self.index.expect();
        change
    }
}
