//! The checked-out branch and commit.

use gix::head::Kind;

use crate::{
    error::{VcsError, text},
    repository::GitRepository,
};

/// The checked-out branch and commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Short name of the branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Id of the commit; `None` before the first one.
    pub commit: Option<String>,
}

impl GitRepository {
    /// Returns the checked-out branch and commit.
    ///
    /// # Errors
    /// If HEAD can't be read.
    pub fn checkout(&self) -> Result<Checkout, VcsError> {
        let head = self.git.head().map_err(|error| self.damaged("HEAD", &error))?;
        let branch = match &head.kind {
            Kind::Symbolic(branch) => Some(text(branch.name.shorten().to_owned())),
            Kind::Unborn(name) => Some(text(name.shorten().to_owned())),
            Kind::Detached { .. } => None,
        };
        let commit = head.id().map(|id| id.to_string());
        Ok(Checkout { branch, commit })
    }
}
