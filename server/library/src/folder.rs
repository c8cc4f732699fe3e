//! The folder of a library: creates it if it is missing, unless its path looks mistaken.
//!
//! A mistyped path must not become an empty library. By default only the last folder of a path is created.

use std::{
    fs, io,
    path::{Path, PathBuf, absolute},
};

use super::{
    durable::{self, SyncTarget},
    open_error::OpenError,
};

/// Missing folders that opening creates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CreateFolders {
    /// None, nor a repository: only an existing library is opened.
    Nothing,
    /// The library's folder, if the folder above it exists.
    #[default]
    Last,
    /// The library's folder and all folders above it.
    All,
}

/// Result of opening: the parts that it created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// A git repository, in a folder that existed.
    Repository,
    /// The library's folder, and its repository unless it is inside of one.
    Folder {
        /// An older folder next to it with a similar name.
        similar: Option<PathBuf>,
    },
}

/// Checks that [`super::Library::open`] can use the folder `dir`, or create it. Creates nothing.
///
/// # Errors
/// [`OpenError`].
pub fn check(dir: &Path, create: CreateFolders) -> Result<(), OpenError> {
    missing(dir, create).map(drop)
}

/// Creates the folder `dir` if it is missing.
pub(super) fn create(dir: &Path, create: CreateFolders) -> Result<Option<Created>, OpenError> {
    let Some(missing) = missing(dir, create)? else {
        return Ok(None);
    };
    fs::create_dir_all(&missing.path).map_err(|source| OpenError::Folder { path: dir.to_owned(), source })?;
    // Makes the new names survive a power failure. Best effort: the folder above may not be readable.
    let above: Vec<_> = missing
        .path
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(&missing.nearest))
        .map(SyncTarget::Names)
        .collect();
    let _ = durable::sync_all(&above);
    Ok(Some(Created::Folder { similar: missing.similar }))
}

/// A folder that does not exist.
struct Missing {
    path: PathBuf,
    /// The nearest folder above it that exists.
    nearest: PathBuf,
    /// The existing path that was probably meant.
    similar: Option<PathBuf>,
}

/// Describes the folder `dir` if it is missing and can be created.
fn missing(dir: &Path, create: CreateFolders) -> Result<Option<Missing>, OpenError> {
    let failed = |source| OpenError::Folder { path: dir.to_owned(), source };
    let path = absolute(dir).map_err(failed)?;
    let mut above = path.ancestors();
    let nearest = above.find_map(|folder| match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Some(Ok(folder)),
        Ok(_) => Some(Err(OpenError::NotAFolder(folder.to_owned()))),
        Err(error) if is_missing(&error) => match fs::symlink_metadata(folder) {
            Ok(entry) if entry.is_symlink() => Some(Err(OpenError::BrokenLink(folder.to_owned()))),
            // Another process has created it since.
            Ok(entry) if entry.is_dir() => Some(Ok(folder)),
            Ok(_) => Some(Err(OpenError::NotAFolder(folder.to_owned()))),
            Err(_) => None,
        },
        Err(error) => Some(Err(failed(error))),
    });
    let nearest = nearest.unwrap_or_else(|| Err(failed(io::ErrorKind::NotFound.into())))?;
    if nearest == path {
        return Ok(None);
    }
    let nearest = nearest.to_owned();
    let similar = similar(&path, &nearest);
    let is_permitted = match create {
        CreateFolders::Nothing => false,
        CreateFolders::Last => path.parent() == Some(&nearest),
        CreateFolders::All => true,
    };
    if !is_permitted {
        return Err(OpenError::Missing { path, nearest, similar });
    }
    Ok(Some(Missing { path, nearest, similar }))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the path that was probably meant by `path`, whose nearest existing folder is `nearest`: with the first missing
/// name replaced by that of a similar folder, and with as many of the following names as exist there.
fn similar(path: &Path, nearest: &Path) -> Option<PathBuf> {
    let mut names = path.strip_prefix(nearest).ok()?.iter();
    let wanted = names.next()?.to_str()?;
    let folders = tabellion_platform::names(nearest).ok()?.into_iter();
    let (_, mut found) = folders
        .filter_map(|name| {
            let distance = distance(wanted, name.to_str()?)?;
            Some((distance, nearest.join(name)))
        })
        .filter(|(_, folder)| folder.is_dir())
        .min()?;
    for name in names {
        let below = found.join(name);
        if !below.is_dir() {
            break;
        }
        found = below;
    }
    Some(found)
}

/// Returns the number of typing errors between two similar names; `None` if they are not similar. Case is ignored.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let [wanted, name] = [wanted, name].map(str::to_lowercase);
    let distance = strsim::osa_distance(&wanted, &name);
    let is_similar = 3 * distance <= wanted.chars().count().min(name.chars().count());
    (is_similar && !name.starts_with('.')).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_similar() {
        for (wanted, name, expected) in [
            ("Documants", "Documents", Some(1)),
            ("Documetns", "Documents", Some(1)),
            ("documents", "Documents", Some(0)),
            ("Nots", "Notes", Some(1)),
            ("notes", "plans", None),
            ("a", "b", None),
            ("notes2", "notes", Some(1)),
            ("git", ".git", None),
        ] {
            assert_eq!(distance(wanted, name), expected, "{wanted} {name}");
        }
    }

    /// A path, the folders that may be created, and the suggestion (`""` for none) or a part of the refusal; `None` if the path exists.
    #[cfg(unix)]
    type Case = (&'static str, CreateFolders, Result<Option<&'static str>, &'static str>);

    /// Tries paths below a folder with `Documents/Notes`, a file and a broken link.
    #[cfg(unix)]
    #[test]
    fn only_the_last_folder_is_created() {
        use CreateFolders::{All, Last};
        let cases: [Case; 11] = [
            ("Documents/Notes", Last, Ok(None)),
            ("new", Last, Ok(Some(""))),
            ("Documents/Nots", Last, Ok(Some("Documents/Notes"))),
            ("Documants/Notes", Last, Err("(did you mean `{}/Documents/Notes`?)")),
            ("Documants/Plans", Last, Err("did you mean `{}/Documents`?")),
            ("a/b/c", Last, Err("the nearest existing folder is `{}`")),
            ("a/b/c", All, Ok(Some(""))),
            ("Documants/Notes", All, Ok(Some("Documents/Notes"))),
            ("file", All, Err("`{}/file` is not a folder")),
            ("file/notes", All, Err("`{}/file` is not a folder")),
            ("link", All, Err("`{}/link` is a symbolic link to something that does not exist")),
        ];
        for (path, folders, expected) in cases {
            let place = tempfile::tempdir().unwrap();
            let root = place.path();
            fs::create_dir_all(root.join("Documents/Notes")).unwrap();
            fs::write(root.join("file"), "").unwrap();
            std::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
            let shown = |text: &str| text.replace("{}", &root.display().to_string());
            let is_there = root.join(path).is_dir();
            let checked = check(&root.join(path), folders).map_err(|error| error.to_string());
            assert_eq!(root.join(path).is_dir(), is_there, "{path}: a check creates nothing");
            match (create(&root.join(path), folders), expected) {
                (Ok(None), Ok(None)) => {}
                (Ok(Some(Created::Folder { similar })), Ok(Some(expected))) => {
                    let expected = (!expected.is_empty()).then(|| root.join(expected));
                    assert_eq!(similar, expected, "{path}");
                    assert!(root.join(path).is_dir(), "{path}");
                }
                (Err(error), Err(expected)) => {
                    let error = error.to_string();
                    assert_eq!(checked, Err(error.clone()), "{path}");
                    assert!(error.contains(&shown(expected)), "{path}: {error}");
                    assert!(!root.join(path).is_dir(), "{path}");
                }
                (found, _) => panic!("{path}: {found:?}"),
            }
        }
    }

    /// A folder that appears during the check of its path is neither a broken link nor a failure.
    #[test]
    fn processes_may_create_one_folder_at_once() {
        let place = tempfile::tempdir().unwrap();
        for round in 0..500 {
            let folder = place.path().join(round.to_string());
            let start = std::sync::Barrier::new(4);
            let opened = std::thread::scope(|scope| {
                let open = || {
                    start.wait();
                    create(&folder, CreateFolders::Last).map(drop)
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
                let ends = threads.into_iter().map(|thread| thread.join().unwrap());
                ends.collect::<Result<(), _>>()
            });
            opened.unwrap();
        }
    }
}
