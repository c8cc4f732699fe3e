//! The built server, driven over its pipes and judged on the disk.

mod attacks;
mod concurrency;
mod contract;
mod invariants;
mod lifetime;
mod session;
mod support;
mod torture;
