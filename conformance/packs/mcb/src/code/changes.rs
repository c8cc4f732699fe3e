//! Files change, and the index with them.

use std::{collections::BTreeSet, fs};

use super::{
    server::{SHOP, Server},
    tree::{self, FOLDERS, KINDS, Source, Tree, word},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const INCREMENTAL: Check = Check {
    id: "index/incremental",
    guarantees: &["index-is-the-files"],
    states: "After each run, just the files that are there and fit its filters are found, with what they have now.",
    explains: "Random programs write, change, rename and remove files, restart the server, and index with other extensions, folders and \
               patterns. After each run, each file that fits must be found by its word, nothing else may be, and the status must count \
               them. A server that looks at changed files only keeps those that are gone, or that fit no longer.",
    cases: |bench| Ok(programs(bench)),
    shrink: |case| {
        let Ok(Program { tree, steps }) = case.read::<Program>() else {
            return Vec::new();
        };
        let without = |gone: usize| {
            let mut steps = steps.clone();
            steps.remove(gone);
            Case::new(case.name.clone(), Program { tree: tree.clone(), steps })
        };
        (0..steps.len()).map(without).collect()
    },
    ..Check::must(incremental)
};

pub(super) const FRESH: Check = Check {
    id: "search/fresh",
    guarantees: &["index-is-the-files"],
    states: "Once a changed file is indexed again, its new words are found and its old ones are not, however small the change was.",
    explains: "Changes a word of a file to a different one of the same length, again and again, and searches both after each run. A server that \
               compares sizes, or times of whole seconds, answers with code that is no longer there.",
    cases: |bench| Ok(vec![Case::new("one file", bench.pick(4, 20))]),
    ..Check::must(|bench, case| fresh(bench, case.read()?))
};

/// A tree, and its changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Program {
    tree: Tree,
    steps: Vec<Step>,
}

/// A change, before the tree is indexed again. Numbers choose among the existing files.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    Write { file: usize, word: usize },
    Add { path: String, source: Source },
    Rename { file: usize, to: String },
    Remove { file: usize },
    Filter(Filter),
    Restart,
}

/// The files that a run indexes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Filter {
    extensions: Vec<String>,
    exclude_dirs: Vec<String>,
    ignore_patterns: Vec<String>,
}

impl Filter {
    fn random(dice: &mut fastrand::Rng) -> Self {
        let some = |dice: &mut fastrand::Rng, all: &[&str]| -> Vec<String> {
            let all = all.iter().filter(|_| dice.u8(..3) == 0);
            all.map(|it| (*it).to_owned()).collect()
        };
        Self {
            extensions: some(dice, &["rs", ".py", "md", "go", "js"]),
            exclude_dirs: some(dice, &["fixtures", "lib", "deep"]),
            ignore_patterns: some(dice, &["*.md", "/src/deep/", "file_3.*"]),
        }
    }

    fn arguments(&self) -> Value {
        let mut arguments = json!({});
        for (name, values) in [
            ("extensions", &self.extensions),
            ("exclude_dirs", &self.exclude_dirs),
            ("ignore_patterns", &self.ignore_patterns),
        ] {
            if !values.is_empty() {
                arguments[name] = json!(values);
            }
        }
        arguments
    }

    /// Returns true if a run indexes the file.
    fn takes(&self, path: &str) -> bool {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let extension = name.rsplit('.').next().unwrap_or_default();
        let is_ignored = |pattern: &String| match pattern.as_str() {
            "*.md" => extension == "md",
            "/src/deep/" => folder == "src/deep",
            _ => name.starts_with("file_3."),
        };
        (self.extensions.is_empty()
            || self.extensions.iter().any(|it| it.trim_start_matches('.') == extension))
            && !folder.split('/').any(|part| self.exclude_dirs.iter().any(|it| it == part))
            && !self.ignore_patterns.iter().any(is_ignored)
    }
}

fn programs(bench: &Bench<'_>) -> Vec<Case> {
    let mut dice = bench.dice("incremental");
    let case = |number: usize| {
        let tree = tree::random(&mut dice, 10);
        let mut next = 100;
        let mut steps: Vec<_> = (0..bench.pick(8, 16))
            .map(|_| {
                next += 1;
                let file = dice.usize(..100);
                let (folder, kind) = (FOLDERS[dice.usize(..FOLDERS.len())], dice.usize(..KINDS.len()));
                match dice.u8(..12) {
                    0..=2 => Step::Write { file, word: next },
                    3..=4 => Step::Add {
                        path: tree::path(folder, kind, next),
                        source: Source { kind, word: next, functions: 1 + dice.usize(..4) },
                    },
                    5..=6 => Step::Rename { file, to: format!("{folder}/moved_{next}") },
                    7..=8 => Step::Remove { file },
                    9..=10 => Step::Filter(Filter::random(&mut dice)),
                    _ => Step::Restart,
                }
            })
            .collect();
        // Each case contains the changes that servers miss most often.
        let only = |extension: &str| Filter { extensions: vec![extension.into()], ..Filter::default() };
        steps.extend([
            Step::Remove { file: number },
            Step::Filter(only("rs")),
            Step::Filter(Filter::default()),
        ]);
        Case::new(format!("program {number}"), Program { tree, steps })
    };
    (1..=bench.pick(2, 12)).map(case).collect()
}

fn incremental(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Program { mut tree, steps } = case.read()?;
    let mut server = Server::start(bench)?;
    server.put_tree(&tree)?;
    let mut filter = Filter::default();
    let mut words: BTreeSet<_> = tree.values().map(|source| source.word).collect();
    server.index(&json!({}))?;
    for step in steps {
        let when = format!("after {}", said(&step));
        server = play(server, &mut tree, &mut filter, step)?;
        words.extend(tree.values().map(|source| source.word));
        let status = server.index(&filter.arguments())?;
        let taken: Tree = tree
            .iter()
            .filter(|(path, _)| filter.takes(path))
            .map(|(path, source)| (path.clone(), source.clone()))
            .collect();
        ensure(status["files_total"] == taken.len(), || {
            format!("{when}, {} files fit, but the status is {status}", taken.len())
        })?;
        let there: BTreeSet<_> = taken.values().map(|source| source.word).collect();
        let gone: Vec<_> = words.difference(&there).copied().collect();
        server.holds(&taken, &gone, &when)?;
    }
    Ok(())
}

fn said(step: &Step) -> String {
    match step {
        Step::Write { .. } => "a file was changed".into(),
        Step::Add { path, .. } => format!("`{path}` was written"),
        Step::Rename { to, .. } => format!("a file was renamed to `{to}`"),
        Step::Remove { .. } => "a file was removed".into(),
        Step::Filter(filter) => format!("a run by {}", filter.arguments()),
        Step::Restart => "a restart".into(),
    }
}

fn play<'b, 'a>(
    server: Server<'b, 'a>,
    tree: &mut Tree,
    filter: &mut Filter,
    step: Step,
) -> Result<Server<'b, 'a>, Stop> {
    let chosen = |tree: &Tree, file: usize| tree.keys().nth(file % tree.len().max(1)).cloned();
    let place = |path: &str| server.path(&format!("{SHOP}/{path}"));
    match step {
        Step::Write { file, word } => {
            if let Some(path) = chosen(tree, file)
                && let Some(source) = tree.get_mut(&path)
            {
                source.word = word;
                server.put(&format!("{SHOP}/{path}"), source.text())?;
            }
        }
        Step::Add { path, source } => {
            server.put(&format!("{SHOP}/{path}"), source.text())?;
            tree.insert(path, source);
        }
        Step::Rename { file, to } => {
            if let Some(path) = chosen(tree, file)
                && let Some(source) = tree.remove(&path)
            {
                let to = format!("{to}.{}", KINDS[source.kind % KINDS.len()].0);
                let target = place(&to);
                fs::create_dir_all(target.parent().unwrap_or(&target))?;
                fs::rename(place(&path), target)?;
                server.scene.trace(format!("`{path}` becomes `{to}`"));
                tree.insert(to, source);
            }
        }
        Step::Remove { file } => {
            if let Some(path) = chosen(tree, file) {
                fs::remove_file(place(&path))?;
                server.scene.trace(format!("`{path}` is removed"));
                tree.remove(&path);
            }
        }
        Step::Filter(other) => *filter = other,
        Step::Restart => return server.restarted(),
    }
    Ok(server)
}

fn fresh(bench: &Bench<'_>, times: usize) -> Judgement {
    let mut server = Server::start(bench)?;
    let path = "src/changing.rs";
    for number in 0..times {
        let source = Source { kind: 0, word: 200 + number, functions: 2 };
        server.put(&format!("{SHOP}/{path}"), source.text())?;
        server.index(&json!({}))?;
        let tree = Tree::from([(path.to_owned(), source)]);
        let old: Vec<_> = (200..200 + number).collect();
        let when = format!("when the file said `{}`", word(200 + number));
        server.holds(&tree, &old, &when)?;
    }
    Ok(())
}
