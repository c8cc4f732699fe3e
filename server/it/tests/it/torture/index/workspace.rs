//! The files to index: of a folder or of branches, each with a unique word, in their first state and in their later one.

use std::{collections::BTreeMap, fs, path::Path};

use tabellion_conformance::ledger;

/// The word that is in each file.
pub(super) const COMMON: &str = "till";

/// Files by branch, which is empty for those of a folder, and path, with the number of the word of each.
pub(super) type Files = BTreeMap<(&'static str, String), usize>;

/// Returns a word that is unique to the number.
pub(super) fn word(number: usize) -> String {
    let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
    format!("quill{}{}x", letter(number / 26), letter(number))
}

fn text(number: usize) -> String {
    format!(
        "/// Counts {} in the {COMMON}.\npub fn count_{number}(amount: i64) -> i64 {{\n    amount + {number}\n}}\n",
        word(number)
    )
}

/// Writes files with these numbers, in place of the existing ones.
fn write(folder: &Path, files: impl IntoIterator<Item = (usize, usize)>) -> BTreeMap<String, usize> {
    let source = folder.join("src");
    if source.exists() {
        fs::remove_dir_all(&source).expect("removed");
    }
    let mut written = BTreeMap::new();
    for (place, number) in files {
        let path = format!("src/part_{}/file_{place}.rs", place % 3);
        let file = folder.join(&path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        fs::write(file, text(number)).expect("a file");
        written.insert(path, number);
    }
    written
}

/// Makes the workspace in its first state, or in its later one: a quarter of the files changed, some removed, some new.
pub(super) fn fill(folder: &Path, of_branches: bool, is_later: bool) -> Files {
    let number = |place: usize| {
        if is_later && place % 4 == 1 { 100 + place } else { place }
    };
    let places = if is_later { 3..19 } else { 0..16 };
    let main = write(folder, places.clone().map(|place| (place, number(place))));
    let of = |branch, written: BTreeMap<String, usize>| {
        written.into_iter().map(move |(path, number)| ((branch, path), number))
    };
    if !of_branches {
        return of("", main).collect();
    }
    let git = |arguments: &[&str]| ledger::git(folder, arguments).expect("git");
    if !folder.join(".git").exists() {
        git(&["init", "--quiet", "--initial-branch=main"]);
        fs::write(folder.join(".mcp-context.toml"), "[git]\nbranches = [\"main\", \"topic\"]\n")
            .expect("a file");
    }
    let commit = |branch: &str| {
        git(&["add", "--all", "src"]);
        git(&["commit", "--quiet", "-m", branch]);
    };
    commit("main");
    git(&["checkout", "--quiet", "-B", "topic"]);
    let topic = write(folder, places.skip(5).map(|place| (place, 200 + number(place))));
    commit("topic");
    git(&["checkout", "--quiet", "main"]);
    of("main", main).chain(of("topic", topic)).collect()
}
