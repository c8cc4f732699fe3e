//! Recognizes folders that a program is given or started in only by mistake, such as `/` or the home folder.

use std::{
    env,
    path::{Component, Path},
};

use crate::canonicalize;

/// System folders below which others may be used.
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
/// System folders without personal files.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/var/log",
];
/// The same at the root of a drive on Windows.
const ON_DRIVES: &[&str] = &["Program Files", "Program Files (x86)", "ProgramData", "Windows"];
/// Names of folders in which programs keep secrets.
const SECRETS: &[&str] = &[".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh"];

/// Returns the reason that a folder can only be a mistake: for a library, data or a workspace. It need not exist.
pub fn mistake(folder: &Path) -> Option<&'static str> {
    let folder = canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let home = env::home_dir().and_then(|home| canonicalize(&home).ok());
    if Some(&folder) == home.as_ref() {
        return Some("is your home folder");
    }
    wrong(&folder)
}

/// Returns the reason that a folder can only be a mistake, regardless of the home folder.
fn wrong(folder: &Path) -> Option<&'static str> {
    let has = |names: &[&str]| {
        folder.components().any(|part| match part {
            Component::Normal(name) => names.iter().any(|it| name.eq_ignore_ascii_case(it)),
            _ => false,
        })
    };
    if folder.parent().is_none() {
        Some("is the root of the file system")
    } else if has(&[".git"]) {
        Some("belongs to git")
    } else if has(SECRETS) {
        Some("is for secrets")
    } else if SHARED.iter().any(|it| folder == Path::new(it))
        || SYSTEM.iter().any(|it| folder.starts_with(it))
        || is_windows_own(folder)
    {
        Some("belongs to the system")
    } else {
        None
    }
}

/// Returns true for a system folder on a drive, and for the folder of all users' homes.
fn is_windows_own(folder: &Path) -> bool {
    let mut parts = folder.components();
    let (Some(Component::Prefix(_)), Some(_), Some(Component::Normal(first))) =
        (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    ON_DRIVES.iter().any(|it| first.eq_ignore_ascii_case(it))
        || (first.eq_ignore_ascii_case("Users") && parts.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(windows)]
    #[test]
    fn system_folders_of_windows_are_refused() {
        let cases = [
            (r"C:\", Some("is the root of the file system")),
            (r"C:\Windows", Some("belongs to the system")),
            (r"D:\program files\notes", Some("belongs to the system")),
            (r"C:\Users", Some("belongs to the system")),
            (r"C:\Users\person\notes", None),
            (r"C:\notes\Windows", None),
            (r"\\server\share\notes", None),
            (r"C:\Users\person\.ssh", Some("is for secrets")),
        ];
        for (folder, expected) in cases {
            assert_eq!(wrong(Path::new(folder)), expected, "{folder}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn system_folders_are_refused() {
        let cases = [
            ("/", Some("is the root of the file system")),
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
}
