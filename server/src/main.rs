//! The `tabellion` program.

use std::process::ExitCode;

/// Replaces musl's allocator in released programs for Linux, for tree-sitter and SQLite too. All threads share a lock in musl's: indexing
/// code took more than twice the time.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tabellion::cli::main()
}
