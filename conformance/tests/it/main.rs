//! What people and programs get to see: reports in each format.

mod reports;
mod sample;
