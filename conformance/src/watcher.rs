//! Ends servers and removes temporary folders when the suite ends, even if it is interrupted or killed.
//!
//! A shell in a process group of its own reads from a pipe that the suite holds which servers run and where temporary folders
//! are. At the pipe's end it kills and removes the rest. In a suite that ends by itself, none is left.

use std::{
    ffi::OsStr,
    io::{self, PipeWriter, Write},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::Path,
    process::{Command, Stdio},
    sync::{LazyLock, Mutex, PoisonError},
};

use tempfile::{Builder, NamedTempFile, TempDir};

/// Without it, a killed suite leaves servers and folders behind; no other function depends on it.
static WATCHER: LazyLock<Option<Mutex<PipeWriter>>> = LazyLock::new(|| spawn().ok().map(Mutex::new));

/// Beginning of the names of all temporary files and folders of this process.
static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let random: String = std::iter::repeat_with(fastrand::alphanumeric).take(6).collect();
    format!("conformance-{random}-")
});

/// Remembers process groups from lines such as `+ 17` and `- 17`, and the beginnings of paths from lines such as
/// `/ /tmp/conformance-`.
const SCRIPT: &str = r#"groups=" "
while read -r sign it; do
    case $sign in
    +) groups="$groups$it " ;;
    -) case $groups in *" $it "*) groups="${groups%%" $it "*} ${groups#*" $it "}" ;; esac ;;
    /) for path; do [ "$path" = "$it" ] && continue 2; done; set -- "$@" "$it" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for path; do
    rm -rf -- "$path"* || { sleep 1; chmod -R u+rwX -- "$path"*; rm -rf -- "$path"*; }
done"#;

fn spawn() -> io::Result<PipeWriter> {
    let (reader, pipe) = io::pipe()?;
    Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(reader)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A signal from the terminal must not reach it.
        .process_group(0)
        .spawn()?;
    Ok(pipe)
}

/// Starts the watcher, unless it runs.
pub(crate) fn start() {
    LazyLock::force(&WATCHER);
}

/// Has the watcher kill a process group, unless it is removed before.
pub(crate) fn add_group(group: u32) {
    tell("+", group.to_string());
}

pub(crate) fn remove_group(group: u32) {
    tell("-", group.to_string());
}

fn tell(sign: &str, it: impl AsRef<OsStr>) {
    if let Some(pipe) = &*WATCHER {
        let line = [sign.as_bytes(), b" ", it.as_ref().as_bytes(), b"\n"].concat();
        let _ = pipe.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
    }
}

/// Creates a temporary folder.
pub(crate) fn folder() -> io::Result<TempDir> {
    folder_in(&tempfile::env::temp_dir())
}

/// Creates a temporary folder in `parent`.
pub(crate) fn folder_in(parent: &Path) -> io::Result<TempDir> {
    tell("/", parent.join(&*PREFIX));
    Builder::new().prefix(&*PREFIX).tempdir_in(parent)
}

/// Creates a temporary file.
pub(crate) fn file() -> io::Result<NamedTempFile> {
    let parent = tempfile::env::temp_dir();
    tell("/", parent.join(&*PREFIX));
    Builder::new().prefix(&*PREFIX).tempfile_in(parent)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, process::Child};

    use super::*;

    #[test]
    fn the_watcher_kills_the_groups_that_remain_and_removes_their_folders() {
        let start = |_| Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let mut groups: Vec<_> = (0..3).map(start).collect();
        let ids: Vec<_> = groups.iter().map(Child::id).collect();
        let parent = tempfile::Builder::new().prefix("with a space").tempdir().unwrap();
        for folder in ["of it/deep", "of it/closed", "of others"] {
            fs::create_dir_all(parent.path().join(folder)).unwrap();
        }
        fs::write(parent.path().join("of it/closed/a.md"), "").unwrap();
        fs::set_permissions(parent.path().join("of it/closed"), PermissionsExt::from_mode(0o500)).unwrap();
        let prefix = parent.path().join("of i");
        let prefix = prefix.display();
        let lines =
            format!("+ {}\n/ {prefix}\n+ {}\n+ {}\n/ {prefix}\n- {}\n", ids[0], ids[1], ids[2], ids[1]);
        let mut shell = Command::new("sh").args(["-c", SCRIPT]).stdin(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        shell.wait().unwrap();
        assert!(!groups[0].wait().unwrap().success());
        assert!(!groups[2].wait().unwrap().success());
        assert!(groups[1].try_wait().unwrap().is_none());
        groups[1].kill().unwrap();
        groups[1].wait().unwrap();
        let left: Vec<_> = fs::read_dir(parent.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["of others"]);
    }
}
