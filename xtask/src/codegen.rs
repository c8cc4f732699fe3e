//! Generated files: writes them, and checks that they are up to date.

use std::{collections::BTreeMap, fs, io, path::PathBuf, thread, time::Duration};

use xtask::{Outcome, root, schemas};

use crate::readme;

/// Poll interval of `--watch`.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Writes the files that have changed.
pub(crate) fn write() -> Outcome {
    let (changed, all) = (stale()?, expected()?.len());
    for (path, text) in &changed {
        match text {
            Some(text) => fs::write(path, text)?,
            None => fs::remove_file(path)?,
        }
        eprintln!("wrote {}", shown(path));
    }
    eprintln!("{} of {all} generated files changed", changed.len());
    Ok(())
}

/// Fails if a generated file is out of date, with the first line that differs and the command that repairs it.
pub(crate) fn check() -> Outcome {
    let mut problems = vec![];
    for (path, text) in stale()? {
        let now = fs::read_to_string(&path).unwrap_or_default();
        let text = text.unwrap_or_default();
        let line = now.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
        let at = |text: &str| text.lines().nth(line).unwrap_or("(end of file)").to_string();
        problems.push(format!(
            "{}:{}: not what the contracts say\n  - {}\n  + {}",
            shown(&path),
            line + 1,
            at(&now),
            at(&text)
        ));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nrun `cargo xtask codegen`", problems.join("\n")).into())
}

/// Writes now, and again whenever a contract is saved. Reports a contract's problems and continues.
pub(crate) fn watch() -> Outcome {
    let mut before = None;
    loop {
        let now = contract_files()?;
        if before.as_ref() != Some(&now) {
            if let Err(problems) = write() {
                eprintln!("{problems}");
            }
            eprintln!("watching {} for changes; stop with Ctrl-C", shown(&schemas()));
            before = Some(now);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns the files that differ from their generated content; `None` for a file that should not exist.
fn stale() -> Outcome<BTreeMap<PathBuf, Option<String>>> {
    let mut stale = BTreeMap::new();
    let expected = expected()?;
    for (_, generated) in places() {
        for entry in fs::read_dir(generated)? {
            let path = entry?.path();
            if !expected.contains_key(&path) {
                stale.insert(path, None);
            }
        }
    }
    for (path, text) in expected {
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            stale.insert(path, Some(text));
        }
    }
    Ok(stale)
}

fn expected() -> Outcome<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    for (contracts, generated) in places() {
        let code = tabellion_codegen::generate(&contracts, "cargo xtask codegen")?;
        files.extend(code.into_iter().map(|(name, text)| (generated.join(name), text)));
    }
    for contract in tabellion_codegen::load_all(&schemas())? {
        let path = schemas().join(&contract.folder).join("README.md");
        let text = match fs::read_to_string(&path) {
            // What it needs is said below.
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| format!("{}: {error}", shown(&path)))?,
        };
        files.insert(path, readme::with_tables(&contract, &text)?);
    }
    files.extend(meta_schemas()?);
    Ok(files)
}

/// Returns copies of the meta schemas for `codegen`, whose package can't hold files of another folder.
fn meta_schemas() -> io::Result<Vec<(PathBuf, String)>> {
    let copies = root().join("codegen/src/meta");
    let copy = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((copies.join(entry.file_name()), fs::read_to_string(entry.path())?))
    };
    fs::read_dir(schemas().join("meta"))?.map(copy).collect()
}

/// Returns the folders of contracts and of generated code: of the served contracts, and of the one for the official suite.
fn places() -> [(PathBuf, PathBuf); 2] {
    [
        (schemas(), schemas().join("src/generated")),
        (schemas().join("fixtures"), root().join("server/it/src/official_suite/generated")),
    ]
}

/// Returns the contracts' files with their modification times.
fn contract_files() -> io::Result<BTreeMap<PathBuf, std::time::SystemTime>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![schemas()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let saved = fs::metadata(&path)?.modified()?;
                files.insert(path, saved);
            }
        }
    }
    Ok(files)
}

fn shown(path: &std::path::Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
