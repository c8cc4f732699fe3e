//! Rows in PostgreSQL, for several servers: one schema per contract.
//!
//! | module | does |
//! |---|---|
//! | `database` | the rows of a contract, as this crate's other modules see them |
//! | `shared` | the pool of a contract's schema, and its locks |
//! | `address` | address, user and authentication of the database |
//! | `connection` | connections, in a pool that is driven by a separate thread |
//! | `turn` | the right to change rows: a transaction, and the locks of orgs |
//! | `outcome` | outcome of a commit whose answer was lost |
//! | `log`, `follow` | the log's entries; following them in spite of gaps between their places |
//! | `reading` | one state of the rows, for a call or for all of them |
//! | `shares`, `pieces` | copies of derived files, and values derived from rows, for the other servers |
//! | `tables` | the schema: made, compared, migrated, filled from an export |
//! | `indexes` | indexes that are added to tables with rows, built while all servers write |
//! | `health` | health of a database, for its operator |
//! | `roles` | SQL of the roles of an owner and of servers |
//! | `codec`, `failures` | values and errors |

mod address;
mod codec;
mod connection;
mod database;
mod failures;
mod follow;
mod health;
mod indexes;
mod log;
mod outcome;
mod pieces;
mod reading;
mod roles;
mod shared;
mod shares;
mod tables;
mod turn;

pub use self::{
    address::Address,
    health::{Health, health},
    roles::Roles,
    tables::{Remade, remake},
};
pub(crate) use self::{
    database::Database,
    tables::{import, inspect},
};
