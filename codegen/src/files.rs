//! The generated files on disk, for build scripts and for the program `tabellion-codegen`.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process,
};

use crate::{
    Problems, generate,
    rust::{HEAD, OPENAPI},
};

/// A generated file that differs from the contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Its path.
    pub path: PathBuf,
    /// The text required by the contracts; `None` if the file's contract is gone.
    pub text: Option<String>,
}

/// Returns the files in `folder` that differ from the output of [`generate`], sorted by path. Considers only generated files: modules with
/// the first line of one, and the JSON of the same name.
///
/// # Errors
/// All problems of all contracts.
pub fn stale(schemas: &Path, folder: &Path, command: &str) -> Result<Vec<Stale>, Problems> {
    let files = generate(schemas, command)?;
    let mut stale = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_generated = || fs::read_to_string(entry.path()).is_ok_and(|text| text.starts_with(HEAD));
        if name.ends_with(".rs") && is_generated() {
            let beside = ["rs", "json", OPENAPI].map(|extension| entry.path().with_extension(extension));
            let name = |path: &Path| {
                path.file_name().is_some_and(|name| files.contains_key(&*name.to_string_lossy()))
            };
            let gone = beside.into_iter().filter(|path| path.is_file() && !name(path));
            stale.extend(gone.map(|path| (path, None)));
        }
    }
    for (name, text) in files {
        let path = folder.join(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            stale.insert(path, Some(text));
        }
    }
    Ok(stale.into_iter().map(|(path, text)| Stale { path, text }).collect())
}

/// Writes the [`stale`] files, and removes those of deleted contracts. Returns their paths.
///
/// # Errors
/// All problems of all contracts, or the disk's.
pub fn write(schemas: &Path, folder: &Path, command: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut written = vec![];
    for Stale { path, text } in stale(schemas, folder, command)? {
        let done = match text {
            Some(text) => fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)),
            None => fs::remove_file(&path),
        };
        done.map_err(|error| format!("{}: {error}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

/// The whole of a build script: writes the modules of the contracts below `schemas` into `folder`, whenever a contract has
/// changed. Both are relative to the package.
///
/// If a contract has problems, prints them and ends the process, so that `cargo build` shows them.
///
/// ```no_run
/// tabellion_codegen::build("schemas", "src/generated");
/// ```
pub fn build(schemas: impl AsRef<Path>, folder: impl AsRef<Path>) {
    let schemas = schemas.as_ref();
    println!("cargo::rerun-if-changed={}", schemas.display());
    if let Err(problems) = write(schemas, folder.as_ref(), "cargo build") {
        eprintln!("{problems}");
        process::exit(1);
    }
}
