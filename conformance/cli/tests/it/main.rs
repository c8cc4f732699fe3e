//! The command line, and servers that it reaches over HTTP.

mod cli;
mod http;
