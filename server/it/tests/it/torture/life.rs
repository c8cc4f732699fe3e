//! A long life: one server, many changes, and no resource that grows without bound.

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use walkdir::WalkDir;

use super::{
    Effort,
    calls::{Call, CallOutcome},
    client::Client,
    described,
    dice::Dice,
    history, judge,
};
use crate::support::{Library, edit};

/// Changes in the short form and in the long one.
const CHANGES: (u64, u64) = (150, 10_000);
/// Files of the library, in folders of ten.
const FILES: u64 = 300;
const SAMPLES: u64 = 10;
/// The time limit of git's housekeeping after the server's end.
const HOUSEKEEPING_TIMEOUT: Duration = Duration::from_secs(60);
/// Tolerance for descriptors and threads that are open only briefly.
const COMING_AND_GOING: u64 = 2;
/// Memory that the server may use for each change (its log entry), and apart from that.
const BYTES_A_CHANGE: u64 = 2 * 1024;
const BYTES_TO_WARM_UP: u64 = 32 * 1024 * 1024;

#[test]
#[cfg(target_os = "linux")]
fn a_long_life_needs_constant_resources() {
    let effort = Effort::from_environment();
    let contents: Vec<_> =
        (0..FILES).map(|nth| (name(nth), described::content(&format!("file-{nth}"), 2000))).collect();
    let files: Vec<_> = contents.iter().map(|(path, content)| (&**path, &**content)).collect();
    let library = Library::with(&files);
    let mut client = Client::new(&library);
    let mut dice = Dice::new(effort, 0);
    let changes = effort.pick(CHANGES.0, CHANGES.1);
    let pid = client.id();
    let mut samples = vec![];
    println!("life: seed {}, {changes} changes\n{}", effort.seed, Sample::HEAD);
    while client.calls.len() < changes as usize && !effort.is_over() {
        let done = client.calls.len();
        change(&mut client, &mut dice);
        if (done as u64 + 1).is_multiple_of(changes / SAMPLES) {
            let tenth = &client.calls[done + 1 - (changes / SAMPLES) as usize..];
            let sample = Sample::take(library.root(), pid, tenth);
            println!("{:7} {sample}", done + 1);
            samples.push(sample);
        }
    }
    let faults = faults(&samples);
    assert!(faults.is_empty(), "{faults:?}");
    client.close();
    let commits = history::commits(library.root(), &history::HERE);
    assert_eq!(commits.len(), client.calls.len() + 1, "one commit a change");
    // Housekeeping may begin, and take its locks, after the wait for it.
    let since = Instant::now();
    let faults = loop {
        wait_for_housekeeping(library.root());
        let faults = judge::faults_of_library(&library, &commits);
        if faults.is_empty() || since.elapsed() > HOUSEKEEPING_TIMEOUT {
            break faults;
        }
    };
    assert_eq!(faults, [""; 0]);
    assert_eq!(library.ledger().status, "");
}

/// Waits for the housekeeping that the server started, during which git holds locks.
#[cfg(target_os = "linux")]
fn wait_for_housekeeping(root: &Path) {
    let since = Instant::now();
    let at_work = ["gc.pid", "objects/maintenance.lock"].map(|name| root.join(".git").join(name));
    while at_work.iter().any(|path| path.exists()) && since.elapsed() < HOUSEKEEPING_TIMEOUT {
        thread::sleep(Duration::from_millis(20));
    }
}

fn name(nth: u64) -> String {
    format!("folder-{}/file-{}.md", nth / 10, nth % 10)
}

/// Makes one change, which must be acknowledged, and sometimes reads.
fn change(client: &mut Client<'_>, dice: &mut Dice) {
    let nth = client.calls.len();
    let token = format!("c{nth}");
    let path = name(dice.roll(FILES));
    // Every hundredth change deletes a file, and the next one restores it.
    let passing = name(FILES);
    let call = match nth % 100 {
        98 => Call::new(&token, "write_markdown", json!({ "path": passing, "content": token })),
        99 => Call::new(&token, "delete_markdown", json!({ "path": passing, "confirm": true })),
        _ if dice.roll(4) == 0 => {
            let content = described::content(&token, 2000);
            Call::new(&token, "write_markdown", json!({ "path": path, "content": content }))
        }
        _ => Call::new(&token, "edit_markdown", edit(&path, "append", "", &format!("- {token}\n"))),
    };
    let call = if nth.is_multiple_of(3) { call.with_key() } else { call };
    let end = &client.call(call).end;
    assert!(matches!(end, CallOutcome::Commit(_)), "{nth}: {end:?}");
    let (tool, request) = match nth % 20 {
        5 => ("read_markdown", json!({ "path": path })),
        10 => ("get_markdown_activity_log", json!({ "limit": 20 })),
        15 => ("list_markdown_files", json!({ "path": "", "recursive": true })),
        19 => ("search_markdown", json!({ "query": "nowhere to be found" })),
        _ => return,
    };
    client.read(tool, request);
}

/// Resources of the server and the repository at one time.
struct Sample {
    descriptors: usize,
    threads: u64,
    resident: u64,
    own_files: usize,
    loose_objects: usize,
    git_bytes: u64,
    /// The median time of a change since the sample before.
    median: Duration,
    changes: u64,
}

impl Sample {
    const HEAD: &str =
        "changes: descriptors, threads, resident KiB, own files, loose objects, .git KiB, median";

    fn take(root: &Path, pid: u32, calls: &[Call]) -> Self {
        let process = Path::new("/proc").join(pid.to_string());
        let status = fs::read_to_string(process.join("status")).expect("the server's status");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
            let digits = line.trim_start_matches(':').trim().trim_end_matches(" kB");
            digits.parse::<u64>().expect("a number")
        };
        let git = root.join(".git");
        let mut times: Vec<_> = calls.iter().map(|call| call.waited).collect();
        times.sort();
        let all = files_below(&git);
        let loose = all.iter().filter(|(path, _)| is_loose(&git, path));
        Self {
            descriptors: fs::read_dir(process.join("fd")).expect("descriptors").count(),
            threads: number("Threads"),
            resident: number("VmRSS"),
            // Counters of background runs come and go.
            own_files: files_below(&git.join("tabellion"))
                .iter()
                .filter(|(path, _)| !path.to_string_lossy().ends_with("-attempts"))
                .count(),
            loose_objects: loose.count(),
            git_bytes: all.iter().map(|(_, size)| size).sum(),
            median: times[times.len() / 2],
            changes: calls.len() as u64,
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:4} {:4} {:8} {:4} {:8} {:8} {:?}",
            self.descriptors,
            self.threads,
            self.resident,
            self.own_files,
            self.loose_objects,
            self.git_bytes / 1024,
            self.median
        )
    }
}

/// A number of a sample.
type Measure = fn(&Sample) -> u64;

/// Returns the resources that grew, comparing the later half of the samples with the earlier half.
fn faults(samples: &[Sample]) -> Vec<String> {
    let (early, late) = samples.split_at(samples.len() / 2);
    let most = |samples: &[Sample], of: Measure| samples.iter().map(of).max().unwrap_or_default();
    let allowed: [(&str, Measure, u64); 4] = [
        ("descriptors", |sample| sample.descriptors as u64, COMING_AND_GOING),
        ("threads", |sample| sample.threads, COMING_AND_GOING),
        ("own files", |sample| sample.own_files as u64, 0),
        (
            "resident KiB",
            |sample| sample.resident,
            (BYTES_TO_WARM_UP + BYTES_A_CHANGE * late.iter().map(|sample| sample.changes).sum::<u64>())
                / 1024,
        ),
    ];
    let grown = allowed.into_iter().filter_map(|(what, of, growth)| {
        let (before, after) = (most(early, of), most(late, of));
        (!early.is_empty() && after > before + growth)
            .then(|| format!("{what} grew from {before} to {after}"))
    });
    grown.collect()
}

fn is_loose(git: &Path, path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.strip_prefix(git.join("objects")).ok());
    folder.is_some_and(|folder| folder.as_os_str().len() == 2)
}

/// Returns all files below a folder, with their size on the disk. Those that are removed meanwhile are left out.
fn files_below(folder: &Path) -> Vec<(PathBuf, u64)> {
    let there = WalkDir::new(folder).into_iter().filter_map(Result::ok);
    let files = there.filter(|entry| !entry.file_type().is_dir());
    files.filter_map(|entry| Some((entry.path().to_owned(), entry.metadata().ok()?.blocks() * 512))).collect()
}

#[test]
fn the_check_reports_growth() {
    let sample = |descriptors, threads, own_files, resident| Sample {
        descriptors,
        threads,
        resident,
        own_files,
        loose_objects: 0,
        git_bytes: 0,
        median: Duration::ZERO,
        changes: 15,
    };
    let first = || sample(10, 4, 1, 20_000);
    let cases = [
        (sample(10, 4, 1, 21_000), ""),
        (sample(13, 4, 1, 21_000), "descriptors"),
        (sample(10, 7, 1, 21_000), "threads"),
        (sample(10, 4, 2, 21_000), "own files"),
        (sample(10, 4, 1, 60_000), "resident"),
    ];
    for (last, what) in cases {
        let faults = faults(&[first(), last]);
        assert_eq!(faults.len(), usize::from(!what.is_empty()), "{what}: {faults:?}");
        assert!(faults.iter().all(|fault| fault.starts_with(what)));
    }
}
