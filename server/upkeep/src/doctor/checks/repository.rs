//! The git repository.

use std::{fs, path::Path, time::Duration};

use tabellion_library::{Difference, HeldLock, Library, UncommittedList};

use super::super::{
    finding::{Finding, Fix},
    holders,
    subject::Subject,
};
use crate::console::counted;

/// Age from which a lock is left over, if no program has it open.
const LOCK_AGE: Duration = Duration::from_secs(60);
/// Number of loose objects from which on git packs them, unless `gc.auto` is set.
const LOOSE_OBJECTS: usize = 6700;

/// Checks whether a change could be committed now.
pub(super) fn state(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "state";
    vec![match library.place() {
        Ok(place) => match place.refusal {
            Some(refusal) => Finding::red(
                ID,
                format!("changes are refused: {refusal}"),
                "reading works; finish that first",
            ),
            None => {
                Finding::green(ID, format!("changes go to the branch `{}`", place.branch.unwrap_or_default()))
            }
        },
        Err(failure) => Finding::red(
            ID,
            failure.to_string(),
            "`git fsck` says what is damaged; restore it from a backup or a clone",
        ),
    }]
}

/// Looks for git's lock files.
pub(super) fn locks(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "locks";
    let locks = library.held_locks();
    if locks.is_empty() {
        return vec![Finding::green(ID, "no program has locked the repository")];
    }
    let top = library.repository_facts().top;
    locks.into_iter().map(|lock| held(ID, lock, &top)).collect()
}

fn held(id: &'static str, lock: HeldLock, top: &Path) -> Finding {
    let path = lock.path.display().to_string();
    let holders = holders::find(&lock.path);
    let age = fs::metadata(&lock.path).and_then(|found| found.modified()).ok();
    let age = age.and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
    if !holders.is_empty() {
        return Finding::yellow(
            id,
            format!("{} has `{path}`", holders.join(", ")),
            "wait until it has finished",
        );
    }
    if lock.is_ours {
        let finding = Finding::yellow(
            id,
            format!("a change of Tabellion has left `{path}`"),
            "the next change removes it",
        );
        return finding.with(Fix::Recover);
    }
    let minutes = age.as_secs() / 60;
    if age < LOCK_AGE || holders::runs_in("git", top) {
        return Finding::yellow(
            id,
            format!("a git program has `{path}`"),
            "wait until it has finished, then look again",
        );
    }
    let finding = Finding::red(
        id,
        format!("`{path}` is {minutes} minutes old, and git refuses to work while it exists"),
        "if no git program is running, remove the file",
    );
    if holders::ARE_KNOWN { finding.with(Fix::RemoveLock(lock)) } else { finding }
}

/// Lists the servers that use the library.
pub(super) fn processes(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "processes";
    let own = library.repository_facts().own;
    let changing = holders::find(&own.join("lock"));
    let mut serving = holders::find(&own.join("log.sqlite"));
    serving.retain(|process| !changing.contains(process));
    match (changing.is_empty(), serving.is_empty()) {
        (false, _) => {
            vec![Finding::green(ID, format!("{} changes the library right now", changing.join(", ")))]
        }
        (true, false) => vec![Finding::green(ID, format!("used by {}", serving.join(", ")))],
        (true, true) => vec![],
    }
}

/// Looks for documents that are not committed.
pub(super) fn uncommitted(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "uncommitted";
    let UncommittedList { documents, truncated } = match library.uncommitted() {
        Ok(found) => found,
        Err(failure) => {
            return vec![Finding::red(ID, failure.to_string(), "`git fsck` says what is damaged")];
        }
    };
    let (untracked, changed): (Vec<_>, Vec<_>) =
        documents.iter().partition(|document| document.difference == Difference::Untracked);
    let untracked = match untracked.len() {
        0 => String::new(),
        number => format!("; {} not in the repository yet", counted(number, "document")),
    };
    vec![if truncated {
        Finding::yellow(
            ID,
            "the folder or its last commit has more documents than are compared",
            "make a library of one of its folders; `git ls-files` lists what git has",
        )
    } else if changed.is_empty() {
        Finding::green(ID, format!("no uncommitted edits{untracked}"))
    } else {
        Finding::green(
            ID,
            format!(
                "{} with uncommitted edits{untracked}: `tabellion diff` shows them; an agent's change to one commits it first",
                counted(changed.len(), "document")
            ),
        )
    }]
}

/// Looks for hooks, which Tabellion does not run.
pub(super) fn hooks(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "hooks";
    const AT_COMMIT: [&str; 6] = [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
    ];
    let facts = library.repository_facts();
    let folder = match library.git_setting("core.hooksPath") {
        Some(path) => facts.top.join(path),
        None => facts.common_dir.join("hooks"),
    };
    let found: Vec<_> = AT_COMMIT.into_iter().filter(|name| is_program(&folder.join(name))).collect();
    vec![if found.is_empty() {
        Finding::green(ID, "no hooks for commits")
    } else {
        Finding::yellow(
            ID,
            format!("Tabellion does not run the hooks {} in `{}`", found.join(", "), folder.display()),
            "if what they do matters for agents' changes, do it elsewhere, such as before a push or in CI",
        )
    }]
}

fn is_program(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else {
        return false;
    };
    found.is_file() && (cfg!(windows) || tabellion_platform::mode(&found) & 0o111 != 0)
}

/// Checks git's index.
pub(super) fn index(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "index";
    let skips_hash =
        library.git_setting("index.skipHash").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let hash = if skips_hash { ", without a checksum (`index.skipHash`), which is supported" } else { "" };
    vec![match library.index_version() {
        Ok(None) => Finding::green(ID, "no index yet"),
        Ok(Some(Ok(version))) => Finding::green(ID, format!("version {version}{hash}")),
        Ok(Some(Err(problem))) => {
            Finding::red(ID, problem, "changes are refused until then; `git status` says more")
        }
        Err(error) => {
            Finding::red(ID, format!("the index can't be read: {error}"), "give your user access to it")
        }
    }]
}

/// Counts objects that are not packed.
pub(super) fn objects(_: &Subject, library: &Library) -> Vec<Finding> {
    const ID: &str = "objects";
    let facts = library.repository_facts();
    let loose = loose_objects(&facts.objects);
    let automatic = library.git_setting("gc.auto").and_then(|value| value.parse().ok());
    let limit = automatic.unwrap_or(LOOSE_OBJECTS);
    let shown = counted(loose, "loose object");
    vec![if loose <= 2 * LOOSE_OBJECTS.max(limit) {
        Finding::green(ID, shown)
    } else {
        let why = if limit == 0 { ", and `gc.auto = 0` turns packing off" } else { "" };
        Finding::yellow(ID, format!("{shown} slow git down{why}"), "`git gc` packs them")
            .with(Fix::Pack(facts.top))
    }]
}

fn loose_objects(objects: &Path) -> usize {
    let names = |folder: &Path| tabellion_platform::names(folder).unwrap_or_default();
    let is_fan = |name: &str| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    names(objects)
        .iter()
        .filter(|name| name.to_str().is_some_and(is_fan))
        .map(|name| names(&objects.join(name)).len())
        .sum()
}
