//! The file system of a folder (Linux; elsewhere it is not known).

use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// Its type, as in `ext4`.
    pub(super) kind: String,
    /// Mount point.
    pub(super) at: PathBuf,
}

/// Returns the file system of an absolute path without links.
pub(super) fn holding(path: &Path) -> Option<Mount> {
    find(&tabellion_platform::read_text(Path::new("/proc/self/mountinfo")).ok()?, path)
}

fn find(mounts: &str, path: &Path) -> Option<Mount> {
    let mounts = mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        Some(Mount {
            at: unescaped(before.split(' ').nth(4)?).into(),
            kind: after.split(' ').next()?.to_owned(),
        })
    });
    // A later mount hides an earlier one at the same place; `max_by_key` returns the last.
    mounts.filter(|mount| path.starts_with(&mount.at)).max_by_key(|mount| mount.at.components().count())
}

/// Returns a path from `mountinfo`, where the kernel writes `\040` for a space.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, c)| text.replace(escape, c))
}

/// Returns true if files of this type of file system are on another machine.
pub(super) fn is_network(kind: &str) -> bool {
    const NETWORK: [&str; 17] = [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "davfs",
        "fuse.davfs",
        "fuse.gvfsd-fuse",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "lustre",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    ];
    NETWORK.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "21 1 8:1 / / rw - ext4 /dev/a rw\n\
                      22 21 0:5 / /home/a\\040b rw shared:1 - nfs4 host:/x rw\n\
                      23 21 0:6 / /mnt rw - ext4 /dev/b rw\n24 23 0:7 / /mnt rw - 9p host rw\n";
        for (path, expected) in
            [("/x", "ext4"), ("/home/a b/notes", "nfs4"), ("/home/a bc", "ext4"), ("/mnt/notes", "9p")]
        {
            assert_eq!(
                find(mounts, Path::new(path)).map(|mount| mount.kind).as_deref(),
                Some(expected),
                "{path}"
            );
        }
    }
}
