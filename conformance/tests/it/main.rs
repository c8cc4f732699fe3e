//! What people and programs get to see: reports in each format, and the command line.

mod cli;
mod http;
mod reports;
mod sample;
