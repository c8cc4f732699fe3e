//! The log with its cache against the log without.

mod damage;
mod model;
mod support;
