//! The library's folder.

use std::{fs, path::Path};

use tabellion_library::{Library, OpenError, path::LibraryDir};
use unicode_normalization::UnicodeNormalization as _;

use super::super::{
    finding::{Finding, Fix},
    mounts,
    subject::Subject,
};
use crate::folder;

/// Opens the library.
pub(super) fn library(subject: &Subject) -> Vec<Finding> {
    const ID: &str = "library";
    if let Err(mistake) = folder::check(&subject.folder) {
        return vec![Finding::red(ID, mistake, "name the folder of your notes with `--library DIR`")];
    }
    vec![match &subject.library {
        Ok(library) => {
            let top = library.repository_facts().top;
            let shown = subject.folder.display();
            if top == subject.folder {
                Finding::green(ID, format!("`{shown}`"))
            } else {
                Finding::green(ID, format!("`{shown}`, a folder of the repository at `{}`", top.display()))
            }
        }
        Err(OpenError::NoRepository(_)) => Finding::red(
            ID,
            format!("`{}` is in no git repository", subject.folder.display()),
            "`tabellion init` in it creates one; so does the server when it starts",
        )
        .with(Fix::Init),
        Err(error) => Finding::red(ID, error.to_string(), "mend that first: other checks need the library"),
    }]
}

/// Checks that files can be read and written.
pub(super) fn permissions(subject: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "permissions";
    let facts = library.repository_facts();
    let read_only = |path: &Path| fs::metadata(path).is_ok_and(|found| found.permissions().readonly());
    for folder in [&subject.folder, &facts.git_dir, &facts.objects] {
        if let Err(error) = tabellion_platform::names(folder) {
            let message = format!("`{}` can't be read: {error}", folder.display());
            return vec![Finding::red(ID, message, "give your user access to it")];
        }
        if read_only(folder) {
            let message = format!("`{}` is read-only", folder.display());
            return vec![Finding::red(ID, message, format!("`chmod u+w {}`", folder.display()))];
        }
    }
    let Ok(listing) = library.list(&LibraryDir::ROOT, true) else {
        return vec![];
    };
    let locked: Vec<_> =
        listing.files.iter().filter(|file| read_only(&subject.folder.join(file.as_path()))).collect();
    vec![match &locked[..] {
        [] if listing.left_out.unreadable > 0 => Finding::yellow(
            ID,
            format!("{} files or folders can't be read", listing.left_out.unreadable),
            "agents do not see them; give your user access to them",
        ),
        [] => Finding::green(ID, format!("{} Markdown files can be read and written", listing.files.len())),
        [first, rest @ ..] => Finding::yellow(
            ID,
            format!(
                "`{first}` is read-only{}",
                if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) }
            ),
            "changes to it are refused; `chmod u+w` permits them",
        ),
    }]
}

/// Checks how the file system compares names, and that git's configuration agrees.
pub(super) fn names(subject: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "names";
    let top = library.repository_facts().top;
    // `.git` exists under this name only.
    let ignores_case = top.join(".GIT").symlink_metadata().is_ok();
    let said = library.git_setting("core.ignoreCase").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let kind = if ignores_case { "ignores case" } else { "distinguishes case" };
    let mut findings = vec![if ignores_case == said {
        Finding::green(ID, format!("the file system {kind} in names"))
    } else {
        Finding::yellow(
            ID,
            format!("the file system {kind} in names, and git's configuration says the opposite"),
            format!("`git config core.ignoreCase {ignores_case}`"),
        )
    }];
    findings.extend(unicode(subject, library));
    findings
}

/// Checks whether the file system treats two Unicode forms of a name as one, if a document has such a name.
fn unicode(subject: &Subject, library: &Library) -> Option<Finding> {
    let listing = library.list(&LibraryDir::ROOT, true).ok()?;
    let other = |name: &str| {
        let (composed, decomposed) = (name.nfc().collect::<String>(), name.nfd().collect::<String>());
        let other = if composed == name { decomposed } else { composed };
        (other != name).then_some(other)
    };
    let (name, other) = listing.files.iter().find_map(|file| Some((file, other(file.as_str())?)))?;
    let is_there = subject.folder.join(&other).symlink_metadata().is_ok();
    let both = listing.files.iter().any(|file| file.as_str() == other);
    Some(match (is_there, both) {
        (_, true) => Finding::yellow(
            "unicode",
            format!("two documents are called `{name}`, in two Unicode forms"),
            "rename one: other systems keep only one of them",
        ),
        (true, false) => {
            Finding::green("unicode", "the file system takes the Unicode forms of a name for one")
        }
        (false, false) => {
            Finding::green("unicode", "the file system distinguishes the Unicode forms of a name")
        }
    })
}

/// Checks the file system's type.
pub(super) fn file_system(subject: &Subject) -> Vec<Finding> {
    of_file_system(
        &subject.folder,
        "let only one machine change the library at a time: locks and syncing may not reach others",
    )
}

/// Checks the type of the file system of a folder. `on_network` is the advice for a network file system.
pub(super) fn of_file_system(folder: &Path, on_network: &str) -> Vec<Finding> {
    const ID: &str = "file-system";
    let Some(mount) = mounts::holding(folder) else {
        return vec![];
    };
    let at = format!("{}, mounted at `{}`", mount.kind, mount.at.display());
    vec![match mount.kind.as_str() {
        kind if mounts::is_network(kind) => {
            Finding::yellow(ID, format!("a network file system: {at}"), on_network)
        }
        "tmpfs" | "ramfs" => Finding::yellow(
            ID,
            format!("in memory: {at}"),
            "it is lost when the machine stops; keep what matters on a disk",
        ),
        "vfat" | "exfat" | "msdos" => Finding::yellow(
            ID,
            format!("without a journal: {at}"),
            "a power failure can damage it; keep what matters on the system's own disk, and copy it",
        ),
        _ => Finding::green(ID, at),
    }]
}

/// Looks for problems in notes.
pub(super) fn notes(subject: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "notes";
    let problems = match subject.packs.problems(library) {
        Ok(problems) => problems,
        Err(failure) => return vec![Finding::yellow(ID, failure.message, "mend that, and look again")],
    };
    let finding = |(path, problems): (String, Vec<String>)| {
        let message = format!("`{path}`: {}", problems.join("; "));
        Finding::yellow(
            ID,
            message,
            "mend the file; until then it is found by its text at most, and not by what it says of itself",
        )
    };
    problems.into_iter().map(finding).collect()
}
