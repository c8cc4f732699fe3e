//! Which processes have a file open (Linux; elsewhere none are known).

use std::{fs, path::Path};

/// Whether it is known which processes have a file open.
pub(super) const ARE_KNOWN: bool = cfg!(target_os = "linux");

/// Returns the processes of this user that have the file open, as `git (12345)`.
pub(super) fn of(file: &Path) -> Vec<String> {
    let Ok(file) = file.canonicalize() else {
        return vec![];
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let holding = processes.filter_map(|process| {
        let name = process.file_name().into_string().ok()?;
        name.parse::<u32>().ok()?;
        let open = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        let has_it = open
            .into_iter()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|open| open == file));
        let program = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        has_it.then(|| format!("{} ({name})", program.trim()))
    });
    holding.collect()
}

/// Returns true if a process of this name runs in `folder`, or in a folder below it.
pub(super) fn runs_in(program: &str, folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.map(|process| process.path()).any(|process| {
        let is_it = fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim() == program);
        is_it && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    })
}
