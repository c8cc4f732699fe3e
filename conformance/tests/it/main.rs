//! Reports in each format, for people and programs.

mod reports;
mod sample;
