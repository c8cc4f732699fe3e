//! Whether the folders that git reads a repository from stayed as they were while it was read.
//!
//! Git's files are opened by their paths, by a library. Each of them was judged before, but another program may put a symbolic link in
//! the place of a folder or file after that, and take it away again. It can't do so without a change of the folder that has the name:
//! its times say so, and no program can set the time of a change of state. So an answer counts only if all folders from the root
//! of the workspace down to each file are the same, and have the same times, as when they were judged. On Windows the time of the last
//! write has to do, which a program can set.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tabellion_platform::{Dir, FileStat, OpenError, slashed};

/// How long two changes may have the same time. A kernel without finer times has those of its timer: 10 ms at most.
const TIME_STEP: Duration = Duration::from_millis(20);

/// Folders, and what the system said of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seal(BTreeMap<(PathBuf, String), FileStat>);

impl Seal {
    /// Opens the folder at `path`, which is in `root`, and adds it and those above it. No link is followed below `root`.
    pub(crate) fn open(&mut self, root: &Path, path: &Path) -> Result<Dir, OpenError> {
        let relative = path.strip_prefix(root).ok().and_then(slashed);
        let relative = relative.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
        let top = Dir::open(root)?;
        self.add(root, ".", &top)?;
        if relative == "." {
            return Ok(top);
        }
        for (end, _) in relative.match_indices('/') {
            // The first look counts where a folder is known.
            let above = &relative[..end];
            if !self.0.contains_key(&(root.to_owned(), above.to_owned())) {
                self.add(root, above, &top.open_dir(above)?)?;
            }
        }
        let folder = top.open_dir(&relative)?;
        self.add(root, &relative, &folder)?;
        Ok(folder)
    }

    fn add(&mut self, root: &Path, path: &str, folder: &Dir) -> io::Result<()> {
        let stat = folder.own_stat()?;
        self.0.entry((root.to_owned(), path.to_owned())).or_insert(stat);
        Ok(())
    }

    /// Returns the number of folders.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds the folders of another.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (key, stat) in &other.0 {
            self.0.entry(key.clone()).or_insert(*stat);
        }
    }

    /// Returns true if all folders are as they were.
    pub(crate) fn holds(&self) -> bool {
        let mut root: Option<(&Path, Dir)> = None;
        self.0.iter().all(|((at, path), stat)| {
            if root.as_ref().is_none_or(|(open, _)| open != at) {
                root = Dir::open(at).ok().map(|dir| (at.as_path(), dir));
            }
            let folder = root.as_ref().and_then(|(_, root)| root.open_dir(path).ok());
            folder.and_then(|folder| folder.own_stat().ok()) == Some(*stat)
        })
    }

    /// Returns true if a later change of a folder is sure to have another time; else waits until it would, so that the caller can
    /// look again.
    pub(crate) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let step = TIME_STEP.as_nanos();
        // A time that is far ahead, of another clock, is no time of a change that comes.
        let is_recent = |stat: &FileStat| {
            let changed = u128::from(stat.ctime.as_nanos());
            changed + step > now.as_nanos() && changed < now.as_nanos() + step
        };
        let recent = self.0.values().any(is_recent);
        if recent {
            thread::sleep(TIME_STEP);
        }
        !recent
    }
}
