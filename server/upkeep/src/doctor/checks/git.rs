//! Git itself.

use std::process::{Command, Stdio};

use tabellion_library::Library;

use super::super::{finding::Finding, subject::Subject};

/// The first version whose `git maintenance` can run in the background, as the server requests.
const WANTED: (u32, u32) = (2, 30);

/// Looks for the git program. The server needs it only to pack objects; people need it for everything else.
pub(super) fn version(_: &Subject) -> Vec<Finding> {
    const ID: &str = "git";
    let output = Command::new("git").arg("--version").stderr(Stdio::null()).output();
    let Some(shown) = output.ok().filter(|output| output.status.success()) else {
        return vec![Finding::yellow(
            ID,
            "git is not installed",
            "install it from https://git-scm.com: Tabellion works without it, but nothing packs its objects, and you can't look \
             at the history",
        )];
    };
    let shown = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
    vec![match parsed(&shown) {
        Some(version) if version < WANTED => Finding::yellow(
            ID,
            format!("{shown} is too old to pack objects in the background"),
            format!("install {}.{} or newer, or run `git gc` now and then", WANTED.0, WANTED.1),
        ),
        _ => Finding::green(ID, shown),
    }]
}

fn parsed(shown: &str) -> Option<(u32, u32)> {
    let mut numbers =
        shown.split(' ').find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Looks for the author of commits.
pub(super) fn identity(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "identity";
    vec![match library.repository_facts().author {
        Some(author) => Finding::green(ID, format!("changes are by {author}")),
        None => Finding::yellow(
            ID,
            "git does not know your name, so Tabellion is the author of changes",
            "`git config --global user.name \"Your Name\"` and `git config --global user.email you@example.com`",
        ),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed() {
        for (shown, expected) in [
            ("git version 2.39.5", Some((2, 39))),
            ("git version 2.45.1.windows.1", Some((2, 45))),
            ("git version 2.39.3 (Apple Git-146)", Some((2, 39))),
            ("git", None),
        ] {
            assert_eq!(parsed(shown), expected, "{shown}");
        }
    }
}
