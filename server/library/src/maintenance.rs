//! Housekeeping of the repository, as git itself does after a commit: by git's own program, in the background, and under the
//! owner's settings (`gc.auto`, `maintenance.*`). Without it each edit would leave half a dozen files for ever.
//!
//! Takes no lock of the library: changes and reading continue meanwhile. Does nothing if git is not installed.

use std::{
    env,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use gix::ObjectId;
use tabellion_platform::names;

use super::repository::Repository;

/// Git's default limit of loose objects.
const DEFAULT_LIMIT: i64 = 6700;
/// The folder of loose objects that is counted as a sample of all 256, as in git.
const SAMPLE: u8 = 0x17;

/// Whether housekeeping is running.
#[derive(Debug, Default, Clone)]
pub(super) struct Maintenance(Arc<AtomicBool>);

impl Maintenance {
    /// Starts housekeeping if the new `objects` may have made it due: only if one of them is in the sampled folder, which
    /// happens once in a few dozen changes.
    pub(super) fn consider(&self, repository: &Repository, objects: &[ObjectId]) {
        let may_be_due = objects.iter().any(|id| id.as_bytes()[0] == SAMPLE);
        if may_be_due && is_due(repository) && !self.0.swap(true, Ordering::AcqRel) {
            let (running, mut git) = (self.clone(), command(repository));
            thread::spawn(move || {
                match git.status() {
                    Ok(status) => tracing::debug!(%status, "git's maintenance ended"),
                    Err(error) => tracing::debug!(%error, "git's maintenance can't be run"),
                }
                running.0.store(false, Ordering::Release);
            });
        }
    }
}

fn is_due(repository: &Repository) -> bool {
    let limit = repository
        .git()
        .config_snapshot()
        .integer("gc.auto")
        .unwrap_or(DEFAULT_LIMIT);
    let sample = repository.objects().join(format!("{SAMPLE:02x}"));
    let found = names(&sample).map_or(0, |names| names.len());
    limit > 0 && found as i64 > limit / 256
}

/// Returns the command that git runs after a commit, without hooks and monitors, and without our standard streams.
fn command(repository: &Repository) -> Command {
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(repository.git_dir()).args([
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "gc.autoDetach=false",
        "-c",
        "maintenance.autoDetach=false",
        "maintenance",
        "run",
        "--auto",
        "--quiet",
    ]);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            git.env_remove(name);
        }
    }
    git.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Clients kill the server with its process group, and a git that is killed leaves its locks, which refuse all changes then.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut git, 0);
    git
}

#[cfg(test)]
#[path = "tests/maintenance.rs"]
mod tests;
