//! The store's files: modes, links, names, and lines of others.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use super::calls::{Store, name};
use crate::{bytes, checks::prelude::*, launch::StoreCall};

/// Mode of a file that only its owner may read.
const PRIVATE: u32 = 0o600;
/// Endings of additional files of databases.
const OF_DATABASES: [&str; 3] = ["-wal", "-shm", "-journal"];
/// A line that no server knows, for stores of lines of JSON and for others.
const UNKNOWN: [&str; 2] =
    [r#"{"type":"x-of-a-later-version","text":"unknownline00001"}"#, "unknownline00001"];

named! {
    /// A property of the store's files that calls must keep.
    enum Property {
        Mode = "private files",
        Link = "a store that is a symbolic link",
        Names = "files beside the store",
    }
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for call in &bench.subject.launch.store {
        for property in Property::ALL {
            cases.push(Case::new(format!("{property}, {}", call.tool), (call, property)));
        }
    }
    Ok(cases)
}

/// Returns a store with texts, and its main files: those that have the text.
fn begun<'a>(bench: &Bench<'a>, call: &StoreCall) -> Result<(Store<'a>, Vec<PathBuf>), Stop> {
    let mut store = Store::new(bench, &Case::new("", call))?;
    let mut client = store.scene.start()?;
    let text = store.must_store(&mut client)?;
    client.close()?;
    let files = store.with(&text)?;
    Ok((store, files))
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (call, property): (StoreCall, Property) = case.read()?;
    let (mut store, files) = begun(bench, &call)?;
    match property {
        Property::Mode => {
            for file in &files {
                fs::set_permissions(file, PermissionsExt::from_mode(PRIVATE))?;
            }
            bench.trace.did("a person makes the store's files private");
        }
        Property::Link => {
            let [file] = &files[..] else {
                return Err(not_applicable("the store is not one file"));
            };
            let kept = store.scene.path("../outside/store");
            fs::rename(file, &kept)?;
            symlink(&kept, file)?;
            bench.trace.did(format!("a person moves `{}` and links to it", name(file)));
        }
        Property::Names => {}
    }
    let before = names(&store)?;
    let mut client = store.scene.start()?;
    let mut last = String::new();
    for _ in 0..4 {
        last = match (property, store.store(&mut client)?) {
            (_, Ok(text)) => text,
            (Property::Link, Err(refusal)) => {
                let why = format!("the server refuses a store that is a symbolic link: {}", refusal.message);
                return Err(not_applicable(why));
            }
            (_, Err(refusal)) => return Err(refused("a call after the first ones", &refusal)),
        };
    }
    client.close()?;
    for file in &files {
        match property {
            Property::Mode => {
                let mode = fs::metadata(file)?.permissions().mode() & 0o777;
                ensure(mode == PRIVATE, || {
                    format!("`{}` had mode {PRIVATE:o}, and has {mode:o} after calls", name(file))
                })?;
            }
            Property::Link => {
                ensure(fs::symlink_metadata(file)?.is_symlink(), || {
                    format!("`{}` was a symbolic link, and is a file after calls", name(file))
                })?;
                let kept = fs::read(store.scene.path("../outside/store"))?;
                ensure(bytes::contain(&kept, &last), || {
                    format!(
                        "`{}` is a symbolic link, and the file that it leads to lacks `{last}`",
                        name(file)
                    )
                })?;
            }
            Property::Names => {}
        }
    }
    let new: Vec<_> = names(&store)?.difference(&before).cloned().collect();
    ensure(new.is_empty(), || format!("`{}` is left beside the store", name(&new[0])))
}

/// Returns the names of the files, without the additional ones of a database.
fn names(store: &Store<'_>) -> Result<BTreeSet<PathBuf>, Stop> {
    let is_own = |path: &Path| OF_DATABASES.iter().any(|ending| path.to_string_lossy().ends_with(ending));
    let files = store.files()?;
    Ok(files.keys().filter(|path| !is_own(path)).cloned().collect())
}

pub(super) fn unknown(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (mut store, files) = begun(bench, &case.read()?)?;
    let no_lines = || not_applicable("the store is not a file with lines of text");
    let [file] = &files[..] else {
        return Err(no_lines());
    };
    let text = String::from_utf8(fs::read(file)?).map_err(|_| no_lines())?;
    let is_object = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object());
    if text.lines().count() < 2 {
        return Err(no_lines());
    }
    let unknown = UNKNOWN[usize::from(!text.lines().all(is_object))];
    let gap = if text.ends_with('\n') { "" } else { "\n" };
    fs::write(file, format!("{text}{gap}{unknown}\n"))?;
    bench.trace.did(format!("`{}` gets the line {unknown}", name(file)));
    let mut client = store.scene.start()?;
    let _ = store.store(&mut client)?;
    let kept = fs::read(file)?;
    ensure(bytes::contain(&kept, "unknownline00001"), || {
        format!("a line of `{}` that the server does not know is gone after a call", name(file))
    })
}
