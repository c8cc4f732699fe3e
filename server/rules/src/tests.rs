//! Tests of the whole crate; their data is in `testdata/`.

mod cases;
mod measures;
mod properties;
mod rule_files;
mod runs;

use std::{fs, path::PathBuf};

/// Returns the texts of `testdata/FOLDER`, by the names of their files, sorted.
fn data(folder: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
    let entries = fs::read_dir(&folder).expect("a folder of test data");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("a text"))
    };
    files.into_iter().map(read).collect()
}

/// Returns a folder with these files.
fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }
    folder
}
