//! Branches are indexed without a checkout.

use std::{collections::BTreeSet, path::Path};

use super::{
    branched::{Branched, MAIN, RepositoryState, TOPIC, files},
    repository::{REPO, commit},
    server::{GIT_INDEX, SHOP, Server, write},
    tree::{self, Source, Tree},
};
use tabellion_conformance::{checks::prelude::*, ledger::git};

pub(super) const INDEXED: Check = Check {
    id: "index/git",
    guarantees: &["branches-are-gits"],
    states: "Indexing branches takes the files of their commits, with branch and blob, and neither reads nor changes the work tree.",
    explains: "Makes repositories with two branches and has them indexed while the one, the other or none is checked out, with files that \
               are changed, staged and new, and without a work tree at all. Of each branch that the answer names, each file must be found by \
               its word, with git's id of its blob; no uncommitted word may be. What is checked out, staged and changed must be as it was. \
               Branches are named in `[git] branches` of `.mcp-context.toml`; a server may take others.",
    cases: |bench| {
        let mut dice = bench.dice("branches");
        let case = |checkout| {
            let branched = Branched::random(&mut dice, bench.pick(8, 20));
            Case::new(format!("{checkout:?}"), Indexed { branched, checkout })
        };
        let all = [Checkout::Main, Checkout::Topic, Checkout::Detached, Checkout::Bare];
        Ok(all.map(case).into())
    },
    ..Check::must(|bench, case| indexed(bench, &case.read()?))
};

pub(super) const MOVED: Check = Check {
    id: "index/branch-moves",
    guarantees: &["index-is-the-files", "branches-are-gits"],
    states: "After a branch has moved, the next run finds the files of its new commit, and those of no other.",
    explains: "Indexes a branch, moves it on by commits that add, change and remove files, and back to an earlier one, while another branch \
               is checked out, and indexes it after each move, also after a restart. A server that looks at the times of files, or takes a \
               branch that it has for unchanged, answers with what is no longer there.",
    cases: |bench| {
        let mut dice = bench.dice("moves");
        let cases = 1..=bench.pick(1, 5);
        Ok(cases.map(|number| Case::new(format!("branch {number}"), moves(&mut dice))).collect())
    },
    ..Check::must(|bench, case| moved(bench, &case.read::<Vec<Tree>>()?))
};

/// State of the work tree when branches are indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Checkout {
    Main,
    Topic,
    /// A commit without a branch.
    Detached,
    /// The repository has no work tree.
    Bare,
}

/// A repository to index.
#[derive(Debug, Serialize, Deserialize)]
struct Indexed {
    branched: Branched,
    checkout: Checkout,
}

/// Words that are in no commit.
const UNCOMMITTED: [usize; 3] = [900, 901, 902];
/// Name of the file that lists the branches to index.
const SETTINGS: &str = ".mcp-context.toml";

fn indexed(bench: &Bench<'_>, Indexed { branched, checkout }: &Indexed) -> Judgement {
    let mut server = Server::start(bench)?;
    let made = server.path(REPO);
    branched.make(&made)?;
    let place = match checkout {
        Checkout::Bare => "bare",
        _ => REPO,
    };
    let root = server.path(place);
    match checkout {
        Checkout::Main => {}
        Checkout::Topic => drop(git(&made, &["checkout", "--quiet", TOPIC])?),
        Checkout::Detached => drop(git(&made, &["checkout", "--quiet", "--detach", TOPIC])?),
        Checkout::Bare => drop(git(&made, &["clone", "--quiet", "--bare", ".", "../bare"])?),
    }
    if *checkout != Checkout::Bare {
        let here = if *checkout == Checkout::Main { &branched.main } else { &branched.topic };
        leave_uncommitted(&root, here)?;
    }
    settings(&root, &[MAIN, TOPIC])?;
    let before = RepositoryState::read(&root)?;
    let begun = begin(&mut server, place)?;
    server.idle(SHOP)?;
    let differs = before.differs(&RepositoryState::read(&root)?);
    ensure_none(differs, |differs| format!("indexing the branches changed {differs}"))?;
    let branches: Vec<_> = begun["branches"].as_array().into_iter().flatten().collect();
    ensure(!branches.is_empty(), || format!("no branch is indexed: {begun}"))?;
    let all = branched.words();
    let mut indexed = BTreeSet::new();
    for branch in branches.iter().filter_map(|branch| branch.as_str()) {
        let unknown = || fail(format!("there is no branch `{branch}`: {begun}"));
        let tree = branched.tree(branch).ok_or_else(unknown)?;
        let words = tree.values().map(|source| source.word);
        indexed.extend(words.clone());
        let gone: BTreeSet<_> = all.difference(&words.collect()).copied().collect();
        server.holds_branch(SHOP, (&root, branch), tree, &gone)?;
    }
    for number in UNCOMMITTED {
        server.lacks(SHOP, number, "in no commit")?;
    }
    for number in all.difference(&indexed) {
        server.lacks(SHOP, *number, "on no branch that the answer names")?;
    }
    let nothing = server.scene.workspace().join("nothing");
    write(&nothing.join("a.rs"), b"fn a() {}\n")?;
    let asked = json!({ "path": nothing.to_string_lossy(), "collection": "nothing" });
    server.must_not(GIT_INDEX, &asked, "although there is no repository")?;
    Ok(())
}

/// Names branches, for servers that read such settings.
fn settings(root: &Path, branches: &[&str]) -> Result<(), Stop> {
    let table = format!("[git]\nbranches = {}\n", json!(branches));
    write(&root.join(SETTINGS), table.as_bytes())
}

/// Changes one file, stages a new one, and writes a third.
fn leave_uncommitted(root: &Path, here: &Tree) -> Result<(), Stop> {
    let source = |word| Source { kind: 0, word, functions: 1 };
    let [changed, staged, new] = UNCOMMITTED.map(source);
    if let Some(path) = here.keys().next() {
        write(&root.join(path), changed.text().as_bytes())?;
    }
    write(&root.join("src/staged.rs"), staged.text().as_bytes())?;
    git(root, &["add", "src/staged.rs"])?;
    write(&root.join("src/new.rs"), new.text().as_bytes())
}

/// Begins to index the branches of a repository.
fn begin(server: &mut Server<'_, '_>, place: &str) -> Result<Value, Stop> {
    let asked = json!({ "path": server.named(place), "collection": SHOP });
    server.must(GIT_INDEX, &asked)
}

/// Returns the successive trees of a branch.
fn moves(dice: &mut fastrand::Rng) -> Vec<Tree> {
    let mut tree = tree::random(dice, 6);
    let mut trees = vec![tree.clone()];
    for number in 1..4_usize {
        let nth = |tree: &Tree, at: usize| tree.keys().nth(at % tree.len().max(1)).cloned();
        if let Some(gone) = nth(&tree, dice.usize(..6)) {
            tree.remove(&gone);
        }
        if let Some(changed) = nth(&tree, dice.usize(..6)).and_then(|path| tree.get_mut(&path)) {
            changed.word = 100 * number + 1;
        }
        let added = Source { kind: number, word: 100 * number + 2, functions: 2 };
        tree.insert(tree::path("src/added", number, number), added);
        trees.push(tree.clone());
    }
    trees
}

fn moved(bench: &Bench<'_>, trees: &[Tree]) -> Judgement {
    let mut server = Server::start(bench)?;
    let root = server.path(REPO);
    let [first, later @ ..] = trees else { return Ok(()) };
    let branched = Branched { main: first.clone(), topic: Tree::new() };
    branched.make(&root)?;
    let mut commits = vec![git(&root, &["rev-parse", MAIN])?.trim().to_owned()];
    for tree in later {
        commit(&root, &files(tree), "more")?;
        commits.push(git(&root, &["rev-parse", MAIN])?.trim().to_owned());
    }
    git(&root, &["checkout", "--quiet", TOPIC])?;
    settings(&root, &[MAIN])?;
    let all: BTreeSet<_> = trees.iter().flat_map(Tree::values).map(|source| source.word).collect();
    // Forward, one by one, and back to the first.
    for (number, (tree, commit)) in
        trees.iter().zip(&commits).chain(trees.iter().zip(&commits).take(1)).enumerate()
    {
        git(&root, &["branch", "--quiet", "--force", MAIN, commit])?;
        server.scene.trace(format!("`{MAIN}` is at {commit}"));
        let begun = begin(&mut server, REPO)?;
        let mut named = begun["branches"].as_array().into_iter().flatten();
        ensure(named.any(|branch| branch == MAIN), || format!("the main branch is not indexed: {begun}"))?;
        server.idle(SHOP)?;
        let there: BTreeSet<_> = tree.values().map(|source| source.word).collect();
        let gone = all.difference(&there).copied().collect();
        server.holds_branch(SHOP, (&root, MAIN), tree, &gone)?;
        if number % 2 == 0 {
            server = server.restarted()?;
        }
    }
    Ok(())
}
