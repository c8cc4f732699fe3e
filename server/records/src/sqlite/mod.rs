//! Rows in SQLite: one file per contract in a data folder.
//!
//! | module | does |
//! |---|---|
//! | `store`, `data_file` | the rows of a contract in a file, as the crate's other modules see them; the connections to it |
//! | `session`, `batch` | the exclusive right to change the data; transactions that turns share |
//! | `reading`, `query` | snapshots from a pool of connections; rows that are selected |
//! | `write`, `log` | rows and the log's entries |
//! | `codec` | conversion of rows from SQLite's types |
//! | `file`, `connection`, `tables` | opening and migrating the file; connections to it; the tables of a new one |
//! | `meta` | facts about the file, in a separate table |
//! | `mark` | detects missing changes; moves the write-ahead log into the file |
//! | `replica` | tables replayed from a log, for comparison |
//! | `upkeep` | import, backup |
//! | `recovery`, `replacement` | a file remade from its log, and put in the place of the damaged one |
//! | `usage` | locks of the processes that use the file |

pub(crate) mod batch;
mod codec;
mod connection;
mod data_file;
mod file;
mod log;
mod mark;
mod meta;
pub(crate) mod query;
mod reading;
mod recovery;
mod replacement;
mod replica;
pub(crate) mod session;
mod store;
mod tables;
mod upkeep;
mod usage;
mod write;

pub use self::{
    connection::path,
    recovery::{Recovered, recover},
    upkeep::backup,
};
pub(crate) use self::{
    data_file::DataFile,
    file::inspect,
    upkeep::{import, new_file},
};
#[cfg(feature = "postgres")]
pub(crate) use self::{
    file::create_folder,
    replica::{Replica, check},
};
