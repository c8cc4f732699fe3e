//! A store of rows: SQLite, in one file per contract.
//!
//! [`Records`] implements the runtime's `Store` for `Rows`. One mutation is atomic, with exactly one entry in the log, the table
//! `change`; replaying the log on an empty store yields the tables. It knows no contract: tables and SQL are made from the names in
//! the [`RowsSpec`](tabellion_runtime::spec::RowsSpec).
//!
//! | module | does |
//! |---|---|
//! | `records` | the rows of a contract, in either database |
//! | `engine` | interface of a database that keeps rows |
//! | `sqlite` | rows in a file of a data folder |
//! | `postgres` | rows in a database that several servers share |
//! | `entry`, `fresh` | entries of the log, made of a call and its change; ids, the time, secrets |
//! | `sql`, `layout` | statements of both databases; tables, and the differences between two versions of them |
//! | `inspection` | version of the data, and its differences |
//! | `follow` | changes after a place in the log |
//! | `pieces` | values that servers derive from the rows, and share |
//! | `whole` | the whole content of a database: checked, exported, read back |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod engine;
mod entry;
mod failures;
mod follow;
mod fresh;
mod inspection;
mod layout;
mod pieces;
#[cfg(feature = "postgres")]
mod postgres;
mod records;
mod sql;
mod sqlite;
#[cfg(test)]
mod tests;
mod whole;

#[cfg(feature = "postgres")]
pub use self::postgres::{Address, Health, Remade, Roles, health, remake};
pub use self::{
    engine::Start,
    follow::{Followed, FollowedRow},
    inspection::{Inspection, SchemaDifference},
    pieces::{Piece, Pieces},
    records::{Location, Records, import, inspect},
    sqlite::{Recovered, backup, path, recover},
    whole::Checked,
};
