//! Synchronization with other machines: the library's remote, and services that synchronize folders; these
//! copy `.git` file by file, so two machines can damage it.

use std::path::Path;

use tabellion_library::{Library, RemoteStatus};

use crate::console::counted;

use super::super::{finding::Finding, subject::Subject};

/// A folder's name, or the beginning of one, and the service that it belongs to.
const BY_NAME: [(&str, &str); 17] = [
    ("box", "Box"),
    ("box sync", "Box"),
    ("com~apple~clouddocs", "iCloud Drive"),
    ("dropbox*", "Dropbox"),
    ("google drive*", "Google Drive"),
    ("googledrive-*", "Google Drive"),
    ("icloud drive", "iCloud Drive"),
    ("icloud~*", "iCloud Drive"),
    ("iclouddrive", "iCloud Drive"),
    ("kdrive", "kDrive"),
    ("mega", "MEGA"),
    ("megasync", "MEGA"),
    ("nextcloud", "Nextcloud"),
    ("onedrive*", "OneDrive"),
    ("owncloud", "ownCloud"),
    ("pcloud drive", "pCloud"),
    ("proton drive", "Proton Drive"),
];

/// A file or folder that a service keeps in each folder that it synchronizes.
const BY_MARK: [(&str, &str); 8] = [
    (".dropbox", "Dropbox"),
    (".dropbox.cache", "Dropbox"),
    (".megaignore", "MEGA"),
    (".nextcloudsync.log", "Nextcloud"),
    (".owncloudsync.log", "ownCloud"),
    (".stfolder", "Syncthing"),
    (".sync", "Resilio Sync"),
    (".tmp.drivedownload", "Google Drive"),
];

/// Fragments of the names that services give to copies that they could not merge.
const CONFLICT_NAMES: [&str; 4] = ["conflicted copy", ".sync-conflict-", "(conflict ", "_conf("];

/// Looks for a service that synchronizes the folder.
pub(super) fn service(subject: &Subject) -> Vec<Finding> {
    const ID: &str = "sync";
    vec![match recognize(&subject.folder) {
        None => Finding::green(ID, "no service that synchronizes the folder was recognized"),
        Some(service) => Finding::yellow(
            ID,
            format!("{service} synchronizes this folder, and `.git` with it"),
            format!(
                "change the library on one machine at a time, after {service} is done; or exclude `.git`, or move the library out \
                 and synchronize it with `git push` and `git pull`"
            ),
        ),
    }]
}

/// Reports the library's state relative to its remote, as recorded by the last program that contacted the remote.
pub(super) fn remote(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "remote";
    let Some((settings, state)) = library.remote_settings().zip(library.remote_state()) else {
        return vec![match library.foreign_remote() {
            None => Finding::green(ID, "the library is not shared through a remote"),
            Some(address) => Finding::yellow(
                ID,
                format!(
                    "the library came with the remote {address}, which this user has not set, and it is not used"
                ),
                format!(
                    "`tabellion remote set {address}` if you want to share your changes there, or `tabellion remote forget`"
                ),
            ),
        }];
    };
    let address = &settings.address;
    let lacks = match state.ahead {
        0 => "has every commit, as far as is known,".to_owned(),
        ahead => format!("lacks {}", counted(ahead, "commit")),
    };
    let (why, since) = match &state.trouble {
        Some((why, Some(since))) => (why.as_str(), format!(" since {}", since.format("%Y-%m-%d %H:%M UTC"))),
        Some((why, None)) => (why.as_str(), String::new()),
        None => ("", String::new()),
    };
    vec![match state.status {
        RemoteStatus::Published => {
            Finding::green(ID, format!("{address} has every commit, as far as is known"))
        }
        RemoteStatus::Pending => Finding::yellow(
            ID,
            format!("{address} {lacks}"),
            "a running server pushes them; or `tabellion sync`",
        ),
        RemoteStatus::Unreachable => Finding::yellow(
            ID,
            format!("{address} {lacks} and has not answered{since}: {why}"),
            "`tabellion sync` tries again and says what is wrong",
        ),
        RemoteStatus::Refused | RemoteStatus::Blocked => Finding::red(
            ID,
            format!("{address} {lacks} and nothing goes on{since}: {why}"),
            "do what the message says; `tabellion sync` then tries again",
        ),
    }]
}

/// Looks for versions of documents that could not be merged.
pub(super) fn unmerged(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "conflicts";
    let Ok(found) = library.conflicts() else {
        return vec![];
    };
    vec![match &found[..] {
        [] => Finding::green(ID, "no document waits for a decision between two machines"),
        [(path, _), rest @ ..] => Finding::yellow(
            ID,
            match rest.len() {
                0 => format!("`{path}` holds another machine's version of a document"),
                more => format!("`{path}` and {more} more hold another machine's version of a document"),
            },
            "`tabellion conflicts list` lists them; take what is missing into the document, and `tabellion conflicts keep` it",
        ),
    }]
}

/// Returns the service that synchronizes a folder.
pub(super) fn recognize(folder: &Path) -> Option<&'static str> {
    let is_named = |name: &str| {
        let name = name.to_lowercase();
        let found = BY_NAME.iter().find(|(pattern, _)| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *pattern,
        });
        found.map(|(_, service)| *service)
    };
    let by_name = folder.iter().filter_map(|name| name.to_str()).find_map(is_named);
    by_name.or_else(|| by_mark(folder, |path| path.symlink_metadata().is_ok()))
}

/// Returns the service whose mark is in the folder or in one above it.
fn by_mark(folder: &Path, exists: impl Fn(&Path) -> bool) -> Option<&'static str> {
    folder.ancestors().find_map(|folder| {
        let found = BY_MARK.iter().find(|(mark, _)| exists(&folder.join(mark)));
        found.map(|(_, service)| *service)
    })
}

/// Looks for copies that a service could not merge.
pub(super) fn conflict_copies(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "sync-conflicts";
    let facts = library.repository_facts();
    let (mut in_git, mut in_notes) = (vec![], vec![]);
    for folder in [facts.git_dir.clone(), facts.common_dir.join("refs"), facts.common_dir.join("refs/heads")]
    {
        add(&folder, &mut in_git);
    }
    if let Ok(listing) = library.list(&tabellion_library::path::LibraryDir::ROOT, true) {
        in_notes.extend(listing.files.iter().map(ToString::to_string).filter(|name| is_copy(name)));
    }
    vec![match (in_git.first(), in_notes.first()) {
        (Some(copy), _) => Finding::red(
            ID,
            format!("two machines changed the repository at once: `{copy}` in `.git`"),
            "stop the synchronization, run `git fsck`, and compare the copies before you delete any of them",
        ),
        (None, Some(copy)) => Finding::yellow(
            ID,
            format!("two machines changed a document at once: `{copy}`"),
            "compare the copies, keep one, and delete the other",
        ),
        (None, None) => return vec![],
    }]
}

fn add(folder: &Path, found: &mut Vec<String>) {
    let names = tabellion_platform::names(folder).unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    found.extend(names.filter(|name| is_copy(name)));
}

fn is_copy(name: &str) -> bool {
    let name = name.to_lowercase();
    CONFLICT_NAMES.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_recognized_by_path() {
        for (folder, expected) in [
            ("/home/person/Dropbox/notes", Some("Dropbox")),
            ("/home/person/Dropbox (Work)/notes", Some("Dropbox")),
            ("/home/person/OneDrive - Company/notes", Some("OneDrive")),
            ("/home/person/Library/Mobile Documents/com~apple~CloudDocs/notes", Some("iCloud Drive")),
            (
                "/home/person/Library/Mobile Documents/iCloud~md~obsidian/Documents/vault",
                Some("iCloud Drive"),
            ),
            (
                "/home/person/Library/CloudStorage/GoogleDrive-a@b.example/My Drive/notes",
                Some("Google Drive"),
            ),
            ("/home/person/boxes/notes", None),
            ("/home/person/notes/dropped", None),
        ] {
            assert_eq!(recognize(Path::new(folder)), expected, "{folder}");
        }
    }

    #[test]
    fn services_are_recognized_by_their_marks() {
        for (mark, service) in BY_MARK {
            let place = Path::new("/home/person");
            let found = by_mark(&place.join("notes"), |path| path == place.join(mark));
            assert_eq!(found, Some(service), "{mark}");
        }
        assert_eq!(by_mark(Path::new("/home/person"), |_| false), None);
    }

    #[test]
    fn copies_are_recognized_by_name() {
        for (name, expected) in [
            ("plan (Ann's conflicted copy 2026-01-02).md", true),
            ("plan.sync-conflict-20260102-030405-ABCDEFG.md", true),
            ("index (conflict 2026-01-02)", true),
            ("conflicts.md", false),
        ] {
            assert_eq!(is_copy(name), expected, "{name}");
        }
    }
}
