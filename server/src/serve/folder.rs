//! Which folders are taken for a library: not those that hold more than notes, which can only be named by mistake. A commit
//! for each edit in there would be one as well.

use std::{
    env,
    path::{Component, Path},
};

/// Folders of the system that may have libraries below them.
const SHARED: &[&str] = &[
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/dev",
    "/dev/shm",
    "/home",
    "/opt",
    "/run",
    "/tmp",
    "/usr",
    "/var",
    "/var/lib",
    "/var/tmp",
];
/// Folders of the system that have nothing of a person's in them.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/var/log",
];
/// Folders, wherever they are, that programs keep secrets in.
const SECRETS: &[&str] = &[
    ".aws",
    ".azure",
    ".docker",
    ".gnupg",
    ".kube",
    ".password-store",
    ".ssh",
];

/// Whether `library` can be meant, which need not be there yet.
///
/// # Errors
/// What is wrong with it, and what to name in its place.
pub(super) fn check(library: &Path) -> Result<(), String> {
    let folder = library.canonicalize().unwrap_or_else(|_| library.to_path_buf());
    let home = env::home_dir().and_then(|home| home.canonicalize().ok());
    let wrong = if Some(&folder) == home.as_ref() {
        Some("is your home folder")
    } else {
        wrong(&folder)
    };
    wrong.map_or(Ok(()), |wrong| {
        Err(format!("`{}` {wrong}: name a folder of notes", folder.display()))
    })
}

/// What is wrong with a folder wherever one's home is.
fn wrong(folder: &Path) -> Option<&'static str> {
    let has = |names: &[&str]| {
        folder.components().any(|part| match part {
            Component::Normal(name) => names.iter().any(|it| name.eq_ignore_ascii_case(it)),
            _ => false,
        })
    };
    if folder.parent().is_none() {
        Some("holds all there is")
    } else if has(&[".git"]) {
        Some("belongs to git")
    } else if has(SECRETS) {
        Some("is for secrets")
    } else if SHARED.iter().any(|it| folder == Path::new(it))
        || SYSTEM.iter().any(|it| folder.starts_with(it))
    {
        Some("belongs to the system")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_notes_can_be_meant() {
        let cases = [
            ("/", Some("holds all there is")),
            ("/etc", Some("belongs to the system")),
            ("/etc/notes", Some("belongs to the system")),
            ("/usr/lib/notes", Some("belongs to the system")),
            ("/usr", Some("belongs to the system")),
            ("/dev/shm/notes", None),
            ("/var/lib", Some("belongs to the system")),
            ("/var/lib/notes", None),
            ("/srv/notes", None),
            ("/home", Some("belongs to the system")),
            ("/home/person/notes", None),
            ("/home/person/.notes", None),
            ("/home/person/.ssh", Some("is for secrets")),
            ("/home/person/.SSH/notes", Some("is for secrets")),
            ("/home/person/notes/.git", Some("belongs to git")),
            ("/home/person/notes/.git/hooks", Some("belongs to git")),
            ("/notes", None),
        ];
        for (folder, expected) in cases {
            assert_eq!(wrong(Path::new(folder)), expected, "{folder}");
        }
    }

    #[test]
    fn neither_root_nor_home_is_a_library() {
        let home = env::home_dir().expect("a home");
        for (folder, expected) in [(Path::new("/"), "`/` holds"), (&home, "is your home folder")] {
            let said = check(folder).expect_err("refused");
            assert!(
                said.contains(expected) && said.contains("name a folder of notes"),
                "{said}"
            );
        }
    }
}
