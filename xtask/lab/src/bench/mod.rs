//! Compares Tabellion's costs with those of programs that do the same without it, in one run: on libraries of several sizes, with
//! histories of several lengths. Each row has the minimum, the median and the 99th percentile of alternating calls.
//!
//! Ratios are of medians of the same run, which makes them comparable between machines. `table.rs` prints, `library.rs` creates
//! libraries, `peers.rs` has the programs for comparison. `rows.rs` measures contracts that keep rows, `memories.rs` rows that are
//! searched, `notes.rs` notes with review (texts: `texts.rs`), `code.rs` indexes of source code. `pipe.rs` starts and
//! times all servers over standard input and output.

mod code;
mod library;
mod memories;
mod notes;
mod peers;
mod pipe;
mod rows;
mod table;
mod texts;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tabellion_conformance::ledger;

use self::{
    library::Library,
    pipe::Pipe,
    table::{Row, Table},
};
use xtask::{Outcome, root, run};

/// A word that is in no document.
const RARE: &str = "quinquagenary";

/// Options of `cargo lab bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Sizes of the libraries, in files
    #[arg(long, value_delimiter = ',', default_value = "100,10000,100000")]
    files: Vec<usize>,
    /// Lengths of their histories, in commits; the longer ones are measured on the middle size
    #[arg(long, value_delimiter = ',', default_value = "10,100000")]
    commits: Vec<usize>,
    /// Numbers of rows in the data folder, for the contract that keeps rows
    #[arg(long, value_delimiter = ',', default_value = "10000,1000000")]
    rows: Vec<usize>,
    /// Numbers of observations in the data folder, for the contract that keeps memories
    #[arg(long, value_delimiter = ',', default_value = "1000,100000")]
    observations: Vec<usize>,
    /// Numbers of notes in the library, for the contract that keeps notes with review
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000")]
    notes: Vec<usize>,
    /// Folder with the source trees to index: each folder in it, or itself if it has files too
    #[arg(long, value_name = "DIR", default_value = ".")]
    sources: PathBuf,
    /// Numbers of copies of those trees
    #[arg(long, value_delimiter = ',', default_value = "1")]
    copies: Vec<usize>,
    /// Seconds for which many clients store observations, or write notes
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Measure only one part
    #[arg(long, value_name = "WHAT")]
    only: Option<Only>,
    /// Number of calls to time of each kind
    #[arg(long, value_name = "N", default_value_t = 100)]
    calls: usize,
    /// Folder in which to create the libraries; its disk is part of what is measured
    #[arg(long, value_name = "DIR", default_value = "target")]
    within: PathBuf,
    /// File to which to write the figures as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench.json")]
    json: PathBuf,
}

/// A part of what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    Documents,
    Rows,
    Memories,
    Notes,
    Code,
}

/// Measures, prints a table for each library, and writes all of them.
pub(crate) fn all(options: &Options) -> Outcome {
    run::release("tabellion")?;
    let mut tables = Vec::new();
    let is_meant = |part| options.only.is_none_or(|only| only == part);
    if is_meant(Only::Documents) {
        tables.extend(over_libraries(options)?);
    }
    if is_meant(Only::Rows) {
        tables.extend(rows::all(&options.within, &options.rows, options.calls)?);
    }
    if is_meant(Only::Memories) {
        let long = Duration::from_secs(options.seconds);
        tables.extend(memories::all(&options.within, &options.observations, options.calls, long)?);
    }
    if is_meant(Only::Notes) {
        let long = Duration::from_secs(options.seconds);
        tables.extend(notes::all(&options.within, &options.notes, options.calls, long)?);
    }
    if is_meant(Only::Code) {
        tables.extend(code::all(&options.within, &options.sources, &options.copies, options.calls)?);
    }
    let tables: Vec<_> = tables.iter().map(Table::to_json).collect();
    let path = root().join(&options.json);
    fs::write(&path, serde_json::to_string_pretty(&tables)? + "\n")?;
    println!("written to {}", path.display());
    Ok(())
}

/// Measures contracts over documents.
fn over_libraries(options: &Options) -> Outcome<Vec<Table>> {
    peers::build("floor")?;
    let middle = options.files.get(options.files.len() / 2).copied().unwrap_or(100);
    let shortest = options.commits.iter().min().copied().unwrap_or(10);
    let mut tables = Vec::new();
    let shapes = options.files.iter().map(|files| (*files, shortest));
    let longer = options.commits.iter().filter(|commits| **commits != shortest);
    for (files, commits) in shapes.chain(longer.map(|commits| (middle, *commits))) {
        let library = Library::make(&options.within, files, commits)?;
        tables.push(measure(&library, options.calls)?);
    }
    tables.push(documents(&options.within, options.calls)?);
    Ok(tables)
}

fn measure(library: &Library, calls: usize) -> Outcome<Table> {
    let root = library.root();
    let mut table = Table::new(format!("{} files, {} commits", library.files(), library.commits()));
    table.add(starts(root)?);
    let meta = json!({ "tabellion/idempotencyKey": "bench-first" });
    table.add(without_cache(root, "log, 50 entries, without a cache", |server| {
        server.call("get_markdown_activity_log", json!({ "limit": 50 }))
    })?);
    table.add(without_cache(root, "refused edit with a new key, without a cache", |server| {
        server.refused("edit_markdown", append("nothing.md", 0), meta.clone())
    })?);

    let mut server = serve(root)?;
    let mut floor = peers::floor(root)?;
    let mut read = Row::new("read call over stdio", "hand-written line loop", "≤ 2×");
    for i in 0..calls * 5 {
        let path = library.path(i);
        read.ours(server.call("read_markdown", json!({ "path": path }))?);
        read.peer(floor.call("read", json!({ "path": path }))?);
    }
    floor.close()?;
    table.add(read);
    table.note("memory at rest", format!("{:.1} MB (aim ≤ 30 MB)", server.megabytes()?));

    let mut edit = Row::new("edit, durable", "`git add` + `git commit`, as durable", "≥ 5 to 20× faster");
    let mut least = Row::new("edit, durable", "write, fsync, rename, fsync of the folder", "≤ 2×");
    for i in 0..calls {
        let ours = server.call("edit_markdown", append(&library.path(i), i))?;
        edit.ours(ours);
        least.ours(ours);
        least.peer(peers::replace(root, &library.path(i + 7))?);
        if i % 4 == 0 {
            edit.peer(peers::commit_with_git(root, &library.path(i + 13), i)?);
        }
    }
    table.add(edit);
    table.add(least);
    let edits = |round: usize, i| append(&library.path(round * 100 + i), i);
    table.add(server.in_flight("edit, 32 in flight, each", calls, "edit_markdown", edits)?);

    let mut search = Row::new("search, a word that is nowhere", "`rg -F`, warm", "≤ 0.7×");
    for _ in 0..calls.min(20) {
        search.ours(server.call("search_markdown", json!({ "query": RARE }))?);
        if let Some(time) = peers::rg(root, RARE)? {
            search.peer(time);
        }
    }
    table.add(search);

    let mut log = Row::alone("log, 50 entries");
    for _ in 0..calls {
        log.ours(server.call("get_markdown_activity_log", json!({ "limit": 50 }))?);
    }
    table.add(log);
    let mut key = Row::alone("edit with a new idempotency key");
    for i in 0..calls.min(50) {
        let meta = json!({ "tabellion/idempotencyKey": format!("bench-{i}") });
        key.ours(server.call_with("edit_markdown", append(&library.path(i), i), meta)?);
    }
    table.add(key);
    server.close()?;
    println!("{table}");
    Ok(table)
}

/// Measures the time from the start to the first `tools/list`.
fn starts(root: &Path) -> Outcome<Row> {
    let mut row = Row::new("start to the first `tools/list`", "hand-written line loop", "≤ 10 ms more");
    for _ in 0..20 {
        let since = Instant::now();
        let mut server = serve(root)?;
        server.request("tools/list", &json!({}))?;
        row.ours(since.elapsed());
        server.close()?;
        let since = Instant::now();
        let mut floor = peers::floor(root)?;
        floor.request("tools/list", &json!({}))?;
        row.peer(since.elapsed());
        floor.close()?;
    }
    Ok(row)
}

/// Measures the first call of each kind, before the history was read.
fn without_cache(
    root: &Path,
    what: &'static str,
    call: impl Fn(&mut Pipe) -> Outcome<Duration>,
) -> Outcome<Row> {
    let mut row = Row::alone(what);
    for _ in 0..5 {
        for file in ["log.sqlite", "log.sqlite-wal", "log.sqlite-shm"] {
            fs::remove_file(root.join(".git/tabellion").join(file)).ok();
        }
        let mut server = serve(root)?;
        row.ours(call(&mut server)?);
        server.close()?;
    }
    Ok(row)
}

/// Measures previews of changes in a growing document.
fn documents(within: &Path, calls: usize) -> Outcome<Table> {
    let mut table = Table::new("one document".to_owned());
    let scratch = tempfile::tempdir_in(root().join(within))?;
    ledger::git(scratch.path(), &["init", "--quiet"])?;
    for (name, megabytes) in [("one.md", 1), ("ten.md", 10)] {
        let text: String = (0..megabytes * 1000)
            .map(|i| format!("## Section {i}\n\n{}\n\n", library::words(i, 985)))
            .collect();
        fs::write(scratch.path().join(name), text)?;
    }
    let mut server = serve(scratch.path())?;
    let preview = |name: &str| json!({ "path": name, "operation": { "type": "replace_section", "target": "## Section 500", "content": "## Section 500\n\nnew\n" } });
    let mut row = Row::new("preview in a document of 10 MB", "the same of 1 MB", "10× (linear)");
    for _ in 0..calls.min(10) {
        row.ours(server.call("preview_markdown_change", preview("ten.md"))?);
        row.peer(server.call("preview_markdown_change", preview("one.md"))?);
    }
    table.add(row);
    server.close()?;
    println!("{table}");
    Ok(table)
}

fn append(path: &str, i: usize) -> Value {
    json!({ "path": path, "operation": { "type": "append", "content": format!("\nline {i}\n") } })
}

/// Starts the server of a library.
fn serve(library: &Path) -> Outcome<Pipe> {
    Pipe::greet(&["--library"], library)
}
