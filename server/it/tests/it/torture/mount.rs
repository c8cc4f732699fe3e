//! Small file systems, unmounted when dropped.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// A mounted file system.
pub(crate) struct Mount {
    at: PathBuf,
    _dir: Option<TempDir>,
}

impl Mount {
    /// Mounts a file system in memory; `None`, with a message, if mounting is not permitted.
    pub(crate) fn memory(size: &str) -> Option<Self> {
        Self::make(|_| Ok(()), &["-t", "tmpfs", "-o", &format!("size={size},mode=755"), "none"])
    }

    /// Mounts an ext4 file system of `bytes` in a file; `None`, with a message, if mounting is not permitted.
    pub(crate) fn image(bytes: u64) -> Option<Self> {
        let format = |dir: &Path| {
            let image = dir.join("image");
            File::create(&image)?.set_len(bytes)?;
            run(Command::new("mkfs.ext4").args(["-q", "-m", "0"]).arg(image))
        };
        Self::make(format, &["-o", "loop", "image"])
    }

    /// Mounts a file system in memory over the folder `at`.
    pub(crate) fn over(at: &Path) -> io::Result<Self> {
        run(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(at))?;
        Ok(Self { at: at.to_path_buf(), _dir: None })
    }

    fn make(prepare: impl FnOnce(&Path) -> io::Result<()>, arguments: &[&str]) -> Option<Self> {
        let dir = TempDir::new().expect("a temporary folder");
        let at = dir.path().join("at");
        std::fs::create_dir(&at).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(arguments).arg(&at).current_dir(&dir);
        match prepare(dir.path()).and_then(|()| run(&mut mount)) {
            Ok(()) => Some(Self { at, _dir: Some(dir) }),
            Err(error) => {
                eprintln!("SKIPPED, nothing was tried on a mount of {arguments:?}: {error}");
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.at
    }

    pub(crate) fn remount(&self, option: &str) {
        let option = format!("remount,{option}");
        run(Command::new("mount").args(["-o", &option]).arg(&self.at)).expect("remounted");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a process may still have a file open there.
        if let Err(error) = run(Command::new("umount").arg("--lazy").arg(&self.at)) {
            eprintln!("{} is still mounted: {error}", self.at.display());
        }
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_string()))
}
