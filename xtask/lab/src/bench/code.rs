//! Indexes of source code (`mcb`): indexing trees, searching them compared with `rg`, one changed file, and starting with an
//! index.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    peers,
    pipe::Pipe,
    table::{Row, Table},
};
use xtask::{Outcome, root};

use crate::measure::peak;

/// Interval between two checks if a run is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Interval between two searches for a change.
const SEARCH_INTERVAL: Duration = Duration::from_millis(2);
/// Larger files supply no words: they are hardly ever written by a person.
const MAX_BYTES: u64 = 200_000;

/// Measures with each number of copies of the trees: the folders in `sources`, or that folder itself if it has files.
pub(super) fn all(within: &Path, sources: &Path, copies: &[usize], calls: usize) -> Outcome<Vec<Table>> {
    let mut tables = Vec::new();
    for copies in copies {
        let folder = tempfile::tempdir_in(root().join(within))?;
        tables.push(measure(&folder.path().canonicalize()?, sources, *copies, calls)?);
    }
    Ok(tables)
}

/// A folder that is indexed, and the name of its collection.
struct Tree {
    name: String,
    path: PathBuf,
    files: Vec<PathBuf>,
}

/// Copies each tree to `folder`, `copies` times.
fn plant(folder: &Path, sources: &Path, copies: usize) -> Outcome<Vec<Tree>> {
    let entries: Vec<_> = fs::read_dir(sources)?.collect::<Result<_, _>>()?;
    let mut folders: Vec<PathBuf> =
        entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect();
    if folders.len() < entries.len() {
        folders = vec![sources.canonicalize()?];
    }
    folders.sort();
    let mut trees = Vec::new();
    for copy in 0..copies {
        for from in &folders {
            let name = from.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{name}-{copy}");
            let path = folder.join(&name);
            let copied = Command::new("cp").arg("-r").arg(from).arg(&path).status()?;
            if !copied.success() {
                return Err(format!("`{}` can't be copied", from.display()).into());
            }
            // Build results are not sources.
            let _ = fs::remove_dir_all(path.join("target"));
            let files = files(&path)?;
            trees.push(Tree { name, path, files });
        }
    }
    Ok(trees)
}

/// Returns the files of a tree, except those of git, by path.
fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(entry.path());
        } else if entry.file_type()?.is_dir() && entry.file_name() != ".git" {
            files.extend(self::files(&entry.path())?);
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn serve(workspace: &Path, data: &Path) -> Outcome<Pipe> {
    let workspace = workspace.to_string_lossy();
    Pipe::greet(&["--contract", "mcb", "--workspace", &*workspace, "--data"], data)
}

/// Waits until no run is under way; returns the status.
fn settle(server: &mut Pipe) -> Outcome<Vec<Value>> {
    loop {
        let (_, mut answer) = server.ask("index", &json!({ "action": "status" }))?;
        let collections = answer["structuredContent"]["collections"].take();
        let collections = collections.as_array().cloned().unwrap_or_default();
        if let Some(failed) = collections.iter().find(|it| it["state"] == "failed") {
            return Err(format!("a run failed: {failed}").into());
        }
        if collections.iter().all(|it| it["state"] == "idle") {
            return Ok(collections);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn start(server: &mut Pipe, tree: &Tree) -> Outcome {
    let request = json!({ "action": "start", "path": tree.path, "collection": tree.name });
    server.ask("index", &request)?;
    Ok(())
}

/// Returns words of the sources from this index on, always the same ones: identifiers that are spread over all files.
fn words(tree: &Tree, from: usize, many: usize) -> Outcome<Vec<String>> {
    let files = &tree.files;
    let mut words = Vec::new();
    for number in (from..).take(many * 4) {
        let Some(file) = files.get(number * 7919 % files.len().max(1)) else {
            break;
        };
        if fs::metadata(file)?.len() > MAX_BYTES {
            continue;
        }
        let Ok(text) = fs::read_to_string(file) else {
            continue;
        };
        let parts = text.split(|it: char| !it.is_alphanumeric() && it != '_');
        let names: Vec<&str> = parts.filter(|part| part.len() >= 5).collect();
        if let Some(name) = names.get(number * 104_729 % names.len().max(1)) {
            words.push((*name).to_owned());
        }
        if words.len() == many {
            break;
        }
    }
    Ok(words)
}

fn search(query: &str, collection: Option<&str>) -> Value {
    let mut arguments = json!({ "resource": "code", "query": query, "limit": 10 });
    if let Some(collection) = collection {
        arguments["collection"] = collection.into();
    }
    arguments
}

fn measure(folder: &Path, sources: &Path, copies: usize, calls: usize) -> Outcome<Table> {
    let (workspace, data, empty) = (folder.join("trees"), folder.join("data"), folder.join("empty"));
    fs::create_dir(&workspace)?;
    let trees = plant(&workspace, sources, copies)?;
    let mut server = serve(&workspace, &data)?;
    let since = Instant::now();
    for tree in &trees {
        start(&mut server, tree)?;
    }
    let collections = settle(&mut server)?;
    let elapsed = since.elapsed();
    let sum = |field: &str| collections.iter().filter_map(|it| it[field].as_u64()).sum::<u64>();
    let mut table = Table::new(format!(
        "{} chunks of {} files in {} trees",
        sum("chunks"),
        sum("files_total"),
        trees.len()
    ));
    table.note("indexing all of them, to the last status", format!("{:.2} s", elapsed.as_secs_f64()));
    table.note(
        "peak memory while indexing",
        format!("{:.0} MB (aim ≤ 300 MB)", peak(server.process()).unwrap_or(f64::NAN)),
    );
    let since = Instant::now();
    for tree in &trees {
        start(&mut server, tree)?;
    }
    settle(&mut server)?;
    table.note("the same again, nothing changed", format!("{:.2} s", since.elapsed().as_secs_f64()));
    server.close()?;

    let mut first = Row::new("start to the first `tools/list`", "without an index", "≤ 10 ms more");
    for _ in 0..20 {
        for (data, is_ours) in [(&data, true), (&empty, false)] {
            let since = Instant::now();
            let mut server = serve(&workspace, data)?;
            server.request("tools/list", &json!({}))?;
            if is_ours {
                first.ours(since.elapsed());
            } else {
                first.peer(since.elapsed());
            }
            server.close()?;
        }
    }
    table.add(first);

    let mut server = serve(&workspace, &data)?;
    let mut one = Row::new("search, a word, of one tree", "`rg -F`, warm", "≤ 5 ms p95");
    let mut several = Row::alone("search, 3 words, of one tree");
    let mut everywhere =
        Row::alone("search, 3 words, of all trees (aim ≤ 5 ms p95 at 27,000 chunks, ≤ 30 ms at 500,000)");
    for number in 0..calls * 2 {
        let tree = &trees[number % trees.len()];
        let words = words(tree, number * 13, 3)?;
        let Some(word) = words.last() else { continue };
        one.ours(server.ask("search", &search(word, Some(&tree.name)))?.0);
        if let Some(time) = peers::rg_in(&tree.path, word)? {
            one.peer(time);
        }
        let query = words.iter().rev().take(3).cloned().collect::<Vec<_>>().join(" ");
        several.ours(server.ask("search", &search(&query, Some(&tree.name)))?.0);
        everywhere.ours(server.ask("search", &search(&query, None))?.0);
    }
    for row in [one, several, everywhere] {
        table.add(row);
    }

    let mut fresh = Row::alone("a changed file is searchable, from `start` on (aim ≤ 20 ms)");
    for number in 0..calls.min(30) {
        let tree = &trees[number % trees.len()];
        let name = format!("changed_by_bench_{number}");
        let mut file = fs::OpenOptions::new().create(true).append(true).open(tree.path.join("changed.rs"))?;
        writeln!(file, "/// A change.\npub fn {name}() {{}}\n")?;
        let since = Instant::now();
        start(&mut server, tree)?;
        loop {
            let (_, found) = server.ask("search", &search(&name, Some(&tree.name)))?;
            let results = found["structuredContent"]["results"].as_array();
            let is_there =
                |hit: &Value| hit["file_path"].as_str().is_some_and(|path| path.ends_with("changed.rs"));
            if results.into_iter().flatten().any(is_there) {
                break;
            }
            thread::sleep(SEARCH_INTERVAL);
        }
        fresh.ours(since.elapsed());
    }
    table.add(fresh);
    table.note("memory after that", format!("{:.0} MB", server.megabytes()?));
    server.close()?;
    println!("{table}");
    Ok(table)
}
