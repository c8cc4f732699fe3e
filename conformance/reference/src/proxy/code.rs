//! Defects of an index of code, of comparisons of branches, and of rules.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha1::{Digest as _, Sha1};

use super::{
    disk::{git, walk},
    message::{Call, Reply},
    server::Proxy,
};
use crate::mutant::{self, Mutant};

/// Arguments that leave hits out.
const FILTERS: [&str; 2] = ["filters", "extensions"];
/// Arguments that leave files out.
const OF_FILES: [&str; 3] = ["extensions", "exclude_dirs", "ignore_patterns"];
/// A name beside all names of collections.
const RUNS: &str = "a run has not ended";
/// Maximum depth of nested folders.
const MAX_DEPTH: usize = 20;

/// Returns further arguments of the server.
pub(super) fn more_arguments() -> &'static [&'static str] {
    match mutant::current() {
        Some(Mutant::NamesOutside | Mutant::FollowsLinksOut) => &["--workspace", "/"],
        _ => &[],
    }
}

/// Answers a call about code as the mutant does.
pub(super) fn answer(mutant: Mutant, call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let is_search = call.tool == "search";
    let begins =
        call.is("index", "start") || call.is("index", "git_index") || call.is("vcs", "index_repository");
    let query = call.text("query").to_owned();
    Ok(match mutant {
        Mutant::SaysIndexed => {
            if begins {
                proxy.record.list_here("begun").push(true.into());
            }
            let reply = proxy.forward(&call)?;
            if is_search && !std::mem::take(proxy.record.list_here("begun")).is_empty() {
                return Ok(reply.edit("results", Vec::clear));
            }
            reply.each("collections", |status| {
                status["state"] = "idle".into();
                status["files_done"] = status["files_total"].clone();
            })
        }
        Mutant::IndexInMemory => {
            if begins {
                proxy.record.list_here("begun").push(true.into());
            }
            let reply = proxy.forward(&call)?;
            if proxy.record.list_here("begun").is_empty() {
                reply.edit("results", Vec::clear).edit("collections", Vec::clear)
            } else {
                reply
            }
        }
        Mutant::TakesRunsForDone => {
            if begins {
                proxy.record.keep(RUNS, true.into())?;
            }
            let took_over = !proxy.record.before(RUNS).is_empty();
            let reply = proxy.forward(&call)?;
            if reply.list("collections").iter().any(|status| status["state"] == "idle") && !took_over {
                proxy.record.forget(RUNS)?;
            }
            let is_half = |hit: &Value| hit["file_path"].as_str().is_none_or(|path| path.len() % 2 == 0);
            if took_over {
                reply.retain("results", is_half)
            } else {
                reply
            }
        }
        Mutant::KeepsRemoved if is_search => {
            let reply = proxy.forward(&call)?;
            let key = Value::from(call.arguments.clone()).to_string();
            let found = reply.list("results").to_vec();
            let before = proxy.record.here(&key).cloned();
            proxy.record.set_here(&key, found.clone().into());
            let gone = before.as_ref().and_then(Value::as_array).into_iter().flatten();
            let is_gone = |hit: &&Value| found.iter().all(|other| other["file_path"] != hit["file_path"]);
            let gone: Vec<_> = gone.filter(is_gone).cloned().collect();
            reply.edit("results", |list| list.extend(gone))
        }
        Mutant::KeepsUnfitting if call.is("index", "start") => {
            let runs = proxy.record.list_here("runs");
            runs.push(true.into());
            if runs.len() > 1 {
                proxy.forward(&call.without(&OF_FILES))?
            } else {
                proxy.forward(&call)?
            }
        }
        Mutant::ClearKeepsHashes => {
            if call.is("index", "clear") {
                proxy.record.keep("cleared", call.text("collection").into())?;
            }
            let cleared = proxy.record.all("cleared");
            let is_left = |hit: &Value| !cleared.contains(&hit["collection"]);
            proxy.forward(&call)?.retain("results", is_left)
        }
        Mutant::FollowsLinksOut if call.is("index", "start") => {
            let inside = proxy.workspace.canonicalize()?;
            match fs::canonicalize(call.text("path")) {
                Ok(path) if path.starts_with(inside) => proxy.forward(&call)?,
                _ => proxy.refuse("the path is not in the workspace"),
            }
        }
        Mutant::SkipsSameSize => same_size(&call, proxy)?,
        Mutant::CodeFiltersAfterCut if is_search => proxy.after_cut(&call, &FILTERS)?,
        Mutant::IgnoresExtensions if is_search => proxy.forward(&call.without(&["extensions"]))?,
        Mutant::CodeScoresNegative => proxy.forward(&call)?.each("results", |hit| {
            hit["score"] = (-hit["score"].as_f64().unwrap_or_default()).into();
        }),
        Mutant::CodeScoresAscend => proxy.forward(&call)?.edit("results", |hits| hits.reverse()),
        Mutant::CodeQueriesAreSyntax if query.matches('(').count() != query.matches(')').count() => {
            proxy.refuse("the query has an open group")
        }
        Mutant::IgnoresNames if is_search => {
            let words = query.replace(['_', '"'], " ").to_lowercase();
            proxy.forward(&call.with("query", words))?
        }
        Mutant::HitsEachWord if query.split_whitespace().count() > 3 => {
            proxy.forward(&call)?.edit("results", |hits| {
                *hits = hits.drain(..).flat_map(|hit| [hit.clone(), hit]).collect();
            })
        }
        Mutant::IndexesWorkTree if call.is("index", "git_index") => {
            let branches = branches(&call)?;
            let begun = proxy.forward(&call.with("action", "start"))?;
            begun.set("branches", branches)
        }
        Mutant::IndexesWorkTree | Mutant::IgnoresBranch if is_search => {
            let filters = call.list("filters");
            let is_branch = |filter: &&Value| filter.as_str().is_some_and(|it| it.starts_with("branch:"));
            let branch = filters.iter().find(is_branch).and_then(Value::as_str);
            let branch = branch.map(|filter| filter["branch:".len()..].to_owned());
            let left: Vec<_> = filters.iter().filter(|filter| !is_branch(filter)).cloned().collect();
            let reply = proxy.forward(&call.with("filters", left))?;
            match branch {
                Some(branch) if mutant == Mutant::IndexesWorkTree => {
                    reply.each("results", |hit| hit["branch"] = branch.as_str().into())
                }
                _ => reply,
            }
        }
        Mutant::ChecksBranchesOut if call.is("index", "git_index") => {
            for branch in branches(&call)? {
                // A repository without a work tree has nothing to check out.
                let _ = git(Path::new(call.text("path")), &["checkout", "--quiet", "--force", &branch]);
            }
            proxy.forward(&call)?
        }
        Mutant::HashesTextsAlone => proxy.forward(&call)?.each("results", |hit| {
            let text = hit["content"].as_str().unwrap_or_default();
            hit["blob"] = HEXLOWER.encode(&Sha1::digest(text)).into();
        }),
        Mutant::IndexesBlobsOnce => {
            let reply = proxy.forward(&call)?;
            let record = &mut proxy.record;
            reply.retain("results", |hit| {
                let key = json!([hit["file_path"], hit["blob"]]).to_string();
                if record.here(&key).is_none() {
                    record.set_here(&key, hit["branch"].clone());
                }
                record.here(&key) == Some(&hit["branch"])
            })
        }
        Mutant::KeepsOldTips => {
            let path = call.text("path").to_owned();
            let is_indexed = proxy.record.find("tips", |it| it["path"] == path.as_str()).is_some();
            if call.is("index", "git_index") && !is_indexed {
                let list = ["ls-tree", "-r", "--format=%(objectname)"];
                let trees = branches(&call)?.into_iter().map(|branch| {
                    git(Path::new(&path), &[&list[..], &[&*branch]].concat())
                });
                let blobs: Vec<_> = trees.collect::<io::Result<_>>()?;
                proxy.record.keep("tips", json!({ "path": path, "blobs": blobs.concat() }))?;
            }
            let tips = proxy.record.all("tips");
            proxy.forward(&call)?.retain("results", |hit| {
                let is_known = |blob: &str| tips.iter().any(|it| it["blobs"].as_str().is_some_and(|it| it.contains(blob)));
                hit["blob"].as_str().is_none_or(is_known)
            })
        }
        Mutant::CountsRepositories => proxy.forward(&call)?.retain("results", |hit| hit["branch"].is_null()),
        Mutant::CountsCommits => proxy.forward(&call)?.retain("results", |hit| hit["kind"] != "commit"),
        Mutant::IgnoresDepth if call.is("vcs", "index_repository") => {
            proxy.forward(&call.with("depth", 1_000))?
        }
        Mutant::FollowsLinksToRepositories if call.is("vcs", "list_repositories") => {
            let mut links = Vec::new();
            walk(Path::new(call.text("repo_path")), 3, &mut |path| {
                if path.is_symlink() && path.join(".git").exists() {
                    let entry = json!({ "id": path, "path": path, "default_branch": null, "head": null });
                    links.push(entry);
                }
            })?;
            let reply = proxy.forward(&call)?;
            reply.edit("repositories", |list| list.extend(links))
        }
        Mutant::StopsAtRepositories => {
            let reply = proxy.forward(&call)?;
            let all: Vec<_> = reply.list("repositories").iter().map(path_of).collect();
            reply.retain("repositories", |entry| {
                let path = path_of(entry);
                all.iter().all(|other| *other == path || !path.starts_with(other))
            })
        }
        Mutant::ListsAnyDepth if call.is("vcs", "list_repositories") => {
            let mut below = Vec::new();
            walk(Path::new(call.text("repo_path")), 1, &mut |path| below.push(path.to_owned()))?;
            let all = proxy.forward(&call)?;
            below.into_iter().filter(|path| !path.is_symlink()).try_fold(all, |all, path| {
                let path = path.to_string_lossy().into_owned();
                let more = proxy.forward(&call.clone().with("repo_path", path))?;
                let known: Vec<_> = all.list("repositories").iter().map(path_of).collect();
                let more = more.list("repositories").iter();
                let more: Vec<_> = more.filter(|it| !known.contains(&path_of(it))).cloned().collect();
                io::Result::Ok(all.edit("repositories", |list| list.extend(more)))
            })?
        }
        Mutant::ListsAnyId if call.is("vcs", "list_repositories") => {
            proxy.forward(&call.with("repo_id", "*"))?
        }
        Mutant::FindsNoRenames => proxy.forward(&call)?.edit("files", |files| {
            let renamed = files.iter_mut().filter(|file| file["status"] == "renamed");
            let removed: Vec<_> = renamed
                .map(|file| {
                    file["status"] = "added".into();
                    let path = file["old_path"].take();
                    json!({ "path": path, "old_path": null, "status": "deleted", "additions": 0, "deletions": 0, "binary": false })
                })
                .collect();
            files.extend(removed);
        }),
        Mutant::ComparesTips => {
            let reply = proxy.forward(&call)?;
            let named = |name: &str, other: &str| match call.text(name) {
                "" => other.to_owned(),
                name => name.to_owned(),
            };
            let tips = [named("base_branch", "main"), named("target_branch", "HEAD")];
            let Ok(names) = git(Path::new(call.text("repo_path")), &["diff", "--name-only", &tips[0], &tips[1], "--"]) else {
                return Ok(reply);
            };
            let files: Vec<_> = names
                .lines()
                .map(|path| {
                    json!({ "path": path, "old_path": null, "status": "modified", "additions": 1, "deletions": 1, "binary": false })
                })
                .collect();
            let known: Vec<_> = reply.list("files").iter().map(|file| file["path"].clone()).collect();
            let more: Vec<_> = files.into_iter().filter(|file| !known.contains(&file["path"])).collect();
            let count = known.len() + more.len();
            let reply = if known.is_empty() { reply } else { reply.set("files_changed", count) };
            reply.edit("files", |files| files.extend(more))
        }
        Mutant::SearchesWorkTree if call.is("vcs", "search_branch") => search_work_tree(&call, proxy)?,
        Mutant::CaseAlwaysCounts if call.is("vcs", "search_branch") => {
            proxy.forward(&call)?.retain("results", |line| {
                line["snippet"].as_str().is_some_and(|line| line.contains(&query))
            })
        }
        Mutant::ImpactIsZero => {
            proxy.forward(&call)?.each("impacted_files", |file| file["impact"] = 0.into())
        }
        Mutant::HasNoDependents => {
            proxy.forward(&call)?.each("impacted_files", |file| file["dependents"] = json!([]))
        }
        Mutant::FindingsAreErrors if call.is("validate", "run") => {
            let reply = proxy.forward(&call)?;
            match reply.list("violations") {
                [] => reply,
                found => proxy.refuse(&format!("{} violations", found.len())),
            }
        }
        Mutant::RunsAllCategories | Mutant::ListsAllRules if call.tool == "validate" => {
            proxy.forward(&call.without(&["category"]))?
        }
        Mutant::FilesAreOne if call.is("validate", "analyze") => {
            proxy.forward(&call)?.set("cyclomatic", 1)
        }
        _ => proxy.forward(&call)?,
    })
}

/// Does not index a file again that has the size that it had.
fn same_size(call: &Call, proxy: &mut Proxy) -> io::Result<Reply> {
    if call.is("index", "start") || call.is("index", "git_index") {
        let before = proxy.record.here("files").cloned().unwrap_or_default();
        let mut files = json!({});
        walk(Path::new(call.text("path")), MAX_DEPTH, &mut |path| {
            let Ok(content) = fs::read(path) else { return };
            let (name, seen) =
                (path.to_string_lossy(), json!([content.len(), HEXLOWER.encode(&Sha1::digest(&content))]));
            let known = &before[&*name];
            if known[0] == seen[0] && known[1] != seen[1] {
                proxy.record.list_here("skipped").push((&*name).into());
            }
            files[&*name] = seen;
        })?;
        proxy.record.set_here("files", files);
    }
    let skipped = proxy.record.list_here("skipped").clone();
    let is_skipped = |hit: &Value| {
        let path = hit["file_path"].as_str().unwrap_or_default();
        let mut skipped = skipped.iter().filter_map(Value::as_str);
        skipped.any(|it| it.ends_with(path))
    };
    Ok(proxy.forward(call)?.retain("results", |hit| !is_skipped(hit)))
}

/// Searches the files of the work tree instead of those of a branch.
fn search_work_tree(call: &Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let (root, query) = (Path::new(call.text("repo_path")), call.text("query"));
    let mut lines = Vec::new();
    walk(root, MAX_DEPTH, &mut |path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let path = path.strip_prefix(root).unwrap_or(path);
        let found = (1..).zip(text.lines()).filter(|(_, line)| line.contains(query));
        lines.extend(found.map(|(number, line)| json!({ "path": path, "line": number, "snippet": line })));
    })?;
    let total = lines.len();
    lines.truncate(call.limit());
    Ok(proxy.forward(call)?.edit("results", |results| *results = lines).set("total", total))
}

fn path_of(repository: &Value) -> PathBuf {
    repository["path"].as_str().map_or_else(PathBuf::new, PathBuf::from)
}

/// Returns the branches of the repository that a call names.
fn branches(call: &Call) -> io::Result<Vec<String>> {
    let listed =
        git(Path::new(call.text("path")), &["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
    Ok(listed.lines().map(str::to_owned).collect())
}
