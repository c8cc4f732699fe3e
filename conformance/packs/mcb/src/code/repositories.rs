//! Repositories in a folder are listed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::server::{Server, write};
use tabellion_conformance::{checks::prelude::*, ledger::git};

pub(super) const LIST: &[&str] = &["list_repositories"];

pub(super) const CHECK: Check = Check {
    id: "vcs/repositories",
    guarantees: &["repositories-are-listed"],
    states: "Each repository in a folder, up to three folders deep, is listed once, with its path, its commit and an id of its own.",
    explains: "Makes workspaces with repositories beside and in each other, at several depths, before their first commit, and behind links, and \
               lists them from the workspace and from a folder of it. Each must be there once, and nothing else, with the commit that the git \
               program says is checked out. The id must choose it, `limit` must cut the list, and what is outside of the workspace is not listed.",
    cases: |_| {
        let case = |(name, places): &(&str, &[(&str, PathKind)])| {
            let places = places.iter().map(|(path, place)| ((*path).to_owned(), *place));
            Case::new(*name, places.collect::<Places>())
        };
        Ok(CASES.iter().map(case).collect())
    },
    ..Check::must(|bench, case| judge(bench, &case.read()?))
};

/// The kind of a path in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PathKind {
    Repository,
    /// A repository without commits.
    Empty,
    /// A folder that is not a repository.
    Folder,
    /// A link to the repository `a`.
    Link,
    /// A link to a repository outside of the workspace.
    Outside,
}

type Places = BTreeMap<String, PathKind>;

use PathKind::{Empty, Folder, Link, Outside, Repository};

const CASES: &[(&str, &[(&str, PathKind)])] = &[
    ("nothing", &[]),
    ("folders", &[("a", Folder), ("b/c", Folder)]),
    ("side by side", &[("a", Repository), ("b", Repository), ("c", Folder), ("c/d", Repository)]),
    ("in each other", &[("a", Repository), ("a/vendor/b", Repository), ("a/vendor/b/c", Repository)]),
    (
        "at all depths",
        &[("a", Repository), ("b/c", Repository), ("b/d/e", Repository), ("b/d/f/g", Repository)],
    ),
    ("without commits", &[("a", Repository), ("b", Empty)]),
    ("behind links", &[("a", Repository), ("b", Link), ("c/d", Link), ("e", Outside)]),
];

/// Depth below the folder to which repositories are listed.
const DEPTH: usize = 3;

/// A listed repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    path: PathBuf,
    head: Option<String>,
}

fn judge(bench: &Bench<'_>, places: &Places) -> Judgement {
    let mut server = Server::start(bench)?;
    let top = server.scene.workspace();
    let outside = top.with_file_name("outside");
    for (path, place) in places {
        make(&top, &top.join(path), *place, &outside)?;
    }
    let top = top.canonicalize()?;
    for from in
        ["", "a", "b"].map(|from| top.join(from)).iter().filter(|from| from.is_dir() && !from.is_symlink())
    {
        let right = expected(&top, from, places)?;
        let all = list(&mut server, from, json!({ "limit": 1_000 }))?;
        let found: Vec<_> = all.iter().map(|(_, listed)| listed.clone()).collect();
        ensure(found == right, || {
            format!("in `{}` are {right:?}, but the list is {found:?}", from.display())
        })?;
        let ids: BTreeSet<_> = all.iter().map(|(id, _)| id).collect();
        ensure(ids.len() == all.len(), || format!("two repositories have one id: {all:?}"))?;
        for (id, listed) in &all {
            let chosen = list(&mut server, from, json!({ "repo_id": id, "limit": 1_000 }))?;
            ensure(chosen == [(id.clone(), listed.clone())], || {
                format!("the id `{id}` of {listed:?} lists {chosen:?}")
            })?;
        }
        let cut = list(&mut server, from, json!({ "limit": 1 }))?;
        ensure(cut.len() == right.len().min(1) && cut.iter().all(|one| all.contains(one)), || {
            format!("the limit 1 lists {cut:?} of {all:?}")
        })?;
    }
    Ok(())
}

fn make(top: &Path, path: &Path, place: PathKind, outside: &Path) -> Result<(), Stop> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    match place {
        Repository => repository(path),
        Empty => init(path),
        Folder => write(&path.join("notes/a.rs"), b"fn a() {}\n"),
        Link => Ok(symlink(top.join("a"), path)?),
        Outside => {
            repository(outside)?;
            Ok(symlink(outside, path)?)
        }
    }
}

fn init(path: &Path) -> Result<(), Stop> {
    fs::create_dir_all(path)?;
    git(path, &["init", "--quiet", "--initial-branch=main"])?;
    Ok(())
}

/// Makes a repository with a unique commit.
fn repository(path: &Path) -> Result<(), Stop> {
    init(path)?;
    write(&path.join("own.txt"), path.to_string_lossy().as_bytes())?;
    git(path, &["add", "own.txt"])?;
    git(path, &["commit", "--quiet", "-m", "first"])?;
    Ok(())
}

/// Returns the repositories in a folder, by path.
fn expected(top: &Path, from: &Path, places: &Places) -> Result<Vec<Listed>, Stop> {
    let mut right = Vec::new();
    for (path, place) in places {
        let path = top.join(path);
        let Ok(below) = path.strip_prefix(from) else {
            continue;
        };
        if below.components().count() > DEPTH {
            continue;
        }
        let head = match place {
            Repository => Some(git(&path, &["rev-parse", "HEAD"])?.trim().to_owned()),
            Empty => None,
            Folder | Link | Outside => continue,
        };
        right.push(Listed { path, head });
    }
    right.sort();
    Ok(right)
}

/// Returns the server's list, by path, with its ids.
fn list(server: &mut Server<'_, '_>, from: &Path, more: Value) -> Result<Vec<(String, Listed)>, Stop> {
    let mut asked = json!({ "repo_id": "*", "repo_path": from.to_string_lossy() });
    for (name, value) in more.as_object().into_iter().flatten() {
        asked[name] = value.clone();
    }
    let answer = server.must(LIST, &asked)?;
    let all = answer["repositories"].as_array().into_iter().flatten();
    let mut found = Vec::new();
    for entry in all {
        let path = Path::new(entry["path"].as_str().unwrap_or_default());
        let none = |_| fail(format!("a repository is listed that does not exist: {entry}"));
        let listed = Listed {
            path: path.canonicalize().map_err(none)?,
            head: entry["head"].as_str().map(str::to_owned),
        };
        found.push((entry["id"].as_str().unwrap_or_default().to_owned(), listed));
    }
    ensure(answer["count"] == found.len(), || {
        format!("the list has another number of entries than it says: {answer}")
    })?;
    found.sort_by(|one, other| one.1.cmp(&other.1));
    Ok(found)
}
