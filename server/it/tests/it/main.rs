//! End-to-end tests of the built server, which check its answers and the disk.

#![allow(clippy::disallowed_methods, reason = "tests open what they have made")]

mod approval;
mod attacks;
#[cfg(unix)]
mod bombs;
mod broken_connections;
mod browser;
mod callers;
mod concurrency;
mod contract;
mod data;
mod doctor;
#[cfg(unix)]
mod documented;
mod editor;
mod executions;
mod http;
mod install;
mod invariants;
mod large;
mod learning_os;
mod lifetime;
mod long_history;
mod names;
mod operations;
mod options;
mod page;
#[cfg(unix)]
mod postgres;
#[cfg(unix)]
mod remotes;
mod rest;
mod review;
mod rows;
#[cfg(target_os = "linux")]
mod service;
mod session;
mod side_by_side;
mod support;
mod terminal;
mod torture;
mod waiting;
