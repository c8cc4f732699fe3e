//! The only way to open, version, lock, check, put aside and remake SQLite files, and the table of those that may be remade.
//!
//! | module | does |
//! |---|---|
//! | `kinds` | the table: authoritative and derived files, with their formats and settings |
//! | `open` | connections, the version of a file, its lock, putting it aside |
//! | `derived` | files that are emptied if they are damaged or of a different version |
//! | `damage` | recognizes errors that mean damage |
//! | `pool` | connections that readers share |
//!
//! Tables and rows belong to the crates above.
//!
//! An authoritative file has no function that empties it:
//!
//! ```
//! use tabellion_sqlite::{Content, Derived, FileError};
//!
//! fn empty(file: &Derived, path: &std::path::Path, content: &dyn Content) -> Result<(), FileError> {
//!     file.open(path, content).map(drop)
//! }
//! ```
//!
//! ```compile_fail,E0599
//! use tabellion_sqlite::{Authoritative, Content, FileError};
//!
//! fn empty(file: &Authoritative, path: &std::path::Path, content: &dyn Content) -> Result<(), FileError> {
//!     file.open(path, content).map(drop)
//! }
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod damage;
mod derived;
mod kinds;
mod open;
mod pool;
#[cfg(test)]
mod tests;

pub use self::{
    damage::{Damage, check, is_busy, is_damage, is_full, unwritable},
    derived::{Content, new_generation},
    kinds::{Authoritative, CALLS, CODE, Derived, Kind, LOG, NOTES, ROWS, VECTORS, WORDS},
    open::{BESIDE, FileError, Format, beside, lock, temporary},
    pool::{Pool, Pooled},
};
