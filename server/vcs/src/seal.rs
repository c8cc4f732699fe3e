//! Detects changes of the folders that git reads a repository from, during reading.
//!
//! Git's files are opened by their paths, by a library. Each of them was checked before, but another program may put a symbolic link in
//! the place of a folder or file after that, and remove it again. It can't do so without changing the folder that contains the name:
//! the times of that show it, and no program can set the time of a change of state. So an answer is valid only if all folders from the
//! root of the workspace down to each file are the same, and have the same times, as when they were checked. On Windows, the time of the
//! last write is used instead, which a program can set.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tabellion_platform::{Dir, FileStat, OpenError, slashed};

/// Interval in which two changes can have the same time. A kernel without finer times uses those of its timer: 10 ms at most.
const TIME_STEP: Duration = Duration::from_millis(20);

/// Folders, and their stat fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seal(BTreeMap<(PathBuf, String), FileStat>);

impl Seal {
    /// Opens the folder at `path`, which is in `root`, and adds it and those above it. Links below `root` are not followed.
    pub(crate) fn open(&mut self, root: &Path, path: &Path) -> Result<Dir, OpenError> {
        let relative = path.strip_prefix(root).ok().and_then(slashed);
        let relative = relative.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
        let top = Dir::open(root)?;
        self.add(root, ".", &top)?;
        if relative == "." {
            return Ok(top);
        }
        for (end, _) in relative.match_indices('/') {
            // A known folder keeps its first stat fields.
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

    /// Returns true if all folders are unchanged.
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

    /// Returns true if a later change of a folder is sure to have another time; otherwise waits until it would, so that the caller can
    /// check again.
    pub(crate) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let step = TIME_STEP.as_nanos();
        // A time far ahead, from another clock, can't be equal to the time of a coming change.
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
