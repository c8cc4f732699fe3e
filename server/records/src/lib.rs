//! A store of rows: SQLite, in one file per contract.
//!
//! [`Records`] implements the runtime's `Store` for `Rows`. One mutation is atomic, with exactly one entry in the log, the
//! table `change`; replaying the log on an empty store gives the tables. It knows no contract: tables and SQL are made of the
//! names in the [`RowsSpec`](tabellion_runtime::spec::RowsSpec).
//!
//! | module | does |
//! |---|---|
//! | `store`, `records` | the runtime's view of the store; the rows of a contract and their connections |
//! | `session`, `batch` | the exclusive right to change the data; transactions that turns share |
//! | `reading`, `query` | snapshots from a pool of connections; SQL of selections |
//! | `write`, `log` | rows and the log's entries |
//! | `codec`, `layout` | rows as SQLite keeps them; tables, and what differs between two versions |
//! | `follow` | what changed after a place in the log |
//! | `file`, `connection`, `tables` | opening and migrating the file; connections to it; the tables of a new one |
//! | `meta` | facts about the file, in a table of its own |
//! | `mark` | tells when changes are missing; moves SQLite's write-ahead log into the file |
//! | `inspection` | which version the file is of, and what differs |
//! | `upkeep` | check, export, import, backup |
//! | `recovery`, `replacement` | a file made anew from its log, and put in the place of the damaged one |
//! | `usage` | which processes use the file |

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests open what they have made")
)]

mod batch;
mod blocking;
mod codec;
mod connection;
mod failures;
mod file;
mod follow;
mod fresh;
mod inspection;
mod layout;
mod log;
mod mark;
mod meta;
mod query;
mod reading;
mod records;
mod recovery;
mod replacement;
mod session;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod upkeep;
mod usage;
mod write;

pub use self::{
    connection::path,
    file::Start,
    follow::{Followed, FollowedRow},
    inspection::{Inspection, Standing, inspect},
    records::Records,
    recovery::{Recovered, recover},
    upkeep::{Checked, backup, import},
};
