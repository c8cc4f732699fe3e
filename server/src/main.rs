//! The `tabellion` program.

use std::process::ExitCode;

/// Takes the place of the C library's, for tree-sitter and SQLite too. All threads share one lock in that of musl, with which programs for
/// Linux are released: indexing code took more than twice the time there. That of glibc keeps the memory of threads that have ended.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tabellion::cli::main()
}
