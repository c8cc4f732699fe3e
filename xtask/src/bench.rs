//! Read calls and mutations through stdio, beside git doing the same, in one run.

use std::{
    fs,
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
    for folder in documents {
        let scratch = tempfile::tempdir_in(root().join("target"))?;
        let library = scratch.path();
        copy(folder, library)?;
        ledger::git(library, &["init", "--quiet", "--initial-branch=main"])?;
        ledger::git(library, &["add", "--all"])?;
        ledger::git(library, &["commit", "--quiet", "-m", "documents"])?;
        measure(library, calls)?;
    }
    Ok(())
}

fn measure(library: &Path, calls: usize) -> Outcome {
    let listed = ledger::git(library, &["ls-files", "-z"])?;
    let files: Vec<&str> = listed.split('\0').filter(|path| is_markdown(path)).collect();
    let spread = |i: usize| files[i * 7919 % files.len()];
    let row = |what: &str, times: Vec<Duration>| {
        println!("| {} | {what} | {} |", files.len(), summary(times));
    };

    let start = || -> Outcome<(Target, Duration)> {
        let since = Instant::now();
        let program = root().join("target/release/tabellion");
        let mut server = Target::start(
            Command::new(program)
                .arg("serve")
                .arg("--library")
                .arg(library)
                .stderr(Stdio::inherit()),
        )?;
        server.initialize("2025-11-25")?;
        server.request("tools/list", json!({}))?;
        Ok((server, since.elapsed()))
    };
    row(
        "start to first tools/list",
        (0..20).map(|_| Ok(start()?.1)).collect::<Outcome<_>>()?,
    );

    let (mut server, _) = start()?;
    let mut timed = |tool: &str, arguments: Value| -> Outcome<Duration> {
        let since = Instant::now();
        let answer = server.call(tool, arguments, Map::new())?;
        let elapsed = since.elapsed();
        if answer["result"]["isError"] == true || answer.get("error").is_some() {
            return Err(answer.to_string().into());
        }
        Ok(elapsed)
    };
    let reads = (0..calls * 10).map(|i| timed("read_markdown", json!({ "path": spread(i) })));
    row("read", reads.collect::<Outcome<_>>()?);
    let searches = (0..10).map(|_| timed("search_markdown", json!({ "query": "quinquagenary" })));
    row("search for a rare word", searches.collect::<Outcome<_>>()?);
    let append = |i: usize| json!({ "path": spread(i), "operation": { "type": "append", "content": format!("\nline {i}\n") } });
    let edits = (0..calls).map(|i| timed("edit_markdown", append(i)));
    row("edit, durable", edits.collect::<Outcome<_>>()?);

    let commits = (0..calls.min(50)).map(|i| commit_with_git(library, spread(i), i));
    row(
        "write, `git add && git commit`, as durable",
        commits.collect::<Outcome<_>>()?,
    );
    Ok(())
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

fn is_markdown(path: &str) -> bool {
    [".md", ".markdown", ".mdx"]
        .iter()
        .any(|ending| path.ends_with(ending))
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
