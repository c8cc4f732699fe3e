//! Compares the log with its cache to the log without.

mod damage;
mod model;
mod support;
