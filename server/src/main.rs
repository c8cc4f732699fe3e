//! The `tabellion` program.

use std::process::ExitCode;

/// Takes the place of musl's allocator, for tree-sitter and SQLite too, in the programs for Linux that are released. In that one all threads
/// share a lock: indexing code took more than twice the time.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tabellion::cli::main()
}
