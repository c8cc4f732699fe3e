//! The contracts, as Rust: one generated module each, and [`CONTRACTS`], which lists them all.
//!
//! The JSON beside this crate is authoritative; `cargo xtask codegen` writes the modules from it. What they do when they
//! run is in [`tabellion_runtime`].

mod generated;

pub use generated::*;
