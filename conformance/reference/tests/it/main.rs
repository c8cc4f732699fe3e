//! Tests of the suite that need a correct server and its mutants.

mod adapters;
mod declared;
mod http;
