//! Indexing a repository makes its code searchable, and the messages of its commits.

use std::{collections::BTreeSet, fs, path::Path};

use super::{
    branched::{Branched, MAIN, TOPIC},
    repository::REPO,
    server::Server,
    tree::{Tree, word},
    vcs::repository,
};
use tabellion_conformance::{checks::prelude::*, ledger::git};

pub(super) const INDEX_REPOSITORY: &[&str] = &["index_repository"];

pub(super) const INDEXED: Check = Check {
    id: "vcs/index",
    guarantees: &["branches-are-gits", "status-is-true"],
    states: "Once the run of a repository is idle, the files of the branches that it names are found, and those of no other branch.",
    explains: "Indexes a repository by its two branches, by one of them, and by none that is named, and searches the words of all files. \
               The answer must name the branches that the git program lists and count the files. A branch that does not exist is refused, \
               and what was indexed stays. A server that counts and indexes nothing leaves agents to conclude that the code does not exist.",
    cases: |bench| {
        let mut dice = bench.dice("index repository");
        let cases = 1..=bench.pick(1, 4);
        let case = |number| Case::new(format!("repository {number}"), Branched::random(&mut dice, 10));
        Ok(cases.map(case).collect())
    },
    ..Check::must(|bench, case| indexed(bench, &case.read()?))
};

pub(super) const COMMITS: Check = Check {
    id: "vcs/commits",
    guarantees: &["branches-are-gits"],
    states: "With `include_commits`, the messages of the last `depth` commits of each branch are found, by their ids and branches; else none is.",
    explains: "Makes histories in which each message has a word of its own in its first line and in its body, and indexes them to several \
               depths, also after another commit. With `kind:commit`, each word must find its commit, whose id is in the hit, if the commit is \
               among the last ones; and none without `include_commits`. `branch` leaves those of its branch.",
    cases: |bench| {
        let few: &[(usize, usize)] = &[(5, 3), (4, 10)];
        let many: &[(usize, usize)] = &[(5, 1), (5, 3), (5, 5), (4, 10), (60, 55)];
        let case = |&(commits, depth): &(usize, usize)| {
            Case::new(format!("{depth} of {commits} commits"), History { commits, depth })
        };
        Ok(bench.pick(few, many).iter().map(case).collect())
    },
    ..Check::must(|bench, case| commits(bench, &case.read()?))
};

/// A branch with a number of commits, of which `depth` are indexed.
#[derive(Debug, Serialize, Deserialize)]
struct History {
    commits: usize,
    depth: usize,
}

/// Begins to index the repository and waits for it; returns the answer, and the name of the collection.
fn index(server: &mut Server<'_, '_>, more: Value) -> Result<(Value, String), Stop> {
    let asked = repository(server, more);
    let begun = server.must(INDEX_REPOSITORY, &asked)?;
    let status = server.idle_of(&begun)?;
    let collection = status["collection"].as_str().unwrap_or_default().to_owned();
    Ok((begun, collection))
}

fn indexed(bench: &Bench<'_>, branched: &Branched) -> Judgement {
    let mut server = Server::start(bench)?;
    let root = server.path(REPO);
    branched.make(&root)?;
    let mut earlier: &[&str] = &[];
    let (one, both): (&[&str], &[&str]) = (&[TOPIC], &[MAIN, TOPIC]);
    for asked in [both, one, &[], both] {
        let more = if asked.is_empty() { json!({}) } else { json!({ "branches": asked }) };
        let (answer, collection) = index(&mut server, more)?;
        // Without any, the default branch is indexed.
        let branches = if asked.is_empty() { &[MAIN] } else { asked };
        numbers(&answer, branches, branched)?;
        finds(&mut server, &collection, &root, branches, branched)?;
        earlier = branches;
    }
    let unknown = repository(&server, json!({ "branches": [MAIN, "no/such"] }));
    server.must_not(INDEX_REPOSITORY, &unknown, "although there is no such branch")?;
    let another = repository(&server, json!({ "repo_id": "another" }));
    server.must_not(INDEX_REPOSITORY, &another, "although the repository has another id")?;
    let (_, collection) = index(&mut server, json!({ "branches": earlier }))?;
    let mut server = server.restarted()?;
    finds(&mut server, &collection, &root, earlier, branched)
}

/// Fails unless an answer has git's branches, and plausible numbers of files and commits.
fn numbers(answer: &Value, branches: &[&str], branched: &Branched) -> Judgement {
    let mut found: Vec<_> = answer["branches_found"].as_array().cloned().unwrap_or_default();
    found.sort_by_key(Value::to_string);
    ensure(
        found == [MAIN, TOPIC] && answer["branches"] == json!(branches) && answer["default_branch"] == MAIN,
        || {
            format!(
                "the branches {branches:?} are asked for, of `{MAIN}` and `{TOPIC}`, but the answer is {answer}"
            )
        },
    )?;
    // Files of several branches may be counted once or more.
    let trees: Vec<&Tree> = branches.iter().filter_map(|branch| branched.tree(branch)).collect();
    let sum: usize = trees.iter().map(|tree| tree.len()).sum();
    let different: BTreeSet<_> = trees.iter().flat_map(|tree| tree.keys()).collect();
    let said = answer["total_files"].as_u64().and_then(|files| usize::try_from(files).ok());
    ensure(said.is_some_and(|said| (different.len()..=sum).contains(&said)), || {
        format!("the branches {branches:?} have {sum} files, but the answer is {answer}")
    })?;
    ensure(answer["commits_indexed"] == 0, || format!("no commits are asked for, but the answer is {answer}"))
}

/// Fails unless the collection has exactly the files of these branches.
fn finds(
    server: &mut Server<'_, '_>,
    collection: &str,
    root: &Path,
    branches: &[&str],
    branched: &Branched,
) -> Judgement {
    let all = branched.words();
    let mut there = BTreeSet::new();
    for branch in branches {
        let Some(tree) = branched.tree(branch) else {
            continue;
        };
        let words: BTreeSet<_> = tree.values().map(|source| source.word).collect();
        let gone = all.difference(&words).copied().collect();
        there.extend(words);
        server.holds_branch(collection, (root, branch), tree, &gone)?;
    }
    for number in all.difference(&there) {
        server.lacks(collection, *number, &format!("on none of {branches:?}"))?;
    }
    Ok(())
}

/// A commit, and the words of its message.
struct Committed {
    id: String,
    title: String,
    body: String,
}

/// Makes a commit with unique words.
fn commit(root: &Path, number: usize) -> Result<Committed, Stop> {
    let (title, body) = (word(2 * number), word(2 * number + 1));
    fs::write(root.join("count.txt"), format!("{number}\n"))?;
    git(root, &["add", "count.txt"])?;
    let message = format!("Mend {title} in the till\n\nThe sum was wrong, as {body} says.\n");
    git(root, &["commit", "--quiet", "-m", &message])?;
    let id = git(root, &["rev-parse", "HEAD"])?.trim().to_owned();
    Ok(Committed { id, title, body })
}

fn commits(bench: &Bench<'_>, history: &History) -> Judgement {
    let mut server = Server::start(bench)?;
    let root = server.path(REPO);
    fs::create_dir_all(&root)?;
    git(&root, &["init", "--quiet", "--initial-branch=main"])?;
    let mut main = Vec::new();
    for number in 0..history.commits {
        main.push(commit(&root, number)?);
    }
    let (asked, depth) = (history.commits, history.depth);
    let with = json!({ "branches": [MAIN], "include_commits": true, "depth": depth });
    for more in 0..2_usize {
        let (answer, collection) = index(&mut server, with.clone())?;
        let many = main.len().min(depth);
        ensure(answer["commits_indexed"] == many, || {
            format!("of {} commits, {depth} are asked for, but the answer is {answer}", main.len())
        })?;
        for (age, commit) in main.iter().rev().enumerate() {
            has(&mut server, (&collection, None), commit, age < depth)?;
        }
        main.push(commit(&root, asked + more)?);
    }
    let (_, collection) = index(&mut server, json!({ "branches": [MAIN] }))?;
    for commit in &main {
        has(&mut server, (&collection, None), commit, false)?;
    }
    // A branch that continues from the first commit.
    git(&root, &["checkout", "--quiet", "-b", TOPIC, &main[0].id])?;
    let topic = commit(&root, asked + 2)?;
    let with = json!({ "branches": [MAIN, TOPIC], "include_commits": true, "depth": 1 });
    let (answer, collection) = index(&mut server, with)?;
    ensure(answer["commits_indexed"] == 2, || {
        format!("of two branches, the last commits are asked for, but the answer is {answer}")
    })?;
    let last = &main[main.len() - 1];
    for (branch, commit) in [(MAIN, last), (TOPIC, &topic)] {
        has(&mut server, (&collection, None), commit, true)?;
        for of in [MAIN, TOPIC] {
            has(&mut server, (&collection, Some(of)), commit, of == branch)?;
        }
    }
    Ok(())
}

/// Fails unless a commit is found by each word of its message, or by none, among the commits of a collection, or of one of its branches.
fn has(
    server: &mut Server<'_, '_>,
    (collection, branch): (&str, Option<&str>),
    commit: &Committed,
    is_there: bool,
) -> Judgement {
    let branch = branch.map(|branch| format!("branch:{branch}"));
    let filters: Vec<_> = branch.into_iter().chain(["kind:commit".to_owned()]).collect();
    let asked = json!({ "collection": collection, "filters": filters });
    for own in [&commit.title, &commit.body] {
        let found = server.search(own, &asked)?;
        let wrong = found.iter().find(|hit| hit.all["kind"] != "commit");
        ensure(wrong.is_none(), || format!("`{own}` with {filters:?} finds {wrong:?}"))?;
        let mut having = found.iter().filter(|hit| hit.content.contains(own.as_str()));
        let names = having.next().map(|hit| hit.all.to_string().contains(&commit.id));
        ensure(names == is_there.then_some(true), || {
            let expected = if is_there { "must find" } else { "must not find" };
            format!("`{own}` with {filters:?} {expected} the commit {}, but finds {found:?}", commit.id)
        })?;
    }
    Ok(())
}
