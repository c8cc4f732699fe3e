//! Read calls and durable edits through stdio, beside git doing the same and the least that a disk must do, in one
//! run.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use tabellion_conformance::{Target, ledger};

use crate::{Outcome, root, run};

/// Options with which git makes a commit as durable as ours, and does nothing else.
const DURABLE: [&str; 6] = [
    "-c",
    "core.fsync=all",
    "-c",
    "core.fsyncMethod=fsync",
    "-c",
    "maintenance.auto=false",
];

/// Measures on a copy of each of `documents`, and prints a table.
pub(crate) fn all(documents: &[PathBuf], calls: usize) -> Outcome {
    run::cargo(&["build", "--release", "--quiet"])?;
    println!("| files | what | min | median | p99 |\n|---|---|---|---|---|");
    let empty = tempfile::tempdir_in(root().join("target"))?;
    for folder in std::iter::once(empty.path()).chain(documents.iter().map(PathBuf::as_path)) {
        let scratch = tempfile::tempdir_in(root().join("target"))?;
        let library = scratch.path();
        copy(folder, library)?;
        ledger::git(library, &["init", "--quiet", "--initial-branch=main"])?;
        ledger::git(library, &["add", "--all"])?;
        ledger::git(
            library,
            &["commit", "--quiet", "--allow-empty", "-m", "documents"],
        )?;
        measure(library, calls)?;
    }
    Ok(())
}

fn measure(library: &Path, calls: usize) -> Outcome {
    let mut server = start(library)?;
    let mut call = |tool: &str, arguments: Value| -> Outcome<(Value, Duration)> {
        let since = Instant::now();
        let answer = server.call(tool, arguments, Map::new())?;
        let elapsed = since.elapsed();
        if answer["result"]["isError"] == true || answer.get("error").is_some() {
            return Err(answer.to_string().into());
        }
        Ok((answer["result"]["structuredContent"].clone(), elapsed))
    };
    let (listing, _) = call("list_markdown_files", json!({ "path": "", "recursive": true }))?;
    let files: Vec<&str> = listing["files"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let spread = |i: usize| files[i * 7919 % files.len()];
    let row =
        |what: &str, times: Vec<Duration>| println!("| {} | {what} | {} |", files.len(), summary(times));

    let starts = (0..20).map(|_| {
        let since = Instant::now();
        start(library)?.request("tools/list", json!({}))?;
        Ok(since.elapsed())
    });
    row("start to the first tools/list", starts.collect::<Outcome<_>>()?);
    if files.is_empty() {
        return Ok(());
    }
    let mut timed = |tool: &str, arguments: Value| Ok(call(tool, arguments)?.1);
    let reads = (0..calls * 10).map(|i| timed("read_markdown", json!({ "path": spread(i) })));
    row("read", reads.collect::<Outcome<_>>()?);
    let searches = (0..10).map(|_| timed("search_markdown", json!({ "query": "quinquagenary" })));
    row("search for a rare word", searches.collect::<Outcome<_>>()?);
    let append = |i: usize| json!({ "path": spread(i), "operation": { "type": "append", "content": format!("\nline {i}\n") } });
    let edits = (0..calls).map(|i| timed("edit_markdown", append(i)));
    row("edit, durable", edits.collect::<Outcome<_>>()?);
    let commits = (0..calls.min(50)).map(|i| commit_with_git(library, spread(i), i));
    row(
        "write, `git add`, `git commit`, as durable",
        commits.collect::<Outcome<_>>()?,
    );
    let renames = (0..calls).map(|i| replace(library, spread(i)));
    row(
        "the floor: write, fsync, rename, fsync of the folder",
        renames.collect::<Outcome<_>>()?,
    );
    Ok(())
}

/// Starts the server over `library` and opens a session.
fn start(library: &Path) -> Outcome<Target> {
    let program = root().join("target/release/tabellion");
    let mut command = Command::new(program);
    let mut server = Target::start(
        command
            .arg("serve")
            .arg("--library")
            .arg(library)
            .stderr(Stdio::inherit()),
    )?;
    server.initialize("2025-11-25")?;
    Ok(server)
}

/// What no durable replacement of a file can do without.
fn replace(library: &Path, file: &str) -> Outcome<Duration> {
    let (path, aside) = (library.join(file), library.join(".aside"));
    let text = fs::read(&path)?;
    let folder = fs::File::open(path.parent().unwrap_or(library))?;
    let since = Instant::now();
    let mut new = fs::File::create(&aside)?;
    new.write_all(&text)?;
    new.sync_all()?;
    fs::rename(&aside, &path)?;
    folder.sync_all()?;
    Ok(since.elapsed())
}

fn commit_with_git(library: &Path, file: &str, i: usize) -> Outcome<Duration> {
    let path = library.join(file);
    let mut text = fs::read(&path)?;
    text.extend_from_slice(format!("\ngit {i}\n").as_bytes());
    let since = Instant::now();
    fs::write(&path, text)?;
    ledger::git(library, &[&DURABLE[..], &["add", "--", file]].concat())?;
    ledger::git(
        library,
        &[&DURABLE[..], &["commit", "--quiet", "-m", "edit"]].concat(),
    )?;
    Ok(since.elapsed())
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let shown = |time: Duration| match time.as_micros() {
        micros if micros < 1000 => format!("{micros} µs"),
        micros => format!("{:.1} ms", micros as f64 / 1000.0),
    };
    format!("{} | {} | {}", shown(at(0)), shown(at(50)), shown(at(99)))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
