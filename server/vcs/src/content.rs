//! Content of a repository, by its id.

use gix::{
    ObjectId,
    objs::{Kind, compute_hash},
};

use crate::{
    error::{VcsError, text},
    repository::GitRepository,
    workspaces::{WorkspacePath, Workspaces},
};

/// The objects of a repository, accessed by their ids. Git's folder may change while it is open: an object is accepted only if the hash
/// of its content is its id, so it can't be replaced.
#[derive(Debug)]
pub struct Objects(GitRepository);

impl Objects {
    /// Opens the objects of the repository whose work tree contains `at`.
    ///
    /// # Errors
    /// As for [`GitRepository::read`].
    pub fn open(
        workspaces: &Workspaces,
        at: &WorkspacePath,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, VcsError> {
        GitRepository::open(workspaces, at, cancelled).map(Self)
    }

    /// Returns the bytes of a blob, or the message of a commit, by its SHA-1.
    ///
    /// # Errors
    /// If there is none, or it has more than `limit` bytes, or a different id.
    pub fn content(&self, id: &[u8; 20], limit: u64) -> Result<Vec<u8>, VcsError> {
        let id = ObjectId::from_bytes_or_panic(id);
        let git = &self.0.git;
        let unreadable = |error: gix::Error| self.0.damaged("a file", &error);
        let header = git.find_header(id).map_err(unreadable)?;
        if header.size() > limit {
            return Err(VcsError::TooLarge { size: header.size(), limit });
        }
        let object = git.find_object(id).map_err(unreadable)?;
        if compute_hash(id.kind(), object.kind, &object.data).ok() != Some(id) {
            return Err(VcsError::Damaged {
                path: self.0.path().to_owned(),
                what: "a file",
                message: format!("the object {id} has other content"),
            });
        }
        if object.kind != Kind::Commit {
            return Ok(object.detach().data);
        }
        let commit = object.into_commit();
        let message = commit.message_raw().map_err(unreadable)?;
        Ok(text(message.to_owned()).into_bytes())
    }
}
