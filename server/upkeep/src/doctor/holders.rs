//! Processes that have a file open (Linux; elsewhere none are known).

use std::{
    fs,
    path::{Path, PathBuf},
};

use tabellion_platform::{names, read_text};

/// True if the system reports which processes have a file open.
pub(super) const ARE_KNOWN: bool = cfg!(target_os = "linux");

/// Returns the processes of this user that have the file open, as `git (12345)`.
pub(super) fn find(file: &Path) -> Vec<String> {
    let Ok(file) = file.canonicalize() else {
        return vec![];
    };
    let holding = processes().filter_map(|process| {
        let folder = process.join("fd");
        let has_it = names(&folder)
            .ok()?
            .iter()
            .any(|fd| fs::read_link(folder.join(fd)).is_ok_and(|open| open == file));
        let program = read_text(&process.join("comm")).unwrap_or_default();
        let number = process.file_name()?.to_str()?;
        has_it.then(|| format!("{} ({number})", program.trim()))
    });
    holding.collect()
}

/// Returns true if a process of this name runs in `folder`, or in a folder below it.
pub(super) fn runs_in(program: &str, folder: &Path) -> bool {
    processes().any(|process| {
        let is_it = read_text(&process.join("comm")).is_ok_and(|name| name.trim() == program);
        is_it && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    })
}

/// Returns the folders of all processes.
fn processes() -> impl Iterator<Item = PathBuf> {
    let names = names(Path::new("/proc")).unwrap_or_default().into_iter();
    names
        .filter(|name| name.to_str().is_some_and(|name| name.parse::<u32>().is_ok()))
        .map(|name| Path::new("/proc").join(name))
}
