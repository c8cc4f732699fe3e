//! The built server, driven over its pipes and judged on the disk.

mod attacks;
mod concurrency;
mod contract;
mod editor;
mod invariants;
mod large;
mod lifetime;
mod long_history;
mod session;
mod support;
mod torture;
mod waiting;
