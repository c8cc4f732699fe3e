//! Housekeeping of the repository in the background, without a lock of the library: changes and reading continue meanwhile.
//!
//! Packs of transactions are [gathered](Gathering). Loose objects are packed as git itself does after a commit, by git's own program
//! and under the owner's settings (`gc.auto`, `maintenance.*`): without that, each edit would leave half a dozen files for ever.
//! If git is not installed, they stay.

use std::{
    env,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use gix::ObjectId;
use tabellion_platform::names;

use super::{
    gathering::{Gathering, MAX_PACKS},
    objects,
    repository::Repository,
};

/// Git's default limit of loose objects.
const DEFAULT_LIMIT: i64 = 6700;
/// The folder of loose objects that is counted as a sample of all 256, as in git.
const SAMPLE: u8 = 0x17;

/// The housekeeping of a library.
#[derive(Debug, Default)]
pub(super) struct Maintenance {
    git: Background,
    gathering: Background,
    /// Packs made since they were gathered.
    packs: AtomicUsize,
}

impl Maintenance {
    /// Starts housekeeping if the new `objects` may have made it due.
    pub(super) fn consider(&self, repository: &Repository, objects: &[ObjectId]) {
        if objects::are_packed(objects) {
            repository.shared().has_new_pack();
            self.consider_packs(repository);
        } else if objects.iter().any(|id| id.as_bytes()[0] == SAMPLE) && is_due(repository) {
            // One is in the sampled folder once in a few dozen changes.
            let mut git = command(repository);
            self.git.start(move || match git.status() {
                Ok(status) => tracing::debug!(%status, "git's maintenance ended"),
                Err(error) => tracing::debug!(%error, "git's maintenance can't be run"),
            });
        }
    }

    /// Counts a new pack. The first one starts gathering too, because there may be older packs.
    fn consider_packs(&self, repository: &Repository) {
        if self.packs.fetch_add(1, Ordering::Relaxed).is_multiple_of(MAX_PACKS) {
            let gathering = Gathering::new(repository);
            // At the usual priority: the fewer packs there are, the less each change costs.
            self.gathering.start(move || {
                if let Err(error) = gathering.run() {
                    tracing::debug!(%error, "packs can't be gathered");
                }
            });
        }
    }
}

/// Work in a separate thread, once at a time.
#[derive(Debug, Default)]
struct Background(Arc<AtomicBool>);

impl Background {
    /// Starts `work`, unless it is under way.
    fn start(&self, work: impl FnOnce() + Send + 'static) {
        if !self.0.swap(true, Ordering::AcqRel) {
            let running = Arc::clone(&self.0);
            thread::spawn(move || {
                work();
                running.store(false, Ordering::Release);
            });
        }
    }
}

fn is_due(repository: &Repository) -> bool {
    let limit = repository.git().config_snapshot().integer("gc.auto").unwrap_or(DEFAULT_LIMIT);
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
    git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Clients kill the server with its process group, and a killed git leaves its locks, which then refuse all changes.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut git, 0);
    git
}

#[cfg(test)]
#[path = "tests/maintenance.rs"]
mod tests;
