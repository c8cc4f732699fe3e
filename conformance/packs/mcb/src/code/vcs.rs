//! Branches of a repository, compared and searched, with the git program as reference.

use std::collections::BTreeSet;

use super::{
    repository::{Changed, Files, REPO, Repository, of_git, repositories},
    server::{Server, write},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const COMPARE: &[&str] = &["compare_branches"];
pub(super) const SEARCH: &[&str] = &["search_branch"];

pub(super) const COMPARED: Check = Check {
    id: "vcs/compare",
    guarantees: &["branches-are-gits"],
    states: "Comparing two branches says what `git diff --numstat -M` says between their merge base and the target.",
    explains: "Makes random repositories with two branches that both went on: files are changed, added, removed and renamed, with and \
               without a change, some are binary, or have no end of the last line. Each file must have git's status, old path and numbers, \
               and the sums must be theirs.",
    cases: |bench| Ok(repositories(bench, "compare", bench.pick(6, 60))),
    ..Check::must(|bench, case| compare(bench, &case.read()?))
};

pub(super) const SEARCHED: Check = Check {
    id: "vcs/search",
    guarantees: &["branches-are-gits"],
    states: "Searching a branch finds the lines of that branch that have the text, and no others.",
    explains: "Searches both branches of random repositories for words, parts of words, punctuation and texts in capital letters, while the \
               work tree has other files. The lines must be those that the git program shows of the branch; the case counts only if the query \
               has a capital letter.",
    cases: |bench| Ok(repositories(bench, "search", bench.pick(3, 30))),
    ..Check::must(|bench, case| search(bench, &case.read()?))
};

/// Returns the arguments that name the repository.
pub(super) fn repository(server: &Server<'_, '_>, more: Value) -> Value {
    let mut arguments = json!({ "repo_id": "*", "repo_path": server.named(REPO) });
    for (name, value) in more.as_object().into_iter().flatten() {
        arguments[name] = value.clone();
    }
    arguments
}

fn compare(bench: &Bench<'_>, made: &Repository) -> Judgement {
    let mut server = Server::start(bench)?;
    let root = server.path(REPO);
    made.make(&root)?;
    for (base, target) in [("main", "topic/x"), ("topic/x", "main"), ("main", "main")] {
        let (merge_base, right) = of_git(&root, base, target)?;
        let asked = json!({ "base_branch": base, "target_branch": target, "limit": 1_000 });
        let asked = repository(&server, asked);
        let answer = server.must(COMPARE, &asked)?;
        let said = |word: &Value| -> &'static str {
            let known = ["added", "modified", "deleted", "renamed"];
            known.into_iter().find(|it| word == it).unwrap_or("?")
        };
        let files = answer["files"].as_array().into_iter().flatten();
        let mut found: Vec<_> = files
            .map(|file| Changed {
                path: file["path"].as_str().unwrap_or_default().into(),
                old_path: file["old_path"].as_str().map(Into::into),
                status: said(&file["status"]),
                additions: file["additions"].as_u64().unwrap_or(u64::MAX),
                deletions: file["deletions"].as_u64().unwrap_or(u64::MAX),
                binary: file["binary"] == true,
            })
            .collect();
        found.sort();
        let differs = found.iter().zip(&right).find(|(one, other)| one != other);
        ensure(found == right, || match differs {
            Some((found, right)) => format!("from `{base}` to `{target}`, {found:?} is {right:?} for git"),
            None => format!(
                "from `{base}` to `{target}`, there are {} files, and {} for git",
                found.len(),
                right.len()
            ),
        })?;
        let sum = |of: fn(&Changed) -> u64| right.iter().map(of).sum::<u64>();
        let sums = [
            ("files_changed", right.len() as u64),
            ("additions", sum(|file| file.additions)),
            ("deletions", sum(|file| file.deletions)),
        ];
        for (name, right) in sums {
            ensure(answer[name] == right, || {
                format!("from `{base}` to `{target}`, `{name}` is {}, and {right} for git", answer[name])
            })?;
        }
        ensure(answer["merge_base"] == merge_base.as_str(), || {
            format!("the merge base is {}, and {merge_base} for git", answer["merge_base"])
        })?;
    }
    let unknown = repository(&server, json!({ "base_branch": "no/such" }));
    server.must_not(COMPARE, &unknown, "although there is no such branch")?;
    Ok(())
}

fn search(bench: &Bench<'_>, made: &Repository) -> Judgement {
    let mut server = Server::start(bench)?;
    let root = server.path(REPO);
    made.make(&root)?;
    for file in made.main.keys() {
        write(&root.join(file), b"amount Till price: only in the work tree\n")?;
    }
    for (branch, files) in [("main", &made.main), ("topic/x", &made.topic)] {
        for query in ["amount", "Till", "till", "ount", "count(", "x * y", "größe", "todo", "only in", ".*"]
        {
            let right = holding(files, query);
            for limit in [1_000, 4] {
                let asked =
                    repository(&server, json!({ "query": query, "target_branch": branch, "limit": limit }));
                let answer = server.must(SEARCH, &asked)?;
                let results = answer["results"].as_array().into_iter().flatten();
                let found: Vec<_> = results
                    .map(|it| {
                        let path = it["path"].as_str().unwrap_or_default().to_owned();
                        (path, it["line"].as_u64().unwrap_or_default())
                    })
                    .collect();
                let wrong = found.iter().find(|place| !right.contains(*place));
                ensure(wrong.is_none(), || {
                    format!("in `{branch}`, {query:?} finds {wrong:?}, which does not have it")
                })?;
                let once: BTreeSet<_> = found.iter().collect();
                ensure(once.len() == found.len() && found.len() == right.len().min(limit), || {
                    format!(
                        "in `{branch}`, {query:?} finds {} lines with the limit {limit}, of {}",
                        once.len(),
                        right.len()
                    )
                })?;
                ensure(answer["total"] == right.len() && answer["count"] == found.len(), || {
                    format!(
                        "in `{branch}`, {query:?} counts {} of {}, of {} lines",
                        answer["count"],
                        answer["total"],
                        right.len()
                    )
                })?;
            }
        }
    }
    Ok(())
}

/// Returns the lines that contain a text, by path and number.
fn holding(files: &Files, query: &str) -> BTreeSet<(String, u64)> {
    let is_exact = query.chars().any(char::is_uppercase);
    let mut found = BTreeSet::new();
    for (path, content) in files {
        let Ok(text) = std::str::from_utf8(content) else {
            continue;
        };
        for (number, line) in (1..).zip(text.lines()) {
            let has = if is_exact { line.contains(query) } else { line.to_lowercase().contains(query) };
            if has && !text.contains('\0') {
                found.insert((path.clone(), number));
            }
        }
    }
    found
}
