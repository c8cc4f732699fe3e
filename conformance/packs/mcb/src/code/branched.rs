//! Repositories whose branches have trees of sources, and the expected hits in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{
    repository::{Files, Repository},
    server::{STATUS, Server},
    tree::{self, Source, Tree, word},
};
use tabellion_conformance::{checks::prelude::*, ledger::git};

/// The branches.
pub(super) const MAIN: &str = "main";
pub(super) const TOPIC: &str = "topic/x";

/// The trees of a repository's branches. Some files are the same on both, some differ, and some are on one of them only.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Branched {
    pub(super) main: Tree,
    pub(super) topic: Tree,
}

impl Branched {
    /// Returns random trees; `main` has `many` files.
    pub(super) fn random(dice: &mut fastrand::Rng, many: usize) -> Self {
        let main = tree::random(dice, many);
        let mut topic = main.clone();
        for (number, source) in topic.values_mut().enumerate() {
            if number % 3 == 0 {
                source.word += 300;
            }
        }
        let gone: Vec<_> = main.keys().skip(1).step_by(4).cloned().collect();
        topic.retain(|path, _| !gone.contains(path));
        for number in many..many + 4 {
            let own = Source { kind: number, word: 600 + number, functions: dice.usize(1..9) };
            topic.insert(tree::path("topic", number, number), own);
        }
        Self { main, topic }
    }

    /// Makes the repository at `root`; the work tree is that of the main branch.
    pub(super) fn make(&self, root: &Path) -> Result<(), Stop> {
        let (main, topic) = (files(&self.main), files(&self.topic));
        let base = main.clone();
        Repository { base, main, topic }.make(root)
    }

    pub(super) fn tree(&self, branch: &str) -> Option<&Tree> {
        match branch {
            MAIN => Some(&self.main),
            TOPIC => Some(&self.topic),
            _ => None,
        }
    }

    /// Returns the words of both branches.
    pub(super) fn words(&self) -> BTreeSet<usize> {
        let all = self.main.values().chain(self.topic.values());
        all.map(|source| source.word).collect()
    }
}

/// Returns the files of a tree, with their contents.
pub(super) fn files(tree: &Tree) -> Files {
    let file = |(path, source): (&String, &Source)| (path.clone(), source.text().into_bytes());
    tree.iter().map(file).collect()
}

/// Returns git's ids of the files of a branch, by their paths.
pub(super) fn blobs(root: &Path, branch: &str) -> Result<BTreeMap<String, String>, Stop> {
    let listed = git(root, &["ls-tree", "-r", "-z", branch])?;
    let entry = |entry: &str| {
        let (about, path) = entry.split_once('\t')?;
        Some((path.to_owned(), about.split(' ').nth(2)?.to_owned()))
    };
    Ok(listed.split_terminator('\0').filter_map(entry).collect())
}

/// State that indexing must preserve: the checked-out, staged and changed files, and the branches.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepositoryState {
    files: Files,
    git: Vec<String>,
}

impl RepositoryState {
    /// Reads the state of the folder at `root`.
    pub(super) fn read(root: &Path) -> Result<Self, Stop> {
        let mut files = Files::new();
        if root.join(".git").exists() {
            read(root, "", &mut files)?;
        }
        let head =
            fs::read_to_string(root.join(".git/HEAD")).or_else(|_| fs::read_to_string(root.join("HEAD")));
        let mut all = vec![head?];
        for question in [&["for-each-ref"][..], &["ls-files", "--stage"]] {
            all.push(git(root, question)?);
        }
        Ok(Self { files, git: all })
    }

    /// Returns the first difference afterwards, if any.
    pub(super) fn differs(&self, after: &Self) -> Option<String> {
        let changed = self.files.keys().chain(after.files.keys());
        let mut changed = changed.filter(|path| self.files.get(*path) != after.files.get(*path));
        match changed.next() {
            Some(path) => Some(format!("`{path}` of the work tree")),
            None => (self.git != after.git).then(|| format!("{:?}, which was {:?}", after.git, self.git)),
        }
    }
}

fn read(folder: &Path, above: &str, files: &mut Files) -> Result<(), Stop> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == ".git" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &format!("{above}{name}/"), files)?;
        } else {
            files.insert(format!("{above}{name}"), fs::read(entry.path())?);
        }
    }
    Ok(())
}

impl Server<'_, '_> {
    /// Waits until the run of an operation is idle; returns the collection's status.
    ///
    /// # Errors
    /// If no collection names the operation, or its run fails.
    pub(super) fn idle_of(&mut self, begun: &Value) -> Result<Value, Stop> {
        let operation = &begun["operation_id"];
        let all = self.must(STATUS, &json!({}))?;
        let mut all = all["collections"].as_array().into_iter().flatten();
        let found = all.find(|it| it["operation_id"] == *operation);
        let none = || fail(format!("no status has the operation of the run that began: {begun}"));
        let name = found.and_then(|it| it["collection"].as_str()).ok_or_else(none)?;
        self.idle(name)
    }

    /// Fails unless a collection has exactly the files of a branch's last commit: each is found by its word, with its branch and git's id
    /// of it, and no other file is.
    pub(super) fn holds_branch(
        &mut self,
        collection: &str,
        (root, branch): (&Path, &str),
        tree: &Tree,
        gone: &BTreeSet<usize>,
    ) -> Judgement {
        let when = format!("with `branch:{branch}`");
        let blobs = blobs(root, branch)?;
        let sources = tree.iter().map(|(path, source)| (path.as_str(), source.text()));
        let texts: BTreeMap<_, _> = sources.collect();
        let there: BTreeSet<_> = tree.values().map(|source| source.word).collect();
        for number in there.union(gone) {
            let own = word(*number);
            let asked = json!({ "collection": collection, "filters": [format!("branch:{branch}")] });
            let found = self.search(&own, &asked)?;
            for hit in &found {
                hit.is_of(&texts, &own, &when)?;
                let blob = blobs.iter().find(|(path, _)| hit.is_in(path)).map(|(_, id)| id);
                let (of, id) = (&hit.all["branch"], &hit.all["blob"]);
                ensure(of == branch && id.as_str() == blob.map(String::as_str), || {
                    let path = &hit.file_path;
                    format!(
                        "{when}, `{path}` has the branch {of} and the blob {id}, which is {blob:?} for git"
                    )
                })?;
                ensure(there.contains(number) || !hit.content.contains(&own), || {
                    format!("{when}, `{own}` finds `{}`, which does not have it", hit.file_path)
                })?;
            }
            for (path, _) in tree.iter().filter(|(_, source)| source.word == *number) {
                let has = |hit: &&super::hit::Hit| hit.is_in(path) && hit.content.contains(&own);
                ensure(found.iter().any(|hit| has(&hit)), || {
                    let paths: Vec<_> = found.iter().map(|hit| &hit.file_path).collect();
                    format!("{when}, `{own}` does not find `{path}`, which has it, but {paths:?}")
                })?;
            }
        }
        Ok(())
    }

    /// Fails if a word is found in a collection.
    pub(super) fn lacks(&mut self, collection: &str, number: usize, why: &str) -> Judgement {
        let own = word(number);
        let found = self.search(&own, &json!({ "collection": collection }))?;
        let wrong = found.iter().find(|hit| hit.content.contains(&own));
        ensure(wrong.is_none(), || format!("`{own}` is found, which is {why}: {wrong:?}"))
    }
}
