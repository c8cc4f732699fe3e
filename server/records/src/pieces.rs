//! Small values that servers derive from the rows and share by name, so that each is made once.

use tabellion_runtime::Failure;

/// A name, and the bytes of its value.
pub type Piece = (String, Vec<u8>);

/// The shared pieces of a database.
pub trait Pieces: Send + Sync {
    /// Returns the pieces with these names that exist.
    ///
    /// # Errors
    /// If they can't be read.
    fn pieces(&self, names: Vec<String>) -> Result<Vec<Piece>, Failure>;

    /// Claims the pieces with these names that neither exist nor are claimed, and returns their names. A claim ends with its piece, or
    /// after five minutes.
    ///
    /// # Errors
    /// If they can't be written.
    fn claim(&self, names: Vec<String>) -> Result<Vec<String>, Failure>;

    /// Shares pieces.
    ///
    /// # Errors
    /// If they can't be written.
    fn put(&self, pieces: Vec<Piece>) -> Result<(), Failure>;

    /// Removes pieces whose names begin with `prefix`, are older than a day, and for which `is_kept` is false.
    ///
    /// # Errors
    /// If they can't be read or written.
    fn retain(&self, prefix: &str, is_kept: &dyn Fn(&str) -> bool) -> Result<(), Failure>;
}
