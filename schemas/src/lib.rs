//! The contracts, as Rust: one generated module each, and [`CONTRACTS`], which lists them all.
//!
//! The JSON next to this crate is authoritative; `cargo xtask codegen` writes the modules from it. Their behaviour at run time is in
//! [`tabellion_runtime`].

mod generated;

pub use generated::*;
