//! Tests of the table engine and the store together, on the example of a tracker.

mod batch;
mod crash;
#[cfg(feature = "postgres")]
mod database;
mod mark;
mod mcb;
mod model;
mod operations;
mod tracker;
mod upkeep;
