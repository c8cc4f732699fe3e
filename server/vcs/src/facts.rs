//! Facts about the work tree around a folder, for the provenance of calls. The folder need not be in a library, nor in a repository.

use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

use tabellion_platform as platform;

use crate::{
    repository::{GitRepository, Layout},
    workspaces::Workspaces,
};

/// Size limit of a file `.git`, which contains a path.
const MAX_GIT_FILE_BYTES: u64 = 1 << 16;
/// Name of a repository's first work tree.
const MAIN: &str = "main";
/// The namespace of object identifiers (RFC 9562, appendix A).
const NAMESPACE: [u8; 16] =
    [0x6b, 0xa7, 0xb8, 0x12, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8];

/// Facts about the work tree around a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFacts {
    /// Top of the work tree; the folder itself if there is no repository.
    pub top: PathBuf,
    /// Name of the linked work tree, or `main`.
    pub work_tree: String,
    /// Name of the project in its remote repository's URL, such as `owner/name`; if there is no remote, the name of the
    /// main work tree's top folder.
    pub project: String,
    /// UUID (version 5) of the repository's first commit, which is the same in all clones. If that is not known, as in a
    /// shallow clone, it is derived from the remote repository's URL, or else from the path.
    pub repository: String,
}

/// Returns the facts about the work tree around `folder`. Reads the history of the branch down to its first commit.
pub fn facts(folder: &Path) -> WorkspaceFacts {
    let folder = platform::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let top = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    // The operator starts the server here; git's folder may be anywhere, and is still checked.
    let anywhere = folder.ancestors().last().unwrap_or(&folder);
    let opened = top.and_then(|top| {
        let workspaces = Workspaces::new(&[anywhere.to_owned()], anywhere).ok()?;
        let opened = GitRepository::open_at(&workspaces, top, Layout::WorkTree, &|| false).ok()?;
        Some((top, opened.git))
    });
    let Some((top, git)) = opened else {
        return WorkspaceFacts {
            project: name_of(&folder),
            repository: uuid(NAMESPACE, folder.as_os_str().as_encoded_bytes()),
            work_tree: MAIN.into(),
            top: folder,
        };
    };
    let of_remote = origin(&git).as_deref().and_then(project);
    WorkspaceFacts {
        top: top.to_owned(),
        work_tree: work_tree(&git),
        project: of_remote.unwrap_or_else(|| project_folder(&git, top)),
        repository: repository_id(&git, top),
    }
}

/// Returns the URL of the remote repository.
fn origin(git: &gix::Repository) -> Option<String> {
    let url = git.config_snapshot().string("remote.origin.url");
    url.map(|url| url.to_string())
}

/// Returns the id of the repository at `top` for [`WorkspaceFacts::repository`].
pub(crate) fn repository_id(git: &gix::Repository, top: &Path) -> String {
    let identity = first_commit(git).or_else(|| origin(git)).map(String::into_bytes);
    let identity = identity.unwrap_or_else(|| top.as_os_str().as_encoded_bytes().to_owned());
    uuid(NAMESPACE, &identity)
}

/// Returns git's folder and that of the main work tree, if the repository was opened at a linked one.
fn linked(git: &gix::Repository) -> Option<(PathBuf, PathBuf)> {
    let absolute = |path: &Path| platform::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (own, common) = (absolute(git.git_dir()), absolute(git.common_dir()));
    (own != common).then_some((own, common))
}

/// Returns the name of the work tree at which a repository was opened.
fn work_tree(git: &gix::Repository) -> String {
    linked(git).map_or_else(|| MAIN.into(), |(own, _)| name_of(&own))
}

/// Returns the name of the main work tree's top folder, for linked work trees too: the folder of `.git`, be that git's folder or a file that
/// names a folder beside it, or `core.worktree`. For a bare repository, returns its name without the extension.
fn project_folder(git: &gix::Repository, top: &Path) -> String {
    let Some((_, common)) = linked(git) else {
        return name_of(top);
    };
    let beside =
        common.parent().filter(|main| common.ends_with(".git") || is_git_file(&main.join(".git"), &common));
    let configured = || {
        let top = git.config_snapshot().string("core.worktree")?;
        platform::canonicalize(&common.join(gix::path::from_bstr(top).ok()?)).ok()
    };
    match beside.map(Path::to_owned).or_else(configured) {
        Some(main) => name_of(&main),
        None => {
            let name = name_of(&common);
            name.strip_suffix(".git").unwrap_or(&name).to_owned()
        }
    }
}

/// Returns true if `file` is a file that names git's folder `git`.
fn is_git_file(file: &Path, git: &Path) -> bool {
    let text = platform::read_regular(file, MAX_GIT_FILE_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let target = text.strip_prefix("gitdir:").map(|target| file.with_file_name(target.trim()));
    target.is_some_and(|target| platform::canonicalize(&target).is_ok_and(|target| target == git))
}

/// Returns the id of the branch's first commit, by first parents; `None` before there is one, and in a shallow
/// clone.
fn first_commit(git: &gix::Repository) -> Option<String> {
    if git.is_shallow().unwrap_or(true) {
        return None;
    }
    let mut commit = git.head_commit().ok()?;
    let parent = |commit: &gix::Commit<'_>| commit.parent_ids().next().map(gix::Id::detach);
    while let Some(parent) = parent(&commit) {
        commit = git.find_commit(parent).ok()?;
    }
    Some(commit.id.to_string())
}

/// Returns the last two segments of a remote repository's URL, such as `owner/name`.
fn project(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        // The form of ssh: `git@host:owner/name`.
        None => url.rsplit_once(':').map_or(url, |(_, path)| path),
    };
    let path = path.split(['?', '#']).next()?;
    let segments: Vec<_> = path.split(['/', '\\']).filter(|segment| !segment.is_empty()).collect();
    let last_two = segments.len().saturating_sub(2);
    let name = segments[last_two..].join("/");
    let name = name.strip_suffix(".git").unwrap_or(&name);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the name of a folder, or its path if it has none, such as `/`.
fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Returns the UUID, version 5, of a name in a namespace (RFC 9562, section 5.5).
fn uuid(namespace: [u8; 16], name: &[u8]) -> String {
    let digest = Sha1::new().chain_update(namespace).chain_update(name).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
