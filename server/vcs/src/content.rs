//! Content of a repository, by its id.

use gix::{ObjectId, objs::Kind};

use crate::{
    error::{VcsError, text},
    repository::GitRepository,
};

impl GitRepository {
    /// Returns the bytes of a blob, or the message of a commit, by its SHA-1.
    ///
    /// # Errors
    /// If there is none, or it has more than `limit` bytes.
    pub fn content(&self, id: &[u8; 20], limit: u64) -> Result<Vec<u8>, VcsError> {
        let id = ObjectId::from_bytes_or_panic(id);
        let unreadable = |error: gix::Error| self.damaged("a file", &error);
        let header = self.git.find_header(id).map_err(unreadable)?;
        if header.size() > limit {
            return Err(VcsError::TooLarge {
                size: header.size(),
                limit,
            });
        }
        let object = self.git.find_object(id).map_err(unreadable)?;
        if object.kind != Kind::Commit {
            return Ok(object.detach().data);
        }
        let commit = object.into_commit();
        let message = commit.message_raw().map_err(unreadable)?;
        Ok(text(message.to_owned()).into_bytes())
    }
}
